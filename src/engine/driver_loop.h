/* driver_loop.h -- the loop that all engines share, to be compiled with one.
 * SPDX-License-Identifier: MIT
 *
 * Inline, so that an engine which is called very often can have it in one piece with its own
 * functions, and without what its plain runs never need. driver.c has it for all engines and
 * all runs. It is the same text: what comes out is the same to the last bit. */
#ifndef CV_DRIVER_LOOP_H
#define CV_DRIVER_LOOP_H
#include <float.h>
#include <math.h>

#include "engine/order_checks.h"

#define CV_IN_LOOP static inline __attribute__((always_inline))

/* What an event is counted as where simulations have a limit. */
static const double CV_EVENT_STEPS = 100, CV_WORKER_STEPS = 2;

/* How the engine is called. */
struct cv_loop {
    enum cleave_status (*submit)(void *engine, const struct cleave_order *order,
                                 struct cleave_error *err);
    enum cleave_status (*wait)(void *engine, struct cleave_event *out, bool *out_any,
                               struct cleave_error *err);
    bool plain; /* cv_driver_is_plain holds */
};

/* A load of which nothing comes back, which is not made of items, whose chunks cannot be
 * opened and of which any size is good; nothing is written down. */
static inline bool cv_driver_is_plain(const struct cv_driver *driver,
                                      const struct cleave_trace *trace)
{
    const struct cleave_view *view = &driver->view;

    return trace == NULL && driver->planned->policy->task != CLEAVE_TASK_REDUCE &&
           !cv_driver_has_results(driver) && !view->opens && view->nitems == 0 &&
           view->memory == NULL && driver->engine->left == NULL;
}

/* Where records are cut, only the engine knows what is left. */
CV_IN_LOOP void cv_loop_ask_left(struct cv_driver *driver, const struct cv_loop *loop)
{
    if (!loop->plain && driver->engine->left != NULL)
        driver->view.units_left = driver->engine->left(driver->instance);
}

/* As cv_driver_check_order does for a chunk that is sent in a plain run; false: ask it. */
CV_IN_LOOP bool cv_loop_check_send(struct cv_driver *driver,
                                   const struct cleave_order *order)
{
    if (order->kind != CLEAVE_SEND || order->worker >= driver->view.nworkers ||
        !(order->units >= 0 && order->units <= DBL_MAX))
        return false;
    cv_livelock_check_order(&driver->livelock);
    driver->handed.units += order->units;
    return true;
}

CV_IN_LOOP enum cleave_status cv_loop_submit(struct cv_driver *driver,
                                             const struct cleave_order *order,
                                             struct cleave_trace *trace,
                                             const struct cv_loop *loop,
                                             struct cleave_error *err)
{
    const bool sends = order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN;

    if (!loop->plain && trace != NULL)
        CV_TRY(cv_driver_record_order(trace, order, err));
    CV_TRY(loop->submit(driver->instance, order, err));
    driver->held.sends += sends || order->kind == CLEAVE_EXTEND;
    driver->chunks += sends || order->kind == CLEAVE_COMBINE;
    return CLEAVE_OK;
}

/* A worker is about to be sent a chunk: what it has computed goes first, if that is the
 * scheme. */
CV_IN_LOOP enum cleave_status cv_loop_fetch_before(struct cv_driver *driver,
                                                   const struct cleave_order *next,
                                                   struct cleave_trace *trace,
                                                   const struct cv_loop *loop,
                                                   struct cleave_error *err)
{
    struct cleave_order order;

    if (loop->plain || !driver->held.before ||
        (next->kind != CLEAVE_SEND && next->kind != CLEAVE_OPEN))
        return CLEAVE_OK;
    while (cv_queued_returns_take(&driver->held, next->worker, &order))
        CV_TRY(cv_loop_submit(driver, &order, trace, loop, err));
    return CLEAVE_OK;
}

CV_IN_LOOP enum cleave_status
cv_loop_submit_orders(struct cv_driver *driver, double now_s, struct cleave_trace *trace,
                      const struct cv_loop *loop, struct cleave_error *err)
{
    struct cleave_orders *orders = &driver->orders;

    if (orders->out_of_memory)
        return cv_fail_memory(err, "the orders of a policy");
    /* Chunks that end at records take a little more than was asked for, so that a plan made
     * before asks for more than there is in the end: an engine that knows gives less. */
    if ((loop->plain || driver->engine->left == NULL) &&
        driver->view.units_left < -CV_DRIVER_SLACK * driver->view.units_total)
        return cv_driver_fail_units(driver, err);
    for (size_t i = 0; i < orders->count; i++) {
        const struct cleave_order *order = &orders->items[i];

        if (!loop->plain || !cv_loop_check_send(driver, order))
            CV_TRY(cv_driver_check_order(driver, order, now_s, err));
        if (!loop->plain && driver->held.on && order->kind == CLEAVE_RETURN) {
            if (!cv_queued_returns_add(&driver->held, order))
                return cv_fail_memory(err, "the results of a run");
            continue;
        }
        CV_TRY(cv_loop_fetch_before(driver, order, trace, loop, err));
        CV_TRY(cv_loop_submit(driver, order, trace, loop, err));
    }
    cv_loop_ask_left(driver, loop);
    return CLEAVE_OK;
}

/* Where an output comes back by itself, a chunk is done when it is here, and the worker is
 * at the next one by then. What it does in a second comes out right, whether its processor
 * or its link is the bottleneck, if it was busy with a chunk from the end of the last one. */
CV_IN_LOOP void cv_loop_change_to_told(struct cv_driver *driver,
                                       struct cleave_event *event,
                                       const struct cv_loop *loop)
{
    double *done_s;

    if (!loop->plain && driver->view.nitems > 0)
        event->item = cv_item_check_of(&driver->items, event->chunk);
    if (event->kind != CLEAVE_DONE)
        return;
    done_s = &driver->done_s[event->worker];
    event->start_s = fmax(event->start_s, *done_s);
    *done_s = event->time_s;
}

/* No chunk will be sent any more. */
CV_IN_LOOP bool cv_loop_all_sent(const struct cleave_view *view)
{
    return isfinite(view->units_left) &&
           view->units_left <= CV_DRIVER_SLACK * view->units_total;
}

/* Results that wait may go when no send does. `all_sent`: there will be none any more. */
CV_IN_LOOP enum cleave_status cv_loop_release(struct cv_driver *driver, bool all_sent,
                                              struct cleave_trace *trace,
                                              const struct cv_loop *loop,
                                              struct cleave_error *err)
{
    struct cleave_order order;

    if (loop->plain || !driver->held.on ||
        !cv_queued_returns_next(&driver->held, all_sent, &order))
        return CLEAVE_OK;
    return cv_loop_submit(driver, &order, trace, loop, err);
}

/* Tell the policy, then do what it asks. The event is written down as it was, and changed
 * for the policy. */
CV_IN_LOOP enum cleave_status cv_loop_step(struct cv_driver *driver,
                                           struct cleave_event *event,
                                           struct cleave_trace *trace,
                                           const struct cv_loop *loop,
                                           struct cleave_error *err)
{
    const bool results = !loop->plain && cv_driver_has_results(driver);

    if (!loop->plain && trace != NULL)
        CV_TRY(cv_driver_record_event(driver, trace, event, err));
    cv_loop_change_to_told(driver, event, loop);
    /* Results that nobody was asked for are the engine's business. */
    if (event->kind == CLEAVE_RETURNED && !results)
        return CLEAVE_OK;
    driver->orders.count = 0;
    driver->planned->policy->decide(driver->state, &driver->view, event, &driver->orders);
    if (results && !driver->planned->policy->orders_returns)
        cv_return_when_done(&driver->view, event, &driver->orders);
    if (driver->orders.count > 0 || driver->orders.out_of_memory)
        CV_TRY(cv_loop_submit_orders(driver, event->time_s, trace, loop, err));
    return cv_loop_release(driver, cv_loop_all_sent(&driver->view), trace, loop, err);
}

CV_IN_LOOP void cv_loop_note(struct cv_driver *driver, const struct cleave_event *event,
                             const struct cv_loop *loop, struct cv_outcome *outcome)
{
    outcome->events++;
    if (!loop->plain || (event->kind != CLEAVE_DONE && event->kind != CLEAVE_SENT)) {
        cv_driver_note_event(driver, event, outcome);
    } else if (event->kind == CLEAVE_DONE) {
        outcome->busy_s += event->time_s - event->start_s;
        outcome->makespan_s = event->time_s;
    } else {
        outcome->sent_s = event->time_s;
    }
}

/* A policy that orders for ever and gets nowhere is stopped. */
CV_IN_LOOP enum cleave_status cv_loop_check_headway(struct cv_driver *driver,
                                                    const struct cleave_event *event,
                                                    const struct cv_loop *loop,
                                                    struct cleave_error *err)
{
    if (driver->run.budget != NULL) {
        cv_step_budget_spend(driver->run.budget,
                             CV_EVENT_STEPS + CV_WORKER_STEPS * driver->view.nworkers);
        if (cv_step_budget_over(driver->run.budget))
            return cv_driver_fail_limit(driver, err);
    }
    if (!cv_livelock_check_note(&driver->livelock, event))
        return cv_driver_fail_headway(driver, err);
    /* Records bound the number of chunks of a real run. */
    if (driver->chunks > CV_CHUNKS_MOST && (loop->plain || driver->engine->left == NULL))
        return cv_driver_fail_chunks(driver, err);
    return CLEAVE_OK;
}

/* From the beginning to when nothing is under way any more. */
CV_IN_LOOP enum cleave_status cv_driver_loop(struct cv_driver *driver,
                                             struct cleave_trace *trace,
                                             const struct cv_loop *loop,
                                             struct cv_outcome *outcome,
                                             struct cleave_error *err)
{
    struct cleave_event event = { .kind = CLEAVE_START };
    bool any = true;

    while (any) {
        CV_TRY(cv_loop_step(driver, &event, trace, loop, err));
        event.item = 0; /* what the policy was told is not what the engine says */
        CV_TRY(loop->wait(driver->instance, &event, &any, err));
        if (!any && !loop->plain && driver->held.before) {
            /* A policy that waits for results has them fetched. */
            CV_TRY(cv_loop_release(driver, true, trace, loop, err));
            CV_TRY(loop->wait(driver->instance, &event, &any, err));
        }
        if (any) {
            cv_loop_note(driver, &event, loop, outcome);
            CV_TRY(cv_loop_check_headway(driver, &event, loop, err));
            cv_loop_ask_left(driver, loop);
        }
    }
    return CLEAVE_OK;
}

#endif
