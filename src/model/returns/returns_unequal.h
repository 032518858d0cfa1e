/* returns_unequal.h -- FIFO when return costs are no fixed part of send costs.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_UNEQUAL_H
#define CV_RETURNS_UNEQUAL_H
#include "model/returns/returns.h"

/* As cv_returns_fifo, for an instance that is checked and has no fixed costs. `optimal`
 * when the rule of the file's head settles it and the port has room. */
enum cleave_status cv_fifo_unequal(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err);

#endif
