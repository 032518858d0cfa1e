/* test_fold_plan.c -- who folds what: order, places, losses. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/fold_plan.h"

enum { WORKERS = 5, MOST = 64 };

/* What a partial stands for, as the test sees it: the chunks in it, in order. */
struct value {
    unsigned char chunks[MOST];
    size_t count;
    uint32_t holder;
};

struct world {
    struct cv_fold_plan *plan;
    struct value values[4 * MOST]; /* by name */
    uint64_t names;
    bool again[MOST];
};

static struct cv_fold_plan *make(uint32_t nworkers, bool commutative)
{
    struct cv_fold_plan *plan;

    assert_int_equal(cv_fold_plan_new(nworkers, commutative, &plan, NULL), CLEAVE_OK);
    return plan;
}

static void add(struct cv_fold_plan *plan, uint64_t id, uint64_t begin, uint64_t end,
                uint32_t holder, uint64_t bytes)
{
    assert_int_equal(cv_fold_plan_add(plan, id, begin, end, holder, bytes, NULL),
                     CLEAVE_OK);
}

static void prefers_what_lies_together(void **state)
{
    static const bool all[WORKERS] = { true, true, true, true, true };
    struct cv_fold_plan *plan = make(WORKERS, false);
    struct cv_fold_step step;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 10, 20, 1, 5);
    add(plan, 3, 20, 30, 1, 100);
    add(plan, 4, 40, 50, 2, 1);
    assert_true(cv_fold_plan_next(plan, all, &step));
    assert_int_equal(step.left, 2);
    assert_int_equal(step.right, 3);
    assert_int_equal(step.at, 1);
    assert_true(step.giver == CV_FOLD_NOBODY);
    /* All others wait: one neighbour is busy, the other one not there. */
    {
        struct cv_fold_step other;

        assert_false(cv_fold_plan_next(plan, all, &other));
    }
    cv_fold_plan_done(plan, &step, 5, 105);
    assert_true(cv_fold_plan_next(plan, all, &step));
    assert_int_equal(step.left, 1);
    assert_int_equal(step.right, 5);
    assert_int_equal(step.at, 1); /* the smaller one moves */
    assert_int_equal(step.giver, 0);
    assert_int_equal(step.moves, 1);
    assert_int_equal(step.bytes, 5);
    cv_fold_plan_free(plan);
}

static void folds_where_it_may(void **state)
{
    bool may[WORKERS] = { false };
    struct cv_fold_plan *plan = make(WORKERS, false);
    struct cv_fold_step step;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 10, 20, 1, 500);
    assert_false(cv_fold_plan_next(plan, may, &step));
    may[3] = true; /* who has neither of them does not fold */
    assert_false(cv_fold_plan_next(plan, may, &step));
    may[0] = true;
    assert_true(cv_fold_plan_next(plan, may, &step));
    assert_int_equal(step.at, 0);
    assert_int_equal(step.giver, 1);
    assert_int_equal(step.moves, 2);
    cv_fold_plan_free(plan);
}

static void keeps_one_at_home_first(void **state)
{
    static const bool all[WORKERS] = { true, true, true, true, true };
    struct cv_fold_plan *plan = make(WORKERS, true);
    struct cv_fold_step step, other;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 30, 40, 0, 6);
    add(plan, 3, 20, 30, 1, 7);
    assert_true(cv_fold_plan_next(plan, all, &step));
    assert_int_equal(step.at, 0);
    assert_true(step.giver == CV_FOLD_NOBODY);
    /* The third one waits for what worker 0 makes. */
    assert_false(cv_fold_plan_next(plan, all, &other));
    cv_fold_plan_done(plan, &step, 4, 6);
    assert_true(cv_fold_plan_next(plan, all, &step));
    assert_int_equal(step.at, 1);
    assert_int_equal(step.moves, 4);
    cv_fold_plan_done(plan, &step, 5, 9);
    {
        uint64_t id, bytes;
        uint32_t holder;

        assert_true(cv_fold_plan_last(plan, &id, &holder, &bytes));
        assert_int_equal(id, 5);
        assert_int_equal(holder, 1);
        assert_int_equal(bytes, 9);
    }
    cv_fold_plan_free(plan);
}

static void joins_over_gaps(void **state)
{
    static const bool all[WORKERS] = { true, true, true, true, true };
    struct cv_fold_plan *plan = make(WORKERS, false);
    struct cv_fold_step step;

    (void)state;
    add(plan, 1, 0, 10, 0, 5);
    add(plan, 2, 30, 40, 1, 5);
    assert_false(cv_fold_plan_next(plan, all, &step));
    add(plan, 0, 20, 30, CV_FOLD_NOBODY, 0);
    assert_false(cv_fold_plan_next(plan, all, &step));
    add(plan, 0, 10, 20, CV_FOLD_NOBODY, 0);
    assert_int_equal(cv_fold_plan_count(plan), 2);
    assert_true(cv_fold_plan_next(plan, all, &step));
    assert_int_equal(step.left, 1);
    assert_int_equal(step.right, 2);
    cv_fold_plan_free(plan);
}

/* --- everything, at random ---------------------------------------------------------------- */

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    return (uint32_t)(cv_random_uniform(random) * below);
}

static enum cleave_status note_again(void *context, uint64_t begin, uint64_t end,
                                     struct cleave_error *err)
{
    struct world *world = context;

    (void)err;
    assert_int_equal(end, begin + 1);
    assert_false(world->again[begin]);
    world->again[begin] = true;
    return CLEAVE_OK;
}

static void take_step(struct world *world, const struct cv_fold_step *step)
{
    const struct value *left = &world->values[step->left];
    const struct value *right = &world->values[step->right];
    const uint64_t id = world->names++;
    struct value *made = &world->values[id];

    if (step->giver == CV_FOLD_NOBODY) {
        assert_int_equal(left->holder, step->at);
        assert_int_equal(right->holder, step->at);
    } else {
        assert_int_equal(world->values[step->moves].holder, step->giver);
        assert_true(left->holder == step->at || right->holder == step->at);
    }
    *made = *left;
    made->holder = step->at;
    memcpy(made->chunks + made->count, right->chunks, right->count);
    made->count += right->count;
    cv_fold_plan_done(world->plan, step, id, made->count);
}

static void add_chunk(struct world *world, uint32_t chunk, uint32_t holder)
{
    const uint64_t id = world->names++;

    world->values[id] = (struct value){ { (unsigned char)chunk }, 1, holder };
    add(world->plan, id, chunk, chunk + 1u, holder, 1);
}

/* A worker goes; what it had is computed again by others. */
static void lose(struct world *world, struct cv_random *random, uint32_t worker)
{
    memset(world->again, 0, sizeof world->again);
    assert_int_equal(cv_fold_plan_lose(world->plan, worker, note_again, world, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_fold_plan_held(world->plan, worker), 0);
    for (uint32_t c = 0; c < MOST; c++)
        if (world->again[c])
            add_chunk(world, c, (worker + 1 + draw(random, WORKERS - 1)) % WORKERS);
}

static void all_are_folded_once(struct world *world, struct cv_random *random,
                                bool commutative, uint32_t chunks, bool gaps)
{
    uint32_t order[MOST] = { 0 }, added = 0, expected = 0;
    uint64_t id, bytes;
    uint32_t holder;
    bool seen[MOST] = { false };

    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t j = draw(random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    while (added < chunks || cv_fold_plan_count(world->plan) > 1) {
        struct cv_fold_step step;
        bool may[WORKERS];

        for (uint32_t w = 0; w < WORKERS; w++)
            may[w] = added == chunks || draw(random, 2) == 0;
        if (added < chunks && draw(random, 2) == 0) {
            if (gaps && order[added] % 5 == 3)
                add(world->plan, 0, order[added], order[added] + 1u, CV_FOLD_NOBODY, 0);
            else
                add_chunk(world, order[added], draw(random, WORKERS));
            added++;
        } else if (cv_fold_plan_next(world->plan, may, &step)) {
            assert_true(may[step.at]);
            if (draw(random, 8) == 0 && world->names < (uint64_t)2 * MOST) {
                cv_fold_plan_undo(world->plan, &step);
                lose(world, random, step.at);
            } else {
                take_step(world, &step);
            }
        } else {
            assert_true(added < chunks); /* nobody is left without a way to go on */
        }
    }
    assert_true(cv_fold_plan_last(world->plan, &id, &holder, &bytes));
    for (size_t i = 0; i < world->values[id].count; i++) {
        const unsigned char chunk = world->values[id].chunks[i];

        assert_false(seen[chunk]);
        seen[chunk] = true;
        assert_true(commutative || i == 0 || chunk > world->values[id].chunks[i - 1]);
    }
    for (uint32_t c = 0; c < chunks; c++)
        expected += !(gaps && c % 5 == 3);
    assert_int_equal(world->values[id].count, expected);
}

static void at_random(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        static struct world world;
        struct cv_random random;
        const bool commutative = round % 2 == 1;

        cv_random_at(&random, 7, round, 0, 0);
        memset(&world, 0, sizeof world);
        world.plan = make(WORKERS, commutative);
        all_are_folded_once(&world, &random, commutative, 1 + draw(&random, 40),
                            round % 3 == 0);
        cv_fold_plan_free(world.plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefers_what_lies_together),
        cmocka_unit_test(folds_where_it_may),
        cmocka_unit_test(keeps_one_at_home_first),
        cmocka_unit_test(joins_over_gaps),
        cmocka_unit_test(at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
