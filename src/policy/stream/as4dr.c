/* as4dr.c -- rounds of a wanted length, whatever the workers turn out to be.
 * SPDX-License-Identifier: MIT
 *
 * The load of a round goes out as two parts, in a row. When the first is computed, its
 * result comes back together with that of the second part of the round before; when it is
 * there, the worker's next round is posted, with a load that should take tau seconds
 * given how long the first part took. While that travels, the worker computes the second
 * part. So loads adapt to speeds that are declared badly or change, and neither size nor
 * end of the load need be known. When nothing comes back, the next round is posted as
 * soon as the first part is computed.
 * Millot and Parrot, "Setting up clusters of computing units to process several data
 * streams efficiently", PPAM 2013; Millot and Parrot, IPDPSW 2011. */
#include "policy/stream/as4dr.h"

#include <math.h>
#include <stdlib.h>
#include "base/compare.h"
#include "base/heap.h"
#include "model/load/plan.h"
#include "policy/common/orders.h"
#include "policy/stream/as4dr_plan.h"

/* --- who is served next at the two ports ------------------------------------------- */

/* fifo  in the order asked for, which is what a port does by itself
 *   rr    strictly in turn: the worker whose turn it is is waited for. When the end is
 *         known, turns no longer count: a worker that gets nothing more must not be
 *         waited for
 *   edf   the two parts of a round ask separately, and the one whose worker will run out
 *         of work first is sent first
 * 
 * For rr and edf a port is given one request at a time. Links that share no port have
 * nobody to choose from: there everything is fifo. */

/* A part was ordered; it has arrived, and may be less than was asked for. */
static void as4dr_asked(struct cv_as4dr_worker *worker, double units)
{
    worker->request[worker->ordered++ % CV_PARTS_AWAY] = units;
}

/* What does not come is not due any more. */
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

/* --- the most urgent first ----------------------------------------------------------- */

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

    /* What was posted counts as due already: take it off again. A worker's own parts stay
     * in their order, whatever the estimates say. */
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

/* --- in turn --------------------------------------------------------------------------- */

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

/* The result of part one and that of the part two before it, in a row. */
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

static void as4dr_sort(struct cv_as4dr_rank *ranks, uint32_t n)
{
    qsort(ranks, n, sizeof *ranks, by_key);
}

/* From now on turns do not count: whoever waits is served in the order asked for. */
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
    as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++)
        send_round(as4dr, as4dr->ranks[i].worker, orders);
    n = 0;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].waits_back)
            as4dr->ranks[n++] =
                (struct cv_as4dr_rank){ as4dr->workers[w].asked_s[CV_REQUEST_ROUND], w };
    as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++)
        order_pair(as4dr, as4dr->ranks[i].worker, orders);
}

/* --- what the rounds ask for --------------------------------------------------------- */

/* A round was posted: send its parts when the discipline allows. */
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

/* Part one is computed: fetch its result, with that of the part two before. */
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

/* Fetch the result of a single chunk, now. */
static void as4dr_fetch_one(struct cv_as4dr *as4dr, uint32_t worker, uint64_t chunk,
                            double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const unsigned slot = chunk == w->last_chunk ? CV_REQUEST_LAST : CV_REQUEST_ROUND;

    w->back_chunk[slot] = chunk;
    w->asked_s[slot] = now_s;
    cleave_order_return(orders, worker, chunk);
}

/* The port has delivered a part. */
static void as4dr_delivered(struct cv_as4dr *as4dr, const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[event->worker];
    double asked_s = w->posted_s;

    if (as4dr->watch != NULL && as4dr->watch->waited != NULL) {
        /* A part two waits from the moment part one is there, if it waits at all. */
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

/* A result has come through. */
static void as4dr_fetched(struct cv_as4dr *as4dr, const struct cleave_event *event,
                          struct cleave_orders *orders)
{
    if (event->chunk != as4dr->fetching)
        return;
    as4dr->fetching = CV_NO_CHUNK;
    if (!as4dr->lifted)
        fetch_in_turn(as4dr, orders);
}

/* --- what happens when the end of the load is known -------------------------------- */

/* A stream that has ended, or a load of known size, leaves V units to post.
 * 
 *   taper   rounds go on with the wanted length min(tau, max(floor, V / (2 sum of
 *           speeds))): they get shorter and shorter, so that workers which turn out
 *           slower than last measured are not left with much
 *   spread  V is poured over the workers once, so that all end together if they stay as
 *           fast as last measured (model/load/water_fill.h)
 *   none    full rounds until nothing is left */

/* Less than this part of the load is rounding. */
static const double ROUNDING = 1e-12;
/* By how much loads grow while latencies cannot be told from speeds. */
static const double GROWTH = 8;

/* What is left to post; 0 if that is only rounding. */
static double as4dr_left(const struct cv_as4dr *as4dr, const struct cleave_view *view)
{
    const double left = view->units_left - as4dr->reserved;

    if (isinf(left))
        return left;
    return left > ROUNDING * view->units_total ? left : 0;
}

/* How long the next round should take, towards the end as well. */
static double as4dr_wanted(const struct cv_as4dr *as4dr, const struct cleave_view *view,
                           uint32_t worker, double now_s)
{
    const double tau_s = cv_as4dr_tau(as4dr, worker, now_s);

    if (!as4dr->known_end || as4dr->end != CV_END_TAPER)
        return tau_s;
    return fmin(tau_s,
                fmax(as4dr->floor_s, as4dr_left(as4dr, view) / (2 * as4dr->speed_sum)));
}

/* Of a round that should take wanted_s. Latencies take half of it at most. */
static double tapered(const struct cv_as4dr *as4dr, uint32_t worker, double wanted_s)
{
    const double latencies_s = 2 * as4dr->workers[worker].latency_s;

    return fmax(as4dr->workers[worker].speed_ups *
                    fmax(wanted_s - latencies_s, latencies_s),
                as4dr->least_s * as4dr->places[worker].speed_ups);
}

/* Records cannot be divided, so neither can what is to be less than one in each part. */
static double real_load(const struct cv_as4dr_worker *worker, double load)
{
    /* Another size tells more. */
    if (worker->rounds > 0 && !worker->fit.sure)
        load = fmax(load, GROWTH * worker->load);
    return fmax(load, 2);
}

/* The load of the next round, towards the end as well; 0: none. */
static double as4dr_load(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         uint32_t worker, double now_s)
{
    const double left = as4dr_left(as4dr, view);
    double load, wanted_s;

    if (!(left > 0))
        return 0;
    wanted_s = as4dr_wanted(as4dr, view, worker, now_s);
    /* A load that is known from the beginning has full rounds, too. */
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

/* Whether a load of known size has come down to what should be spread. */
static bool as4dr_should_spread(const struct cv_as4dr *as4dr,
                                const struct cleave_view *view)
{
    return as4dr->end == CV_END_SPREAD && as4dr->known_end && !as4dr->spread_out &&
           as4dr_left(as4dr, view) <= as4dr->speed_sum * as4dr->tau_s;
}

/* One chunk more for a worker, which is the last it gets. */
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

/* Share out what is left so that all workers end together. */
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
    /* Those that run out first are served first; the last one takes what rounding left. */
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (share[w] > 0)
            as4dr->ranks[n++] = (struct cv_as4dr_rank){ ready[w], w };
    as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = as4dr->ranks[i].worker;
        const double units = i + 1 < n ? fmin(share[w], left) : left;

        left -= units;
        if (units > 0)
            give_share(as4dr, w, units, now_s, orders);
    }
}

/* --- rounds of a wanted length, whatever the workers turn out to be ---------------- */

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

/* The worker gets no further round: nothing is left to send its last result with. */
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

/* The result of part one is there. */
static void next_round(struct cv_as4dr *as4dr, const struct cleave_view *view,
                       uint32_t worker, double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    double earliest_s = now_s;

    w->result_s = now_s;
    /* The second post is not held back: it comes half a round after the first. */
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

static void tell_measure(const struct cv_as4dr *as4dr, const struct cleave_event *event)
{
    if (as4dr->watch != NULL && as4dr->watch->measured != NULL)
        as4dr->watch->measured(as4dr->watch->context, event->worker, event->time_s,
                               as4dr->workers[event->worker].sigma_s);
}

/* The result of a part two waits for that of the next part one. A part for which a stream had
 * nothing left is over before those ahead of it: then two would wait, and the first one goes. */
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
        tell_measure(as4dr, event);
        next_round(as4dr, view, event->worker, event->time_s, orders);
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
    if (event->chunk == w->first_chunk) {
        tell_measure(as4dr, event);
        next_round(as4dr, view, event->worker, event->time_s, orders);
    }
    as4dr_fetched(as4dr, event, orders);
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

static enum cleave_status as4dr_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    return cv_as4dr_plan(state, view, setup, err);
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
         "how loads follow what is measured: eq1, deadbeat, pll, periodic"),
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
    .summary = "rounds of a wanted length that adapt to what is measured; takes streams",
    .reference = "Millot and Parrot 2013",
    .takes_streams = true,
    .orders_returns = true,
    .state_size = sizeof(struct cv_as4dr),
    .params = as4dr_params,
    .plan = as4dr_plan,
    .start = as4dr_start,
    .decide = as4dr_decide,
};
