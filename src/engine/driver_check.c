/* driver_check.c -- what the driver makes of orders and events beyond the plain ones.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/driver_internal.h"

static bool is_about_open(const struct cv_driver *driver,
                          const struct cleave_order *order)
{
    return (order->kind == CLEAVE_SEND && driver->view.opens) ||
           order->kind == CLEAVE_OPEN || order->kind == CLEAVE_EXTEND ||
           order->kind == CLEAVE_CLOSE || order->kind == CLEAVE_QUERY;
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
                                         [CLEAVE_QUERY] = "look at" };
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
        fault =
            !cv_driver_has_results(driver)
                ? "this load has none"
                : cv_return_check_order(&driver->returns, order->worker, order->chunk);
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
    /* What is taken back may lie in several chunks. */
    if (driver->view.memory != NULL && order->kind != CLEAVE_RECALL &&
        order->units > driver->view.memory[order->worker] * (1 + CV_DRIVER_SLACK))
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
    cv_livelock_check_order(&driver->livelock);
    if (cv_driver_has_results(driver) &&
        !cv_return_check_sent(&driver->returns, order->worker))
        return cv_fail_memory(err, "the results of a run");
    if (driver->engine->left == NULL) /* what is asked for is given */
        driver->handed.units += order->units;
    else if (!cv_assigned_units_ask(&driver->handed, order->units))
        return cv_fail_memory(err, "the chunks of a run");
    return CLEAVE_OK;
}

enum cleave_status cv_driver_check_order(struct cv_driver *driver,
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

void cv_driver_note_event(struct cv_driver *driver, const struct cleave_event *event,
                          struct cv_outcome *outcome)
{
    if (driver->held.on)
        cv_queued_returns_note(&driver->held, event);
    note_extension(driver, event);
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_EXTENDED)
        outcome->sent_s = event->time_s;
    cv_item_check_note(&driver->items, event);
    if (event->kind == CLEAVE_DONE) {
        outcome->busy_s += event->time_s - event->start_s;
        outcome->makespan_s = event->time_s;
        if (cv_driver_has_results(driver))
            cv_return_check_computed(&driver->returns, event->chunk);
    } else if (event->kind == CLEAVE_RETURNED) {
        outcome->makespan_s = event->time_s;
        if (cv_driver_has_results(driver))
            cv_return_check_returned(&driver->returns, event->chunk);
    } else if (event->kind == CLEAVE_RECALLED || event->kind == CLEAVE_LOST) {
        driver->view.units_left += event->units;
        cv_assigned_units_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_ENDED) {
        driver->view.units_left = event->units;
        driver->view.units_total = driver->handed.units + event->units;
    } else if (event->kind == CLEAVE_SENT) {
        if (driver->engine->left != NULL) /* else what was asked for is given */
            cv_assigned_units_note(&driver->handed, event);
    } else if (event->kind == CLEAVE_COMBINED) {
        cv_reduce_check_combined(&driver->reduce, event->worker);
        outcome->makespan_s = event->time_s;
    } else if (event->kind == CLEAVE_READY) {
        cv_reduce_check_ready(&driver->reduce, event->worker);
        outcome->makespan_s = event->time_s;
    }
}

enum cleave_status cv_driver_fail_units(const struct cv_driver *driver,
                                        struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EPOLICY,
                   "policy '%s' handed out %g units more than the load",
                   driver->planned->policy->name, -driver->view.units_left);
}

enum cleave_status cv_driver_fail_limit(const struct cv_driver *driver,
                                        struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EPOLICY,
                   "policy '%s' is not tried to the end: it would take too long",
                   driver->planned->policy->name);
}

enum cleave_status cv_driver_fail_headway(const struct cv_driver *driver,
                                          struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EPOLICY,
                   "policy '%s' makes no headway: since %g s there were %llu events, "
                   "and nothing was done",
                   driver->planned->policy->name, driver->livelock.since_s,
                   (unsigned long long)driver->livelock.idle);
}

enum cleave_status cv_driver_fail_chunks(const struct cv_driver *driver,
                                         struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EPOLICY,
                   "policy '%s' made more than %d chunks, and %g of %g units are "
                   "left: expected larger ones",
                   driver->planned->policy->name, CV_CHUNKS_MOST, driver->view.units_left,
                   driver->view.units_total);
}
