/* test_fold_plan.c -- choice of folding workers: order, places, losses.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "engine/fold_plan.h"

enum { WORKERS = 5 };

static const bool ALL[WORKERS] = { true, true, true, true, true };

static struct cv_fold_plan *make(uint32_t nworkers, bool commutative, uint32_t max)
{
    struct cv_fold_plan *plan;

    assert_int_equal(cv_fold_plan_new(nworkers, commutative, false, max, &plan, NULL),
                     CLEAVE_OK);
    return plan;
}

static void add(struct cv_fold_plan *plan, uint64_t id, uint64_t begin, uint64_t end,
                uint32_t holder, uint64_t bytes)
{
    assert_int_equal(cv_fold_plan_add(plan, id, begin, end, holder, bytes, NULL),
                     CLEAVE_OK);
}

/* Partials 1, 2, ... all of one length, held by the workers of that text: "0112". */
static void add_all(struct cv_fold_plan *plan, const char *holders, uint64_t bytes)
{
    for (uint64_t i = 0; holders[i] != '\0'; i++)
        add(plan, i + 1, 10 * i, 10 * i + 10, (uint32_t)(holders[i] - '0'), bytes);
}

/* The next step is at `at` and takes `count` partials, `first` and those after it. */
static struct cv_fold_step expect(struct cv_fold_plan *plan, const bool *may, uint32_t at,
                                  uint32_t count, uint64_t first)
{
    struct cv_fold_step step;

    assert_true(cv_fold_plan_next(plan, may, false, &step));
    assert_int_equal(step.at, at);
    assert_int_equal(step.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(step.parts[i].id, first + i);
    return step;
}

static void expect_none(struct cv_fold_plan *plan, const bool *may)
{
    struct cv_fold_step step;

    assert_false(cv_fold_plan_next(plan, may, false, &step));
}

/* --- two at a time ------------------------------------------------------------------------ */

static void prefers_what_lies_together(void **state)
{
    struct cv_fold_plan *plan = make(WORKERS, false, 2);
    struct cv_fold_step step;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 10, 20, 1, 5);
    add(plan, 3, 20, 30, 1, 100);
    add(plan, 4, 40, 50, 2, 1);
    step = expect(plan, ALL, 1, 2, 2);
    assert_int_equal(step.parts[0].holder, 1);
    assert_int_equal(step.parts[1].holder, 1);
    /* All others wait: one neighbour is busy, the other one not there. */
    expect_none(plan, ALL);
    cv_fold_plan_done(plan, &step, 5, 105);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.parts[0].id, 1);
    assert_int_equal(step.parts[1].id, 5);
    assert_int_equal(step.at, 1); /* the smaller one moves */
    assert_int_equal(step.parts[0].holder, 0);
    assert_int_equal(step.parts[0].bytes, 5);
    cv_fold_plan_free(plan);
}

static void folds_where_it_may(void **state)
{
    bool may[WORKERS] = { false };
    struct cv_fold_plan *plan = make(WORKERS, false, 2);
    struct cv_fold_step step;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 10, 20, 1, 500);
    expect_none(plan, may);
    may[3] = true; /* a worker with neither of them does not fold */
    expect_none(plan, may);
    may[0] = true;
    step = expect(plan, may, 0, 2, 1);
    assert_int_equal(step.parts[1].holder, 1);
    cv_fold_plan_free(plan);
}

static void keeps_one_at_home_first(void **state)
{
    struct cv_fold_plan *plan = make(WORKERS, true, 2);
    struct cv_fold_step step;
    uint64_t id, bytes;
    uint32_t holder;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 30, 40, 0, 6);
    add(plan, 3, 20, 30, 1, 7);
    step = expect(plan, ALL, 0, 2, 1);
    /* The third one waits for what worker 0 makes. */
    expect_none(plan, ALL);
    cv_fold_plan_done(plan, &step, 4, 6);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.at, 1);
    assert_int_equal(step.parts[0].id, 4);
    assert_int_equal(step.parts[0].holder, 0);
    cv_fold_plan_done(plan, &step, 5, 9);
    assert_true(cv_fold_plan_last(plan, &id, &holder, &bytes));
    assert_int_equal(id, 5);
    assert_int_equal(holder, 1);
    assert_int_equal(bytes, 9);
    cv_fold_plan_free(plan);
}

/* --- workers that do not reach each other -------------------------------------------------- */

static struct cv_fold_plan *make_apart(bool commutative)
{
    struct cv_fold_plan *plan;

    assert_int_equal(cv_fold_plan_new(WORKERS, commutative, true, 16, &plan, NULL),
                     CLEAVE_OK);
    return plan;
}

static void apart_only_neighbours_of_one_worker_are_folded(void **state)
{
    struct cv_fold_plan *plan = make_apart(false);
    struct cv_fold_step step;

    (void)state;
    add_all(plan, "0112201", 10);
    assert_int_equal(cv_fold_plan_ready(plan), 4);
    /* Patience waits for a full call. */
    assert_false(cv_fold_plan_next(plan, ALL, true, &step));
    step = expect(plan, ALL, 1, 2, 2);
    cv_fold_plan_done(plan, &step, 20, 10);
    expect(plan, ALL, 2, 2, 4);
    expect_none(plan, ALL);
    cv_fold_plan_free(plan);
}

static void apart_partials_of_one_worker_are_folded_in_any_order(void **state)
{
    struct cv_fold_plan *plan = make_apart(true);
    struct cv_fold_step step;

    (void)state;
    add_all(plan, "01202", 10);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.at, 0);
    assert_int_equal(step.count, 2);
    assert_int_equal(step.parts[1].id, 4);
    cv_fold_plan_done(plan, &step, 20, 10);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.at, 2);
    expect_none(plan, ALL);
    cv_fold_plan_free(plan);
}

/* --- partials that leave --------------------------------------------------------------------- */

static bool of_worker_one(void *context, const struct cv_fold_leaver *partial)
{
    struct cv_fold_leaver *last = context;

    *last = *partial;
    return partial->holder == 1;
}

static void a_picked_partial_stays_or_leaves(void **state)
{
    static const bool only_one[WORKERS] = { [1] = true };
    struct cv_fold_plan *plan = make_apart(false);
    struct cv_fold_leaver partial, last;
    struct cv_fold_step step;

    (void)state;
    add_all(plan, "0011", 10);
    step = expect(plan, only_one, 1, 2, 3);
    /* One that is being folded is not free. */
    assert_false(cv_fold_plan_pick(plan, of_worker_one, &last, &partial));
    assert_int_equal(last.id, 2);
    assert_true(last.grows);
    cv_fold_plan_done(plan, &step, 9, 15);
    assert_true(cv_fold_plan_pick(plan, of_worker_one, &last, &partial));
    assert_int_equal(partial.id, 9);
    assert_int_equal(partial.bytes, 15);
    assert_int_equal(partial.begin, 20);
    assert_int_equal(partial.end, 40);
    assert_int_equal(partial.covers, 20);
    assert_false(partial.grows);
    assert_false(cv_fold_plan_pick(plan, of_worker_one, &last, &partial));
    cv_fold_plan_stay(plan, 9);
    assert_true(cv_fold_plan_pick(plan, of_worker_one, &last, &partial));
    cv_fold_plan_leave(plan, 9);
    assert_int_equal(cv_fold_plan_count(plan), 2);
    assert_false(cv_fold_plan_holds(plan, 1));
    assert_true(cv_fold_plan_holds(plan, 0));
    cv_fold_plan_free(plan);
}

/* --- several at a time -------------------------------------------------------------------- */

static void takes_every_partial_if_few(void **state)
{
    struct cv_fold_plan *plan = make(WORKERS, false, 16);
    struct cv_fold_step step;
    uint64_t id, bytes;
    uint32_t holder;

    (void)state;
    /* Six are one step, however many workers could share them. Worker 1 has most. */
    add_all(plan, "014121", 10);
    assert_int_equal(cv_fold_plan_ready(plan), 6);
    step = expect(plan, ALL, 1, 6, 1);
    assert_int_equal(step.parts[0].holder, 0);
    assert_int_equal(step.parts[2].holder, 4);
    assert_int_equal(step.parts[4].holder, 2);
    assert_true(cv_fold_step_has(&step, 4));
    assert_false(cv_fold_step_has(&step, 3));
    assert_int_equal(cv_fold_plan_ready(plan), 0);
    cv_fold_plan_done(plan, &step, 7, 60);
    assert_int_equal(cv_fold_plan_count(plan), 1);
    assert_true(cv_fold_plan_last(plan, &id, &holder, &bytes));
    assert_int_equal(id, 7);
    assert_int_equal(holder, 1);
    assert_int_equal(bytes, 60);
    cv_fold_plan_free(plan);
}

static void shares_many_partials(void **state)
{
    bool may[WORKERS] = { true, true, false, true, false };
    struct cv_fold_plan *plan = make(WORKERS, false, 16);

    (void)state;
    /* Worker 3 has none of them: two share the twenty, and the smaller group gets all. */
    add_all(plan, "01010101010101010101", 10);
    expect(plan, may, 0, 10, 1);
    may[0] = false;
    expect(plan, may, 1, 10, 11);
    cv_fold_plan_free(plan);
    /* One alone takes what fits, and the last one along. */
    may[1] = false;
    may[0] = true;
    plan = make(WORKERS, false, 16);
    add_all(plan, "010101010101010101010101010101", 10);
    expect(plan, may, 0, 16, 1);
    expect(plan, may, 0, 14, 17);
    cv_fold_plan_free(plan);
    may[1] = true;
    plan = make(WORKERS, false, 16);
    add_all(plan, "0101010101010", 10);
    expect(plan, may, 0, 7, 1);
    cv_fold_plan_free(plan);
}

static void takes_the_longest_then_the_nearest(void **state)
{
    const uint64_t large = 1 << 20;
    struct cv_fold_plan *plan = make(WORKERS, false, 3);

    (void)state;
    /* Three before two, though two would lie together. */
    add_all(plan, "0012", large);
    add(plan, 5, 100, 110, 3, 1);
    add(plan, 6, 110, 120, 3, 1);
    expect(plan, ALL, 0, 3, 1);
    expect(plan, ALL, 3, 2, 5);
    cv_fold_plan_free(plan);
    /* Three that lie together before three that are smaller. */
    plan = make(WORKERS, false, 3);
    add_all(plan, "012", 1);
    add(plan, 4, 100, 110, 3, large);
    add(plan, 5, 110, 120, 3, large);
    add(plan, 6, 120, 130, 3, large);
    expect(plan, ALL, 3, 3, 4);
    expect(plan, ALL, 0, 3, 1);
    cv_fold_plan_free(plan);
    /* The smallest of a run, whether or not that divides it. */
    plan = make(WORKERS, false, 3);
    add(plan, 1, 0, 10, 0, 10 * large);
    for (uint64_t i = 2; i < 8; i++)
        add(plan, i, 10 * i - 10, 10 * i, (uint32_t)i % 3, i == 4 ? 2 * large : large);
    expect(plan, ALL, 2, 3, 5);
    cv_fold_plan_free(plan);
}

static void any_of_a_worker_at_once(void **state)
{
    bool may[WORKERS] = { true, true, true, true, false };
    struct cv_fold_plan *plan = make(WORKERS, true, 4);
    struct cv_fold_step step, other;

    (void)state;
    add(plan, 1, 0, 10, 0, 50);
    add(plan, 2, 10, 20, 1, 5);
    for (uint64_t i = 3; i < 8; i++)
        add(plan, i, 10 * i, 10 * i + 10, 0, 60 - i);
    add(plan, 8, 90, 100, 4, 1);
    add(plan, 9, 100, 110, 2, 3);
    /* Worker 0 has six: the four smallest of them. */
    assert_true(cv_fold_plan_next(plan, may, false, &step));
    assert_int_equal(step.at, 0);
    assert_int_equal(step.count, 4);
    assert_int_equal(step.parts[0].id, 1);
    assert_int_equal(step.parts[1].id, 7);
    assert_int_equal(step.parts[2].id, 6);
    assert_int_equal(step.parts[3].id, 5);
    may[0] = false;
    /* Other workers only if they may give their only partial. */
    assert_true(cv_fold_plan_next(plan, may, false, &other));
    assert_int_equal(other.at, 1);
    assert_int_equal(other.count, 2);
    assert_int_equal(other.parts[0].id, 9);
    assert_int_equal(other.parts[0].holder, 2);
    cv_fold_plan_done(plan, &other, 10, 8);
    may[0] = may[4] = true;
    cv_fold_plan_done(plan, &step, 11, 200);
    step = (struct cv_fold_step){ 0 };
    assert_true(cv_fold_plan_next(plan, may, false, &step));
    assert_int_equal(step.at, 0);
    assert_int_equal(step.count, 3); /* its own partial and the two left */
    cv_fold_plan_done(plan, &step, 12, 300);
    assert_true(cv_fold_plan_next(plan, may, false, &step));
    assert_int_equal(step.at, 0);
    assert_int_equal(step.count, 3); /* one each of 0, 1 and 4 */
    cv_fold_plan_done(plan, &step, 13, 1);
    assert_int_equal(cv_fold_plan_count(plan), 1);
    cv_fold_plan_free(plan);
}

static void a_few_small_ones_wait(void **state)
{
    struct cv_fold_step step;

    (void)state;
    for (int commutative = 0; commutative < 2; commutative++) {
        struct cv_fold_plan *plan = make(WORKERS, commutative, 16);

        add_all(plan, "11111", 100);
        assert_false(cv_fold_plan_next(plan, ALL, true, &step));
        add(plan, 6, 50, 60, 1, 100);
        assert_true(cv_fold_plan_next(plan, ALL, true, &step));
        assert_int_equal(step.count, 6);
        cv_fold_plan_done(plan, &step, 7, 100);
        /* Two that are large do not wait, nor do two when nothing more comes. */
        add(plan, 8, 60, 70, 1, 100);
        assert_false(cv_fold_plan_next(plan, ALL, true, &step));
        assert_true(cv_fold_plan_next(plan, ALL, false, &step));
        cv_fold_plan_done(plan, &step, 9, 1 << 20);
        add(plan, 10, 70, 80, 1, 100);
        assert_true(cv_fold_plan_next(plan, ALL, true, &step));
        cv_fold_plan_free(plan);
    }
}

static enum cleave_status count_again(void *context, uint64_t begin, uint64_t end,
                                      struct cleave_error *err)
{
    uint64_t *sum = context;

    (void)err;
    *sum += end - begin;
    return CLEAVE_OK;
}

/* One of several givers is lost: the others still have their partials. */
static void a_giver_is_lost(void **state)
{
    struct cv_fold_plan *plan = make(WORKERS, false, 16);
    struct cv_fold_step step;
    uint64_t lost = 0;

    (void)state;
    add_all(plan, "01213", 10);
    step = expect(plan, ALL, 1, 5, 1);
    cv_fold_plan_undo(plan, &step);
    assert_int_equal(cv_fold_plan_lose(plan, 2, count_again, &lost, NULL), CLEAVE_OK);
    assert_int_equal(lost, 10);
    assert_int_equal(cv_fold_plan_count(plan), 4);
    /* The rest is in two runs, until the lost part has been computed again. */
    step = expect(plan, ALL, 0, 2, 1);
    cv_fold_plan_undo(plan, &step);
    add(plan, 3, 20, 30, 4, 10);
    step = expect(plan, ALL, 1, 5, 1);
    cv_fold_plan_done(plan, &step, 6, 50);
    /* All partials of a step are lost with its worker. */
    lost = 0;
    assert_int_equal(cv_fold_plan_lose(plan, 1, count_again, &lost, NULL), CLEAVE_OK);
    assert_int_equal(lost, 50);
    assert_int_equal(cv_fold_plan_count(plan), 0);
    cv_fold_plan_free(plan);
}

/* --- ahead -------------------------------------------------------------------------------- */

static void partials_go_ahead_to_the_folding_worker(void **state)
{
    struct cv_fold_plan *plan = make(WORKERS, false, 2);
    struct cv_fold_step step;
    struct cv_fold_part part;

    (void)state;
    add_all(plan, "0112", 5);
    step = expect(plan, ALL, 1, 2, 2);
    expect_none(plan, ALL);
    assert_true(cv_fold_plan_ahead(plan, &step, ALL, 77, &part));
    assert_int_equal(part.id, 1);
    assert_int_equal(part.holder, 0);
    assert_int_equal(part.ahead, 1);
    /* The other neighbour stays: there is room for one. */
    assert_false(cv_fold_plan_ahead(plan, &step, ALL, 78, &part));
    expect_none(plan, ALL);
    cv_fold_plan_done(plan, &step, 9, 500);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.at, 1);
    assert_int_equal(step.parts[0].id, 1);
    assert_int_equal(step.parts[0].holder, 0);
    assert_int_equal(step.parts[0].ahead, 1);
    assert_int_equal(step.parts[0].name, 77);
    assert_int_equal(step.parts[1].ahead, CV_FOLD_NOBODY);
    /* When a step is undone, what went ahead has to go again. */
    cv_fold_plan_undo(plan, &step);
    assert_true(cv_fold_plan_next(plan, ALL, false, &step));
    assert_int_equal(step.parts[0].ahead, CV_FOLD_NOBODY);
    cv_fold_plan_free(plan);
}

static struct cv_fold_step step_of(uint64_t bytes, bool moves, bool ahead)
{
    return (struct cv_fold_step){ .at = 1,
                                  .count = 2,
                                  .parts = { { 1, bytes, 1, CV_FOLD_NOBODY, 0 },
                                             { 2, bytes, moves ? 0 : 1,
                                               ahead ? 1 : CV_FOLD_NOBODY, 0 } } };
}

/* 1000 bytes take 2 s to move, and 2000 bytes 3 s to fold. */
static void is_near_with_one_transfer_to_go(void **state)
{
    const struct cv_fold_step here = step_of(1000, false, false);
    const struct cv_fold_step from = step_of(1000, true, false);
    const struct cv_fold_step came = step_of(1000, true, true);
    struct cv_fold_pace pace = { 0 };

    (void)state;
    assert_true(isinf(cv_fold_pace_near_s(&pace, &here, 10, 1000)));
    cv_fold_pace_saw(&pace, &from, 5, -1); /* who knows what of it was folding? */
    cv_fold_pace_saw(&pace, &came, 9, -1); /* nor how long it had to wait */
    assert_true(isinf(cv_fold_pace_near_s(&pace, &here, 10, 1000)));
    cv_fold_pace_saw(&pace, &here, 3, -1);
    assert_true(isinf(cv_fold_pace_near_s(&pace, &here, 10, 1000)));
    cv_fold_pace_saw(&pace, &from, 5, -1);
    assert_float_equal(cv_fold_pace_near_s(&pace, &here, 10, 1000), 11, 1e-9);
    assert_float_equal(cv_fold_pace_near_s(&pace, &from, 10, 1000), 13, 1e-9);
    assert_float_equal(cv_fold_pace_near_s(&pace, &came, 10, 1000), 11, 1e-9);
    pace = (struct cv_fold_pace){ 0 };
    cv_fold_pace_saw(&pace, &from, 5, 3); /* it reports that */
    assert_float_equal(cv_fold_pace_near_s(&pace, &here, 10, 1000), 11, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefers_what_lies_together),
        cmocka_unit_test(folds_where_it_may),
        cmocka_unit_test(keeps_one_at_home_first),
        cmocka_unit_test(apart_only_neighbours_of_one_worker_are_folded),
        cmocka_unit_test(apart_partials_of_one_worker_are_folded_in_any_order),
        cmocka_unit_test(a_picked_partial_stays_or_leaves),
        cmocka_unit_test(takes_every_partial_if_few),
        cmocka_unit_test(shares_many_partials),
        cmocka_unit_test(takes_the_longest_then_the_nearest),
        cmocka_unit_test(any_of_a_worker_at_once),
        cmocka_unit_test(a_few_small_ones_wait),
        cmocka_unit_test(a_giver_is_lost),
        cmocka_unit_test(partials_go_ahead_to_the_folding_worker),
        cmocka_unit_test(is_near_with_one_transfer_to_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
