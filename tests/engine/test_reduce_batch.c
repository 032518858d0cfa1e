/* test_reduce_batch.c -- the fast way to many runs of a reduction gives the numbers of driver
 * and native engine, to the last bit. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "engine/driver.h"
#include "model/reduce/reduce_costs.h"
#include "sim/reduce/native_reduce.h"
#include "sim/reduce/reduce_batch.h"

/* Policies with the settings that change what they do. */
static const struct how {
    const char *policy;
    struct cleave_setting settings[3];
    size_t nsettings;
} hows[] = {
    { "tree-dyn", { { 0 } }, 0 },
    { "tree-dyn", { { "cluster", "5" } }, 1 },
    { "ordered-tree-dyn", { { 0 } }, 0 },
    { "ordered-tree-dyn", { { "prefer", "1" } }, 1 },
    { "ordered-tree-dyn", { { "prefer", "2" } }, 1 },
    { "ordered-tree-dyn", { { "prefer", "3" } }, 1 },
    { "binomial", { { 0 } }, 0 },
    { "fibonacci", { { 0 } }, 0 },
    { "fibonacci", { { "buffer", "1" } }, 1 },
    { "greedy", { { 0 } }, 0 },
    { "greedy", { { "ordered", "1" } }, 1 },
    { "greedy", { { "max_transfers", "3" } }, 1 },
    { "greedy", { { "max_reducers", "4" } }, 1 },
    { "tree-adapt", { { 0 } }, 0 },
    { "tree-adapt", { { "overlap", "0" } }, 1 },
    { "tree-adapt", { { "speeds", "0" } }, 1 },
    { "ordered-adapt", { { 0 } }, 0 },
    { "ordered-adapt", { { "wait", "0" } }, 1 },
    { "ordered-adapt", { { "wait", "20" }, { "ratio", "1" } }, 2 },
    { "ordered-adapt", { { "speeds", "0" } }, 1 },
};

/* The last ones: few different times, none at all, and times closer to each other than
 * the keys of a row can tell. */
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

static const uint32_t sizes[] = {
    1, 2, 3, 5, 8, 13, 33, 64, 100, 119, 120, 121, 128, 150
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { RUNS = 12 };

/* Of the numbers of nodes every so manieth is tried with each cost, and others with the next. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { STEP = 6 };
#else
enum { STEP = 2 };
#endif

static uint64_t compared, left_to_driver;

static void compare_runs(const struct how *how, const struct cv_planned *planned,
                         const struct cv_reduce_costs *costs, uint64_t first)
{
    struct cv_run_result results[RUNS];
    struct cv_reduce_batch *batch = NULL;
    struct cv_driver *driver = NULL;
    struct cleave_error err;

    assert_int_equal(cv_reduce_batch_open(planned, costs, &batch, &err), CLEAVE_OK);
    assert_int_equal(cv_driver_open(planned, cv_native_reduce_for(planned->policy), NULL,
                                    costs, &driver, &err),
                     CLEAVE_OK);
    assert_int_equal(cv_reduce_batch_run(batch, first, first + RUNS, results, &err),
                     CLEAVE_OK);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct cv_run run = { .number = (uint32_t)first + i };
        struct cv_outcome outcome;
        double ready_s[256];

        for (uint32_t k = 0; costs->has_ready && k < costs->nodes; k++)
            ready_s[k] = cv_ready_time(costs, run.number, k);
        run.ready_s = costs->has_ready ? ready_s : NULL;
        run.ready_model = costs->ready_model;

        assert_int_equal(cv_driver_run(driver, &run, NULL, &outcome, &err), CLEAVE_OK);
        if (results[i].makespan_s != outcome.makespan_s ||
            results[i].chunks != (double)outcome.chunks)
            fail_msg("%s (%s), %u nodes, transfer mean %g cv %g, compute mean %g cv %g, "
                     "run %u: %.17g, not %.17g",
                     how->policy, how->nsettings > 0 ? how->settings[0].key : "",
                     costs->nodes, costs->transfer.mean, costs->transfer.cv,
                     costs->compute.mean, costs->compute.cv, run.number,
                     results[i].makespan_s, outcome.makespan_s);
        compared++;
    }
    left_to_driver += cv_reduce_batch_left(batch);
    cv_reduce_batch_close(batch);
    cv_driver_close(driver);
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
        compare_runs(how, &planned, costs, 1000 * i);
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
                compare(&hows[h], &costs, STEP, 7 * t + c);
        }
    assert_true(compared > 100000 / STEP);
}

/* The same with ready times, some of which are equal. */
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
            for (size_t h = 0; h < COUNT(hows); h++) {
                const bool plans = strcmp(hows[h].policy, "ordered-adapt") == 0;

                compare(&hows[h], &costs, plans ? 7 : 3,
                        7 * t); /* plans: slow for many */
            }
            for (size_t h = 0; h < COUNT(more); h++)
                compare(&more[h], &costs, 8, 7 * t); /* ordered: slow for many */
        }
}

/* With costs that never meet, nothing up to 128 nodes is left to the driver. */
static void test_nothing_left(void **unused)
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
        left_to_driver = 0;
        compare_runs(&hows[h], &planned, &costs, 0);
        assert_int_equal(left_to_driver, 0);
        cv_planned_done(&planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_lengths),
        cmocka_unit_test(test_same_lengths_ready),
        cmocka_unit_test(test_nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
