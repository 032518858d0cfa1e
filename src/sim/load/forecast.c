/* forecast.c -- plans, and simulations of policies before they are used.
 * SPDX-License-Identifier: MIT */
#include "sim/load/forecast.h"

#include <math.h>
#include <stdlib.h>
#include "engine/driver.h"
#include "model/platform/profile.h"
#include "sim/load/native.h"

/* --- the units of one policy within a lifespan -------------------------------------- */

/* Makespans are nearly affine in the load, so lines through the last two points are
 * followed; each point is a plan and a run. Policies that compute their units themselves do
 * better: a plan from a search does not end later by as much as the load grows. */

enum { MOST_STEPS = 80 };

/* A smaller part of what all workers could compute is not worth a schedule. */
static const double NOTHING = 1e-9;
/* Part of the remaining limit for one plan of the search. */
static const double ONE_PLAN = 0.1;
/* How far below the lifespan an end may be. */
static const double CLOSE = 1e-10;

/* Search for units that a policy does in the lifespan of the case. */
struct units_search {
    const struct cv_load_case *load_case;
    const struct cleave_policy *policy;
    const struct cleave_setting *settings;
    size_t nsettings;
    const struct cv_forecast *forecast; /* for policies that try others; NULL: none */
    struct cv_step_budget *budget;      /* for all plans; policies that pick limit it */
};

static enum cleave_status fail_lifespan(double lifespan_s, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected a longer lifespan: nothing ends within %g s", lifespan_s);
}

static bool picks(const struct cleave_policy *policy)
{
    return (policy->needs & CLEAVE_NEEDS_FORECAST) != 0;
}

static enum cleave_status plan_load(const struct units_search *search,
                                    const struct cleave_view *load,
                                    struct cv_step_budget *budget,
                                    struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_platform *platform = search->load_case->platform;

    return cv_planned_init(planned, search->policy, search->settings, search->nsettings,
                           platform, cleave_platform_workers(platform), load,
                           search->forecast, budget, err);
}

/* Plan this many units; *out_s is the makespan. */
static enum cleave_status plan_units(const struct units_search *search, double units,
                                     struct cv_planned *planned, double *out_s,
                                     struct cleave_error *err)
{
    struct cv_run run = cv_load_case_run(search->load_case, NULL);
    struct cleave_view load = search->load_case->load;
    struct cv_step_budget budget = { 0, ONE_PLAN * (search->budget->limit -
                                                    search->budget->spent) };
    struct cv_step_budget events = { 0, INFINITY };
    enum cleave_status status;

    if (!isfinite(units))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected a shorter lifespan: no number holds what ends within %g s",
            load.lifespan_s);
    run.budget = &events;
    load.units_total = units;
    load.lifespan_s = 0;
    status = plan_load(search, &load, picks(search->policy) ? search->budget : &budget,
                       planned, err);
    cv_step_budget_spend(search->budget, budget.spent);
    CV_TRY(status);
    status =
        cv_planned_run_once(planned, cv_load_case_engine(&run, NULL), &run, out_s, err);
    cv_step_budget_spend(search->budget, events.spent);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

static bool ends_in_time(const struct units_search *search, double end_s)
{
    return end_s <= search->load_case->load.lifespan_s * (1 + CLOSE);
}

static bool ends_sooner(const struct units_search *search, double end_s)
{
    return end_s < search->load_case->load.lifespan_s * (1 - CLOSE);
}

static double units_of_all(const struct cv_load_case *load_case)
{
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    double units = 0;

    for (uint32_t i = 0; i < cleave_platform_nworkers(load_case->platform); i++)
        units += workers[i].speed_ups * load_case->load.lifespan_s;
    return units;
}

/* Follow lines through the last two points; bisect if they leave the bracket. */
static enum cleave_status find_units(const struct units_search *search, double low,
                                     double low_s, double *out, struct cleave_error *err)
{
    const double lifespan_s = search->load_case->load.lifespan_s;
    double high = INFINITY, high_s = 0;
    double units = units_of_all(search->load_case), min = units * NOTHING;
    struct cv_planned planned;

    for (int step = 0; step < MOST_STEPS && ends_sooner(search, low_s); step++) {
        double end_s = 0;

        if (units < min || /* latencies alone take longer */
            (low > 0 && cv_step_budget_over(search->budget)))
            break;
        CV_TRY(plan_units(search, units, &planned, &end_s, err));
        cv_planned_done(&planned);
        if (end_s > lifespan_s) {
            high = units;
            high_s = end_s;
        } else {
            low = units;
            low_s = end_s;
        }
        if (isinf(high))
            units *= 2;
        else if (high - low <= 1e-13 * high)
            break;
        else if (step % 3 == 2)
            units = low + (high - low) / 2;
        else
            units = low + (high - low) * (1 - CLOSE / 2) * (lifespan_s - low_s) /
                              (high_s - low_s);
    }
    *out = low;
    return CLEAVE_OK;
}

/* Whether the policy computes its units itself. For changing speeds only auto does, by
 * trying others. */
static bool knows(const struct units_search *search)
{
    return search->policy->work != NULL &&
           (picks(search->policy) || (!cv_is_changing(search->load_case->platform) &&
                                      search->load_case->platform->tree == NULL));
}

/* The plan of such a policy, and its makespan. */
static enum cleave_status plan_known(const struct units_search *search,
                                     struct cv_planned *planned, double *out_s,
                                     struct cleave_error *err)
{
    const struct cv_run run = cv_load_case_run(search->load_case, NULL);
    const struct cleave_view *load = &search->load_case->load;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(plan_load(search, load, search->budget, planned, err));
    *out_s = 0;
    if (planned->view.units_total > 0)
        status = cv_planned_run_once(planned, cv_load_case_engine(&run, NULL), &run,
                                     out_s, err);
    else
        status = fail_lifespan(load->lifespan_s, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

static enum cleave_status units_work(const struct units_search *search, double *out,
                                     struct cleave_error *err)
{
    struct cv_planned planned;
    double end_s;

    if (!knows(search))
        return find_units(search, 0, 0, out, err);
    CV_TRY(plan_known(search, &planned, &end_s, err));
    *out = planned.view.units_total;
    cv_planned_done(&planned);
    /* With commands that read, it may be late. */
    return ends_in_time(search, end_s) ? CLEAVE_OK : find_units(search, 0, 0, out, err);
}

/* --- plans -------------------------------------------------------------------------- */

enum { FEW_REPAIRS = 3, MOST_REPAIRS = 30 };

/* The plan for these units. If a limit cuts it short, it may end later than in the
 * search: then plan less. */
static enum cleave_status plan_found(const struct units_search *search, double units,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const double lifespan_s = search->load_case->load.lifespan_s;
    double end_s;

    for (int turn = 0; turn < MOST_REPAIRS && units > 0; turn++) {
        CV_TRY(plan_units(search, units, planned, &end_s, err));
        if (end_s <= lifespan_s)
            return CLEAVE_OK;
        cv_planned_done(planned);
        if (turn == FEW_REPAIRS) /* another policy was picked, which does far less */
            CV_TRY(find_units(search, 0, 0, &units, err));
        else
            units *= (1 - CLOSE) * lifespan_s / end_s;
    }
    return fail_lifespan(lifespan_s, err);
}

static enum cleave_status plan_lifespan(const struct units_search *search,
                                        struct cv_planned *planned,
                                        struct cleave_error *err)
{
    double units = 0, end_s;

    if (knows(search)) {
        CV_TRY(plan_known(search, planned, &end_s, err));
        if (ends_in_time(search, end_s))
            return CLEAVE_OK;
        units = planned->view.units_total;
        cv_planned_done(planned);
    } else {
        CV_TRY(find_units(search, 0, 0, &units, err));
    }
    return plan_found(search, units, planned, err);
}

enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_platform *platform = load_case->platform;
    struct cv_forecast forecast = cv_native_forecast(platform);
    struct cv_step_budget any = { 0, INFINITY }, *budget = load_case->budget;
    const struct units_search search = { load_case,     load_case->policy,
                                         job->settings, job->nsettings,
                                         &forecast,     budget != NULL ? budget : &any };

    if (load_case->load.opens) {
        forecast.command = &load_case->command;
        forecast.units = load_case->units;
    }
    return load_case->load.lifespan_s > 0
               ? plan_lifespan(&search, planned, err)
               : plan_load(&search, &load_case->load, budget, planned, err);
}

/* --- forecasts ---------------------------------------------------------------------- */

/* Forecasts must not draw the factors of the run itself. */
static const uint64_t FORECAST_SEED = 0x5eedf04eca575eedu;

struct cv_tried {
    struct cv_planned planned;
    struct cv_run run;
    struct cv_driver *driver;
};

static struct cleave_view load_of(const struct cv_forecast *scene,
                                  const struct cleave_view *view)
{
    return (struct cleave_view){ .units_total = view->units_total,
                                 .lifespan_s = view->lifespan_s,
                                 .result_ratio = view->result_ratio,
                                 .sends_first = view->sends_first,
                                 .before_round = view->before_round,
                                 .error = view->error,
                                 .opens = scene->command != NULL,
                                 .ahead = view->ahead,
                                 .hold = view->hold,
                                 .seed = view->seed,
                                 .loads = view->loads,
                                 .nloads = view->nloads,
                                 .goal = view->goal };
}

static void forecast_close(struct cv_tried *tried)
{
    if (tried == NULL)
        return;
    cv_driver_close(tried->driver);
    cv_planned_done(&tried->planned);
    free(tried);
}

/* Policies that try variants of themselves do so here, too, so that the forecast equals
 * the forecast of the later plan. Policies that try all others are not tried. */
static enum cleave_status forecast_open(const struct cv_forecast *scene,
                                        const struct cleave_policy *policy,
                                        const struct cleave_view *view,
                                        struct cv_step_budget *budget,
                                        struct cv_tried **out, struct cleave_error *err)
{
    struct cv_step_budget plan_budget =
        budget != NULL ? cv_step_budget_half(budget) : (struct cv_step_budget){ 0 };
    const struct cleave_view load = load_of(scene, view);
    struct cv_tried *tried = calloc(1, sizeof *tried);
    enum cleave_status status;

    if (tried == NULL)
        return cv_fail_memory(err, "a forecast");
    status =
        cv_planned_init(&tried->planned, policy, NULL, 0, scene->platform, view->workers,
                        &load, scene, budget != NULL ? &plan_budget : NULL, err);
    cv_step_budget_spend(budget, plan_budget.spent);
    if (status != CLEAVE_OK) {
        free(tried);
        return status;
    }
    tried->run = (struct cv_run){ .platform = scene->platform,
                                  .command = scene->command,
                                  .units = scene->units,
                                  .hold = tried->planned.view.hold };
    tried->run.noise.seed = tried->planned.view.seed ^ FORECAST_SEED;
    if (view->error > 0)
        tried->run.noise.drawn =
            (struct cleave_noise){ CLEAVE_NOISE_NORMAL, view->error };
    status = cv_driver_open(&tried->planned,
                            scene->command != NULL ? &cv_engine_native_open
                                                   : &cv_engine_native,
                            scene->platform, NULL, &tried->driver, err);
    *out = tried;
    if (status != CLEAVE_OK) {
        forecast_close(tried);
        *out = NULL;
    }
    return status;
}

static enum cleave_status forecast_run(struct cv_tried *tried, uint32_t first,
                                       uint32_t count, struct cv_step_budget *budget,
                                       double *out_s, struct cleave_error *err)
{
    struct cv_outcome outcome;

    tried->run.budget = budget;
    for (uint32_t i = 0; i < count; i++) {
        tried->run.number = tried->run.noise.run = first + i;
        CV_TRY(cv_driver_run(tried->driver, &tried->run, NULL, &outcome, err));
        out_s[i] = outcome.value;
    }
    return CLEAVE_OK;
}

static enum cleave_status forecast_work(const struct cv_forecast *scene,
                                        const struct cleave_policy *policy,
                                        const struct cleave_view *view,
                                        struct cv_step_budget *budget, double *out,
                                        struct cleave_error *err)
{
    struct cv_step_budget some = budget != NULL ? cv_step_budget_half(budget)
                                                : (struct cv_step_budget){ 0, INFINITY };
    struct cv_load_case load_case = { .policy = policy,
                                      .platform = scene->platform,
                                      .load = load_of(scene, view),
                                      .units = scene->units };
    const struct units_search search = {
        .load_case = &load_case, .policy = policy, .forecast = scene, .budget = &some
    };
    enum cleave_status status;

    if (scene->command != NULL)
        load_case.command = *scene->command;
    status = units_work(&search, out, err);
    cv_step_budget_spend(budget, some.spent);
    return status;
}
struct cv_forecast cv_native_forecast(const struct cleave_platform *platform)
{
    return (struct cv_forecast){ .open = forecast_open,
                                 .run = forecast_run,
                                 .close = forecast_close,
                                 .work = forecast_work,
                                 .platform = platform };
}
