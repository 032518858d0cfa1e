/* bandwidth_order.h -- workers by decreasing bandwidth. SPDX-License-Identifier: MIT */
#ifndef CV_BANDWIDTH_ORDER_H
#define CV_BANDWIDTH_ORDER_H
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

/* Indices of the workers, fastest link first, ties by index; NULL when memory is short. */
uint32_t *cv_bandwidth_order(const struct cleave_worker *workers, uint32_t nworkers,
                             struct cv_arena *arena);

#endif
