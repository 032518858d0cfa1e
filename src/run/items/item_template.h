/* item_template.h -- a command with placeholders for items. SPDX-License-Identifier: MIT
 *
 * The words of a command are read once into pieces: text, blanks and placeholders. One word is a
 * line for a shell, in which values are quoted and text is not; if a shell would do nothing to the
 * text but split it at blanks, it also makes the words themselves. Several words stay words, into
 * which values are put. A sign between them, as '|', makes them a line of quoted words. */
#ifndef CV_ITEM_TEMPLATE_H
#define CV_ITEM_TEMPLATE_H
#include <stdbool.h>
#include <stdint.h>
#include "run/items/item_placeholder.h"

struct cv_item_template {
    struct cv_item_piece *pieces; /* owned */
    size_t count, room;
    bool has_placeholder;
    bool failed; /* memory was short                                            */
    bool
        literal; /* words go to the command unchanged: a shell is needed for signs only */
    bool
        has_signs; /* signs are between the words                                         */
    bool bare;     /* values are not quoted: they are the command, or part of it  */
    bool repeats; /* a word with a placeholder for all values is repeated for each */
};

enum cv_item_form {
    CV_ITEM_LINE,    /* for a shell                                       */
    CV_ITEM_WORDS,   /* words, with no sign among them                    */
    CV_ITEM_COMMAND, /* one word is a line, several are words and signs   */
};

/* Read words, which end with NULL and are borrowed until the template is released. If they have
 * no placeholder, one for all values is added at the end. A first word that begins with a
 * placeholder makes a line in any case. */
enum cleave_status cv_item_template_init(struct cv_item_template *out,
                                         const char *const *words, enum cv_item_form form,
                                         const struct cv_item_replacements *replacements,
                                         struct cleave_error *err);
void cv_item_template_done(struct cv_item_template *template);

/* Replacements of placeholders. */
struct cv_item_values {
    const char *const *arguments;
    size_t count;
    uint64_t number; /* command number, from 1 */
    uint32_t slot;   /* from 1                 */
    uint64_t total;  /* commands               */
};

/* The first word, for free(); NULL if it is not only text, or memory is short. */
char *cv_item_template_program(const struct cv_item_template *template);
/* Bytes of the text before the first placeholder. */
size_t cv_item_template_head(const struct cv_item_template *template);
/* Whether a shell would do nothing but split the text at blanks. */
bool cv_item_template_is_plain(const struct cv_item_template *template);
/* Refuse '{word}', which is text: a column without a name, or a placeholder of another program.
 * Words of awk, jq and their kin, and quoted ones, are code. */
enum cleave_status cv_item_template_check_text(const struct cv_item_template *template,
                                               struct cleave_error *err);
/* Append the line for a shell. */
enum cleave_status cv_item_template_line(const struct cv_item_template *template,
                                         const struct cv_item_values *values,
                                         struct cv_text *out, struct cleave_error *err);

/* Words that grow. Once memory runs out `failed` is set and appending does nothing. */
struct cv_item_words {
    char *bytes; /* owned: words, each with a NUL at its end */
    size_t length, room;
    size_t count;
    bool open; /* the last word may grow */
    bool failed;
};

/* Append a word. */
void cv_item_words_add(struct cv_item_words *words, const char *bytes, size_t length);
/* Release the words. If `status` is OK, *out gets all of them in one block for free(), and NULL
 * at their end. */
enum cleave_status cv_item_words_take(struct cv_item_words *words,
                                      enum cleave_status status, char ***out,
                                      struct cleave_error *err);
/* Append the words of a template that is plain or literal. */
enum cleave_status cv_item_template_words(const struct cv_item_template *template,
                                          const struct cv_item_values *values,
                                          struct cv_item_words *out,
                                          struct cleave_error *err);

#endif
