/* test_umr.c -- uniform rounds: sizes, number of rounds, excluded workers.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <string.h>

#include "policy/common/setup.h"
#include "policy/static/umr.h"

static void fill(struct cleave_worker *workers, uint32_t n, struct cleave_worker like)
{
    for (uint32_t i = 0; i < n; i++)
        workers[i] = like;
}

/* While a round but the last is computed the next one is sent, exactly. */
static void sending_a_round_takes_as_long_as_the_one_before(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        struct cleave_worker workers[10];
        struct cv_random random;
        struct cv_umr plan;
        double load;

        cv_random_at(&random, 11, number, 0, 0);
        load = random_scale(&random, 100, 1e5);
        for (uint32_t i = 0; i < 10; i++)
            workers[i] = random_worker(&random);
        MUST(cv_umr_plan(workers, 10, load, 60, 0, &arena, &plan, &err));
        check_plan(workers, 10, &plan.plan, load, plan.makespan_s);
        assert_int_equal(plan.plan.nchunks, plan.workers * plan.rounds);
        for (uint32_t j = 0; j + 2 < plan.rounds; j++) {
            double sent_s = 0;

            for (uint32_t i = 0; i < plan.workers; i++) {
                const struct cleave_worker *worker = &workers[plan.order[i]];
                const double units = plan.plan.units[(j + 1) * plan.workers + i];

                sent_s += worker->latency_s + units / worker->bandwidth_ups;
                assert_near(worker->compute_latency_s + units / worker->speed_ups,
                            plan.round_s[j + 1], 1e-9);
            }
            assert_near(sent_s, plan.round_s[j], 1e-9);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void neighbouring_numbers_of_rounds_are_no_better(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    unsigned compared = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 400; number++) {
        struct cleave_worker workers[8];
        struct cv_random random;
        struct cv_umr plan, other;
        double load;

        cv_random_at(&random, 12, number, 0, 0);
        load = random_scale(&random, 100, 1e5);
        for (uint32_t i = 0; i < 8; i++)
            workers[i] = random_worker(&random);
        if (number % 4 == 0) /* B = n S */
            fill(workers, 8, worker_of(1, workers[0].compute_latency_s, 8, 0.1));
        MUST(cv_umr_plan(workers, 8, load, 60, 0, &arena, &plan, &err));
        for (uint32_t rounds = plan.rounds - 1; rounds <= plan.rounds + 1; rounds += 2) {
            /* More rounds than load / eta are not allowed, however short they seem. */
            if (rounds == 0 || (plan.eta > 0 && rounds > load / plan.eta))
                continue;
            MUST(cv_umr_plan(workers, 8, load, 60, rounds, &arena, &other, &err));
            if (other.workers != plan.workers)
                continue;
            assert_true(other.expected_s >= plan.expected_s * (1 - 1e-12));
            compared++;
        }
        cv_arena_reset(&arena);
    }
    assert_true(compared > 200);
    cv_arena_done(&arena);
}

/* Leaving out workers one at a time, done the slow way. */
static void the_most_workers_are_kept(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    unsigned left_out = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        struct cleave_worker workers[12], first[12];
        struct cv_random random;
        struct cv_umr plan, fewer;
        double load;

        cv_random_at(&random, 13, number, 0, 0);
        load = random_scale(&random, 0.5, 300);
        for (uint32_t i = 0; i < 12; i++)
            workers[i] = random_worker(&random);
        MUST(cv_umr_plan(workers, 12, load, 60, 0, &arena, &plan, &err));
        for (uint32_t n = 1; n <= plan.usable; n++) {
            first[n - 1] = workers[plan.order[n - 1]];
            MUST(cv_umr_plan(first, n, load, 60, 0, &arena, &fewer, &err));
            /* More workers only in more time. */
            if (n > plan.workers && fewer.workers == n)
                assert_true(fewer.makespan_s >= plan.makespan_s * (1 - 1e-9));
            if (n != plan.workers)
                continue;
            assert_int_equal(fewer.workers, n);
            assert_int_equal(fewer.rounds, plan.rounds);
        }
        left_out += plan.workers < plan.usable;
        cv_arena_reset(&arena);
    }
    assert_true(left_out > 20);
    cv_arena_done(&arena);
}

/* If the number of rounds that seems best makes a chunk negative, fewer rounds with all
 * workers may be far better than the same rounds with fewer workers. */
static void fewer_rounds_come_before_fewer_workers(void **state)
{
    const struct cleave_worker known[] = { worker_of(1, 20, 30, 0.01),
                                           worker_of(10, 1, 20, 0.01) };
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr plan, other;
    unsigned fewer = 0;

    (void)state;
    cv_arena_init(&arena);
    MUST(cv_umr_plan(known, 2, 200, 60, 0, &arena, &plan, &err));
    assert_int_equal(plan.workers, 2);
    assert_near(plan.makespan_s, 29.9, 1e-3);
    for (uint32_t number = 0; number < 1200; number++) {
        struct cleave_worker workers[6];
        struct cv_random random;
        double load;

        cv_random_at(&random, 14, number, 0, 0);
        load = random_scale(&random, 5, 500);
        for (uint32_t i = 0; i < 6; i++) {
            workers[i] = random_worker(&random);
            workers[i].compute_latency_s = random_scale(&random, 0.1, 30);
        }
        MUST(cv_umr_plan(workers, 6, load, 60, 0, &arena, &plan, &err));
        check_plan(workers, 6, &plan.plan, load, plan.makespan_s);
        MUST(cv_umr_plan(workers, 6, load, 60, 1, &arena, &other, &err));
        if (other.workers > 0 && plan.workers < plan.usable)
            assert_true(plan.makespan_s <= other.makespan_s * (1 + 1e-9));
        fewer += plan.rounds == 1 && plan.real_rounds > 2 && plan.workers > 1;
        cv_arena_reset(&arena);
    }
    assert_true(fewer > 0);
    cv_arena_done(&arena);
}

/* Summed from the first chunk, rounding errors of this one come to 2 % of the load. */
static void rounds_are_summed_from_the_largest(void **state)
{
    struct cleave_worker workers[5];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr plan;

    (void)state;
    cv_arena_init(&arena);
    fill(workers, 5, worker_of(1, 0, 80, 5));
    MUST(cv_umr_plan(workers, 5, 2000, 60, 14, &arena, &plan, &err));
    assert_int_equal(plan.rounds, 14);
    check_plan(workers, 5, &plan.plan, 2000, plan.makespan_s);
    cv_arena_done(&arena);
}

static void a_given_number_of_rounds_is_kept_or_refused(void **state)
{
    struct cleave_worker workers[10];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr plan;

    (void)state;
    cv_arena_init(&arena);
    fill(workers, 10, worker_of(1, 1, 20, 0.5));
    for (uint32_t rounds = 1; rounds <= 7; rounds++) {
        MUST(cv_umr_plan(workers, 10, 2000, 60, rounds, &arena, &plan, &err));
        assert_int_equal(plan.rounds, rounds);
        assert_int_equal(plan.plan.nchunks, rounds * plan.workers);
        check_plan(workers, 10, &plan.plan, 2000, plan.makespan_s);
    }
    /* A round must grow by B alpha / n units or more: 3 units cannot be nine rounds. */
    fill(workers, 10, worker_of(1, 5, 20, 0));
    MUST(cv_umr_plan(workers, 10, 3, 60, 9, &arena, &plan, &err));
    assert_int_equal(plan.workers, 0);
    cv_arena_done(&arena);
}

/* Without latencies the best number of rounds is infinite. */
static void rounds_end_when_they_make_no_difference(void **state)
{
    struct cleave_worker workers[6];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr max, enough = { 0 };

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t ratio = 5; ratio < 120; ratio += 7) {
        fill(workers, 6, worker_of(1, 0, ratio, 0));
        MUST(cv_umr_plan(workers, 6, 1000, 60, 0, &arena, &max, &err));
        MUST(cv_umr_plan_enough(workers, 6, 1000, 60, &arena, &enough, &err));
        assert_true(isinf(max.real_rounds));
        assert_int_equal(max.rounds, 60);
        assert_true(enough.rounds <= 60);
        assert_near(enough.makespan_s, max.makespan_s, 2e-9);
        check_plan(workers, 6, &enough.plan, 1000, enough.makespan_s);
    }
    assert_true(enough.rounds < 10);
    cv_arena_done(&arena);
}

static void extremes_are_planned(void **state)
{
    static const double loads[] = { 1e-9, 1, 1e15 };
    const struct cleave_worker kinds[] = {
        worker_of(1, 0, 20, 0),      worker_of(1, 1e6, 20, 1e6),
        worker_of(1e-6, 1, 20, 0.5), worker_of(1, 1, 1e-6, 1),
        worker_of(1, 0, 3, 0),       worker_of(1, 1e-12, 3, 0),
        worker_of(1, 0, 1e9, 1e-9),
    };
    struct cleave_worker workers[3];
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr plan;

    (void)state;
    cv_arena_init(&arena);
    for (size_t i = 0; i < 3; i++)
        for (size_t a = 0; a < 7; a++)
            for (size_t b = 0; b < 7; b++) {
                workers[0] = workers[2] = kinds[a];
                workers[1] = kinds[b];
                for (uint32_t n = 1; n <= 3; n++) {
                    MUST(cv_umr_plan(workers, n, loads[i], 60, 0, &arena, &plan, &err));
                    check_plan(workers, n, &plan.plan, loads[i], plan.makespan_s);
                    assert_true(isfinite(plan.expected_s) && isfinite(plan.predicted_s));
                }
                cv_arena_reset(&arena);
            }
    cv_arena_done(&arena);
}

static void a_hundred_thousand_workers(void **state)
{
    enum { N = 100000 };
    struct cleave_worker *workers = calloc(N, sizeof *workers);
    struct cv_random random;
    struct cv_arena arena;
    struct cleave_error err;
    struct cv_umr plan;

    (void)state;
    assert_non_null(workers);
    cv_arena_init(&arena);
    cv_random_at(&random, 14, 0, 0, 0);
    for (uint32_t i = 0; i < N; i++)
        workers[i] =
            worker_of(random_between(&random, 0.5, 1.5), random_between(&random, 0, 2),
                      2.0 * N * random_between(&random, 0.5, 1.5),
                      random_between(&random, 0, 0.02));
    MUST(cv_umr_plan(workers, N, 1000.0 * N, 60, 0, &arena, &plan, &err));
    check_plan(workers, N, &plan.plan, 1000.0 * N, plan.makespan_s);
    MUST(cv_umr_plan(workers, N, 0.01 * N, 60, 0, &arena, &plan, &err));
    check_plan(workers, N, &plan.plan, 0.01 * N, plan.makespan_s);
    assert_in_range(plan.workers, 1, N / 10);
    cv_arena_done(&arena);
    free(workers);
}

static const char *reason_of(const struct cv_notes *notes, uint32_t worker)
{
    for (const struct cv_left_out *note = notes->left_out; note != NULL;
         note = note->next)
        if (note->worker == worker)
            return note->reason;
    return NULL;
}

static void excluded_workers_have_reasons(void **state)
{
    struct cleave_worker workers[] = { worker_of(1, 0.5, 4, 0.2),
                                       worker_of(1, 0.5, 0.5, 0.2),
                                       worker_of(1, 0.5, 3, 40) };
    const struct cleave_view view = { .workers = workers,
                                      .nworkers = 3,
                                      .units_total = 20 };
    double block[64] = { 0 };
    struct cv_arena arena;
    struct cv_notes notes = { .arena = &arena };
    struct cleave_setup setup = { .arena = &arena, .notes = &notes };
    struct cleave_error err;

    (void)state;
    cv_arena_init(&arena);
    assert_true(sizeof block >= cleave_policy_umr.state_size);
    MUST(cv_params_store(&cleave_policy_umr, NULL, 0, block, &err));
    MUST(cleave_policy_umr.plan(block, &view, &setup, &err));
    assert_null(reason_of(&notes, 0));
    assert_non_null(reason_of(&notes, 1));
    assert_non_null(strstr(reason_of(&notes, 1), "speed/bandwidth would be 2.58 > 1"));
    assert_non_null(reason_of(&notes, 2));
    assert_non_null(strstr(reason_of(&notes, 2), "its chunk would be negative"));
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sending_a_round_takes_as_long_as_the_one_before),
        cmocka_unit_test(neighbouring_numbers_of_rounds_are_no_better),
        cmocka_unit_test(the_most_workers_are_kept),
        cmocka_unit_test(fewer_rounds_come_before_fewer_workers),
        cmocka_unit_test(rounds_are_summed_from_the_largest),
        cmocka_unit_test(a_given_number_of_rounds_is_kept_or_refused),
        cmocka_unit_test(rounds_end_when_they_make_no_difference),
        cmocka_unit_test(extremes_are_planned),
        cmocka_unit_test(a_hundred_thousand_workers),
        cmocka_unit_test(excluded_workers_have_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
