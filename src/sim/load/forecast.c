/* forecast.c -- try a policy in simulation before it is used. SPDX-License-Identifier: MIT */
#include "sim/load/forecast.h"

#include <math.h>
#include "engine/driver.h"
#include "model/platform/profile.h"
#include "sim/load/native.h"

/* --- plan for a load, or for as much as ends within a lifespan --------------------- */

/* For auto, what each of the others does in a lifespan is found in turn, by a contest of its own.
 * For portfolio, which looks at means with errors, the units are found for the policy that it
 * picks, and then it is asked again at these units, until it picks no other, or one that does not
 * do more. All of it shares the limit of such a policy. */

/* --- as much as one policy finishes within a lifespan ------------------------------ */

/* Makespans are nearly affine in the load, so lines through the last two points are followed.
 * Each point is a plan and a run. Policies that know what they do in a lifespan are better at it:
 * plans that come from a search do not end later by as much as the load grows. */

enum { MOST_STEPS = 80 };

/* Less of what all workers could compute is not worth a schedule. */
static const double NOTHING = 1e-9;
/* Of what is left of a limit, one plan on the way may take so much. */
static const double ONE_PLAN = 0.1;

static enum cleave_status forecast(const struct cv_forecast_open *scene,
                                   const struct cleave_policy *policy,
                                   const struct cleave_view *view, uint32_t runs,
                                   struct cv_step_budget *budget, double *out,
                                   struct cleave_error *err);

static enum cleave_status fail_lifespan(double lifespan_s, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected a longer lifespan: nothing ends within %g s", lifespan_s);
}

/* Whether the policy picks others. */
static bool picks(const struct cleave_policy *policy)
{
    return (policy->needs & CLEAVE_NEEDS_FORECAST) != 0;
}

static enum cleave_status plan_load(const struct cv_units_quest *quest,
                                    const struct cv_load *load,
                                    struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_platform *platform = quest->load_case->platform;

    return cv_planned_init(planned, quest->policy, quest->settings, quest->nsettings,
                           platform, cleave_platform_workers(platform), load,
                           quest->forecast, err);
}

/* Plan for so many units, and when that ends. */
static enum cleave_status plan_units(const struct cv_units_quest *quest, double units,
                                     struct cv_planned *planned, double *out_s,
                                     struct cleave_error *err)
{
    struct cv_run run = cv_load_case_run(quest->load_case);
    struct cv_load load = quest->load_case->load;
    struct cv_step_budget budget = { 0, ONE_PLAN * (quest->budget->limit -
                                                    quest->budget->spent) };
    struct cv_step_budget events = { 0, INFINITY };
    enum cleave_status status;

    if (!isfinite(units))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected a shorter lifespan: no number holds what ends within %g s",
            load.lifespan_s);
    run.budget = &events;
    load.units = units;
    load.lifespan_s = 0;
    load.budget = picks(quest->policy) ? quest->budget : &budget;
    status = plan_load(quest, &load, planned, err);
    cv_step_budget_spend(quest->budget, budget.spent);
    CV_TRY(status);
    status = cv_planned_run_once(planned, cv_load_case_engine(quest->load_case, NULL),
                                 &run, out_s, err);
    cv_step_budget_spend(quest->budget, events.spent);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

static bool ends_in_time(const struct cv_units_quest *quest, double end_s)
{
    return end_s <= quest->load_case->load.lifespan_s * (1 + CV_LIFESPAN_CLOSE);
}

static bool ends_sooner(const struct cv_units_quest *quest, double end_s)
{
    return end_s < quest->load_case->load.lifespan_s * (1 - CV_LIFESPAN_CLOSE);
}

/* What all workers could compute. */
static double units_of_all(const struct cv_load_case *load_case)
{
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    double units = 0;

    for (uint32_t i = 0; i < cleave_platform_nworkers(load_case->platform); i++)
        units += workers[i].speed_ups * load_case->load.lifespan_s;
    return units;
}

/* Lines through the last two points, and the bracket halved where that leads out of it. */
static enum cleave_status find_units(const struct cv_units_quest *quest, double low,
                                     double low_s, double *out, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double high = INFINITY, high_s = 0;
    double units = units_of_all(quest->load_case), min = units * NOTHING;
    struct cv_planned planned;

    for (int step = 0; step < MOST_STEPS && ends_sooner(quest, low_s); step++) {
        double end_s = 0;

        if (units < min || /* latencies alone take longer */
            (low > 0 && cv_step_budget_over(quest->budget)))
            break;
        CV_TRY(plan_units(quest, units, &planned, &end_s, err));
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
            units = low + (high - low) * (1 - CV_LIFESPAN_CLOSE / 2) *
                              (lifespan_s - low_s) / (high_s - low_s);
    }
    *out = low;
    return CLEAVE_OK;
}

/* Whether it says by itself what it does in the lifespan: of speeds that change only auto
 * does, which asks others, and not where errors are expected. */
static bool knows(const struct cv_units_quest *quest)
{
    return quest->policy->work != NULL &&
           (picks(quest->policy) ? !(quest->load_case->load.error > 0)
                                 : !cv_is_changing(quest->load_case->platform));
}

/* The plan of a policy that knows what it does, and when that ends. */
static enum cleave_status plan_known(const struct cv_units_quest *quest,
                                     struct cv_planned *planned, double *out_s,
                                     struct cleave_error *err)
{
    const struct cv_run run = cv_load_case_run(quest->load_case);
    struct cv_load load = quest->load_case->load;
    enum cleave_status status = CLEAVE_OK;

    load.budget = quest->budget;
    CV_TRY(plan_load(quest, &load, planned, err));
    *out_s = 0;
    if (planned->view.units_total > 0)
        status = cv_planned_run_once(planned, cv_load_case_engine(quest->load_case, NULL),
                                     &run, out_s, err);
    else
        status = fail_lifespan(load.lifespan_s, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

/* Either of them: how many units the policy does. */
static enum cleave_status units_work(const struct cv_units_quest *quest, double *out,
                                     struct cleave_error *err)
{
    struct cv_planned planned;
    double end_s;

    if (!knows(quest))
        return find_units(quest, 0, 0, out, err);
    CV_TRY(plan_known(quest, &planned, &end_s, err));
    *out = planned.view.units_total;
    cv_planned_done(&planned);
    /* Where commands read as they like it may be late. */
    return ends_in_time(quest, end_s) ? CLEAVE_OK : find_units(quest, 0, 0, out, err);
}

/* --- plan for a load, or for as much as ends within a lifespan --------------------- */

enum { MOST_PICKS = 10, FEW_REPAIRS = 3, MOST_REPAIRS = 30 };

static enum cleave_status makespan_of(const struct cv_units_quest *quest, double units,
                                      const char **out_picked, double *out_s,
                                      struct cleave_error *err)
{
    struct cv_planned planned;

    CV_TRY(plan_units(quest, units, &planned, out_s, err));
    *out_picked = planned.notes.picked;
    cv_planned_done(&planned);
    return CLEAVE_OK;
}

/* The most units for a policy that picks: by whom it picks. */
static enum cleave_status find_by_picks(const struct cv_units_quest *quest, double *out,
                                        struct cleave_error *err)
{
    struct cv_units_quest by = { .load_case = quest->load_case,
                                 .forecast = quest->forecast,
                                 .budget = quest->budget };
    double units = units_of_all(quest->load_case), found = 0, end_s;
    const char *picked = NULL;

    *out = 0;
    for (int turn = 0; turn < MOST_PICKS; turn++) {
        const struct cleave_policy *last = by.policy;

        CV_TRY(makespan_of(quest, units, &picked, &end_s, err));
        if (picked == NULL)
            return find_units(quest, 0, 0, out, err);
        CV_TRY(cleave_policy_find(CLEAVE_TASK_LOAD, picked, &by.policy, err));
        if (by.policy == last)
            break;
        if (ends_sooner(quest, end_s))
            CV_TRY(find_units(&by, units, end_s, &found, err));
        else
            CV_TRY(find_units(&by, 0, 0, &found, err));
        if (!(found > 0)) { /* it is for larger loads */
            units /= 2;
            continue;
        }
        if (!(found > *out))
            break;
        *out = units = found;
    }
    /* Whom it picks for a large load may take too long over the least: others are for small ones. */
    return *out > 0 ? CLEAVE_OK : find_units(quest, 0, 0, out, err);
}

/* The plan for units that were found. What a limit cuts short may end later than on the way there:
 * then it is for less. */
static enum cleave_status plan_found(const struct cv_units_quest *quest, double units,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double end_s;

    for (int turn = 0; turn < MOST_REPAIRS && units > 0; turn++) {
        CV_TRY(plan_units(quest, units, planned, &end_s, err));
        if (end_s <= lifespan_s)
            return CLEAVE_OK;
        cv_planned_done(planned);
        if (turn == FEW_REPAIRS) /* another policy was picked, which does far less */
            CV_TRY(find_units(quest, 0, 0, &units, err));
        else
            units *= (1 - CV_LIFESPAN_CLOSE) * lifespan_s / end_s;
    }
    return fail_lifespan(lifespan_s, err);
}

static enum cleave_status plan_lifespan(const struct cv_units_quest *quest,
                                        struct cv_planned *planned,
                                        struct cleave_error *err)
{
    double units = 0, end_s;

    if (knows(quest)) {
        CV_TRY(plan_known(quest, planned, &end_s, err));
        if (ends_in_time(quest, end_s))
            return CLEAVE_OK;
        units = planned->view.units_total;
        cv_planned_done(planned);
    } else if (picks(quest->policy)) {
        CV_TRY(find_by_picks(quest, &units, err));
        /* Half is kept for the plan, or it would be by a policy that was not the best of all. */
        quest->budget->spent = fmin(quest->budget->spent, quest->budget->limit / 2);
    } else {
        CV_TRY(find_units(quest, 0, 0, &units, err));
    }
    return plan_found(quest, units, planned, err);
}

enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const struct cleave_platform *platform = load_case->platform;
    const struct cv_forecast_open scene = { platform, &load_case->command,
                                            load_case->units };
    const struct cv_forecast forecast =
        load_case->load.opens ? cv_open_forecast(&scene) : cv_native_forecast(platform);
    struct cv_step_budget any = { 0, INFINITY }, *budget = load_case->load.budget;
    const struct cv_units_quest quest = { load_case,     load_case->policy,
                                          job->settings, job->nsettings,
                                          &forecast,     budget != NULL ? budget : &any };

    if (load_case->load.lifespan_s > 0)
        return plan_lifespan(&quest, planned, err);
    return cv_planned_init(planned, load_case->policy, job->settings, job->nsettings,
                           platform, cleave_platform_workers(platform), &load_case->load,
                           &forecast, err);
}

/* --- try a policy in simulation before it is used ---------------------------------- */

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
    status = units_work(&quest, out, err);
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
