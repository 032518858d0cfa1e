/* test_stream_costs.c -- times, delays and weights of workers that serve a stream.
 * SPDX-License-Identifier: MIT */
#include "base/compare.h"
#include "stream_check.h"

#include "model/platform/profile.h"

/* The theory that check-vectors uses; the library has no need of it. */
#include "../../tools/check_vectors/periodic_end.c" /* NOLINT(bugprone-suspicious-include) */
#include "../../tools/check_vectors/stream_recurrence.c" /* NOLINT(bugprone-suspicious-include) */

enum { MOST = 12 };

struct scene {
    struct cleave_worker workers[MOST];
    double theta[MOST], margin[MOST];
    struct cv_stream_ring ring;
};

static void random_scene(struct scene *scene, uint32_t number, bool equal_margins)
{
    struct cv_random random;
    double margin;

    cv_random_at(&random, 17, number, 0, 0);
    scene->ring = (struct cv_stream_ring){
        .workers = scene->workers,
        .n = 1 + (uint32_t)random_between(&random, 0, MOST),
        .tau_s = random_scale(&random, 1, 50),
        .result_ratio = random_between(&random, 0, 2),
        .theta = scene->theta,
        .margin = scene->margin,
    };
    margin = random_between(&random, 0, 1);
    for (uint32_t w = 0; w < scene->ring.n; w++) {
        scene->workers[w] = stream_worker(&random);
        scene->theta[w] = random_between(&random, 0.2, 0.8);
        scene->margin[w] = equal_margins ? margin : random_between(&random, 0, 1);
    }
}

/* When the parts of two rounds arrive and are computed, step by step: the idle time of a
 * worker between its first and its last computation. */
static double idle_around(const struct cleave_worker *worker, double theta, double ratio,
                          double before, double after, bool steady_before)
{
    const struct cv_stream_times one = cv_stream_times(worker, theta, ratio, before);
    const struct cv_stream_times two = cv_stream_times(worker, theta, ratio, after);
    double first_end, second_end, post, begin, idle = 0;

    /* Part one of the earlier round is computed at 0. */
    first_end = 0;
    second_end = first_end + one.compute_second_s;
    if (!steady_before) { /* its part two was sent right after part one */
        const double there = one.send_second_s - one.compute_first_s;

        idle += fmax(0, there);
        second_end += fmax(0, there);
    }
    post = first_end + one.return_first_s;
    begin = fmax(second_end, post + two.send_first_s);
    idle += begin - second_end;
    first_end = begin + two.compute_first_s;
    begin = fmax(first_end, post + two.send_first_s + two.send_second_s);
    idle += begin - first_end;
    return idle;
}

static void the_window_of_theta_is_exact(void **state)
{
    unsigned inside = 0, outside = 0;

    (void)state;
    for (uint32_t number = 0; number < 3000; number++) {
        struct cv_random random;
        struct cleave_worker worker;
        struct cv_theta_window window;
        double ratio, before, after, theta;

        cv_random_at(&random, 18, number, 0, 0);
        worker = stream_worker(&random);
        worker.bandwidth_ups = worker.speed_ups * random_scale(&random, 0.8, 30);
        worker.return_bandwidth_ups = worker.speed_ups * random_scale(&random, 0.8, 30);
        ratio = number % 5 == 0 ? 0 : random_between(&random, 0, 2);
        before = worker.speed_ups * random_scale(&random, 0.1, 10);
        after = number % 3 == 0 ? before : before * random_scale(&random, 0.3, 4);
        window = cv_theta_window(&worker, ratio, before, after);
        theta = random_between(&random, 0, 1);
        if (fabs(theta - window.low) < 1e-9 || fabs(theta - window.high) < 1e-9)
            continue;
        if (theta >= window.low && theta <= window.high) {
            assert_true(idle_around(&worker, theta, ratio, before, after, true) <= 1e-12);
            inside++;
        } else {
            assert_true(idle_around(&worker, theta, ratio, before, after, true) > 0);
            outside++;
        }
    }
    assert_in_range(inside, 500, 3000);
    assert_in_range(outside, 500, 3000);
}

static void a_first_round_has_its_own_bound(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 500; number++) {
        struct cv_random random;
        struct cleave_worker worker;
        double load, bound;

        cv_random_at(&random, 19, number, 0, 0);
        worker = stream_worker(&random);
        worker.bandwidth_ups = worker.speed_ups * random_scale(&random, 0.8, 30);
        load = worker.speed_ups * random_scale(&random, 0.1, 10);
        bound = cv_theta_first(&worker, load);
        for (int side = -1; side <= 1; side += 2) {
            const double theta = bound + side * 1e-6;
            const struct cv_stream_times times = cv_stream_times(&worker, theta, 1, load);

            assert_int_equal(times.send_second_s <= times.compute_first_s, side > 0);
        }
    }
}

static void tight_delays_cover_every_order(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 300; number++) {
        struct scene scene;
        const struct cv_stream_times *times;
        double tight[MOST];

        random_scene(&scene, number, false);
        times = cv_ring_times(&scene.ring, &arena);
        assert_non_null(times);
        cv_ring_tight_delays(&scene.ring, times, tight);
        for (uint32_t v = 0; v < scene.ring.n; v++) {
            double worst = 0;

            for (uint32_t u = 0; u < scene.ring.n; u++)
                worst =
                    fmax(worst, cv_stream_delay(scene.margin[v], &times[u], &times[v]));
            assert_near(tight[v], worst, 1e-12);
        }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

CV_ORDER_BY(by_first_result, struct cv_stream_times, return_first_s)

static void own_weights_and_reserve_cover_the_sorted_order(void **state)
{
    struct cv_arena arena;
    struct scene scene;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 500; number++) {
        struct cv_stream_times *times;
        double omega[MOST], delays[MOST], reserve;

        random_scene(&scene, number, true);
        times = cv_ring_times(&scene.ring, &arena);
        assert_non_null(times);
        reserve = cv_ring_own_weights(&scene.ring, times, omega);
        qsort(times, scene.ring.n, sizeof *times, by_first_result);
        cv_ring_delays(&scene.ring, times, delays);
        assert_true(cv_stream_sum(delays, scene.ring.n) <=
                    (cv_stream_sum(omega, scene.ring.n) + reserve) * (1 + 1e-12));
        cv_arena_reset(&arena);
    }
    random_scene(&scene, 7, false);
    assert_true(scene.ring.n > 1);
    assert_true(isnan(cv_ring_own_weights(&scene.ring, cv_ring_times(&scene.ring, &arena),
                                          (double[MOST]){ 0 })));
    cv_arena_done(&arena);
}

/* The published delays, whose sum fits into the round, do not prevent contention. */
static void two_workers_that_meet_every_round(void **state)
{
    const struct cleave_worker workers[] = { { 10, 0, 1e4, 0.05, 1e4, 0.05 },
                                             { 10, 0, 1e4, 0.001, 1e4, 0.001 } };
    const struct cv_stream_ring ring = { workers, 2, 10, 1, NULL, NULL };
    const struct cv_stream_times *times;
    double delays[2], starts[2], first[2];
    struct cv_port_gaps gaps;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    times = cv_ring_times(&ring, &arena);
    assert_non_null(times);
    cv_ring_delays(&ring, times, delays);
    assert_near(delays[0], 0.061, 1e-9);
    assert_near(delays[1], 0.110, 1e-9);
    cv_ring_starts(delays, 2, starts);
    assert_true(starts[0] == 0);
    assert_true(cv_ring_gaps(&ring, times, starts, NULL, &arena, &gaps));
    assert_near(gaps.send_s, -0.098, 1e-9);
    assert_near(gaps.receive_s, -0.049, 1e-9);
    assert_int_equal(cv_ring_first_loads(&ring, times, first), 0);
    assert_true(cv_ring_gaps(&ring, times, starts, first, &arena, &gaps));
    assert_true(gaps.send_s >= -1e-12 && gaps.receive_s >= -1e-12);
    cv_arena_done(&arena);
}

static void trimmed_first_loads_prevent_contention(void **state)
{
    struct cv_arena arena;
    unsigned tried = 0, met = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 500; number++) {
        struct scene scene;
        const struct cv_stream_times *times;
        double delays[MOST], starts[MOST], first[MOST];
        struct cv_port_gaps gaps;

        random_scene(&scene, number, false);
        times = cv_ring_times(&scene.ring, &arena);
        assert_non_null(times);
        cv_ring_delays(&scene.ring, times, delays);
        if (cv_stream_sum(delays, scene.ring.n) > scene.ring.tau_s ||
            cv_ring_first_loads(&scene.ring, times, first) > 0)
            continue;
        tried++;
        cv_ring_starts(delays, scene.ring.n, starts);
        assert_true(cv_ring_gaps(&scene.ring, times, starts, NULL, &arena, &gaps));
        met += gaps.send_s < 0 || gaps.receive_s < 0;
        assert_true(cv_ring_gaps(&scene.ring, times, starts, first, &arena, &gaps));
        assert_true(gaps.send_s >= -1e-9 && gaps.receive_s >= -1e-9);
        cv_arena_reset(&arena);
    }
    assert_in_range(tried, 200, 500);
    assert_in_range(met, 50, 500);
    cv_arena_done(&arena);
}

static void a_load_too_small_to_trim_is_kept(void **state)
{
    const struct cleave_worker workers[] = { { 10, 0, 1e4, 0.001, 1e4, 0.001 },
                                             { 10, 0.999, 1e4, 0.05, 1e4, 0.05 } };
    const struct cv_stream_ring ring = { workers, 2, 2, 1, NULL, NULL };
    struct cv_arena arena;
    double first[2];

    (void)state;
    cv_arena_init(&arena);
    assert_int_equal(cv_ring_first_loads(&ring, cv_ring_times(&ring, &arena), first), 1);
    assert_near(first[1], cv_stream_load(&workers[1], 2), 1e-12);
    assert_true(cv_stream_profit(&workers[1], 1.9) < 0);
    cv_arena_done(&arena);
}

static void the_load_follows_the_map(void **state)
{
    const struct recurrence right = { 50, 0.2, 0.2, 10, 0.3 };
    const struct recurrence wrong = { 50, 0.2, 0.1, 10, 0.3 };
    const struct recurrence guarded = { 50, 0.1, 3, 10, 0.3 };
    double loads[40], sigmas[40];

    (void)state;
    recurrence_run(&right, 1, 40, loads, sigmas);
    assert_near(loads[39], recurrence_fixed_point(&right), 1e-9);
    assert_near(loads[39], 50 * (10 - 0.4), 1e-9);
    assert_near(recurrence_round(&right), 10, 1e-12);
    /* Linear in 1 / load. */
    for (unsigned i = 0; i < 3; i++)
        assert_near((1 / loads[i + 1] - 1 / recurrence_fixed_point(&right)) /
                        (1 / loads[i] - 1 / recurrence_fixed_point(&right)),
                    recurrence_factor(&right), 1e-6);
    recurrence_run(&wrong, 1, 40, loads, sigmas);
    assert_near(loads[39], recurrence_fixed_point(&wrong), 1e-9);
    assert_near(loads[39] / 50 + 2 * 0.2, recurrence_round(&wrong), 1e-9);
    /* A declared latency so wrong that small loads seem to take no time at all. */
    assert_true(recurrence_sigma(&guarded, 1) < 0);
    recurrence_run(&guarded, 1, 3, loads, sigmas);
    assert_true(loads[1] == 1 && loads[2] == 1);
}

static void a_periodic_speed_follows_its_steps(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 500; number++) {
        struct cv_random random;
        struct cv_periodic profile;
        struct cleave_step *steps;
        uint32_t n;
        double begin, work;

        cv_random_at(&random, 21, number, 0, 0);
        profile = (struct cv_periodic){ random_between(&random, 0, 0.95),
                                        random_between(&random, 0.5, 20),
                                        random_between(&random, -30, 30),
                                        random_between(&random, 0, 1) };
        steps = cv_periodic_steps(&profile, 2000, &arena, &n);
        assert_non_null(steps);
        begin = random_between(&random, 0, 50);
        work = random_scale(&random, 0.01, 50);
        assert_near(periodic_end(&profile, begin, work),
                    cv_profile_end(&(struct cleave_profile){ steps, n }, begin, work),
                    1e-9);
        for (uint32_t i = 1; i < n; i++)
            assert_true(steps[i].from_s > steps[i - 1].from_s);
        cv_arena_reset(&arena);
    }
    assert_true(isinf(periodic_end(&(struct cv_periodic){ 1, 5, 0, 1 }, 3, 1)));
    assert_near(periodic_end(&(struct cv_periodic){ 1, 4, 0, 0.5 }, 0, 2e9), 4e9, 1e-15);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_of_theta_is_exact),
        cmocka_unit_test(a_first_round_has_its_own_bound),
        cmocka_unit_test(tight_delays_cover_every_order),
        cmocka_unit_test(own_weights_and_reserve_cover_the_sorted_order),
        cmocka_unit_test(two_workers_that_meet_every_round),
        cmocka_unit_test(trimmed_first_loads_prevent_contention),
        cmocka_unit_test(a_load_too_small_to_trim_is_kept),
        cmocka_unit_test(the_load_follows_the_map),
        cmocka_unit_test(a_periodic_speed_follows_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
