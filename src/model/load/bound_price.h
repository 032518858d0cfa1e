/* bound_price.h -- a bound from prices on the port's time.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_PRICE_H
#define CV_BOUND_PRICE_H
#include <cleave/platform.h>
#include <stdint.h>
#include "base/arena.h"

/* A makespan that no schedule behind one port beats, for workers of any kind, usually one
 * or two percent below the best schedule known. Returns 0 (no bound) when there are too
 * many kinds of workers to price in reasonable time, negative when memory is short. */
double cv_bound_price(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch);

#endif
