/* words.h -- words of a command that is put together. SPDX-License-Identifier: MIT */
#ifndef CV_WORDS_H
#define CV_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/text.h"

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
