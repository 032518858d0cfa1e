/* as4dr.c -- rounds of a given length on workers of unknown speed.
 * SPDX-License-Identifier: MIT
 *
 * The load of a round goes out as two parts. When the first is computed, its result
 * returns together with the result of the previous second part; then the worker's next
 * round is posted, with a load that should take tau seconds given how long the first part
 * took. Meanwhile the worker computes the second part. So loads adapt to speeds that are
 * declared badly or change, and neither size nor end of the load need be known. Without
 * results, the next round is posted as soon as the first part is computed. Millot and
 * Parrot, "Setting up clusters of computing units to process several data streams
 * efficiently", PPAM 2013; Millot and Parrot, IPDPSW 2011. */
#include "policy/stream/as4dr.h"

#include <math.h>
#include <stdlib.h>
#include "base/compare.h"
#include "base/heap.h"
#include "model/load/plan.h"
#include "policy/common/orders.h"

/* --- the order of service at the two ports ------------------------------------------ */

/*   fifo  in the order of requests, as a port does by itself
 *   rr    strictly in turn; when the end is known, turns no longer count
 *   edf   each part of a round is a request; the worker that runs out of work first is
 *         served first
 *
 * For rr and edf a port gets one request at a time. Separate links are always fifo. */

static void as4dr_asked(struct cv_as4dr_worker *worker, double units)
{
    worker->request[worker->ordered++ % CV_PARTS_AWAY] = units;
}

/* Units that do not arrive are not due. */
static void as4dr_came(struct cv_as4dr_worker *worker, double units)
{
    const double request = worker->request[worker->arrived++ % CV_PARTS_AWAY];

    if (units < request)
        worker->due_units = fmax(0, worker->due_units - (request - units));
}

static void send_part(struct cv_as4dr *as4dr, uint32_t worker, double units,
                      struct cleave_orders *orders)
{
    as4dr->ordered++;
    as4dr->reserved -= units;
    as4dr_asked(&as4dr->workers[worker], units);
    cleave_order_send(orders, worker, units);
}

static void send_round(struct cv_as4dr *as4dr, uint32_t worker,
                       struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    w->first_chunk = as4dr->ordered;
    send_part(as4dr, worker, w->first, orders);
    if (w->second > 0)
        send_part(as4dr, worker, w->second, orders);
}

static bool before(const struct cv_as4dr_urgent *a, const struct cv_as4dr_urgent *b)
{
    return a->deadline_s != b->deadline_s ? a->deadline_s < b->deadline_s
                                          : a->number < b->number;
}

CV_HEAP(urgent, struct cv_as4dr_urgent, before)

static void send_urgent(struct cv_as4dr *as4dr, struct cleave_orders *orders)
{
    struct cv_as4dr_urgent next;

    if (as4dr->sending != CV_NO_CHUNK || as4dr->nurgent == 0)
        return;
    next = urgent_pop(as4dr->urgent, as4dr->nurgent--);
    if (next.first)
        as4dr->workers[next.worker].first_chunk = as4dr->ordered;
    as4dr->sending = as4dr->ordered;
    send_part(as4dr, next.worker, next.units, orders);
}

static void ask_urgent(struct cv_as4dr *as4dr, uint32_t worker, double now_s,
                       struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const uint32_t parts = w->second > 0 ? 2 : 1;

    /* The posted round counts as due already: exclude it here. A worker's own parts
     * stay in their order, whatever the estimates are. */
    w->due_units -= w->load;
    w->due_parts -= parts;
    w->deadline_s = fmax(w->deadline_s, cv_as4dr_free_at(as4dr, worker, now_s));
    w->due_units += w->load;
    w->due_parts += parts;
    urgent_push(as4dr->urgent, as4dr->nurgent++,
                (struct cv_as4dr_urgent){ w->deadline_s, w->first, as4dr->requests++,
                                          worker, true });
    if (parts > 1) {
        w->deadline_s += w->latency_s + w->first / w->speed_ups;
        urgent_push(as4dr->urgent, as4dr->nurgent++,
                    (struct cv_as4dr_urgent){ w->deadline_s, w->second, as4dr->requests++,
                                              worker, false });
    }
    send_urgent(as4dr, orders);
}

static void send_in_turn(struct cv_as4dr *as4dr, struct cleave_orders *orders)
{
    const uint32_t worker = as4dr->members[as4dr->post_turn];

    if (as4dr->sending != CV_NO_CHUNK || !as4dr->workers[worker].waits_post)
        return;
    as4dr->workers[worker].waits_post = false;
    as4dr->post_turn = (as4dr->post_turn + 1) % as4dr->nmembers;
    send_round(as4dr, worker, orders);
    as4dr->sending = as4dr->ordered - 1;
}

/* The results of part one and of the previous part two. */
static void order_pair(struct cv_as4dr *as4dr, uint32_t worker,
                       struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    cleave_order_return(orders, worker, w->first_chunk);
    if (w->pair_chunk != CV_NO_CHUNK)
        cleave_order_return(orders, worker, w->pair_chunk);
}

static void fetch_in_turn(struct cv_as4dr *as4dr, struct cleave_orders *orders)
{
    const uint32_t worker = as4dr->members[as4dr->back_turn];
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    if (as4dr->fetching != CV_NO_CHUNK || !w->waits_back)
        return;
    w->waits_back = false;
    as4dr->back_turn = (as4dr->back_turn + 1) % as4dr->nmembers;
    order_pair(as4dr, worker, orders);
    as4dr->fetching = w->pair_chunk != CV_NO_CHUNK ? w->pair_chunk : w->first_chunk;
}

CV_ORDER_BY_TWO(by_key, struct cv_as4dr_rank, key, worker)
/* Turns no longer count: serve waiting workers in the order of their requests. */
static void as4dr_lift(struct cv_as4dr *as4dr, const struct cleave_view *view,
                       struct cleave_orders *orders)
{
    uint32_t n = 0;

    if (as4dr->lifted || as4dr->service != CV_SERVE_RR)
        return;
    as4dr->lifted = true;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].waits_post)
            as4dr->ranks[n++] = (struct cv_as4dr_rank){ as4dr->workers[w].posted_s, w };
    qsort(as4dr->ranks, n, sizeof *as4dr->ranks, by_key);
    for (uint32_t i = 0; i < n; i++)
        send_round(as4dr, as4dr->ranks[i].worker, orders);
    n = 0;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].waits_back)
            as4dr->ranks[n++] =
                (struct cv_as4dr_rank){ as4dr->workers[w].asked_s[CV_REQUEST_ROUND], w };
    qsort(as4dr->ranks, n, sizeof *as4dr->ranks, by_key);
    for (uint32_t i = 0; i < n; i++)
        order_pair(as4dr, as4dr->ranks[i].worker, orders);
}

static void as4dr_serve(struct cv_as4dr *as4dr, const struct cleave_view *view,
                        uint32_t worker, double now_s, struct cleave_orders *orders)
{
    if (as4dr->service == CV_SERVE_RR && !as4dr->lifted &&
        view->port != CLEAVE_PORT_MULTI) {
        as4dr->workers[worker].waits_post = true;
        send_in_turn(as4dr, orders);
    } else if (as4dr->service == CV_SERVE_EDF && view->port != CLEAVE_PORT_MULTI) {
        ask_urgent(as4dr, worker, now_s, orders);
    } else {
        send_round(as4dr, worker, orders);
    }
}

static void as4dr_fetch(struct cv_as4dr *as4dr, const struct cleave_view *view,
                        uint32_t worker, double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    w->back_chunk[CV_REQUEST_ROUND] = w->first_chunk;
    w->asked_s[CV_REQUEST_ROUND] = now_s;
    w->pair_chunk = w->ready_chunk;
    w->ready_chunk = CV_NO_CHUNK;
    if (as4dr->service == CV_SERVE_RR && !as4dr->lifted &&
        view->port != CLEAVE_PORT_MULTI) {
        w->waits_back = true;
        fetch_in_turn(as4dr, orders);
    } else {
        order_pair(as4dr, worker, orders);
    }
}

static void as4dr_fetch_one(struct cv_as4dr *as4dr, uint32_t worker, uint64_t chunk,
                            double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const unsigned slot = chunk == w->last_chunk ? CV_REQUEST_LAST : CV_REQUEST_ROUND;

    w->back_chunk[slot] = chunk;
    w->asked_s[slot] = now_s;
    cleave_order_return(orders, worker, chunk);
}

static void as4dr_delivered(struct cv_as4dr *as4dr, const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[event->worker];
    double asked_s = w->posted_s;

    if (as4dr->watch != NULL && as4dr->watch->waited != NULL) {
        /* A part two can wait only after part one has arrived. */
        if (event->chunk != w->first_chunk && event->chunk != w->last_chunk)
            asked_s = w->sent_s;
        else if (event->chunk == w->last_chunk)
            asked_s = w->asked_s[CV_REQUEST_LAST];
        as4dr->watch->waited(as4dr->watch->context, event->worker, false,
                             event->start_s - asked_s);
        w->sent_s = event->time_s;
    }
    if (event->chunk != as4dr->sending)
        return;
    as4dr->sending = CV_NO_CHUNK;
    if (as4dr->service == CV_SERVE_EDF)
        send_urgent(as4dr, orders);
    else if (!as4dr->lifted)
        send_in_turn(as4dr, orders);
}
/* --- the end of the load ------------------------------------------------------------ */

/* With V units left to post:
 *
 *   taper   rounds of length min(tau, max(floor, V / (2 sum of speeds))) get shorter, so
 *           that workers that are slower than last measured do not end late
 *   spread  V is shared out once, so that all end together with the speeds measured last
 *           (model/load/water_fill.h)
 *   none    full rounds until nothing is left */

/* Less than this part of the load is rounding. */
static const double ROUNDING = 1e-12;
/* Growth of loads until latency and speed can be separated. */
static const double GROWTH = 8;

/* Units left to post; 0 if they are only rounding. */
static double as4dr_left(const struct cv_as4dr *as4dr, const struct cleave_view *view)
{
    const double left = view->units_left - as4dr->reserved;

    if (isinf(left))
        return left;
    return left > ROUNDING * view->units_total ? left : 0;
}

/* Wanted length of the next round, also towards the end. */
static double as4dr_wanted(const struct cv_as4dr *as4dr, const struct cleave_view *view,
                           uint32_t worker, double now_s)
{
    const double tau_s = cv_as4dr_tau(as4dr, worker, now_s);

    if (!as4dr->known_end || as4dr->end != CV_END_TAPER)
        return tau_s;
    return fmin(tau_s,
                fmax(as4dr->floor_s, as4dr_left(as4dr, view) / (2 * as4dr->speed_sum)));
}

/* Load of a round of wanted_s. Latencies take at most half of it. */
static double tapered(const struct cv_as4dr *as4dr, uint32_t worker, double wanted_s)
{
    const double latencies_s = 2 * as4dr->workers[worker].latency_s;

    return fmax(as4dr->workers[worker].speed_ups *
                    fmax(wanted_s - latencies_s, latencies_s),
                as4dr->least_s * as4dr->places[worker].speed_ups);
}

/* Records cannot be divided: a round has at least two. */
static double real_load(const struct cv_as4dr_worker *worker, double load)
{
    /* Another size shows more. */
    if (worker->rounds > 0 && !worker->fit.sure)
        load = fmax(load, GROWTH * worker->load);
    return fmax(load, 2);
}

/* The load of the next round, also towards the end; 0: none. */
static double as4dr_load(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         uint32_t worker, double now_s)
{
    const double left = as4dr_left(as4dr, view);
    double load, wanted_s;

    if (!(left > 0))
        return 0;
    wanted_s = as4dr_wanted(as4dr, view, worker, now_s);
    /* A load of known size has full rounds, too. */
    if (as4dr->known_end && as4dr->end == CV_END_TAPER &&
        (!as4dr->finite || wanted_s < cv_as4dr_tau(as4dr, worker, now_s)))
        load = tapered(as4dr, worker, wanted_s);
    else if (as4dr->workers[worker].rounds == 0)
        load = as4dr->places[worker].first_load;
    else
        load = cv_as4dr_next(as4dr, worker, now_s);
    if (as4dr->real)
        load = real_load(&as4dr->workers[worker], load);
    return left - load > ROUNDING * view->units_total || isinf(left) ? load : left;
}

static bool as4dr_should_spread(const struct cv_as4dr *as4dr,
                                const struct cleave_view *view)
{
    return as4dr->end == CV_END_SPREAD && as4dr->known_end && !as4dr->spread_out &&
           as4dr_left(as4dr, view) <= as4dr->speed_sum * as4dr->tau_s;
}

/* The last chunk of a worker. */
static void give_share(struct cv_as4dr *as4dr, uint32_t worker, double units,
                       double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    w->last_chunk = as4dr->ordered++;
    w->asked_s[CV_REQUEST_LAST] = now_s;
    w->due_units += units;
    w->due_parts++;
    as4dr_asked(w, units);
    cleave_order_send(orders, worker, units);
}

/* Share out the rest so that all workers end together. */
static void as4dr_spread(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         double now_s, struct cleave_orders *orders)
{
    double *ready = as4dr->room[0], *overhead = as4dr->room[1];
    double *speed = as4dr->room[2], *share = as4dr->room[3];
    double left = as4dr_left(as4dr, view), end_s;
    uint32_t n = 0;

    as4dr->spread_out = true;
    if (!(left > 0))
        return;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        ready[w] = cv_as4dr_free_at(as4dr, w, now_s);
        overhead[w] = as4dr->workers[w].latency_s;
        speed[w] = as4dr->places[w].member ? as4dr->workers[w].speed_ups : 0;
    }
    if (!cv_water_fill(as4dr->basins, ready, overhead, speed, view->nworkers, left, share,
                       &end_s))
        return;
    if (as4dr->watch != NULL && as4dr->watch->spread != NULL)
        as4dr->watch->spread(as4dr->watch->context, end_s, share);
    /* In the order in which workers run out; the last one takes the rounding. */
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (share[w] > 0)
            as4dr->ranks[n++] = (struct cv_as4dr_rank){ ready[w], w };
    qsort(as4dr->ranks, n, sizeof *as4dr->ranks, by_key);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = as4dr->ranks[i].worker;
        const double units = i + 1 < n ? fmin(share[w], left) : left;

        left -= units;
        if (units > 0)
            give_share(as4dr, w, units, now_s, orders);
    }
}

/* --- a run -------------------------------------------------------------------------- */

static bool has_room(const struct cv_as4dr *as4dr)
{
    for (unsigned i = 0; i < 4; i++)
        if (as4dr->room[i] == NULL)
            return false;
    return as4dr->workers != NULL && as4dr->ranks != NULL && as4dr->basins != NULL &&
           as4dr->urgent != NULL &&
           (as4dr->rule != CV_RULE_PERIODIC || as4dr->history != NULL);
}

static enum cleave_status as4dr_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct cv_as4dr *as4dr = state;
    const bool spreads = as4dr->end == CV_END_SPREAD;
    const bool ranks = spreads || as4dr->service == CV_SERVE_RR;
    const uint32_t n = view->nworkers;

    as4dr->workers = cv_array(setup->arena, n, sizeof *as4dr->workers);
    as4dr->ranks = cv_array(setup->arena, ranks ? n : 0, sizeof *as4dr->ranks);
    as4dr->basins = cv_array(setup->arena, spreads ? n : 0, sizeof *as4dr->basins);
    for (unsigned i = 0; i < 4; i++)
        as4dr->room[i] = cv_array(setup->arena, spreads ? n : 0, sizeof(double));
    /* Part two of a round and both parts of the next. */
    as4dr->urgent =
        cv_array(setup->arena, as4dr->service == CV_SERVE_EDF ? 3 * (size_t)n : 0,
                 sizeof *as4dr->urgent);
    if (as4dr->rule == CV_RULE_PERIODIC)
        as4dr->history = cv_as4dr_history_new(setup->arena, n, as4dr->tau_s / 2);
    if (!has_room(as4dr))
        return cv_fail_memory(err, "the rounds of the workers");
    for (uint32_t w = 0; w < n; w++) {
        as4dr->workers[w].speed_ups = as4dr->places[w].speed_ups;
        as4dr->workers[w].latency_s = as4dr->places[w].latency_s;
        as4dr->workers[w].done_s = -1;
        as4dr->workers[w].first_chunk = as4dr->workers[w].ready_chunk =
            as4dr->workers[w].last_chunk = CV_NO_CHUNK;
        for (unsigned i = 0; i < CV_REQUESTS; i++)
            as4dr->workers[w].back_chunk[i] = CV_NO_CHUNK;
        if (as4dr->places[w].member)
            as4dr->speed_sum += as4dr->places[w].speed_ups;
    }
    as4dr->sending = as4dr->fetching = CV_NO_CHUNK;
    as4dr->known_end = as4dr->finite;
    return CLEAVE_OK;
}

/* The worker gets no further round, with which its last result would return. */
static void close_worker(struct cv_as4dr *as4dr, uint32_t worker, double now_s,
                         struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    w->closed = true;
    if (w->ready_chunk != CV_NO_CHUNK)
        as4dr_fetch_one(as4dr, worker, w->ready_chunk, now_s, orders);
    w->ready_chunk = CV_NO_CHUNK;
}

static void post(struct cv_as4dr *as4dr, const struct cleave_view *view, uint32_t worker,
                 double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const struct cv_as4dr_place *place = &as4dr->places[worker];
    const double load = as4dr_load(as4dr, view, worker, now_s);

    if (!(load > 0)) {
        close_worker(as4dr, worker, now_s, orders);
        return;
    }
    w->load = load;
    w->first = place->theta * load;
    /* A rest that is shorter than its latency is not divided. */
    if (as4dr->finite && w->first < w->speed_ups * w->latency_s &&
        load == as4dr_left(as4dr, view))
        w->first = load;
    w->second = load - w->first;
    w->posted_s = now_s;
    if (w->rounds++ == 0)
        w->target_s = now_s + as4dr->phase_s;
    w->due_units += load;
    w->due_parts += w->second > 0 ? 2 : 1;
    as4dr->reserved += load;
    if (as4dr->watch != NULL && as4dr->watch->posted != NULL)
        as4dr->watch->posted(as4dr->watch->context, worker, now_s, load);
    as4dr_serve(as4dr, view, worker, now_s, orders);
    if (as4dr->known_end && !(as4dr_left(as4dr, view) > 0))
        as4dr_lift(as4dr, view, orders);
}

/* Part one has returned. */
static void next_round(struct cv_as4dr *as4dr, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders)
{
    const uint32_t worker = event->worker;
    const double now_s = event->time_s;
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    double earliest_s = now_s;

    if (as4dr->watch != NULL && as4dr->watch->measured != NULL)
        as4dr->watch->measured(as4dr->watch->context, worker, now_s, w->sigma_s);
    w->result_s = now_s;
    /* The second post is not delayed: it comes half a round after the first. */
    if (as4dr->post == CV_POST_SPACED && w->rounds > 1 && as4dr_left(as4dr, view) > 0)
        earliest_s = w->posted_s + as4dr_wanted(as4dr, view, worker, now_s);
    w->held_back = now_s < earliest_s;
    if (w->held_back)
        cleave_order_wake(orders, worker, earliest_s);
    else
        post(as4dr, view, worker, now_s, orders);
    if (as4dr_should_spread(as4dr, view))
        as4dr_spread(as4dr, view, now_s, orders);
}

static void first_rounds(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         struct cleave_orders *orders)
{
    if (as4dr_should_spread(as4dr, view)) {
        as4dr_spread(as4dr, view, 0, orders);
        return;
    }
    for (uint32_t i = 0; i < as4dr->nmembers; i++) {
        const uint32_t worker = as4dr->members[i];

        if (as4dr->places[worker].start_s > 0)
            cleave_order_wake(orders, worker, as4dr->places[worker].start_s);
        else
            post(as4dr, view, worker, 0, orders);
    }
}
/* The result of a part two returns with the next part one. If a stream had nothing
 * left for a part, that part ends before earlier ones: then two would wait, and the
 * first one returns. */
static void keep_result(struct cv_as4dr *as4dr, const struct cleave_event *event,
                        struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[event->worker];

    if (w->ready_chunk != CV_NO_CHUNK)
        as4dr_fetch_one(as4dr, event->worker, w->ready_chunk, event->time_s, orders);
    w->ready_chunk = event->chunk;
}

static void computed(struct cv_as4dr *as4dr, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[event->worker];
    const bool first = event->chunk == w->first_chunk;

    w->due_units = fmax(0, w->due_units - event->units);
    w->due_parts--;
    w->held_parts--;
    cv_as4dr_measure(as4dr, event, first);
    w->cpu_from_s = w->done_s = event->time_s;
    if (view->result_ratio > 0) {
        if (first)
            as4dr_fetch(as4dr, view, event->worker, event->time_s, orders);
        else if (w->closed || event->chunk == w->last_chunk)
            as4dr_fetch_one(as4dr, event->worker, event->chunk, event->time_s, orders);
        else
            keep_result(as4dr, event, orders);
    } else if (first) {
        next_round(as4dr, view, event, orders);
    }
}

static void returned(struct cv_as4dr *as4dr, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct cv_as4dr_worker *w = &as4dr->workers[event->worker];

    for (unsigned i = 0; i < CV_REQUESTS; i++)
        if (event->chunk == w->back_chunk[i] && as4dr->watch != NULL &&
            as4dr->watch->waited != NULL)
            as4dr->watch->waited(as4dr->watch->context, event->worker, true,
                                 event->start_s - w->asked_s[i]);
    if (event->chunk == w->first_chunk)
        next_round(as4dr, view, event, orders);
    if (event->chunk == as4dr->fetching) {
        as4dr->fetching = CV_NO_CHUNK;
        if (!as4dr->lifted)
            fetch_in_turn(as4dr, orders);
    }
}

static void stream_ended(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         double now_s, struct cleave_orders *orders)
{
    as4dr->known_end = true;
    cv_orders_keep(orders, as4dr->reserved);
    as4dr_lift(as4dr, view, orders);
    if (as4dr->end == CV_END_SPREAD)
        as4dr_spread(as4dr, view, now_s, orders);
    if (as4dr_left(as4dr, view) > 0)
        return;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].held_back)
            close_worker(as4dr, w, now_s, orders);
}

static void as4dr_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct cv_as4dr *as4dr = state;
    struct cv_as4dr_worker *w = &as4dr->workers[event->worker];

    if (as4dr->watch != NULL && as4dr->watch->event != NULL)
        as4dr->watch->event(as4dr->watch->context, event);
    switch (event->kind) {
    case CLEAVE_START:
        first_rounds(as4dr, view, orders);
        break;
    case CLEAVE_WAKE:
        w->held_back = false;
        if (!w->closed)
            post(as4dr, view, event->worker, event->time_s, orders);
        break;
    case CLEAVE_SENT:
        if (w->held_parts++ == 0)
            w->cpu_from_s = event->time_s;
        if (as4dr->real)
            as4dr_came(w, event->units);
        as4dr_delivered(as4dr, event, orders);
        break;
    case CLEAVE_DONE:
        computed(as4dr, view, event, orders);
        break;
    case CLEAVE_RETURNED:
        returned(as4dr, view, event, orders);
        break;
    case CLEAVE_ENDED:
        stream_ended(as4dr, view, event->time_s, orders);
        break;
    default:
        break;
    }
}
#define NUMBER(name, field, preset, min, max, summary)                               \
    {                                                                                \
        name, CLEAVE_PARAM_REAL, offsetof(struct cv_as4dr, field), preset, min, max, \
            summary                                                                  \
    }
#define WORD(name, field, summary)                                                  \
    {                                                                               \
        name, CLEAVE_PARAM_TEXT, offsetof(struct cv_as4dr, field), 0, 0, 0, summary \
    }

static const struct cleave_param as4dr_params[] = {
    NUMBER("period", period_s, 0, 0, 1e15,
           "wanted length of a round, seconds; 0: chosen"),
    NUMBER("theta", wanted_theta, 0.5, 0.05, 0.95,
           "part of a round that is sent first, moved to where nothing idles"),
    WORD("rule", rule_word,
         "how loads follow measurements: eq1, deadbeat, pll, periodic"),
    NUMBER("gain", gain, 0, 0, 1,
           "how far rule eq1 or pll follows; 0: all of it for eq1, 0.6 for pll"),
    WORD("post", post_word, "next round at once or once per period: event, spaced"),
    WORD("service", service_word, "who is served next: fifo, rr, edf"),
    WORD("start", start_word, "first posts: close, spread over a period, zero"),
    NUMBER("first", first, 1, 1e-6, 1e6, "first loads are multiplied by this"),
    { "trim", CLEAVE_PARAM_COUNT, offsetof(struct cv_as4dr, trim), 1, 0, 1,
      "1: first loads keep the workers apart as the first posts do; 0: not" },
    NUMBER("lambda", margin, 0, 0, 1e6,
           "by which part the time between first posts is stretched"),
    WORD("end", end_word, "when the end is known: taper, spread, none"),
    NUMBER("floor", wanted_floor_s, 0, 0, 1e15,
           "shortest round of a tapered end, seconds; 0: chosen"),
    { 0 },
};

const struct cleave_policy cleave_policy_as4dr = {
    .name = "as4dr",
    .summary = "rounds of a wanted length that adapt to measurements; takes streams",
    .reference = "Millot and Parrot 2013",
    .takes_streams = true,
    .orders_returns = true,
    .state_size = sizeof(struct cv_as4dr),
    .params = as4dr_params,
    .plan = cv_as4dr_plan,
    .start = as4dr_start,
    .decide = as4dr_decide,
};
