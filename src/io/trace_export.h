/* trace_export.h -- a trace in the formats of other viewers. SPDX-License-Identifier: MIT
 *
 * The end of a file's name tells which: .chrome.json or .perfetto.json for the trace
 * format of Chrome, which Perfetto shows; .paje for Paje, which ViTE shows; anything else
 * for our own, the only one that can be read back. */
#ifndef CV_TRACE_EXPORT_H
#define CV_TRACE_EXPORT_H
#include <stdio.h>

#include "io/trace_context.h"

enum cv_trace_format { CV_TRACE_OWN, CV_TRACE_CHROME, CV_TRACE_PAJE };

enum cv_trace_format cv_trace_format_of(const char *path);

/* Write in any of the formats. */
enum cleave_status cv_trace_export(const struct cv_trace_context *context,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err);

#endif
