/* run_live.h -- what every worker does, while it does it. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_LIVE_H
#define CV_RUN_LIVE_H
#include <stdbool.h>
#include <cleave/execute.h>
#include "base/text.h"

/* "720.8 kB", with as many digits as do not make the rest of a line tremble. */
void cv_run_add_bytes(struct cv_text *text, double bytes);
/* --live: add a line for each worker, at most `most` lines of `width` columns, each behind a
 * newline. Returns how many. */
unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out);

#endif
