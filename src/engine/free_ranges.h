/* free_ranges.h -- the parts of a load that nobody has. SPDX-License-Identifier: MIT
 *
 * A sorted list of ranges [begin, end) of real numbers, no two of which touch. There are
 * few of them: parts become free in the middle only where something is recalled. Ranges that
 * are a grain apart touch; who takes all of one but a record takes it all. */
#ifndef CV_FREE_RANGES_H
#define CV_FREE_RANGES_H
#include <stdbool.h>
#include <stddef.h>

struct cv_free_range {
    double begin, end;
};

struct cv_free_ranges {
    struct cv_free_range *items; /* owned */
    size_t count, room;
    double grain, record;
};

void cv_free_ranges_clear(struct cv_free_ranges *ranges, double grain, double record);
void cv_free_ranges_done(struct cv_free_ranges *ranges);
/* Make room for one that is to be added; false when memory is short. */
bool cv_free_ranges_reserve(struct cv_free_ranges *ranges);
/* Nobody has [begin, end) any more. */
void cv_free_ranges_add(struct cv_free_ranges *ranges, double begin, double end);
/* Take up to `units`, or a record, from the lowest range; returns how many, maybe none, and where. */
double cv_free_ranges_take_first(struct cv_free_ranges *ranges, double units,
                                 double *out_begin);
/* The same from `begin` on: none if that is not free. There is room for one more range. */
double cv_free_ranges_take_at(struct cv_free_ranges *ranges, double units, double begin);
/* Units in all. */
double cv_free_ranges_sum(const struct cv_free_ranges *ranges);

#endif
