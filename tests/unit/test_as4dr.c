/* test_as4dr.c -- the adaptive rounds of streams, and their simulation.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cleave/streams.h>
#include "base/random.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"
#include "policy/stream/as4dr.h"
#include "sim/stream/stream_run.h"
#include "trace_check.h"

/* The theory that check-vectors uses; the library has no need of it. */
#include "../../tools/check_vectors/stream_recurrence.c" /* NOLINT(bugprone-suspicious-include) */

/* Table 1 of Millot and Parrot, PPAM 2013; both ways are equal. */
static const struct {
    double speed, compute_latency, bandwidth, latency;
} sets[] = {
    { 1, 0.01, 1e6, 0.01 },    { 100, 0.1, 1e7, 0.001 },  { 10, 0.001, 1e8, 0.015 },
    { 1000, 0.01, 1e9, 0.01 }, { 1, 0.001, 1e6, 0.01 },   { 100, 0.1, 1e7, 0.001 },
    { 10, 1e-4, 1e8, 0.01 },   { 1000, 0.01, 1e9, 0.01 }, { 1, 0.001, 1e6, 0.001 },
    { 100, 0.01, 1e7, 0.01 },
};

enum { SETS = sizeof sets / sizeof *sets, MOST_WORKERS = 1000 };

/* `n` workers of Table 1; a latency of 0 or more replaces theirs. With a drop, speeds fall
 * by it for half of every 100, 200, ... 1000 s, dealt out independently of the sets. */
static struct cleave_platform *table1(enum cleave_port port, uint32_t n, double latency_s,
                                      double drop, double until_s)
{
    static struct cleave_worker workers[MOST_WORKERS];
    static struct cv_group groups[MOST_WORKERS];
    static char names[MOST_WORKERS][16];
    struct cleave_platform *platform = NULL;
    struct cv_random random;
    struct cv_arena arena;

    cv_arena_init(&arena);
    cv_random_at(&random, 1, 2, 3, 4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t set = i % SETS;
        const double k = floor(10 * cv_random_uniform(&random));
        const struct cv_periodic profile = { drop, 100 * (k + 1), 10 * k * (k + 1), 0.5 };

        workers[i] = (struct cleave_worker){
            sets[set].speed,     latency_s >= 0 ? latency_s : sets[set].compute_latency,
            sets[set].bandwidth, sets[set].latency,
            sets[set].bandwidth, sets[set].latency,
        };
        snprintf(names[i], sizeof names[i], "w%u", i);
        groups[i] = (struct cv_group){ .name = names[i], .count = 1 };
        if (drop > 0)
            groups[i].steps =
                cv_periodic_steps(&profile, until_s, &arena, &groups[i].nsteps);
    }
    assert_int_equal(cv_platform_build(port, workers, groups, n, &platform, NULL, NULL),
                     CLEAVE_OK);
    cv_arena_done(&arena);
    return platform;
}

static struct cleave_streams_result *simulate(const struct cleave_stream_job *job)
{
    struct cleave_streams_result *result = NULL;
    struct cleave_error err;

    if (cleave_simulate_streams(job, &result, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    return result;
}

#define SETTINGS(...)                                                     \
    .settings = (const struct cleave_setting[]){ __VA_ARGS__ },           \
    .nsettings = sizeof((const struct cleave_setting[]){ __VA_ARGS__ }) / \
                 sizeof(struct cleave_setting)

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("expected %.9g, got %.9g", wanted, got);
}

/* --- published shapes ------------------------------------------------------------------- */

/* Figure 4: the mean of sigma from loads that are 80 % too small. */
static void sigma_converges_to_tau(void **state)
{
    static const double latencies[] = { 0.1, 0.5, 0.9 };
    static const double means[][4] = { { 20.1600, 99.2079, 99.9984, 100.0000 },
                                       { 20.8000, 96.1923, 99.9604, 99.9996 },
                                       { 21.4400, 93.4045, 99.8729, 99.9977 } };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct cleave_platform *platform =
            table1(CLEAVE_PORT_DUPLEX, 20, latencies[i], 0, 0);
        struct cleave_streams_result *result = simulate(&(struct cleave_stream_job){
            .platform = platform,
            .horizon_s = 560,
            .result_ratio = 1,
            SETTINGS({ "period", "100" }, { "first", "0.2" }) });

        assert_true(result->streams[0].nrounds >= 6);
        for (size_t r = 0; r < 4; r++)
            assert_near(result->streams[0].rounds[r].sigma_s, means[i][r], 5.1e-5);
        cleave_streams_result_free(result);
        cleave_platform_free(platform);
    }
}

/* Figure 5: latencies make tau long, the start and the end make it short. */
static void efficiency_depends_on_tau(void **state)
{
    static const struct {
        const char *tau;
        double latency, stream, whole;
    } cases[] = {
        { "50", 0, 0.9750, 0.9535 },     { "50", 0.1, 0.9711, 0.9497 },
        { "100", 0.01, 0.9498, 0.9129 }, { "100", 0.1, 0.9481, 0.9113 },
        { "500", 0.01, 0.7502, 0.7145 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_platform *platform =
            table1(CLEAVE_PORT_DUPLEX, 1000, cases[i].latency, 0, 0);
        struct cleave_streams_result *result = simulate(&(struct cleave_stream_job){
            .platform = platform,
            .horizon_s = 1000,
            .result_ratio = 1,
            SETTINGS({ "period", cases[i].tau }, { "start", "spread" },
                     { "end", "none" }) });

        assert_near(result->window.useful, cases[i].stream, 1.1e-4);
        assert_near(result->whole.useful, cases[i].whole, 2.1e-4);
        cleave_streams_result_free(result);
        cleave_platform_free(platform);
    }
}

static void chosen_rounds_and_a_taper_beat_long_rounds(void **state)
{
    static const double drops[] = { 0, 0.3, 0.6, 0.9 };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct cleave_platform *platform =
            table1(CLEAVE_PORT_DUPLEX, 100, -1, drops[i], 10000);
        struct cleave_streams_result *fixed = simulate(&(struct cleave_stream_job){
            .platform = platform,
            .horizon_s = 2000,
            .result_ratio = 1,
            SETTINGS({ "period", "100" }, { "start", "spread" }, { "end", "none" }) });
        struct cleave_streams_result *chosen = simulate(&(struct cleave_stream_job){
            .platform = platform, .horizon_s = 2000, .rest_s = 20, .result_ratio = 1 });

        assert_true(chosen->whole.useful > fixed->whole.useful + 0.03);
        cleave_streams_result_free(fixed);
        cleave_streams_result_free(chosen);
        cleave_platform_free(platform);
    }
}

/* --- rounds ------------------------------------------------------------------------------- */

/* A worker alone, declared ten times too slow and with the wrong theta, follows the
 * recurrence. */
static void loads_follow_the_recurrence(void **state)
{
    const struct cleave_worker worker = { 10, 0.4, 1e4, 0.01, 1e4, 0.01 };
    const struct recurrence recurrence = { 10, 0.4, 0.4, 20, 0.4 };
    struct cleave_platform *platform = NULL;
    struct cleave_streams_result *result;
    double loads[8], sigmas[8];

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_DUPLEX, &worker, 1, &platform, NULL),
                     CLEAVE_OK);
    result = simulate(&(struct cleave_stream_job){
        .platform = platform,
        .horizon_s = 150,
        .result_ratio = 1,
        .declared_factor = 0.1,
        SETTINGS({ "period", "20" }, { "theta", "0.4" }, { "trim", "0" }) });
    recurrence_run(&recurrence, 1 * (20 - 0.8), 8, loads, sigmas);
    assert_true(result->streams[0].nrounds >= 8);
    for (size_t r = 0; r < 8; r++)
        assert_near(result->streams[0].rounds[r].sigma_s, sigmas[r], 1e-9);
    assert_near(result->workers[0].last_load, 10 * (20 - 0.8), 1e-3);
    cleave_streams_result_free(result);
    cleave_platform_free(platform);
}

struct post_log {
    double last_s[10], shortest_s;
    uint32_t posts[10];
};

static void log_post(void *context, uint32_t worker, double time_s, double units)
{
    struct post_log *log = context;

    assert_true(units > 0);
    /* The second comes half a round after the first. */
    if (log->posts[worker]++ > 1)
        log->shortest_s = fmin(log->shortest_s, time_s - log->last_s[worker]);
    log->last_s[worker] = time_s;
}

static double shortest_round(const struct cleave_platform *platform, const char *post)
{
    struct post_log log = { .shortest_s = INFINITY };
    const struct cv_as4dr_watch watch = { .context = &log, .posted = log_post };
    const struct cleave_setting settings[] = { { "period", "20" }, { "post", post } };
    const struct cv_stream_run stream = { .platform = platform,
                                          .declared = cleave_platform_workers(platform),
                                          .settings = settings,
                                          .nsettings = 2,
                                          .horizon_s = 1000,
                                          .result_ratio = 1,
                                          .watch = &watch };
    struct cv_outcome outcome;
    struct cv_planned planned;

    assert_int_equal(cv_stream_plan(&stream, &planned, NULL), CLEAVE_OK);
    assert_int_equal(cv_stream_drive(&stream, &planned, NULL, &outcome, NULL), CLEAVE_OK);
    cv_planned_done(&planned);
    return log.shortest_s;
}

static void spaced_posts_are_a_period_apart(void **state)
{
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 10, -1, 0.6, 3000);

    (void)state;
    assert_true(shortest_round(platform, "event") < 15);
    assert_true(shortest_round(platform, "spaced") >= 20 - 1e-9);
    cleave_platform_free(platform);
}

/* --- ends --------------------------------------------------------------------------------- */

static void spread_rest_ends_everywhere_at_once(void **state)
{
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 10, 0.01, 0, 0);
    struct cleave_streams_result *result = simulate(
        &(struct cleave_stream_job){ .platform = platform,
                                     .horizon_s = 300,
                                     .rest_s = 40,
                                     .result_ratio = 1,
                                     SETTINGS({ "period", "20" }, { "end", "spread" }) });

    (void)state;
    for (uint32_t w = 0; w < 10; w++)
        assert_near(result->workers[w].end_s, result->workers[0].end_s, 1e-6);
    cleave_streams_result_free(result);
    cleave_platform_free(platform);
}

static double whole_of(const struct cleave_platform *platform, const char *end)
{
    struct cleave_streams_result *result = simulate(
        &(struct cleave_stream_job){ .platform = platform,
                                     .horizon_s = 2000,
                                     .rest_s = 50,
                                     .result_ratio = 1,
                                     SETTINGS({ "period", "50" }, { "end", end }) });
    const double useful = result->whole.useful;

    cleave_streams_result_free(result);
    return useful;
}

static void taper_copes_with_speeds_that_change(void **state)
{
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 100, 0.01, 0.6, 20000);

    (void)state;
    assert_true(whole_of(platform, "taper") > whole_of(platform, "spread") + 0.02);
    assert_true(whole_of(platform, "taper") > whole_of(platform, "none") + 0.01);
    cleave_platform_free(platform);
}

/* For all settings, posted units are computed, and the trace is valid. */
static void every_way_keeps_the_model(void **state)
{
    static const struct cleave_setting ways[][3] = {
        { { "rule", "eq1" }, { "service", "fifo" }, { "end", "taper" } },
        { { "rule", "deadbeat" }, { "service", "rr" }, { "end", "taper" } },
        { { "rule", "pll" }, { "service", "edf" }, { "end", "taper" } },
        { { "rule", "periodic" }, { "service", "edf" }, { "end", "spread" } },
        { { "rule", "eq1" }, { "service", "rr" }, { "end", "spread" } },
        { { "post", "spaced" }, { "start", "spread" }, { "end", "none" } },
        { { "start", "zero" }, { "theta", "0.3" }, { "gain", "0.5" } },
    };
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways * 6; i++) {
        struct cleave_platform *platform = table1(ports[i % 3], 10, -1, 0.5, 3000);
        const double ratio = i / 3 % 2 == 0 ? 0 : 1;
        struct cleave_streams_result *result;
        struct cleave_trace *trace;
        struct trace_check check;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        result = simulate(&(struct cleave_stream_job){ .platform = platform,
                                                       .horizon_s = 200,
                                                       .rest_s = 30,
                                                       .result_ratio = ratio,
                                                       .settings = ways[i / 6],
                                                       .nsettings = 3,
                                                       .trace = trace });
        check = trace_check(trace, platform, result->whole.units, ratio, false);
        if (check.fault[0] != '\0')
            fail_msg("way %zu: %s", i, check.fault);
        assert_true(result->whole.useful > 0.6);
        assert_true(result->window.busy > 0.9);
        cleave_streams_result_free(result);
        cleave_trace_free(trace);
        cleave_platform_free(platform);
    }
}

/* --- several streams ------------------------------------------------------------------------ */

static void streams_do_not_disturb_each_other(void **state)
{
    static const uint32_t first[] = { 3, 0, 7, 12 }, second[] = { 5, 1, 2, 19, 8 };
    const struct cleave_stream streams[] = { { first, 4 }, { second, 5 } };
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 20, -1, 0.4, 4000);
    struct cleave_stream_job job = { .platform = platform,
                                     .streams = streams,
                                     .nstreams = 2,
                                     .horizon_s = 500,
                                     .rest_s = 10,
                                     .result_ratio = 0.5,
                                     .threads = 1 };
    struct cleave_streams_result *both = simulate(&job), *alone, *threads;

    (void)state;
    job.threads = 2;
    threads = simulate(&job);
    job.streams = &streams[1];
    job.nstreams = 1;
    alone = simulate(&job);
    assert_int_equal(both->nworkers, 9);
    assert_int_equal(both->workers[4].worker, 5);
    assert_int_equal(both->workers[4].stream, 1);
    assert_memory_equal(&both->whole, &threads->whole, sizeof both->whole);
    assert_true(both->end_s == threads->end_s);
    for (uint32_t w = 0; w < 5; w++) {
        assert_true(both->workers[4 + w].units == alone->workers[w].units);
        assert_true(both->workers[4 + w].end_s == alone->workers[w].end_s);
    }
    assert_true(both->whole.units ==
                both->streams[0].whole.units + both->streams[1].whole.units);
    cleave_streams_result_free(both);
    cleave_streams_result_free(threads);
    cleave_streams_result_free(alone);
    cleave_platform_free(platform);
}

/* --- what is refused ------------------------------------------------------------------------ */

static void assert_refused(const struct cleave_stream_job *job, const char *text)
{
    struct cleave_streams_result *result = NULL;
    struct cleave_error err;

    assert_int_equal(cleave_simulate_streams(job, &result, &err), CLEAVE_EINPUT);
    assert_null(result);
    if (strstr(err.text, text) == NULL)
        fail_msg("expected '%s', got '%s'", text, err.text);
}

static void nonsense_is_refused(void **state)
{
    static const uint32_t twice[] = { 1, 2, 1 }, far[] = { 10 };
    const struct cleave_stream streams[] = { { twice, 3 }, { far, 1 }, { far, 0 } };
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 10, -1, 0, 0);
    struct cleave_stream_job job = { .platform = platform, .horizon_s = 100 };
    struct cleave_setting setting = { "rule", "eq2" };

    (void)state;
    job.streams = streams;
    job.nstreams = 1;
    assert_refused(&job, "worker 'w1' serves two streams");
    job.streams = &streams[1];
    assert_refused(&job, "expected workers below 10, got 10");
    job.streams = &streams[2];
    assert_refused(&job, "stream 0 has no workers");
    job.streams = NULL;
    job.settings = &setting;
    job.nsettings = 1;
    assert_refused(&job, "parameter 'rule': expected eq1, deadbeat, pll or periodic, got "
                         "'eq2'");
    setting = (struct cleave_setting){ "end", "" };
    assert_refused(&job, "parameter 'end': expected taper, spread or none, got ''");
    setting = (struct cleave_setting){ "period", "0.0001" };
    assert_refused(&job, "parameter 'period': expected more than 0.0002 s");
    job.nsettings = 0;
    job.horizon_s = 0;
    assert_refused(&job, "expected a positive horizon, got 0");
    cleave_platform_free(platform);
}

static void workers_without_time_to_compute_are_left_out(void **state)
{
    struct cleave_platform *platform = table1(CLEAVE_PORT_DUPLEX, 10, -1, 0, 0);
    struct cleave_streams_result *result =
        simulate(&(struct cleave_stream_job){ .platform = platform,
                                              .horizon_s = 10,
                                              .result_ratio = 1,
                                              SETTINGS({ "period", "0.2" }) });

    (void)state;
    /* Workers with a latency of 0.1 s. */
    assert_int_equal(result->streams[0].members, 8);
    assert_null(result->workers[0].left_out);
    assert_non_null(result->workers[1].left_out);
    assert_non_null(
        strstr(result->workers[5].left_out, "take 0.2 s of a round of 0.2 s"));
    assert_true(result->workers[1].units == 0);
    cleave_streams_result_free(result);
    cleave_platform_free(platform);
}

/* --- periodic speeds -------------------------------------------------------------------------- */

static void history_finds_the_period(void **state)
{
    struct cv_as4dr_history *history;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    history = cv_as4dr_history_new(&arena, 1, 5);
    assert_non_null(history);
    for (int t = 0; t < 1000; t += 5)
        cv_as4dr_history_add(history, t, t + 5, t % 85 < 40 ? 2 : 8);
    assert_near(history->period_s, 85, 2);
    /* 1000 s is 65 s into a period: 20 s at 8, then 40 s at 2. */
    assert_near(cv_as4dr_history_work(history, 1000, 1060, 5), 20 * 8 + 40 * 2, 25);
    /* Nothing comes back in steady speeds. */
    history = cv_as4dr_history_new(&arena, 1, 5);
    assert_non_null(history);
    for (int t = 0; t < 1000; t += 5)
        cv_as4dr_history_add(history, t, t + 5, 8);
    assert_true(history->period_s == 0);
    assert_near(cv_as4dr_history_work(history, 1000, 1060, 5), 300, 1e-9);
    cv_arena_done(&arena);
}

/* The work done by the end time of some work equals that work. */
static void profile_work_is_what_ends(void **state)
{
    static const struct cleave_step steps[] = { { 2, 0.5 }, { 10, 0 }, { 15, 2 } };
    const struct cleave_profile profile = { steps, 3 }, none = { 0 };

    (void)state;
    assert_true(cv_profile_work(&profile, 0, 4) == 3);
    assert_true(cv_profile_work(&profile, 10, 15) == 0);
    assert_true(cv_profile_work(&none, 3, 5) == 2);
    for (int i = 0; i < 29; i++)
        for (int k = 0; k < 10; k++) {
            const double begin_s = 0.7 * i, work_s = 0.1 * pow(1.7, k);

            assert_near(cv_profile_work(&profile, begin_s,
                                        cv_profile_end(&profile, begin_s, work_s)),
                        work_s, 1e-12);
        }
}

/* A part without units in the stream ends before earlier ones; each result is fetched
 * anyway. */
static void results_of_empty_parts_exclude_no_worker(void **state)
{
    const struct cleave_worker workers[] = { { 5, 0.01, 15, 0.001, 15, 0.001 },
                                             { 2, 0.01, 40, 0.001, 40, 0.001 } };
    const struct cleave_trial trial = { .runs = 10,
                                        .threads = 1,
                                        .noise = { CLEAVE_NOISE_NORMAL, 0.5 } };
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_DUPLEX, workers, 2, &platform, &err),
                     CLEAVE_OK);
    for (int hold = 1; hold < 10; hold *= 2) {
        const struct cleave_job job = { .platform = platform,
                                        .load = 60,
                                        .result_ratio = 0.2,
                                        .error = 0.5,
                                        .reads = "late",
                                        .hold = hold,
                                        .policy = "as4dr",
                                        .seed = 1 };
        struct cleave_stats stats;

        if (cleave_simulate_load(&job, &trial, &stats, &err) != CLEAVE_OK)
            fail_msg("%s", err.text);
    }
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigma_converges_to_tau),
        cmocka_unit_test(efficiency_depends_on_tau),
        cmocka_unit_test(chosen_rounds_and_a_taper_beat_long_rounds),
        cmocka_unit_test(loads_follow_the_recurrence),
        cmocka_unit_test(spaced_posts_are_a_period_apart),
        cmocka_unit_test(spread_rest_ends_everywhere_at_once),
        cmocka_unit_test(taper_copes_with_speeds_that_change),
        cmocka_unit_test(every_way_keeps_the_model),
        cmocka_unit_test(streams_do_not_disturb_each_other),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(workers_without_time_to_compute_are_left_out),
        cmocka_unit_test(history_finds_the_period),
        cmocka_unit_test(profile_work_is_what_ends),
        cmocka_unit_test(results_of_empty_parts_exclude_no_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
