/* test_loads.c -- several loads on one platform: bounds, plans, rounding, releases.
 * SPDX-License-Identifier: MIT
 *
 * With a number as its argument it draws that many random instances and prints the means
 * that docs/theory/loads.md shows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <cleave/cleave.h>

#include "base/random.h"
#include "model/loads/loads.h"

enum { WORKERS_MOST = 8, LOADS_MOST = 6, INSTANCES = 20, GOALS = 3 };

static const char *const policies[] = { "plan",       "online", "johnson", "smith",
                                        "one-by-one", "equal",  "apart" };
enum { POLICIES = sizeof policies / sizeof *policies };

struct instance {
    struct cleave_platform *platform;
    struct cleave_load loads[LOADS_MOST];
    double compute[LOADS_MOST][WORKERS_MOST];
    size_t count;
    uint64_t seed;
};

/* Between 0 and 1, a function of the seed and the calls so far. */
static double draw(uint64_t *state)
{
    *state = cv_random_derive(*state, 1);
    return (double)(*state >> 11) * 0x1p-53;
}

static uint32_t draw_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)(draw(state) * below);
}

/* 2 to 8 workers, 2 to 6 loads, transfer over computation 0.06 to 4, half with costs that
 * differ by worker, half with releases, latencies of 0 to 0.3 s. */
static void make(struct instance *in, uint64_t seed)
{
    static const double spreads[] = { 1, 2, 5 }, latencies[] = { 0, 0.01, 0.1 },
                        weights[] = { 1, 1, 2, 5 };
    uint64_t state = cv_random_derive(0x10ad5, seed);
    struct cleave_worker workers[WORKERS_MOST];
    const uint32_t n = 2 + draw_below(&state, WORKERS_MOST - 1);
    const double spread = log(spreads[draw_below(&state, 3)]),
                 latency_s = latencies[draw_below(&state, 3)],
                 start_s = latencies[draw_below(&state, 3)];
    const bool multi = draw_below(&state, 4) == 0;
    double sum_s = 0;
    bool released;

    *in = (struct instance){ .seed = seed,
                             .count = 2 + draw_below(&state, LOADS_MOST - 1) };
    for (uint32_t i = 0; i < n; i++) {
        workers[i] = (struct cleave_worker){ .speed_ups = 1, .bandwidth_ups = n };
        workers[i].speed_ups *= exp((draw(&state) - 0.5) * spread);
        workers[i].bandwidth_ups *= exp((draw(&state) - 0.5) * spread);
        workers[i].return_bandwidth_ups = workers[i].bandwidth_ups;
        workers[i].latency_s = latency_s * exp((draw(&state) - 0.5) * spread);
        workers[i].compute_latency_s = start_s * exp((draw(&state) - 0.5) * spread);
    }
    assert_int_equal(cleave_platform_new(multi ? CLEAVE_PORT_MULTI : CLEAVE_PORT_ONE,
                                         workers, n, &in->platform, NULL),
                     CLEAVE_OK);
    for (size_t k = 0; k < in->count; k++) {
        const double ratio = pow(10, -1.2 + 1.8 * draw(&state));
        const bool differ = draw(&state) < 0.5;
        struct cleave_load *load = &in->loads[k];

        *load = (struct cleave_load){ .name = "load",
                                      .units = pow(10, 1.3 + 1.3 * draw(&state)),
                                      .weight = weights[draw_below(&state, 4)],
                                      .compute = in->compute[k],
                                      .transfer = ratio * (multi ? n : 1) };
        for (uint32_t i = 0; i < n; i++)
            in->compute[k][i] = differ ? exp(0.8 * draw(&state) - 0.4) : 1;
        sum_s += load->units / n * fmax(1, ratio);
    }
    released = draw(&state) < 0.5;
    for (size_t k = 1; released && k < in->count; k++)
        in->loads[k].release_s = draw(&state) * sum_s * 0.6;
}

static struct cleave_schedule *plan(const struct instance *in, const char *policy,
                                    enum cleave_goal goal)
{
    const struct cleave_job job = { .platform = in->platform,
                                    .loads = in->loads,
                                    .nloads = in->count,
                                    .goal = goal,
                                    .policy = policy,
                                    .seed = 1 };
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK)
        fail_msg("instance %llu, %s, goal %d: %s", (unsigned long long)in->seed, policy,
                 (int)goal, err.text);
    return schedule;
}

/* Every unit is sent once, not before its release, and the bound holds. */
static void check(const struct instance *in, const struct cleave_schedule *schedule)
{
    double units[LOADS_MOST] = { 0 };

    for (size_t c = 0; c < schedule->nchunks; c++) {
        const struct cleave_chunk *chunk = &schedule->chunks[c];

        units[chunk->item] += chunk->units;
        assert_true(chunk->send_start_s >= in->loads[chunk->item].release_s);
    }
    for (size_t k = 0; k < in->count; k++)
        assert_true(fabs(units[k] - in->loads[k].units) <= 1e-6 * in->loads[k].units);
    for (size_t b = 0; b < schedule->nbounds; b++)
        if (schedule->value < schedule->bounds[b].value_s * (1 - 1e-9))
            fail_msg("instance %llu: %s has %.17g, below the bound %s of %.17g",
                     (unsigned long long)in->seed, schedule->policy, schedule->value,
                     schedule->bounds[b].name, schedule->bounds[b].value_s);
}

/* Means over instances. */
struct sums {
    double over[GOALS][POLICIES], worst[GOALS][POLICIES], gain[GOALS][POLICIES];
    uint32_t beaten, count;
};

static void run_instance(struct sums *sums, uint64_t seed)
{
    struct instance in;

    make(&in, seed);
    for (int goal = 0; goal < GOALS; goal++) {
        double best = NAN;

        for (size_t p = 0; p < POLICIES; p++) {
            struct cleave_schedule *schedule =
                plan(&in, policies[p], (enum cleave_goal)goal);
            const double over = schedule->value / schedule->bound.value_s;

            check(&in, schedule);
            best = p == 0 ? schedule->value : best;
            sums->over[goal][p] += over;
            sums->worst[goal][p] = fmax(sums->worst[goal][p], over);
            sums->gain[goal][p] += schedule->value / best;
            cleave_schedule_free(schedule);
        }
    }
    sums->count++;
    cleave_platform_free(in.platform);
}

static void print_sums(const struct sums *sums)
{
    static const char *const goals[] = { "makespan", "weighted", "stretch" };

    printf("%u instances: value over bound, mean (worst), and over plan\n", sums->count);
    for (int goal = 0; goal < GOALS; goal++)
        for (size_t p = 0; p < POLICIES; p++)
            printf("%-8s %-10s %6.3f (%6.2f) %6.3f\n", goals[goal], policies[p],
                   sums->over[goal][p] / sums->count, sums->worst[goal][p],
                   sums->gain[goal][p] / sums->count);
}

/* --- the loss by rounding ------------------------------------------------------------- */

/* The costs of an instance without releases. */
static struct cv_loads costs_of(const struct instance *in, struct cv_arena *arena)
{
    const struct cleave_view view = {
        .workers = cleave_platform_workers(in->platform),
        .nworkers = cleave_platform_nworkers(in->platform),
        .port = CLEAVE_PORT_ONE,
        .loads = in->loads,
        .nloads = in->count,
    };
    double *units = cv_array(arena, in->count, sizeof *units);
    struct cv_loads loads;

    for (size_t k = 0; k < in->count; k++)
        units[k] = in->loads[k].units;
    assert_true(cv_loads_init(&loads, &view, units, arena));
    return loads;
}

/* The end of the schedule of docs/theory/loads.md: every period sends a chunk of each pair,
 * and workers compute chunks in the order of arrival. */
static double periods_end(const struct cv_loads *loads, const double *quota, double m)
{
    double port_s = 0, end_s = 0, free_s[WORKERS_MOST] = { 0 };

    for (double q = 0; q < m; q++)
        for (uint32_t x = 0; x < loads->n * loads->count; x++) {
            const uint32_t i = x / loads->count;

            if (!(quota[x] > 0))
                continue;
            port_s += loads->latency_s[i] + loads->c[x] * quota[x] / m;
            free_s[i] =
                fmax(free_s[i], port_s) + loads->start_s[i] + loads->e[x] * quota[x] / m;
            end_s = fmax(end_s, free_s[i]);
        }
    return end_s;
}

static void rounding_loses_no_more_than_the_theorem_says(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        double least_s, lost_s = 0, pairs = 0, m;
        struct cv_fluid *fluid;
        struct cv_phases phases;
        struct instance in;
        struct cv_loads loads;
        struct cv_arena arena;

        cv_arena_init(&arena);
        make(&in, seed);
        loads = costs_of(&in, &arena);
        assert_true(cv_fluid_init(&loads, 1, false, &arena, &fluid) &&
                    cv_phases_init(&phases, &loads, 1, &arena));
        least_s = cv_fluid_makespan(fluid, &loads, false, &phases);
        for (uint32_t i = 0; i < loads.n; i++) {
            double own = 0;

            for (uint32_t k = 0; k < loads.count; k++)
                own += phases.quota[i * loads.count + k] > 0;
            pairs += own;
            lost_s = fmax(lost_s, own * loads.start_s[i]);
        }
        assert_true(pairs <= loads.n + loads.count);
        for (double port_s = 0, i = 0; i < loads.n; i++) {
            for (uint32_t k = 0; k < loads.count; k++)
                port_s += phases.quota[(uint32_t)i * loads.count + k] > 0
                              ? loads.latency_s[(uint32_t)i]
                              : 0;
            lost_s = fmax(lost_s, port_s);
        }
        m = lost_s > 0 ? ceil(sqrt(least_s / lost_s)) : 50;
        assert_true(periods_end(&loads, phases.quota, m) <=
                    (least_s + least_s / m + (m + 1) * lost_s) * (1 + 1e-7));
        cleave_platform_free(in.platform);
        cv_arena_done(&arena);
    }
}

/* --- rules of the driver -------------------------------------------------------------- */

struct none {
    int unused;
};

static void sends_early(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_load(orders, 0, 1, view->loads[0].units);
}

static void sends_too_much(void *state, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_load(orders, 0, 0, 2 * view->loads[0].units);
}

/* A load is hidden until its release, and CLEAVE_WAKE tells of it. */
static void sends_what_it_sees(void *state, const struct cleave_view *view,
                               const struct cleave_event *event,
                               struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START) {
        assert_true(view->loads[1].units == 0);
        cleave_order_load(orders, 0, 0, view->loads[0].units);
    } else if (event->kind == CLEAVE_WAKE) {
        assert_true(event->time_s == 5 && view->loads[1].units == 20);
        cleave_order_load(orders, 0, 1, view->loads[1].units);
    } else if (event->kind == CLEAVE_DONE) {
        assert_int_equal(event->item, event->chunk);
    }
}

static void drivers_hide_loads_and_refuse_wrong_orders(void **state)
{
    static const struct {
        struct cleave_policy policy;
        const char *expected; /* NULL: no error */
    } cases[] = {
        { { .name = "early", .task = CLEAVE_TASK_LOADS, .decide = sends_early },
          "sent units of load 'b' before its release" },
        { { .name = "much", .task = CLEAVE_TASK_LOADS, .decide = sends_too_much },
          "units more of load 'a' than it has" },
        { { .name = "sees", .task = CLEAVE_TASK_LOADS, .decide = sends_what_it_sees },
          NULL },
    };
    const struct cleave_worker worker = { 1, 0, 1, 0, 1, 0 };
    const double ones[] = { 1, 1 };
    const struct cleave_load loads[] = {
        { .name = "a", .units = 10, .weight = 1, .compute = ones, .transfer = 1 },
        { .name = "b", .units = 20, .weight = 1, .release_s = 5, .compute = ones },
    };
    struct cleave_platform *platform = NULL;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, &worker, 1, &platform, NULL),
                     CLEAVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_policy policy = cases[i].policy;
        const struct cleave_job job = {
            .platform = platform, .loads = loads, .nloads = 2, .own_policy = &policy
        };
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err = { .text = "" };
        enum cleave_status status;

        policy.state_size = sizeof(struct none);
        status = cleave_plan_load(&job, &schedule, &err);
        if (cases[i].expected != NULL) {
            assert_int_equal(status, CLEAVE_EPOLICY);
            assert_non_null(strstr(err.text, cases[i].expected));
        } else {
            assert_int_equal(status, CLEAVE_OK);
            assert_true(schedule->ends_s[0] == 20 && schedule->ends_s[1] == 40);
        }
        cleave_schedule_free(schedule);
    }
    cleave_platform_free(platform);
}

static uint64_t instances = INSTANCES; /* more: print means */

static void no_plan_beats_a_bound(void **state)
{
    struct sums sums = { .count = 0 };

    (void)state;
    for (uint64_t seed = 0; seed < instances; seed++)
        run_instance(&sums, seed);
    if (instances > INSTANCES)
        print_sums(&sums);
    for (int goal = 0; goal < GOALS; goal++) {
        assert_true(sums.over[goal][0] / sums.count < (goal == 2 ? 1.5 : 1.2));
        for (size_t p = 1; p < POLICIES; p++) /* plan tries most of them */
            assert_true(sums.gain[goal][p] / sums.count > 0.99);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_beats_a_bound),
        cmocka_unit_test(rounding_loses_no_more_than_the_theorem_says),
        cmocka_unit_test(drivers_hide_loads_and_refuse_wrong_orders),
    };

    if (argc > 1)
        instances = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
