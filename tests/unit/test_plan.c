/* test_plan.c -- how long a list of chunks takes. SPDX-License-Identifier: MIT */
#include "plan_check.h"

static void empty_chunks_pay_latencies(void **state)
{
    const struct cleave_worker worker = worker_of(2, 1.5, 3, 0.7);
    uint32_t to[] = { 0, 0, 0 };
    double units[] = { 4, 0, 8.6476 }, ready[1];
    const struct cv_plan plan = { 3, to, units };

    (void)state;
    /* 0.7 + 4/3 to arrive, then three latencies and 12.6476 units without a gap. */
    assert_near(cv_plan_makespan(&worker, 1, &plan, ready),
                0.7 + 4.0 / 3 + 3 * 1.5 + 12.6476 / 2, 1e-12);
}

static void workers_wait_for_the_port(void **state)
{
    const struct cleave_worker workers[] = { worker_of(1, 0, 1, 0),
                                             worker_of(10, 1, 1, 1) };
    uint32_t to[] = { 0, 1, 0 };
    double units[] = { 2, 2, 3 }, ready[2];
    const struct cv_plan plan = { 3, to, units };

    (void)state;
    /* Arrivals at 2, 5 and 8; worker 0 is idle from 4 to 8. */
    assert_near(cv_plan_makespan(workers, 2, &plan, ready), 11, 1e-12);
    assert_near(ready[1], 6.2, 1e-12);
}

static void settling_keeps_the_load(void **state)
{
    struct cv_arena arena;
    struct cv_plan plan;

    (void)state;
    cv_arena_init(&arena);
    assert_true(cv_plan_init(&plan, &arena, 5));
    for (uint32_t k = 0; k < 5; k++)
        plan.worker[k] = k;
    plan.units[0] = 0.1;
    plan.units[1] = -1e-17;
    plan.units[2] = 0.7;
    plan.units[3] = NAN;
    plan.units[4] = 0.2000001;
    cv_plan_settle(&plan, 1);
    assert_int_equal(plan.nchunks, 3);
    assert_int_equal(plan.worker[1], 2);
    assert_int_equal(plan.worker[2], 4);
    assert_near(plan.units[1], 1 - 0.1 - 0.2000001, 1e-15);
    cv_arena_done(&arena);
}

/* (T - latencies) * speed is nothing where the latencies are 1e16 times the rest of T. */
static void a_load_below_the_rounding_is_kept(void **state)
{
    struct cv_arena arena;
    struct cv_plan plan;

    (void)state;
    cv_arena_init(&arena);
    assert_true(cv_plan_init(&plan, &arena, 2));
    plan.worker[0] = 7;
    plan.units[1] = -1e-17;
    cv_plan_settle(&plan, 1e-11);
    assert_int_equal(plan.nchunks, 1);
    assert_int_equal(plan.worker[0], 7);
    assert_float_equal(plan.units[0], 1e-11, 0);
    cv_arena_done(&arena);
}

static void too_many_chunks_are_refused(void **state)
{
    struct cv_plan plan = { .nchunks = 7 };
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_false(cv_plan_init(&plan, &arena, CV_MAX_CHUNKS + 1));
    assert_int_equal(plan.nchunks, 7);
    cv_arena_done(&arena);
    assert_int_equal(cv_chunk_cap(1), 2000);
    assert_int_equal(cv_chunk_cap(1000), 64000);
    assert_int_equal(cv_chunk_cap(1000000), 8000000);
    assert_int_equal(cv_chunk_cap(CLEAVE_MAX_WORKERS), CV_MAX_CHUNKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_chunks_pay_latencies),
        cmocka_unit_test(workers_wait_for_the_port),
        cmocka_unit_test(settling_keeps_the_load),
        cmocka_unit_test(a_load_below_the_rounding_is_kept),
        cmocka_unit_test(too_many_chunks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
