/* lifespan_units.c -- as much as one policy finishes within a lifespan.
 * SPDX-License-Identifier: MIT
 *
 * Makespans are nearly affine in the load, so lines through the last two points are followed.
 * Each point is a plan and a run. Policies that know what they do in a lifespan are better at it:
 * plans that come from a search do not end later by as much as the load grows. */
#include "sim/load/lifespan_units.h"

#include <math.h>

#include "model/platform/profile.h"

enum { MOST_STEPS = 80 };

/* Less of what all workers could compute is not worth a schedule. */
static const double NOTHING = 1e-9;
/* Of what is left of a limit, one plan on the way may take so much. */
static const double ONE_PLAN = 0.1;

enum cleave_status cv_fail_lifespan(double lifespan_s, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected a longer lifespan: nothing ends within %g s", lifespan_s);
}

bool cv_picks(const struct cleave_policy *policy)
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

enum cleave_status cv_plan_units(const struct cv_units_quest *quest, double units,
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
    load.budget = cv_picks(quest->policy) ? quest->budget : &budget;
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

bool cv_ends_in_time(const struct cv_units_quest *quest, double end_s)
{
    return end_s <= quest->load_case->load.lifespan_s * (1 + CV_LIFESPAN_CLOSE);
}

bool cv_ends_sooner(const struct cv_units_quest *quest, double end_s)
{
    return end_s < quest->load_case->load.lifespan_s * (1 - CV_LIFESPAN_CLOSE);
}

double cv_units_of_all(const struct cv_load_case *load_case)
{
    const struct cleave_worker *workers = cleave_platform_workers(load_case->platform);
    double units = 0;

    for (uint32_t i = 0; i < cleave_platform_nworkers(load_case->platform); i++)
        units += workers[i].speed_ups * load_case->load.lifespan_s;
    return units;
}

/* Lines through the last two points, and the bracket halved where that leads out of it. */
enum cleave_status cv_find_units(const struct cv_units_quest *quest, double low,
                                 double low_s, double *out, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double high = INFINITY, high_s = 0;
    double units = cv_units_of_all(quest->load_case), min = units * NOTHING;
    struct cv_planned planned;

    for (int step = 0; step < MOST_STEPS && cv_ends_sooner(quest, low_s); step++) {
        double end_s = 0;

        if (units < min || /* latencies alone take longer */
            (low > 0 && cv_step_budget_over(quest->budget)))
            break;
        CV_TRY(cv_plan_units(quest, units, &planned, &end_s, err));
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

bool cv_knows(const struct cv_units_quest *quest)
{
    return quest->policy->work != NULL &&
           (cv_picks(quest->policy) ? !(quest->load_case->load.error > 0)
                                    : !cv_is_changing(quest->load_case->platform));
}

enum cleave_status cv_plan_known(const struct cv_units_quest *quest,
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
        status = cv_fail_lifespan(load.lifespan_s, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

enum cleave_status cv_units_work(const struct cv_units_quest *quest, double *out,
                                 struct cleave_error *err)
{
    struct cv_planned planned;
    double end_s;

    if (!cv_knows(quest))
        return cv_find_units(quest, 0, 0, out, err);
    CV_TRY(cv_plan_known(quest, &planned, &end_s, err));
    *out = planned.view.units_total;
    cv_planned_done(&planned);
    /* Where commands read as they like it may be late. */
    return cv_ends_in_time(quest, end_s) ? CLEAVE_OK
                                         : cv_find_units(quest, 0, 0, out, err);
}
