/* plan.h -- a list of chunks fixed in advance, and how long it takes.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLAN_H
#define CV_PLAN_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

/* Most chunks a plan may have: what asks for more is refused, not attempted. */
#define CV_MAX_CHUNKS ((size_t)1 << 26)

/* Default of the most chunks for this many workers: 64 each while that
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

/* Make the chunks sum to `load` again after rounding errors: chunks that are not above zero leave the plan, and the largest takes the difference. If the load is less than the rounding of long latencies, the first chunk takes it. */
void cv_plan_settle(struct cv_plan *plan, double load);

/* A number that depends on x. */
struct cv_affine {
    double offset, slope;
};

/* The size, affine in the time of the last chunk, of the chunk before those that take
 * `ahead` from its arrival to the end; `lead` is that time of its worker's next chunk.
 * Both, and the sum of sizes, are moved on. */
static inline struct cv_affine cv_vertex_step(const struct cleave_worker *worker,
                                              struct cv_affine *lead,
                                              struct cv_affine *ahead,
                                              struct cv_affine *sum)
{
    const struct cv_affine size = { worker->speed_ups * (ahead->offset - lead->offset -
                                                         worker->compute_latency_s),
                                    worker->speed_ups * (ahead->slope - lead->slope) };

    *lead = *ahead;
    ahead->offset += worker->latency_s + size.offset / worker->bandwidth_ups;
    ahead->slope += size.slope / worker->bandwidth_ups;
    sum->offset += size.offset;
    sum->slope += size.slope;
    return size;
}

/* Memory for the calls below. */
struct cv_vertex_workspace {
    struct cv_affine *size; /* per chunk                                             */
    struct cv_affine *lead; /* per worker: from the arrival of its next chunk to the
                               end; 0 when it has none                               */
};

/* Room for up to `chunks` chunks; false when memory is short. */
bool cv_vertex_room_init(struct cv_vertex_workspace *room, struct cv_arena *arena,
                         size_t chunks, uint32_t nworkers);

/* Fill units[0..n-1] for the order seq[0..n-1]; returns the makespan (exact when no size
 * is negative). *out_feasible: all sizes are >= 0. Sizes too large for a double give
 * INFINITY, not feasible, and zeros. */
double cv_vertex_solve(const struct cleave_worker *workers, double load,
                       const uint32_t *seq, size_t n, struct cv_vertex_workspace *room,
                       double *units, bool *out_feasible);

/* The multipliers of the tight constraints, summing to 1: multiplier[0..n-1].
 * Returns whether all are >= 0. */
bool cv_vertex_multipliers(const struct cleave_worker *workers, const uint32_t *seq,
                           size_t n, struct cv_vertex_workspace *room,
                           double *multiplier);

/* Room to work in, as callers may not be allowed to allocate. */
struct cv_water_fill_workspace {
    double begin_s, speed_ups;
};

/* Share out `load` >= 0 over n > 0 workers, with room for n basins; *out_end is t* (for
 * no load, the least ready + overhead). Workers whose speed is not positive get nothing.
 * false when no worker has a speed. O(n log n). */
bool cv_water_fill(struct cv_water_fill_workspace *room, const double *ready_s,
                   const double *overhead_s, const double *speed_ups, uint32_t n,
                   double load, double *out_share, double *out_end);

/* Chunks without results, in the order sent; `costs` are prices of the workers per
 * second. */
struct cv_min_cost_plan {
    const struct cleave_worker *workers;
    const double *costs;
    uint32_t nworkers;
    enum cleave_port port;
    double load;
};

/* More chunks take too long. */
enum { CV_THRIFT_MOST = 160 };

/* Set the units of the plan, which add up to the load, so that all ends by `deadline_s` and
 * costs least; chunks of 0 units leave the plan, and their latencies with them. INFINITY:
 * the deadline cannot be met in this order, and the plan is unchanged; NAN: memory is
 * short. */
double cv_min_cost_sizes(const struct cv_min_cost_plan *thrift, double deadline_s,
                         struct cv_plan *plan, struct cv_arena *arena);

#endif
