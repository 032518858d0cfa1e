/* host_range.c -- many host names in one word. SPDX-License-Identifier: MIT */
#include "run/hosts/host_range.h"

#include <string.h>

#include "base/text.h"

enum {
    MOST_DIGITS = 9,
    SHOWN = 80, /* bytes of a word in a message */
};

/* A word that is expanded; `name` is the beginning of the next name. */
struct making {
    const char *word;
    size_t length;
    char name[CV_HOST_NAME_MOST + 1];
    size_t used;
    struct cv_arena *arena;
    struct cv_host_names *out;
    struct cleave_error *err;
};

/* A range in brackets. */
struct numbers {
    uint32_t first, last;
    size_t width;
};

static enum cleave_status refuse(const struct making *making, const char *expected)
{
    char shown[SHOWN];

    return cv_fail(making->err, CLEAVE_EINPUT, "expected %s, got '%s'", expected,
                   cv_shown(making->word, making->length, shown, sizeof shown));
}

static enum cleave_status add_name(struct making *making)
{
    struct cv_host_names *out = making->out;
    const char **grown = out->items;

    making->name[making->used] = '\0';
    if (out->count >= CV_HOST_NAMES_MOST)
        return cv_fail(making->err, CLEAVE_EINPUT, "more than %d hosts",
                       (int)CV_HOST_NAMES_MOST);
    if (out->count == out->room) /* cv_grow may copy all items in checked builds */
        grown = cv_grow(out->items, &out->room, out->count + 1, sizeof *grown);
    if (grown == NULL)
        return cv_fail_memory(making->err, "the hosts");
    out->items = grown;
    grown[out->count] = cv_arena_text(making->arena, making->name);
    if (grown[out->count] == NULL)
        return cv_fail_memory(making->err, "the hosts");
    out->count++;
    return CLEAVE_OK;
}

static enum cleave_status add_bytes(struct making *making, const char *bytes,
                                    size_t length)
{
    if (length > CV_HOST_NAME_MOST - making->used)
        return refuse(making, "a name of at most 255 bytes");
    memcpy(making->name + making->used, bytes, length);
    making->used += length;
    return CLEAVE_OK;
}

/* Reads digits at *at, and moves it. */
static bool read_number(const struct making *making, size_t *at, uint32_t *out,
                        size_t *digits)
{
    const size_t begin = *at;

    *out = 0;
    while (*at < making->length && making->word[*at] >= '0' && making->word[*at] <= '9') {
        if (*at - begin >= MOST_DIGITS)
            return false;
        *out = *out * 10 + (uint32_t)(making->word[(*at)++] - '0');
    }
    *digits = *at - begin;
    return *digits > 0;
}

/* "01-03" or "7" at `*at`. */
static enum cleave_status read_range(const struct making *making, size_t *at,
                                     struct numbers *out)
{
    size_t digits;

    if (!read_number(making, at, &out->first, &out->width))
        return refuse(making, "numbers of at most 9 digits in brackets, as in "
                              "node[01-16,20]");
    out->last = out->first;
    if (*at < making->length && making->word[*at] == '-') {
        ++*at;
        if (!read_number(making, at, &out->last, &digits))
            return refuse(making, "a number of at most 9 digits at the end of a range");
    }
    if (out->last < out->first)
        return refuse(making, "ranges that count up");
    if (out->last - out->first >= CV_HOST_NAMES_MOST)
        return refuse(making, "at most 65536 hosts in a range");
    return CLEAVE_OK;
}

static void put_number(struct making *making, uint32_t number, size_t width)
{
    char digits[16];
    size_t n = 0;

    for (; number > 0 || n == 0; number /= 10)
        digits[n++] = (char)('0' + number % 10);
    while (n < width)
        digits[n++] = '0';
    while (n > 0 && making->used < CV_HOST_NAME_MOST)
        making->name[making->used++] = digits[--n];
}

/* Adds all names whose rest begins at `at`. The recursion is limited by the length of
 * a name: each pair of brackets adds a digit. */
static enum cleave_status expand_from(struct making *making, size_t at)
{
    const char *open = memchr(making->word + at, '[', making->length - at);
    const size_t plain = open != NULL ? (size_t)(open - making->word) : making->length;
    size_t used;

    if (memchr(making->word + at, ']', plain - at) != NULL)
        return refuse(making, "a '[' before the ']'");
    CV_TRY(add_bytes(making, making->word + at, plain - at));
    if (open == NULL)
        return add_name(making);
    at = plain;
    used = making->used;
    do {
        struct numbers range;
        const char *close;

        at++; /* '[' or ',' */
        CV_TRY(read_range(making, &at, &range));
        if (at >= making->length || (making->word[at] != ',' && making->word[at] != ']'))
            return refuse(making, "a ']' after the numbers");
        close = memchr(making->word + at, ']', making->length - at);
        if (close == NULL)
            return refuse(making, "a ']' after the numbers");
        if (used + MOST_DIGITS > CV_HOST_NAME_MOST)
            return refuse(making, "a name of at most 255 bytes");
        for (uint32_t number = range.first; number <= range.last; number++) {
            making->used = used;
            put_number(making, number, range.width);
            CV_TRY(expand_from(making, (size_t)(close - making->word) + 1));
        }
    } while (making->word[at] == ',');
    return CLEAVE_OK;
}

size_t cv_host_word_length(const char *list)
{
    bool inside = false;
    size_t length = 0;

    for (; list[length] != '\0' && (inside || list[length] != ','); length++)
        if (list[length] == '[' || list[length] == ']')
            inside = list[length] == '[';
    return length;
}

enum cleave_status cv_host_range_expand(const char *word, size_t length,
                                        struct cv_arena *arena, struct cv_host_names *out,
                                        struct cleave_error *err)
{
    struct making making = {
        .word = word, .length = length, .arena = arena, .out = out, .err = err
    };

    return expand_from(&making, 0);
}

enum cleave_status cv_host_list_expand(const char *list, struct cv_arena *arena,
                                       struct cv_host_names *out,
                                       struct cleave_error *err)
{
    for (;;) {
        const size_t length = cv_host_word_length(list);

        if (length == 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a host before and after each "
                           "comma");
        CV_TRY(cv_host_range_expand(list, length, arena, out, err));
        if (list[length] == '\0')
            return CLEAVE_OK;
        list += length + 1;
    }
}
