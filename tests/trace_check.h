/* trace_check.h -- an independent judge of traces. SPDX-License-Identifier: MIT
 *
 * Conditions on every schedule, from the model alone, without the engine. Used by every
 * test that has a trace in hand. */
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
    double sent_start, sent_end, done_start, done_end, back_start, back_end;
    double sent_units, units; /* fewer were computed if some were recalled */
    uint32_t worker;
    bool sent, done, back;
};

/* One message, on the port or link that it holds. */
struct trace_message {
    uint32_t lane;
    double start, end;
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

/* Events in time order, each chunk sent once, computed once after that, and its result
 * returned once after that if results come back. */
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
        if (event->kind != CLEAVE_SENT && event->kind != CLEAVE_DONE &&
            event->kind != CLEAVE_RETURNED)
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
            *span = (struct trace_span){ .sent_start = event->start_s,
                                         .sent_end = event->time_s,
                                         .sent_units = event->units,
                                         .units = event->units,
                                         .worker = event->worker,
                                         .sent = true };
        } else if (event->kind == CLEAVE_RETURNED) {
            if (!span->done || span->back || span->worker != event->worker ||
                event->start_s < span->done_end)
                TRACE_FAULT(check, "chunk %llu returned out of turn",
                            (unsigned long long)event->chunk);
            span->back = true;
            span->back_start = event->start_s;
            span->back_end = event->time_s;
        } else {
            if (!span->sent || span->done || span->worker != event->worker)
                TRACE_FAULT(check, "chunk %llu computed out of turn",
                            (unsigned long long)event->chunk);
            span->done = true;
            span->done_start = event->start_s;
            span->done_end = event->time_s;
            span->units = event->units;
        }
    }
}

static int by_lane_and_start(const void *left, const void *right)
{
    const struct trace_message *a = left, *b = right;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Which port a message holds: one for all, one each way, or one per worker and way. */
static uint32_t lane_of(enum cleave_port port, uint32_t worker, bool back)
{
    if (port == CLEAVE_PORT_MULTI)
        return 2 * worker + back;
    return port == CLEAVE_PORT_DUPLEX && back ? 1 : 0;
}

/* No port handles two messages at a time. */
static void check_ports(const struct trace_span *spans, size_t nspans,
                        enum cleave_port port, struct trace_check *check)
{
    struct trace_message *all = calloc(2 * nspans + 1, sizeof *all);
    size_t count = 0;

    for (size_t k = 0; k < nspans; k++) {
        const struct trace_span *s = &spans[k];

        all[count++] = (struct trace_message){ lane_of(port, s->worker, false),
                                               s->sent_start, s->sent_end };
        if (s->back)
            all[count++] = (struct trace_message){ lane_of(port, s->worker, true),
                                                   s->back_start, s->back_end };
    }
    qsort(all, count, sizeof *all, by_lane_and_start);
    for (size_t i = 1; i < count; i++)
        if (all[i].lane == all[i - 1].lane && all[i].start < all[i - 1].end)
            TRACE_FAULT(check, "port taken at %.17g, free at %.17g", all[i].start,
                        all[i - 1].end);
    free(all);
}

static bool takes_model_time(const struct trace_span *s, const struct cleave_worker *w,
                             double ratio)
{
    return near_enough(s->sent_end,
                       s->sent_start + w->latency_s + s->sent_units / w->bandwidth_ups) &&
           near_enough(s->done_end,
                       s->done_start + w->compute_latency_s + s->units / w->speed_ups) &&
           (!s->back ||
            near_enough(s->back_end, s->back_start + w->return_latency_s +
                                         s->units * ratio / w->return_bandwidth_ups));
}

/* Processors are held by one computation at a time; without noise and profiles every
 * activity takes exactly what the model says. */
static void check_spans(const struct trace_span *spans, size_t nspans,
                        const struct cleave_platform *platform, double ratio, bool exact,
                        struct trace_check *check)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    uint32_t nworkers = cleave_platform_nworkers(platform);
    double *cpu = calloc(nworkers, sizeof *cpu);

    for (size_t k = 0; k < nspans; k++) {
        const struct trace_span *s = &spans[k];
        const struct cleave_worker *w = &workers[s->worker];

        if (!s->sent || !s->done || s->back != (ratio > 0))
            TRACE_FAULT(check, "chunk %zu was %s", k,
                        !s->sent   ? "never sent"
                        : !s->done ? "never computed"
                        : s->back  ? "returned for nothing"
                                   : "never returned");
        if (!(s->units >= 0) || isinf(s->units))
            TRACE_FAULT(check, "chunk %zu has %g units", k, s->units);
        if (s->done_start < s->sent_end || s->done_start < cpu[s->worker])
            TRACE_FAULT(check, "chunk %zu computed too early", k);
        if (exact && !takes_model_time(s, w, ratio))
            TRACE_FAULT(check, "chunk %zu does not take the time the model says", k);
        cpu[s->worker] = s->done_end;
        check->units += s->units;
        check->busy_s += s->done_end - s->done_start;
        check->makespan_s = fmax(check->makespan_s, fmax(s->done_end, s->back_end));
    }
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
               o->units == p->units && o->time_s == p->time_s && o->chunk == p->chunk;
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

/* Judge one run whose chunks return `ratio` of their units. `exact`: no noise and no
 * profile. */
static inline struct trace_check trace_check(const struct cleave_trace *trace,
                                             const struct cleave_platform *platform,
                                             double load, double ratio, bool exact)
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
    check_spans(spans, orders, platform, ratio, exact, &check);
    check_ports(spans, orders, cleave_platform_port(platform), &check);
    if (fabs(check.units - load) > 1e-8 * load)
        TRACE_FAULT(&check, "%.17g units sent of %.17g", check.units, load);
    free(spans);
    return check;
}

#endif
