/* as4dr_rule.c -- the load of the next round. SPDX-License-Identifier: MIT
 *
 * With C the time the first part of a round took and f the declared latency, the round
 * takes sigma = (C - f) / theta + 2 f, and the worker computes theta load / (C - f) units
 * per second. From these
 *
 *   eq1       load tau / sigma: model/stream/stream_recurrence.h; with a gain below 1
 *             load (tau / sigma)^gain, stable for costs that grow faster than the load
 *   deadbeat  speed (tau - 2 f): exact after one round
 *   pll       deadbeat with a round shortened by `gain` times what the worker is late by
 *             its phase, so that the workers keep the places the first posts gave them
 *   periodic  deadbeat with the work that the speeds of one period before would do
 *
 * An automatic tau weighs the part of the time that latencies take, 2 f / tau, against
 * what grows with tau: idle time, c tau as measured, and the end, tau / (4 t) if the
 * stream ended now, t after its start: tau = sqrt(2 f / (c + 1 / (4 t))). */
#include <math.h>

#include "model/stream/stream_costs.h"
#include "policy/stream/as4dr.h"
#include "policy/stream/as4dr_history.h"

/* A measure that says more than this is not believed at once. */
static const double MOST_GROWTH = 32;

/* Idle times fade with every part computed, so that about this many rounds count. */
enum { ROUNDS_KEPT = 16 };

double cv_as4dr_tau(const struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    double tau_s, slope = 0;

    if (!as4dr->automatic)
        return as4dr->tau_s;
    if (!(now_s > 0)) /* nothing has been measured */
        return fmax(as4dr->least_tau_s,
                    CV_LATENCIES_PER_ROUND * as4dr->places[worker].latency_s);
    tau_s = fmax(as4dr->least_tau_s,
                 CV_LATENCIES_PER_ROUND * as4dr->workers[worker].latency_s);
    if (as4dr->idle_base > 0)
        slope = as4dr->idle_s / as4dr->idle_base;
    return fmax(tau_s, sqrt(2 * as4dr->mean_latency_s / (slope + 1 / (4 * now_s))));
}

static void note_idle(struct cv_as4dr *as4dr, const struct cleave_event *event)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    const double keep = 1 - 1.0 / (2.0 * ROUNDS_KEPT * as4dr->nmembers);

    if (!as4dr->automatic || worker->done_s < 0)
        return;
    as4dr->idle_s = keep * as4dr->idle_s + (event->start_s - worker->done_s);
    as4dr->idle_base =
        keep * as4dr->idle_base + (event->time_s - worker->done_s) *
                                      cv_as4dr_tau(as4dr, event->worker, event->time_s);
}

/* What it costs to start a command, declared or not: sizes that differ tell. */
static void find_latency(struct cv_as4dr *as4dr, const struct cleave_event *event)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    const double before_s = worker->latency_s;

    cv_fit_add(&worker->fit, event->units, event->time_s - event->start_s, -1);
    if (!(worker->fit.rate_ups > 0))
        return;
    worker->latency_s = worker->fit.latency_s;
    as4dr->mean_latency_s += (worker->latency_s - before_s) / as4dr->nmembers;
}

void cv_as4dr_measure(struct cv_as4dr *as4dr, const struct cleave_event *event,
                      bool first)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    double latency_s, pure_s;

    if (as4dr->real)
        find_latency(as4dr, event);
    latency_s = worker->latency_s;
    pure_s = event->time_s - event->start_s - latency_s;
    note_idle(as4dr, event);
    if (pure_s > 0 && as4dr->history != NULL)
        cv_as4dr_history_add(&as4dr->history[event->worker], event->start_s,
                             event->time_s, event->units / pure_s);
    if (!first)
        return;
    /* A stream gives no more than it holds: the round was as long as what came. */
    if (as4dr->real && event->units > 0 && event->units < worker->first)
        worker->load *= event->units / worker->first;
    worker->sigma_s = pure_s * (worker->load / event->units) + 2 * latency_s;
    if (pure_s > 0 && event->units > 0) {
        const double speed = fmin(event->units / pure_s, MOST_GROWTH * worker->speed_ups);

        as4dr->speed_sum += speed - worker->speed_ups;
        worker->speed_ups = speed;
    }
}

double cv_as4dr_free_at(const struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    const struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const double from_s = w->held_parts > 0 ? w->cpu_from_s : now_s;

    return fmax(now_s,
                from_s + w->due_parts * w->latency_s + w->due_units / w->speed_ups);
}

/* By how much the worker is late, to the nearest round. */
static double lateness(struct cv_as4dr_worker *worker, double tau_s)
{
    double late_s = worker->result_s - worker->target_s;

    if (fabs(late_s) > tau_s / 2) {
        worker->target_s += tau_s * nearbyint(late_s / tau_s);
        late_s = worker->result_s - worker->target_s;
    }
    worker->target_s += tau_s;
    return late_s;
}

double cv_as4dr_next(struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const double tau_s = cv_as4dr_tau(as4dr, worker, now_s);
    const double latencies_s = 2 * w->latency_s;
    double load = w->speed_ups * (tau_s - latencies_s), begin_s;

    switch (as4dr->rule) {
    case CV_RULE_EQ1:
        load = cv_stream_next_load(w->load, tau_s, w->sigma_s);
        if (as4dr->gain != 1)
            load = w->load * pow(load / w->load, as4dr->gain);
        break;
    case CV_RULE_DEADBEAT:
        break;
    case CV_RULE_PLL:
        load -= w->speed_ups * as4dr->gain * lateness(w, tau_s);
        break;
    case CV_RULE_PERIODIC:
        begin_s = cv_as4dr_free_at(as4dr, worker, now_s);
        load = cv_as4dr_history_work(&as4dr->history[worker], begin_s,
                                     begin_s + tau_s - latencies_s, w->speed_ups);
        break;
    }
    load = fmin(load, MOST_GROWTH * w->load);
    /* Never so little that the latencies outweigh it a hundred times, or that a load of
     * known size would take for ever. */
    return fmax(load, fmax(0.01 * w->speed_ups * latencies_s,
                           as4dr->least_s * as4dr->places[worker].speed_ups));
}
