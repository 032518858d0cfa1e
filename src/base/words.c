/* words.c -- words of a command that is put together. SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <string.h>

#define BLANK " \t"

/* Room for `count` words and the NULL behind them. */
static bool grow_array(struct cv_words *words, size_t count)
{
    size_t room = words->room > 0 ? words->room : 16;
    const char **grown;

    if (count < words->room)
        return true;
    while (room <= count)
        room *= 2;
    grown = cv_array(words->arena, room, sizeof *grown);
    if (grown == NULL)
        return false;
    if (words->count > 0)
        memcpy(grown, words->items, words->count * sizeof *grown);
    words->items = grown;
    words->room = room;
    return true;
}

/* A word that is of the arena already. */
static void append(struct cv_words *words, const char *word)
{
    if (word == NULL || !grow_array(words, words->count + 1))
        words->failed = true;
    else
        words->items[words->count++] = word;
}

void cv_words_add(struct cv_words *words, const char *word)
{
    append(words, word != NULL ? cv_arena_text(words->arena, word) : NULL);
}

void cv_words_split(struct cv_words *words, const char *text)
{
    char *copy = text != NULL ? cv_arena_text(words->arena, text) : NULL, *rest;

    words->failed = words->failed || copy == NULL;
    for (char *word = copy != NULL ? strtok_r(copy, BLANK, &rest) : NULL; word != NULL;
         word = strtok_r(NULL, BLANK, &rest))
        append(words, word);
}

void cv_words_take(struct cv_words *words, struct cv_text *text)
{
    cv_words_add(words, text->failed ? NULL : text->bytes);
    cv_text_done(text);
}

const char **cv_words_done(struct cv_words *words)
{
    if (words->failed || !grow_array(words, words->count))
        return NULL;
    words->items[words->count] = NULL;
    return words->items;
}
