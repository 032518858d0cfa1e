/* trace_export.h -- a trace in the formats of other viewers. SPDX-License-Identifier: MIT
 *
 * The end of a file's name tells which: .chrome.json or .perfetto.json for the trace
 * format of Chrome, which Perfetto shows; .paje for Paje, which ViTE shows; anything else
 * for our own, the only one that can be read back. */
#ifndef CV_TRACE_EXPORT_H
#define CV_TRACE_EXPORT_H
#include <stdio.h>
#include <cleave/trace.h>

enum cv_trace_format { CV_TRACE_OWN, CV_TRACE_CHROME, CV_TRACE_PAJE };

/* A trace and what it is about. */
struct cv_trace_story {
    const struct cleave_trace *trace;
    const struct cleave_platform *platform; /* NULL for a reduction: */
    uint32_t nodes;                         /* so many               */
    const char *policy;
    double load; /* units */
};

enum cv_trace_format cv_trace_format_of(const char *path);

/* Write in any of the formats. */
enum cleave_status cv_trace_export(const struct cv_trace_story *story,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err);

/* The parts of it, for entries that were checked; the caller looks whether all was
 * written. */
enum cleave_status cv_chrome_write(const struct cv_trace_story *story, FILE *file,
                                   struct cleave_error *err);
enum cleave_status cv_paje_write(const struct cv_trace_story *story, FILE *file,
                                 struct cleave_error *err);

/* The name of a worker; a node's number is written into `buffer`. */
enum { CV_STORY_NAME_ROOM = 24 };
const char *cv_story_name(const struct cv_trace_story *story, uint32_t worker,
                          char buffer[CV_STORY_NAME_ROOM]);

#endif
