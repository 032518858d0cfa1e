/* trace_spans.c -- the events of a trace as activities with begin and end.
 * SPDX-License-Identifier: MIT */
#include "io/trace_spans.h"

/* When the chunk of entry `i` was computed. In a run whose outputs come back by themselves
 * it is done when its output is here, which the entry before tells. */
static double computed_s(const struct cleave_trace *trace, size_t i)
{
    const struct cleave_event *done = &cleave_trace_at(trace, i)->as.event;
    const struct cleave_entry *before = i > 0 ? cleave_trace_at(trace, i - 1) : NULL;

    return before != NULL && !before->is_order &&
                   before->as.event.kind == CLEAVE_RETURNED &&
                   before->as.event.chunk == done->chunk &&
                   before->as.event.start_s > done->start_s
               ? before->as.event.start_s
               : done->time_s;
}

bool cv_span_at(const struct cleave_trace *trace, size_t i, struct cv_span *out)
{
    static const struct {
        bool is_span;
        enum cv_span_kind kind;
    } spans[] = {
        [CLEAVE_START] = { false, CV_SPAN_KINDS },
        [CLEAVE_SENT] = { true, CV_SPAN_SEND },
        [CLEAVE_DONE] = { true, CV_SPAN_COMPUTE },
        [CLEAVE_WAKE] = { false, CV_SPAN_KINDS },
        [CLEAVE_ARRIVED] = { true, CV_SPAN_TRANSFER },
        [CLEAVE_COMBINED] = { true, CV_SPAN_COMBINE },
        [CLEAVE_RETURNED] = { true, CV_SPAN_RETURN },
        [CLEAVE_ENDED] = { false, CV_SPAN_KINDS },
        [CLEAVE_RECALLED] = { true, CV_SPAN_RECALL },
        [CLEAVE_LOST] = { true, CV_SPAN_LOST },
        [CLEAVE_STARTED] = { false, CV_SPAN_KINDS },
        [CLEAVE_DRAINED] = { false, CV_SPAN_KINDS },
        [CLEAVE_EXTENDED] = { true, CV_SPAN_SEND },
        [CLEAVE_PROGRESS] = { false, CV_SPAN_KINDS },
        [CLEAVE_READY] = { false, CV_SPAN_KINDS },
        [CLEAVE_FOLDED] = { true, CV_SPAN_FOLD },
        [CLEAVE_CAME] = { false, CV_SPAN_KINDS },
    };
    const struct cleave_entry *entry = cleave_trace_at(trace, i);
    const struct cleave_event *event = &entry->as.event;

    if (entry->is_order || !spans[event->kind].is_span ||
        (event->kind == CLEAVE_EXTENDED && !(event->units > 0)))
        return false;
    *out = (struct cv_span){ .kind = spans[event->kind].kind,
                             .worker = event->worker,
                             .peer = event->peer,
                             .chunk = event->chunk,
                             .units = event->units,
                             .start_s = event->start_s,
                             .end_s = event->kind == CLEAVE_DONE ? computed_s(trace, i)
                                                                 : event->time_s };
    return true;
}

const char *cv_span_name(enum cv_span_kind kind)
{
    static const char *const names[CV_SPAN_KINDS] = {
        [CV_SPAN_SEND] = "send",       [CV_SPAN_COMPUTE] = "compute",
        [CV_SPAN_RETURN] = "return",   [CV_SPAN_LOST] = "lost",
        [CV_SPAN_RECALL] = "recall",   [CV_SPAN_TRANSFER] = "transfer",
        [CV_SPAN_COMBINE] = "combine", [CV_SPAN_FOLD] = "fold",
    };

    return names[kind];
}
