/* chrome_trace.h -- a trace in Chrome's trace format. SPDX-License-Identifier: MIT */
#ifndef CV_CHROME_TRACE_H
#define CV_CHROME_TRACE_H
#include <stdio.h>

#include "io/trace_context.h"

/* The entries have been checked; the caller looks whether all was written. */
enum cleave_status cv_chrome_write(const struct cv_trace_context *context, FILE *file,
                                   struct cleave_error *err);

#endif
