/* chaos_lines.c -- outputs that are right except for their order, or up to their end.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "chaos/chaos.h"

struct line {
    const char *at;
    size_t length;
};

struct lines {
    struct line *items;
    size_t count;
};

/* The parts that outputs in another order consist of. */
static struct lines lines_of(const struct bytes *bytes, enum kind kind)
{
    struct lines lines = { malloc((bytes->length + 1) * sizeof *lines.items), 0 };
    const char *end = bytes->at + bytes->length;

    if (lines.items == NULL)
        give_up("out of memory");
    for (const char *at = bytes->at; at < end;) {
        const char *stop = memchr(at, kind == NUL ? '\0' : '\n', (size_t)(end - at));

        stop = stop != NULL ? stop + 1 : end;
        if (kind == FIXED)
            stop = at + (end - at < FIXED_BYTES ? end - at : FIXED_BYTES);
        lines.items[lines.count++] = (struct line){ at, (size_t)(stop - at) };
        at = stop;
    }
    return lines;
}

static int compare(const void *one, const void *two)
{
    const struct line *a = one, *b = two;
    const size_t both = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->at, b->at, both);

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static bool is_cut(const struct line *line, enum kind kind)
{
    if (kind == FIXED)
        return line->length < FIXED_BYTES;
    return line->at[line->length - 1] != (kind == NUL ? '\0' : '\n');
}

/* Whether a is b, or some of it with nothing else, in whatever order. */
bool are_among(const struct bytes *a, const struct bytes *b, enum kind kind, bool all)
{
    struct lines some = lines_of(a, kind), known = lines_of(b, kind);
    size_t k = 0;
    bool good = !all || some.count == known.count;

    /* The last line may have been cut short. */
    if (!all && some.count > 0 && is_cut(&some.items[some.count - 1], kind))
        some.count--;
    qsort(some.items, some.count, sizeof *some.items, compare);
    qsort(known.items, known.count, sizeof *known.items, compare);
    for (size_t i = 0; i < some.count && good; i++) {
        while (k < known.count && compare(&known.items[k], &some.items[i]) < 0)
            k++;
        good = k < known.count && compare(&known.items[k], &some.items[i]) == 0;
        k++;
    }
    free(some.items);
    free(known.items);
    return good;
}

/* Whether `a` is lines of b, some left out, the last one maybe cut short. */
bool is_part_of(const struct bytes *a, const struct bytes *b, enum kind kind)
{
    struct lines some = lines_of(a, kind), known = lines_of(b, kind);
    size_t i = 0;

    for (size_t k = 0; k < known.count && i < some.count; k++) {
        const bool last = i + 1 == some.count;

        if (compare(&known.items[k], &some.items[i]) == 0 ||
            (last && some.items[i].length < known.items[k].length &&
             memcmp(known.items[k].at, some.items[i].at, some.items[i].length) == 0))
            i++;
    }
    free(known.items);
    free(some.items);
    return i == some.count;
}
