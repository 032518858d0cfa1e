/* range_set.h -- a set of bytes, kept as sorted ranges. SPDX-License-Identifier: MIT
 *
 * The ranges of an input that are left or done. Ranges that touch are merged. Items that end in
 * any order leave half as many ranges as there are items, so the ranges are a treap (a search
 * tree by begin, a heap by random weight): each call is O(log n), plus O(log n) per range that it
 * removes. */
#ifndef CV_RANGE_SET_H
#define CV_RANGE_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

/* The bytes from `begin` up to, but without, `end`. */
struct cv_range {
    uint64_t begin, end;
};

struct cv_range_node;

/* For one thread at a time. Members other than `total` are for the functions of this header. */
struct cv_range_set {
    struct cv_range_node *nodes; /* owned; node 0 means no node */
    size_t used, capacity;
    uint32_t root, free; /* free: first of a list */
    uint32_t made;       /* nodes made so far; weights are computed from it */
    uint64_t total;      /* bytes in the set */
    uint64_t steps;      /* down the tree, by changes, for tests */
};

void cv_range_set_init(struct cv_range_set *set);
void cv_range_set_done(struct cv_range_set *set);

/* The range that holds `offset`, else the next one; false if there is none. To visit all:
 *
 *     for (at = 0; cv_range_set_find(set, at, &range); at = range.end) */
bool cv_range_set_find(const struct cv_range_set *set, uint64_t offset,
                       struct cv_range *out);

/* Add or remove [begin, end), even if parts of it are present or absent. begin <= end. On failure
 * (out of memory) the set is unchanged. */
enum cleave_status cv_range_set_put(struct cv_range_set *set, uint64_t begin,
                                    uint64_t end, struct cleave_error *err);
enum cleave_status cv_range_set_remove(struct cv_range_set *set, uint64_t begin,
                                       uint64_t end, struct cleave_error *err);

#endif
