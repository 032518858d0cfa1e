/* random_draw.h -- platforms and loads drawn at random, all of which follows from a number.
 * SPDX-License-Identifier: MIT
 *
 * Workers from equal to a thousand times as fast as others, latencies or none, links from
 * far wider to far narrower than speeds, results or none, three ports, speeds that change
 * and workers that are absent for a while, little memory, lifespans, open chunks and
 * streams of unknown end; and errors that policies expect. */
#ifndef RANDOM_DRAW_H
#define RANDOM_DRAW_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cleave/run.h>
#include "base/random.h"

/* The first ones, which every build tries, have few workers where results are ordered. */
enum { QUICK_ONES = 12, FEW_WORKERS = 6 };

struct draw {
    struct cv_random random;
    double memory; /* units that the workers can take about; 0: any */
    struct cleave_platform *platform;
    struct cleave_job job;
    char text[16384];
};

/* Failures are printed with all drawn values, and counted. */
static unsigned faults;

static void note_fault(const struct draw *drawn)
{
    fprintf(stderr, "\n  on platform %u: load %.17g, lifespan %.17g, ratio %.17g\n%s",
            (unsigned)drawn->job.seed, drawn->job.load, drawn->job.lifespan_s,
            drawn->job.result_ratio, drawn->text);
    faults++;
}

#define FAULT(drawn, ...) (fprintf(stderr, __VA_ARGS__), note_fault(drawn))

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

/* Separate random numbers: platforms without it do not change. */
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
    if (results && n > FEW_WORKERS && number < QUICK_ONES)
        n = FEW_WORKERS; /* searches for orders of results take seconds beyond */
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

/* Range of tests: count and first number, from the environment. */
static uint32_t setting(const char *name, uint32_t preset)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : preset;
}

/* All of them are tried, whatever happens to one. */
static void try_platforms(void (*one_platform)(uint32_t number), uint32_t preset)
{
    const uint32_t first = setting("CLEAVE_FIRST_PLATFORM", 0);
    const uint32_t count = setting("CLEAVE_PLATFORMS", preset);

    for (uint32_t i = 0; i < count; i++)
        one_platform(first + i);
    if (faults > 0)
        fail_msg("%u faults on platforms %u to %u", faults, first, first + count - 1);
}

#endif
