/* paje_trace.h -- a trace in the Paje format. SPDX-License-Identifier: MIT */
#ifndef CV_PAJE_TRACE_H
#define CV_PAJE_TRACE_H
#include <stdio.h>

#include "io/trace_context.h"

/* The entries have been checked; the caller looks whether all was written. */
enum cleave_status cv_paje_write(const struct cv_trace_context *context, FILE *file,
                                 struct cleave_error *err);

#endif
