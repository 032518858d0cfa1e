/* bound_price.h -- a bound from prices on the port's time.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_PRICE_H
#define CV_BOUND_PRICE_H
#include <cleave/platform.h>
#include <stdint.h>
#include "base/arena.h"

/* A lower bound on the makespan on one port, for any workers, usually one or two percent
 * below the best schedule known. 0 (no bound) with too many kinds of workers, negative
 * when memory is short. */
double cv_bound_price(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch);

#endif
