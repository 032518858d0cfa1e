/* run_mpi_words.c -- whether all ranks were started with the same words.
 * SPDX-License-Identifier: MIT
 *
 * A hash says whether, of words of any length, and the first words say what. */
#include "cli/run/run_mpi_words.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* FNV-1a, 64 bits. */
static uint64_t hash_on(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

void cv_mpi_words_make(struct cv_mpi_words *out, char *const *words, size_t count)
{
    memset(out, 0, sizeof *out); /* it travels as it is */
    out->count = count;
    out->hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(words[i]) + 1;
        const size_t left = sizeof out->text - (size_t)out->length;
        const size_t some = length < left ? length : left;

        out->hash = hash_on(out->hash, words[i], length);
        memcpy(out->text + out->length, words[i], some);
        out->length += some;
    }
}

/* The word at *at and its length, up to where the text was cut; *at goes behind it. False:
 * there is none. */
static bool next_word(const struct cv_mpi_words *words, size_t *at, const char **out,
                      size_t *out_length)
{
    const size_t left = (size_t)words->length - *at;
    const char *end;

    if (left == 0)
        return false;
    *out = words->text + *at;
    end = memchr(*out, '\0', left);
    *out_length = end != NULL ? (size_t)(end - *out) : left;
    *at += end != NULL ? *out_length + 1 : left;
    return true;
}

bool cv_mpi_words_differ(const struct cv_mpi_words *first,
                         const struct cv_mpi_words *other, char *out, size_t size)
{
    size_t at[2] = { 0, 0 }, lengths[2], number = 1;
    const char *words[2];
    char shown[2][80];

    if (first->count == other->count && first->hash == other->hash)
        return false;
    while (next_word(first, &at[0], &words[0], &lengths[0]) &&
           next_word(other, &at[1], &words[1], &lengths[1])) {
        if (lengths[0] != lengths[1] || memcmp(words[0], words[1], lengths[0]) != 0) {
            snprintf(out, size, "word %zu behind 'run' is '%s' and not '%s'", number,
                     cv_shown(words[1], lengths[1], shown[1], sizeof shown[1]),
                     cv_shown(words[0], lengths[0], shown[0], sizeof shown[0]));
            return true;
        }
        number++;
    }
    if (first->count != other->count)
        snprintf(out, size, "there are %llu behind 'run' and not %llu",
                 (unsigned long long)other->count, (unsigned long long)first->count);
    else
        snprintf(out, size, "those behind 'run' are alike up to word %zu", number - 1);
    return true;
}
