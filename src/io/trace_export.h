/* trace_export.h -- traces in the formats of other viewers. SPDX-License-Identifier: MIT
 *
 * The end of the file name selects the format: .chrome.json or .perfetto.json selects the
 * Chrome format, for Perfetto; .paje selects Paje, for ViTE; any other name selects our
 * own format, which alone can be read back. */
#ifndef CV_TRACE_EXPORT_H
#define CV_TRACE_EXPORT_H
#include <cleave/trace.h>
#include <stdio.h>

struct cv_trace_context {
    const struct cleave_trace *trace;
    const struct cleave_platform *platform; /* NULL for a reduction */
    uint32_t nodes;                         /* nodes of a reduction */
    const char *policy;
    double load; /* units */
};

enum cv_trace_format { CV_TRACE_OWN, CV_TRACE_CHROME, CV_TRACE_PAJE };

enum cv_trace_format cv_trace_format_of(const char *path);

enum cleave_status cv_trace_export(const struct cv_trace_context *context,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err);

/* An event with begin and end, for drawing. */
enum cv_span_kind {
    CV_SPAN_SEND,     /* master to worker                                             */
    CV_SPAN_COMPUTE,  /* worker                                                       */
    CV_SPAN_RETURN,   /* worker to master                                             */
    CV_SPAN_LOST,     /* worker, on a chunk that was lost                             */
    CV_SPAN_RECALL,   /* units that a worker gave back                                */
    CV_SPAN_TRANSFER, /* a partial from `peer` to `worker`                            */
    CV_SPAN_COMBINE,  /* worker combines it; the transfer is part of it if the trace
                         has none                                                     */
    CV_SPAN_FOLD,     /* worker folds partial results of a real run                   */
    CV_SPAN_DROPPED,  /* worker, on a chunk that another worker ran as well           */
    CV_SPAN_FAILED,   /* worker, on a chunk that failed for good: see the facts       */
    CV_SPAN_KINDS,
};

struct cv_span {
    enum cv_span_kind kind;
    uint32_t worker, peer;
    uint64_t chunk;
    double units;
    double start_s, end_s;
};

/* Whether entry `i` is a span; if so, *out is filled. */
bool cv_span_at(const struct cleave_trace *trace, size_t i, struct cv_span *out);

/* "send", "compute", ..., as files and pages spell them: static. */
const char *cv_span_name(enum cv_span_kind kind);

#endif
