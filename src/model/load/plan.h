/* plan.h -- a list of chunks fixed in advance, and how long it takes.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLAN_H
#define CV_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

/* Most chunks a plan may have: what asks for more is refused, not attempted. */
#define CV_MAX_CHUNKS ((size_t)1 << 26)

/* Most chunks to consider for so many workers unless told otherwise: 64 each while that
 * is quick, at least 2000 in all and 8 each. */
size_t cv_chunk_cap(uint32_t nworkers);

/* Chunk k: units[k] to worker[k]; the master sends them in this order without a pause. */
struct cv_plan {
    size_t nchunks;
    uint32_t *worker; /* owned by the arena it was made in */
    double *units;
};

/* Room for `nchunks` chunks, all 0 units to worker 0. False, with the plan untouched,
 * when memory is short or there would be more than CV_MAX_CHUNKS. */
bool cv_plan_init(struct cv_plan *plan, struct cv_arena *arena, size_t nchunks);

/* When the last worker ends, on a one-port master with exact costs. `ready` has room for
 * a double per worker and is overwritten. About 5 ns per chunk. */
double cv_plan_makespan(const struct cleave_worker *workers, uint32_t nworkers,
                        const struct cv_plan *plan, double *ready);

/* Make the chunks sum to `load` again after rounding errors: those that are not above
 * zero leave the plan, and the largest takes what is missing or too much. Beside long
 * latencies a small load may be less than the rounding: the first chunk takes it then. */
void cv_plan_settle(struct cv_plan *plan, double load);

#endif
