/* bound_start.h -- nobody computes before something has arrived.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_START_H
#define CV_BOUND_START_H
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

/* Up to this many workers that are not all alike the best assignment is found exactly. */
enum { CV_START_EXACT = 128 };

/* The least T at which workers, given the best places in the order of first messages,
 * could compute `load` units; see docs/theory/bounds.md. Returns a negative number when memory
 * is short. */
double cv_bound_start(const struct cleave_worker *workers, uint32_t nworkers, double load,
                      struct cv_arena *scratch);

#endif
