/* test_joint.c -- a load and its reduction as one plan: against plans made apart, bounds,
 * execution, and gains worked out elsewhere. SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include "model/joint/joint.h"
#include "sim/reduce/reduced_load.h"

enum { MOST = 24, TRIALS = 120 };

static double between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

static void draw_job(struct cv_random *random, struct cleave_worker *workers,
                     uint32_t *order, struct cv_joint_job *job)
{
    const double unequal = between(random, 1, 8);

    *job = (struct cv_joint_job){
        .nworkers = 1 + random_below(random, MOST),
        .order = order,
        .load = { workers, between(random, 20, 400), random_below(random, 2) == 0 },
        .costs = { between(random, 0, 1), between(random, 0, 1),
                   (enum cleave_ready_model)random_below(random, 3) },
        .at_master = random_below(random, 4) == 0,
    };
    for (uint32_t i = 0; i < job->nworkers; i++) {
        order[i] = i;
        workers[i] =
            (struct cleave_worker){ .speed_ups = between(random, 1, unequal),
                                    .bandwidth_ups = between(random, 20, 20 * unequal),
                                    .compute_latency_s = between(random, 0, 0.2),
                                    .latency_s = between(random, 0, 0.1) };
    }
}

/* With exact costs a run takes what the plan says: as one, and never more than apart. */
static void plans_hold_and_beat_plans_apart(void **state)
{
    const struct cleave_trial trial = { .runs = 1, .threads = 1 };
    struct cleave_worker workers[MOST];
    uint32_t order[MOST], used;
    struct cv_random random;
    struct cv_arena arena;

    (void)state;
    cv_random_at(&random, 21, 0, 0, 0);
    cv_arena_init(&arena);
    for (int i = 0; i < TRIALS; i++) {
        double room[MOST], apart_s, sum = 0;
        struct cv_joint_plan plan;
        struct cv_joint_job job;
        struct cleave_stats stats;
        struct cleave_error err;

        draw_job(&random, workers, order, &job);
        assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
        assert_ok(cv_joint_apart(&job, &apart_s, &used, &err), &err);
        assert_ok(cv_joint_simulate(&job, &plan, 1, &trial, &stats, &err), &err);
        for (uint32_t k = 0; k < plan.used; k++) {
            assert_true(plan.sizes[k] >= 0);
            sum += plan.sizes[k];
        }
        assert_near(sum, job.load.units, 1e-9);
        assert_true(stats.mean_s <= plan.end_s * (1 + 1e-9));
        if (!job.at_master)
            assert_near(stats.mean_s, plan.end_s, 1e-9);
        assert_true(plan.end_s <= apart_s * (1 + 1e-9));
        if (!isnan(cv_joint_bound(&job, room)))
            assert_true(cv_joint_bound(&job, room) <= plan.end_s * (1 + 1e-9));
        if (!isnan(cv_joint_entropy(&job, plan.order, plan.used, room)))
            assert_true(cv_joint_entropy(&job, plan.order, plan.used, room) <=
                        plan.end_s * (1 + 1e-9));
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Equal workers, as many units as workers: how much longer apart takes, in percent, with the
 * best number of workers and with all. */
static const struct row {
    uint32_t n;
    bool multi, at_master;
    double bandwidth, alpha, beta, d, c;
    enum cleave_ready_model model;
    double best, all;
} rows[] = {
    { 4, false, false, 8, 0, 0, 1, 0.3, CLEAVE_READY_MERGE, 0, 6.7 },
    { 4, false, false, 8, 0, 0, 1, 0.3, CLEAVE_READY_ABSENT, 2.1, 9.0 },
    { 10, false, false, 7, 0, 0, 0.1, 0.1, CLEAVE_READY_MERGE, 5.8, 5.8 },
    { 10, false, false, 7, 0, 0, 0.3, 0.1, CLEAVE_READY_ABSENT, 8.2, 8.2 },
    { 16, false, false, 32, 0, 0, 0.1, 0.1, CLEAVE_READY_ABSENT, 4.8, 4.8 },
    { 50, false, false, 35, 0, 0, 1, 0.3, CLEAVE_READY_ABSENT, 4.9, 11.1 },
    { 10, false, true, 20, 0.01, 0.0025, 0.1, 0.03, CLEAVE_READY_ABSENT, 26.4, 26.4 },
    { 16, false, true, 32, 0.01, 0.0025, 0.1, 0.03, CLEAVE_READY_ABSENT, 33.3, 36.7 },
    { 16, true, true, 20, 0.01, 0.0025, 0.1, 0.03, CLEAVE_READY_ABSENT, 35.6, 38.6 },
    { 64, false, true, 128, 0.01, 0.0025, 0.01, 0.005, CLEAVE_READY_ABSENT, 20.4, 20.4 },
};

static void assert_gain(const struct row *row, bool all, double expected)
{
    struct cleave_worker workers[64];
    uint32_t order[64], used;
    struct cv_joint_job job = { .nworkers = row->n,
                                .order = order,
                                .load = { workers, row->n, row->multi },
                                .costs = { row->d, row->c, row->model },
                                .at_master = row->at_master };
    struct cv_joint_plan plan;
    struct cleave_error err;
    struct cv_arena arena;
    double apart_s;

    for (uint32_t i = 0; i < row->n; i++) {
        order[i] = i;
        workers[i] = (struct cleave_worker){ .speed_ups = 1,
                                             .bandwidth_ups = row->bandwidth,
                                             .compute_latency_s = row->alpha,
                                             .latency_s = row->beta };
    }
    cv_arena_init(&arena);
    assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
    job.all = all;
    assert_ok(cv_joint_apart(&job, &apart_s, &used, &err), &err);
    if (!(fabs(100 * (apart_s / plan.end_s - 1) - expected) <= 0.1))
        fail_msg("%u workers, d %g, c %g: expected a gain of %g %%, got %g", row->n,
                 row->d, row->c, expected, 100 * (apart_s / plan.end_s - 1));
    cv_arena_done(&arena);
}

/* Sixteen partials, combined two pairs at a time in 1 s: seen from the end 1, then 2, and
 * from there on two combinations a second, each with one that is done. A transfer of half a
 * second moves those of a pair apart. */
static void several_fold_at_a_time(void **state)
{
    static const double at_once[] = { 8, 8, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2 };
    static const double apart[] = { 10, 9.5, 9, 8.5, 8, 7.5, 7, 6.5,
                                    6,  5.5, 5, 4.5, 4, 3.5, 3, 2.5 };
    struct cleave_worker workers[16];
    uint32_t order[16];
    struct cv_joint_job job = { .nworkers = 16,
                                .order = order,
                                .load = { workers, 1000, true },
                                .costs = { .c = 1 },
                                .at_master = true,
                                .folders = 2 };
    struct cv_joint_plan plan;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        order[i] = i;
        workers[i] = (struct cleave_worker){ .speed_ups = 1, .bandwidth_ups = 1e9 };
    }
    cv_arena_init(&arena);
    assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
    assert_int_equal(plan.used, 16);
    for (uint32_t k = 0; k < 16; k++)
        assert_near(plan.tails[k], at_once[k], 1e-12);
    job.costs.d = 0.5;
    assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
    for (uint32_t k = 0; k < 16; k++)
        assert_near(plan.tails[k], apart[k], 1e-12);
    cv_arena_done(&arena);
}

static void gains_are_those_worked_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_gain(&rows[i], false, rows[i].best);
        assert_gain(&rows[i], true, rows[i].all);
    }
}

/* Two workers, by chunks that are given: the first one is ready at 0.5 + 2, and the master
 * sends until 0.5 + 5; the second is ready at 5.5 + 1. */
static void reduces_what_any_policy_leaves(void **state)
{
    static const struct {
        enum cleave_port port;
        bool at_master;
        double end_s;
    } cases[] = {
        { CLEAVE_PORT_ONE, true, 5.5 + 7 + 7 + 2 }, /* none comes while it sends */
        { CLEAVE_PORT_DUPLEX, true, 2.5 + 7 + 7 + 2 },
        { CLEAVE_PORT_ONE, false, 6.5 + 7 + 2 },
    };
    static const struct cleave_setting order = { "chunk-order", "0:2,1:10" };
    static const struct cleave_trial once = { .runs = 1, .threads = 1 };
    /* Nobody asks the third. */
    static const struct cleave_worker workers[] = {
        { .speed_ups = 1, .bandwidth_ups = 4 },
        { .speed_ups = 10, .bandwidth_ups = 2 },
        { .speed_ups = 1, .bandwidth_ups = 1 }
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cv_joint_job joint = { .costs = { 7, 2, CLEAVE_READY_ABSENT },
                                            .at_master = cases[i].at_master,
                                            .duplex =
                                                cases[i].port == CLEAVE_PORT_DUPLEX };
        struct cleave_job job = {
            .load = 12, .policy = "chunks", .settings = &order, .nsettings = 1
        };
        struct cleave_platform *platform;
        struct cleave_stats stats;
        struct cleave_error err;

        assert_ok(cleave_platform_new(cases[i].port, workers, 3, &platform, &err), &err);
        job.platform = platform;
        assert_ok(cv_reduced_load(&job, &joint, &once, &stats, &err), &err);
        assert_near(stats.mean_s, cases[i].end_s, 1e-12);
        assert_near(stats.chunks, 2, 0);
        cleave_platform_free(platform);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_hold_and_beat_plans_apart),
        cmocka_unit_test(gains_are_those_worked_out),
        cmocka_unit_test(several_fold_at_a_time),
        cmocka_unit_test(reduces_what_any_policy_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
