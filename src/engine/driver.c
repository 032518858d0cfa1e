/* driver.c -- the loop that all engines share. SPDX-License-Identifier: MIT */
#include "engine/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/handed_out.h"
#include "engine/headway.h"
#include "engine/held_returns.h"
#include "engine/item_check.h"
#include "engine/open_check.h"
#include "engine/reduce_check.h"
#include "engine/return_check.h"
#include "model/platform/profile.h"
#include "policy/kit/orders.h"

/* Sums of chunk sizes may miss the load by rounding: this much of it is forgiven. */
static const double SLACK = 1e-9;
/* What an event is counted as where simulations have a limit. */
static const double event_steps = 100, worker_steps = 2;

struct cv_driver {
    const struct cv_planned *planned; /* borrowed */
    const struct cv_engine *engine;
    void *instance;        /* owned, of engine                     */
    struct cv_arena arena; /* policy state of the current run      */
    void *state;           /* in arena                             */
    double *done_s;        /* in arena: per worker, the end of its last chunk  */
    struct cleave_view view;
    struct cleave_orders orders;
    struct cv_run run; /* the current one                      */
    uint64_t chunks;
    struct cv_headway headway;
    struct cv_handed_out handed;    /* units sent                           */
    struct cv_item_check items;     /* of a load that is made of items      */
    struct cv_open_check open;      /* chunks that may be extended          */
    struct cv_reduce_check reduce;  /* of a reduction                       */
    struct cv_return_check returns; /* when results come back               */
    struct cv_held_returns held;    /* those that sends overtake            */
};

enum cleave_status cv_driver_open(const struct cv_planned *planned,
                                  const struct cv_engine *engine,
                                  const struct cleave_platform *platform,
                                  const void *source, struct cv_driver **out,
                                  struct cleave_error *err)
{
    struct cv_driver *driver = calloc(1, sizeof *driver);
    enum cleave_status status;

    if (driver == NULL)
        return cv_fail_memory(err, "a driver");
    cv_arena_init(&driver->arena);
    driver->planned = planned;
    driver->engine = engine;
    status = engine->open(platform, source, &driver->instance, err);
    if (status != CLEAVE_OK) {
        free(driver);
        return status;
    }
    *out = driver;
    return CLEAVE_OK;
}

void cv_driver_close(struct cv_driver *driver)
{
    if (driver == NULL)
        return;
    driver->engine->close(driver->instance);
    cv_arena_done(&driver->arena);
    cv_return_check_done(&driver->returns);
    cv_held_returns_done(&driver->held);
    cv_handed_out_done(&driver->handed);
    cv_item_check_done(&driver->items);
    free(driver->orders.items);
    free(driver);
}

const double *cv_driver_done_s(const struct cv_driver *driver)
{
    return driver->done_s;
}

static bool has_results(const struct cv_driver *driver)
{
    return driver->view.result_ratio > 0;
}

/* The driver's own books about a load. */
static enum cleave_status open_books(struct cv_driver *driver, struct cleave_error *err)
{
    const struct cleave_view *view = &driver->view;

    driver->done_s = cv_array(&driver->arena, view->nworkers, sizeof *driver->done_s);
    if (driver->done_s == NULL ||
        !cv_open_check_init(&driver->open, &driver->arena, view->nworkers))
        return cv_fail_memory(err, "the state of a policy");
    if (!cv_item_check_begin(&driver->items, view->nitems))
        return cv_fail_memory(err, "the items of a run");
    driver->headway.items = view->nitems > 0;
    driver->orders.sizes = view->sizes;
    driver->orders.nitems = view->nitems;
    return CLEAVE_OK;
}

static enum cleave_status start_policy(struct cv_driver *driver, struct cleave_error *err)
{
    const struct cleave_policy *policy = driver->planned->policy;
    struct cleave_setup setup = { .arena = &driver->arena };

    cv_arena_reset(&driver->arena);
    driver->state = cv_array(&driver->arena, 1, policy->state_size);
    if (driver->state == NULL)
        return cv_fail_memory(err, "the state of a policy");
    memcpy(driver->state, driver->planned->state, policy->state_size);
    driver->view = driver->planned->view;
    if (policy->task == CLEAVE_TASK_REDUCE) {
        driver->view.ready_s = driver->run.ready_s;
        driver->view.ready_model = driver->run.ready_model;
    }
    driver->done_s = NULL;
    driver->open.workers = NULL;
    driver->orders.units_left = &driver->view.units_left;
    driver->orders.out_of_memory = false;
    driver->chunks = 0;
    cv_handed_out_clear(&driver->handed);
    cv_headway_begin(&driver->headway, driver->view.units_total);
    cv_return_check_clear(&driver->returns);
    if (policy->task != CLEAVE_TASK_REDUCE)
        CV_TRY(open_books(driver, err));
    cv_held_returns_clear(&driver->held, driver->view.sends_first);
    if (policy->task == CLEAVE_TASK_REDUCE &&
        !cv_reduce_check_init(&driver->reduce, &driver->arena, driver->view.nworkers,
                              policy->keeps_order, driver->view.ready_s == NULL))
        return cv_fail_memory(err, "the state of a reduction");
    return policy->start == NULL
               ? CLEAVE_OK
               : policy->start(driver->state, &driver->view, &setup, err);
}

static bool is_about_open(const struct cv_driver *driver,
                          const struct cleave_order *order)
{
    return (order->kind == CLEAVE_SEND && driver->view.opens) ||
           order->kind == CLEAVE_OPEN || order->kind == CLEAVE_EXTEND ||
           order->kind == CLEAVE_CLOSE || order->kind == CLEAVE_LOOK;
}

/* An order about an open chunk. */
static enum cleave_status check_open_order(struct cv_driver *driver,
                                           const struct cleave_order *order,
                                           struct cleave_error *err)
{
    static const char *const VERBS[] = { [CLEAVE_SEND] = "send",
                                         [CLEAVE_OPEN] = "open",
                                         [CLEAVE_EXTEND] = "extend",
                                         [CLEAVE_CLOSE] = "close",
                                         [CLEAVE_LOOK] = "look at" };
    const char *fault = driver->view.opens ? cv_open_check_order(&driver->open, order)
                                           : "chunks cannot be opened here";

    if (fault != NULL)
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' asked to %s a chunk of worker %u: %s",
                       driver->planned->policy->name, VERBS[order->kind], order->worker,
                       fault);
    return CLEAVE_OK;
}

/* An order to send a chunk or to fetch a result. */
static enum cleave_status check_load_order(struct cv_driver *driver,
                                           const struct cleave_order *order,
                                           struct cleave_error *err)
{
    const char *name = driver->planned->policy->name, *fault;

    if (order->kind == CLEAVE_RETURN) {
        fault = !has_results(driver) ? "this load has none"
                                     : cv_return_check_order(&driver->returns,
                                                             order->worker, order->chunk);
        if (fault != NULL)
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s' asked worker %u for the result of chunk %llu: %s",
                           name, order->worker, (unsigned long long)order->chunk, fault);
        return CLEAVE_OK;
    }
    if (!(order->units >= 0) || isinf(order->units))
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' sent %g units to worker %u",
                       name, order->units, order->worker);
    if (driver->view.nitems > 0)
        CV_TRY(cv_item_check_order(&driver->items, name, order, err));
    if (driver->view.memory != NULL &&
        order->units > driver->view.memory[order->worker] * (1 + SLACK))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy '%s' sends %g units to worker %u at once, which has memory "
            "for %g; auto picks who keeps to that",
            name, order->units, order->worker, driver->view.memory[order->worker]);
    if (is_about_open(driver, order))
        CV_TRY(check_open_order(driver, order, err));
    if (order->kind == CLEAVE_EXTEND)
        driver->handed.units += order->units;
    if (order->kind != CLEAVE_SEND && order->kind != CLEAVE_OPEN)
        return CLEAVE_OK;
    cv_headway_order(&driver->headway);
    if (has_results(driver) && !cv_return_check_sent(&driver->returns, order->worker))
        return cv_fail_memory(err, "the results of a run");
    if (driver->engine->left == NULL) /* what is asked for is given */
        driver->handed.units += order->units;
    else if (!cv_handed_out_ask(&driver->handed, order->units))
        return cv_fail_memory(err, "the chunks of a run");
    return CLEAVE_OK;
}

/* The order is sane. The sum over chunks is judged when units run out or the run ends. */
static enum cleave_status check_order(struct cv_driver *driver,
                                      const struct cleave_order *order, double now_s,
                                      struct cleave_error *err)
{
    const char *name = driver->planned->policy->name, *fault;
    bool reduces = driver->planned->policy->task == CLEAVE_TASK_REDUCE;

    if (order->worker >= driver->view.nworkers)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' named worker %u of %u", name,
                       order->worker, driver->view.nworkers);
    if (order->kind == CLEAVE_WAKE_AT) {
        if (!(order->time_s >= now_s) || isinf(order->time_s))
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s' asked to be woken at %g s, but it is %g s", name,
                           order->time_s, now_s);
        return CLEAVE_OK;
    }
    if ((order->kind == CLEAVE_COMBINE) != reduces)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' gave an order of another task",
                       name);
    if (reduces) {
        fault = cv_reduce_check_order(&driver->reduce, order);
        if (fault != NULL)
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s' let node %u send to node %u: %s", name,
                           order->peer, order->worker, fault);
        return CLEAVE_OK;
    }
    return check_load_order(driver, order, err);
}

/* What the policy was told, so that it can be asked again. */
static enum cleave_status record_told(const struct cv_driver *driver,
                                      struct cleave_trace *trace,
                                      struct cleave_error *err)
{
    const struct cv_planned *planned = driver->planned;
    struct cleave_told told = { .settings = planned->settings,
                                .nsettings = planned->nsettings,
                                .view = planned->view,
                                .changing = cv_is_changing(driver->run.platform) };

    if (trace == NULL || planned->given)
        return CLEAVE_OK;
    if (driver->run.command != NULL) {
        told.reads = driver->run.command->name;
        told.supply = driver->run.units;
    }
    told.view.ready_s = driver->view.ready_s;
    told.view.ready_model = driver->view.ready_model;
    if (told.view.lifespan_s > 0) /* how much that is, the plan says */
        told.view.units_total = told.view.units_left = 0;
    return cleave_trace_describe(trace, &(struct cleave_trace_facts){ .told = &told },
                                 err);
}

static enum cleave_status record_event(const struct cv_driver *driver,
                                       struct cleave_trace *trace,
                                       const struct cleave_event *event,
                                       struct cleave_error *err)
{
    struct cleave_entry entry = { .is_order = false };

    entry.as.event = *event;
    if (driver->engine->left != NULL && isfinite(driver->view.units_left)) {
        entry.knows_left = true;
        entry.units_left = driver->view.units_left;
    }
    return cleave_trace_add(trace, &entry, err);
}

static enum cleave_status record_order(struct cleave_trace *trace,
                                       const struct cleave_order *order,
                                       struct cleave_error *err)
{
    struct cleave_entry entry = { .is_order = true };

    entry.as.order = *order;
    return cleave_trace_add(trace, &entry, err);
}

/* Where records are cut, only the engine knows what is left. */
static void ask_left(struct cv_driver *driver)
{
    if (driver->engine->left != NULL)
        driver->view.units_left = driver->engine->left(driver->instance);
}

static enum cleave_status submit_orders(struct cv_driver *driver, double now_s,
                                        struct cleave_trace *trace,
                                        struct cleave_error *err)
{
    struct cleave_orders *orders = &driver->orders;

    if (orders->out_of_memory)
        return cv_fail_memory(err, "the orders of a policy");
    /* Chunks that end at records take a little more than was asked for, so that a plan made
     * before asks for more than there is in the end: an engine that knows gives less. */
    if (driver->engine->left == NULL &&
        driver->view.units_left < -SLACK * driver->view.units_total)
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' handed out %g units more than the load",
                       driver->planned->policy->name, -driver->view.units_left);
    for (size_t i = 0; i < orders->count; i++) {
        const struct cleave_order *order = &orders->items[i];

        CV_TRY(check_order(driver, order, now_s, err));
        if (driver->held.on && order->kind == CLEAVE_RETURN) {
            if (!cv_held_returns_add(&driver->held, order))
                return cv_fail_memory(err, "the results of a run");
            continue;
        }
        if (trace != NULL)
            CV_TRY(record_order(trace, order, err));
        CV_TRY(driver->engine->submit(driver->instance, order, err));
        driver->held.sends += order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN ||
                              order->kind == CLEAVE_EXTEND;
        driver->chunks += order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN ||
                          order->kind == CLEAVE_COMBINE;
    }
    ask_left(driver);
    return CLEAVE_OK;
}

/* Results that wait may go when no send does. */
static enum cleave_status release_return(struct cv_driver *driver,
                                         struct cleave_trace *trace,
                                         struct cleave_error *err)
{
    struct cleave_order order;

    if (!cv_held_returns_next(&driver->held, &order))
        return CLEAVE_OK;
    if (trace != NULL)
        CV_TRY(record_order(trace, &order, err));
    return driver->engine->submit(driver->instance, &order, err);
}

/* Where an output comes back by itself, a chunk is done when it is here, and the worker is
 * at the next one by then. What it does in a second comes out right, whether its processor
 * or its link is the bottleneck, if it was busy with a chunk from the end of the last one. */
static void change_to_told(struct cv_driver *driver, struct cleave_event *event)
{
    double *done_s;

    if (driver->view.nitems > 0)
        event->item = cv_item_check_of(&driver->items, event->chunk);
    if (event->kind != CLEAVE_DONE)
        return;
    done_s = &driver->done_s[event->worker];
    event->start_s = fmax(event->start_s, *done_s);
    *done_s = event->time_s;
}

/* Tell the policy, then do what it asks. The event is written down as it was, and changed
 * for the policy. */
static enum cleave_status step(struct cv_driver *driver, struct cleave_event *event,
                               struct cleave_trace *trace, struct cleave_error *err)
{
    if (trace != NULL)
        CV_TRY(record_event(driver, trace, event, err));
    change_to_told(driver, event);
    /* Results that nobody was asked for are the engine's business. */
    if (event->kind == CLEAVE_RETURNED && !has_results(driver))
        return CLEAVE_OK;
    driver->orders.count = 0;
    driver->planned->policy->decide(driver->state, &driver->view, event, &driver->orders);
    if (has_results(driver) && !driver->planned->policy->orders_returns)
        cv_return_when_done(&driver->view, event, &driver->orders);
    if (driver->orders.count > 0 || driver->orders.out_of_memory)
        CV_TRY(submit_orders(driver, event->time_s, trace, err));
    return driver->held.on ? release_return(driver, trace, err) : CLEAVE_OK;
}

/* What an open chunk was to be given and was not is left. */
static void note_extension(struct cv_driver *driver, const struct cleave_event *event)
{
    double missed;

    if (!driver->view.opens || driver->open.workers == NULL)
        return;
    missed = cv_open_check_note(&driver->open, event);
    driver->view.units_left += missed;
    driver->handed.units -= missed;
}

/* What the event means for the driver's own books. */
static void note_event(struct cv_driver *driver, const struct cleave_event *event,
                       struct cv_outcome *outcome)
{
    outcome->events++;
    if (driver->held.on)
        cv_held_returns_note(&driver->held, event);
    note_extension(driver, event);
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_EXTENDED)
        outcome->sent_s = event->time_s;
    cv_item_check_note(&driver->items, event);
    if (event->kind == CLEAVE_DONE) {
        outcome->busy_s += event->time_s - event->start_s;
        outcome->makespan_s = event->time_s;
        if (has_results(driver))
            cv_return_check_computed(&driver->returns, event->chunk);
    } else if (event->kind == CLEAVE_RETURNED) {
        outcome->makespan_s = event->time_s;
        if (has_results(driver))
            cv_return_check_returned(&driver->returns, event->chunk);
    } else if (event->kind == CLEAVE_RECALLED || event->kind == CLEAVE_LOST) {
        driver->view.units_left += event->units;
        cv_handed_out_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_ENDED) {
        driver->view.units_left = event->units;
        driver->view.units_total = driver->handed.units + event->units;
    } else if (event->kind == CLEAVE_SENT) {
        if (driver->engine->left != NULL) /* else what was asked for is given */
            cv_handed_out_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_COMBINED) {
        cv_reduce_check_combined(&driver->reduce, event->worker);
        outcome->makespan_s = event->time_s;
    } else if (event->kind == CLEAVE_READY) {
        cv_reduce_check_ready(&driver->reduce, event->worker);
        outcome->makespan_s = event->time_s;
    }
}

/* A policy that orders for ever and gets nowhere is stopped. */
static enum cleave_status check_headway(struct cv_driver *driver,
                                        const struct cleave_event *event,
                                        struct cleave_error *err)
{
    const char *name = driver->planned->policy->name;

    cv_meter_spend(driver->run.meter, event_steps + worker_steps * driver->view.nworkers);
    if (cv_meter_over(driver->run.meter))
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' is not tried to the end: it would take too long",
                       name);
    if (!cv_headway_note(&driver->headway, event))
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' makes no headway: since %g s there were %llu events, "
                       "and nothing was done",
                       name, driver->headway.since_s,
                       (unsigned long long)driver->headway.idle);
    /* Records bound the number of chunks of a real run. */
    if (driver->chunks > CV_CHUNKS_MOST && driver->engine->left == NULL)
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' made more than %d chunks, and %g of %g units are "
                       "left: expected larger ones",
                       name, CV_CHUNKS_MOST, driver->view.units_left,
                       driver->view.units_total);
    return CLEAVE_OK;
}

static enum cleave_status check_end(const struct cv_driver *driver,
                                    struct cleave_error *err)
{
    const struct cleave_view *view = &driver->view;
    const char *name = driver->planned->policy->name;

    if (driver->planned->policy->task == CLEAVE_TASK_REDUCE) {
        if (driver->reduce.sent + 1 < view->nworkers)
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s' stopped with %u partials left", name,
                           view->nworkers - driver->reduce.sent);
    } else if (driver->items.given < view->nitems &&
               (driver->engine->left == NULL || view->units_left > 0)) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped with %llu of %llu items left", name,
                       (unsigned long long)(view->nitems - driver->items.given),
                       (unsigned long long)view->nitems);
    } else if (view->units_left > SLACK * view->units_total) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped with %g of %g units left", name,
                       view->units_left, view->units_total);
    } else if (view->opens && cv_open_check_left(&driver->open) < view->nworkers) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped and left the chunk of worker %u open", name,
                       cv_open_check_left(&driver->open));
    } else if (has_results(driver) && driver->returns.returned < driver->chunks) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped with %llu of %llu results not fetched", name,
                       (unsigned long long)(driver->chunks - driver->returns.returned),
                       (unsigned long long)driver->chunks);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_driver_run(struct cv_driver *driver, const struct cv_run *run,
                                 struct cleave_trace *trace, struct cv_outcome *out,
                                 struct cleave_error *err)
{
    struct cleave_event event = { .kind = CLEAVE_START };
    struct cv_outcome outcome = { 0 };
    bool any = true;

    driver->run = *run;
    driver->run.result_ratio = driver->planned->view.result_ratio;
    driver->run.items = driver->planned->view.nitems > 0;
    if (isfinite(driver->planned->view.units_total))
        driver->run.units = driver->planned->view.units_total;
    CV_TRY(driver->engine->begin(driver->instance, &driver->run, err));
    CV_TRY(start_policy(driver, err));
    CV_TRY(record_told(driver, trace, err));
    while (any) {
        CV_TRY(step(driver, &event, trace, err));
        event.item = 0; /* what the policy was told is not what the engine says */
        CV_TRY(driver->engine->wait(driver->instance, &event, &any, err));
        if (any) {
            note_event(driver, &event, &outcome);
            CV_TRY(check_headway(driver, &event, err));
            ask_left(driver);
        }
    }
    ask_left(driver); /* the engine may have done a rest by itself */
    CV_TRY(check_end(driver, err));
    outcome.chunks = driver->chunks;
    *out = outcome;
    return CLEAVE_OK;
}
