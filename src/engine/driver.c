/* driver.c -- the loop that all engines share. SPDX-License-Identifier: MIT */
#include "engine/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/driver_loop.h"
#include "model/platform/profile.h"

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
    cv_queued_returns_done(&driver->held);
    cv_assigned_units_done(&driver->handed);
    cv_item_check_done(&driver->items);
    free(driver->orders.items);
    free(driver);
}

const double *cv_driver_done_s(const struct cv_driver *driver)
{
    return driver->done_s;
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
    driver->livelock.items = view->nitems > 0;
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
    cv_assigned_units_clear(&driver->handed);
    cv_livelock_check_begin(&driver->livelock, driver->view.units_total);
    cv_return_check_clear(&driver->returns);
    if (policy->task != CLEAVE_TASK_REDUCE)
        CV_TRY(open_books(driver, err));
    cv_queued_returns_clear(&driver->held,
                            driver->view.sends_first || driver->view.before_round,
                            driver->view.before_round);
    if (policy->task == CLEAVE_TASK_REDUCE &&
        !cv_reduce_check_init(&driver->reduce, &driver->arena, driver->view.nworkers,
                              policy->keeps_order, driver->view.ready_s == NULL))
        return cv_fail_memory(err, "the state of a reduction");
    return policy->start == NULL
               ? CLEAVE_OK
               : policy->start(driver->state, &driver->view, &setup, err);
}

/* What the policy was told, so that it can be asked again. */
static enum cleave_status record_told(const struct cv_driver *driver,
                                      struct cleave_trace *trace,
                                      struct cleave_error *err)
{
    const struct cv_planned *planned = driver->planned;
    struct cleave_policy_input told = { .settings = planned->settings,
                                        .nsettings = planned->nsettings,
                                        .view = planned->view,
                                        .changing =
                                            cv_is_changing(driver->run.platform) };

    if (trace == NULL || planned->given)
        return CLEAVE_OK;
    if (driver->run.command != NULL) {
        told.reads = driver->run.command->name;
        told.input = driver->run.units;
    }
    told.view.ready_s = driver->view.ready_s;
    told.view.ready_model = driver->view.ready_model;
    if (told.view.lifespan_s > 0) /* how much that is, the plan says */
        told.view.units_total = told.view.units_left = 0;
    return cleave_trace_describe(trace, &(struct cleave_trace_facts){ .told = &told },
                                 err);
}

enum cleave_status cv_driver_record_event(const struct cv_driver *driver,
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

enum cleave_status cv_driver_record_order(struct cleave_trace *trace,
                                          const struct cleave_order *order,
                                          struct cleave_error *err)
{
    struct cleave_entry entry = { .is_order = true };

    entry.as.order = *order;
    return cleave_trace_add(trace, &entry, err);
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
    } else if (view->units_left > CV_DRIVER_SLACK * view->units_total) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped with %g of %g units left", name,
                       view->units_left, view->units_total);
    } else if (view->opens && cv_open_check_left(&driver->open) < view->nworkers) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped and left the chunk of worker %u open", name,
                       cv_open_check_left(&driver->open));
    } else if (cv_driver_has_results(driver) &&
               driver->returns.returned < driver->chunks) {
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' stopped with %llu of %llu results not fetched", name,
                       (unsigned long long)(driver->chunks - driver->returns.returned),
                       (unsigned long long)driver->chunks);
    }
    return CLEAVE_OK;
}

/* The loop, by the engine itself where it has one for such a run. */
static enum cleave_status run_loop(struct cv_driver *driver, struct cleave_trace *trace,
                                   struct cv_outcome *outcome, struct cleave_error *err)
{
    const struct cv_loop loop = { .submit = driver->engine->submit,
                                  .wait = driver->engine->wait };

    if (driver->engine->plain_loop != NULL && cv_driver_is_plain(driver, trace))
        return driver->engine->plain_loop(driver, outcome, err);
    return cv_driver_loop(driver, trace, &loop, outcome, err);
}

enum cleave_status cv_driver_run(struct cv_driver *driver, const struct cv_run *run,
                                 struct cleave_trace *trace, struct cv_outcome *out,
                                 struct cleave_error *err)
{
    struct cv_outcome outcome = { 0 };

    driver->run = *run;
    driver->run.result_ratio = driver->planned->view.result_ratio;
    driver->run.items = driver->planned->view.nitems > 0;
    if (isfinite(driver->planned->view.units_total))
        driver->run.units = driver->planned->view.units_total;
    CV_TRY(driver->engine->begin(driver->instance, &driver->run, err));
    CV_TRY(start_policy(driver, err));
    CV_TRY(record_told(driver, trace, err));
    CV_TRY(run_loop(driver, trace, &outcome, err));
    if (driver->engine->left != NULL) /* the engine may have done a rest by itself */
        driver->view.units_left = driver->engine->left(driver->instance);
    CV_TRY(check_end(driver, err));
    outcome.chunks = driver->chunks;
    *out = outcome;
    return CLEAVE_OK;
}
