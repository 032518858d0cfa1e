/* pull.c -- workers ask, the master serves. SPDX-License-Identifier: MIT */
#include "policy/pull/pull.h"

#include <math.h>
#include "base/heap.h"
#include "policy/common/setup.h"
#include "policy/common/orders.h"
#include "policy/common/reserved_workers.h"

/* Most chunks of a simulated run. */
static const double MOST_CHUNKS = 1e7;

enum cleave_status cv_pull_plan(struct cv_pull *pull, const struct cleave_view *view,
                                struct cleave_setup *setup, struct cleave_error *err)
{
    uint32_t *order = cv_bandwidth_order(view->workers, view->nworkers, setup->arena);
    uint32_t *rank = cv_array(setup->arena, view->nworkers, sizeof *rank);

    if (order == NULL || rank == NULL)
        return cv_fail_memory(err, "the order of the workers");
    for (uint32_t i = 0; i < view->nworkers; i++)
        rank[order[i]] = i;
    pull->rank = rank;
    pull->nmembers = view->nworkers;
    for (uint32_t i = 0; i < view->nworkers; i++)
        pull->nmembers -= (pull->member != NULL && !pull->member[i]) ||
                          cv_is_reserved(&view->workers[i]);
    if (pull->nmembers == 0) /* all are still to come */
        pull->nmembers = view->nworkers;
    return CLEAVE_OK;
}

enum cleave_status cv_pull_start(struct cv_pull *pull, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err)
{
    uint32_t n = view->nworkers;

    pull->given = cv_array(setup->arena, n, sizeof *pull->given);
    pull->unfinished = cv_array(setup->arena, n, sizeof *pull->unfinished);
    pull->held_back = cv_array(setup->arena, n, sizeof *pull->held_back);
    pull->vacant = cv_array(setup->arena, n, sizeof *pull->vacant);
    pull->heap = cv_array(setup->arena, n, sizeof *pull->heap);
    pull->line = cv_array(setup->arena, n, sizeof *pull->line);
    pull->max = n;
    if (pull->line == NULL || pull->given == NULL || pull->unfinished == NULL ||
        pull->held_back == NULL || pull->vacant == NULL || pull->heap == NULL)
        return cv_fail_memory(err, "the requests of the workers");
    for (uint32_t w = 0; w < n; w++)
        pull->vacant[w] = cv_is_reserved(&view->workers[w]);
    pull->line_first = pull->nline = pull->nheap = 0;
    pull->port_busy = false;
    return CLEAVE_OK;
}

static bool comes_before(const struct cv_request *a, const struct cv_request *b)
{
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s;
    if (a->given != b->given)
        return a->given < b->given;
    return a->rank < b->rank;
}

CV_HEAP(request, struct cv_request, comes_before)

static struct cv_request *in_line(const struct cv_pull *pull, uint32_t place)
{
    const uint32_t at = pull->line_first + place;

    return &pull->line[at < pull->max ? at : at - pull->max];
}

/* A worker that is not a member may have chunks of an earlier phase. */
static void ask(struct cv_pull *pull, uint32_t worker, double now_s)
{
    const struct cv_request request = { now_s, pull->given[worker], pull->rank[worker],
                                        worker };

    if (pull->member != NULL && !pull->member[worker])
        return;
    if (pull->nline == 0 || !comes_before(&request, in_line(pull, pull->nline - 1))) {
        *in_line(pull, pull->nline++) = request;
        return;
    }
    request_push(pull->heap, pull->nheap++, request);
}

static uint32_t take_first(struct cv_pull *pull)
{
    uint32_t worker;

    if (pull->nline == 0 ||
        (pull->nheap > 0 && comes_before(&pull->heap[0], in_line(pull, 0))))
        return request_pop(pull->heap, pull->nheap--).worker;
    worker = in_line(pull, 0)->worker;
    pull->nline--;
    if (++pull->line_first == pull->max)
        pull->line_first = 0;
    return worker;
}

/* At the start, or after a worker took a place. */
static void note_who_is_there(struct cv_pull *pull, const struct cleave_view *view,
                              const struct cleave_event *event)
{
    uint32_t w = event->worker;

    switch (event->kind) {
    case CLEAVE_START:
        for (w = 0; w < view->nworkers; w++)
            if (pull->held_back[w] == 0 && !pull->vacant[w])
                ask(pull, w, event->time_s);
        break;
    case CLEAVE_CAME:
        if (pull->vacant[w])
            ask(pull, w, event->time_s);
        pull->vacant[w] = false;
        break;
    default:
        break;
    }
}

static inline void note(struct cv_pull *pull, const struct cleave_view *view,
                        const struct cleave_event *event)
{
    const uint32_t w = event->worker;

    if (event->kind == CLEAVE_SENT) {
        pull->port_busy = false;
    } else if (event->kind == CLEAVE_DONE) {
        /* A worker with prefetch or more unfinished chunks has not asked: now it does. */
        if (pull->unfinished[w]-- == pull->prefetch && pull->held_back[w] == 0)
            ask(pull, w, event->time_s);
    } else {
        note_who_is_there(pull, view, event);
    }
}

void cv_pull_note(struct cv_pull *pull, const struct cleave_view *view,
                  const struct cleave_event *event)
{
    note(pull, view, event);
}

static void count_chunk(struct cv_pull *pull, const struct cleave_view *view,
                        uint32_t worker, double now_s)
{
    pull->given[worker]++;
    pull->unfinished[worker]++;
    pull->port_busy = view->port != CLEAVE_PORT_MULTI;
    if (pull->unfinished[worker] < pull->prefetch && pull->held_back[worker] == 0)
        ask(pull, worker, now_s);
}

void cv_pull_given(struct cv_pull *pull, const struct cleave_view *view, uint32_t worker,
                   double now_s)
{
    pull->held_back[worker]--;
    count_chunk(pull, view, worker, now_s);
}

/* A worker waits, and can be served. */
static inline bool can_serve(const struct cv_pull *pull, const struct cleave_view *view)
{
    return !pull->port_busy && pull->nline + pull->nheap > 0 && view->units_left > 0;
}

void cv_pull_serve(struct cv_pull *pull, void *state, const struct cleave_view *view,
                   double now_s, cv_pull_size *size, struct cleave_orders *orders)
{
    while (can_serve(pull, view)) {
        uint32_t worker = take_first(pull);
        double units = size(state, view, worker);
        const double min =
            pull->least_each != NULL ? pull->least_each[worker] : pull->min;

        if (units < min)
            units = min;
        if (view->memory != NULL)
            units = fmin(units, view->memory[worker]);
        if (units >= view->units_left)
            units = view->units_left;
        cv_order_units(orders, CLEAVE_SEND, worker, units);
        count_chunk(pull, view, worker, now_s);
    }
}

void cv_pull_decide(struct cv_pull *pull, void *state, const struct cleave_view *view,
                    const struct cleave_event *event, cv_pull_size *size,
                    struct cleave_orders *orders)
{
    note(pull, view, event);
    if (!event->more && can_serve(pull, view))
        cv_pull_serve(pull, state, view, event->time_s, size, orders);
}

double cv_batch_next(struct cv_batch *batch, const struct cleave_view *view, uint32_t n)
{
    if (batch->left == 0) {
        batch->left = n;
        batch->share = view->units_left / (2.0 * n);
    }
    batch->left--;
    return batch->share;
}

double cv_mean_speed(const struct cleave_view *view, const bool *member)
{
    double speed = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        if (member == NULL || member[w]) {
            speed += view->workers[w].speed_ups;
            n++;
        }
    return speed / n;
}

double cv_overhead_units(const struct cleave_view *view, const bool *member)
{
    double startup = 0, port = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < view->nworkers; w++)
        if (member == NULL || member[w]) {
            startup += view->workers[w].compute_latency_s;
            port += view->workers[w].latency_s;
            n++;
        }
    return cv_mean_speed(view, member) * (startup / n + port);
}

double cv_least_chunk(const struct cleave_view *view)
{
    double equal_share = view->units_total / view->nworkers;

    return fmin(fmax(cv_overhead_units(view, NULL), equal_share / 1000), equal_share);
}

enum cleave_status cv_pull_check_size(const char *policy, const char *param, double units,
                                      const struct cleave_view *view,
                                      struct cleave_error *err)
{
    double min = 0;

    if (view->real)
        min = 1;
    else if (isfinite(view->units_total))
        min = view->units_total / MOST_CHUNKS;
    if (!(units > 0) || units >= min)
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "policy '%s': parameter '%s': expected at least %g, so that chunks have "
        "an end, got %g",
        policy, param, min, units);
}

/* --- when all could end together ---------------------------------------------------- */

/* Begin with all workers, and leave out workers that are not ready by the end, until none
 * is left out: the end only moves closer. */

double cv_end_together(const struct cv_ready *workers, uint32_t n, double units)
{
    double end_s = INFINITY, before_s;

    do {
        double speed = 0, sum = units;

        before_s = end_s;
        for (uint32_t w = 0; w < n; w++)
            if (workers[w].in_s < before_s) {
                speed += workers[w].speed_ups;
                sum += workers[w].speed_ups * workers[w].in_s;
            }
        end_s = speed > 0 ? sum / speed : INFINITY;
    } while (end_s < before_s && isfinite(end_s));
    return end_s;
}
