/* test_stream_cip.c -- the shortest round in which a master can serve all its workers.
 * SPDX-License-Identifier: MIT */
#include "stream_check.h"

#include "model/stream/stream_costs.h"

enum { MOST = 8 };

struct scene {
    struct cleave_worker workers[MOST];
    double theta[MOST], margin[MOST];
    struct cv_stream_ring ring;
};

/* Messages long enough for no tau to be possible now and then. */
static void random_scene(struct scene *scene, uint32_t number)
{
    struct cv_random random;

    cv_random_at(&random, 51, number, 0, 0);
    scene->ring = (struct cv_stream_ring){
        .workers = scene->workers,
        .n = 1 + number % MOST,
        .result_ratio = number % 7 == 0 ? 0 : random_between(&random, 0, 2),
        .theta = scene->theta,
        .margin = scene->margin,
    };
    for (uint32_t w = 0; w < scene->ring.n; w++) {
        scene->workers[w] = stream_worker(&random);
        scene->workers[w].bandwidth_ups =
            scene->workers[w].speed_ups * random_scale(&random, 3, 100);
        scene->workers[w].return_bandwidth_ups =
            scene->workers[w].speed_ups * random_scale(&random, 3, 100);
        scene->theta[w] = number % 2 == 0 ? 0.5 : random_between(&random, 0.05, 0.95);
        scene->margin[w] = random_between(&random, 0, 0.5);
    }
}

static double sum_at(const struct cv_stream_ring *ring, double tau)
{
    struct cv_stream_ring at = *ring;
    struct cv_arena arena;
    const struct cv_stream_times *times;
    double delays[MOST];

    cv_arena_init(&arena);
    at.tau_s = tau;
    times = cv_ring_times(&at, &arena);
    assert_non_null(times);
    cv_ring_delays(&at, times, delays);
    cv_arena_done(&arena);
    return cv_stream_sum(delays, ring->n);
}

static void least_tau_is_least(void **state)
{
    unsigned found = 0, none = 0, at_latency = 0;

    (void)state;
    for (uint32_t number = 0; number < 2000; number++) {
        struct scene scene;
        double latency = 0, tau;

        random_scene(&scene, number);
        for (uint32_t w = 0; w < scene.ring.n; w++)
            latency = fmax(latency, 2 * scene.workers[w].compute_latency_s);
        tau = cv_ring_least_tau(&scene.ring, 0);
        if (isinf(tau)) {
            for (unsigned step = 0; step < 200; step++) {
                const double at = latency * pow(1.1, step);

                assert_true(sum_at(&scene.ring, at) > at);
            }
            none++;
            continue;
        }
        found++;
        assert_true(tau >= latency && sum_at(&scene.ring, tau) <= tau);
        if (tau == latency) {
            at_latency++;
            continue;
        }
        for (unsigned part = 1; part <= 50; part++) {
            const double at = latency + (tau - latency) * (1 - 1e-9) * part / 50;

            assert_true(sum_at(&scene.ring, at) > at);
        }
    }
    assert_in_range(found, 500, 2000);
    assert_in_range(none, 50, 2000);
    assert_in_range(at_latency, 10, 2000);
}

/* The range of tau says the same as the windows themselves. */
static void the_range_is_where_windows_are_not_empty(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 1000; number++) {
        struct scene scene;
        struct cv_tau_range range;

        random_scene(&scene, number);
        for (uint32_t w = 0; w < scene.ring.n; w++)
            scene.workers[w].bandwidth_ups /= 1 + number % 4;
        range = cv_ring_theta_range(&scene.ring);
        for (unsigned step = 0; step < 32; step++) {
            const double tau = 0.2 * pow(1.3, step);
            bool all = true;

            for (uint32_t w = 0; w < scene.ring.n; w++) {
                const struct cleave_worker *worker = &scene.workers[w];
                const double load = cv_stream_load(worker, tau);
                const struct cv_theta_window window =
                    cv_theta_window(worker, scene.ring.result_ratio, load, load);

                all = all && load > 0 &&
                      fmax(window.low, cv_theta_first(worker, load)) <= window.high;
            }
            if (fabs(tau - range.low_s) > 1e-9 * tau &&
                fabs(tau - range.high_s) > 1e-9 * tau)
                assert_int_equal(all, tau >= range.low_s && tau <= range.high_s);
        }
    }
}

static void assert_fit(const struct scene *scene, const struct cv_cip *cip, double share)
{
    const double ratio = scene->ring.result_ratio;

    assert_true(cv_stream_sum(cip->delay, scene->ring.n) <= cip->tau_s);
    assert_true(cip->tau_s >= cip->least_tau_s);
    for (uint32_t w = 0; w < scene->ring.n; w++) {
        const struct cleave_worker *worker = &scene->workers[w];
        const struct cv_stream_times times =
            cv_stream_times(worker, cip->theta[w], ratio, cip->first_load[w]);

        assert_true(2 * worker->compute_latency_s <= share * cip->tau_s * (1 + 1e-12));
        assert_near(times.compute_first_s + times.compute_second_s, cip->tau_s, 1e-9);
        assert_true(times.send_second_s <= times.compute_first_s + 1e-9);
        assert_true(times.return_first_s + times.send_first_s <=
                    times.compute_second_s + 1e-9);
        assert_true(times.return_first_s + cv_send_time(&times) <= cip->tau_s + 1e-9);
    }
}

static void a_round_without_contention_or_gaps(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    unsigned found = 0, moved = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 2000; number++) {
        struct scene scene;
        struct cv_cip cip;

        random_scene(&scene, number);
        if (cv_stream_cip(&scene.ring, 0.2, &arena, &cip, &err) == CLEAVE_OK) {
            assert_fit(&scene, &cip, 0.2);
            for (uint32_t w = 0; w < scene.ring.n; w++)
                moved += cip.theta[w] != scene.theta[w];
            found++;
        } else {
            assert_int_equal(err.status, CLEAVE_EINPUT);
        }
        cv_arena_reset(&arena);
    }
    assert_in_range(found, 500, 2000);
    assert_in_range(moved, 50, 20000);
    cv_arena_done(&arena);
}

/* With workers that start slowly: all that are served have something to do, and those that are
 * left out would not. */
static void slow_starters_are_left_out(void **state)
{
    struct cv_arena arena;
    struct cleave_error err;
    unsigned left = 0, kept = 0;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 2000; number++) {
        struct scene scene, some;
        uint32_t served[MOST], count, next = 0;
        struct cv_cip cip;

        random_scene(&scene, number);
        scene.workers[number % scene.ring.n].compute_latency_s *= 1 + number % 200;
        if (cv_stream_cip_served(&scene.ring, 0.2, &arena, &cip, served, &count, &err) !=
            CLEAVE_OK)
            continue;
        some = scene;
        some.ring.workers = some.workers;
        some.ring.n = count;
        assert_true(count > 0);
        for (uint32_t w = 0; w < scene.ring.n; w++) {
            if (next == count || served[next] != w) {
                assert_true(2 * scene.workers[w].compute_latency_s >= cip.tau_s);
                left++;
                continue;
            }
            assert_true(cip.first_load[next] > 0);
            some.workers[next++] = scene.workers[w];
        }
        assert_int_equal(next, count);
        assert_fit(&some, &cip, 0.2);
        kept += count == scene.ring.n;
        cv_arena_reset(&arena);
    }
    assert_in_range(left, 100, 4000);
    assert_in_range(kept, 100, 2000);
    cv_arena_done(&arena);
}

static void messages_too_long_are_an_error(void **state)
{
    const struct cleave_worker slow_link[] = { { 30, 0.001, 20, 0.09, 25, 0.09 },
                                               { 22, 0.004, 20, 0.06, 25, 0.05 } };
    /* Within the port, but data alone take longer than their computation. */
    const struct cleave_worker no_overlap[] = { { 10, 0.001, 11, 0.01, 25, 0.01 } };
    struct cv_stream_ring ring = { slow_link, 2, 0, 1, NULL, NULL };
    struct cleave_error err;
    struct cv_arena arena;
    struct cv_cip cip;

    (void)state;
    cv_arena_init(&arena);
    assert_true(isinf(cv_ring_least_tau(&ring, 0)));
    assert_int_equal(cv_stream_cip(&ring, 0, &arena, &cip, &err), CLEAVE_EINPUT);
    ring = (struct cv_stream_ring){ no_overlap, 1, 0, 1, NULL, NULL };
    assert_true(isfinite(cv_ring_least_tau(&ring, 0)));
    assert_int_equal(cv_stream_cip(&ring, 0, &arena, &cip, &err), CLEAVE_EINPUT);
    cv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_tau_is_least),
        cmocka_unit_test(the_range_is_where_windows_are_not_empty),
        cmocka_unit_test(a_round_without_contention_or_gaps),
        cmocka_unit_test(slow_starters_are_left_out),
        cmocka_unit_test(messages_too_long_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
