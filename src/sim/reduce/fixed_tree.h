/* fixed_tree.h -- the length of a reduction whose tree is known in advance, without events.
 * SPDX-License-Identifier: MIT
 *
 * What an event loop would find out is a pass over the nodes, senders before receivers:
 *
 *     a transfer begins at max(sender complete, port free, few enough wait)
 *     it arrives after D; its combination begins at max(arrived, the one before is done)
 *
 * The same sums in the same order as the native engine's, so the same bits. Only who is
 * first when two come at the very same time may depend on more than these times; such a
 * run is left undecided. */
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
    uint32_t *receiver;                  /* per group, after those of its senders     */
    uint32_t *begin;                     /* per group and one more: into senders      */
    uint32_t *senders, *to;              /* by number; the receiver of each           */
    double *transfer_s, *compute_s;      /* of the run, beside senders                */
    double *done_s;                      /* per node: has combined all; negative if it
                                            receives nothing and was there at the start */
    double *ready_s;                     /* per node: of the run; NULL: all are there  */
    uint32_t *queue;                     /* room for the senders of one receiver      */
};

/* NULL-free after success; all memory is the arena's. *out_any is false if the policy's
 * decisions are no fixed tree. */
enum cleave_status cv_fixed_tree_init(struct cv_fixed_tree *tree,
                                      const struct cleave_policy *policy,
                                      const void *state, const struct cleave_view *view,
                                      const struct cv_reduce_costs *costs,
                                      struct cv_arena *arena, bool *out_any,
                                      struct cleave_error *err);
/* The length of a run; NAN if undecided. Draws the ready times of the run, if any. */
double cv_fixed_tree_run(struct cv_fixed_tree *tree, uint32_t run);

#endif
