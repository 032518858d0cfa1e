/* test_min_cost_sizes.c -- prices of plans: the cheapest sizes, the bound, paid workers.
 * SPDX-License-Identifier: MIT */
#include "plan_check.h"

#include <stdio.h>
#include <cleave/run.h>
#include "model/bounds/load_bounds.h"
#include "model/load/plan.h"

enum { MOST = 4, CHUNKS = 7 };

struct scene {
    struct cleave_worker workers[MOST];
    double costs[MOST];
    struct cv_min_cost_plan thrift;
    struct cv_plan word;
};

/* Money and end of chunks as a shared port sends them. */
static double money_of(const struct scene *scene, const struct cv_plan *plan,
                       double *out_end_s)
{
    double from_s[MOST], end_s[MOST] = { 0 }, port_s[MOST] = { 0 }, money = 0;
    const bool multi = scene->thrift.port == CLEAVE_PORT_MULTI;

    *out_end_s = 0;
    for (uint32_t w = 0; w < MOST; w++)
        from_s[w] = -1;
    for (size_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        const struct cleave_worker *worker = &scene->workers[w];
        double *port = &port_s[multi ? w : 0];

        if (from_s[w] < 0)
            from_s[w] = *port;
        *port += worker->latency_s + plan->units[k] / worker->bandwidth_ups;
        end_s[w] = fmax(end_s[w], *port) + worker->compute_latency_s +
                   plan->units[k] / worker->speed_ups;
    }
    for (uint32_t w = 0; w < MOST; w++) {
        money += from_s[w] < 0 ? 0 : scene->costs[w] * (end_s[w] - from_s[w]);
        *out_end_s = fmax(*out_end_s, end_s[w]);
    }
    return money;
}

static void make_scene(struct scene *scene, uint32_t number, struct cv_arena *arena)
{
    struct cv_random random;

    cv_random_at(&random, 77, number, 0, 0);
    for (uint32_t w = 0; w < MOST; w++) {
        scene->workers[w] = random_worker(&random);
        scene->costs[w] = random_scale(&random, 0.1, 10);
    }
    scene->thrift =
        (struct cv_min_cost_plan){ scene->workers, scene->costs, MOST,
                                   number % 3 == 0 ? CLEAVE_PORT_MULTI : CLEAVE_PORT_ONE,
                                   random_scale(&random, 5, 500) };
    assert_true(cv_plan_init(&scene->word, arena, CHUNKS));
    for (uint32_t k = 0; k < CHUNKS; k++)
        scene->word.worker[k] =
            k < MOST ? k : (uint32_t)(MOST * cv_random_uniform(&random));
}

/* A deadline that some sizes keep: those drawn, which also must not be cheaper. */
static void no_sizes_are_cheaper(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 150; number++) {
        struct cv_random random;
        struct cv_plan drawn, sized;
        struct scene scene;
        double sum = 0, end_s, sized_s, money, measured;

        make_scene(&scene, number, &arena);
        cv_random_at(&random, 78, number, 0, 0);
        assert_true(cv_plan_init(&drawn, &arena, CHUNKS));
        for (uint32_t k = 0; k < CHUNKS; k++) {
            drawn.worker[k] = scene.word.worker[k];
            sum += drawn.units[k] = -log(cv_random_uniform(&random));
        }
        for (uint32_t k = 0; k < CHUNKS; k++)
            drawn.units[k] *= scene.thrift.load / sum;
        sized = scene.word;
        measured = money_of(&scene, &drawn, &end_s);
        money = cv_min_cost_sizes(&scene.thrift, end_s * (1 + 1e-9), &sized, &arena);
        assert_true(isfinite(money));
        assert_true(money <= measured * (1 + 1e-9));
        assert_near(money_of(&scene, &sized, &sized_s), money, 1e-7);
        assert_true(sized_s <= end_s * (1 + 1e-8));
        sum = 0;
        for (size_t k = 0; k < sized.nchunks; k++)
            sum += sized.units[k];
        assert_near(sum, scene.thrift.load, 1e-9);
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

/* Shifting a little from one chunk to another keeps the deadline or costs more: the sizes
 * are the best of the linear program, not only good ones. */
static void no_small_change_is_cheaper(void **state)
{
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    for (uint32_t number = 0; number < 40; number++) {
        struct cv_plan sized;
        struct scene scene;
        double end_s, money, deadline_s;

        make_scene(&scene, number, &arena);
        for (uint32_t k = 0; k < CHUNKS; k++)
            scene.word.units[k] = scene.thrift.load / CHUNKS;
        money_of(&scene, &scene.word, &deadline_s);
        sized = scene.word;
        money = cv_min_cost_sizes(&scene.thrift, deadline_s, &sized, &arena);
        for (size_t i = 0; i < sized.nchunks; i++)
            for (size_t j = 0; j < sized.nchunks; j++) {
                const double step = fmin(sized.units[i], 1e-4 * scene.thrift.load);
                double other;

                sized.units[i] -= step;
                sized.units[j] += step;
                other = money_of(&scene, &sized, &end_s);
                if (end_s <= deadline_s * (1 + 1e-12))
                    assert_true(other >= money * (1 - 1e-7));
                sized.units[i] += step;
                sized.units[j] -= step;
            }
        cv_arena_reset(&arena);
    }
    cv_arena_done(&arena);
}

static void an_early_end_is_reported(void **state)
{
    struct cv_arena arena;
    struct cv_plan sized;
    struct scene scene;

    (void)state;
    cv_arena_init(&arena);
    make_scene(&scene, 1, &arena);
    sized = scene.word;
    assert_true(isinf(cv_min_cost_sizes(&scene.thrift, 1e-6, &sized, &arena)));
    assert_int_equal(sized.nchunks, CHUNKS);
    cv_arena_done(&arena);
}

/* One worker, cost 2, 10 units at speed 5 after 1 s: 3 s, 6. Bounds that can be reached. */
static void bounds_of_one_worker(void **state)
{
    const struct cleave_worker worker = worker_of(5, 0.25, 1e12, 0.75);
    const struct cv_bound_query query = {
        .workers = &worker, .nworkers = 1, .port = CLEAVE_PORT_ONE, .load = 10
    };
    const double cost = 2;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    assert_near(cv_cost_bound(&query, &cost, INFINITY, &arena), 6, 1e-9);
    assert_near(cv_cost_bound(&query, &cost, 4, &arena), 6, 1e-9);
    assert_true(isinf(cv_cost_bound(&query, &cost, 2.9, &arena)));
    assert_near(cv_budget_bound(&query, &cost, 6.1, &arena), 3, 1e-9);
    assert_true(isinf(cv_budget_bound(&query, &cost, 5.9, &arena)));
    cv_arena_done(&arena);
}

static struct cleave_platform *random_priced(uint32_t number)
{
    static const char *const ports[] = { "one", "duplex", "multi" };
    char text[4000];
    struct cleave_platform *platform;
    struct cv_random random;
    struct cleave_error err;
    int at;

    cv_random_at(&random, 79, number, 0, 0);
    at = snprintf(text, sizeof text, "port: %s\nworkers:\n", ports[number % 3]);
    for (uint32_t w = 0; w < 2 + number % 3; w++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "  - {name: w%u, speed: %g, compute_latency: %g, bandwidth: %g, "
                       "latency: %g, cost: %g}\n",
                       w, random_scale(&random, 1, 20), random_scale(&random, 0.1, 3),
                       random_scale(&random, 10, 100), random_scale(&random, 0.01, 0.3),
                       random_scale(&random, 0.1, 3));
    MUST(cleave_platform_parse("priced", text, (size_t)at, &platform, &err));
    return platform;
}

/* Plans keep to their terms, and no bound is beaten; results and named policies as well. */
static void rentals_keep_to_their_terms(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 12; number++) {
        struct cleave_job job = { .platform = random_priced(number),
                                  .load = 300,
                                  .result_ratio = number % 4 == 3 ? 0.3 : 0,
                                  .policy = number % 4 == 2 ? "umr-plus" : NULL };
        struct cleave_platform *whole = (struct cleave_platform *)job.platform;
        struct cleave_rental_terms terms = { .deadline_s = 0 };
        struct cleave_schedule *fastest;
        struct cleave_rental *late, *soon;
        struct cleave_error err;

        MUST(cleave_plan_load(&job, &fastest, &err));
        terms.deadline_s = fastest->makespan_s * 2;
        MUST(cleave_rent(&job, &terms, &late, &err));
        assert_true(late->makespan_s <= terms.deadline_s * (1 + 1e-8));
        assert_true(late->cost <= fastest->cost * (1 + 1e-8));
        assert_true(late->cost >= late->least_cost * (1 - 1e-9));
        terms = (struct cleave_rental_terms){ .budget = late->cost };
        MUST(cleave_rent(&job, &terms, &soon, &err));
        assert_true(soon->cost <= terms.budget * (1 + 1e-8));
        assert_true(soon->makespan_s <= late->makespan_s * (1 + 1e-6));
        assert_true(soon->makespan_s >= soon->bound.value_s * (1 - 1e-9));
        terms = (struct cleave_rental_terms){ .deadline_s = fastest->bound.value_s / 2 };
        assert_int_equal(cleave_rent(&job, &terms, &soon, &err), CLEAVE_EINPUT);
        cleave_rental_free(late);
        cleave_rental_free(soon);
        cleave_schedule_free(fastest);
        cleave_platform_free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_sizes_are_cheaper),
        cmocka_unit_test(no_small_change_is_cheaper),
        cmocka_unit_test(an_early_end_is_reported),
        cmocka_unit_test(bounds_of_one_worker),
        cmocka_unit_test(rentals_keep_to_their_terms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
