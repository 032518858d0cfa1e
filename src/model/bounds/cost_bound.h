/* cost_bound.h -- what a load costs at least. SPDX-License-Identifier: MIT */
#ifndef CV_COST_BOUND_H
#define CV_COST_BOUND_H
#include "model/bounds/load_bounds.h"

/* No schedule that ends by `deadline_s` costs less, whatever the rounds; `costs` are those of
 * workers per second. INFINITY: none ends by then; NAN: memory is short. The deadline may be
 * INFINITY. */
double cv_cost_bound(const struct cv_bound_query *query, const double *costs,
                     double deadline_s, struct cv_arena *scratch);
/* No schedule that costs `budget` or less ends sooner than this; INFINITY: none costs so
 * little; NAN: memory is short. */
double cv_budget_bound(const struct cv_bound_query *query, const double *costs,
                       double budget, struct cv_arena *scratch);

#endif
