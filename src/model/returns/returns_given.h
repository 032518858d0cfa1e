/* returns_given.h -- whom to leave out of given orders, for many workers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_GIVEN_H
#define CV_RETURNS_GIVEN_H
#include "model/returns/returns_lp.h"

/* Shares by column of the rows on a duplex port. False when memory is short. */
bool cv_rows_subset(const struct cv_rows *rows, double *shares, struct cv_arena *arena);

#endif
