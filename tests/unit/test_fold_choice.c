/* test_fold_choice.c -- choices of folding workers, compared with all possible ones.
 * SPDX-License-Identifier: MIT
 *
 * Partials come, are folded and lost at random. Each step is compared with the best one
 * by the rules of fold_plan.h, found by trying all, and the last partial holds all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/fold_plan.h"

enum { WORKERS = 5, MOST = 64, NAMES = 8 * MOST, GRAIN = 65536 };

/* --- the rules, seen from outside --------------------------------------------------------- */

/* The content of a partial in the test: its chunks, in order. */
struct value {
    unsigned char chunks[MOST];
    size_t count;
    uint64_t begin, end, bytes;
    uint32_t holder; /* where it lies, or went ahead to                                */
    uint32_t owner;  /* its worker until it is folded */
    bool there, busy;
};

struct world {
    struct cv_fold_plan *plan;
    bool commutative, patient;
    uint32_t max;
    struct value values[NAMES]; /* by name */
    uint64_t names;
    bool again[MOST];
    struct cv_fold_step steps[WORKERS]; /* folds in progress */
    size_t nsteps;
};

static bool is_free(const struct value *value)
{
    return value->there && !value->busy;
}

static bool adjoin(const struct value *left, const struct value *right)
{
    return is_free(left) && is_free(right) && left->end == right->begin;
}

/* The free neighbour after the partial of that name; 0: none. Names are from 1. */
static uint64_t after(const struct world *world, uint64_t name)
{
    if (!is_free(&world->values[name]))
        return 0;
    for (uint64_t i = 1; i < world->names; i++)
        if (i != name && adjoin(&world->values[name], &world->values[i]))
            return i;
    return 0;
}

/* Most partials of a step, for this many partials and workers. */
static size_t limit(const struct world *world, size_t ready, size_t among)
{
    size_t take = 0;

    for (size_t steps = 1; steps <= among && (steps == 1 || (steps - 1) * 6 < ready);
         steps++)
        take = (ready + steps - 1) / steps;
    return take < 2 ? 2 : take > world->max ? world->max : take;
}

/* A step as the rules see it: larger is worse, the first that differs counts. */
struct rank {
    size_t fewer;
    bool moves;
    uint64_t weight;
};

static int compare(struct rank a, struct rank b)
{
    if (a.fewer != b.fewer)
        return a.fewer < b.fewer ? -1 : 1;
    if (a.moves != b.moves)
        return a.moves ? 1 : -1;
    return a.weight < b.weight ? -1 : a.weight > b.weight;
}

/* Rank of these partials, in this order; the best place if it is open. False: there is
 * none. */
static bool rank_of(const struct world *world, const bool *may, const uint64_t *names,
                    size_t count, uint32_t at, struct rank *out)
{
    bool found = false;

    for (uint32_t w = 0; w < WORKERS; w++) {
        struct rank rank = { MOST - count, false, 0 };
        bool has = false;

        if (!may[w] || (at != CV_FOLD_NOBODY && w != at))
            continue;
        for (size_t i = 0; i < count; i++) {
            const struct value *value = &world->values[names[i]];

            has |= value->holder == w;
            rank.moves |= value->holder != w;
            rank.weight += value->holder != w ? 2 * value->bytes : value->bytes;
        }
        if (!has || (found && rank.weight >= out->weight))
            continue;
        *out = rank;
        found = true;
    }
    return found;
}

/* Whether this many wait for more. */
static bool waits(const struct world *world, size_t count, uint64_t grains)
{
    return world->patient && count < 6 && count < world->max && grains == 0;
}

/* The best step there could be, by trying all. */
static bool best_neighbours(const struct world *world, const bool *may, struct rank *out)
{
    size_t ready = 0, among = 0, take;
    bool could[WORKERS] = { false }, found = false;

    for (uint64_t i = 1; i < world->names; i++) {
        bool touches = after(world, i) != 0;

        for (uint64_t k = 1; k < world->names; k++)
            touches |= after(world, k) == i;
        ready += touches;
        could[world->values[i].holder] |= touches;
    }
    for (uint32_t w = 0; w < WORKERS; w++)
        among += may[w] && could[w];
    if (among == 0)
        return false;
    take = limit(world, ready, among);
    for (uint64_t first = 1; first < world->names; first++) {
        uint64_t names[MOST] = { first };
        size_t count = 1;
        bool headless = true;

        for (uint64_t k = 1; k < world->names; k++)
            headless &= after(world, k) != first;
        if (!is_free(&world->values[first]))
            continue;
        while (count < MOST && (names[count] = after(world, names[count - 1])) != 0)
            count++;
        /* A whole run may have one more. */
        if (count > take && !(headless && count == take + 1 && count <= world->max))
            count = take;
        for (; count > 1; count--) {
            struct rank rank;

            if (!rank_of(world, may, names, count, CV_FOLD_NOBODY, &rank))
                continue;
            rank.weight /= GRAIN;
            if (waits(world, count, rank.weight))
                continue;
            if (!found || compare(rank, *out) < 0)
                *out = rank;
            found = true;
        }
    }
    return found;
}

static void check_neighbours(const struct world *world, const bool *may, bool any,
                             const struct cv_fold_step *step)
{
    uint64_t names[CV_FOLD_STEP_MOST] = { 0 };
    struct rank best = { 0 }, got = { 0 }, open = { 0 };

    assert_int_equal(best_neighbours(world, may, &best), any);
    if (!any)
        return;
    for (uint32_t i = 0; i < step->count; i++) {
        names[i] = step->parts[i].id;
        assert_true(is_free(&world->values[names[i]]));
        assert_true(i == 0 || after(world, names[i - 1]) == names[i]);
    }
    assert_true(rank_of(world, may, names, step->count, step->at, &got));
    assert_true(rank_of(world, may, names, step->count, CV_FOLD_NOBODY, &open));
    assert_int_equal(got.weight, open.weight); /* the place is the best for it */
    got.weight /= GRAIN;
    assert_int_equal(compare(got, best), 0);
}

/* How many of these, with names in any order, a step would take: the smallest. 0: they
 * wait. */
static size_t worth(const struct world *world, const uint64_t *names, size_t count,
                    size_t take)
{
    uint64_t sum = 0;
    size_t taken = 0;

    if (count < 2)
        return 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;

        for (size_t k = 0; k < count; k++) {
            const uint64_t a = world->values[names[k]].bytes;
            const uint64_t b = world->values[names[i]].bytes;

            before += a < b || (a == b && k < i);
        }
        if (before < take) {
            sum += world->values[names[i]].bytes;
            taken++;
        }
    }
    return waits(world, taken, sum / GRAIN) ? 0 : taken;
}

static void check_any(const struct world *world, const bool *may, bool any,
                      const struct cv_fold_step *step)
{
    uint64_t own[WORKERS][MOST] = { { 0 } }, lone[WORKERS] = { 0 }, sum = 0, largest = 0,
             left = UINT64_MAX;
    size_t held[WORKERS] = { 0 }, open[WORKERS] = { 0 }, nlone = 0, homes = 0;
    uint32_t at = CV_FOLD_NOBODY;

    for (uint64_t i = 1; i < world->names; i++) {
        const struct value *value = &world->values[i];

        held[value->holder] += value->there;
        if (is_free(value))
            own[value->holder][open[value->holder]++] = i;
    }
    for (uint32_t w = 0; w < WORKERS; w++) {
        if (may[w] && open[w] == 1 && held[w] == 1)
            lone[nlone++] = own[w][0];
        homes += may[w] && worth(world, own[w], open[w], world->max) > 0;
    }
    if (!any) {
        assert_int_equal(homes, 0);
        assert_int_equal(worth(world, lone, nlone, limit(world, nlone, nlone)), 0);
        return;
    }
    if (homes > 0) {
        at = step->at;
        assert_int_equal(step->count, worth(world, own[at], open[at], world->max));
    } else {
        assert_int_equal(step->count,
                         worth(world, lone, nlone, limit(world, nlone, nlone)));
    }
    for (uint32_t i = 0; i < step->count; i++) {
        const struct value *value = &world->values[step->parts[i].id];

        assert_true(is_free(value) && may[value->holder]);
        assert_true(at == CV_FOLD_NOBODY ? held[value->holder] == 1
                                         : value->holder == at);
        largest = value->bytes > largest ? value->bytes : largest;
        sum += value->holder == step->at ? value->bytes : 0;
    }
    /* The largest stays where it is, and none that is left is smaller. */
    assert_true(sum >= largest);
    for (uint64_t k = 1; k < world->names; k++) {
        const struct value *value = &world->values[k];
        bool taken = false;

        for (uint32_t i = 0; i < step->count; i++)
            taken |= step->parts[i].id == k;
        if (!taken && is_free(value) &&
            (at == CV_FOLD_NOBODY ? may[value->holder] && held[value->holder] == 1
                                  : value->holder == at))
            left = value->bytes < left ? value->bytes : left;
    }
    assert_true(left >= largest);
}

/* --- everything, at random ---------------------------------------------------------------- */

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    return (uint32_t)(cv_random_uniform(random) * below);
}

static void add_chunk(struct world *world, uint32_t chunk, uint32_t holder,
                      uint64_t bytes)
{
    const uint64_t id = world->names++;

    assert_true(id < NAMES);
    world->values[id] = (struct value){
        { (unsigned char)chunk }, 1, chunk, chunk + 1u, bytes, holder, holder, true, false
    };
    assert_int_equal(cv_fold_plan_add(world->plan, id, chunk, chunk + 1u, holder, bytes,
                                      NULL),
                     CLEAVE_OK);
}

static bool begin_step(struct world *world, const bool *may)
{
    struct cv_fold_step step;
    const bool any = cv_fold_plan_next(world->plan, may, world->patient, &step);

    (world->commutative ? check_any : check_neighbours)(world, may, any, &step);
    if (!any)
        return false;
    assert_true(may[step.at]);
    for (uint32_t i = 0; i < step.count; i++) {
        struct value *value = &world->values[step.parts[i].id];

        assert_int_equal(value->owner, step.parts[i].holder);
        assert_int_equal(step.parts[i].ahead,
                         value->holder != value->owner ? value->holder : CV_FOLD_NOBODY);
        if (value->holder != step.at)
            value->holder = value->owner;
        assert_int_equal(value->bytes, step.parts[i].bytes);
        value->busy = true;
    }
    world->steps[world->nsteps++] = step;
    return true;
}

/* Whether a partial touches what the step makes. */
static bool touches(const struct world *world, const struct value *value,
                    const struct cv_fold_step *step)
{
    const struct value *first = &world->values[step->parts[0].id];
    const struct value *last = &world->values[step->parts[step->count - 1].id];

    return value->end == first->begin || value->begin == last->end;
}

static bool could_go(const struct world *world, const bool *may,
                     const struct value *value, const struct cv_fold_step *step)
{
    if (!is_free(value) || value->owner != value->holder || value->owner == step->at)
        return false;
    if (!world->commutative)
        return touches(world, value, step);
    for (uint64_t i = 1; i < world->names; i++)
        if (&world->values[i] != value && world->values[i].there &&
            world->values[i].holder == value->holder)
            return false;
    return may[value->holder];
}

/* A partial may go ahead to the worker of a step: the smallest of those that could. */
static void go_ahead(struct world *world, const bool *may,
                     const struct cv_fold_step *step)
{
    const struct value *best = NULL;
    struct cv_fold_part part;
    bool expecting = false;

    for (uint64_t i = 1; i < world->names; i++) {
        const struct value *value = &world->values[i];

        expecting |=
            value->there && value->holder == step->at && value->owner != step->at;
        if (could_go(world, may, value, step) &&
            (best == NULL || value->bytes < best->bytes))
            best = value;
    }
    if (expecting || best == NULL) {
        assert_false(cv_fold_plan_ahead(world->plan, step, may, 99, &part));
        return;
    }
    assert_true(cv_fold_plan_ahead(world->plan, step, may, 99, &part));
    assert_int_equal(part.bytes, best->bytes);
    assert_true(could_go(world, may, &world->values[part.id], step));
    assert_int_equal(part.holder, world->values[part.id].owner);
    assert_int_equal(part.ahead, step->at);
    world->values[part.id].holder = step->at;
    world->values[part.id].busy = true;
}

static struct cv_fold_step take_step(struct world *world, size_t index)
{
    const struct cv_fold_step step = world->steps[index];

    world->steps[index] = world->steps[--world->nsteps];
    for (uint32_t i = 0; i < step.count; i++)
        world->values[step.parts[i].id].busy = false;
    for (uint64_t i = 1; i < world->names; i++) /* partials that went ahead to its
                                                 * worker */
        if (world->values[i].holder == step.at && world->values[i].owner != step.at)
            world->values[i].busy = false;
    return step;
}

static void end_step(struct world *world, struct cv_random *random, size_t index)
{
    const struct cv_fold_step step = take_step(world, index);
    const uint64_t id = world->names++;
    struct value *made = &world->values[id];

    assert_true(id < NAMES);
    *made = world->values[step.parts[0].id];
    made->holder = made->owner = step.at;
    world->values[step.parts[0].id].there = false;
    for (uint32_t i = 1; i < step.count; i++) {
        struct value *value = &world->values[step.parts[i].id];

        memcpy(made->chunks + made->count, value->chunks, value->count);
        made->count += value->count;
        made->bytes += draw(random, 2) == 0 ? value->bytes : 0;
        made->end = value->end;
        value->there = false;
    }
    cv_fold_plan_done(world->plan, &step, id, made->bytes);
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

/* A worker goes; other workers compute its partials again. */
static void lose(struct world *world, struct cv_random *random, uint32_t worker)
{
    bool expected[MOST] = { false };
    struct cv_fold_part part;
    size_t left = 0;

    for (size_t i = world->nsteps; i-- > 0;)
        if (cv_fold_step_has(&world->steps[i], worker)) {
            const struct cv_fold_step step = take_step(world, i);

            cv_fold_plan_undo(world->plan, &step);
            for (uint32_t k = 0; k < step.count; k++) {
                struct value *value = &world->values[step.parts[k].id];

                value->holder = value->owner; /* partials that went ahead are forgotten */
            }
        }
    for (uint64_t i = 1; i < world->names; i++) {
        struct value *value = &world->values[i];

        if (value->there && value->owner == worker && value->holder != worker) {
            assert_true(cv_fold_plan_lose_ahead(world->plan, worker, &part));
            assert_int_equal(world->values[part.id].owner, worker);
        }
        if (value->there && value->owner != worker && value->holder == worker) {
            value->holder = value->owner;
            value->busy = false;
        }
        if (value->owner == worker)
            value->holder = worker;
    }
    assert_false(cv_fold_plan_lose_ahead(world->plan, worker, &part));
    for (uint64_t i = 1; i < world->names; i++) {
        struct value *value = &world->values[i];

        for (size_t c = 0; value->there && value->holder == worker && c < value->count;
             c++)
            expected[value->chunks[c]] = true;
        value->there &= value->holder != worker;
    }
    memset(world->again, 0, sizeof world->again);
    assert_int_equal(cv_fold_plan_lose(world->plan, worker, note_again, world, NULL),
                     CLEAVE_OK);
    assert_memory_equal(world->again, expected, sizeof expected);
    for (uint64_t i = 1; i < world->names; i++)
        left += world->values[i].there;
    assert_int_equal(cv_fold_plan_count(world->plan), left);
    for (uint32_t c = 0; c < MOST; c++)
        if (world->again[c])
            add_chunk(world, c, (worker + 1 + draw(random, WORKERS - 1)) % WORKERS, 1);
}

/* All chunks are in the last partial, once, and in order. */
static void check_result(const struct world *world, uint32_t chunks)
{
    uint64_t id, bytes;
    uint32_t holder;
    bool seen[MOST] = { false };

    assert_true(cv_fold_plan_last(world->plan, &id, &holder, &bytes));
    assert_int_equal(holder, world->values[id].holder);
    assert_int_equal(bytes, world->values[id].bytes);
    for (size_t i = 0; i < world->values[id].count; i++) {
        const unsigned char chunk = world->values[id].chunks[i];

        assert_false(seen[chunk]);
        seen[chunk] = true;
        assert_true(world->commutative || i == 0 ||
                    chunk > world->values[id].chunks[i - 1]);
    }
    assert_int_equal(world->values[id].count, chunks);
}

static void all_are_folded_once(struct world *world, struct cv_random *random,
                                uint32_t chunks)
{
    uint32_t order[MOST] = { 0 }, added = 0, losses = 0;

    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t j = draw(random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    while (added < chunks || world->nsteps > 0 || cv_fold_plan_count(world->plan) > 1) {
        bool may[WORKERS];

        for (uint32_t w = 0; w < WORKERS; w++)
            may[w] = added == chunks || draw(random, 2) == 0;
        for (size_t i = 0; i < world->nsteps; i++)
            may[world->steps[i].at] = false;
        world->patient = (added < chunks || world->nsteps > 0) && draw(random, 2) == 0;
        if (added < chunks && draw(random, 8) != 0) {
            add_chunk(world, order[added++], draw(random, WORKERS),
                      draw(random, 4) == 0 ? draw(random, 1 << 21) : draw(random, 100));
        } else if (begin_step(world, may)) {
            continue;
        } else if (world->nsteps > 0 && draw(random, 3) == 0) {
            go_ahead(world, may, &world->steps[draw(random, (uint32_t)world->nsteps)]);
        } else if (world->nsteps == 0) {
            assert_true(added < chunks); /* no worker is stuck */
        } else if (draw(random, 8) == 0 && losses++ < 3) {
            const struct cv_fold_step *step =
                &world->steps[draw(random, 2) % world->nsteps];

            lose(world, random,
                 draw(random, 2) == 0 ? step->at
                                      : step->parts[draw(random, step->count)].holder);
        } else {
            end_step(world, random, draw(random, (uint32_t)world->nsteps));
        }
    }
    check_result(world, chunks);
}

static void at_random(void **state)
{
    static const uint32_t max[] = { 2, 3, 4, 16 };

    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        static struct world world;
        struct cv_random random;

        cv_random_at(&random, 7, round, 0, 0);
        memset(&world, 0, sizeof world);
        world.names = 1;
        world.commutative = round % 2 == 1;
        world.max = max[round / 2 % 4];
        assert_int_equal(cv_fold_plan_new(WORKERS, world.commutative, false, world.max,
                                          &world.plan, NULL),
                         CLEAVE_OK);
        all_are_folded_once(&world, &random, 1 + draw(&random, 50));
        cv_fold_plan_free(world.plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
