/* range_set.h -- a set of bytes, kept as sorted ranges. SPDX-License-Identifier: MIT
 *
 * What is still to be done of an input: ranges are put back when a chunk fails and taken
 * from the front. Ranges that touch are one. Kept as a sorted vector, as there are few:
 * finding is O(log n), taking the first is O(1), anything else moves what follows. */
#ifndef CV_RANGE_SET_H
#define CV_RANGE_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

/* The bytes from `begin` up to `end`, which is not among them. */
struct cv_range {
    uint64_t begin, end;
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_range_set {
    struct cv_range *ranges; /* owned: `count` of them from `first` on */
    size_t first, count, capacity;
    uint64_t total;
};

void cv_range_set_init(struct cv_range_set *set);
void cv_range_set_done(struct cv_range_set *set);

/* Bytes in the set, and the ranges they form: range `index`, by offset. */
uint64_t cv_range_set_total(const struct cv_range_set *set);
size_t cv_range_set_count(const struct cv_range_set *set);
struct cv_range cv_range_set_at(const struct cv_range_set *set, size_t index);

/* The range that holds `offset`, else the first one after it; false if there is none. */
bool cv_range_set_find(const struct cv_range_set *set, uint64_t offset,
                       struct cv_range *out);

/* Add or remove [begin, end), whether or not some of it is there. They fail only when
 * memory is short, and then change nothing. begin > end is not allowed. */
enum cleave_status cv_range_set_put(struct cv_range_set *set, uint64_t begin,
                                    uint64_t end, struct cleave_error *err);
enum cleave_status cv_range_set_remove(struct cv_range_set *set, uint64_t begin,
                                       uint64_t end, struct cleave_error *err);
/* Take away the first bytes, at most `most` and all of one range; false when the set is
 * empty or `most` is 0. */
bool cv_range_set_take(struct cv_range_set *set, uint64_t most, struct cv_range *out);

#endif
