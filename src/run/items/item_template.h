/* item_template.h -- a command with places for items. SPDX-License-Identifier: MIT
 *
 * The words of a command are read once into pieces: text, blanks and places. For each item
 * they make a line for a shell, in which values are quoted and text is not, or, where a
 * shell would do nothing to the text but part it at blanks, the words themselves. Both are
 * the same command; that is what GNU parallel's command lines mean. */
#ifndef CV_ITEM_TEMPLATE_H
#define CV_ITEM_TEMPLATE_H
#include <stdint.h>
#include "run/items/item_placeholder.h"
#include "run/items/item_rule.h"
#include "run/items/quote_context.h"
#include "run/items/item_words.h"

enum cv_item_piece_kind {
    CV_ITEM_TEXT,
    CV_ITEM_BLANK, /* one, inside of a word */
    CV_ITEM_SPACE, /* between two words     */
    CV_ITEM_PLACE,
};

struct cv_item_piece {
    enum cv_item_piece_kind kind;
    const char *text; /* borrowed from the words; not of a place */
    size_t length;
    int position;
    enum cv_item_part part;
    const struct cv_item_rule *rule; /* borrowed: instead of a part; NULL: none */
    enum cv_item_quotes quotes;      /* in which a place stands                 */
};

struct cv_item_template {
    struct cv_item_piece *pieces; /* owned */
    size_t count, room;
    bool places;   /* there is one at all                                             */
    bool as_words; /* words are what they are: no shell reads them (--quote)          */
    bool bare;     /* values are not quoted: they are, or are part of, the command    */
    bool contexts; /* a word with a place for all is repeated for each (-X)           */
};

/* What else stands for items. */
struct cv_item_replacements {
    bool optional;     /* no place has to be there                                     */
    bool plus;         /* those of --plus are known, too                               */
    const char *whole; /* instead of "{}"; NULL: that                                 */
    const char *const *names; /* of arguments 1, 2, ...: "{NAME}"                     */
    size_t nnames;
    const struct cv_item_rule *rules; /* --rpl                                         */
    size_t nrules;
};

/* The words, ended by NULL, are borrowed as long as the template is used, and so are rules.
 * Without any place, one for all is added at the end. */
enum cleave_status cv_item_template_init(struct cv_item_template *out,
                                         const char *const *words,
                                         const struct cv_item_replacements *signs,
                                         struct cleave_error *err);
void cv_item_template_done(struct cv_item_template *template);

/* What is put into places. */
struct cv_item_values {
    const char *const *arguments;
    size_t count;
    uint64_t number; /* of the command, from 1 */
    uint32_t slot;   /* from 1                 */
    uint64_t total;  /* of commands            */
};

/* The first word, if it is text alone; NULL: it is not. For free(). */
char *cv_item_template_program(const struct cv_item_template *template);
/* Whether a shell would do nothing but part the text at blanks. */
bool cv_item_template_is_plain(const struct cv_item_template *template);
/* The line for a shell. */
void cv_item_template_line(const struct cv_item_template *template,
                           const struct cv_item_values *values, struct cv_text *out);
/* The words without one; only if it is plain, or words are what they are. */
void cv_item_template_words(const struct cv_item_template *template,
                            const struct cv_item_values *values,
                            struct cv_item_words *out);

#endif
