/* cycle_worst.h -- cost of the dearest order of service. SPDX-License-Identifier: MIT
 *
 * The other end of what cv_cycle_best finds: how much there is to gain by an order. */
#ifndef CYCLE_WORST_H
#define CYCLE_WORST_H
#include "model/stream/stream_costs.h"

/* O(n log n); false when memory is short. */
bool cycle_worst(const struct cv_cycle *cycle, struct cv_arena *arena, double *out_cost);

#endif
