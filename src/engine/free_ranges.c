/* free_ranges.c -- the parts of a load that nobody has. SPDX-License-Identifier: MIT */
#include "engine/free_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_free_ranges_clear(struct cv_free_ranges *ranges, double grain, double record)
{
    ranges->count = 0;
    ranges->grain = grain;
    ranges->record = record > grain ? record : grain;
}

void cv_free_ranges_done(struct cv_free_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct cv_free_ranges){ .count = 0 };
}

bool cv_free_ranges_reserve(struct cv_free_ranges *ranges)
{
    return CV_ROOM(ranges->items, &ranges->room, ranges->count + 1);
}

static void drop(struct cv_free_ranges *ranges, size_t i)
{
    ranges->count--;
    memmove(ranges->items + i, ranges->items + i + 1,
            (ranges->count - i) * sizeof *ranges->items);
}

void cv_free_ranges_add(struct cv_free_ranges *ranges, double begin, double end)
{
    size_t i = 0;

    while (i < ranges->count && ranges->items[i].end < begin - ranges->grain)
        i++;
    if (i == ranges->count || ranges->items[i].begin > end + ranges->grain) {
        memmove(ranges->items + i + 1, ranges->items + i,
                (ranges->count - i) * sizeof *ranges->items);
        ranges->items[i] = (struct cv_free_range){ begin, end };
        ranges->count++;
        return;
    }
    if (begin < ranges->items[i].begin)
        ranges->items[i].begin = begin;
    if (end > ranges->items[i].end)
        ranges->items[i].end = end;
    if (i + 1 < ranges->count &&
        ranges->items[i + 1].begin <= ranges->items[i].end + ranges->grain) {
        ranges->items[i].end = ranges->items[i + 1].end;
        drop(ranges, i + 1);
    }
}

static double take(struct cv_free_ranges *ranges, size_t i, double units)
{
    struct cv_free_range *range = &ranges->items[i];
    const double all = range->end - range->begin;

    if (units <= 0)
        return 0;
    if (units < ranges->record)
        units = ranges->record;
    if (all - units > ranges->record) {
        range->begin += units;
        return units;
    }
    drop(ranges, i);
    return all;
}

double cv_free_ranges_take_first(struct cv_free_ranges *ranges, double units,
                                 double *out_begin)
{
    if (ranges->count == 0)
        return 0;
    *out_begin = ranges->items[0].begin;
    return take(ranges, 0, units);
}

double cv_free_ranges_take_at(struct cv_free_ranges *ranges, double units, double begin)
{
    size_t i = 0;

    while (i < ranges->count && ranges->items[i].end <= begin + ranges->grain)
        i++;
    if (i == ranges->count || ranges->items[i].begin > begin + ranges->grain)
        return 0;
    if (units > 0 && ranges->items[i].begin < begin - ranges->grain) {
        const struct cv_free_range rest = { begin, ranges->items[i].end };

        memmove(ranges->items + i + 2, ranges->items + i + 1,
                (ranges->count - i - 1) * sizeof *ranges->items);
        ranges->items[i].end = begin;
        ranges->items[++i] = rest;
        ranges->count++;
    }
    return take(ranges, i, units);
}

double cv_free_ranges_sum(const struct cv_free_ranges *ranges)
{
    double sum = 0;

    for (size_t i = 0; i < ranges->count; i++)
        sum += ranges->items[i].end - ranges->items[i].begin;
    return sum;
}
