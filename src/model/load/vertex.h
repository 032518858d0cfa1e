/* vertex.h -- sizes for a given send order that leave no gap and end all together.
 * SPDX-License-Identifier: MIT
 *
 * For any sequence of workers let the port never wait, no worker wait after its first
 * chunk, and all end at the same time. Going back from the last chunk, every size is an
 * affine function offset + slope x of x, the time from the arrival of the last chunk to
 * the end; the sizes sum to the load at one x. O(chunks). If all sizes and all
 * multipliers are non-negative, this is the optimum of that order. */
#ifndef CV_VERTEX_H
#define CV_VERTEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

/* A number that depends on x. */
struct cv_affine {
    double offset, slope;
};

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
 * is negative). *out_feasible tells whether all sizes are >= 0. Sizes too large for a
 * double give INFINITY, not feasible, and zeros. */
double cv_vertex_solve(const struct cleave_worker *workers, double load,
                       const uint32_t *seq, size_t n, struct cv_vertex_workspace *room,
                       double *units, bool *out_feasible);

/* The multipliers of the tight constraints, summing to 1: multiplier[0..n-1].
 * Returns whether all are >= 0. */
bool cv_vertex_multipliers(const struct cleave_worker *workers, const uint32_t *seq,
                           size_t n, struct cv_vertex_workspace *room,
                           double *multiplier);

#endif
