/* random_ends.c -- every policy on platforms drawn at random: each run ends, no bound is beaten.
 * SPDX-License-Identifier: MIT
 *
 * random_draw.h draws the instances. Bounds are computed once for all policies, bounds of
 * one round for policies of one round, and searches are cut short: their results must end
 * and respect bounds at any time. Where an error is expected some runs have it; then only
 * their end counts. A policy that picks others is not refused anything that one of them
 * can do. `make check-ends` (PLATFORMS=10000, FIRST=17) tries more than the few by
 * default. */
#include "random_draw.h"

#include "sim/load/load_case.h"
#include "sim/load/forecast.h"

enum { PLATFORMS = 60, NOISY_RUNS = 3 };

/* Allowed excess over bounds by rounding: times, and units by a lifespan. */
static const double ROUNDING = 1e-9, UNITS_ROUNDING = 1e-6;
/* Steps of a search, and seconds for policies that try others. */
static const double SEARCH = 2e7;
static const char *const TRIALS = "0.04";

struct scene {
    uint32_t number;
    struct draw drawn;
    struct cv_arena arena; /* memory of the bounds */
    unsigned ended;        /* policies whose runs did           */
    const char *refused;   /* policy that picks others and did not */
    bool known[2];
    size_t count[2];
    struct cleave_bound bounds[2][CV_MAX_BOUNDS]; /* bounds for any rounds, and for one */
};

static void set_bounds(struct scene *scene, const struct cv_load_case *load_case,
                       const struct cv_planned *planned)
{
    const bool one_round = planned->policy->one_round;
    size_t tightest;

    if (scene->known[one_round])
        return;
    scene->count[one_round] = cv_load_case_bounds(load_case, planned, &scene->arena,
                                                  scene->bounds[one_round], &tightest);
    assert_true(scene->count[one_round] > 0);
    scene->known[one_round] = true;
}

static bool is_beaten(const struct cleave_bound *bound, double lifespan_s, double units,
                      double end_s)
{
    if (lifespan_s > 0)
        return units > bound->value_s * (1 + UNITS_ROUNDING);
    return end_s < bound->value_s * (1 - ROUNDING);
}

static void check_bounds(const struct scene *scene, const struct cv_planned *planned,
                         double end_s)
{
    const bool one_round = planned->policy->one_round;
    const double lifespan_s = scene->drawn.job.lifespan_s;
    const double units = planned->view.units_total;

    for (size_t i = 0; i < scene->count[one_round]; i++) {
        const struct cleave_bound *bound = &scene->bounds[one_round][i];

        if (is_beaten(bound, lifespan_s, units, end_s))
            FAULT(&scene->drawn, "%s: %.17g units in %.17g s beat the bound '%s', %.17g",
                  planned->policy->name, units, end_s, bound->name, bound->value_s);
    }
    if (lifespan_s > 0 && end_s > lifespan_s * (1 + ROUNDING))
        FAULT(&scene->drawn, "%s: ends at %.17g s, after the lifespan",
              planned->policy->name, end_s);
}

static double run_it(const struct scene *scene, const struct cv_load_case *load_case,
                     const struct cv_planned *planned, double error, uint32_t run_number)
{
    struct cv_run run = cv_load_case_run(load_case, NULL);
    struct cleave_error err;
    enum cleave_status status;
    double end_s;

    run.number = run_number;
    if (error > 0)
        run.noise = (struct cv_noise){ .drawn = { CLEAVE_NOISE_NORMAL, error },
                                       .seed = scene->number,
                                       .run = run_number };
    status =
        cv_planned_run_once(planned, cv_load_case_engine(&run, NULL), &run, &end_s, &err);
    if (status == CLEAVE_OK)
        return end_s;
    if (status != CLEAVE_EINPUT) /* chunks that memory is too little for are refused */
        FAULT(&scene->drawn, "%s, error %g: %s", planned->policy->name, error, err.text);
    return NAN;
}

/* It is unsuitable for such a load, or memory is too little for its chunks. */
static void is_refused(struct scene *scene, const struct cleave_policy *policy)
{
    if ((policy->needs & CLEAVE_NEEDS_FORECAST) != 0 &&
        (policy->takes_streams || !(scene->drawn.job.hold > 0)))
        scene->refused = policy->name;
}

static void try_case(struct scene *scene, const struct cv_load_case *load_case,
                     const struct cleave_job *job)
{
    struct cv_planned planned;
    struct cleave_error err;
    enum cleave_status status = cv_load_case_plan(load_case, job, &planned, &err);
    double end_s;

    if (status == CLEAVE_EINPUT)
        is_refused(scene, load_case->policy);
    else if (status != CLEAVE_OK)
        FAULT(&scene->drawn, "%s: %s", job->policy, err.text);
    if (status != CLEAVE_OK)
        return;
    set_bounds(scene, load_case, &planned);
    end_s = run_it(scene, load_case, &planned, 0, 0);
    for (uint32_t i = 0; i < NOISY_RUNS && job->error > 0 && !isnan(end_s); i++)
        if (isnan(run_it(scene, load_case, &planned, job->error, i)))
            end_s = NAN;
    if (isnan(end_s)) {
        is_refused(scene, planned.policy);
    } else {
        scene->ended++;
        check_bounds(scene, &planned, end_s);
    }
    cv_planned_done(&planned);
}

static void try_policy(struct scene *scene, const struct cleave_policy *policy)
{
    const struct cleave_setting limit = { "limit", TRIALS };
    struct cv_step_budget budget = { 0, SEARCH };
    struct cleave_job job = scene->drawn.job;
    struct cv_load_case load_case;
    struct cleave_error err;

    job.policy = policy->name;
    if ((policy->needs & CLEAVE_NEEDS_FORECAST) != 0) {
        job.settings = &limit;
        job.nsettings = 1;
    }
    if (cv_load_case_open(&load_case, &job, &err) != CLEAVE_OK)
        fail_msg("platform %u: %s", scene->number, err.text);
    load_case.budget = &budget;
    try_case(scene, &load_case, &job);
    cv_load_case_close(&load_case);
}

static void one_platform(uint32_t number)
{
    struct scene scene = { .number = number };

    draw(&scene.drawn, number);
    cv_arena_init(&scene.arena);
    for (size_t p = 0; p < cleave_policy_count(); p++)
        if (cleave_policy_at(p)->task == CLEAVE_TASK_LOAD)
            try_policy(&scene, cleave_policy_at(p));
    if (scene.refused != NULL && scene.ended > 0)
        FAULT(&scene.drawn, "%s is refused, others are not", scene.refused);
    cv_arena_done(&scene.arena);
    cleave_platform_free(scene.drawn.platform);
}

static void all_ends_and_no_bound_is_beaten(void **state)
{
    (void)state;
    try_platforms(one_platform, PLATFORMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        all_ends_and_no_bound_is_beaten) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
