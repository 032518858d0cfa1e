/* learn_costs.c -- what a policy has found out about its workers.
 * SPDX-License-Identifier: MIT */
#include "policy/pull/learn_costs.h"

#include <math.h>

#include "policy/common/reserved_workers.h"

/* A port is thought to be overloaded when full speed takes so much of it, since measures
 * are inexact; by links that are this much narrower than usual, when it takes all of it. */
static const double PORT_ROOM = 1.25, NARROW = 0.5;

/* A chunk that takes less than this part of a smaller one: more than starts vary by. */
static const double ONCE = 1.0 / 6;

enum cleave_status cv_learned_costs_init(struct cv_learned_costs *known,
                                         const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    known->workers = cv_array(setup->arena, view->nworkers, sizeof *known->workers);
    known->by_bandwidth =
        cv_array(setup->arena, view->nworkers, sizeof *known->by_bandwidth);
    known->ready = cv_array(setup->arena, view->nworkers, sizeof *known->ready);
    if (known->workers == NULL || known->by_bandwidth == NULL || known->ready == NULL)
        return cv_fail_memory(err, "what is learnt");
    for (uint32_t w = 0; w < view->nworkers; w++)
        known->by_bandwidth[w] = w;
    known->taken = cv_count_workers(view->workers, view->nworkers);
    known->latency_s = -1;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (cv_is_reserved(&view->workers[w]))
            known->workers[w].lost = CV_LOSSES;
    return CLEAVE_OK;
}

/* --- chunks ------------------------------------------------------------------------------- */

void cv_learned_costs_give(struct cv_learned_costs *known, uint32_t worker, double units,
                           double now_s)
{
    struct cv_worker_observation *seen = &known->workers[worker];

    if (seen->there == seen->held)
        seen->sending_s = now_s;
    seen->numbers[seen->held] = known->numbered++;
    seen->sizes[seen->held++] = units;
}

double cv_largest_of(const struct cv_worker_observation *seen)
{
    double largest = seen->largest;

    /* What is on its way is as large as was asked for, until it is known better. */
    for (uint32_t k = seen->there; k < seen->held; k++)
        largest = fmax(largest, seen->sizes[k]);
    return largest;
}

/* Which of the chunks that it holds an event is about. */
static uint32_t find_chunk(const struct cv_worker_observation *seen, uint64_t chunk)
{
    uint32_t at = 0;

    while (at < seen->held && seen->numbers[at] != chunk)
        at++;
    return at;
}

void cv_learned_costs_arrived(struct cv_learned_costs *known,
                              const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &known->workers[event->worker];
    const uint32_t at = find_chunk(seen, event->chunk);

    if (at == seen->held)
        return;
    if (seen->there++ == 0)
        seen->began_s = event->time_s;
    seen->sending_s = event->time_s;
    /* Records are not divisible: it may be more or less than was asked for. */
    seen->sizes[at] = event->units;
    seen->largest = fmax(seen->largest, event->units);
    cv_fit_add(&seen->link, event->units, event->time_s - event->start_s, -1);
}

/* The next one is computed from now on, if it is there. */
void cv_learned_costs_drop(struct cv_learned_costs *known,
                           const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &known->workers[event->worker];
    const uint32_t at = find_chunk(seen, event->chunk);

    if (at == seen->held)
        return;
    for (uint32_t k = at + 1; k < seen->held; k++) {
        seen->sizes[k - 1] = seen->sizes[k];
        seen->numbers[k - 1] = seen->numbers[k];
    }
    seen->held--;
    seen->there -= at < seen->there;
    if (at == 0)
        seen->began_s = event->time_s;
    seen->firm = false;
}

/* The first chunk of a worker may have paid for what comes once: the start of a command that
 * stays, or a file that others find in memory. If a larger one takes far less, it has, and
 * what it took says nothing of those to come. */
void cv_learned_costs_measure(struct cv_learned_costs *known,
                              const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &known->workers[event->worker];
    const double time_s = event->time_s - event->start_s;

    if (!(event->units > 0))
        return;
    if (seen->measured == 0)
        seen->first = event->units;
    else if (seen->measured == 1 && event->units > seen->first &&
             time_s < ONCE * seen->compute.recent_s)
        seen->compute = (struct cv_fit){ .rate_ups = 0 };
    seen->measured += seen->measured < 2;
    cv_fit_add(&seen->compute, event->units, time_s, known->latency_s);
}

void cv_learned_costs_recalled(struct cv_learned_costs *known,
                               const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &known->workers[event->worker];
    const uint32_t at = find_chunk(seen, event->chunk);

    /* What could not be taken back now will not be later: it has been fed. */
    seen->firm = !(event->units > 0);
    if (at < seen->held)
        seen->sizes[at] = fmax(seen->sizes[at] - event->units, 0);
}

/* --- costs -------------------------------------------------------------------------------- */

/* Others stand for a worker of which nothing is known. */
double cv_speed_of(const struct cv_learned_costs *known,
                   const struct cv_worker_observation *seen)
{
    return seen->compute.rate_ups > 0 ? seen->compute.rate_ups : known->speed_ups;
}

double cv_latency_of(const struct cv_learned_costs *known,
                     const struct cv_worker_observation *seen)
{
    return seen->compute.rate_ups > 0 ? seen->compute.latency_s
                                      : fmax(known->latency_s, 0);
}

double cv_link_time(const struct cv_worker_observation *seen, double units)
{
    return seen->link.rate_ups > 0 ? seen->link.latency_s + units / seen->link.rate_ups
                                   : 0;
}

double cv_compute_time(const struct cv_learned_costs *known,
                       const struct cv_worker_observation *seen, double units)
{
    const double speed_ups = cv_speed_of(known, seen);

    return speed_ups > 0 ? cv_latency_of(known, seen) + units / speed_ups : 0;
}

void cv_learned_costs_came(struct cv_learned_costs *known, uint32_t worker)
{
    if (worker >= known->taken)
        known->taken = worker + 1;
    if (cv_is_out(&known->workers[worker]))
        known->workers[worker].lost = 0;
}

/* Means over the workers, for those that are not known yet. */
void cv_learned_costs_pool(struct cv_learned_costs *known)
{
    double speed = 0, latency = 0, largest_s = 0;
    uint32_t count = 0, sure = 0;

    for (uint32_t w = 0; w < known->taken; w++) {
        const struct cv_fit *fit = &known->workers[w].compute;

        count += fit->rate_ups > 0;
        speed += fit->rate_ups;
        sure += fit->sure;
        latency += fit->sure ? fit->latency_s : 0;
        if (fit->rate_ups > 0)
            largest_s +=
                fit->latency_s + cv_largest_of(&known->workers[w]) / fit->rate_ups;
    }
    known->usual_s = count > 0 ? largest_s / count : 0;
    known->speed_ups = count > 0 ? speed / count : 0;
    known->latency_s = sure > 0 ? latency / sure : -1;
}

static double bandwidth_of(const struct cv_worker_observation *seen)
{
    return seen->link.rate_ups > 0 ? seen->link.rate_ups : INFINITY;
}

/* A port serves the widest links first; who comes last computes only what is left of it.
 * The order changes little from one time to the next. */
void cv_learned_costs_divide_port(struct cv_learned_costs *known,
                                  const struct cleave_view *view)
{
    uint32_t *order = known->by_bandwidth;
    double used = 0, usual;

    known->port_use = 0;
    known->present = 0;
    for (uint32_t w = 0; w < known->taken; w++)
        known->present += !cv_is_out(&known->workers[w]);
    known->present += known->present == 0;
    for (uint32_t i = 0; i < known->taken; i++) {
        const uint32_t w = order[i];
        const double bandwidth = bandwidth_of(&known->workers[w]);
        uint32_t at = i;

        for (; at > 0 &&
               bandwidth_of(&known->workers[order[at - 1]]) < bandwidth * (1 - CV_ALIKE);
             at--)
            order[at] = order[at - 1];
        order[at] = w;
    }
    usual = bandwidth_of(&known->workers[order[known->taken / 2]]);
    for (uint32_t i = 0; i < known->taken; i++) {
        struct cv_worker_observation *seen = &known->workers[order[i]];
        const double bandwidth = bandwidth_of(seen);
        const double use = cv_speed_of(known, seen) / bandwidth;
        const double room = fmax(0, (bandwidth < NARROW * usual ? 1 : PORT_ROOM) - used);

        /* However fast it is, it computes no more than gets there. */
        seen->effective_ups = fmin(cv_speed_of(known, seen), bandwidth);
        if (cv_shares_port(view) && use > room)
            seen->effective_ups =
                fmin(seen->effective_ups, cv_speed_of(known, seen) * room / use);
        used += use;
        known->port_use += seen->effective_ups / bandwidth;
    }
}

/* When everything that is on its way to a worker is there, from now. What is late is
 * thought to take as long again as it is late. */
static double arrives_in(const struct cv_worker_observation *seen, uint32_t last,
                         double now_s)
{
    double rest_s = 0;

    for (uint32_t k = seen->there; k <= last && k < seen->held; k++)
        rest_s +=
            k == seen->there
                ? fabs(cv_link_time(seen, seen->sizes[k]) - (now_s - seen->sending_s))
                : cv_link_time(seen, seen->sizes[k]);
    return rest_s;
}

double cv_rest_of(const struct cv_learned_costs *known,
                  const struct cv_worker_observation *seen, double now_s)
{
    double rest_s = 0;

    for (uint32_t k = 0; k < seen->held; k++) {
        const double whole_s = cv_compute_time(known, seen, seen->sizes[k]);

        if (k >= seen->there)
            rest_s = fmax(rest_s, arrives_in(seen, k, now_s));
        rest_s +=
            k == 0 && seen->there > 0 ? fabs(whole_s - (now_s - seen->began_s)) : whole_s;
    }
    return rest_s;
}

/* When a worker would come to the first unit of another chunk, from now; where the link is
 * slower than the worker, when that unit would be sent. Where only one size was seen, all
 * of its time may have been latency. */
double cv_ready_in(const struct cv_learned_costs *known,
                   const struct cv_worker_observation *seen, double now_s)
{
    const bool narrow = seen->link.rate_ups > 0 &&
                        seen->link.rate_ups < cv_speed_of(known, seen) * (1 - CV_ALIKE);
    const double before_s = narrow && seen->held > 0
                                ? arrives_in(seen, seen->held - 1, now_s)
                                : cv_rest_of(known, seen, now_s);

    return before_s +
           (seen->compute.rate_ups > 0 && !seen->compute.sure
                ? seen->compute.recent_s
                : cv_latency_of(known, seen)) +
           (narrow || seen->held == 0 ? cv_link_time(seen, 0) : 0);
}

/* In how many seconds all could end together. Whoever is ready only later has no part. */
double cv_time_left(const struct cv_learned_costs *known, const struct cleave_view *view,
                    double now_s)
{
    if (isinf(view->units_left))
        return INFINITY;
    for (uint32_t w = 0; w < known->taken; w++) {
        const struct cv_worker_observation *seen = &known->workers[w];

        known->ready[w].in_s =
            cv_is_out(seen) ? INFINITY : cv_ready_in(known, seen, now_s);
        known->ready[w].speed_ups = seen->effective_ups;
    }
    return cv_end_together(known->ready, known->taken, view->units_left);
}
