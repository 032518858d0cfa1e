/* item_words.c -- the words of a command, put together piece by piece.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_item_words_done(struct cv_item_words *words)
{
    free(words->bytes);
    *words = (struct cv_item_words){ .bytes = NULL };
}

static bool grow_array(struct cv_item_words *words, size_t length)
{
    words->failed =
        words->failed || !CV_ROOM(words->bytes, &words->room, words->length + length);
    return !words->failed;
}

void cv_item_words_put(struct cv_item_words *words, const char *bytes, size_t length)
{
    if (!grow_array(words, length + 1))
        return;
    words->count += !words->open;
    words->open = true;
    if (length > 0)
        memcpy(words->bytes + words->length, bytes, length);
    words->length += length;
}

void cv_item_words_break(struct cv_item_words *words)
{
    if (!words->open || words->failed)
        return;
    words->bytes[words->length++] = '\0'; /* for which put has left room */
    words->open = false;
}

char **cv_item_words_take(struct cv_item_words *words)
{
    const size_t heads = (words->count + 1) * sizeof(char *);
    char **block, *at;

    cv_item_words_break(words);
    block = words->failed ? NULL : malloc(heads + words->length + 1);
    if (block == NULL)
        return NULL;
    at = (char *)block + heads;
    if (words->length > 0)
        memcpy(at, words->bytes, words->length);
    for (size_t i = 0; i < words->count; i++) {
        block[i] = at;
        at += strlen(at) + 1;
    }
    block[words->count] = NULL;
    return block;
}
