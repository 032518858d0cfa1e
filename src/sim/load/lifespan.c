/* lifespan.c -- plan for a load, or for as much as ends within a lifespan.
 * SPDX-License-Identifier: MIT
 *
 * For auto, what each of the others does in a lifespan is found in turn, by a contest of its own.
 * For portfolio, which looks at means with errors, the units are found for the policy that it
 * picks, and then it is asked again at these units, until it picks no other, or one that does not
 * do more. All of it shares the limit of such a policy. */
#include "sim/load/lifespan.h"

#include <math.h>

#include "sim/load/forecast.h"
#include "sim/load/lifespan_units.h"

enum { MOST_PICKS = 10, FEW_REPAIRS = 3, MOST_REPAIRS = 30 };

static enum cleave_status makespan_of(const struct cv_units_quest *quest, double units,
                                      const char **out_picked, double *out_s,
                                      struct cleave_error *err)
{
    struct cv_planned planned;

    CV_TRY(cv_plan_units(quest, units, &planned, out_s, err));
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
    double units = cv_units_of_all(quest->load_case), found = 0, end_s;
    const char *picked = NULL;

    *out = 0;
    for (int turn = 0; turn < MOST_PICKS; turn++) {
        const struct cleave_policy *last = by.policy;

        CV_TRY(makespan_of(quest, units, &picked, &end_s, err));
        if (picked == NULL)
            return cv_find_units(quest, 0, 0, out, err);
        CV_TRY(cleave_policy_find(CLEAVE_TASK_LOAD, picked, &by.policy, err));
        if (by.policy == last)
            break;
        if (cv_ends_sooner(quest, end_s))
            CV_TRY(cv_find_units(&by, units, end_s, &found, err));
        else
            CV_TRY(cv_find_units(&by, 0, 0, &found, err));
        if (!(found > 0)) { /* it is for larger loads */
            units /= 2;
            continue;
        }
        if (!(found > *out))
            break;
        *out = units = found;
    }
    /* Whom it picks for a large load may take too long over the least: others are for small ones. */
    return *out > 0 ? CLEAVE_OK : cv_find_units(quest, 0, 0, out, err);
}

/* The plan for units that were found. What a limit cuts short may end later than on the way there:
 * then it is for less. */
static enum cleave_status plan_found(const struct cv_units_quest *quest, double units,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double end_s;

    for (int turn = 0; turn < MOST_REPAIRS && units > 0; turn++) {
        CV_TRY(cv_plan_units(quest, units, planned, &end_s, err));
        if (end_s <= lifespan_s)
            return CLEAVE_OK;
        cv_planned_done(planned);
        if (turn == FEW_REPAIRS) /* another policy was picked, which does far less */
            CV_TRY(cv_find_units(quest, 0, 0, &units, err));
        else
            units *= (1 - CV_LIFESPAN_CLOSE) * lifespan_s / end_s;
    }
    return cv_fail_lifespan(lifespan_s, err);
}

static enum cleave_status plan_lifespan(const struct cv_units_quest *quest,
                                        struct cv_planned *planned,
                                        struct cleave_error *err)
{
    double units = 0, end_s;

    if (cv_knows(quest)) {
        CV_TRY(cv_plan_known(quest, planned, &end_s, err));
        if (cv_ends_in_time(quest, end_s))
            return CLEAVE_OK;
        units = planned->view.units_total;
        cv_planned_done(planned);
    } else if (cv_picks(quest->policy)) {
        CV_TRY(find_by_picks(quest, &units, err));
        /* Half is kept for the plan, or it would be by a policy that was not the best of all. */
        quest->budget->spent = fmin(quest->budget->spent, quest->budget->limit / 2);
    } else {
        CV_TRY(cv_find_units(quest, 0, 0, &units, err));
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
