/* test_joint.c -- a load and its reduction as one plan: against plans made apart, bounds,
 * all other plans of few workers, execution, and gains worked out elsewhere. SPDX-License-Identifier: MIT */
#include "tree_check.h"

#include <string.h>

#include "model/joint/joint.h"
#include "model/simplex/simplex.h"
#include "sim/reduce/reduced_load.h"

enum { MOST = 24, TRIALS = 120 };

static double between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

static double scale(struct cv_random *random, double low, double high)
{
    return exp(between(random, log(low), log(high)));
}

/* Costs from little to more than the load takes on all workers. */
static void draw_job(struct cv_random *random, uint32_t max,
                     struct cleave_worker *workers, uint32_t *order,
                     struct cv_joint_job *job)
{
    const double unequal = scale(random, 1, 20), links = scale(random, 0.5, 20),
                 load_s = between(random, 1, 50), latency_s = scale(random, 1e-3, 0.3);
    const uint32_t port = random_below(random, 3), n = 1 + random_below(random, max);
    double speed = 0;

    for (uint32_t i = 0; i < n; i++) {
        workers[i] = (struct cleave_worker){
            .speed_ups = scale(random, 1, unequal),
            .compute_latency_s = between(random, 0, latency_s * load_s / 2),
            .latency_s = between(random, 0, latency_s * load_s / n)
        };
        speed += workers[i].speed_ups;
        order[i] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        workers[i].bandwidth_ups = speed * links / scale(random, 1, unequal);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && workers[order[k]].bandwidth_ups >
                                          workers[order[k - 1]].bandwidth_ups;
             k--) {
            const uint32_t faster = order[k];

            order[k] = order[k - 1];
            order[k - 1] = faster;
        }
    *job = (struct cv_joint_job){
        .nworkers = n,
        .order = order,
        .load = { workers, speed * load_s, port == 0 },
        .costs = { scale(random, 0.003, 3) * load_s, scale(random, 0.003, 3) * load_s,
                   (enum cleave_ready_model)random_below(random, 3) },
        .at_master = random_below(random, 2) == 0,
        .duplex = port == 1,
    };
}

static double alone_s(const struct cv_joint_job *job)
{
    double best_s = INFINITY;

    for (uint32_t i = 0; i < job->nworkers; i++) {
        const struct cleave_worker *worker = &job->load.workers[i];

        best_s = fmin(best_s, worker->latency_s + worker->compute_latency_s +
                                  job->load.units / worker->bandwidth_ups +
                                  job->load.units / worker->speed_ups +
                                  (job->at_master ? job->costs.d : 0));
    }
    return best_s;
}

/* With exact costs a run takes what the plan says: never more than apart, nor more than
 * with one worker, nor less than the bound, which is 4 % below on average at most. A worker
 * that is left out would not help. CLEAVE_JOINTS=10000 tries more. */
static void plans_hold_and_beat_plans_apart(void **state)
{
    const struct cleave_trial trial = { .runs = 1, .threads = 1 };
    const char *more = getenv("CLEAVE_JOINTS");
    const int trials = more != NULL ? (int)strtol(more, NULL, 10) : TRIALS;
    struct cleave_worker workers[MOST];
    uint32_t order[MOST], used;
    struct cv_arena arena;
    double below = 0;

    (void)state;
    cv_arena_init(&arena);
    for (int i = 0; i < trials; i++) {
        double apart_s, bound_s, sum = 0;
        struct cv_joint_plan plan;
        struct cv_joint_job job;
        struct cv_random random;
        struct cleave_stats stats;
        struct cleave_error err;

        cv_random_at(&random, 21, (uint32_t)i, 0, 0);
        draw_job(&random, MOST, workers, order, &job);
        assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
        assert_ok(cv_joint_apart(&job, &apart_s, &used, &err), &err);
        assert_ok(cv_joint_bound(&job, &bound_s, &err), &err);
        assert_ok(cv_joint_simulate(&job, &plan, 1, &trial, &stats, &err), &err);
        for (uint32_t k = 0; k < plan.used; k++) {
            assert_true(plan.sizes[k] >= 0);
            sum += plan.sizes[k];
        }
        assert_near(sum, job.load.units, 1e-9);
        assert_true(stats.mean_s <= plan.end_s * (1 + 1e-9));
        if (!job.at_master)
            assert_near(stats.mean_s, plan.end_s, 1e-9);
        if (!(plan.end_s <= apart_s * (1 + 1e-9)) ||
            !(plan.end_s <= alone_s(&job) * (1 + 1e-9)))
            fail_msg("platform %d: %.17g s, apart %.17g s, one worker %.17g s", i,
                     plan.end_s, apart_s, alone_s(&job));
        for (uint32_t w = 0; w < job.nworkers; w++)
            assert_true(plan.with_s[w] >= plan.end_s * (1 - 1e-9));
        assert_true(bound_s <= plan.end_s * (1 + 1e-9));
        below += 1 - bound_s / plan.end_s;
        cv_arena_reset(&arena);
    }
    assert_true(below <= 0.04 * trials);
    cv_arena_done(&arena);
}

/* --- all sets, orders, trees and places in the tree, with a linear program for each --- */

enum { FEW = 4, SHAPES = 6, FIRST = 200, FEW_TRIALS = 40 };

struct brute {
    const struct cv_joint_job *job;
    struct cv_tableau program;
    double shapes[FEW + 1][SHAPES][FEW]; /* tails, by number of nodes */
    uint32_t nshapes[FEW + 1];
    uint32_t order[FEW], n;
    double tails[FEW], time_s, most;
};

/* The most units that these workers can do in the time with these tails. */
static void solve(struct brute *brute)
{
    const struct cv_joint_job *job = brute->job;
    const bool port = job->at_master && !job->load.multi && !job->duplex;
    struct cv_tableau *program = &brute->program;
    const uint32_t n = brute->n;
    double sent_s = 0, longest = 0, units[FEW], sum = 0;

    cv_tableau_resize(program, n, n + port);
    memset(program->matrix, 0, (size_t)n * (n + port) * sizeof *program->matrix);
    for (uint32_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &job->load.workers[brute->order[k]];

        sent_s = (job->load.multi ? 0 : sent_s) + worker->latency_s;
        longest = fmax(longest, brute->tails[k]);
        program->worth[k] = 1;
        program->simplex.value[k] =
            brute->time_s - brute->tails[k] - worker->compute_latency_s - sent_s;
        for (uint32_t i = job->load.multi ? k : 0; i <= k; i++)
            program->matrix[k * n + i] =
                1 / job->load.workers[brute->order[i]].bandwidth_ups;
        program->matrix[k * n + k] += 1 / worker->speed_ups;
        if (port)
            program->matrix[n * n + k] = 1 / worker->bandwidth_ups;
    }
    if (port)
        program->simplex.value[n] = brute->time_s - longest - sent_s;
    for (uint32_t k = 0; k < n + port; k++)
        if (program->simplex.value[k] < 0)
            return;
    assert_true(cv_tableau_run(program, units));
    for (uint32_t k = 0; k < n; k++)
        sum += units[k];
    brute->most = fmax(brute->most, sum);
}

/* Each tail to each place. */
static void try_places(struct brute *brute, const double *tails, uint32_t place,
                       unsigned taken)
{
    if (place == brute->n)
        solve(brute);
    for (uint32_t i = 0; place < brute->n && i < brute->n; i++)
        if ((taken >> i & 1) == 0) {
            brute->tails[place] = tails[i];
            try_places(brute, tails, place + 1, taken | 1U << i);
        }
}

static void try_sets(struct brute *brute, unsigned taken)
{
    for (uint32_t i = 0; brute->n > 0 && i < brute->nshapes[brute->n]; i++)
        try_places(brute, brute->shapes[brute->n][i], 0, 0);
    for (uint32_t i = 0; i < brute->job->nworkers; i++)
        if ((taken >> i & 1) == 0) {
            brute->order[brute->n++] = i;
            try_sets(brute, taken | 1U << i);
            brute->n--;
        }
}

/* All trees of n nodes, seen from the end: a node more under each node. */
static void grow(struct brute *brute, uint32_t n, double *born_s, uint32_t *senders)
{
    const struct cv_tail_costs *costs = &brute->job->costs;
    const double both = costs->d + costs->c, each = costs->model == CLEAVE_READY_MERGE
                                                        ? both
                                                        : fmax(costs->d, costs->c);
    double *tails = brute->shapes[n][brute->nshapes[n]++];

    for (uint32_t i = 0; i < n; i++)
        tails[i] = senders[i] == 0 ? born_s[i]
                   : costs->model == CLEAVE_READY_EARLY
                       ? born_s[i] + senders[i] * costs->c
                       : born_s[i] + both + (senders[i] - 1) * each;
    for (uint32_t i = 0; n < FEW && i < n; i++) {
        born_s[n] = born_s[i] + both + senders[i]++ * each;
        senders[n] = 0;
        grow(brute, n + 1, born_s, senders);
        senders[i]--;
    }
}

/* One after the other over the master's port; the first two are combined together. */
static void line_up(struct brute *brute)
{
    const double d = brute->job->costs.d, c = brute->job->costs.c;

    for (uint32_t n = 1; n <= FEW; n++) {
        double *tails = brute->shapes[n][0];

        brute->nshapes[n] = 1;
        for (uint32_t k = 0; k < n; k++)
            tails[k] = k + 1 < n ? d + c + k * fmax(d, c) : k == 0 ? d : tails[k - 1] + d;
    }
}

static double most_in(struct brute *brute, double time_s)
{
    brute->time_s = time_s;
    brute->most = 0;
    try_sets(brute, 0);
    return brute->most;
}

/* No other way is 2 % shorter, and none ends before the bound. */
static void few_workers_are_planned_as_well_as_by_trying_all(void **state)
{
    struct cleave_worker workers[FEW];
    uint32_t order[FEW];
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t i = FIRST; i < FIRST + FEW_TRIALS; i++) {
        struct brute brute = { .nshapes = { 0 } };
        double born_s[FEW] = { 0 }, bound_s;
        uint32_t senders[FEW] = { 0 };
        struct cv_joint_plan plan;
        struct cv_joint_job job;
        struct cv_random random;
        struct cleave_error err;

        cv_random_at(&random, 22, i, 0, 0);
        draw_job(&random, FEW, workers, order, &job);
        brute.job = &job;
        assert_true(cv_tableau_init(&brute.program, FEW, FEW + 1, &arena));
        if (job.at_master)
            line_up(&brute);
        else
            grow(&brute, 1, born_s, senders);
        assert_ok(cv_joint_plan(&job, &arena, &plan, &err), &err);
        assert_ok(cv_joint_bound(&job, &bound_s, &err), &err);
        assert_true(most_in(&brute, plan.end_s * (1 + 1e-9)) >= job.load.units);
        assert_true(most_in(&brute, bound_s * (1 - 1e-9)) <= job.load.units);
        assert_true(most_in(&brute, plan.end_s / 1.02) <= job.load.units);
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
 * after that two combinations a second, each with a finished one. A transfer of half a
 * second moves the partials of a pair apart. */
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
    /* The third gets no order. */
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
        cmocka_unit_test(few_workers_are_planned_as_well_as_by_trying_all),
        cmocka_unit_test(gains_are_those_worked_out),
        cmocka_unit_test(several_fold_at_a_time),
        cmocka_unit_test(reduces_what_any_policy_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
