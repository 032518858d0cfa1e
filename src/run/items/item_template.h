/* item_template.h -- a command with places for items. SPDX-License-Identifier: MIT
 *
 * The words of a command are read once into pieces: text, blanks and places. For each item
 * they make a line for a shell, in which values are quoted and text is not, or, where a
 * shell would do nothing to the text but part it at blanks, the words themselves. Both are
 * the same command; that is what GNU parallel's command lines mean. */
#ifndef CV_ITEM_TEMPLATE_H
#define CV_ITEM_TEMPLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "run/items/item_placeholder.h"
#include "run/items/item_rule.h"

/* Words that grow; once memory runs out `failed` is set and nothing more happens. */
struct cv_item_words {
    char *bytes; /* owned: the words, each ended by a NUL */
    size_t length, room;
    size_t count; /* words that were begun */
    bool open;    /* the last of them may grow */
    bool failed;
};

void cv_item_words_done(struct cv_item_words *words);
/* Add to the word that is open, or begin one; `length` may be 0. */
void cv_item_words_put(struct cv_item_words *words, const char *bytes, size_t length);
/* The next bytes begin a new word. */
void cv_item_words_break(struct cv_item_words *words);
/* All words in one block for free(), ended by NULL; or NULL, for want of memory. */
char **cv_item_words_take(struct cv_item_words *words);

enum cv_item_quotes {
    CV_ITEM_UNQUOTED,
    CV_ITEM_SINGLE, /* '...'  */
    CV_ITEM_DOUBLE, /* "..."  */
    CV_ITEM_DOLLAR, /* $'...' */
};

enum { CV_ITEM_NESTED = 32 };

/* What is open where the line has been read to. */
struct cv_item_within {
    char open[CV_ITEM_NESTED]; /* each as it began: one of ' " $ ( `                    */
    size_t depth;
    char before;  /* the byte before, 'x' if it means nothing                     */
    int less;     /* so many < are before, outside of quotes                      */
    bool escaped; /* by a backslash                                               */
    bool comment;
    bool lost; /* there is something that takes a whole shell to read          */
};

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
