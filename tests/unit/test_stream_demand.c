/* test_stream_demand.c -- clusters for streams that do not want the same throughput.
 * SPDX-License-Identifier: MIT */
#include "stream_check.h"

#include "select/streams/stream_select.h"

enum { WORKERS = 60, STREAMS = 4 };

static void random_workers(struct cleave_worker *workers, uint32_t n, uint32_t number)
{
    struct cv_random random;

    cv_random_at(&random, 71, number, 0, 0);
    for (uint32_t w = 0; w < n; w++)
        workers[w] = stream_worker(&random);
}

static double least_share(const struct cv_stream_choice *choice, const double *demands,
                          uint32_t n)
{
    double total = 0, min = INFINITY;

    assert_int_equal(choice->nstreams, n);
    for (uint32_t m = 0; m < n; m++)
        total += demands[m];
    for (uint32_t m = 0; m < n; m++)
        min =
            fmin(min, choice->stream_ups[m] / choice->throughput / (demands[m] / total));
    return min;
}

/* No worker serves two streams, and rounds hold. */
static void check_clusters(const struct cv_stream_choice *choice, uint32_t n, double tau)
{
    uint32_t taken = 0;

    for (uint32_t m = 0; m < choice->nstreams; m++) {
        assert_true(choice->delay_sum[m] <= tau * (1 + 1e-12));
        for (uint32_t i = choice->first[m]; i < choice->first[m + 1]; i++)
            assert_int_equal(choice->stream_of[choice->members[i]], m);
    }
    for (uint32_t w = 0; w < n; w++)
        taken += choice->stream_of[w] != UINT32_MAX;
    assert_int_equal(taken, choice->selected);
    assert_int_equal(taken, choice->first[choice->nstreams]);
}

static void shares_follow_demands(void **state)
{
    const double demands[STREAMS] = { 1, 4, 2, 3 };
    struct cleave_error err;
    struct cv_arena arena;
    unsigned within = 0, tried = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 40; number++) {
        struct cleave_worker workers[WORKERS];
        const struct cv_stream_task task = {
            { workers, WORKERS, number % 2 == 0 ? 0.6 : 3, 0.5, NULL, NULL },
            STREAMS,
            CV_SELECT_OWN,
            20000000,
        };
        struct cv_stream_choice plain, choice;

        random_workers(workers, WORKERS, number);
        MUST(cv_stream_select(&task, &arena, &plain, &err));
        MUST(cv_stream_select_demand(&task, demands, 0.05, &arena, &choice, &err));
        check_clusters(&choice, WORKERS, task.ring.tau_s);
        assert_true(choice.throughput >= plain.throughput * (1 - 1e-9));
        assert_true(least_share(&choice, demands, sizeof demands / sizeof *demands) >=
                    least_share(&plain, demands, sizeof demands / sizeof *demands) -
                        1e-9);
        within += least_share(&choice, demands, sizeof demands / sizeof *demands) >= 0.95;
        tried++;
        cv_arena_reset(&arena);
    }
    /* Fast workers that are few cannot always be split four to one. */
    assert_true(within > 0.7 * tried);
    cv_arena_done(&arena);
}

/* Alike workers that just fit: the stream that wants more cannot have more, and nothing
 * is taken away from the other for that. */
static void no_throughput_is_given_up(void **state)
{
    struct cleave_worker workers[20];
    const double demands[] = { 3, 1 };
    const struct cv_stream_task task = {
        { workers, 20, 0.2001, 0, NULL, NULL }, 2, CV_SELECT_OWN, 0
    };
    struct cv_stream_choice choice;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t w = 0; w < 20; w++)
        workers[w] = (struct cleave_worker){ 10, 0, 1e9, 0.01, 1e9, 0.01 };
    MUST(cv_stream_select_demand(&task, demands, 0.01, &arena, &choice, &err));
    check_clusters(&choice, 20, task.ring.tau_s);
    assert_int_equal(choice.selected, 20);
    assert_true(choice.optimal &&
                least_share(&choice, demands, sizeof demands / sizeof *demands) < 0.99);
    assert_near(least_share(&choice, demands, sizeof demands / sizeof *demands),
                0.5 / 0.75, 1e-9);
    cv_arena_done(&arena);
}

static void equal_demands_are_levelled(void **state)
{
    /* One cluster has room for all: with two, both want half of it. */
    struct cleave_worker workers[10];
    const double demands[] = { 1, 1 };
    const struct cv_stream_task task = {
        { workers, 10, 10, 0.1, NULL, NULL }, 2, CV_SELECT_OWN, 0
    };
    struct cv_stream_choice choice;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t w = 0; w < 10; w++)
        workers[w] = (struct cleave_worker){ 1 + w, 0.001, 1e4, 0.001, 1e4, 0.001 };
    MUST(cv_stream_select_demand(&task, demands, 0.02, &arena, &choice, &err));
    check_clusters(&choice, 10, 10);
    assert_int_equal(choice.selected, 10);
    assert_true(least_share(&choice, demands, sizeof demands / sizeof *demands) >= 0.98);
    cv_arena_done(&arena);
}

static void bad_demands_are_errors(void **state)
{
    const struct cleave_worker worker = { 10, 0, 1e9, 0.01, 1e9, 0.01 };
    const struct cv_stream_task task = {
        { &worker, 1, 1, 0, NULL, NULL }, 2, CV_SELECT_OWN, 0
    };
    const double good[] = { 1, 1 }, bad[] = { 1, 0 };
    struct cv_stream_choice choice;
    struct cleave_error err;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_int_equal(cv_stream_select_demand(&task, bad, 0.1, &arena, &choice, &err),
                     CLEAVE_EINPUT);
    MUST(cv_stream_select_demand(&task, good, 0.1, &arena, &choice, &err));
    assert_int_equal(choice.selected, 1);
    assert_true(least_share(&choice, good, sizeof good / sizeof *good) == 0);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_demands),
        cmocka_unit_test(no_throughput_is_given_up),
        cmocka_unit_test(equal_demands_are_levelled),
        cmocka_unit_test(bad_demands_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
