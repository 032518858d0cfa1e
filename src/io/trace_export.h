/* trace_export.h -- a trace in the formats of other viewers. SPDX-License-Identifier: MIT
 *
 * The end of a file's name tells which: .chrome.json or .perfetto.json for the trace
 * format of Chrome, which Perfetto shows; .paje for Paje, which ViTE shows; anything else
 * for our own, the only one that can be read back. */
#ifndef CV_TRACE_EXPORT_H
#define CV_TRACE_EXPORT_H
#include <cleave/trace.h>
#include <stdio.h>

struct cv_trace_context {
    const struct cleave_trace *trace;
    const struct cleave_platform *platform; /* NULL for a reduction: */
    uint32_t nodes;                         /* so many               */
    const char *policy;
    double load; /* units */
};

/* The name of a worker; a node's number is written into `buffer`. */
enum { CV_STORY_NAME_ROOM = 24 };

enum cv_trace_format { CV_TRACE_OWN, CV_TRACE_CHROME, CV_TRACE_PAJE };

enum cv_trace_format cv_trace_format_of(const char *path);

/* Write in any of the formats. */
enum cleave_status cv_trace_export(const struct cv_trace_context *context,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err);

enum cv_span_kind {
    CV_SPAN_SEND,     /* master to worker                                             */
    CV_SPAN_COMPUTE,  /* worker                                                       */
    CV_SPAN_RETURN,   /* worker to master                                             */
    CV_SPAN_LOST,     /* a chunk on a worker that came to nothing                     */
    CV_SPAN_RECALL,   /* units that a worker gave back                                */
    CV_SPAN_TRANSFER, /* a partial from `peer` to `worker`                            */
    CV_SPAN_COMBINE,  /* worker combines it; the transfer is part of it if the trace
                         has none                                                     */
    CV_SPAN_FOLD,     /* worker folds partial results of a real run                   */
    CV_SPAN_KINDS,
};

struct cv_span {
    enum cv_span_kind kind;
    uint32_t worker, peer;
    uint64_t chunk;
    double units;
    double start_s, end_s;
};

/* Whether entry `i` is a span; *out is then filled. */
bool cv_span_at(const struct cleave_trace *trace, size_t i, struct cv_span *out);

/* "send", "compute", ..., as files and pages spell them: static. */
const char *cv_span_name(enum cv_span_kind kind);

#endif
