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

#include "policy/stream/as4dr_history.h"
#include "policy/common/orders.h"

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
        cv_as4dr_fetch_one(as4dr, worker, w->ready_chunk, now_s, orders);
    w->ready_chunk = CV_NO_CHUNK;
}

static void post(struct cv_as4dr *as4dr, const struct cleave_view *view, uint32_t worker,
                 double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const struct cv_as4dr_place *place = &as4dr->places[worker];
    const double load = cv_as4dr_load(as4dr, view, worker, now_s);

    if (!(load > 0)) {
        close_worker(as4dr, worker, now_s, orders);
        return;
    }
    w->load = load;
    w->first = place->theta * load;
    /* A rest that is shorter than its latency is not divided. */
    if (as4dr->finite && w->first < w->speed_ups * w->latency_s &&
        load == cv_as4dr_left(as4dr, view))
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
    cv_as4dr_serve(as4dr, view, worker, now_s, orders);
    if (as4dr->known_end && !(cv_as4dr_left(as4dr, view) > 0))
        cv_as4dr_lift(as4dr, view, orders);
}

/* The result of part one is there. */
static void next_round(struct cv_as4dr *as4dr, const struct cleave_view *view,
                       uint32_t worker, double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    double earliest_s = now_s;

    w->result_s = now_s;
    /* The second post is not held back: it comes half a round after the first. */
    if (as4dr->post == CV_POST_SPACED && w->rounds > 1 && cv_as4dr_left(as4dr, view) > 0)
        earliest_s = w->posted_s + cv_as4dr_wanted(as4dr, view, worker, now_s);
    w->held_back = now_s < earliest_s;
    if (w->held_back)
        cleave_order_wake(orders, worker, earliest_s);
    else
        post(as4dr, view, worker, now_s, orders);
    if (cv_as4dr_should_spread(as4dr, view))
        cv_as4dr_spread(as4dr, view, now_s, orders);
}

static void first_rounds(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         struct cleave_orders *orders)
{
    if (cv_as4dr_should_spread(as4dr, view)) {
        cv_as4dr_spread(as4dr, view, 0, orders);
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
        cv_as4dr_fetch_one(as4dr, event->worker, w->ready_chunk, event->time_s, orders);
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
            cv_as4dr_fetch(as4dr, view, event->worker, event->time_s, orders);
        else if (w->closed || event->chunk == w->last_chunk)
            cv_as4dr_fetch_one(as4dr, event->worker, event->chunk, event->time_s, orders);
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
    cv_as4dr_fetched(as4dr, event, orders);
}

static void stream_ended(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         double now_s, struct cleave_orders *orders)
{
    as4dr->known_end = true;
    cv_orders_keep(orders, as4dr->reserved);
    cv_as4dr_lift(as4dr, view, orders);
    if (as4dr->end == CV_END_SPREAD)
        cv_as4dr_spread(as4dr, view, now_s, orders);
    if (cv_as4dr_left(as4dr, view) > 0)
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
            cv_as4dr_came(w, event->units);
        cv_as4dr_delivered(as4dr, event, orders);
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
