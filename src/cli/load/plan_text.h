/* plan_text.h -- a schedule as text for people. SPDX-License-Identifier: MIT */
#ifndef CV_PLAN_TEXT_H
#define CV_PLAN_TEXT_H
#include <cleave/run.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/load/load_options.h"
#include "cli/load/price.h"

/* Add headline, workers, rounds or chunks, those left out, and the chart. `price` is what
 * was looked for a price; NULL: nothing. */
void cv_plan_text(const struct cleave_schedule *schedule,
                  const struct cleave_platform *platform, const struct cv_price *price,
                  const struct cv_load_options *options, const struct cv_screen *screen,
                  struct cv_text *out);

/* "2000 units on 8 workers, 0.5 of result per unit", or what a lifespan is for. */
void cv_load_words(double units, double lifespan_s, double result_ratio,
                   uint32_t nworkers, struct cv_text *out);

/* How far a schedule is from its bound: 0.01 when it takes 1 % longer or, with a lifespan,
 * when 1 % more might be done. */
double cv_schedule_over(const struct cleave_schedule *schedule);

#endif
