/* map_units.c -- which units of a shared job have been computed. SPDX-License-Identifier: MIT */
#include "mpi/map/map_units.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

void cv_map_units_free(struct cv_map_units *units)
{
    free(units->ranges);
    *units = (struct cv_map_units){ 0 };
}

/* The first range that ends behind `unit`. Most chunks come about in order, so it is looked
 * for from the end. */
static size_t find(const struct cv_map_units *units, uint64_t unit)
{
    size_t at = units->count;

    while (at > 0 && units->ranges[at - 1].end > unit)
        at--;
    return at;
}

static enum cleave_status insert(struct cv_map_units *units, size_t at, uint64_t begin,
                                 uint64_t end, struct cleave_error *err)
{
    if (units->ranges == NULL || units->count == units->room) {
        struct cv_map_range *larger =
            cv_grow(units->ranges, &units->room, units->count + 1, sizeof *larger);

        if (larger == NULL)
            return cv_fail_memory(err, "the units that were computed");
        units->ranges = larger;
    }
    memmove(units->ranges + at + 1, units->ranges + at,
            (units->count - at) * sizeof *units->ranges);
    units->ranges[at] = (struct cv_map_range){ begin, end };
    units->count++;
    return CLEAVE_OK;
}

enum cleave_status cv_map_units_add(struct cv_map_units *units, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const size_t at = find(units, begin);
    struct cv_map_range *next = at < units->count ? &units->ranges[at] : NULL;
    struct cv_map_range *before = at > 0 ? &units->ranges[at - 1] : NULL;

    if (next != NULL && next->begin < end)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu were computed twice: a defect of cleave",
                       (unsigned long long)(next->begin > begin ? next->begin : begin),
                       (unsigned long long)(next->end < end ? next->end : end));
    if (before != NULL && before->end == begin && next != NULL && next->begin == end) {
        before->end = next->end;
        memmove(next, next + 1, (units->count - at - 1) * sizeof *next);
        units->count--;
    } else if (before != NULL && before->end == begin) {
        before->end = end;
    } else if (next != NULL && next->begin == end) {
        next->begin = begin;
    } else {
        return insert(units, at, begin, end, err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_map_units_check(const struct cv_map_units *units, uint64_t all,
                                      struct cleave_error *err)
{
    const struct cv_map_range *first = units->ranges;
    uint64_t begin = 0, end = all;

    if (units->count > 0 && first->begin == 0) {
        begin = first->end;
        end = units->count > 1 ? first[1].begin : all;
    } else if (units->count > 0) {
        end = first->begin;
    }
    if (begin > all)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu were computed, and there are only %llu: a "
                       "defect of cleave",
                       (unsigned long long)all, (unsigned long long)begin,
                       (unsigned long long)all);
    if (begin < all)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu of %llu were not computed: a defect of cleave",
                       (unsigned long long)begin,
                       (unsigned long long)(end < all ? end : all),
                       (unsigned long long)all);
    return CLEAVE_OK;
}
