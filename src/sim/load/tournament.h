/* tournament.h -- the earliest of what each place has pending. SPDX-License-Identifier: MIT
 *
 * A tree of winners: every place has one pending time or none, every node above has the
 * earlier of the two below it, and the first of all is at the top. To change one place takes
 * as many steps as the tree is high, always the same and without a branch that depends on the
 * data: where something is pending at nearly every place, that is less than half of what a heap
 * takes, and what does not hold any more is simply replaced. */
#ifndef CV_TOURNAMENT_H
#define CV_TOURNAMENT_H
#include "sim/load/event_heap.h"

struct cv_tournament {
    struct cv_pending *nodes; /* owned: 1 is the top, those of i are 2 i and 2 i + 1 */
    size_t places;            /* a power of two                                      */
};

/* For so many places; false when memory is short. Nothing is pending before it is cleared. */
bool cv_tournament_init(struct cv_tournament *tree, size_t places);
void cv_tournament_clear(struct cv_tournament *tree);
void cv_tournament_done(struct cv_tournament *tree);

static inline void cv_tournament_set(struct cv_tournament *tree, size_t place,
                                     struct cv_pending item)
{
    struct cv_pending *const nodes = tree->nodes;

    for (size_t at = tree->places + place; at > 1; at /= 2) {
        const struct cv_pending *const other = &nodes[at ^ 1];
        const uint64_t time_bits = other->time_bits, key = other->key;
        const bool later = cv_pending_before(other, &item);

        nodes[at] = item;
        item.time_bits = later ? time_bits : item.time_bits;
        item.key = later ? key : item.key;
    }
    nodes[1] = item;
}

static inline const struct cv_pending *
cv_tournament_first(const struct cv_tournament *tree)
{
    return &tree->nodes[1];
}

#endif
