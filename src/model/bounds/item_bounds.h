/* item_bounds.h -- lower bounds for schedules of indivisible items.
 * SPDX-License-Identifier: MIT
 *
 * An item of s units takes a worker start + s / speed. Proofs: docs/theory/items.md. */
#ifndef CV_ITEM_BOUNDS_H
#define CV_ITEM_BOUNDS_H
#include <cleave/run.h>
#include "base/arena.h"

enum { CV_MAX_ITEM_BOUNDS = 4 };

struct cv_item_query {
    const struct cleave_worker *workers;
    uint32_t nworkers;
    enum cleave_port port;
    const double *sizes; /* nitems of them, at least 1 */
    uint64_t nitems;
};

/* All lower bounds on the makespan in seconds, and which is the largest:
 *
 * preemptive  if items could be interrupted and moved: the k largest on the k fastest
 *             workers, for all k, and all on all (Horvath, Lam, Sethi 1977)
 * longest     every item on its quickest worker
 * port        everything passes the port of the master, one after the other
 * assignment  if items could be divided between the workers that can do all of them in
 *             time: a linear program, by its dual
 *
 * Returns how many there are, 0 when memory is short. */
size_t cv_item_bounds(const struct cv_item_query *query, struct cv_arena *scratch,
                      struct cleave_bound out[CV_MAX_ITEM_BOUNDS], size_t *out_tightest);

#endif
