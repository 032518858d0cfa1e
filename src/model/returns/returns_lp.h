/* returns_lp.h -- the best shares for given orders on a single port.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_LP_H
#define CV_RETURNS_LP_H
#include "model/returns/returns_system.h"

/* Shares by column of the rows; *out_optimal tells whether they are proved best. False
 * when memory is short. */
bool cv_rows_single(const struct cv_rows *rows, double *shares, bool *out_optimal,
                    struct cv_arena *arena);

#endif
