/* bound_equal.h -- the optimum itself, where it is known: equal workers behind one port,
 * and any workers that have a port each. SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_EQUAL_H
#define CV_BOUND_EQUAL_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

/* The least makespan of `nworkers` workers like *worker behind one port. *out_exact tells
 * whether some schedule reaches it; without latencies none does, and with tiny ones the
 * search ends before it is sure. Negative when memory is short. */
double cv_bound_equal(const struct cleave_worker *worker, uint32_t nworkers, double load,
                      struct cv_arena *scratch, bool *out_exact);

/* The most units one worker with a link of its own can have computed by time t, and in
 * *out_slope how fast that grows. No more than `most_chunks` chunks are tried; what more
 * of them could do is then estimated from above and *out_exact cleared. */
double cv_bound_alone(const struct cleave_worker *worker, double t, uint32_t most_chunks,
                      double *out_slope, bool *out_exact);

#endif
