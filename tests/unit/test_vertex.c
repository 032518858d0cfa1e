/* test_vertex.c -- sizes without gaps for a given send order.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include "model/load/plan.h"

enum { MOST_CHUNKS = 40 };

struct scene {
    struct cleave_worker workers[MOST_WORKERS];
    uint32_t nworkers, seq[MOST_CHUNKS];
    size_t n;
    double load, units[MOST_CHUNKS];
};

static void random_scene(struct scene *scene, uint32_t number)
{
    struct cv_random random;

    cv_random_at(&random, 3, number, 0, 0);
    scene->nworkers = 1 + (uint32_t)random_between(&random, 0, 6);
    scene->n = 1 + (size_t)random_between(&random, 0, 20);
    scene->load = random_scale(&random, 10, 1e4);
    for (uint32_t i = 0; i < scene->nworkers; i++)
        scene->workers[i] = random_worker(&random);
    for (size_t k = 0; k < scene->n; k++)
        scene->seq[k] = (uint32_t)random_between(&random, 0, scene->nworkers);
}

/* Send the chunks: no worker may wait after the first chunk, all must end together. */
static void assert_no_gap(const struct scene *scene, double makespan)
{
    double port = 0, ready[MOST_WORKERS] = { 0 };
    bool served[MOST_WORKERS] = { false };

    for (size_t k = 0; k < scene->n; k++) {
        const uint32_t w = scene->seq[k];
        const struct cleave_worker *worker = &scene->workers[w];

        port += worker->latency_s + scene->units[k] / worker->bandwidth_ups;
        if (served[w])
            assert_near(ready[w], port, 1e-9);
        served[w] = true;
        ready[w] = port + worker->compute_latency_s + scene->units[k] / worker->speed_ups;
    }
    for (uint32_t w = 0; w < scene->nworkers; w++)
        if (served[w])
            assert_near(ready[w], makespan, 1e-9);
}

static void no_gaps_and_one_end(void **state)
{
    struct cv_arena arena;
    unsigned feasible_ones = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 2000; number++) {
        struct cv_vertex_workspace room;
        struct scene scene;
        double makespan, sum = 0;
        bool feasible;

        random_scene(&scene, number);
        assert_true(cv_vertex_room_init(&room, &arena, scene.n, scene.nworkers));
        makespan = cv_vertex_solve(scene.workers, scene.load, scene.seq, scene.n, &room,
                                   scene.units, &feasible);
        for (size_t k = 0; k < scene.n; k++) {
            sum += scene.units[k];
            assert_true(!feasible || scene.units[k] >= 0);
        }
        assert_near(sum, scene.load, 1e-7);
        if (feasible) {
            assert_no_gap(&scene, makespan);
            feasible_ones++;
        }
        cv_arena_reset(&arena);
    }
    assert_in_range(feasible_ones, 300, 2000);
    cv_arena_done(&arena);
}

/* The equations of the dual, from their definition. */
static void multipliers_solve_the_dual(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 500; number++) {
        struct cv_vertex_workspace room;
        struct scene scene;
        double y[MOST_CHUNKS], sum = 0, z = NAN;
        bool nonnegative, seen = true;

        random_scene(&scene, number);
        assert_true(cv_vertex_room_init(&room, &arena, scene.n, scene.nworkers));
        nonnegative = cv_vertex_multipliers(scene.workers, scene.seq, scene.n, &room, y);
        for (size_t l = 0; l < scene.n; l++) {
            const struct cleave_worker *worker = &scene.workers[scene.seq[l]];
            double from_here = 0, same_worker = 0;

            for (size_t k = 0; k < scene.n; k++) {
                from_here += k >= l ? y[k] : 0;
                same_worker += k <= l && scene.seq[k] == scene.seq[l] ? y[k] : 0;
            }
            if (l == 0)
                z = from_here / worker->bandwidth_ups + same_worker / worker->speed_ups;
            assert_near(from_here / worker->bandwidth_ups +
                            same_worker / worker->speed_ups,
                        z, 1e-9);
            sum += y[l];
            seen = seen && y[l] >= 0;
        }
        assert_near(sum, 1, 1e-9);
        assert_int_equal(nonnegative, seen);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void round_robin_of_equals_is_optimal(void **state)
{
    struct cleave_worker workers[5];
    uint32_t seq[20];
    double y[20];
    struct cv_vertex_workspace room;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t i = 0; i < 5; i++)
        workers[i] = worker_of(1, 0.5, 3.5, 0.2);
    for (uint32_t k = 0; k < 20; k++)
        seq[k] = k % 5;
    assert_true(cv_vertex_room_init(&room, &arena, 20, 5));
    assert_true(cv_vertex_multipliers(workers, seq, 20, &room, y));
    /* Among the first chunks each multiplier is 1 + S/B times the one before. */
    for (uint32_t k = 1; k < 5; k++)
        assert_near(y[k] / y[k - 1], 1 + 1 / 3.5, 1e-12);
    cv_arena_done(&arena);
}

static void a_slow_link_first_is_not_optimal(void **state)
{
    const struct cleave_worker workers[] = { worker_of(0.05, 1.2204, 0.8, 0.1),
                                             worker_of(0.9651, 0.2833, 14.2658, 0.79) };
    const uint32_t seq[] = { 0, 1, 1 };
    struct cv_vertex_workspace room;
    struct cv_arena arena;
    double y[3];

    (void)state;
    cv_arena_init(&arena);
    assert_true(cv_vertex_room_init(&room, &arena, 3, 2));
    assert_false(cv_vertex_multipliers(workers, seq, 3, &room, y));
    assert_true(y[0] < 0);
    cv_arena_done(&arena);
}

static void sizes_beyond_numbers_are_not_feasible(void **state)
{
    enum { N = 200 };
    struct cleave_worker workers[N];
    uint32_t seq[N];
    double units[N];
    struct cv_vertex_workspace room;
    struct cv_arena arena;
    bool feasible = true;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t i = 0; i < N; i++) {
        workers[i] = worker_of(1e6, 1, 1, 1);
        seq[i] = i;
    }
    assert_true(cv_vertex_room_init(&room, &arena, N, N));
    assert_true(isinf(cv_vertex_solve(workers, 10, seq, N, &room, units, &feasible)));
    assert_false(feasible);
    assert_true(units[0] == 0);
    assert_true(isinf(cv_vertex_solve(workers, 10, seq, 0, &room, units, &feasible)));
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_gaps_and_one_end),
        cmocka_unit_test(multipliers_solve_the_dual),
        cmocka_unit_test(round_robin_of_equals_is_optimal),
        cmocka_unit_test(a_slow_link_first_is_not_optimal),
        cmocka_unit_test(sizes_beyond_numbers_are_not_feasible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
