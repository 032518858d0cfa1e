/* random_platforms.c -- auto against every policy on platforms drawn at random: none is better.
 * SPDX-License-Identifier: MIT
 *
 * random_draw.h draws the instances. Costs are as declared, or off by an error that
 * policies expect: then means of many runs are compared. A policy that searches may take
 * as long as auto may for all of them. That every run ends and no bound is beaten is
 * random_ends.c, which takes a hundredth of the time. `make check-platforms`
 * (PLATFORMS=10000) tries more of them than the few by default, in which searches are
 * short; FIRST=17 begins with that one. */
#include "random_draw.h"

#include "sim/load/forecast.h"
#include "sim/many/monte_carlo.h"

/* Runs with an error. */
enum { RUNS = 100 };

/* Allowed loss of auto, with declared costs and with an error. */
static const double AUTO = 1.001, AUTO_WITH_ERROR = 1.01;

/* Seconds that auto takes at most, in steps. */
static const double LIMIT = 10 * 1e9;

/* Result of a policy. */
struct outcome {
    double value;    /* less is better; INFINITY when it does not take the load */
    double stddev_s; /* spread of the runs, if times are off */
    const char *picked;
};

/* The mean of runs with the error that was expected. */
static enum cleave_status run_many(const struct cv_load_case *load_case,
                                   const struct cv_planned *planned, struct outcome *out,
                                   struct cleave_error *err)
{
    const struct cleave_noise noise = { CLEAVE_NOISE_NORMAL, load_case->load.error };
    const struct cleave_trial trial = { .runs = RUNS, .threads = 1, .noise = noise };
    struct cv_run first = cv_load_case_run(load_case, NULL);
    struct cleave_stats stats;

    first.noise.drawn = noise;
    first.noise.seed = load_case->load.seed;
    CV_TRY(cv_monte_carlo(planned, cv_load_case_engine(&first, NULL), NULL, &first,
                          &trial, NULL, NULL, &stats, err));
    out->value = stats.mean_s;
    out->stddev_s = stats.stddev_s;
    return CLEAVE_OK;
}

/* Time for the load, or for a unit in a lifespan. */
static enum cleave_status plan_and_run(const struct cv_load_case *load_case,
                                       const struct cleave_job *job, struct outcome *out,
                                       struct cleave_error *err)
{
    const struct cv_run run = cv_load_case_run(load_case, NULL);
    struct cv_planned planned;
    enum cleave_status status;

    CV_TRY(cv_load_case_plan(load_case, job, &planned, err));
    out->picked = planned.notes.picked;
    if (job->error > 0)
        status = run_many(load_case, &planned, out, err);
    else
        status = cv_planned_run_once(&planned, cv_load_case_engine(&run, NULL), &run,
                                     &out->value, err);
    if (job->lifespan_s > 0)
        out->value = job->lifespan_s / planned.view.units_total;
    cv_planned_done(&planned);
    return status;
}

static struct outcome judge(const struct draw *drawn, const char *policy, bool in_turn)
{
    struct outcome outcome = { .value = INFINITY };
    struct cv_step_budget budget = { 0, LIMIT };
    struct cleave_job job = drawn->job;
    struct cv_load_case load_case;
    struct cleave_error err;
    enum cleave_status status;

    job.policy = policy;
    job.in_turn = in_turn;
    status = cv_load_case_open(&load_case, &job, &err);
    load_case.budget = &budget;
    if (status == CLEAVE_OK)
        status = plan_and_run(&load_case, &job, &outcome, &err);
    cv_load_case_close(&load_case);
    if (status == CLEAVE_OK)
        return outcome;
    if (status != CLEAVE_EINPUT)
        FAULT(drawn, "%s, error %g: %s", policy, job.error, err.text);
    return (struct outcome){ .value = INFINITY };
}

/* If times are off, the means here differ by chance, too. */
static bool beaten(const struct draw *drawn, const struct outcome *automatic,
                   const struct outcome *other)
{
    const double spread_s = fmax(automatic->stddev_s, other->stddev_s);

    return automatic->value >
           other->value * (drawn->job.error > 0 ? AUTO_WITH_ERROR : AUTO) +
               3 * spread_s * sqrt(2.0 / RUNS);
}

/* Or has another purpose: joint is for results that are reduced. */
static bool would_try_the_same(const struct cleave_policy *policy,
                               const struct draw *drawn)
{
    return policy->task != CLEAVE_TASK_LOAD ||
           (policy->needs & CLEAVE_NEEDS_FORECAST) != 0 || policy->minds_folds ||
           (policy->orders_returns && policy->one_round && drawn->job.result_ratio == 0);
}

static void one_platform(uint32_t number)
{
    struct outcome automatic, other;
    struct draw drawn;

    draw(&drawn, number);
    automatic = judge(&drawn, "auto", false);
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);

        if (would_try_the_same(policy, &drawn))
            continue;
        for (int in_turn = 0; in_turn < 1 + (drawn.job.result_ratio > 0); in_turn++) {
            other = judge(&drawn, policy->name, in_turn != 0);
            if (beaten(&drawn, &automatic, &other))
                FAULT(&drawn, "error %g: auto (%s) %.9g, %s%s %.9g: %.3g %% better",
                      drawn.job.error, automatic.picked, automatic.value, policy->name,
                      in_turn != 0 ? " in turn" : "", other.value,
                      100 * (automatic.value / other.value - 1));
        }
    }
    cleave_platform_free(drawn.platform);
}

static void auto_is_not_beaten(void **state)
{
    (void)state;
    try_platforms(one_platform, QUICK_ONES);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(auto_is_not_beaten) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
