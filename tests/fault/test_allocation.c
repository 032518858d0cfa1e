/* test_allocation.c -- the n-th allocation fails, for n = 1, 2, ...
 * SPDX-License-Identifier: MIT
 *
 * The allocator of the C library gets a counter. For every failed allocation, the call
 * must return an error and leave nothing that crashes later. If a try takes 0.1 s, tries
 * after the first EACH are sampled; with CLEAVE_FAULTS=all, all are done. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/cleave.h>
#include "fault/failing_allocator.h"

#ifndef CV_NO_ALLOCATOR

static const char platform_text[] =
    "port: one\n"
    "workers:\n"
    "  - {name: old, count: 3, speed: 1, compute_latency: 0.5, bandwidth: 20, latency: "
    "0.2}\n"
    "  - {name: new, speed: 3, bandwidth: 80, profile: [[0, 1], [5, 0.5]]}\n";

static enum cleave_status plan_and_simulate(const struct cleave_platform *platform,
                                            const char *policy, double error,
                                            struct cleave_error *err)
{
    struct cleave_job job = {
        .platform = platform, .load = 100, .policy = policy, .error = error
    };
    struct cleave_trial trial = { .runs = 3,
                                  .threads = 1,
                                  .noise = { CLEAVE_NOISE_GAMMA, 0.2 } };
    struct cleave_schedule *schedule;
    struct cleave_stats stats;
    enum cleave_status status = cleave_plan_load(&job, &schedule, err);

    if (status != CLEAVE_OK)
        return status;
    cleave_schedule_free(schedule);
    return cleave_simulate_load(&job, &trial, &stats, err);
}

/* Open chunks, of a load and of a stream. */
static enum cleave_status writer(const struct cleave_platform *platform,
                                 struct cleave_error *err)
{
    struct cleave_job job = {
        .platform = platform, .load = 20, .policy = "learn", .reads = "mix"
    };
    const struct cleave_trial trial = { .runs = 1, .threads = 1 };
    struct cleave_schedule *schedule;
    struct cleave_stats stats;
    enum cleave_status status = cleave_plan_load(&job, &schedule, err);

    if (status != CLEAVE_OK)
        return status;
    cleave_schedule_free(schedule);
    job.hold = 6;
    return cleave_simulate_load(&job, &trial, &stats, err);
}

/* Every reduction policy, on costs from a file and on costs from laws. */
static enum cleave_status reduce(struct cleave_error *err)
{
    struct cleave_trial trial = { .runs = 3, .threads = 1 };
    struct cleave_costs *costs = NULL;
    enum cleave_status status =
        cleave_costs_load(CLEAVE_SOURCE_DIR "/examples/costs.json", &costs, err);

    for (size_t i = 0; i < cleave_policy_count() && status == CLEAVE_OK; i++) {
        struct cleave_reduction exact = { .costs = costs,
                                          .policy = cleave_policy_at(i)->name };
        struct cleave_reduction drawn = { .nodes = 9,
                                          .transfer = "gamma:1,0.5",
                                          .compute = "exp:1",
                                          .policy = cleave_policy_at(i)->name };
        struct cleave_tree *tree;
        struct cleave_stats stats;

        if (cleave_policy_at(i)->task != CLEAVE_TASK_REDUCE)
            continue;
        status = cleave_plan_reduce(&exact, &tree, err);
        if (status != CLEAVE_OK)
            break;
        cleave_tree_free(tree);
        status = cleave_simulate_reduce(&drawn, &trial, &stats, err);
    }
    cleave_costs_free(costs);
    return status;
}

static const struct {
    const char *policy;
    double error;
} plans[] = { { "auto", 0 }, { "umr", 0 },       { "factoring", 0 },
              { "rumr", 0 }, { "one-round", 0 }, { "auto", 0.2 } };
static const size_t nplans = sizeof plans / sizeof *plans;

/* One of several scenarios: each restarts for every allocation that fails in it. */
static enum cleave_status scenario(size_t number, struct cleave_error *err)
{
    struct cleave_platform *platform;
    enum cleave_status status =
        cleave_platform_parse("text", platform_text, strlen(platform_text), &platform,
                              err);

    if (status != CLEAVE_OK)
        return status;
    if (number < nplans)
        status =
            plan_and_simulate(platform, plans[number].policy, plans[number].error, err);
    else
        status = number == nplans ? writer(platform, err) : reduce(err);
    cleave_platform_free(platform);
    return status;
}

/* Policies are tried out there, many times. */
static bool is_slow(size_t number)
{
    return number < nplans && plans[number].error > 0;
}

enum { SCENARIOS = 8, EACH = 200, STEP = 7 };

/* How many allocations it makes, and of them failed in turn; below 0: one did without a word. */
static long fail_all(size_t number, long *tried, long *silent)
{
    const char *wanted = getenv("CLEAVE_FAULTS");
    const bool every = wanted != NULL && strncmp(wanted, "all", 3) == 0;
    struct cleave_error err = { 0 };

    for (long n = 0;; n += every || n < EACH || !is_slow(number) ? 1 : STEP) {
        enum cleave_status status;

        has_failed = false;
        countdown = n;
        status = scenario(number, &err);
        countdown = -1;
        if (!has_failed)
            return n;
        ++*tried;
        if (status == CLEAVE_OK) {
            (*silent)++; /* a note or a smaller working space: nothing the result needs */
        } else if (status != CLEAVE_ENOMEM || err.text[0] == '\0') {
            fprintf(stderr, "scenario %zu, allocation %ld: %s: '%s'\n", number, n,
                    cleave_status_text(status), err.text);
            return -1;
        }
    }
}

int main(void)
{
    long all = 0, tried = 0, silent = 0;

    for (size_t number = 0; number < SCENARIOS; number++) {
        const long n = fail_all(number, &tried, &silent);

        if (n <= 20)
            return 1;
        all += n;
    }
    printf("%ld of %ld allocations failed in turn, %ld without effect\n", tried, all,
           silent);
    return 0;
}

#endif
