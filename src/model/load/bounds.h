/* bounds.h -- makespans no schedule can beat. SPDX-License-Identifier: MIT */
#ifndef CV_BOUNDS_H
#define CV_BOUNDS_H
#include <cleave/platform.h>
#include <cleave/run.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

enum { CV_MAX_BOUNDS = 8 };

/* All bounds for `load` units, no results returned, under the given port rule. Returns
 * how many were written; names are static. *out_tightest is the index of the largest.
 * `scratch` is used for working memory. ENOMEM gives 0.
 *
 * One port: "ideal", "port", "start", then "optimal" when all workers are equal (the
 * optimum itself; "rounds" when it could only be bounded) and else "price" (left out when
 * there are thousands of kinds of workers). Several ports: "ideal", "link", "optimal" or
 * "rounds". A microsecond for equal workers, a millisecond for ten different ones, less
 * than 0.1 s for 10^5. See docs/theory/bounds.md. */
size_t cv_bounds(const struct cleave_worker *workers, uint32_t nworkers,
                 enum cleave_port port, double load, struct cv_arena *scratch,
                 struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest);

/* The least makespan of `nworkers` workers like *worker on one port. *out_exact: some
 * schedule reaches it; without latencies none does, and with tiny ones the search ends
 * before it is sure. Negative when memory is short. */
double cv_bound_equal(const struct cleave_worker *worker, uint32_t nworkers, double load,
                      struct cv_arena *scratch, bool *out_exact);

/* A lower bound on the makespan on one port, for any workers, usually one or two percent
 * below the best schedule known. 0 (no bound) with too many kinds of workers, negative
 * when memory is short. */
double cv_bound_price(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch);

#endif
