/* test_item_loads.c -- items: shares, books, traces. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <cleave/cleave.h>

#include "base/random.h"
#include "engine/driver.h"
#include "engine_here.h"
#include "policy/compound/registry.h"

enum { MOST = 2000 };

/* Links so wide that no worker waits for them. */
static struct cleave_platform *platform_of(const double *speeds, const double *starts,
                                           uint32_t n)
{
    struct cleave_worker workers[64];
    struct cleave_platform *platform = NULL;

    for (uint32_t w = 0; w < n; w++)
        workers[w] = (struct cleave_worker){ speeds[w], starts[w], 1e12, 0, 1e12, 0 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, n, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* Between 0 and 1. */
static double unit(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t bits = cv_random_derive(
        cv_random_derive(cv_random_derive(cv_random_derive(seed, a), b), c), 1);

    return (double)(bits >> 11) * 0x1p-53;
}

/* A Pareto law: most are small, a few are huge. */
static void pareto(double *sizes, uint32_t n, double shape, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        sizes[i] = 1e5 * pow(1 - unit(seed, 0, 0, i), -1 / shape);
}

static struct cleave_schedule *plan(const struct cleave_job *job)
{
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    if (cleave_plan_load(job, &schedule, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return schedule;
}

/* Every item once, each by one worker at a time, as long as it should take. */
static void check_schedule(const struct cleave_schedule *schedule,
                           const struct cleave_job *job)
{
    const struct cleave_worker *workers = cleave_platform_workers(job->platform);
    bool *seen = calloc(job->nitems, sizeof *seen);
    double ends[64] = { 0 }, last = 0;

    assert_non_null(seen);
    assert_int_equal(schedule->nchunks, job->nitems);
    for (size_t k = 0; k < schedule->nchunks; k++) {
        const struct cleave_chunk *chunk = &schedule->chunks[k];
        const struct cleave_worker *worker = &workers[chunk->worker];

        assert_in_range(chunk->item, 0, job->nitems - 1);
        assert_false(seen[chunk->item]);
        seen[chunk->item] = true;
        assert_true(chunk->units == job->sizes[chunk->item]);
        assert_true(chunk->compute_start_s >= ends[chunk->worker] - 1e-9);
        assert_true(fabs(chunk->compute_end_s - chunk->compute_start_s -
                         worker->compute_latency_s - chunk->units / worker->speed_ups) <
                    1e-9 * (1 + chunk->compute_end_s));
        ends[chunk->worker] = chunk->compute_end_s;
        last = fmax(last, chunk->compute_end_s);
    }
    assert_true(fabs(last - schedule->makespan_s) < 1e-9 * (1 + last));
    assert_true(schedule->makespan_s >= schedule->bound.value_s * (1 - 1e-9));
    free(seen);
}

/* 2,000 files with sizes of a Pareto law on workers, one of them four times as fast as
 * another: within three hundredths of the bound. */
static void near_the_bound(void **state)
{
    static const double shapes[] = { 1.1, 1.3, 2 };
    static const double two[] = { 4e6, 1e6 }, five[] = { 4e6, 1e6, 4e6, 1e6, 2e6 };
    static const double none[5], some[] = { 0.05, 0.02, 0.03, 0.05, 0.04 };
    static double sizes[MOST];

    (void)state;
    for (int k = 0; k < 12; k++) {
        const uint32_t n = k % 2 == 0 ? 2 : 5;
        struct cleave_job job = { .sizes = sizes, .nitems = MOST };
        struct cleave_platform *platform =
            platform_of(n == 2 ? two : five, k < 6 ? none : some, n);
        struct cleave_schedule *schedule;
        double listed_s;

        pareto(sizes, MOST, shapes[k / 2 % 3], (uint64_t)k + 1);
        job.platform = platform;
        schedule = plan(&job);
        check_schedule(schedule, &job);
        if (schedule->makespan_s > 1.03 * schedule->bound.value_s)
            fail_msg("case %d: %g s, bound %g s (%s)", k, schedule->makespan_s,
                     schedule->bound.value_s, schedule->bound.name);
        listed_s = schedule->makespan_s;
        cleave_schedule_free(schedule);
        job.policy = "items-list";
        schedule = plan(&job);
        check_schedule(schedule, &job);
        assert_true(schedule->makespan_s >= listed_s * (1 - 1e-9));
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
}

/* --- against all assignments ------------------------------------------------------------- */

static double best_of(const double *speeds, const double *starts, uint32_t workers,
                      const double *sizes, uint32_t items)
{
    uint32_t owner[8] = { 0 };
    double best = INFINITY;

    for (;;) {
        double load[4] = { 0 }, end = 0;
        uint32_t i = 0;

        for (uint32_t k = 0; k < items; k++)
            load[owner[k]] += starts[owner[k]] + sizes[k] / speeds[owner[k]];
        for (uint32_t w = 0; w < workers; w++)
            end = fmax(end, load[w]);
        best = fmin(best, end);
        while (i < items && ++owner[i] == workers)
            owner[i++] = 0;
        if (i == items)
            return best;
    }
}

/* Bounds are below the optimum, and plans not far above it. */
static void small_cases(void **state)
{
    double over = 0, under = 0;
    enum { CASES = 300 };

    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        const uint32_t workers = 2 + k % 3, items = 1 + k % 7;
        double speeds[4], starts[4], sizes[8], best;
        struct cleave_platform *platform;
        struct cleave_schedule *schedule;
        struct cleave_job job = { .sizes = sizes, .nitems = items };

        for (uint32_t w = 0; w < workers; w++) {
            speeds[w] = 1 + 4 * unit(9, k, 1, w);
            starts[w] = k % 4 == 0 ? 0 : unit(9, k, 2, w);
        }
        for (uint32_t i = 0; i < items; i++)
            sizes[i] = k % 5 == 0 ? i % 3 : 10 * unit(9, k, 3, i);
        platform = platform_of(speeds, starts, workers);
        job.platform = platform;
        best = best_of(speeds, starts, workers, sizes, items);
        schedule = plan(&job);
        check_schedule(schedule, &job);
        for (size_t b = 0; b < schedule->nbounds; b++)
            if (schedule->bounds[b].value_s > best * (1 + 1e-9) + 1e-9)
                fail_msg("case %u: bound %s is %g, the optimum %g", k,
                         schedule->bounds[b].name, schedule->bounds[b].value_s, best);
        if (schedule->makespan_s > 1.25 * best + 1e-9)
            fail_msg("case %u: %g, the optimum is %g", k, schedule->makespan_s, best);
        over += schedule->makespan_s <= best * (1 + 1e-9) + 1e-9;
        under += best > 0 ? schedule->bound.value_s / best : 1;
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
    print_message("optimal in %g of %d, bounds on average %g of the optimum\n", over,
                  CASES, under / CASES);
    assert_true(over > 0.8 * CASES);
    assert_true(under > 0.8 * CASES);
}

/* Two indivisible items: the bound knows that both belong to the fast worker, 4 s,
 * although the preemptive schedule would take 16 / 5 s. */
static void pair_on_the_fast_one(void **state)
{
    static const double speeds[] = { 4, 1, 1 }, starts[3], sizes[] = { 8, 8 };
    struct cleave_platform *platform = platform_of(speeds, starts, 3);
    struct cleave_job job = { .platform = platform, .sizes = sizes, .nitems = 2 };
    struct cleave_schedule *schedule = plan(&job);

    (void)state;
    assert_string_equal(schedule->bounds[0].name, "preemptive");
    assert_true(fabs(schedule->bounds[0].value_s - 3.2) < 1e-9);
    assert_string_equal(schedule->bound.name, "assignment");
    assert_true(fabs(schedule->bound.value_s - 4) < 1e-3);
    assert_true(fabs(schedule->makespan_s - 4) < 1e-9);
    assert_string_equal(schedule->policy, "items");
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* All orders of sending to all workers, with any look-ahead. */
struct linked {
    struct cleave_worker workers[3];
    double sizes[6], done_s[3], port_s[3], best_s;
    uint32_t nworkers, nitems;
    bool multi;
};

static void send_next(struct linked *linked, unsigned sent, double end_s)
{
    if (end_s >= linked->best_s)
        return;
    if (sent == (1U << linked->nitems) - 1)
        linked->best_s = end_s;
    for (uint32_t i = 0; i < linked->nitems; i++)
        for (uint32_t w = 0; w < linked->nworkers && (sent >> i & 1) == 0; w++) {
            const struct cleave_worker *worker = &linked->workers[w];
            double *port_s = &linked->port_s[linked->multi ? w : 0];
            const double port_was_s = *port_s, was_s = linked->done_s[w];

            *port_s += worker->latency_s + linked->sizes[i] / worker->bandwidth_ups;
            linked->done_s[w] = fmax(was_s, *port_s) + worker->compute_latency_s +
                                linked->sizes[i] / worker->speed_ups;
            send_next(linked, sent | 1U << i, fmax(end_s, linked->done_s[w]));
            *port_s = port_was_s;
            linked->done_s[w] = was_s;
        }
}

/* Bounds are below the optimum, and plans 0.2 % above it on average: a worker holds no more
 * than two items. */
static void small_cases_with_links(void **state)
{
    enum { CASES = 80 };
    double over = 0;

    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        struct linked linked = { .nworkers = 1 + k % 3,
                                 .nitems = 2 + k / 3 % 4,
                                 .best_s = INFINITY,
                                 .multi = k % 2 == 0 };
        struct cleave_job job = { .sizes = linked.sizes, .nitems = linked.nitems };
        struct cleave_platform *platform = NULL;
        struct cleave_schedule *schedule;

        for (uint32_t w = 0; w < linked.nworkers; w++)
            linked.workers[w] =
                (struct cleave_worker){ .speed_ups = 1 + 4 * unit(12, k, 1, w),
                                        .compute_latency_s = unit(12, k, 2, w),
                                        .bandwidth_ups = 1 + 9 * unit(12, k, 3, w),
                                        .latency_s = unit(12, k, 4, w) };
        for (uint32_t i = 0; i < linked.nitems; i++)
            linked.sizes[i] = 1 + 9 * unit(12, k, 5, i);
        assert_int_equal(cleave_platform_new(linked.multi ? CLEAVE_PORT_MULTI
                                                          : CLEAVE_PORT_ONE,
                                             linked.workers, linked.nworkers, &platform,
                                             NULL),
                         CLEAVE_OK);
        job.platform = platform;
        schedule = plan(&job);
        check_schedule(schedule, &job);
        send_next(&linked, 0, 0);
        assert_true(schedule->bound.value_s <= linked.best_s * (1 + 1e-9));
        assert_true(schedule->makespan_s >= linked.best_s * (1 - 1e-9));
        if (linked.nworkers == 1 && linked.nitems == 2)
            assert_true(schedule->makespan_s <= linked.best_s * (1 + 1e-9));
        over += schedule->makespan_s / linked.best_s - 1;
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
    print_message("small cases with links: %g %% over the optimum on average\n",
                  100 * over / CASES);
    assert_true(over <= 0.002 * CASES);
}

/* Narrow links, with every kind of port: never below a bound, no worker does two things
 * at a time, and sizes decide the order at the port. */
static void links_matter(void **state)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };
    enum { CASES = 60, ITEMS = 40 };
    double over = 0;

    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        const uint32_t n = 1 + k % 5;
        struct cleave_worker workers[5];
        struct cleave_platform *platform = NULL;
        struct cleave_schedule *schedule;
        double sizes[ITEMS], items_s;
        struct cleave_job job = { .sizes = sizes, .nitems = ITEMS };

        for (uint32_t w = 0; w < n; w++) {
            const double band = pow(10, 2 * unit(11, k, 1, w) - (k % 2));

            workers[w] = (struct cleave_worker){ 1 + 4 * unit(11, k, 2, w),
                                                 k % 3 == 0 ? 0 : unit(11, k, 3, w),
                                                 band,
                                                 k % 4 == 0 ? 0 : unit(11, k, 4, w),
                                                 band,
                                                 0 };
        }
        pareto(sizes, ITEMS, 1.5, k + 1);
        for (uint32_t i = 0; i < ITEMS; i++)
            sizes[i] /= 1e5;
        assert_int_equal(cleave_platform_new(ports[k / 5 % 3], workers, n, &platform,
                                             NULL),
                         CLEAVE_OK);
        job.platform = platform;
        schedule = plan(&job);
        check_schedule(schedule, &job);
        over += schedule->makespan_s / schedule->bound.value_s;
        items_s = schedule->makespan_s;
        cleave_schedule_free(schedule);
        job.policy = "items-list";
        schedule = plan(&job);
        check_schedule(schedule, &job);
        assert_true(items_s < schedule->makespan_s);
        cleave_schedule_free(schedule);
        cleave_platform_free(platform);
    }
    print_message("with links: on average %g of the bound\n", over / CASES);
    assert_true(over < 1.25 * CASES);
}

/* --- books -------------------------------------------------------------------------------- */

static void gives_twice(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind != CLEAVE_START)
        return;
    cleave_order_item(orders, 0, 0);
    cleave_order_item(orders, 1, 0);
}

static void gives_what_is_not(void *state, const struct cleave_view *view,
                              const struct cleave_event *event,
                              struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, view->nitems);
}

static void gives_one(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, 1);
}

static void takes_back(void *state, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, 1);
    else
        cleave_order_recall(orders, 0, 1);
}

static void books_are_kept(void **state)
{
    static const double speeds[] = { 1, 1 }, starts[2], sizes[] = { 1, 0, 2 };
    static const struct {
        struct cleave_policy policy;
        const char *text;
    } bad[] = {
        { { .name = "twice", .task = CLEAVE_TASK_ITEMS, .decide = gives_twice },
          "policy 'twice' gave item 0 of 3 to worker 1: it was given before" },
        { { .name = "none", .task = CLEAVE_TASK_ITEMS, .decide = gives_what_is_not },
          "policy 'none' gave item 3 of 3 to worker 0: there is no such item" },
        { { .name = "one", .task = CLEAVE_TASK_ITEMS, .decide = gives_one },
          "policy 'one' stopped with 2 of 3 items left" },
        { { .name = "back", .task = CLEAVE_TASK_ITEMS, .decide = takes_back },
          "policy 'back' gave item 0 of 3 to worker 0: an item is sent as a whole" },
        { { .name = "load", .decide = gives_one }, "policy 'load' is not for items" },
    };
    struct cleave_platform *platform = platform_of(speeds, starts, 2);

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct cleave_job job = { .platform = platform,
                                        .sizes = sizes,
                                        .nitems = 3,
                                        .own_policy = &bad[i].policy };
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err;

        assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EPOLICY);
        assert_string_equal(err.text, bad[i].text);
    }
    cleave_platform_free(platform);
}

static void wrong_jobs(void **state)
{
    static const double speeds[] = { 1 }, starts[1], negative[] = { 1, -1 };
    struct cleave_platform *platform = platform_of(speeds, starts, 1);
    const struct {
        struct cleave_job job;
        const char *text;
    } bad[] = {
        { { .sizes = negative, .nitems = 2 },
          "expected sizes of 0 or more, got -1 for item 1" },
        { { .sizes = negative }, "expected 1 or more items, got none" },
        { { .sizes = negative, .nitems = 1, .policy = "umr" },
          "policy 'umr' is for a load, not for items" },
        { { .load = 5, .policy = "items" },
          "policy 'items' is for items, not for a load" },
        { { .sizes = negative, .nitems = 1, .lifespan_s = 4 },
          "expected items or a lifespan, got both" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cleave_job job = bad[i].job;
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err;

        job.platform = platform;
        assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
        assert_string_equal(err.text, bad[i].text);
    }
    cleave_platform_free(platform);
}

/* Empty files take a start each, and no time of other items. */
static void empty_items(void **state)
{
    static const double speeds[] = { 1, 1, 1, 1 }, starts[] = { 1, 1, 1, 1 };
    static double sizes[100];
    struct cleave_platform *platform = platform_of(speeds, starts, 4);
    struct cleave_setting measured = { "trust", "0" };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct cleave_job job = { .platform = platform,
                                  .sizes = sizes,
                                  .nitems = 100,
                                  .settings = &measured,
                                  .nsettings = k };
        struct cleave_schedule *schedule = plan(&job);

        check_schedule(schedule, &job);
        assert_true(fabs(schedule->makespan_s - 25) < 1e-6);
        cleave_schedule_free(schedule);
    }
    cleave_platform_free(platform);
}

/* --- costs that are not as told ----------------------------------------------------------- */

/* Costs of workers are unknown, or sizes are off by a factor: both are measured during
 * the run. */
static void learnt_costs(void **state)
{
    static const double speeds[] = { 4e6, 1e6, 4e6, 1e6 };
    static const double starts[] = { 0.05, 0.05, 0.05, 0.05 };
    static double sizes[MOST];
    const struct cleave_setting measured = { "trust", "0" };
    struct cleave_platform *platform = platform_of(speeds, starts, 4);
    struct cleave_job job = { .platform = platform,
                              .sizes = sizes,
                              .nitems = MOST,
                              .settings = &measured,
                              .nsettings = 1 };
    const struct cleave_trial trial = { .runs = 4,
                                        .threads = 1,
                                        .noise = { CLEAVE_NOISE_GAMMA, 0.3 } };
    struct cleave_schedule *schedule;
    struct cleave_stats told, learnt, listed;
    struct cleave_error err;

    (void)state;
    pareto(sizes, MOST, 1.5, 5);
    schedule = plan(&job);
    check_schedule(schedule, &job);
    if (schedule->makespan_s > 1.02 * schedule->bound.value_s)
        fail_msg("%g s, bound %g s", schedule->makespan_s, schedule->bound.value_s);
    cleave_schedule_free(schedule);
    if (cleave_simulate_load(&job, &trial, &learnt, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    job.nsettings = 0;
    if (cleave_simulate_load(&job, &trial, &told, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    job.policy = "items-list";
    if (cleave_simulate_load(&job, &trial, &listed, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    print_message("told %g, learnt %g, list order %g, bound %g\n", told.mean_s,
                  learnt.mean_s, listed.mean_s, told.bound.value_s);
    assert_true(told.mean_s < 1.03 * told.bound.value_s);
    assert_true(learnt.mean_s < 1.08 * told.bound.value_s);
    assert_true(learnt.mean_s < listed.mean_s);
    cleave_platform_free(platform);
}

/* Seconds by policy items, which does not know that worker 0 is `slower`, divided by the
 * time of a pull queue in the order of the list; the mean of random jobs. */
static double against_pull(double slower, double *out_worst)
{
    enum { WORKERS = 4, JOBS = 60, LEAST = 8 };
    const double speeds[WORKERS] = { 1 / slower, 1, 1, 1 }, starts[WORKERS] = { 0 };
    const struct cleave_setting measured = { "trust", "0" };
    struct cleave_platform *platform = platform_of(speeds, starts, WORKERS);
    double sizes[LEAST + JOBS], sum = 0;

    *out_worst = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        struct cleave_job job = { .platform = platform,
                                  .sizes = sizes,
                                  .nitems = LEAST + i,
                                  .settings = &measured,
                                  .nsettings = 1 };
        struct cleave_schedule *items, *list;

        pareto(sizes, LEAST + i, i % 3 == 0 ? 1.5 : 3, 100 + i);
        items = plan(&job);
        job.policy = "items-list";
        job.nsettings = 0;
        list = plan(&job);
        sum += items->makespan_s / list->makespan_s;
        *out_worst = fmax(*out_worst, items->makespan_s / list->makespan_s);
        cleave_schedule_free(items);
        cleave_schedule_free(list);
    }
    cleave_platform_free(platform);
    return sum / JOBS;
}

static void a_slow_worker_is_expected(void **state)
{
    double equal, slow, worst_equal, worst_slow;

    (void)state;
    equal = against_pull(1, &worst_equal);
    slow = against_pull(8, &worst_slow);
    print_message("of a pull queue: equal %g, worst %g; one slow %g, worst %g\n", equal,
                  worst_equal, slow, worst_slow);
    assert_true(equal < 1);
    assert_true(slow < 1);
    assert_true(worst_equal < 1.1);
    assert_true(worst_slow < 1.1);
}

/* --- workers that go ---------------------------------------------------------------------- */

/* An engine whose workers take a second for a unit. Worker 1 loses its items until it
 * returns. It hangs with an item after some others. Other workers are `slower`. */
struct leak {
    struct engine_here here;
    uint64_t lost, done, hangs_after;
    double back_s, hang_s, slower;
    double last_s; /* the last item was given then */
};

static enum cleave_status leak_begin(void *engine, const struct cv_run *run,
                                     struct cleave_error *err)
{
    struct leak *leak = engine;

    (void)run, (void)err;
    engine_here_add(&leak->here, (struct cleave_event){ .kind = CLEAVE_CAME,
                                                        .worker = 1,
                                                        .time_s = leak->back_s });
    return CLEAVE_OK;
}

static enum cleave_status leak_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    struct leak *leak = engine;
    const bool loses = order->worker == 1 && leak->here.now_s < leak->back_s;
    struct cleave_event event = engine_here_hear(&leak->here, order);

    (void)err;
    if (order->kind == CLEAVE_WAKE_AT)
        return CLEAVE_OK;
    leak->last_s = leak->here.now_s;
    event.kind = loses ? CLEAVE_LOST : CLEAVE_DONE;
    event.time_s += loses ? 0.125 : order->units;
    if (order->worker != 1) {
        event.time_s += leak->slower * order->units;
    } else if (!loses && leak->hangs_after-- == 0) {
        event.time_s += leak->hang_s;
    }
    leak->lost += loses;
    leak->done += !loses;
    engine_here_add(&leak->here, event);
    return CLEAVE_OK;
}

static const struct cv_engine leak_engine = {
    .name = "leak",
    .summary = "one worker loses what it gets",
    .open = engine_here_open,
    .begin = leak_begin,
    .submit = leak_submit,
    .wait = engine_here_wait,
    .close = engine_here_close,
};

/* Lost items are done by other workers, once each; a returned worker gets work again. */
static void lost_items_are_done(void **state)
{
    static const double speeds[] = { 1, 1, 1 }, starts[3];
    static const double sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0 };
    static const char *const policies[] = { "items", "items-list" };
    struct cleave_platform *platform = platform_of(speeds, starts, 3);

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        const struct cleave_policy *policy = NULL;
        const struct cleave_view load = {
            .units_total = 78, .real = true, .sizes = sizes, .nitems = 13
        };
        const struct cv_run run = { .platform = platform };
        struct leak leak = { .back_s = 5 };
        struct cv_planned planned;
        struct cv_driver *driver = NULL;
        struct cv_outcome outcome = { 0 };
        struct cleave_error err = { .text = "" };

        assert_int_equal(cleave_policy_find(CLEAVE_TASK_ITEMS, policies[p], &policy,
                                            NULL),
                         CLEAVE_OK);
        if (cv_planned_init(&planned, policy, NULL, 0, platform,
                            cleave_platform_workers(platform), &load, NULL, NULL,
                            &err) != CLEAVE_OK ||
            cv_driver_open(&planned, &leak_engine, platform, &leak, &driver, &err) !=
                CLEAVE_OK ||
            cv_driver_run(driver, &run, NULL, &outcome, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(leak.lost, 3); /* then it is left alone */
        assert_int_equal(leak.done, 13);
        assert_true(outcome.makespan_s < 34); /* it has helped since */
        cv_driver_close(driver);
        cv_planned_done(&planned);
    }
    cleave_platform_free(platform);
}

/* A worker hangs with its first, its second, ... item. All others are begun as soon as the
 * other workers have time for them. */
static void nothing_waits_for_a_worker_that_hangs(void **state)
{
    static const double speeds[] = { 1, 1, 1 }, starts[3];
    static const double sizes[] = { 9, 2, 3, 4, 5, 6, 7, 8, 1, 10, 11, 12, 13 };
    struct cleave_platform *platform = platform_of(speeds, starts, 3);

    (void)state;
    for (int i = 0; i < 16; i++) {
        const struct cleave_view load = {
            .units_total = 91, .real = true, .sizes = sizes, .nitems = 13
        };
        const struct cv_run run = { .platform = platform };
        struct leak leak = { .hangs_after = (unsigned)i / 2,
                             .hang_s = 1e6,
                             .slower = 20 * (i % 2) };
        struct cv_planned planned;
        struct cv_driver *driver = NULL;
        struct cv_outcome outcome = { 0 };
        struct cleave_error err = { .text = "" };

        if (cv_planned_init(&planned, cv_policy_of_items(), NULL, 0, platform,
                            cleave_platform_workers(platform), &load, NULL, NULL,
                            &err) != CLEAVE_OK ||
            cv_driver_open(&planned, &leak_engine, platform, &leak, &driver, &err) !=
                CLEAVE_OK ||
            cv_driver_run(driver, &run, NULL, &outcome, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(leak.done, 13);
        if (leak.last_s > 91 * (1 + leak.slower))
            fail_msg("worker 1 hangs after %d items: one was begun at %g s", i / 2,
                     leak.last_s);
        cv_driver_close(driver);
        cv_planned_done(&planned);
    }
    cleave_platform_free(platform);
}

/* --- traces ------------------------------------------------------------------------------- */

static void traces_hold_items(void **state)
{
    static const double speeds[] = { 3, 1 }, starts[] = { 0.1, 0.2 };
    static const double sizes[] = { 4, 0, 7.5, 1, 1, 30 };
    static const char *const policies[] = { "items", "items-list" };
    struct cleave_platform *platform = platform_of(speeds, starts, 2);

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        char path[] = "/tmp/test_item_loads.XXXXXX";
        const int file = mkstemp(path);
        FILE *stream = fdopen(file, "w");
        struct cleave_job job = {
            .platform = platform, .sizes = sizes, .nitems = 6, .policy = policies[p]
        };
        const struct cleave_trial trial = { .runs = 1,
                                            .threads = 1,
                                            .noise = { CLEAVE_NOISE_GAMMA, 0.5 } };
        struct cleave_trace *trace = NULL, *read = NULL;
        struct cleave_stats stats;
        struct cleave_replayed found;
        struct cleave_error err;

        assert_non_null(stream);
        assert_int_equal(cleave_trace_new(&job.trace, NULL), CLEAVE_OK);
        trace = job.trace;
        assert_int_equal(cleave_simulate_load(&job, &trial, &stats, &err), CLEAVE_OK);
        assert_int_equal(cleave_trace_save(trace, platform, policies[p], 43.5, stream,
                                           &err),
                         CLEAVE_OK);
        fclose(stream);
        if (cleave_trace_load_any(path, &read, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(cleave_trace_facts(read)->told->view.nitems, 6);
        assert_memory_equal(cleave_trace_facts(read)->told->view.sizes, sizes,
                            sizeof sizes);
        if (cleave_replay(read, NULL, &found, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_true(found.same);
        assert_int_equal(found.orders, 6);
        cleave_trace_free(read);
        cleave_trace_free(trace);
        remove(path);
    }
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_bound),
        cmocka_unit_test(small_cases),
        cmocka_unit_test(pair_on_the_fast_one),
        cmocka_unit_test(small_cases_with_links),
        cmocka_unit_test(links_matter),
        cmocka_unit_test(books_are_kept),
        cmocka_unit_test(wrong_jobs),
        cmocka_unit_test(empty_items),
        cmocka_unit_test(a_slow_worker_is_expected),
        cmocka_unit_test(learnt_costs),
        cmocka_unit_test(nothing_waits_for_a_worker_that_hangs),
        cmocka_unit_test(lost_items_are_done),
        cmocka_unit_test(traces_hold_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
