/* learn.c -- chunk sizes from costs measured on the way. SPDX-License-Identifier: MIT
 *
 * Nothing is believed that was not seen: neither speeds nor latencies nor links that were
 * declared. Every worker starts with a small chunk; chunks grow from one to the next, so
 * that start-up costs vanish, and over a shared port no faster than the chunks in flight
 * hide the sending of the next, as in UMR. The time T at which all could end together is
 * estimated from the speed of each worker and the time at which it is free,
 *
 *     sum over workers of S (T - busy - latency)+ = units left,
 *
 * and a chunk is at most half of the worker's units until T, as in factoring. When no
 * units are left and a worker is idle, the worker that ends last has part of its chunk
 * recalled, as in work stealing: the part that lets the two end together. A chunk that
 * takes longer than expected is expected to take as long again as it is late.
 *
 * O(workers) for a decision. */
#include "policy/pull/learn.h"

#include <math.h>
#include "policy/common/reserved_workers.h"
#include "policy/pull/fold_charge.h"
#include "policy/pull/open_ranges.h"
#include "policy/pull/pull.h"

/* --- what a policy has found out about its workers ---------------------------------- */

/* A port counts as overloaded when full speed takes this multiple of it, since
 * measurements are inexact; if links are narrower than usual by NARROW, when it takes all
 * of it. */
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

/* --- chunks ------------------------------------------------------------------------- */

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

    /* A chunk in flight is as large as its order, until its arrival. */
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
    known->arrived++;
    known->excess +=
        (event->units - seen->sizes[at] - known->excess) / (double)known->arrived;
    seen->sizes[at] = event->units;
    seen->largest = fmax(seen->largest, event->units);
    cv_fit_add(&seen->link, event->units, event->time_s - event->start_s, -1);
}

/* The next chunk is computed starting now, if it has arrived. */
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

/* The first chunk of a worker may include one-time costs: the start of a persistent
 * command, or a file that later chunks find in memory. If a larger chunk takes far less,
 * it did, and its time does not predict later chunks. */
static void learned_costs_measure(struct cv_learned_costs *known,
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

/* Units of a chunk were taken back. */
static void learned_costs_recalled(struct cv_learned_costs *known,
                                   const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &known->workers[event->worker];
    const uint32_t at = find_chunk(seen, event->chunk);

    /* Units that cannot be recalled now cannot be recalled later: the command was fed. */
    seen->firm = !(event->units > 0);
    if (at < seen->held)
        seen->sizes[at] = fmax(seen->sizes[at] - event->units, 0);
}

/* --- costs -------------------------------------------------------------------------- */

/* A worker without measurements gets the mean of the others. */
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

/* A port serves the widest links first; the worker that comes last computes only the
 * units left. The order changes little from one time to the next. */
static void learned_costs_divide_port(struct cv_learned_costs *known,
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

/* Seconds from now until everything in flight to a worker has arrived. A late arrival is
 * expected to take its delay once more. */
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
 * slower than the worker, when that unit would be sent. If only one size was measured,
 * all of its time may have been latency. */
static double ready_in(const struct cv_learned_costs *known,
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

/* In how many seconds all could end together. A worker that is ready only later has no
 * part. */
static double time_left(const struct cv_learned_costs *known,
                        const struct cleave_view *view, double now_s)
{
    if (isinf(view->units_left))
        return INFINITY;
    for (uint32_t w = 0; w < known->taken; w++) {
        const struct cv_worker_observation *seen = &known->workers[w];

        known->ready[w].in_s = cv_is_out(seen) ? INFINITY : ready_in(known, seen, now_s);
        known->ready[w].speed_ups = seen->effective_ups;
    }
    return cv_end_together(known->ready, known->taken, view->units_left);
}

/* --- chunk sizes from costs measured on the way ------------------------------------- */

/* Streams: chunks grow until starting one is this part of its time. */
static const double SHARE = 0.02;
/* Least size of a chunk, in starts and in an equal share. */
static const double START_WORTH = 3;
static const double FINEST = 1.0 / 1024;
/* Sending ahead begins when the link takes this part of the time. */
static const double LINK_MATTERS = 0.01;
/* Chunks grow at least so much as long as they may. */
static const double SLOW_GROWTH = 1.2;
/* A share is not worth a start when it is this part of a chunk that is, unless all end sooner by this
 * part of the time left. */
static const double CRUMB = 0.1, SOONER = 0.1;

/* Seconds until an idle worker looks again, at least. */
static const double LOOK_S = 2e-3;
/* This many recalls per worker without a finished chunk are enough. */
enum { RECALLS = 8 };

enum { NOBODY = UINT32_MAX };

struct learn {
    double first, min, max, growth, parts;
    struct cv_open_ranges open; /* if chunks may stay open */
    struct cv_learned_costs known;
    double fold_s;    /* seconds to fold one more result; 0: not measured */
    double wake_s;    /* time of the requested wake-up; below 0: none */
    uint32_t request; /* idle worker that gets the recalled units, or NOBODY */
    uint32_t owed;    /* worker that waits for recalled units while the port is busy */
    double owed_units;
    uint32_t recalls; /* since a chunk was last finished                           */
    uint64_t sending; /* the chunk that the port is busy with                      */
    bool port_busy;
};

static enum cleave_status learn_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    const struct learn *learn = state;

    (void)setup;
    CV_TRY(cv_pull_check_size("learn", "most", learn->max, view, err));
    return learn->growth > 1
               ? CLEAVE_OK
               : cv_pull_check_size("learn", "first", learn->first, view, err);
}

static enum cleave_status learn_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct learn *learn = state;

    learn->request = learn->owed = NOBODY;
    learn->wake_s = -1;
    if (view->opens) {
        learn->open.first_units = learn->first;
        learn->open.min = learn->min;
        learn->open.max = learn->max > 0 ? learn->max : INFINITY;
        return cv_open_ranges_begin(&learn->open, view, setup, err);
    }
    return cv_learned_costs_init(&learn->known, view, setup, err);
}

/* --- sizes -------------------------------------------------------------------------- */

/* Units below which a chunk costs more to start than it saves. */
static double worthwhile(const struct learn *learn, const struct cleave_view *view,
                         const struct cv_worker_observation *seen)
{
    const double charge_s = cv_fold_charge(view, learn->fold_s, learn->known.present);
    double units =
        fmax(learn->min, START_WORTH * (cv_latency_of(&learn->known, seen) + charge_s) *
                             cv_speed_of(&learn->known, seen));

    if (isfinite(view->units_total))
        units = fmax(units, FINEST * view->units_total / learn->known.present);
    return units;
}

static double first_size(const struct learn *learn, const struct cleave_view *view)
{
    if (learn->first > 0)
        return learn->first;
    return isfinite(view->units_total)
               ? view->units_total / (256.0 * learn->known.present)
               : 1;
}

/* A chunk may take `growth` times as long as the largest before. Over a shared port,
 * workers should compute while it is sent and the others are served; but without larger
 * chunks nothing is learnt. */
static double grown(const struct learn *learn, const struct cleave_view *view,
                    const struct cv_worker_observation *seen)
{
    const double largest = cv_largest_of(seen);
    const double largest_s = cv_compute_time(&learn->known, seen, largest);
    const double min = largest * fmin(learn->growth, SLOW_GROWTH);
    double size = largest * learn->growth;

    if (!(largest > 0))
        return first_size(learn, view);
    size =
        fmax(size, cv_speed_of(&learn->known, seen) *
                       (learn->growth * largest_s - cv_latency_of(&learn->known, seen)));
    if (cv_shares_port(view) && learn->known.port_use > 0 && seen->compute.sure)
        size = fmin(size, fmax(min, fmin(largest_s, learn->known.usual_s) *
                                        seen->effective_ups / learn->known.port_use));
    return size;
}

/* Over a separate link, a chunk should arrive before its worker has run out of work; if
 * the link is slower than the worker, the worker waits in any case. */
static double in_time(const struct learn *learn, const struct cleave_view *view,
                      const struct cv_worker_observation *seen, double now_s)
{
    const double rest_s = cv_rest_of(&learn->known, seen, now_s);

    if (cv_shares_port(view) || seen->held == 0 ||
        !(seen->link.rate_ups > cv_speed_of(&learn->known, seen) * (1 + CV_ALIKE)))
        return INFINITY;
    return fmax(cv_largest_of(seen) * fmin(learn->growth, SLOW_GROWTH),
                seen->link.rate_ups * (rest_s - seen->link.latency_s));
}

/* `end_s`: in how many seconds all could end together. */
static double size_for(const struct learn *learn, const struct cleave_view *view,
                       const struct cv_worker_observation *seen, double end_s,
                       double now_s)
{
    const double min = worthwhile(learn, view, seen);
    double size = fmin(grown(learn, view, seen), in_time(learn, view, seen, now_s));

    if (isfinite(end_s)) {
        const double share =
            fmax(seen->effective_ups * (end_s - ready_in(&learn->known, seen, now_s)),
                 CRUMB * min);

        /* Nor is it learnt by many small ones what chunks cost if each has to be folded. */
        if (learn->fold_s > 0)
            size = fmax(size, fmin(share, min));
        size = fmin(size, fmax(share / learn->parts, fmin(share, min)));
    } else if (isinf(view->units_left) && seen->compute.sure) {
        /* A stream has no end to prepare for. */
        size = fmin(size, fmax(fmax(seen->compute.latency_s, learn->known.latency_s) *
                                   seen->compute.rate_ups / SHARE,
                               cv_largest_of(seen)));
    }
    if (learn->max > 0)
        size = fmin(size, learn->max);
    size = fmax(size, learn->min);
    /* The rest would not be worth a start. */
    return view->units_left - size > CRUMB * min ? size : view->units_left;
}

/* --- orders ------------------------------------------------------------------------- */

static void give(struct learn *learn, const struct cleave_view *view, uint32_t worker,
                 double units, double now_s, struct cleave_orders *orders)
{
    if (view->memory != NULL)
        units = fmin(units, view->memory[worker]);
    learn->sending = learn->known.numbered;
    cv_learned_costs_give(&learn->known, worker, units, now_s);
    learn->port_busy = cv_shares_port(view);
    cleave_order_send(orders, worker, units);
}

/* Does it want a chunk now? One ahead if the link is slow enough to matter. */
static bool asks(const struct learn *learn, const struct cv_worker_observation *seen)
{
    if (cv_is_out(seen) || seen->held >= CV_AHEAD)
        return false;
    if (seen->held == 0)
        return true;
    return seen->there == seen->held && seen->compute.rate_ups > 0 &&
           cv_link_time(seen, cv_largest_of(seen)) >
               LINK_MATTERS * cv_compute_time(&learn->known, seen, cv_largest_of(seen));
}

/* Whether any worker asks: cheaper than finding the one to serve. */
static bool anybody_asks(const struct learn *learn, const struct cleave_view *view)
{
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (asks(learn, &learn->known.workers[w]))
            return true;
    return false;
}

/* Whether all would end far later without a worker that has nothing to do. */
static bool is_missed(const struct learn *learn, const struct cleave_view *view,
                      uint32_t worker, double end_s, double now_s)
{
    if (worker == NOBODY || isinf(end_s))
        return false;
    (void)time_left(&learn->known, view, now_s);
    learn->known.ready[worker].in_s = INFINITY;
    return end_s < (1 - SOONER) * cv_end_together(learn->known.ready, learn->known.taken,
                                                  view->units_left);
}

/* When a worker would have done one more record, from now. */
static double record_ends_in(const struct learn *learn,
                             const struct cv_worker_observation *seen, double now_s)
{
    return ready_in(&learn->known, seen, now_s) +
           2 * learn->known.excess / seen->effective_ups;
}

/* The worker to serve: the first to be idle among workers that can help, then the worker
 * with the widest link; then the fastest of the rest, if all would end far later without
 * it. If no worker is busy, one has to take the units: the worker that would end all of
 * them first, or workers without start costs would get crumbs in turn. *wait_s: until the
 * worker that is waited for should have done a record. */
static uint32_t next_served(const struct learn *learn, const struct cleave_view *view,
                            double end_s, double now_s, double *wait_s)
{
    uint32_t best = NOBODY, any = NOBODY, strong = NOBODY, busy = 0;
    double least_s = INFINITY, soonest_s = INFINITY, record_s = INFINITY;

    for (uint32_t w = 0; w < learn->known.taken && learn->known.excess > 0; w++)
        if (!cv_is_out(&learn->known.workers[w]))
            record_s =
                fmin(record_s, record_ends_in(learn, &learn->known.workers[w], now_s));
    for (uint32_t i = 0; i < learn->known.taken; i++) {
        const uint32_t w = learn->known.by_bandwidth[i];
        const struct cv_worker_observation *seen = &learn->known.workers[w];
        double rest_s, ready_s, alone_s;

        busy += seen->held > 0;
        if (!asks(learn, seen))
            continue;
        rest_s = cv_rest_of(&learn->known, seen, now_s);
        ready_s = ready_in(&learn->known, seen, now_s);
        alone_s = ready_s + view->units_left / seen->effective_ups;
        if (any == NOBODY || alone_s < soonest_s - CV_ALIKE * (now_s + alone_s)) {
            soonest_s = alone_s;
            any = w;
        }
        /* It has at least one record, which another worker ends sooner. */
        if (seen->effective_ups * (end_s - ready_s) < learn->known.excess &&
            record_ends_in(learn, seen, now_s) > record_s) {
            *wait_s = record_s;
            continue;
        }
        if (rest_s < least_s - CV_ALIKE * now_s &&
            (isinf(end_s) || seen->effective_ups * (end_s - ready_s) >
                                 CRUMB * worthwhile(learn, view, seen))) {
            least_s = rest_s;
            best = w;
        } else if (seen->held == 0 &&
                   (strong == NOBODY ||
                    seen->effective_ups > learn->known.workers[strong].effective_ups)) {
            strong = w;
        }
    }
    if (best != NOBODY)
        return best;
    if (is_missed(learn, view, strong, end_s, now_s))
        return strong;
    return busy == 0 ? any : NOBODY;
}

/* The worker that ends last, among workers with recallable units. */
static uint32_t find_victim(const struct learn *learn, double now_s)
{
    uint32_t late = NOBODY;
    double longest_s = -1;

    for (uint32_t w = 0; w < learn->known.taken; w++) {
        const struct cv_worker_observation *seen = &learn->known.workers[w];
        const double rest_s = seen->held > 0 && !seen->firm && !cv_is_out(seen)
                                  ? cv_rest_of(&learn->known, seen, now_s)
                                  : -1;

        if (rest_s > longest_s) {
            longest_s = rest_s;
            late = w;
        }
    }
    return late;
}

/* Take from the worker that will be last what lets it end together with an idle one; if
 * that is too little, look again when it should have ended and has not. */
static void recall(struct learn *learn, const struct cleave_view *view, uint32_t idle,
                   uint32_t late, double now_s, struct cleave_orders *orders)
{
    const struct cv_worker_observation *helper = &learn->known.workers[idle];
    const double start_s = cv_latency_of(&learn->known, helper) +
                           cv_link_time(helper, 0) +
                           cv_fold_charge(view, learn->fold_s, learn->known.present);
    const double finest = isfinite(view->units_total)
                              ? FINEST * view->units_total / learn->known.present
                              : 0;
    double rest_s, speed_ups, units;

    /* Chunks that are passed to and fro are never done. */
    if (learn->recalls >= RECALLS * learn->known.present)
        return;
    if (late == NOBODY || !(cv_speed_of(&learn->known, helper) > 0) ||
        !(learn->known.workers[late].effective_ups > 0))
        return;
    rest_s = cv_rest_of(&learn->known, &learn->known.workers[late], now_s);
    if (!(rest_s > CV_ALIKE * now_s)) /* it is done at this instant, by another clock */
        return;
    speed_ups = learn->known.workers[late].effective_ups;
    units = (rest_s - start_s) /
            (1 / speed_ups + 1 / cv_speed_of(&learn->known, helper) +
             (helper->link.rate_ups > 0 ? 1 / helper->link.rate_ups : 0));
    if (units > fmax(fmax(finest, learn->min), start_s * speed_ups / 2)) {
        learn->request = idle;
        learn->recalls++;
        cleave_order_recall(orders, late, units);
    } else if (learn->wake_s < 0) {
        learn->wake_s = now_s + rest_s + 2 * start_s + finest / speed_ups;
        cleave_order_wake(orders, idle, learn->wake_s);
    }
}

/* When every worker left has lost a chunk, all are tried again. */
static void readmit(struct learn *learn)
{
    for (uint32_t w = 0; w < learn->known.taken; w++)
        if (!cv_is_out(&learn->known.workers[w]))
            return;
    for (uint32_t w = 0; w < learn->known.taken; w++)
        learn->known.workers[w].lost = 0;
}

static bool is_idle(const struct learn *learn, uint32_t worker)
{
    return learn->known.workers[worker].held == 0 &&
           !cv_is_out(&learn->known.workers[worker]);
}

/* Units recalled for an idle worker while the port was busy: any other worker would be
 * the last again, maybe the one that they were taken from. */
static void give_owed(struct learn *learn, const struct cleave_view *view, double now_s,
                      struct cleave_orders *orders)
{
    const uint32_t idle = learn->owed;

    learn->owed = NOBODY;
    if (idle != NOBODY && is_idle(learn, idle) && view->units_left > 0)
        give(learn, view, idle, fmin(learn->owed_units, view->units_left), now_s, orders);
}

static void serve(struct learn *learn, const struct cleave_view *view, double now_s,
                  struct cleave_orders *orders)
{
    uint32_t late = NOBODY;
    double wait_s = INFINITY; /* until a worker without work is served */

    readmit(learn);
    if (!learn->port_busy)
        give_owed(learn, view, now_s, orders);
    while (view->units_left > 0) {
        double end_s;
        uint32_t worker;

        if (learn->port_busy)
            return;
        if (!anybody_asks(learn, view))
            break;
        wait_s = INFINITY;
        end_s = time_left(&learn->known, view, now_s);
        worker = next_served(learn, view, end_s, now_s, &wait_s);
        if (worker == NOBODY)
            break;
        give(learn, view, worker,
             size_for(learn, view, &learn->known.workers[worker], end_s, now_s), now_s,
             orders);
    }
    /* No units are left, or they are left to workers that are soon ready, unless they
     * hang. */
    if (isfinite(wait_s) && learn->wake_s < 0) {
        learn->wake_s = now_s + fmax(wait_s, LOOK_S);
        cleave_order_wake(orders, 0, learn->wake_s);
    }
    /* The last worker is the same for all idle workers. */
    for (uint32_t w = 0; w < learn->known.taken && learn->request == NOBODY; w++)
        if (is_idle(learn, w)) {
            if (late == NOBODY && (late = find_victim(learn, now_s)) == NOBODY)
                break;
            recall(learn, view, w, late, now_s, orders);
        }
}

/* --- events ------------------------------------------------------------------------- */

static void recalled(struct learn *learn, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders)
{
    const uint32_t idle = learn->request;

    learn->request = NOBODY;
    learned_costs_recalled(&learn->known, event);
    if (!(event->units > 0) || idle == NOBODY)
        return;
    learn->owed = idle;
    learn->owed_units = event->units;
    if (!learn->port_busy)
        give_owed(learn, view, event->time_s, orders);
}

/* The chunk has arrived, or is lost: if it was on its way, the port is free. */
static void port_over(struct learn *learn, const struct cleave_event *event)
{
    learn->port_busy = learn->port_busy && event->chunk != learn->sending;
}

static void learn_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct learn *learn = state;
    struct cv_worker_observation *seen;

    if (view->opens) {
        cv_open_ranges_decide(&learn->open, view, event, orders);
        return;
    }
    cv_fold_note(event, &learn->fold_s);
    seen = &learn->known.workers[event->worker];
    switch (event->kind) {
    case CLEAVE_SENT:
        port_over(learn, event);
        cv_learned_costs_arrived(&learn->known, event);
        break;
    case CLEAVE_DONE:
        learned_costs_measure(&learn->known, event);
        cv_learned_costs_drop(&learn->known, event);
        seen->lost = 0;
        if (event->units > 0)
            learn->recalls = 0;
        cv_learned_costs_pool(&learn->known);
        break;
    case CLEAVE_LOST:
        port_over(learn, event);
        cv_learned_costs_drop(&learn->known, event);
        seen->lost++;
        break;
    case CLEAVE_RECALLED:
        recalled(learn, view, event, orders);
        break;
    case CLEAVE_WAKE:
        learn->wake_s = -1;
        break;
    case CLEAVE_CAME:
        cv_learned_costs_came(&learn->known, event->worker);
        break;
    default:
        break;
    }
    if (event->more)
        return;
    learned_costs_divide_port(&learn->known, view);
    serve(learn, view, event->time_s, orders);
}

static const struct cleave_param learn_params[] = {
    { "first", CLEAVE_PARAM_UNITS, offsetof(struct learn, first), 0, 0, 1e300,
      "units of each worker's first chunk; 0: a 256th of an equal share" },
    { "least", CLEAVE_PARAM_UNITS, offsetof(struct learn, min), 0, 0, 1e300,
      "units of the smallest chunk" },
    { "most", CLEAVE_PARAM_UNITS, offsetof(struct learn, max), 0, 0, 1e300,
      "units of the largest chunk; 0: no limit" },
    { "growth", CLEAVE_PARAM_REAL, offsetof(struct learn, growth), 4, 1, 100,
      "from one chunk to the next" },
    { "parts", CLEAVE_PARAM_REAL, offsetof(struct learn, parts), 2, 1, 100,
      "at the end a chunk is at most this part of the worker's share" },
    { 0 },
};

const struct cleave_policy cleave_policy_learn = {
    .name = "learn",
    .summary = "sizes from measured costs: growing, then shrinking, late tails recalled",
    .reference = "cleave",
    .takes_streams = true,
    .gets_losses = true,
    .orders_copies = true,
    .opens_chunks = true,
    .takes_joiners = true,
    .sends_first = true,
    .state_size = sizeof(struct learn),
    .params = learn_params,
    .plan = learn_plan,
    .start = learn_start,
    .decide = learn_decide,
};
