/* test_rounds_links.c -- rounds with results where each worker has a separate port, and
 * where chunks are too large for its memory. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <cleave/run.h>

#include "base/random.h"
#include "model/bounds/load_bounds.h"
#include "model/rounds/rounds_links.h"

enum { MOST = 6, CASES = 30 };

/* Links from ten times as fast as their worker to half of that, each way. */
static struct cv_rounds_link draw(uint32_t number, uint32_t worker, bool memory)
{
    struct cv_random random;
    struct cv_rounds_link link;
    double fixed;

    cv_random_at(&random, 91, number, worker, 0);
    fixed = pow(10, -2 + 2.5 * cv_random_uniform(&random));
    link.trip = (struct cv_trip){
        .send_s = pow(10, -1 + 1.3 * cv_random_uniform(&random)),
        .compute_s = 0.5 + cv_random_uniform(&random),
        .back_s = number % 5 == 0 ? 0 : pow(10, -1 + 1.3 * cv_random_uniform(&random)),
        .send_fixed_s = fixed * cv_random_uniform(&random),
        .compute_fixed_s = number % 3 == 0 ? 0 : fixed * cv_random_uniform(&random),
        .back_fixed_s = number % 5 == 0 ? 0 : fixed * cv_random_uniform(&random),
    };
    link.memory = memory ? 1 + 15 * cv_random_uniform(&random) : INFINITY;
    return link;
}

static void make(uint32_t number, bool memory, struct cv_trip *trips, double *max,
                 struct cv_rounds *out)
{
    const uint32_t n = 1 + number % MOST;

    for (uint32_t w = 0; w < n; w++) {
        const struct cv_rounds_link link = draw(number, w, memory);

        trips[w] = link.trip;
        max[w] = link.memory;
    }
    *out = (struct cv_rounds){ { trips, n, false, NULL },
                               n * (number % 2 ? 15 : 60),
                               memory ? max : NULL };
}

/* Sums up to the load, ends when it says, and no chunk is too large. */
static void check_plan(const struct cv_rounds *rounds, const struct cv_rounds_plan *plan)
{
    double sum = 0, end_s = 0;

    for (uint32_t k = 0; k < plan->nchunks;) {
        const uint32_t w = plan->worker[k];
        const struct cv_rounds_link link = { rounds->returns.trips[w], INFINITY };
        uint32_t count = 0;

        while (k + count < plan->nchunks && plan->worker[k + count] == w) {
            assert_true(plan->units[k + count] >= 0);
            if (rounds->memory != NULL)
                assert_true(plan->units[k + count] <= rounds->memory[w] * (1 + 1e-9));
            sum += plan->units[k + count++];
        }
        end_s = fmax(end_s, cv_link_end(&link, plan->units + k, count));
        k += count;
    }
    assert_true(fabs(sum / rounds->load - 1) < 1e-9);
    assert_true(fabs(end_s / plan->makespan_s - 1) < 1e-9);
}

/* The plan of a case is checked, and its bound is one; how far it is above that. */
static double gap_of(uint32_t number, bool memory)
{
    struct cv_trip trips[MOST];
    double max[MOST], bound_s, load, gap;
    struct cv_rounds rounds;
    struct cv_rounds_plan plan;
    struct cv_arena arena;

    make(number, memory, trips, max, &rounds);
    cv_arena_init(&arena);
    assert_int_equal(cv_rounds_links(&rounds, 0, &arena, &plan, &load, NULL), CLEAVE_OK);
    check_plan(&rounds, &plan);
    bound_s = cv_rounds_links_bound(&rounds, 0, &arena);
    assert_true(bound_s > 0 && bound_s <= plan.makespan_s * (1 + 1e-9));
    gap = plan.makespan_s / bound_s - 1;
    cv_arena_done(&arena);
    return gap;
}

/* No schedule is shorter than the bound, and the plan is one: where both are equal, and they
 * are where the best are few chunks, both are the optimum. */
static void plans_are_optimal(void **state)
{
    unsigned equal = 0;
    double gaps = 0;

    (void)state;
    for (uint32_t number = 0; number < CASES; number++) {
        const double gap = gap_of(number, false);

        assert_true(gap <= 0.05);
        equal += gap <= 1e-8;
        gaps += gap;
    }
    assert_true(equal >= CASES / 6 && gaps / CASES < 0.01);
}

/* Random changes of sizes and numbers of chunks do not beat the claimed maximum. */
static void no_other_plan_does_more(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < CASES; number++) {
        const struct cv_rounds_link link = draw(number, 0, number % 2);
        struct cv_link_workspace room;
        struct cv_arena arena;
        struct cv_random random;
        struct cv_link_lines lines;
        double sizes[40], max, found;

        cv_arena_init(&arena);
        cv_random_at(&random, 92, number, 0, 0);
        assert_true(cv_link_room_init(&room, &arena));
        cv_link_price(&room, &link, 33, &lines);
        max = cv_link_most(&link, &lines, 30);
        found = cv_link_best(&room, &link, 30, 0).units;
        assert_true(found <= max * (1 + 1e-9));
        for (int trial = 0; trial < 300; trial++) {
            const uint32_t chunks = 1 + (uint32_t)(cv_random_uniform(&random) * 30);
            const double grows = 0.6 + cv_random_uniform(&random);
            double low = 0, high = 1e3, units = 0, next = 1;

            for (uint32_t k = 0; k < chunks; k++) {
                sizes[k] = next * (0.8 + 0.4 * cv_random_uniform(&random));
                next *= k < chunks / 2 ? grows : 1 / grows;
            }
            for (int i = 0; i < 60; i++) { /* as large as can be */
                const double scale = low + (high - low) / 2;
                double trial_sizes[40];
                bool fits = true;

                for (uint32_t k = 0; k < chunks; k++) {
                    trial_sizes[k] = sizes[k] * scale;
                    fits = fits && trial_sizes[k] <= link.memory;
                }
                if (fits && cv_link_end(&link, trial_sizes, chunks) <= 30)
                    low = scale;
                else
                    high = scale;
            }
            for (uint32_t k = 0; k < chunks; k++)
                units += sizes[k] * low;
            if (low > 0)
                assert_true(units <= max * (1 + 1e-9));
        }
        cv_arena_done(&arena);
    }
}

/* A lifespan: the units done in the makespan of a load are that load. */
static void lifespans_fit(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 30; number++) {
        struct cv_trip trips[MOST];
        double max[MOST], load, work, bound;
        struct cv_rounds rounds;
        struct cv_rounds_plan plan, again;
        struct cv_arena arena;

        make(number, number % 2, trips, max, &rounds);
        cv_arena_init(&arena);
        assert_int_equal(cv_rounds_links(&rounds, 0, &arena, &plan, &load, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_rounds_links(&rounds, plan.makespan_s, &arena, &again, &work,
                                         NULL),
                         CLEAVE_OK);
        assert_true(again.makespan_s <= plan.makespan_s * (1 + 1e-9));
        assert_true(work >= load * (1 - 1e-6));
        bound = cv_rounds_links_bound(&rounds, plan.makespan_s, &arena);
        assert_true(work <= bound * (1 + 1e-9));
        cv_arena_done(&arena);
    }
}

/* Little memory: chunks fit, and the plan is near the bound, which knows of memory. */
static void memory_is_kept_to(void **state)
{
    double gaps = 0;

    (void)state;
    for (uint32_t number = 0; number < CASES; number++)
        gaps += gap_of(number, true);
    assert_true(gaps / CASES < 0.02);
}

/* --- shared ports with little memory ---------------------------------------------------- */

static double makespan_of(const struct cleave_platform *platform, const char *policy,
                          double *out_bound)
{
    const struct cleave_job job = { .platform = platform,
                                    .load = 200,
                                    .result_ratio = 0.5,
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;
    double makespan_s;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s: %s", policy, err.text);
    for (size_t k = 0; k < schedule->nchunks; k++)
        assert_true(schedule->chunks[k].units <=
                    cleave_platform_memory(platform, schedule->chunks[k].worker) *
                        (1 + 1e-9));
    makespan_s = schedule->makespan_s;
    *out_bound = schedule->bound.value_s;
    cleave_schedule_free(schedule);
    return makespan_s;
}

/* On every port, workers with memory for a few units: policies with small chunks do not
 * beat rounds, and the bound holds. */
static void rounds_take_little_memory(void **state)
{
    static const char *const others[] = { "umr-plus", "self", "weighted-factoring",
                                          "learn" };
    static const char *const ports[] = { "one", "duplex", "multi" };
    double sum = 0;
    unsigned count = 0;

    (void)state;
    for (uint32_t number = 0; number < 9; number++) {
        char text[1024];
        struct cleave_platform *platform = NULL;
        struct cv_random random;
        double rounds_s, best_s = INFINITY, bound_s;
        int at = snprintf(text, sizeof text, "port: %s\nworkers:\n", ports[number % 3]);

        cv_random_at(&random, 93, number, 0, 0);
        for (int w = 0; w < 4; w++)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "  - {name: w%d, speed: %.17g, bandwidth: %.17g, latency: "
                           "%.17g, compute_latency: %.17g, memory: %.17g}\n",
                           w, 1 + 2 * cv_random_uniform(&random),
                           15 + 30 * cv_random_uniform(&random),
                           0.2 * cv_random_uniform(&random),
                           0.5 * cv_random_uniform(&random),
                           4 + 12 * cv_random_uniform(&random));
        assert_int_equal(cleave_platform_parse("memory", text, (size_t)at, &platform,
                                               NULL),
                         CLEAVE_OK);
        rounds_s = makespan_of(platform, "rounds", &bound_s);
        assert_true(bound_s <= rounds_s * (1 + 1e-9));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            best_s = fmin(best_s, makespan_of(platform, others[i], &bound_s));
        assert_true(bound_s <= best_s * (1 + 1e-9));
        assert_true(rounds_s <= best_s * 1.005);
        sum += rounds_s / best_s;
        count++;
        cleave_platform_free(platform);
    }
    assert_true(sum / count < 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_optimal),
        cmocka_unit_test(no_other_plan_does_more),
        cmocka_unit_test(lifespans_fit),
        cmocka_unit_test(memory_is_kept_to),
        cmocka_unit_test(rounds_take_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
