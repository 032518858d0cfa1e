/* lifespan.c -- as much as a policy finishes within a lifespan. SPDX-License-Identifier: MIT
 *
 * Makespans are nearly affine in the load, so lines through the last two points are followed.
 * Each point is a plan and a run. For a policy that picks others, as auto does, that would
 * be a contest for each. Some of those it picks from know what they do in a lifespan, and
 * plan for it better than by loads that are looked for from outside: plans that come from a search
 * do not end later by as much as the load grows. So these are asked first. If at
 * their units somebody ends sooner, the units are found for the one that is picked, and then
 * all are asked again there, until it is no other, or one that does not do more. All of
 * it shares the limit of such a policy. */
#include "sim/load/lifespan.h"

#include <math.h>

#include "model/platform/profile.h"

enum { MOST_STEPS = 80, MOST_PICKS = 6, MOST_REPAIRS = 30 };

/* How far below the lifespan an end may stay. */
static const double CLOSE = 1e-10;
/* Less of what all workers could compute is not worth a schedule. */
static const double NOTHING = 1e-9;
/* Of what is left of a limit, one plan on the way may take so much. */
static const double ONE_PLAN = 0.1;

/* Units are looked for by a policy. */
struct quest {
    const struct cv_load_case *load_case;
    const struct cleave_policy *policy;
    const struct cleave_setting *settings;
    size_t nsettings;
    struct cv_meter *meter; /* of all plans; who picks sets the limit */
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

/* Plan for so many units, and when that ends. */
static enum cleave_status plan_units(const struct quest *quest, double units,
                                     struct cv_planned *planned, double *out_s,
                                     struct cleave_error *err)
{
    const struct cv_run run = cv_load_case_run(quest->load_case);
    struct cv_load load = quest->load_case->load;
    struct cv_meter meter = { 0, ONE_PLAN * (quest->meter->limit - quest->meter->spent) };
    enum cleave_status status;

    load.units = units;
    load.lifespan_s = 0;
    load.meter = picks(quest->policy) ? quest->meter : &meter;
    status = cv_load_case_plan_by(quest->load_case, quest->policy, quest->settings,
                                  quest->nsettings, &load, planned, err);
    cv_meter_spend(quest->meter, meter.spent);
    CV_TRY(status);
    status = cv_planned_run_once(planned, cv_load_case_engine(quest->load_case, NULL),
                                 &run, out_s, err);
    if (status != CLEAVE_OK)
        cv_planned_done(planned);
    return status;
}

static bool ends_sooner(const struct quest *quest, double end_s)
{
    return end_s < quest->load_case->load.lifespan_s * (1 - CLOSE);
}

static enum cleave_status makespan_of(const struct quest *quest, double units,
                                      const char **out_picked, double *out_s,
                                      struct cleave_error *err)
{
    struct cv_planned planned;

    CV_TRY(plan_units(quest, units, &planned, out_s, err));
    *out_picked = planned.notes.picked;
    cv_planned_done(&planned);
    return CLEAVE_OK;
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

/* The most units that end within the lifespan: lines through the last two points, and the
 * bracket halved where that leads out of it. That `low` units end by then is known, or 0. */
static enum cleave_status find_units(const struct quest *quest, double low, double low_s,
                                     double *out, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double high = INFINITY, high_s = 0;
    double units = units_of_all(quest->load_case), least = units * NOTHING;
    const char *picked;

    for (int step = 0; step < MOST_STEPS && ends_sooner(quest, low_s); step++) {
        double end_s = 0;

        if (units < least) /* latencies alone take longer */
            break;

        CV_TRY(makespan_of(quest, units, &picked, &end_s, err));
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

/* The same for a policy that picks: by whom it picks. So many units are known to end in
 * time. */
static enum cleave_status find_by_picks(const struct quest *quest, double known,
                                        double *out, struct cleave_error *err)
{
    struct quest by = { .load_case = quest->load_case, .meter = quest->meter };
    double units = known > 0 ? known : units_of_all(quest->load_case), found = 0, end_s;
    const char *picked = NULL;

    *out = known;
    for (int turn = 0; turn < MOST_PICKS; turn++) {
        const struct cleave_policy *last = by.policy;

        CV_TRY(makespan_of(quest, units, &picked, &end_s, err));
        if (turn == 0 && known > 0 && !ends_sooner(quest, end_s))
            break;
        if (picked == NULL)
            return find_units(quest, 0, 0, out, err);
        CV_TRY(cleave_policy_find(CLEAVE_TASK_LOAD, picked, &by.policy, err));
        if (by.policy == last)
            break;
        if (ends_sooner(quest, end_s))
            CV_TRY(find_units(&by, units, end_s, &found, err));
        else
            CV_TRY(find_units(&by, 0, 0, &found, err));
        if (!(found > *out))
            break;
        *out = units = found;
    }
    return CLEAVE_OK;
}

/* The plan for units that were found. What a limit cuts short may end a little later than on
 * the way there: then it is for less. */
static enum cleave_status plan_found(const struct quest *quest, double units,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const double lifespan_s = quest->load_case->load.lifespan_s;
    double end_s;

    for (int turn = 0; turn < MOST_REPAIRS && units > 0; turn++) {
        CV_TRY(plan_units(quest, units, planned, &end_s, err));
        if (end_s <= lifespan_s)
            return CLEAVE_OK;
        cv_planned_done(planned);
        units *= (1 - CLOSE) * lifespan_s / end_s;
    }
    return fail_lifespan(lifespan_s, err);
}

/* What a policy that knows it does in a lifespan, of speeds that do not change. */
static bool knows(const struct quest *quest)
{
    return quest->policy->work != NULL && !cv_is_changing(quest->load_case->platform);
}

/* The plan of those who know what they do in the lifespan, among whom the policy picks, if
 * there are any and they are right. */
static enum cleave_status plan_known(const struct quest *quest,
                                     struct cv_planned *planned, bool *out_planned,
                                     struct cleave_error *err)
{
    const struct cv_run run = cv_load_case_run(quest->load_case);
    struct cv_load load = quest->load_case->load;
    enum cleave_status status;
    double end_s = INFINITY;

    *out_planned = false;
    if (!knows(quest) || load.error > 0)
        return CLEAVE_OK;
    load.meter = quest->meter;
    status = cv_load_case_plan_by(quest->load_case, quest->policy, quest->settings,
                                  quest->nsettings, &load, planned, err);
    if (status == CLEAVE_EINPUT) /* nobody knows */
        return CLEAVE_OK;
    CV_TRY(status);
    if (planned->view.units_total > 0)
        status = cv_planned_run_once(planned, cv_load_case_engine(quest->load_case, NULL),
                                     &run, &end_s, err);
    *out_planned = status == CLEAVE_OK && end_s <= load.lifespan_s * (1 + CLOSE);
    if (!*out_planned)
        cv_planned_done(planned);
    return status;
}

/* By those who know, or by those who do more at loads that were looked for. */
static enum cleave_status plan_by_picks(const struct quest *quest,
                                        struct cv_planned *planned,
                                        struct cleave_error *err)
{
    enum cleave_status status;
    double known, units = 0;
    bool is_planned;

    CV_TRY(plan_known(quest, planned, &is_planned, err));
    known = is_planned ? planned->view.units_total : 0;
    status = find_by_picks(quest, known, &units, err);
    if (status == CLEAVE_OK && is_planned && !(units > known))
        return CLEAVE_OK;
    if (is_planned)
        cv_planned_done(planned);
    return status == CLEAVE_OK ? plan_found(quest, units, planned, err) : status;
}

static enum cleave_status plan_lifespan(const struct cv_load_case *load_case,
                                        const struct cleave_job *job,
                                        struct cv_planned *planned,
                                        struct cleave_error *err)
{
    struct cv_meter meter = { 0, INFINITY };
    const struct quest quest = { .load_case = load_case,
                                 .policy = load_case->policy,
                                 .settings = job->settings,
                                 .nsettings = job->nsettings,
                                 .meter = load_case->load.meter != NULL
                                              ? load_case->load.meter
                                              : &meter };
    double units = 0;

    if (picks(load_case->policy))
        return plan_by_picks(&quest, planned, err);
    CV_TRY(find_units(&quest, 0, 0, &units, err));
    return plan_found(&quest, units, planned, err);
}

enum cleave_status cv_load_case_plan(const struct cv_load_case *load_case,
                                     const struct cleave_job *job,
                                     struct cv_planned *planned, struct cleave_error *err)
{
    const double lifespan_s = load_case->load.lifespan_s;

    /* Those who know how much they do by then know it for speeds that do not change. */
    if (lifespan_s > 0 && (load_case->policy->work == NULL || picks(load_case->policy) ||
                           cv_is_changing(load_case->platform)))
        return plan_lifespan(load_case, job, planned, err);
    CV_TRY(cv_load_case_plan_by(load_case, load_case->policy, job->settings,
                                job->nsettings, &load_case->load, planned, err));
    if (planned->view.units_total > 0 || planned->view.nitems > 0)
        return CLEAVE_OK;
    cv_planned_done(planned);
    return fail_lifespan(lifespan_s, err);
}
