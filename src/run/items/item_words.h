/* item_words.h -- the words of a command, put together piece by piece.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_WORDS_H
#define CV_ITEM_WORDS_H
#include <stdbool.h>
#include <stddef.h>

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

#endif
