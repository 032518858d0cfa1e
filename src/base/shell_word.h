/* shell_word.h -- words as a shell would take them. SPDX-License-Identifier: MIT */
#ifndef CV_SHELL_WORD_H
#define CV_SHELL_WORD_H
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/text.h"

/* Add a word so that a shell reads the same word: as it is if nothing in it is special,
 * else in '...', or in $'...' if it has bytes that do not show. Different lists of words
 * never make the same text. */
void cv_shell_word_add(struct cv_text *out, const char *word);
/* All words up to NULL, with a blank between. */
void cv_shell_words_add(struct cv_text *out, const char *const *words);
/* The same for any sh, also an old one: what does not show stands as it is. */
void cv_sh_words_add(struct cv_text *out, const char *const *words);
/* A line by which a login shell of any kind, such as csh or fish, which know neither `case` nor $'...' as sh
 * does, has a script done by sh. */
void cv_login_line_add(struct cv_text *out, const char *script);

/* Begins as { .arena = ... }, which has the words, and their list too. */
struct cv_words {
    struct cv_arena *arena;
    const char **items; /* `count` of them and NULL; NULL: none yet */
    size_t count, room;
    bool failed; /* there was no memory, and some are missing */
};

/* Add a copy of a word; NULL is one that there was no memory for. */
void cv_words_add(struct cv_words *words, const char *word);
/* Add words that have blanks or tabs between them: "nice -n 19" is three. */
void cv_words_split(struct cv_words *words, const char *text);
/* Add all of a text as one word, and release it. */
void cv_words_take(struct cv_words *words, struct cv_text *text);
/* All of them, ended by NULL; NULL: there was no memory. */
const char **cv_words_done(struct cv_words *words);

#endif
