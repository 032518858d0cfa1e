/* range_set.h -- a set of bytes, kept as sorted ranges. SPDX-License-Identifier: MIT
 *
 * What is still to be done of an input, or was done: ranges are put back when a chunk fails
 * and taken from the front. Ranges that touch are one. They are a tree that is balanced by
 * chance (a treap: sorted by where ranges begin, a heap by random weights), since items that
 * end in any order make half as many ranges as there are items: every call is O(log n), and as
 * much for each range that it makes vanish. */
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

struct cv_range_node;

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_range_set {
    struct cv_range_node *nodes; /* owned; the first one stands for none                */
    size_t used, capacity;       /* of nodes                                            */
    uint32_t root, free;         /* free: the first of a list                           */
    uint32_t made;               /* nodes so far, of which weights are made             */
    uint64_t total;
    uint64_t steps; /* nodes that were looked at to change it, so far                   */
};

void cv_range_set_init(struct cv_range_set *set);
void cv_range_set_done(struct cv_range_set *set);

/* Bytes in the set. */
uint64_t cv_range_set_total(const struct cv_range_set *set);

/* The range that holds `offset`, else the first one after it; false if there is none. So all of
 * them are
 *     for (at = 0; cv_range_set_find(set, at, &range); at = range.end) */
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
bool cv_range_set_take(struct cv_range_set *set, uint64_t max, struct cv_range *out);

#endif
