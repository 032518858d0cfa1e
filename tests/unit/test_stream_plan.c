/* test_stream_plan.c -- planning data streams. SPDX-License-Identifier: MIT */
#include "stream_check.h"

#include <string.h>

#include <cleave/stream_plan.h>
#include "model/stream/stream_costs.h"
#include "select/streams/stream_select.h"

enum { WORKERS = 24 };

static struct cleave_platform *
platform_of(enum cleave_port port, const struct cleave_worker *workers, uint32_t n)
{
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (cleave_platform_new(port, workers, n, &platform, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return platform;
}

static struct cleave_platform *random_platform(uint64_t seed, enum cleave_port port)
{
    struct cleave_worker workers[WORKERS];
    struct cv_random random;

    cv_random_at(&random, seed, 0, 0, 0);
    for (uint32_t w = 0; w < WORKERS; w++)
        workers[w] = stream_worker(&random);
    return platform_of(port, workers, WORKERS);
}

static struct cleave_stream_plan *plan_of(const struct cleave_stream_task *task)
{
    struct cleave_stream_plan *plan = NULL;
    struct cleave_error err;

    if (cleave_plan_streams(task, &plan, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return plan;
}

/* How long a worker's messages of a round take, out and back. */
static double message_time(const struct cleave_stream_task *task, uint32_t w,
                           double period_s, bool back)
{
    const struct cleave_worker *worker = &cleave_platform_workers(task->platform)[w];
    const struct cv_stream_times times =
        cv_stream_times(worker, 0.5, task->result_ratio,
                        cv_stream_load(worker, period_s));

    return back ? (task->result_ratio > 0 ? cv_return_time(&times) : 0)
                : cv_send_time(&times);
}

/* Every worker is in one cluster or has a reason; starts follow from delays; ports are
 * not asked for more than a round. */
static void check_plan_of(const struct cleave_stream_task *task,
                          const struct cleave_stream_plan *plan)
{
    const enum cleave_port port = cleave_platform_port(task->platform);
    double sum = 0, wanted = 0;
    uint32_t used = 0;

    for (uint32_t m = 0; m < plan->nstreams; m++) {
        const struct cleave_stream *cluster = &plan->clusters[m];
        double at_s = 0, ups = 0, out_s = 0, back_s = 0;

        for (uint32_t i = 0; i < cluster->nworkers; i++) {
            const uint32_t w = cluster->workers[i];
            const struct cleave_plan_worker *worker = &plan->workers[w];

            assert_int_equal(worker->stream, m);
            assert_null(worker->reason);
            at_s += i > 0 ? worker->delay_s : 0;
            assert_near(worker->start_s, at_s, 1e-12);
            ups += worker->throughput_ups;
            out_s += message_time(task, w, plan->period_s, false);
            back_s += message_time(task, w, plan->period_s, true);
            used++;
        }
        if (cluster->nworkers > 0)
            at_s += plan->workers[cluster->workers[0]].delay_s;
        assert_near(plan->streams[m].delay_sum_s, at_s, 1e-9);
        assert_near(plan->streams[m].throughput_ups, ups, 1e-9);
        assert_true(at_s <= plan->period_s * (1 + 1e-9));
        if (port == CLEAVE_PORT_ONE)
            assert_true(out_s + back_s <= plan->period_s * (1 + 1e-9));
        if (port == CLEAVE_PORT_DUPLEX)
            assert_true(fmax(out_s, back_s) <= plan->period_s * (1 + 1e-9));
        sum += ups;
        wanted += plan->streams[m].wanted_ups;
    }
    assert_near(plan->throughput_ups, sum, 1e-9);
    assert_near(wanted, sum, 1e-9);
    assert_true(plan->upper_bound_ups >= plan->throughput_ups);
    assert_int_equal(plan->selected, used);
    for (uint32_t w = 0; w < plan->nworkers; w++) {
        const struct cleave_plan_worker *worker = &plan->workers[w];

        assert_int_equal(worker->stream == UINT32_MAX, worker->reason != NULL);
        assert_int_equal(isnan(worker->delay_s), worker->reason != NULL);
        assert_true(worker->throughput_ups >= 0);
    }
}

static void plans_are_consistent(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 45; seed++) {
        struct cleave_platform *platform =
            random_platform(seed, (enum cleave_port)(seed % 3));
        const double demands[3] = { 3, 1, 2 };
        const struct cleave_stream_task task = {
            .platform = platform,
            .nstreams = (uint32_t)(1 + seed % 3),
            .period_s = seed % 5 == 0 ? 0 : 0.2 * (double)(1 + seed % 7),
            .margin = seed % 4 == 0 ? 0.2 : 0,
            .result_ratio = seed % 2 == 0 ? 0.5 : 0,
            .weights = seed % 11 == 0 ? CLEAVE_WEIGHTS_RING : CLEAVE_WEIGHTS_OWN,
            .demands = seed % 7 == 0 ? demands : NULL,
            .work = 20000000,
        };
        struct cleave_stream_plan *plan = plan_of(&task);

        assert_int_equal(plan->period_chosen, task.period_s == 0);
        check_plan_of(&task, plan);
        cleave_stream_plan_free(plan);
        cleave_platform_free(platform);
    }
}

/* Plans hold in simulation: every port serves its planned workers. */
static void plans_come_true(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct cleave_platform *platform =
            random_platform(seed, (enum cleave_port)(seed % 3));
        const struct cleave_stream_task task = { .platform = platform,
                                                 .nstreams = 2,
                                                 .period_s = 2,
                                                 .result_ratio = 0.5,
                                                 .work = 20000000 };
        const struct cleave_setting period = { "period", "2" };
        struct cleave_stream_plan *plan = plan_of(&task);
        const struct cleave_stream_job job = { .platform = platform,
                                               .streams = plan->clusters,
                                               .nstreams = plan->nstreams,
                                               .horizon_s = 100,
                                               .window_from_s = 60,
                                               .window_to_s = 100,
                                               .result_ratio = 0.5,
                                               .settings = &period,
                                               .nsettings = 1 };
        struct cleave_streams_result *result = NULL;
        struct cleave_error err;

        if (cleave_simulate_streams(&job, &result, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
        assert_near(result->window.throughput_ups, plan->throughput_ups, 0.01);
        cleave_streams_result_free(result);
        cleave_stream_plan_free(plan);
        cleave_platform_free(platform);
    }
}

static double throughput_at(const struct cleave_stream_task *task, double period_s)
{
    struct cleave_stream_task other = *task;
    struct cleave_stream_plan *plan;
    double ups;

    other.period_s = period_s;
    plan = plan_of(&other);
    ups = plan->throughput_ups;
    cleave_stream_plan_free(plan);
    return ups;
}

static void a_chosen_period_is_long_enough_and_not_longer(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 124; seed++) {
        struct cleave_platform *platform =
            random_platform(seed, (enum cleave_port)(seed % 3));
        const struct cleave_stream_task task = { .platform = platform,
                                                 .nstreams = (uint32_t)(1 + seed % 2),
                                                 .result_ratio = seed % 4 == 0 ? 1 : 0.1,
                                                 .work = 20000000 };
        struct cleave_stream_plan *plan = plan_of(&task);
        const double far = throughput_at(&task, 1000 * plan->period_s);

        assert_true(plan->throughput_ups >= 0.999 * CV_PERIOD_SHARE * far);
        /* Rounded up to two digits and found in steps of 5 %. */
        assert_true(throughput_at(&task, plan->period_s / 1.25) <
                    1.001 * CV_PERIOD_SHARE * far);
        cleave_stream_plan_free(plan);
        cleave_platform_free(platform);
    }
}

static void a_period_without_latencies(void **state)
{
    const struct cleave_worker free_of_them = worker_of(10, 0, 100, 0);
    struct cleave_platform *platform = platform_of(CLEAVE_PORT_DUPLEX, &free_of_them, 1);
    const struct cleave_stream_task task = { .platform = platform, .nstreams = 1 };
    struct cleave_stream_plan *plan = plan_of(&task);

    (void)state;
    assert_true(plan->period_s == 1);
    assert_near(plan->throughput_ups, 10, 1e-12);
    assert_true(plan->optimal);
    cleave_stream_plan_free(plan);
    cleave_platform_free(platform);
}

/* Latencies of messages that are not sent do not count; all of a shared port do. */
static void ports_and_results(void **state)
{
    const struct cleave_worker worker = { 100, 0.01, 1e6, 0.1, 1e6, 0.3 };
    struct cleave_platform *duplex = platform_of(CLEAVE_PORT_DUPLEX, &worker, 1);
    struct cleave_platform *one = platform_of(CLEAVE_PORT_ONE, &worker, 1);
    struct cleave_platform *multi = platform_of(CLEAVE_PORT_MULTI, &worker, 1);
    const struct {
        struct cleave_platform *platform;
        double ratio, least_s;
    } cases[] = {
        { duplex, 0, 0.2 }, { duplex, 1, 0.6 }, { one, 0, 0.2 },
        { one, 1, 0.8 },    { multi, 0, 0.2 },  { multi, 1, 0.6 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cleave_stream_task task = { .platform = cases[i].platform,
                                                 .nstreams = 1,
                                                 .result_ratio = cases[i].ratio };

        assert_true(throughput_at(&task, 0.99 * cases[i].least_s) == 0);
        assert_near(throughput_at(&task, 1.01 * cases[i].least_s),
                    100 * (1 - 0.02 / (1.01 * cases[i].least_s)), 1e-12);
    }
    cleave_platform_free(duplex);
    cleave_platform_free(one);
    cleave_platform_free(multi);
}

static void separate_links_take_every_worker(void **state)
{
    struct cleave_platform *platform = random_platform(5, CLEAVE_PORT_MULTI);
    const struct cleave_stream_task task = {
        .platform = platform, .nstreams = 3, .period_s = 3, .result_ratio = 1
    };
    struct cleave_stream_plan *plan = plan_of(&task);

    (void)state;
    assert_int_equal(plan->selected, WORKERS);
    assert_true(plan->optimal);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_true(plan->workers[w].delay_s == 0 && plan->workers[w].start_s == 0);
    for (uint32_t m = 0; m < 3; m++)
        assert_true(plan->clusters[m].nworkers > 0);
    cleave_stream_plan_free(plan);
    cleave_platform_free(platform);
}

static void why_workers_are_left_out(void **state)
{
    const struct cleave_worker workers[] = {
        worker_of(10, 2, 1000, 0.01),  /* latencies take all of 3 s            */
        worker_of(10, 0.1, 4, 0.01),   /* data takes longer than to compute it */
        worker_of(10, 0.1, 1000, 0.6), /* fits, and is worth most              */
        worker_of(9, 0.1, 1000, 0.6),
        worker_of(1, 0.1, 1000, 0.6), /* no time is left for it               */
    };
    static const char little[] =
        "0.9333 units/s for 1.203 s of a master's time in each round: those chosen give "
        "more for it";
    static const char *const reasons[] = {
        "its two latencies of computing take 4 s of a round of 3 s",
        "its messages of a round take 7.02 s, the round lasts 3 s",
        NULL,
        NULL,
        little,
    };
    struct cleave_platform *platform = platform_of(CLEAVE_PORT_DUPLEX, workers, 5);
    const struct cleave_stream_task task = { .platform = platform,
                                             .nstreams = 1,
                                             .period_s = 3 };
    struct cleave_stream_plan *plan = plan_of(&task);

    (void)state;
    assert_int_equal(plan->selected, 2);
    for (uint32_t w = 0; w < 5; w++) {
        if (reasons[w] == NULL)
            assert_null(plan->workers[w].reason);
        else
            assert_string_equal(plan->workers[w].reason, reasons[w]);
    }
    cleave_stream_plan_free(plan);
    cleave_platform_free(platform);
}

static void declared_speeds_count(void **state)
{
    struct cleave_platform *platform = random_platform(9, CLEAVE_PORT_MULTI);
    struct cleave_stream_task task = { .platform = platform,
                                       .nstreams = 1,
                                       .period_s = 50 };
    const double all = throughput_at(&task, 50);

    (void)state;
    task.declared_factor = 0.5;
    assert_near(throughput_at(&task, 50), all / 2, 1e-12);
    cleave_platform_free(platform);
}

enum { FEW = 6 };

/* Whether the workers for which assigned[w] is m fit into a round, in their best order. */
static bool fits(const struct cleave_stream_task *task, const uint32_t *assigned,
                 uint32_t m)
{
    struct cv_stream_times times[FEW];
    uint32_t order[FEW], n = 0;
    struct cv_arena arena;
    struct cv_cycle cycle;
    double base, cost;

    for (uint32_t w = 0; w < FEW; w++)
        if (assigned[w] == m) {
            const struct cleave_worker *worker =
                &cleave_platform_workers(task->platform)[w];

            times[n++] = cv_stream_times(worker, 0.5, task->result_ratio,
                                         cv_stream_load(worker, task->period_s));
        }
    if (n == 0)
        return true;
    cv_arena_init(&arena);
    assert_true(cv_cycle_of_times(times, n, &arena, &cycle, &base));
    assert_true(cv_cycle_best(&cycle, &arena, order, &cost, NULL));
    cv_arena_done(&arena);
    return base + cost <= task->period_s * (1 - 1e-12);
}

/* The best of all assignments of workers to streams, or to none. */
static double best_of_all(const struct cleave_stream_task *task)
{
    uint32_t assigned[FEW] = { 0 }, at;
    double best = 0;

    do {
        double ups = 0;
        bool good = true;

        for (uint32_t w = 0; w < FEW; w++)
            if (assigned[w] < task->nstreams)
                ups += cv_stream_profit(&cleave_platform_workers(task->platform)[w],
                                        task->period_s);
        for (uint32_t m = 0; m < task->nstreams && good && ups > best; m++)
            good = fits(task, assigned, m);
        if (good)
            best = fmax(best, ups);
        for (at = 0; at < FEW && assigned[at] == task->nstreams; at++)
            assigned[at] = 0;
        if (at < FEW)
            assigned[at]++;
    } while (at < FEW);
    return best;
}

static void few_workers_are_proved(void **state)
{
    (void)state;
    for (uint64_t seed = 300; seed < 340; seed++) {
        struct cleave_worker workers[FEW] = { { 0 } };
        struct cleave_platform *platform;
        struct cleave_stream_task task = { .nstreams = (uint32_t)(1 + seed % 3),
                                           .result_ratio = 1 };
        struct cleave_stream_plan *plan;
        struct cv_random random;

        cv_random_at(&random, seed, 0, 0, 0);
        for (uint32_t w = 0; w < FEW; w++)
            workers[w] = w % 3 == 2 ? workers[w - 1] : stream_worker(&random);
        task.platform = platform = platform_of(CLEAVE_PORT_DUPLEX, workers, FEW);
        /* All would need about twice the time there is. */
        task.period_s = 0.25;
        plan = plan_of(&task);
        check_plan_of(&task, plan);
        assert_true(plan->optimal);
        assert_near(plan->throughput_ups, best_of_all(&task), 1e-9);
        cleave_stream_plan_free(plan);
        cleave_platform_free(platform);
    }
}

static void assert_refused(const struct cleave_stream_task *task, const char *text)
{
    struct cleave_stream_plan *plan = NULL;
    struct cleave_error err;

    assert_int_equal(cleave_plan_streams(task, &plan, &err), CLEAVE_EINPUT);
    assert_null(plan);
    assert_string_equal(err.text, text);
    assert_int_equal(cleave_plan_streams(task, &plan, NULL), CLEAVE_EINPUT);
}

static void bad_input_is_an_error(void **state)
{
    const struct cleave_worker slow_link = worker_of(10, 0, 4, 0.1);
    struct cleave_platform *platform = platform_of(CLEAVE_PORT_DUPLEX, &slow_link, 1);
    const double demands[2] = { 1, -1 };
    struct cleave_stream_task task = { .platform = platform, .period_s = 1 };

    (void)state;
    assert_refused(&task, "expected 1 or more streams, got 0");
    task.nstreams = 2;
    task.demands = demands;
    assert_refused(&task, "expected a positive demand of each stream, got -1");
    task.demands = NULL;
    task.theta = 1;
    assert_refused(&task, "expected a first part between 0 and 1, got 1");
    task.theta = 0;
    task.margin = -1;
    assert_refused(&task, "expected a margin of 0 or more, got -1");
    task.margin = 0;
    task.result_ratio = NAN;
    assert_refused(&task, "expected a result ratio of 0 or more, got nan");
    task.result_ratio = 0;
    task.declared_factor = INFINITY;
    assert_refused(&task, "expected a positive factor of declared speeds, got inf");
    task.declared_factor = 0;
    task.period_s = -1;
    assert_refused(&task, "expected a positive period, got -1 s");
    task.period_s = 0;
    assert_refused(&task, "no worker can be served in rounds of any length: messages "
                          "take longer than computing");
    cleave_stream_plan_free(NULL);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_consistent),
        cmocka_unit_test(plans_come_true),
        cmocka_unit_test(a_chosen_period_is_long_enough_and_not_longer),
        cmocka_unit_test(a_period_without_latencies),
        cmocka_unit_test(ports_and_results),
        cmocka_unit_test(separate_links_take_every_worker),
        cmocka_unit_test(why_workers_are_left_out),
        cmocka_unit_test(declared_speeds_count),
        cmocka_unit_test(few_workers_are_proved),
        cmocka_unit_test(bad_input_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
