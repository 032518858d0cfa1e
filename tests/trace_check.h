/* trace_check.h -- an independent judge of traces. SPDX-License-Identifier: MIT
 *
 * Knows the model and nothing of the engine: what a schedule must satisfy whoever made
 * it. Used by every test that has a trace in hand. */
#ifndef TRACE_CHECK_H
#define TRACE_CHECK_H
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/cleave.h>

struct trace_check {
    char fault[256]; /* "" when the trace is right */
    double units, makespan_s, busy_s;
    size_t chunks;
};

struct trace_span {
    double sent_start, sent_end, done_start, done_end, units;
    uint32_t worker;
    bool sent, done;
};

static bool near_enough(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

#define TRACE_FAULT(check, ...)                                          \
    do {                                                                 \
        if ((check)->fault[0] == '\0')                                   \
            snprintf((check)->fault, sizeof(check)->fault, __VA_ARGS__); \
    } while (0)

/* Events in time order, each chunk sent once and computed once after that. */
static void check_events(const struct cleave_trace *trace, struct trace_span *spans,
                         size_t nspans, struct trace_check *check)
{
    double last = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_event *event = &entry->as.event;
        struct trace_span *span;

        if (entry->is_order)
            continue;
        if (event->time_s < last)
            TRACE_FAULT(check, "entry %zu: time goes back from %g to %g", i, last,
                        event->time_s);
        last = event->time_s;
        if (event->kind != CLEAVE_SENT && event->kind != CLEAVE_DONE)
            continue;
        if (event->chunk >= nspans) {
            TRACE_FAULT(check, "entry %zu: chunk %llu of %zu", i,
                        (unsigned long long)event->chunk, nspans);
            continue;
        }
        span = &spans[event->chunk];
        if (event->kind == CLEAVE_SENT) {
            if (span->sent)
                TRACE_FAULT(check, "chunk %llu sent twice",
                            (unsigned long long)event->chunk);
            *span = (struct trace_span){ event->start_s, event->time_s, 0,    0,
                                         event->units,   event->worker, true, false };
        } else {
            if (!span->sent || span->done || span->worker != event->worker)
                TRACE_FAULT(check, "chunk %llu computed out of turn",
                            (unsigned long long)event->chunk);
            span->done = true;
            span->done_start = event->start_s;
            span->done_end = event->time_s;
        }
    }
}

/* Ports and processors are held by one activity at a time; without noise and profiles
 * every activity takes exactly what the model says. */
static void check_spans(const struct trace_span *spans, size_t nspans,
                        const struct cleave_platform *platform, bool exact,
                        struct trace_check *check)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    uint32_t nworkers = cleave_platform_nworkers(platform);
    bool multi = cleave_platform_port(platform) == CLEAVE_PORT_MULTI;
    double *port = calloc(nworkers, sizeof *port), *cpu = calloc(nworkers, sizeof *cpu);

    for (size_t k = 0; k < nspans; k++) {
        const struct trace_span *s = &spans[k];
        const struct cleave_worker *w = &workers[s->worker];
        double *held = multi ? &port[s->worker] : &port[0];

        if (!s->sent || !s->done)
            TRACE_FAULT(check, "chunk %zu was %s", k,
                        s->sent ? "never computed" : "never sent");
        if (!(s->units >= 0) || isinf(s->units))
            TRACE_FAULT(check, "chunk %zu has %g units", k, s->units);
        if (s->sent_start < *held)
            TRACE_FAULT(check, "chunk %zu: port taken at %.17g, free at %.17g", k,
                        s->sent_start, *held);
        if (s->done_start < s->sent_end || s->done_start < cpu[s->worker])
            TRACE_FAULT(check, "chunk %zu computed too early", k);
        if (exact && (!near_enough(s->sent_end, s->sent_start + w->latency_s +
                                                    s->units / w->bandwidth_ups) ||
                      !near_enough(s->done_end, s->done_start + w->compute_latency_s +
                                                    s->units / w->speed_ups)))
            TRACE_FAULT(check, "chunk %zu does not take the time the model says", k);
        *held = s->sent_end;
        cpu[s->worker] = s->done_end;
        check->units += s->units;
        check->busy_s += s->done_end - s->done_start;
        if (s->done_end > check->makespan_s)
            check->makespan_s = s->done_end;
    }
    free(port);
    free(cpu);
}

static inline bool same_entries(const struct cleave_entry *a,
                                const struct cleave_entry *b)
{
    const struct cleave_event *e = &a->as.event, *f = &b->as.event;
    const struct cleave_order *o = &a->as.order, *p = &b->as.order;

    if (a->is_order != b->is_order)
        return false;
    if (a->is_order)
        return o->kind == p->kind && o->worker == p->worker && o->peer == p->peer &&
               o->units == p->units && o->time_s == p->time_s;
    return e->kind == f->kind && e->worker == f->worker && e->peer == f->peer &&
           e->chunk == f->chunk && e->units == f->units && e->start_s == f->start_s &&
           e->time_s == f->time_s && e->more == f->more;
}

/* The same entries to the last bit. */
static inline bool same_traces(const struct cleave_trace *a, const struct cleave_trace *b)
{
    if (cleave_trace_count(a) != cleave_trace_count(b))
        return false;
    for (size_t i = 0; i < cleave_trace_count(a); i++)
        if (!same_entries(cleave_trace_at(a, i), cleave_trace_at(b, i)))
            return false;
    return true;
}

/* Judge one run. `exact`: no noise and no profile. */
static inline struct trace_check trace_check(const struct cleave_trace *trace,
                                             const struct cleave_platform *platform,
                                             double load, bool exact)
{
    struct trace_check check = { 0 };
    struct trace_span *spans;
    size_t orders = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++)
        orders += cleave_trace_at(trace, i)->is_order &&
                  cleave_trace_at(trace, i)->as.order.kind == CLEAVE_SEND;
    spans = calloc(orders + 1, sizeof *spans);
    check.chunks = orders;
    check_events(trace, spans, orders, &check);
    check_spans(spans, orders, platform, exact, &check);
    if (fabs(check.units - load) > 1e-8 * load)
        TRACE_FAULT(&check, "%.17g units sent of %.17g", check.units, load);
    free(spans);
    return check;
}

#endif
