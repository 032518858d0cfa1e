/* item_placeholder.h -- placeholders for items, and the substitutions of Perl that define them.
 * SPDX-License-Identifier: MIT
 *
 * GNU parallel takes Perl code. An expression here is a list of substitutions
 * s/REGEX/TEXT/FLAGS, separated by ';', or by '||' if the next one applies only where the one
 * before found nothing. Perl's other delimiters work: s|a|b|, s{a}{b}. FLAGS are g, i, m, s, x.
 * TEXT may have $1, \1, ${1}, $&, $+{name}, \U, \L, \u, \l, \E, \n and \t. A dot, \w and their
 * like match bytes, as in GNU parallel.
 *
 * A match that takes more than a million steps is an error, so no expression can hang a run. */
#ifndef CV_ITEM_PLACEHOLDER_H
#define CV_ITEM_PLACEHOLDER_H
#include <stdbool.h>
#include "base/text.h"
#include "run/items/item_format.h"
#include <cleave/error.h>

struct cv_item_regex;
struct cv_item_expression;

/* Parts of a text that a regular expression has matched: all of it, then the groups. */
struct cv_item_match {
    struct {
        const char *bytes; /* borrowed from the text */
        size_t length;
    } groups[10];
    size_t count; /* 0: no match */
};

/* `flags` are options of PCRE2. Errors begin with `field`, a string literal, and quote `shown`. */
enum cleave_status cv_item_regex_new(const char *text, uint32_t flags, const char *field,
                                     const char *shown, struct cv_item_regex **out,
                                     struct cleave_error *err);
void cv_item_regex_free(struct cv_item_regex *regex);
/* Find the first match in text[from...], but no empty one at `from`. */
enum cleave_status cv_item_regex_find(const struct cv_item_regex *regex, const char *text,
                                      size_t from, struct cv_item_match *out,
                                      struct cleave_error *err);

void cv_item_expression_free(struct cv_item_expression *expression);
/* The value after all substitutions: `value`, or borrowed until the next call. */
enum cleave_status cv_item_expression_apply(struct cv_item_expression *expression,
                                            const char *value, const char **out,
                                            struct cleave_error *err);

enum cv_item_part {
    CV_ITEM_VALUE,
    CV_ITEM_NUMBER, /* command number */
    CV_ITEM_SLOT,   /* worker slot    */
    CV_ITEM_NUMBER_FROM_0,
    CV_ITEM_SLOT_FROM_0,
    CV_ITEM_TOTAL, /* commands       */
    CV_ITEM_PADDED_NUMBER,
    CV_ITEM_UNKNOWN, /* known to GNU parallel only */
};

struct cv_item_placeholder {
    size_t length; /* in the command; 0: none */
    int position;  /* value number from 1, or from -1 backwards; 0: all values  */
    enum cv_item_part part;
    struct cv_item_expression *expression; /* owned; NULL: the value stays */
    struct cv_item_format format;          /* after the expression */
};

/* Which placeholders there are, besides "{}", "{.}", "{1}", "{#}" and their like. Borrowed. */
struct cv_item_replacements {
    bool none;                /* braces are text                               */
    bool optional;            /* a command without placeholders gets no values */
    bool plus;                /* {##}, {%RE} and more                          */
    const char *whole;        /* instead of "{}"; NULL: "{}"                   */
    const char *const *names; /* "{NAME}" for values 1, 2, ...                 */
    size_t nnames;
    const char *const *definitions; /* "{NAME} s/REGEX/TEXT/"                  */
    size_t ndefinitions;
};

enum cleave_status cv_item_replacements_check(const struct cv_item_replacements *from,
                                              struct cleave_error *err);
/* Read the placeholder that `text` begins with, if there is one. `later` are the words after
 * this word, and NULL. */
enum cleave_status cv_item_placeholder_find(const char *text, const char *const *later,
                                            const struct cv_item_replacements *from,
                                            struct cv_item_placeholder *out,
                                            struct cleave_error *err);

#endif
