/* as4dr_service.c -- who is served next at the two ports. SPDX-License-Identifier: MIT
 *
 *   fifo  in the order asked for, which is what a port does by itself
 *   rr    strictly in turn: the worker whose turn it is is waited for. When the end is
 *         known, turns no longer count: a worker that gets nothing more must not be
 *         waited for
 *   edf   the two parts of a round ask separately, and the one whose worker will run out
 *         of work first is sent first
 *
 * For rr and edf a port is given one request at a time. Links that share no port have
 * nobody to choose from: there everything is fifo. */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/heap.h"
#include "policy/stream/as4dr.h"
#include "policy/common/orders.h"

void cv_as4dr_asked(struct cv_as4dr_worker *worker, double units)
{
    worker->request[worker->ordered++ % CV_PARTS_AWAY] = units;
}

/* What does not come is not due any more. */
void cv_as4dr_came(struct cv_as4dr_worker *worker, double units)
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
    cv_as4dr_asked(&as4dr->workers[worker], units);
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

void cv_as4dr_sort(struct cv_as4dr_rank *ranks, uint32_t n)
{
    qsort(ranks, n, sizeof *ranks, by_key);
}

void cv_as4dr_lift(struct cv_as4dr *as4dr, const struct cleave_view *view,
                   struct cleave_orders *orders)
{
    uint32_t n = 0;

    if (as4dr->lifted || as4dr->service != CV_SERVE_RR)
        return;
    as4dr->lifted = true;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].waits_post)
            as4dr->ranks[n++] = (struct cv_as4dr_rank){ as4dr->workers[w].posted_s, w };
    cv_as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++)
        send_round(as4dr, as4dr->ranks[i].worker, orders);
    n = 0;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (as4dr->workers[w].waits_back)
            as4dr->ranks[n++] =
                (struct cv_as4dr_rank){ as4dr->workers[w].asked_s[CV_REQUEST_ROUND], w };
    cv_as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++)
        order_pair(as4dr, as4dr->ranks[i].worker, orders);
}

/* --- what the rounds ask for --------------------------------------------------------- */

void cv_as4dr_serve(struct cv_as4dr *as4dr, const struct cleave_view *view,
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

void cv_as4dr_fetch(struct cv_as4dr *as4dr, const struct cleave_view *view,
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

void cv_as4dr_fetch_one(struct cv_as4dr *as4dr, uint32_t worker, uint64_t chunk,
                        double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const unsigned slot = chunk == w->last_chunk ? CV_REQUEST_LAST : CV_REQUEST_ROUND;

    w->back_chunk[slot] = chunk;
    w->asked_s[slot] = now_s;
    cleave_order_return(orders, worker, chunk);
}

void cv_as4dr_delivered(struct cv_as4dr *as4dr, const struct cleave_event *event,
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

void cv_as4dr_fetched(struct cv_as4dr *as4dr, const struct cleave_event *event,
                      struct cleave_orders *orders)
{
    if (event->chunk != as4dr->fetching)
        return;
    as4dr->fetching = CV_NO_CHUNK;
    if (!as4dr->lifted)
        fetch_in_turn(as4dr, orders);
}
