/* times_text.h -- how long many runs took, as text. SPDX-License-Identifier: MIT */
#ifndef CV_TIMES_TEXT_H
#define CV_TIMES_TEXT_H
#include <cleave/run.h>
#include "cli/kit/output.h"

/* Add a table of mean and quantiles, and a line on which they lie. */
void cv_times_text(const struct cleave_stats *stats, const struct cv_screen *screen,
                   struct cv_text *out);

#endif
