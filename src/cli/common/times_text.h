/* times_text.h -- how long many runs took, as text and as JSON.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TIMES_TEXT_H
#define CV_TIMES_TEXT_H
#include <cleave/run.h>
#include "cli/common/output.h"
#include "io/json_out.h"

/* Add a table of mean and quantiles, and a line on which they lie. */
void cv_times_text(const struct cleave_stats *stats, const struct cv_screen *screen,
                   struct cv_text *out);
/* mean, stddev, stderr, q10, median, q90, min, max: members of an object that the caller has
 * opened. */
void cv_field_stats(struct cv_json *json, const struct cleave_stats *stats);
/* One run that took this long, in the form of statistics. */
struct cleave_stats cv_stats_of_one(double time_s);

#endif
