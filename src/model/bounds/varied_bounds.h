/* varied_bounds.h -- what no schedule can beat where speeds change with time.
 * SPDX-License-Identifier: MIT */
#ifndef CV_VARIED_BOUNDS_H
#define CV_VARIED_BOUNDS_H
#include "model/bounds/load_bounds.h"

/* For a query with profiles: the least time for the load, or the most units by the
 * lifespan; NAN when memory is short. Infinite when not all can ever be done. */
double cv_varied_bound(const struct cv_bound_query *query, struct cv_arena *scratch);

#endif
