/* short_cuts.h -- what the library knows of a policy beyond its decisions.
 * SPDX-License-Identifier: MIT
 *
 * Simulating `decide` event by event is always right; these make many runs of the
 * policies that come with the library quicker, with the same results. They are no part of
 * the public contract, so that they can change: a policy points to them as its `inner`. */
#ifndef CV_SHORT_CUTS_H
#define CV_SHORT_CUTS_H
#include <cleave/policy.h>
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h" /* CV_NO_NODE */

/* A reduction that always does the same, whatever costs turn out to be: every node sends
 * to its parent when it has combined all it receives. */
struct cv_tree_shape {
    uint32_t *parent; /* per node; CV_NO_NODE for the root                           */
    bool in_turn;     /* senders are received in the order of their numbers; else
                         first come, first served                                   */
    uint32_t *turn;   /* per node, room of the caller: if in_turn, the order may be by
                         these instead, from 0 at every receiver                    */
    bool by_turn;
    uint32_t ahead; /* at most so many partials wait or are being combined when
                         the next transfer begins: 0, 1, or UINT32_MAX for any      */
};

struct cv_policy_inner {
    enum cv_reduce_method method; /* what is proved of it                            */
    /* Optional: if `decide` only carries out a fixed tree, describe it (`out->parent` has
     * room for all nodes), so that many runs need no events; false if not. */
    bool (*fixed)(const void *state, const struct cleave_view *view,
                  struct cv_tree_shape *out);
    bool knows_ready; /* looks at the ready times of a run when it starts            */
    /* Then, optional: whether its tree is the best of all where that is proved. */
    bool (*is_best)(const void *state);
};

#endif
