/* range_set.c -- a set of bytes, kept as sorted ranges. SPDX-License-Identifier: MIT */
#include "run/kit/range_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

void cv_range_set_init(struct cv_range_set *set)
{
    *set = (struct cv_range_set){ 0 };
}

void cv_range_set_done(struct cv_range_set *set)
{
    if (set == NULL)
        return;
    free(set->ranges);
    cv_range_set_init(set);
}

uint64_t cv_range_set_total(const struct cv_range_set *set)
{
    return set->total;
}

size_t cv_range_set_count(const struct cv_range_set *set)
{
    return set->count;
}

struct cv_range cv_range_set_at(const struct cv_range_set *set, size_t index)
{
    assert(index < set->count);
    return set->ranges[set->first + index];
}

/* How many ranges end before `offset`, or at it if `touching` is false. */
static size_t ranges_before(const struct cv_range_set *set, uint64_t offset,
                            bool touching)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint64_t end = set->ranges[set->first + middle].end;

        if (touching ? end < offset : end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool cv_range_set_find(const struct cv_range_set *set, uint64_t offset,
                       struct cv_range *out)
{
    const size_t index = ranges_before(set, offset, false);

    if (index == set->count)
        return false;
    *out = cv_range_set_at(set, index);
    return true;
}

/* Replace `gone` ranges from `index` on by those of `with`. */
static enum cleave_status replace(struct cv_range_set *set, size_t index, size_t gone,
                                  const struct cv_range *with, size_t nwith,
                                  struct cleave_error *err)
{
    const size_t count = set->count - gone + nwith;
    struct cv_range *from;

    if (gone == 0 && nwith == 0)
        return CLEAVE_OK;
    if (set->first > 0 && set->first + count > set->capacity) {
        memmove(set->ranges, set->ranges + set->first, set->count * sizeof *from);
        set->first = 0;
    }
    if (set->first + count > set->capacity) {
        struct cv_range *larger =
            cv_grow(set->ranges, &set->capacity, count, sizeof *larger);

        if (larger == NULL)
            return cv_fail_memory(err, "a set of ranges");
        set->ranges = larger;
    }
    from = set->ranges + set->first + index;
    memmove(from + nwith, from + gone, (set->count - index - gone) * sizeof *from);
    if (nwith > 0)
        memcpy(from, with, nwith * sizeof *from);
    set->count = count;
    return CLEAVE_OK;
}

enum cleave_status cv_range_set_put(struct cv_range_set *set, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const size_t index = ranges_before(set, begin, true);
    struct cv_range joined = { begin, end };
    uint64_t held = 0;
    size_t last = index;

    assert(begin <= end);
    if (begin == end)
        return CLEAVE_OK;
    for (; last < set->count; last++) {
        const struct cv_range range = cv_range_set_at(set, last);

        if (range.begin > end)
            break;
        if (range.begin < joined.begin)
            joined.begin = range.begin;
        if (range.end > joined.end)
            joined.end = range.end;
        held += range.end - range.begin;
    }
    CV_TRY(replace(set, index, last - index, &joined, 1, err));
    set->total += joined.end - joined.begin - held;
    return CLEAVE_OK;
}

enum cleave_status cv_range_set_remove(struct cv_range_set *set, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    const size_t index = ranges_before(set, begin, false);
    struct cv_range kept[2];
    size_t nkept = 0, last = index;
    uint64_t gone = 0;

    assert(begin <= end);
    if (begin == end)
        return CLEAVE_OK;
    for (; last < set->count; last++) {
        const struct cv_range range = cv_range_set_at(set, last);

        if (range.begin >= end)
            break;
        gone += range.end - range.begin;
        if (range.begin < begin)
            kept[nkept++] = (struct cv_range){ range.begin, begin };
        if (range.end > end)
            kept[nkept++] = (struct cv_range){ end, range.end };
    }
    for (size_t i = 0; i < nkept; i++)
        gone -= kept[i].end - kept[i].begin;
    CV_TRY(replace(set, index, last - index, kept, nkept, err));
    set->total -= gone;
    return CLEAVE_OK;
}

bool cv_range_set_take(struct cv_range_set *set, uint64_t most, struct cv_range *out)
{
    struct cv_range *range;

    if (set->count == 0 || most == 0)
        return false;
    range = &set->ranges[set->first];
    *out = *range;
    if (out->end - out->begin > most) {
        out->end = out->begin + most;
        range->begin = out->end;
    } else {
        set->first++;
        set->count--;
    }
    set->total -= out->end - out->begin;
    return true;
}
