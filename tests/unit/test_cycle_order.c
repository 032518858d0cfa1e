/* test_cycle_order.c -- the order of service that costs least.
 * SPDX-License-Identifier: MIT */
#include "stream_check.h"

#include <string.h>

#include "../../tools/check_vectors/cycle_worst.c" /* NOLINT(bugprone-suspicious-include) */
#include "model/stream/stream_costs.h"

enum { MOST = 7, MANY = 100000 };

struct extremes {
    double best, worst;
};

/* All cycles, starting at place 0. */
static void visit(const struct cv_cycle *cycle, uint32_t *order, uint32_t at,
                  struct extremes *seen)
{
    if (at >= cycle->n) {
        const double cost = cv_cycle_cost(cycle, order);

        seen->best = fmin(seen->best, cost);
        seen->worst = fmax(seen->worst, cost);
        return;
    }
    for (uint32_t i = at; i < cycle->n; i++) {
        uint32_t kept = order[at];

        order[at] = order[i];
        order[i] = kept;
        visit(cycle, order, at + 1, seen);
        kept = order[at];
        order[at] = order[i];
        order[i] = kept;
    }
}

static void assert_permutation(const uint32_t *order, uint32_t n)
{
    bool *seen = calloc(n + 1, sizeof *seen);

    assert_non_null(seen);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(order[i] < n && !seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
}

/* Small whole numbers, so that many are equal; every tenth with free ones. */
static void random_cycle(uint32_t number, double *leave, double *enter, uint32_t *out_n)
{
    struct cv_random random;
    double spread;

    cv_random_at(&random, 31, number, 0, 0);
    *out_n = 1 + number % MOST;
    spread = random_between(&random, 2, 12);
    for (uint32_t i = 0; i < *out_n; i++) {
        leave[i] = random_between(&random, -1, spread);
        enter[i] = random_between(&random, 0, spread);
        if (number % 10 != 0) {
            leave[i] = floor(leave[i]);
            enter[i] = floor(enter[i]);
        }
    }
}

static void best_and_worst_of_all_permutations(void **state)
{
    struct cv_arena arena;
    unsigned above_bound = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 7000; number++) {
        double leave[MOST], enter[MOST], best, worst = 0, bound;
        uint32_t order[MOST], all[MOST] = { 0, 1, 2, 3, 4, 5, 6 };
        struct cv_cycle cycle = { leave, enter, 0 };
        struct extremes seen = { INFINITY, -INFINITY };

        random_cycle(number, leave, enter, &cycle.n);
        visit(&cycle, all, 1, &seen);
        assert_true(cv_cycle_best(&cycle, &arena, order, &best, &bound));
        assert_true(cycle_worst(&cycle, &arena, &worst));
        assert_permutation(order, cycle.n);
        assert_near(cv_cycle_cost(&cycle, order), best, 1e-12);
        assert_near(best, seen.best, 1e-12);
        assert_near(worst, seen.worst, 1e-12);
        assert_true(bound <= best + 1e-12);
        above_bound += best > bound + 1e-9;
        cv_arena_reset(&arena);
    }
    assert_in_range(above_bound, 500, 7000);
    cv_arena_done(&arena);
}

/* The bound is the cheapest of all assignments, not only of cycles. */
static void assign(const struct cv_cycle *cycle, uint32_t at, unsigned used, double cost,
                   double *min)
{
    if (at == cycle->n) {
        *min = fmin(*min, cost);
        return;
    }
    for (uint32_t v = 0; v < cycle->n; v++)
        if ((used & (1u << v)) == 0)
            assign(cycle, at + 1, used | 1u << v,
                   cost + fmax(cycle->leave[at], cycle->enter[v]), min);
}

static void the_bound_is_the_cheapest_assignment(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        double leave[MOST], enter[MOST], best, bound, min = INFINITY;
        uint32_t order[MOST];
        struct cv_cycle cycle = { leave, enter, 0 };

        random_cycle(number, leave, enter, &cycle.n);
        assign(&cycle, 0, 0, 0, &min);
        assert_true(cv_cycle_best(&cycle, &arena, order, &best, &bound));
        assert_near(bound, min, 1e-12);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void costs_of_workers_are_their_delays(void **state)
{
    struct cleave_worker workers[MOST];
    struct cv_stream_ring ring = { workers, MOST, 10, 1.3, NULL, NULL };
    struct cv_random random;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    cv_random_at(&random, 32, 0, 0, 0);
    for (unsigned turn = 0; turn < 100; turn++) {
        const struct cv_stream_times *times;
        double delays[MOST], base;
        struct cv_cycle cycle;

        for (uint32_t w = 0; w < MOST; w++)
            workers[w] = stream_worker(&random);
        times = cv_ring_times(&ring, &arena);
        assert_non_null(times);
        cv_ring_delays(&ring, times, delays);
        assert_true(cv_cycle_of_times(times, MOST, &arena, &cycle, &base));
        assert_near(base + cv_cycle_cost(&cycle, NULL), cv_stream_sum(delays, MOST),
                    1e-12);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* 15.966 s of delays for the best order of all published workers, 15.952 s the bound. */
static void the_published_workers_in_their_best_order(void **state)
{
    static struct cleave_worker workers[PUBLISHED_WORKERS];
    static uint32_t order[PUBLISHED_WORKERS];
    const struct cv_stream_ring ring = { workers, PUBLISHED_WORKERS, 100, 1, NULL, NULL };
    const struct cv_stream_times *times;
    double base, best, bound;
    struct cv_cycle cycle;
    struct cv_arena arena;

    (void)state;
    published_workers(workers);
    cv_arena_init(&arena);
    times = cv_ring_times(&ring, &arena);
    assert_non_null(times);
    assert_true(cv_cycle_of_times(times, ring.n, &arena, &cycle, &base));
    assert_true(cv_cycle_best(&cycle, &arena, order, &best, &bound));
    assert_permutation(order, ring.n);
    assert_true(fabs(base + best - 15.966) < 0.0005);
    assert_true(fabs(base + bound - 15.952) < 0.0005);
    cv_arena_done(&arena);
}

static void many_places(void **state)
{
    double *leave = calloc(MANY, sizeof *leave), *enter = calloc(MANY, sizeof *enter);
    uint32_t *order = calloc(MANY, sizeof *order);
    const struct cv_cycle cycle = { leave, enter, MANY };
    struct cv_random random;
    struct cv_arena arena;
    double best, worst = 0, bound, given;

    (void)state;
    assert_true(leave != NULL && enter != NULL && order != NULL);
    cv_random_at(&random, 33, 0, 0, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        leave[i] = cv_random_uniform(&random);
        enter[i] = cv_random_uniform(&random);
    }
    cv_arena_init(&arena);
    assert_true(cv_cycle_best(&cycle, &arena, order, &best, &bound));
    assert_true(cycle_worst(&cycle, &arena, &worst));
    assert_permutation(order, MANY);
    given = cv_cycle_cost(&cycle, NULL);
    assert_true(bound <= best && best < given && given < worst);
    /* With this many places, joining the cycles costs nearly nothing. */
    assert_true(best < bound * (1 + 1e-4));
    cv_arena_done(&arena);
    free(leave);
    free(enter);
    free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_and_worst_of_all_permutations),
        cmocka_unit_test(the_bound_is_the_cheapest_assignment),
        cmocka_unit_test(costs_of_workers_are_their_delays),
        cmocka_unit_test(the_published_workers_in_their_best_order),
        cmocka_unit_test(many_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
