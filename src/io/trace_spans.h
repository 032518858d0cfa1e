/* trace_spans.h -- the events of a trace as activities with begin and end.
 * SPDX-License-Identifier: MIT
 *
 * For whoever draws: which events are spans, whose, and of which kind. */
#ifndef CV_TRACE_SPANS_H
#define CV_TRACE_SPANS_H
#include <cleave/trace.h>

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
