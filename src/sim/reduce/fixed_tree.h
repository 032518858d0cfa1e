/* fixed_tree.h -- the length of a reduction whose tree is known in advance, without events.
 * SPDX-License-Identifier: MIT
 *
 * A pass over the nodes, senders before receivers, replaces events:
 *
 *     a transfer begins at max(sender complete, port free, few enough wait)
 *     it arrives after D; its combination begins at max(arrived, previous one done)
 *
 * Sums are the same as in the native engine and in the same order: the same bits. The order
 * of simultaneous arrivals may depend on more than these times; such a run is undecided. */
#ifndef CV_FIXED_TREE_H
#define CV_FIXED_TREE_H
#include <cleave/policy.h>
#include "base/arena.h"
#include "model/reduce/reduce_costs.h"

/* A tree laid out for the pass: groups of senders to one receiver. */
struct cv_fixed_tree {
    uint32_t nodes, groups;
    bool in_turn;
    uint32_t ahead;
    const struct cv_reduce_costs *costs; /* borrowed                                  */
    /* per group, after the receivers of its senders */
    uint32_t *receiver;
    uint32_t *begin;                /* per group: index in senders; one more */
    uint32_t *senders, *to;         /* by number; the receiver of each */
    double *transfer_s, *compute_s; /* costs of the run, parallel to senders */
    double *done_s;                 /* per node; negative: a leaf that is ready at 0 */
    double *ready_s;                /* per node; NULL: 0 */
    uint32_t *queue;                /* senders of one receiver */
};

/* All memory belongs to the arena. *out_any is false if the policy does not follow a
 * fixed tree. */
enum cleave_status cv_fixed_tree_init(struct cv_fixed_tree *tree,
                                      const struct cleave_policy *policy,
                                      const void *state, const struct cleave_view *view,
                                      const struct cv_reduce_costs *costs,
                                      struct cv_arena *arena, bool *out_any,
                                      struct cleave_error *err);
/* The length of a run; NAN if undecided. */
double cv_fixed_tree_run(struct cv_fixed_tree *tree, uint32_t run);

#endif
