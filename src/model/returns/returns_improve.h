/* returns_improve.h -- FIFO and LIFO with fixed costs, by improvement.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_IMPROVE_H
#define CV_RETURNS_IMPROVE_H
#include "model/returns/returns_chain.h"

/* An order of sending of *out_n workers for which cv_chain_fill is positive, or of none.
 * `order` has room for all workers. False when memory is short. */
bool cv_chain_improve(const struct cv_returns *returns, enum cv_chain kind,
                      double lifespan_s, uint32_t *order, uint32_t *out_n,
                      struct cv_arena *arena);

#endif
