/* planned.c -- policies with parameters and plan, ready for runs.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "engine/driver.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"
#include "model/reduce/reduce_costs.h"

/* Fails with the policy's name before the text. */
#define REFUSE(policy, err, text) \
    cv_fail(err, CLEAVE_EINPUT, "policy '%s' " text, (policy)->name)

static enum cleave_status check_items(const struct cleave_policy *policy,
                                      const struct cleave_view *view,
                                      struct cleave_error *err)
{
    if (policy->task == CLEAVE_TASK_ITEMS && (view->nitems == 0 || view->sizes == NULL))
        return REFUSE(policy, err, "is for items, but there are none");
    if (policy->task != CLEAVE_TASK_ITEMS && view->nitems > 0)
        return REFUSE(policy, err, "is not for items");
    if ((policy->task == CLEAVE_TASK_LOADS) != (view->nloads > 0))
        return REFUSE(policy, err, "is for another number of loads");
    for (uint64_t i = 0; i < view->nitems; i++)
        if (!(view->sizes[i] >= 0) || isinf(view->sizes[i]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected sizes of 0 or more, got %g for item %llu",
                           view->sizes[i], (unsigned long long)i);
    return CLEAVE_OK;
}

static enum cleave_status check_inputs(const struct cleave_policy *policy,
                                       const struct cleave_platform *platform,
                                       const struct cleave_view *view,
                                       const struct cv_forecast *forecast,
                                       struct cleave_error *err)
{
    uint32_t other;
    const char *what;

    CV_TRY(check_items(policy, view, err));
    if (view->lifespan_s > 0 && policy->work == NULL)
        return REFUSE(policy, err, "does not plan for a lifespan");
    if (isinf(view->units_total) && view->units_total > 0 && !policy->takes_streams)
        return REFUSE(policy, err, "needs a load of known size; as4dr takes streams");
    if (!(view->lifespan_s > 0) && !(view->units_total > 0) && view->nitems == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a positive load, got %g",
                       view->units_total);
    if (!(view->result_ratio >= 0) || isinf(view->result_ratio))
        return cv_fail(err, CLEAVE_EINPUT, "expected a result ratio of 0 or more, got %g",
                       view->result_ratio);
    if (!(view->error >= 0) || isinf(view->error))
        return cv_fail(err, CLEAVE_EINPUT, "expected an error of 0 or more, got %g",
                       view->error);
    if ((policy->needs & CLEAVE_NEEDS_FORECAST) && forecast == NULL)
        return REFUSE(policy, err,
                      "tries others in simulation, which is not offered here");
    if ((policy->needs & CLEAVE_NEEDS_MULTI_PORT) && view->port != CLEAVE_PORT_MULTI)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy '%s' needs a master with port: multi, but this one has port: %s",
            policy->name, cleave_port_name(view->port));
    if ((policy->needs & CLEAVE_NEEDS_SHARED_PORT) && view->port == CLEAVE_PORT_MULTI)
        return REFUSE(policy, err,
                      "is about a port that links share, but this master has port: "
                      "multi; links and auto plan for that");
    if ((policy->needs & CLEAVE_NEEDS_EQUAL_WORKERS) &&
        !cv_workers_equal(view->workers, view->nworkers, view->result_ratio > 0, &other,
                          &what))
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy '%s' needs equal workers, but '%s' and '%s' differ in %s; "
                       "umr-plus and auto take unequal ones",
                       policy->name, cleave_platform_worker_name(platform, 0),
                       cleave_platform_worker_name(platform, other), what);
    return CLEAVE_OK;
}

static enum cleave_status make_plan(struct cv_planned *planned,
                                    const struct cleave_setting *settings,
                                    size_t nsettings, const struct cv_forecast *forecast,
                                    struct cv_step_budget *budget,
                                    struct cleave_error *err)
{
    struct cleave_setup setup = { .arena = &planned->arena,
                                  .notes = &planned->notes,
                                  .forecast = forecast,
                                  .tree = planned->tree,
                                  .budget = budget };

    planned->settings = settings;
    planned->nsettings = nsettings;
    CV_TRY(cleave_setup_state(&setup, planned->policy, settings, nsettings,
                              &planned->state, err));
    if (planned->policy->plan == NULL)
        return CLEAVE_OK;
    return planned->policy->plan(planned->state, &planned->view, &setup, err);
}

static void begin(struct cv_planned *planned, const struct cleave_policy *policy,
                  const struct cleave_view *view)
{
    memset(planned, 0, sizeof *planned);
    cv_arena_init(&planned->arena);
    planned->policy = policy;
    planned->notes.arena = &planned->arena;
    planned->view = *view;
}

/* The largest chunk of each worker, if any worker has a limit. */
static enum cleave_status tell_memory(struct cv_planned *planned,
                                      const struct cleave_platform *platform,
                                      struct cleave_error *err)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    double *memory = NULL;

    for (uint32_t w = 0; w < n; w++) {
        if (memory == NULL && isinf(cleave_platform_memory(platform, w)))
            continue;
        if (memory == NULL) {
            if (!CV_NEW(&planned->arena, memory, n))
                return cv_fail_memory(err, "what workers can take");
            for (uint32_t before = 0; before < w; before++)
                memory[before] = INFINITY;
        }
        memory[w] = cleave_platform_memory(platform, w);
    }
    planned->view.memory = memory;
    return CLEAVE_OK;
}

static struct cleave_view load_view(const struct cleave_platform *platform,
                                    const struct cleave_worker *declared,
                                    const struct cleave_view *load,
                                    const struct cleave_policy *policy)
{
    const bool open = cleave_platform_port(platform) == CLEAVE_PORT_ONE &&
                      policy->sends_first && load->result_ratio > 0;
    struct cleave_view view = *load;

    view.workers = declared;
    view.nworkers = cleave_platform_nworkers(platform);
    view.port = cleave_platform_port(platform);
    view.units_left = load->units_total;
    view.sends_first = open && load->sends_first && !load->before_round;
    view.before_round = open && load->before_round;
    return view;
}

/* A policy that may not know loads before their release gets units of 0. */
static enum cleave_status tell_loads(struct cv_planned *planned, struct cleave_error *err)
{
    struct cleave_load *loads;

    planned->loads = planned->view.nloads > 0 ? planned->view.loads : NULL;
    if (planned->loads == NULL || planned->policy->knows_releases)
        return CLEAVE_OK;
    if (!CV_NEW(&planned->arena, loads, planned->view.nloads))
        return cv_fail_memory(err, "the loads");
    for (size_t k = 0; k < planned->view.nloads; k++) {
        loads[k] = planned->loads[k];
        if (loads[k].release_s > 0)
            loads[k].units = loads[k].alone_s = 0;
    }
    planned->view.loads = loads;
    return CLEAVE_OK;
}

/* Sends overtake results only if they did so when `auto` tried the policy that it picked. */
static void go_by_the_picked(struct cv_planned *planned)
{
    const struct cleave_policy *picked = NULL;

    if (planned->notes.picked == NULL ||
        cleave_policy_find(CLEAVE_TASK_LOAD, planned->notes.picked, &picked, NULL) !=
            CLEAVE_OK)
        return;
    planned->view.sends_first =
        planned->view.sends_first && picked->sends_first && !planned->notes.in_turn;
    planned->view.before_round = planned->view.before_round && picked->sends_first;
}

enum cleave_status
cv_planned_init(struct cv_planned *planned, const struct cleave_policy *policy,
                const struct cleave_setting *settings, size_t nsettings,
                const struct cleave_platform *platform,
                const struct cleave_worker *declared, const struct cleave_view *load,
                const struct cv_forecast *forecast, struct cv_step_budget *budget,
                struct cleave_error *err)
{
    const struct cleave_view view = load_view(platform, declared, load, policy);
    enum cleave_status status = CLEAVE_OK;
    bool enough;

    begin(planned, policy, &view);
    planned->tree = platform->tree;
    planned->view.profiles = cv_profiles(platform, &planned->arena, &enough);
    if (!enough)
        status = cv_fail_memory(err, "the profiles of workers");
    CV_THEN(status, tell_memory(planned, platform, err));
    CV_THEN(status, tell_loads(planned, err));
    CV_THEN(status, check_inputs(policy, platform, &planned->view, forecast, err));
    CV_THEN(status, make_plan(planned, settings, nsettings, forecast, budget, err));
    if (status == CLEAVE_OK)
        go_by_the_picked(planned);
    if (status == CLEAVE_OK && load->lifespan_s > 0)
        planned->view.units_total = planned->view.units_left =
            policy->work(planned->state);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

enum cleave_status
cv_planned_reduce_view(struct cv_planned *planned, const struct cleave_policy *policy,
                       const struct cleave_setting *settings, size_t nsettings,
                       const struct cleave_view *view, struct cleave_error *err)
{
    enum cleave_status status;

    if (view->nworkers < 1)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more nodes, got 0");
    begin(planned, policy, view);
    status = make_plan(planned, settings, nsettings, NULL, NULL, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

enum cleave_status cv_planned_reduce_costs(struct cv_planned *planned,
                                           const struct cleave_policy *policy,
                                           const struct cleave_setting *settings,
                                           size_t nsettings,
                                           const struct cv_reduce_costs *costs,
                                           uint64_t seed, struct cleave_error *err)
{
    struct cleave_view view = { .nworkers = costs->nodes,
                                .seed = seed,
                                .transfer_s = cv_mean_transfer(costs),
                                .compute_s = cv_mean_compute(costs) };

    for (uint32_t i = 1; costs->exact != NULL && i < costs->nodes; i++)
        if (costs->exact->compute[i] != costs->exact->compute[0])
            view.compute_each_s = costs->exact->compute;
    if (costs->has_ready) {
        view.ready_s = costs->ready_s != NULL ? costs->ready_s : costs->mean_ready_s;
        view.ready_model = costs->ready_model;
        if (!policy->hears_ready)
            return REFUSE(policy, err,
                          "expects all partials at the start: it cannot be given ready "
                          "times");
    }
    return cv_planned_reduce_view(planned, policy, settings, nsettings, &view, err);
}

static const struct cleave_policy given_plan = {
    .name = "given plan",
    .summary = "a list of chunks made elsewhere",
    .reference = "none",
    .state_size = sizeof(struct cv_static),
    .decide = cv_static_decide,
};

static enum cleave_status copy_plan(struct cv_planned *planned,
                                    const struct cv_plan *plan, struct cleave_error *err)
{
    struct cleave_setup setup = { .arena = &planned->arena };
    struct cv_static *fixed = cv_array(&planned->arena, 1, sizeof *fixed);
    uint32_t *worker = cv_array(&planned->arena, plan->nchunks, sizeof *worker);
    double *units = cv_array(&planned->arena, plan->nchunks, sizeof *units);

    if (fixed == NULL || worker == NULL || units == NULL)
        return cv_fail_memory(err, "a plan");
    memcpy(worker, plan->worker, plan->nchunks * sizeof *worker);
    memcpy(units, plan->units, plan->nchunks * sizeof *units);
    fixed->plan = (struct cv_plan){ plan->nchunks, worker, units };
    planned->state = fixed;
    return cv_static_index(fixed, &planned->view, &setup, err);
}

enum cleave_status cv_planned_fixed(struct cv_planned *planned,
                                    const struct cv_plan *plan,
                                    const struct cleave_platform *platform, double load,
                                    struct cleave_error *err)
{
    const struct cleave_view view =
        load_view(platform, cleave_platform_workers(platform),
                  &(struct cleave_view){ .units_total = load }, &given_plan);
    enum cleave_status status;

    begin(planned, &given_plan, &view);
    planned->given = true;
    status = copy_plan(planned, plan, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

void cv_planned_done(struct cv_planned *planned)
{
    if (planned == NULL)
        return;
    cv_arena_done(&planned->arena);
    planned->state = NULL;
}
