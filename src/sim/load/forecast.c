/* forecast.c -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#include "sim/load/forecast.h"

#include <math.h>

#include "engine/driver.h"
#include "sim/load/lifespan_units.h"
#include "sim/load/native.h"

/* Forecasts must not meet the factors that the run itself will draw. */
static const uint64_t FORECAST_SEED = 0x5eedf04eca575eedu;

static enum cleave_status mean_makespan(struct cv_planned *planned,
                                        const struct cv_forecast_open *scene,
                                        uint32_t runs, struct cv_step_budget *budget,
                                        double *out, struct cleave_error *err)
{
    const bool opens = scene->command != NULL;
    struct cv_run run = { .platform = scene->platform,
                          .command = scene->command,
                          .units = scene->units,
                          .hold = planned->view.hold,
                          .budget = budget };
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;
    double sum = 0;

    CV_TRY(cv_driver_open(planned, opens ? &cv_engine_native_open : &cv_engine_native,
                          scene->platform, NULL, &driver, err));
    run.noise.seed = planned->view.seed ^ FORECAST_SEED;
    if (planned->view.error > 0)
        run.noise.drawn =
            (struct cleave_noise){ CLEAVE_NOISE_NORMAL, planned->view.error };
    else
        runs = 1;
    status = CLEAVE_OK;
    for (run.number = 0; run.number < runs && status == CLEAVE_OK; run.number++) {
        run.noise.run = run.number;
        status = cv_driver_run(driver, &run, NULL, &outcome, err);
        if (status == CLEAVE_OK)
            sum += outcome.makespan_s;
    }
    cv_driver_close(driver);
    if (status == CLEAVE_OK)
        *out = sum / runs;
    return status;
}

static struct cv_load load_of(const struct cv_forecast_open *scene,
                              const struct cleave_view *view,
                              struct cv_step_budget *budget)
{
    return (struct cv_load){ .units = view->units_total,
                             .lifespan_s = view->lifespan_s,
                             .result_ratio = view->result_ratio,
                             .sends_first = view->sends_first,
                             .before_round = view->before_round,
                             .error = view->error,
                             .opens = scene->command != NULL,
                             .ahead = view->ahead,
                             .hold = view->hold,
                             .seed = view->seed,
                             .budget = budget };
}

/* Policies that try variants of themselves do so when they are tried as well: what was
 * forecast is what will be planned. Those who try all others are not tried. */
static struct cv_forecast inner_forecast(const struct cv_forecast_open *scene)
{
    return scene->command != NULL ? cv_open_forecast(scene)
                                  : cv_native_forecast(scene->platform);
}

static enum cleave_status forecast(const struct cv_forecast_open *scene,
                                   const struct cleave_policy *policy,
                                   const struct cleave_view *view, uint32_t runs,
                                   struct cv_step_budget *budget, double *out,
                                   struct cleave_error *err)
{
    struct cv_step_budget plan_meter =
        budget != NULL ? cv_step_budget_half(budget) : (struct cv_step_budget){ 0 };
    const struct cv_load load = load_of(scene, view, budget != NULL ? &plan_meter : NULL);
    const struct cv_forecast inner = inner_forecast(scene);
    struct cv_planned planned;
    enum cleave_status status;

    status = cv_planned_init(&planned, policy, NULL, 0, scene->platform, view->workers,
                             &load, &inner, err);
    cv_step_budget_spend(budget, plan_meter.spent);
    CV_TRY(status);
    status = mean_makespan(&planned, scene, runs, budget, out, err);
    cv_planned_done(&planned);
    return status;
}

/* By itself, or by loads that are looked for. */
static enum cleave_status work_of(const struct cv_forecast_open *scene,
                                  const struct cleave_policy *policy,
                                  const struct cleave_view *view,
                                  struct cv_step_budget *budget, double *out,
                                  struct cleave_error *err)
{
    struct cv_step_budget some = budget != NULL ? cv_step_budget_half(budget)
                                                : (struct cv_step_budget){ 0, INFINITY };
    struct cv_load_case load_case = { .policy = policy,
                                      .platform = scene->platform,
                                      .load = load_of(scene, view, NULL),
                                      .units = scene->units };
    const struct cv_forecast inner = inner_forecast(scene);
    const struct cv_units_quest quest = {
        .load_case = &load_case, .policy = policy, .forecast = &inner, .budget = &some
    };
    enum cleave_status status;

    if (scene->command != NULL)
        load_case.command = *scene->command;
    status = cv_units_work(&quest, out, err);
    cv_step_budget_spend(budget, some.spent);
    return status;
}

static enum cleave_status forecast_plain(void *context,
                                         const struct cleave_policy *policy,
                                         const struct cleave_view *view, uint32_t runs,
                                         struct cv_step_budget *budget, double *out,
                                         struct cleave_error *err)
{
    return forecast(&(struct cv_forecast_open){ .platform = context }, policy, view, runs,
                    budget, out, err);
}

static enum cleave_status forecast_open(void *context, const struct cleave_policy *policy,
                                        const struct cleave_view *view, uint32_t runs,
                                        struct cv_step_budget *budget, double *out,
                                        struct cleave_error *err)
{
    return forecast(context, policy, view, runs, budget, out, err);
}

static enum cleave_status work_plain(void *context, const struct cleave_policy *policy,
                                     const struct cleave_view *view,
                                     struct cv_step_budget *budget, double *out,
                                     struct cleave_error *err)
{
    return work_of(&(struct cv_forecast_open){ .platform = context }, policy, view,
                   budget, out, err);
}

static enum cleave_status work_open(void *context, const struct cleave_policy *policy,
                                    const struct cleave_view *view,
                                    struct cv_step_budget *budget, double *out,
                                    struct cleave_error *err)
{
    return work_of(context, policy, view, budget, out, err);
}

/* Contexts are only read: both take them back as const. */
static void *as_context(const void *read_only)
{
    union {
        const void *in;
        void *out;
    } context = { read_only };

    return context.out;
}

struct cv_forecast cv_native_forecast(const struct cleave_platform *platform)
{
    return (struct cv_forecast){ forecast_plain, work_plain, as_context(platform) };
}

struct cv_forecast cv_open_forecast(const struct cv_forecast_open *scene)
{
    return (struct cv_forecast){ forecast_open, work_open, as_context(scene) };
}
