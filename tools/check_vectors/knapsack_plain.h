/* knapsack_plain.h -- a plain heuristic and a plain bound for the multiple knapsack, to
 * hold the solver against. SPDX-License-Identifier: MIT */
#ifndef KNAPSACK_PLAIN_H
#define KNAPSACK_PLAIN_H
#include "select/knapsack/knapsack.h"

/* Items by decreasing density (ties: the lighter, then the first), each into the fullest
 * bin which has room. upper_bound is the bound of cv_knapsack_surrogate_lp. */
enum cleave_status knapsack_greedy(const struct cv_knapsack *problem,
                                   struct cv_arena *arena, struct cv_knapsack_answer *out,
                                   struct cleave_error *err);

/* cv_knapsack_surrogate_lp with whole items; *out_exact tells whether `work` (0: CV_KNAPSACK_WORK) was
 * enough to solve that single knapsack. If not, the bound is larger, but still a bound. */
enum cleave_status knapsack_surrogate_kp(const struct cv_knapsack *problem, uint64_t work,
                                         double *out_bound, bool *out_exact,
                                         struct cleave_error *err);

#endif
