/* plan_text.h -- a schedule as text for people. SPDX-License-Identifier: MIT */
#ifndef CV_PLAN_TEXT_H
#define CV_PLAN_TEXT_H
#include <cleave/run.h>
#include "base/text.h"
#include "cli/load_options.h"
#include "cli/output.h"

/* Add headline, workers, rounds or chunks, those left out, and the chart. */
void cv_plan_text(const struct cleave_schedule *schedule,
                  const struct cleave_platform *platform,
                  const struct cv_load_options *options, const struct cv_screen *screen,
                  struct cv_text *out);

/* "1 worker", "8 workers": a count with its noun; `buffer` is returned. */
enum { CV_COUNTED_ROOM = 48 };
const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM]);

/* "2000 units on 8 workers, 0.5 of result per unit", or what a lifespan is for. */
void cv_load_words(double units, double lifespan_s, double result_ratio,
                   uint32_t nworkers, struct cv_text *out);

/* Add "policy    umr, picked by auto: why" or "policy    umr", wrapped at `width`.
 * `picked` and `why` may be NULL. */
void cv_policy_line(const char *policy, const char *picked, const char *why, size_t width,
                    struct cv_text *out);

/* How far a schedule is from its bound: 0.01 when it takes 1 % longer or, with a lifespan,
 * when 1 % more might be done. */
double cv_schedule_over(const struct cleave_schedule *schedule);
/* How far `time_s` is above the bound, as a part of the bound; 0 for rounding errors. */
double cv_over(double time_s, double bound_s);

#endif
