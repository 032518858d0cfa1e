/* test_reduce_fixed.c -- a fixed tree evaluated without events has the length that driver and
 * native engine find, to the last bit. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "engine/driver.h"
#include "model/reduce/reduce_costs.h"
#include "sim/reduce/fixed_tree.h"
#include "sim/reduce/native_reduce.h"

/* Policies with the settings that change their behaviour. */
static const struct how {
    const char *policy;
    struct cleave_setting settings[3];
    size_t nsettings;
} hows[] = {
    { "binomial", { { 0 } }, 0 },
    { "fibonacci", { { 0 } }, 0 },
    { "fibonacci", { { "buffer", "1" } }, 1 },
    { "greedy", { { 0 } }, 0 },
    { "greedy", { { "ordered", "1" } }, 1 },
    { "greedy", { { "max_transfers", "3" } }, 1 },
    { "greedy", { { "max_reducers", "4" } }, 1 },
};

static const char *const transfers[] = {
    "gamma:1,0.1",       "gamma:1,1",
    "gamma:1,3",         "uniform:1,2",
    "const:1",           "bernoulli:1,2,0.5",
    "bernoulli:0,1,0.5", "gamma:1,30",
    "const:0",           "uniform:1,1.00000000000002",
};

static const struct {
    const char *distribution;
    enum cleave_compute_model model;
} computes[] = {
    { "0", CLEAVE_COMPUTE_FRESH },         { "1", CLEAVE_COMPUTE_FRESH },
    { "gamma:1,1", CLEAVE_COMPUTE_FRESH }, { "gamma:1,1", CLEAVE_COMPUTE_FIXED },
    { "0.25", CLEAVE_COMPUTE_FRESH },      { "bernoulli:0,1,0.5", CLEAVE_COMPUTE_FRESH },
};

static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 13, 33, 64, 100, 128, 150 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { RUNS = 12 };

static uint64_t compared, undecided;

static void compare_runs(const struct how *how, const struct cv_planned *planned,
                         const struct cv_reduce_costs *costs, uint32_t first)
{
    struct cv_driver *driver = NULL;
    struct cv_fixed_tree tree;
    struct cv_arena arena;
    struct cleave_error err;
    bool is_fixed = false;

    cv_arena_init(&arena);
    assert_int_equal(cv_fixed_tree_init(&tree, planned->policy, planned->state,
                                        &planned->view, costs, &arena, &is_fixed, &err),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_open(planned, cv_native_reduce_for(planned->policy), NULL,
                                    costs, &driver, &err),
                     CLEAVE_OK);
    for (uint32_t i = 0; is_fixed && i < RUNS; i++) {
        const double length_s = cv_fixed_tree_run(&tree, first + i);
        struct cv_run run = { .number = first + i };
        struct cv_outcome outcome;
        double ready_s[256];

        for (uint32_t k = 0; costs->has_ready && k < costs->nodes; k++)
            ready_s[k] = cv_ready_time(costs, run.number, k);
        run.ready_s = costs->has_ready ? ready_s : NULL;
        run.ready_model = costs->ready_model;
        assert_int_equal(cv_driver_run(driver, &run, NULL, &outcome, &err), CLEAVE_OK);
        if (!isnan(length_s) && length_s != outcome.makespan_s)
            fail_msg("%s (%s), %u nodes, transfer mean %g cv %g, compute mean %g cv %g, "
                     "run %u: %.17g, not %.17g",
                     how->policy, how->nsettings > 0 ? how->settings[0].key : "",
                     costs->nodes, costs->transfer.mean, costs->transfer.cv,
                     costs->compute.mean, costs->compute.cv, run.number, length_s,
                     outcome.makespan_s);
        undecided += isnan(length_s) ? 1 : 0;
        compared++;
    }
    cv_driver_close(driver);
    cv_arena_done(&arena);
}

static void compare(const struct how *how, struct cv_reduce_costs *costs, size_t step,
                    uint64_t seed)
{
    const struct cleave_policy *policy = NULL;
    struct cleave_error err;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_REDUCE, how->policy, &policy, &err),
                     CLEAVE_OK);
    for (size_t i = seed % step; i < COUNT(sizes); i += step) {
        struct cv_planned planned;

        costs->nodes = sizes[i];
        assert_int_equal(cv_planned_reduce_costs(&planned, policy, how->settings,
                                                 how->nsettings, costs, seed, &err),
                         CLEAVE_OK);
        compare_runs(how, &planned, costs, (uint32_t)(1000 * i));
        cv_planned_done(&planned);
    }
}

static void test_same_lengths(void **unused)
{
    struct cleave_error err;

    (void)unused;
    for (size_t t = 0; t < COUNT(transfers); t++)
        for (size_t c = 0; c < COUNT(computes); c++) {
            struct cv_reduce_costs costs = { .model = computes[c].model };

            assert_int_equal(cv_distribution_parse(transfers[t], &costs.transfer, &err),
                             CLEAVE_OK);
            assert_int_equal(cv_distribution_parse(computes[c].distribution,
                                                   &costs.compute, &err),
                             CLEAVE_OK);
            cv_reduce_costs_seed(&costs, 7 * t + c);
            for (size_t h = 0; h < COUNT(hows); h++)
                compare(&hows[h], &costs, 2, 7 * t + c);
        }
    assert_true(compared > 20000);
}

/* With ready times, some of which are equal. */
static void test_same_lengths_ready(void **unused)
{
    static const char *const laws[] = { "uniform:0,4", "bernoulli:1,3,0.5", "exp:2" };
    static const char *const costs_of[] = { "gamma:1,1", "1", "bernoulli:0,1,0.5" };
    static double means[256];
    const struct how more[] = { { "ready", { { 0 } }, 0 },
                                { "ready", { { "ordered", "1" } }, 1 },
                                { "ready", { { "root", "0" } }, 1 } };
    struct cleave_error err;

    (void)unused;
    for (size_t t = 0; t < COUNT(laws); t++)
        for (int m = CLEAVE_READY_ABSENT; m <= CLEAVE_READY_MERGE; m++) {
            struct cv_reduce_costs costs = { .has_ready = true,
                                             .ready_model = (enum cleave_ready_model)m,
                                             .mean_ready_s = means };
            const size_t other = (t + (size_t)m) % COUNT(costs_of);

            assert_int_equal(cv_distribution_parse(costs_of[t], &costs.transfer, &err),
                             CLEAVE_OK);
            assert_int_equal(cv_distribution_parse(costs_of[other], &costs.compute, &err),
                             CLEAVE_OK);
            assert_int_equal(cv_distribution_parse(laws[t], &costs.ready, &err),
                             CLEAVE_OK);
            cv_reduce_costs_seed(&costs, 7 * t);
            for (size_t h = 0; h < COUNT(hows); h++)
                compare(&hows[h], &costs, 3, 7 * t);
            for (size_t h = 0; h < COUNT(more); h++)
                compare(&more[h], &costs, 8, 7 * t); /* ordered: slow for many */
        }
}

static void test_distinct_times_are_decided(void **unused)
{
    struct cv_reduce_costs costs = { .nodes = 64 };
    struct cleave_error err;

    (void)unused;
    assert_int_equal(cv_distribution_parse("gamma:1,1", &costs.transfer, &err),
                     CLEAVE_OK);
    assert_int_equal(cv_distribution_parse("0", &costs.compute, &err), CLEAVE_OK);
    cv_reduce_costs_seed(&costs, 3);
    for (size_t h = 0; h < COUNT(hows); h++) {
        const struct cleave_policy *policy = NULL;
        struct cv_planned planned;

        assert_int_equal(cleave_policy_find(CLEAVE_TASK_REDUCE, hows[h].policy, &policy,
                                            &err),
                         CLEAVE_OK);
        assert_int_equal(cv_planned_reduce_costs(&planned, policy, hows[h].settings,
                                                 hows[h].nsettings, &costs, 3, &err),
                         CLEAVE_OK);
        undecided = 0;
        compare_runs(&hows[h], &planned, &costs, 0);
        assert_int_equal(undecided, 0);
        cv_planned_done(&planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_lengths),
        cmocka_unit_test(test_same_lengths_ready),
        cmocka_unit_test(test_distinct_times_are_decided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
