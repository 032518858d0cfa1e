/* random_platforms.c -- every policy on platforms drawn at random: it ends, no bound is beaten,
 * and auto is at least as good as each of them.
 * SPDX-License-Identifier: MIT
 *
 * Workers from alike to a thousand times as fast as others, latencies or none, links from far
 * wider to far narrower than speeds, results or none, three ports, speeds that change and
 * workers that are away for a while, little memory, lifespans, chunks that stay open and streams of which
 * nobody is told the end. Costs are as declared, or off by an error that policies expect: then
 * means of many runs are compared. `make check-platforms` (PLATFORMS=10000) tries more of them
 * than the few by default, in which searches are short; CLEAVE_FIRST_PLATFORM=17 begins
 * with that one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/policy.h>
#include <cleave/run.h>
#include "base/random.h"

/* The first ones, which every build tries, have few workers where results are ordered. */
enum { PLATFORMS = 12, FEW = 6 };
/* Runs with an error, and those after which auto decides. */
enum { RUNS = 100, TRIALS = 10 };

/* What auto may be worse by, and bounds be beaten by rounding. */
static const double AUTO = 1.001, ROUNDING = 1e-9;

struct draw {
    struct cv_random random;
    double memory; /* units that the workers can take about; 0: any */
    struct cleave_platform *platform;
    struct cleave_job job;
    char text[16384];
};

static double between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

static double scale(struct cv_random *random, double low, double high)
{
    return exp(between(random, log(low), log(high)));
}

static bool chance(struct cv_random *random, double of)
{
    return cv_random_uniform(random) < of;
}

static int put_profile(struct cv_random *random, double time_s, char *text, size_t room)
{
    const double from = time_s * between(random, 0, 0.6);

    if (chance(random, 0.3)) /* there from then on */
        return snprintf(text, room, ", profile: [[0, 0], [%.17g, 1]]", from);
    return snprintf(text, room,
                    ", profile: [[%.17g, %.17g], [%.17g, %.17g], [%.17g, %.17g]]", from,
                    chance(random, 0.4) ? 0 : between(random, 0.1, 1),
                    from + time_s * between(random, 0.1, 0.5), between(random, 0.3, 1.5),
                    from + time_s * 0.8, between(random, 0.2, 1.2));
}

/* Numbers of their own: platforms without it are what they are. */
static int put_memory(struct draw *out, uint32_t number, uint32_t worker, char *text,
                      size_t room)
{
    struct cv_random random;

    if (!(out->memory > 0))
        return 0;
    cv_random_at(&random, 78, number, worker, 1);
    return snprintf(text, room, ", memory: %.17g",
                    out->memory * between(&random, 0.5, 1.5));
}

static void draw_memory(struct draw *out, uint32_t number, double share)
{
    struct cv_random random;

    cv_random_at(&random, 78, number, 0, 0);
    out->memory = chance(&random, 0.2) ? share * scale(&random, 0.02, 1) : 0;
}

/* Everything follows from the number. */
static void draw(struct draw *out, uint32_t number)
{
    struct cv_random *random = &out->random;
    const char *const ports[] = { "one", "duplex", "multi" };
    const char *const kinds[] = { "stream", "count", "slurp", "late" };
    uint32_t n;
    double speeds = 0, spread, link, start, load;
    bool results, profiles;
    struct cleave_error err;
    size_t at;

    cv_random_at(random, 77, number, 0, 0);
    n = 2 + (uint32_t)(cv_random_uniform(random) * cv_random_uniform(random) * 29);
    results = chance(random, 0.4);
    if (results && n > FEW && number < PLATFORMS)
        n = FEW; /* searches for orders of results take seconds beyond */
    profiles = chance(random, 0.3);
    spread = chance(random, 0.2) ? 1 : scale(random, 1.2, 30);
    link = scale(random, 0.3, 50) * sqrt((double)n);
    start = chance(random, 0.2) ? 0 : scale(random, 0.001, 3);
    load = scale(random, 5, 500) * n;
    draw_memory(out, number, load / n);
    at = (size_t)snprintf(out->text, sizeof out->text, "port: %s\nworkers:\n",
                          ports[(int)(3 * cv_random_uniform(random))]);
    for (uint32_t w = 0; w < n; w++) {
        const double speed = scale(random, 1, spread);

        speeds += speed;
        at += (size_t)snprintf(
            out->text + at, sizeof out->text - at,
            "  - { name: w%u, speed: %.17g, compute_latency: %.17g, bandwidth: %.17g, "
            "latency: %.17g, return_bandwidth: %.17g, return_latency: %.17g",
            w, speed, start * scale(random, 1, spread), link * scale(random, 1, spread),
            start * scale(random, 0.1, 1), link * scale(random, 0.5, spread + 0.5),
            start * scale(random, 0.1, 1));
        if (profiles && chance(random, 0.7))
            at += (size_t)put_profile(random, load / speeds * (w + 1) / n, out->text + at,
                                      sizeof out->text - at);
        at += (size_t)put_memory(out, number, w, out->text + at, sizeof out->text - at);
        at += (size_t)snprintf(out->text + at, sizeof out->text - at, " }\n");
    }
    if (cleave_platform_parse("drawn", out->text, at, &out->platform, &err) != CLEAVE_OK)
        fail_msg("%s: %s", err.field, err.text);
    out->job =
        (struct cleave_job){ .platform = out->platform, .load = load, .seed = number };
    if (results)
        out->job.result_ratio = scale(random, 0.05, 3);
    if (chance(random, 0.1)) {
        out->job.lifespan_s = load / speeds * between(random, 1, 3) + 5 * start;
        out->job.load = 0;
    } else if (chance(random, 0.25)) {
        out->job.reads = kinds[(int)(4 * cv_random_uniform(random))];
        out->job.hold = chance(random, 0.5) ? load * between(random, 0.02, 0.5) : 0;
        if (out->memory > 0) { /* open chunks have no size to speak of */
            out->job.reads = NULL;
            out->job.hold = 0;
        }
    }
    if (out->job.lifespan_s == 0 && chance(random, 0.25))
        out->job.error = between(random, 0.02, 0.5);
}

/* Time for the load, or what is left of the bound in a lifespan: less is better. INFINITY
 * when the policy does not take it. */
static double judge(const struct draw *drawn, const char *policy, uint32_t number)
{
    struct cleave_job job = drawn->job;
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;
    enum cleave_status status;
    double value;

    job.policy = policy;
    status = cleave_plan_load(&job, &schedule, &err);
    if (status == CLEAVE_EINPUT)
        return INFINITY;
    if (status != CLEAVE_OK)
        fail_msg("platform %u, %s: %s\n%s", number, policy, err.text, drawn->text);
    if (job.lifespan_s > 0) {
        if (schedule->load > schedule->bound.value_s * (1 + 1e-6))
            fail_msg(
                "platform %u, %s: %.17g units by %g s, more than the bound %.17g\n%s",
                number, policy, schedule->load, job.lifespan_s, schedule->bound.value_s,
                drawn->text);
        value = 1 / schedule->load;
    } else {
        if (schedule->makespan_s < schedule->bound.value_s * (1 - ROUNDING))
            fail_msg("platform %u, %s: %.17g s, less than the bound '%s' %.17g\n%s",
                     number, policy, schedule->makespan_s, schedule->bound.name,
                     schedule->bound.value_s, drawn->text);
        value = schedule->makespan_s;
    }
    cleave_schedule_free(schedule);
    return value;
}

/* The mean of runs with the error that was expected, and what it may be off by. */
static struct cleave_stats judge_mean(const struct draw *drawn, const char *policy,
                                      uint32_t number)
{
    const struct cleave_trial trial = {
        .runs = RUNS, .threads = 1, .noise = { CLEAVE_NOISE_NORMAL, drawn->job.error }
    };
    struct cleave_job job = drawn->job;
    struct cleave_stats stats = { .mean_s = INFINITY };
    struct cleave_error err;
    enum cleave_status status;

    job.policy = policy;
    status = cleave_simulate_load(&job, &trial, &stats, &err);
    if (status != CLEAVE_OK && status != CLEAVE_EINPUT)
        fail_msg("platform %u, %s, error %g: %s\n%s", number, policy, job.error, err.text,
                 drawn->text);
    return stats;
}

/* Auto saw a few runs of each, with other factors: chance may have misled it by as much as
 * those differ from each other. */
static bool beaten(const struct cleave_stats *automatic, const struct cleave_stats *other)
{
    const double spread_s = fmax(automatic->stddev_s, other->stddev_s);

    return automatic->mean_s > other->mean_s * AUTO + 3 * spread_s * sqrt(2.0 / TRIALS);
}

static bool would_try_the_same(const struct cleave_policy *policy,
                               const struct draw *drawn)
{
    return policy->task != CLEAVE_TASK_LOAD ||
           (policy->needs & CLEAVE_NEEDS_FORECAST) != 0 ||
           (policy->orders_returns && policy->one_round && drawn->job.result_ratio == 0);
}

static void means_are_not_beaten(const struct draw *drawn, uint32_t number)
{
    const struct cleave_stats automatic = judge_mean(drawn, "auto", number);

    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        struct cleave_stats other;

        if (would_try_the_same(policy, drawn))
            continue;
        other = judge_mean(drawn, policy->name, number);
        if (beaten(&automatic, &other))
            fail_msg("platform %u, error %g: auto (%s) %.9g, %s %.9g (load %.17g, ratio "
                     "%.17g)\n%s",
                     number, drawn->job.error, automatic.picked, automatic.mean_s,
                     policy->name, other.mean_s, drawn->job.load, drawn->job.result_ratio,
                     drawn->text);
    }
}

static void one_platform(uint32_t number)
{
    struct draw drawn;
    double automatic;

    draw(&drawn, number);
    if (drawn.job.error > 0) {
        means_are_not_beaten(&drawn, number);
        cleave_platform_free(drawn.platform);
        return;
    }
    automatic = judge(&drawn, "auto", number);
    for (size_t p = 0; p < cleave_policy_count(); p++) {
        const struct cleave_policy *policy = cleave_policy_at(p);
        double other;

        if (would_try_the_same(policy, &drawn))
            continue;
        other = judge(&drawn, policy->name, number);
        if (automatic > other * AUTO)
            fail_msg("platform %u: auto %.9g, %s %.9g: %.3g %% better (load %.17g, "
                     "lifespan %g, ratio %.17g)\n%s",
                     number, automatic, policy->name, other,
                     100 * (automatic / other - 1), drawn.job.load, drawn.job.lifespan_s,
                     drawn.job.result_ratio, drawn.text);
    }
    cleave_platform_free(drawn.platform);
}

static uint32_t setting(const char *name, uint32_t preset)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : preset;
}

static void nothing_is_beaten(void **state)
{
    const uint32_t first = setting("CLEAVE_FIRST_PLATFORM", 0);
    const uint32_t count = setting("CLEAVE_PLATFORMS", PLATFORMS);

    (void)state;
    for (uint32_t i = 0; i < count; i++)
        one_platform(first + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_is_beaten) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
