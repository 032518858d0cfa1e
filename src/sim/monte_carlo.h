/* monte_carlo.h -- many runs, on several threads, with the same result on any number.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MONTE_CARLO_H
#define CV_MONTE_CARLO_H
#include "engine/driver.h"

enum { CV_MAX_RUNS = 100000000 };

/* Makes runs 0 .. trial->runs - 1 of `first` (whose number and noise run are set for
 * each) and sums them up. A trace given goes to run 0. */
enum cleave_status cv_monte_carlo(const struct cv_planned *planned, const struct cv_run *first,
                                  const struct cleave_trial *trial, struct cleave_trace *trace,
                                  struct cleave_stats *out, struct cleave_error *err);

#endif
