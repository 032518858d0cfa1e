/* test_elastic.c -- learn where chunks stay open: what it orders, how long it takes.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/driver.h"
#include "model/platform/platform_internal.h"
#include "policy/common/orders.h"
#include "policy/common/reserved_workers.h"
#include "sim/load/native.h"
#include "trace_check.h"

enum { MOST_WORKERS = 64, SOME_WORKERS = 16 };

static const char *const KINDS[] = { "stream", "count", "slurp", "late", "mix" };
enum { LATE = 3, NKINDS = 5 };

static const struct cleave_policy *learn(void)
{
    const struct cleave_policy *policy = NULL;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &policy, NULL),
                     CLEAVE_OK);
    return policy;
}

/* Bytes; a worker of speed 1 does 10 MB a second. */
struct scene {
    const char *kind;
    double start_s, work_s;
    uint32_t n;
    uint32_t arriving; /* so many of them, the last ones, are expected and do not come */
    double speeds[MOST_WORKERS];
    double hold, record, spread;
    bool measured;                 /* the policy is told the speeds */
    double starts_s[MOST_WORKERS]; /* what starts take; 0: start_s                   */
    double gulp_s, noise; /* read at once; by how much chunks take more or less time */
    /* Then every other worker drops to a quarter, and half as long again later the others
     * rise to 1.5; 0: none does. */
    double changes_s;
    const struct cleave_setting *settings;
    size_t nsettings;
};

/* How long it takes; the driver makes sure that everything is done once. */
static double play(const struct scene *scene, struct cleave_trace *trace)
{
    const double unit = 1e7, load = scene->work_s * unit;
    const double ahead = fmin(65536, fmax(load / scene->n / 64, 4096));
    struct cleave_worker workers[MOST_WORKERS], declared[MOST_WORKERS];
    const struct cleave_step steps[] = { { scene->changes_s, 0.25 },
                                         { 1.5 * scene->changes_s, 1.5 } };
    struct cv_group groups[MOST_WORKERS];
    char names[MOST_WORKERS][12];
    struct cleave_platform *platform = NULL;
    struct cv_command_model command;
    struct cv_run run = { .command = &command, .units = load, .hold = scene->hold };
    struct cv_outcome outcome = { 0 };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    struct cleave_error err;

    for (uint32_t w = 0; w < scene->n; w++) {
        workers[w] =
            (struct cleave_worker){ unit * (scene->speeds[w] > 0 ? scene->speeds[w] : 1),
                                    scene->starts_s[w] > 0 ? scene->starts_s[w]
                                                           : scene->start_s,
                                    1e300,
                                    0,
                                    1e300,
                                    0 };
        declared[w] = (struct cleave_worker){ 1e8, 1e-3, 1e12, 0, 1e12, 0 };
        if (scene->measured) {
            declared[w].speed_ups = workers[w].speed_ups;
            declared[w].compute_latency_s = workers[w].compute_latency_s;
        }
        if (w + scene->arriving >= scene->n)
            declared[w] = cv_arriving_input_place();
    }
    for (uint32_t w = 0; w < scene->n; w++) {
        snprintf(names[w], sizeof names[w], "w%u", (unsigned)w);
        groups[w] = (struct cv_group){ .name = names[w],
                                       .count = 1,
                                       .steps = &steps[w % 2],
                                       .nsteps = scene->changes_s > 0 };
    }
    assert_int_equal(cv_platform_build(CLEAVE_PORT_MULTI, workers, groups, scene->n,
                                       &platform, NULL, NULL),
                     CLEAVE_OK);
    run.platform = platform;
    run.noise = (struct cv_noise){ .drawn = { CLEAVE_NOISE_NORMAL, scene->noise } };
    if (!(scene->noise > 0))
        run.noise.drawn.kind = CLEAVE_NOISE_NONE;
    assert_int_equal(cv_command_find(scene->kind, &command, NULL), CLEAVE_OK);
    command.pipe_ups = 2e9;
    command.ahead = ahead;
    command.record = scene->record;
    command.start_spread = scene->spread;
    command.gulp_s = scene->gulp_s;
    if (cv_planned_init(&planned, learn(), scene->settings, scene->nsettings, platform,
                        declared,
                        &(struct cv_load){ .units = scene->hold > 0 ? INFINITY : load,
                                           .real = true,
                                           .measured = scene->measured,
                                           .opens = true,
                                           .ahead = ahead,
                                           .hold = scene->hold,
                                           .unequal = 30,
                                           .burst_s = 2 * scene->gulp_s,
                                           .varies = scene->noise },
                        NULL, &err) != CLEAVE_OK ||
        cv_driver_open(&planned, &cv_engine_native_open, platform, NULL, &driver, &err) !=
            CLEAVE_OK ||
        cv_driver_run(driver, &run, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s, start %g, work %g, %u workers: %s", scene->kind, scene->start_s,
                 scene->work_s, scene->n, err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return outcome.makespan_s;
}

static uint32_t count_starts(const struct cleave_trace *trace)
{
    uint32_t starts = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        starts += !entry->is_order && entry->as.event.kind == CLEAVE_STARTED;
    }
    return starts;
}

/* Starts of a scene. */
static uint32_t starts_of(const struct scene *scene)
{
    struct cleave_trace *trace = NULL;
    uint32_t starts;

    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    play(scene, trace);
    starts = count_starts(trace);
    cleave_trace_free(trace);
    return starts;
}

/* --- how long it takes -------------------------------------------------------------------- */

/* Who works as it reads pays one start, however long that is. */
static void no_start_is_paid_twice(void **state)
{
    static const struct {
        double start_s, work_s;
        uint32_t n;
        double most_s;
    } jobs[] = { { 1, 4, 2, 3.03 },      { 0.3, 4, 2, 2.33 }, { 5, 4, 2, 7.03 },
                 { 1, 20, 16, 2.28 },    { 0, 1, 4, 0.26 },   { 5, 0.1, 2, 5.11 },
                 { 1e-3, 10, 16, 0.66 }, { 0, 1, 16, 0.07 } };

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        for (int kind = 0; kind < 2; kind++) {
            const double took_s = play(&(struct scene){ .kind = KINDS[kind],
                                                        .start_s = jobs[i].start_s,
                                                        .work_s = jobs[i].work_s,
                                                        .n = jobs[i].n },
                                       NULL);

            /* Of one whose output comes at the end, a first chunk is a test. */
            if (took_s > jobs[i].most_s + kind * 0.55 * jobs[i].start_s)
                fail_msg("%s: %g s to start, %g s of work, %u workers: %g s", KINDS[kind],
                         jobs[i].start_s, jobs[i].work_s, jobs[i].n, took_s);
        }
}

/* Half of those that have started are kept, and each takes half of what another one was given. Of an odd number one
 * is left over: it was given twice its part like the others, and all waited for it or paid another start. */
static void of_an_odd_number_nobody_has_two_parts(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 63; n = 2 * n + 1)
        for (int kind = 0; kind < NKINDS; kind += NKINDS - 1) { /* stream, mix */
            const struct scene scene = {
                .kind = KINDS[kind], .start_s = 1, .work_s = n, .n = n
            };
            const double took_s = play(&scene, NULL);

            if (took_s > 1.05 * (scene.start_s + 1) || starts_of(&scene) != n)
                fail_msg("%s, %u workers: %g s", scene.kind, (unsigned)n, took_s);
        }
}

/* Slow workers lose their tails; of commands that read all first, they get little. */
static void unequal_workers_end_together(void **state)
{
    static const double most_s[NKINDS] = { 12.2, 12.8, 15, 16, 15 };

    (void)state;
    for (int kind = 0; kind < NKINDS; kind++)
        for (int slow = 0; slow < 2; slow++) {
            struct scene scene = {
                .kind = KINDS[kind], .start_s = 1, .work_s = 20, .n = 2
            };
            double took_s;

            scene.speeds[slow] = 2.0 / 31;
            scene.speeds[1 - slow] = 60.0 / 31;
            took_s = play(&scene, NULL); /* 11 s at best */
            if (took_s > most_s[kind] + 5 * slow)
                fail_msg("%s, worker %d is slow: %g s", KINDS[kind], 1 - slow, took_s);
        }
}

/* Every other worker is slow, and nobody knows. What those hold that are slow goes to others
 * that have started, and of two workers the second is not given much of a small job; where
 * starts cost nothing, all are tried first. Those that work after they have read keep what
 * they have as long as that is fair. Times are those of the best, and what may be added. */
static void slow_workers_cost_no_start(void **state)
{
    static const struct {
        const char *kind;
        double start_s, work_s;
        uint32_t n;
        double max;
    } jobs[] = { { "stream", 1, 1, 4, 1.15 },      { "count", 1, 1, 4, 1.15 },
                 { "stream", 5, 10, 16, 1.12 },    { "stream", 0.3, 1, 16, 1.2 },
                 { "count", 0.03, 0.1, 16, 1.25 }, { "stream", 5, 1, 2, 1.01 },
                 { "stream", 0.3, 0.1, 2, 1.5 },   { "stream", 0, 1, 4, 1.05 },
                 { "count", 0, 0.1, 2, 1.05 },     { "mix", 5, 10, 16, 1.2 } };

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct scene scene = { .kind = jobs[i].kind,
                               .start_s = jobs[i].start_s,
                               .work_s = jobs[i].work_s,
                               .n = jobs[i].n };
        const double best_s = jobs[i].start_s + jobs[i].work_s / jobs[i].n;
        double took_s;

        for (uint32_t w = 0; w < scene.n; w++)
            scene.speeds[w] = (w % 2 == 0 ? 60.0 : 2.0) / 31;
        took_s = play(&scene, NULL);
        if (took_s > jobs[i].max * best_s)
            fail_msg("%s: %g s to start, %g s of work, %u workers: %g of the best",
                     jobs[i].kind, jobs[i].start_s, jobs[i].work_s, jobs[i].n,
                     took_s / best_s);
    }
}

/* Of those that have started some are tried, and if they are alike the others have their shares
 * with the start that they have paid; what starts up after the end has to be started once more,
 * but not twice, however slow some are. */
static void a_start_more_is_enough(void **state)
{
    static const struct {
        const char *kind;
        double slow, start_s, work_s;
        uint32_t n;
        double max;
    } jobs[] = { { "slurp", 1, 5, 10, 16, 1.1 },   { "slurp", 1, 1, 1, 4, 1.25 },
                 { "slurp", 1, 0.3, 0.1, 4, 1.1 }, { "slurp", 4, 5, 10, 16, 1.4 },
                 { "late", 30, 5, 10, 16, 2.05 },  { "late", 30, 1, 1, 4, 2 },
                 { "late", 4, 5, 10, 4, 1.8 } };

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct scene scene = { .kind = jobs[i].kind,
                               .start_s = jobs[i].start_s,
                               .work_s = jobs[i].work_s,
                               .n = jobs[i].n };
        const double best_s = jobs[i].start_s + jobs[i].work_s / jobs[i].n;
        double took_s;

        for (uint32_t w = 0; w < scene.n; w++)
            scene.speeds[w] = 2 * (w % 2 == 0 ? jobs[i].slow : 1) / (1 + jobs[i].slow);
        took_s = play(&scene, NULL);
        if (took_s > jobs[i].max * best_s)
            fail_msg("%s, %g:1: %g s to start, %g s of work, %u workers: %g of the best",
                     jobs[i].kind, jobs[i].slow, jobs[i].start_s, jobs[i].work_s,
                     jobs[i].n, took_s / best_s);
    }
}

/* A slow one takes over from another what nobody knows yet that it cannot do. It is asked for that
 * again, and not left alone with it for 120 s because it was asked in the very moment at which it
 * was on its way. */
static void nobody_is_left_alone(void **state)
{
    static const struct {
        double start_s, work_s;
    } jobs[] = { { 0.6, 25 }, { 0.02, 0.3 }, { 2.5, 25 } };

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct scene scene = {
            .kind = "stream", .start_s = jobs[i].start_s, .work_s = jobs[i].work_s, .n = 6
        };
        double took_s;

        for (uint32_t w = 0; w < scene.n; w++)
            scene.speeds[w] = (w % 2 == 0 ? 60 : 2) / 31.0;
        took_s = play(&scene, NULL);
        if (took_s > 1.8 * (jobs[i].start_s + jobs[i].work_s / 6))
            fail_msg("%g s to start, %g s of work: %g s", jobs[i].start_s, jobs[i].work_s,
                     took_s);
    }
}

/* What would not fill a pipe is given out at once when the first little piece of it takes long:
 * then it is the start that does, and nobody pays another one. */
static void crumbs_need_one_start(void **state)
{
    (void)state;
    for (int slow = 1; slow <= 30; slow += 29) {
        struct scene scene = { .kind = "late", .start_s = 1, .work_s = 0.1, .n = 64 };
        double took_s;

        for (uint32_t w = 0; w < scene.n; w++)
            scene.speeds[w] = 2.0 * (w % 2 == 0 ? slow : 1) / (1 + slow);
        took_s = play(&scene, NULL);
        if (took_s > 1.05)
            fail_msg("%d:1: %g s", slow, took_s);
    }
}

/* Speeds that were measured once are the first guess. */
static void what_was_measured_counts(void **state)
{
    (void)state;
    for (int kind = 0; kind < NKINDS; kind++) {
        struct scene scene = { .kind = KINDS[kind],
                               .start_s = 1,
                               .work_s = 2,
                               .n = 4,
                               .speeds = { 2, 0.1, 2, 0.1 } };
        double unknown_s, measured_s;

        unknown_s = play(&scene, NULL);
        scene.measured = true;
        measured_s = play(&scene, NULL);
        /* A start after the end has to be seen in any case, and shows who is slow. */
        if (measured_s > (kind == LATE ? 1 : 0.9) * unknown_s)
            fail_msg("%s: %g s, %g s if nothing was measured", KINDS[kind], measured_s,
                     unknown_s);
    }
}

/* Half of them drop to a quarter of their speed, later the others rise: of 20 s of work 16 workers
 * have done 8 s after 0.5 s, 10.5 s after 0.75 s, and what is left takes 9.5 / 14 s more. Where
 * starts cost nothing, little is in the hands of those that become slow; and their slowness is
 * not taken for long starts. */
static void who_becomes_slow_has_little(void **state)
{
    static const char *const kinds[] = { "slurp", "late", "mix" };

    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int large = 0; large < 2; large++) {
            const double scale = large ? 100 : 1;
            const struct scene scene = { .kind = kinds[k],
                                         .start_s = 1e-4 * scale,
                                         .work_s = 20 * scale,
                                         .n = 16,
                                         .changes_s = 0.5 * scale };
            const double best_s = (0.75 + 9.5 / 14) * scale, took_s = play(&scene, NULL);

            assert_true(took_s < 1.15 * best_s);
        }
}

/* The same where a share is 56 starts: nobody has half of it in its hands. Of 3600 s of work 64 workers have
 * done 1408 s after 23 s, 1868 s after 34.5 s, and what is left takes 31 s more. If it happens after 5.6 s, when
 * all have their first large chunks, it is 294 s, 406 s after 8.4 s, and 57 s more. */
static void who_becomes_slow_has_no_half_of_its_share(void **state)
{
    static const char *const kinds[] = { "slurp", "late", "mix" };
    static const double changes_s[] = { 5.6, 23 };

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const struct scene scene = { .kind = kinds[i % 3],
                                     .start_s = 1,
                                     .work_s = 3600,
                                     .n = 64,
                                     .changes_s = changes_s[i / 3] };
        const double took_s = play(&scene, NULL);

        if (took_s > 1.3 * 65.5)
            fail_msg("%s, slow after %g s: %g s", scene.kind, scene.changes_s, took_s);
    }
}

/* Half of them are slow when it is first seen what they do. The one that had the test shows nothing
 * by it but a start, and is not taken for a fast one: that would be 11 s. */
static void who_is_not_sure_has_little(void **state)
{
    const struct scene scene = {
        .kind = "late", .start_s = 1, .work_s = 100, .n = 64, .changes_s = 1.025
    };

    (void)state;
    assert_true(play(&scene, NULL) < 6); /* 2.9 at best */
}

/* Two workers with ten starts' worth of work each: one chunk shows what they are, half of the rest
 * follows, and so on; the last one takes what would be left too, if that is worth less than two starts. */
static void what_is_not_worth_a_start_is_not_left(void **state)
{
    const struct scene scene = { .kind = "slurp", .start_s = 5, .work_s = 100, .n = 2 };

    (void)state;
    assert_true(starts_of(&scene) <= 8);
}

/* Shares of 14 and 3 starts, nobody is slow: when the first of them is done with what shows how fast it is, the others have
 * been at that for as long. They are no faster, and its next chunk need not be small because they could be; nor are those
 * that have just been started on their next one. */
static void who_is_as_long_at_work_is_no_faster(void **state)
{
    static const struct {
        double work_s, starts;
    } jobs[] = { { 68, 4.5 }, { 14, 2.5 } };

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const struct scene scene = {
            .kind = "slurp", .start_s = 0.3, .work_s = jobs[i].work_s, .n = 16
        };

        assert_true(starts_of(&scene) <= jobs[i].starts * scene.n);
    }
}

/* Starts take more or less time. What was taken back of ranges, 0.4 s of work for starts of 8 s, is not
 * everybody's: the last of those who start is waited for. */
static void nobody_is_started_for_next_to_nothing(void **state)
{
    const struct scene scene = {
        .kind = "mix", .work_s = 1, .n = 4, .starts_s = { 8.44, 5, 9.6, 8.5 }
    };

    (void)state;
    assert_true(starts_of(&scene) <= 6);
}

/* It reads at a pace of its own and works when it has read all. That shows in a test, of which one start is
 * the price, before one that drops to a quarter of its speed has been given all of its share. */
static void a_share_of_three_starts_is_tested(void **state)
{
    const struct scene scene = {
        .kind = "mix", .start_s = 1, .work_s = 20, .n = 2, .changes_s = 4.4
    };

    (void)state;
    assert_true(play(&scene, NULL) < 20);
}

/* Commands that read a lot at once stand still for 10 ms at a time, and equal ones are not
 * equally fast: nobody is so late that it is worth a start to take something from it. */
static void who_reads_much_at_once_does_not_stand_still(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 64; n *= 2) {
        const struct scene scene = { .kind = "stream",
                                     .start_s = 0.4,
                                     .work_s = 0.75 * n,
                                     .n = n,
                                     .gulp_s = 0.01,
                                     .noise = 0.03 };
        struct cleave_trace *trace = NULL;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        assert_true(play(&scene, trace) < 1.15 * 1.15);
        assert_int_equal(count_starts(trace), n);
        cleave_trace_free(trace);
    }
}

/* A first chunk is a start and next to no work, and the start takes 5 % more or less time: that
 * does not make equal workers unequal, some by 20 times, who would be waited for then. */
static void a_start_that_varies_is_no_speed(void **state)
{
    (void)state;
    for (uint32_t n = 16; n <= 64; n *= 2) {
        const struct scene scene = { .kind = "late",
                                     .start_s = 1,
                                     .work_s = 100,
                                     .n = n,
                                     .gulp_s = 0.01,
                                     .noise = 0.05 };

        assert_true(play(&scene, NULL) < 2 * (1 + 100.0 / n));
    }
}

/* One takes 5 s to start, as is known, and the others are done after 1.5 s. */
static void who_starts_too_late_is_not_started(void **state)
{
    const struct scene scene = { .kind = "stream",
                                 .start_s = 0.5,
                                 .work_s = 3,
                                 .n = 4,
                                 .starts_s = { 5 },
                                 .measured = true };
    struct cleave_trace *trace = NULL;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    assert_true(play(&scene, trace) < 1.55);
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        assert_false(entry->is_order && entry->as.order.kind == CLEAVE_OPEN &&
                     entry->as.order.worker == 0);
    }
    cleave_trace_free(trace);
}

/* One worker runs the command as if it were run alone. */
static void one_worker_is_not_in_its_own_way(void **state)
{
    (void)state;
    for (int kind = 0; kind < NKINDS; kind++) {
        const double took_s = play(
            &(struct scene){ .kind = KINDS[kind], .start_s = 1, .work_s = 10, .n = 1 },
            NULL);

        assert_true(took_s < 1.01 * 11);
    }
}

/* --- every script has an end --------------------------------------------------------------- */

static struct scene some_scene(struct cv_random *random)
{
    struct scene scene = {
        .kind = KINDS[(int)(NKINDS * cv_random_uniform(random))],
        .start_s = exp(9 * cv_random_uniform(random) - 7),
        .work_s = exp(9 * cv_random_uniform(random) - 3),
        .n = 1 + (uint32_t)(SOME_WORKERS * cv_random_uniform(random)),
        .record = cv_random_uniform(random) < 0.5 ? 0 : 100,
        .spread = cv_random_uniform(random) < 0.5 ? 0 : 0.8,
    };

    for (uint32_t w = 0; w < scene.n; w++)
        scene.speeds[w] = exp(3 * cv_random_uniform(random) - 1.5);
    if (cv_random_uniform(random) < 0.4)
        scene.hold = 1e7 * scene.n * exp(3 * cv_random_uniform(random) - 1);
    return scene;
}

static void everything_is_done_and_done_again_the_same(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 7, 1, 2, 3);
    for (int trial = 0; trial < 300; trial++) {
        const struct scene scene = some_scene(&random);
        struct cleave_trace *first, *second;

        assert_int_equal(cleave_trace_new(&first, NULL), CLEAVE_OK);
        assert_int_equal(cleave_trace_new(&second, NULL), CLEAVE_OK);
        play(&scene, first);
        play(&scene, second);
        assert_true(same_traces(first, second));
        cleave_trace_free(first);
        cleave_trace_free(second);
    }
}

/* --- parameters ----------------------------------------------------------------------------- */

static void no_chunk_is_larger_than_most(void **state)
{
    static const struct cleave_setting max[] = { { "most", "1000000" } };

    (void)state;
    for (int kind = 0; kind < NKINDS; kind++) {
        struct cleave_trace *trace;
        double largest = 0;

        assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
        play(&(struct scene){ .kind = KINDS[kind],
                              .start_s = 0.01,
                              .work_s = 10,
                              .n = 3,
                              .settings = max,
                              .nsettings = 1 },
             trace);
        for (size_t i = 0; i < cleave_trace_count(trace); i++) {
            const struct cleave_entry *entry = cleave_trace_at(trace, i);

            if (!entry->is_order && entry->as.event.kind == CLEAVE_DONE)
                largest = fmax(largest, entry->as.event.units);
        }
        assert_true(largest > 0 && largest <= 1000000 * (1 + 1e-9));
        cleave_trace_free(trace);
    }
}

/* --- orders ----------------------------------------------------------------------------------- */

/* The policy alone, told what the test likes. */
struct places {
    struct cv_arena arena;
    struct cleave_worker workers[3];
    struct cleave_view view;
    struct cleave_order items[64];
    struct cleave_orders orders;
    char state[4096];
};

static void desk_open(struct places *places)
{
    struct cleave_setup setup = { .arena = &places->arena };

    *places = (struct places){ .view = { .nworkers = 3,
                                         .port = CLEAVE_PORT_MULTI,
                                         .units_total = 768000,
                                         .units_left = 768000,
                                         .real = true,
                                         .opens = true,
                                         .ahead = 100 } };
    for (int w = 0; w < 3; w++)
        places->workers[w] = (struct cleave_worker){ 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    places->view.workers = places->workers;
    places->orders = (struct cleave_orders){ .items = places->items,
                                             .capacity = 64,
                                             .units_left = &places->view.units_left };
    assert_true(learn()->state_size <= sizeof places->state);
    assert_int_equal(cv_params_store(learn(), NULL, 0, places->state, NULL), CLEAVE_OK);
    assert_int_equal(learn()->start(places->state, &places->view, &setup, NULL),
                     CLEAVE_OK);
}

static void desk_tell(struct places *places, struct cleave_event event)
{
    places->orders.count = 0;
    learn()->decide(places->state, &places->view, &event, &places->orders);
}

/* The order to that worker of that kind, or NULL. */
static const struct cleave_order *ordered(const struct places *places,
                                          enum cleave_order_kind kind, uint32_t worker)
{
    for (size_t i = 0; i < places->orders.count; i++)
        if (places->items[i].kind == kind && places->items[i].worker == worker)
            return &places->items[i];
    return NULL;
}

/* All start at once, one of them on a 256th of its share, the others on nothing. */
static void desk_begin(struct places *places)
{
    desk_open(places);
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_START });
    assert_true(ordered(places, CLEAVE_OPEN, 0)->units == 1000);
    assert_true(ordered(places, CLEAVE_OPEN, 1)->units == 0);
    assert_true(ordered(places, CLEAVE_OPEN, 2)->units == 0);
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_SENT, .units = 1000 });
    for (uint32_t w = 1; w < 3; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w });
}

/* Worker 0 reads at 50000 units a second, after a start of 2 s, and writes meanwhile. */
static void desk_streams(struct places *places)
{
    desk_begin(places);
    desk_tell(places,
              (struct cleave_event){ .kind = CLEAVE_STARTED, .start_s = 0, .time_s = 2 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 0));
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 2.01 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 0));
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_PROGRESS, .units = 500, .output = 400, .time_s = 2.01 });
}

/* Its output comes while it reads: ranges are given, nothing is closed, and one is kept for
 * what the others turn out to be too slow for, as which half of what the first one has is thought of. */
static void output_shows_that_it_works_as_it_reads(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_streams(places);
    for (uint32_t w = 0; w < 2; w++) {
        assert_non_null(ordered(places, CLEAVE_EXTEND, w));
        assert_true(fabs(ordered(places, CLEAVE_EXTEND, w)->units - 256000 * (2 - w)) <
                    2000);
    }
    for (uint32_t w = 0; w < 3; w++)
        assert_null(ordered(places, CLEAVE_CLOSE, w));
    assert_null(ordered(places, CLEAVE_EXTEND, 2));
    assert_true(places->view.units_left == 0);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Worker 1 has begun to read at that pace; what is taken back then, from whom? */
static const struct cleave_order *taken_back(struct places *places, double pace_ups,
                                             uint32_t from)
{
    desk_streams(places);
    for (uint32_t w = 0; w < 2; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = 383500,
                                                 .more = w == 0,
                                                 .time_s = 2.01 });
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_STARTED, .worker = 1, .start_s = 0, .time_s = 2.01 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .worker = 1, .time_s = 2.01 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 2.02 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 1));
    if (ordered(places, CLEAVE_QUERY, 0) != NULL)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                                 .units = 1000,
                                                 .more = true,
                                                 .time_s = 2.02 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                             .worker = 1,
                                             .units = 0.01 * pace_ups,
                                             .time_s = 2.02 });
    return ordered(places, CLEAVE_RECALL, from);
}

/* Nobody has to start again for the range of a slow one: nearly all of it goes to the one
 * that has started; half of it, if they are alike. */
static void what_is_too_much_goes_to_who_was_kept(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    const struct cleave_order *order;

    (void)state;
    order = taken_back(places, 2000, 1);
    assert_non_null(order);
    assert_true(order->units > 350000);
    places->view.units_left += 350000;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                             .worker = 1,
                                             .units = 350000,
                                             .time_s = 2.02 });
    assert_non_null(ordered(places, CLEAVE_EXTEND, 2));
    assert_true(ordered(places, CLEAVE_EXTEND, 2)->units == 350000);
    cv_arena_done(&places->arena);
    order = taken_back(places, 50000, 0);
    assert_non_null(order);
    assert_true(fabs(order->units - 192000) < 2000);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* A slow one gave nothing back, since it was just being fed, say: when it has been looked at, it is
 * asked again. */
static void who_gave_nothing_is_asked_again(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    bool request = false;

    (void)state;
    assert_non_null(taken_back(places, 2000, 1));
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_RECALLED, .worker = 1, .time_s = 2.02 });
    for (int i = 1; i < 20 && !request; i++) {
        const double now_s = 2.02 + 0.1 * i;

        if (ordered(places, CLEAVE_RECALL, 0) != NULL)
            desk_tell(places, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                     .time_s = now_s - 0.05 });
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = now_s });
        for (uint32_t w = 0; w < 2; w++)
            desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                                     .worker = w,
                                                     .units = (w == 0 ? 50000 : 2000) *
                                                              (now_s - 2),
                                                     .more = w == 0,
                                                     .time_s = now_s });
        request = ordered(places, CLEAVE_RECALL, 1) != NULL;
    }
    assert_true(request);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* That a command was started on nothing is told late, when it has been given its range. */
static void a_start_on_nothing_answers_no_range(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_begin(places);
    desk_tell(places,
              (struct cleave_event){ .kind = CLEAVE_STARTED, .start_s = 0, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 2.01 });
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_PROGRESS, .units = 500, .output = 400, .time_s = 2.01 });
    assert_non_null(ordered(places, CLEAVE_EXTEND, 1));
    desk_tell(places,
              (struct cleave_event){ .kind = CLEAVE_SENT, .worker = 1, .time_s = 2.01 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                             .worker = 1,
                                             .units = 255000,
                                             .time_s = 2.02 });
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_STARTED, .worker = 1, .start_s = 0, .time_s = 3 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 1)); /* it has something to read */
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Worker 0 swallows what it is given: closed, as a test, and the others wait for that. It does
 * 10000 units a second. Its input is closed `later_s` after it had read all of it. */
static void desk_slurps(struct places *places, double later_s)
{
    const double closed_s = 2.000001 + later_s;

    desk_begin(places);
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 2 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .units = 1000, .time_s = 2 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 1000, .time_s = 2.000001 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 0)); /* has it written anything? */
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .units = 1000, .time_s = closed_s });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
    assert_null(ordered(places, CLEAVE_EXTEND, 1));
    /* It goes on for long after its end: others get sizes, and are closed with them. */
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_DONE,
                                             .units = 1000,
                                             .time_s = closed_s + 0.1,
                                             .read_s = closed_s });
    for (uint32_t w = 1; w < 3; w++) {
        assert_non_null(ordered(places, CLEAVE_EXTEND, w));
        assert_non_null(ordered(places, CLEAVE_CLOSE, w));
    }
}

static void who_swallows_all_is_tested(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_slurps(places, 0);
    cv_arena_done(&places->arena);
    /* That it waited for its end is not taken for work while it reads. */
    desk_slurps(places, 0.5);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Two have closed chunks and stand still, and the third has done what was its own: nothing else will
 * happen, so that it asks to be called when they are overdue, and then for what was not fed. */
static void who_becomes_overdue_is_waited_for(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    const struct cleave_order *order;
    double units[3], now_s = 2.2;

    (void)state;
    desk_slurps(places, 0);
    units[0] = ordered(places, CLEAVE_OPEN, 0)->units;
    for (uint32_t w = 1; w < 3; w++)
        units[w] = ordered(places, CLEAVE_EXTEND, w)->units;
    for (uint32_t w = 1; w < 3; w++) {
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = units[w],
                                                 .time_s = now_s });
        desk_tell(places, (struct cleave_event){
                              .kind = CLEAVE_STARTED, .worker = w, .time_s = now_s });
    }
    places->view.units_left = 0;
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_SENT, .units = units[0], .time_s = now_s });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_STARTED, .start_s = now_s, .time_s = now_s });
    now_s += units[0] / 1e4;
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DONE, .units = units[0], .time_s = now_s });
    order = ordered(places, CLEAVE_WAKE_AT, 0);
    assert_true(order != NULL && order->time_s > now_s);
    desk_tell(places,
              (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = order->time_s });
    assert_true(ordered(places, CLEAVE_RECALL, 1) != NULL ||
                ordered(places, CLEAVE_RECALL, 2) != NULL);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Of three pieces a busy master hears of the first one only after 8 ms: it has been swallowed as
 * the others were, and that is no pace. */
static void what_is_heard_late_is_no_pace(void **state)
{
    static const double sizes[] = { 1000, 3000, 4000 }, taken_s[] = { 8e-3, 1e-4, 1e-4 };
    struct places *places = test_malloc(sizeof *places);
    double now_s = 2, given = 0;

    (void)state;
    desk_begin(places);
    places->view.burst_s = 0.02;
    places->view.ahead = 4096;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = now_s });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = now_s });
    for (int i = 0; i < 3; i++) {
        given += sizes[i];
        now_s += taken_s[i];
        desk_tell(places, (struct cleave_event){
                              .kind = CLEAVE_DRAINED, .units = given, .time_s = now_s });
        assert_null(ordered(places, CLEAVE_CLOSE, 0));
        assert_null(ordered(places, CLEAVE_EXTEND, 1));
        if (i == 2)
            break;
        assert_true(ordered(places, CLEAVE_EXTEND, 0)->units == sizes[i + 1]);
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .units = sizes[i + 1],
                                                 .time_s = now_s });
    }
    assert_non_null(ordered(places, CLEAVE_QUERY, 0));
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .units = given, .time_s = now_s });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
    assert_null(ordered(places, CLEAVE_EXTEND, 1));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* One that is slow shows it by less than a window, if it takes longer than any gulp. */
static void who_takes_long_has_a_pace(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_begin(places);
    places->view.burst_s = 0.02;
    places->view.ahead = 4096;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = 2 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 1000, .time_s = 2.0001 });
    assert_true(ordered(places, CLEAVE_EXTEND, 0)->units == 3000);
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_EXTENDED, .units = 3000, .time_s = 2.0001 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 4000, .time_s = 2.1 });
    assert_non_null(ordered(places, CLEAVE_EXTEND, 1));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Starts take 20 ms, and the first one has read 4000 units in 10 ms. Does that show how fast it works, where
 * commands may stand still for `burst_s`? */
static void desk_reads_slowly(struct places *places, double burst_s)
{
    desk_begin(places);
    places->view.burst_s = burst_s;
    places->view.ahead = 1000;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 0.02 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = 0.02 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 1000, .time_s = 0.0201 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_EXTENDED, .units = 3000, .time_s = 0.0201 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 4000, .time_s = 0.03 });
    if (ordered(places, CLEAVE_QUERY, 0) != NULL)
        desk_tell(places, (struct cleave_event){
                              .kind = CLEAVE_PROGRESS, .units = 4000, .time_s = 0.03 });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
}

/* On a busy machine it does not: it is tested, and the others wait for that. Else they are given their
 * ranges, but nothing more before the test is done if they swallow them at once. */
static void a_pace_by_chance_is_not_believed(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    double range;

    (void)state;
    desk_reads_slowly(places, 0.16);
    for (uint32_t w = 1; w < 3; w++)
        assert_null(ordered(places, CLEAVE_EXTEND, w));
    cv_arena_done(&places->arena);
    desk_reads_slowly(places, 0.005);
    assert_non_null(ordered(places, CLEAVE_EXTEND, 1));
    range = ordered(places, CLEAVE_EXTEND, 1)->units;
    for (uint32_t w = 1; w < 3; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = range,
                                                 .more = w == 1,
                                                 .time_s = 0.03 });
    assert_true(places->view.units_left > 0);
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_STARTED, .worker = 1, .time_s = 0.0301 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .worker = 1, .time_s = 0.0301 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                             .worker = 1,
                                             .units = range,
                                             .time_s = 0.0302 });
    assert_null(ordered(places, CLEAVE_EXTEND, 1));
    assert_null(ordered(places, CLEAVE_CLOSE, 1));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Answers of a host take 50 ms: what it read within 10 ms may have been read at once, and it is
 * tested like one that swallows all. */
static void what_the_way_takes_is_no_pace(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_begin(places);
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 2 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .units = 500, .time_s = 2.05 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 1000, .time_s = 2.06 });
    assert_non_null(ordered(places, CLEAVE_QUERY, 0)); /* has it written anything? */
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_PROGRESS, .units = 1000, .time_s = 2.11 });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
    for (uint32_t w = 0; w < 3; w++)
        assert_null(ordered(places, CLEAVE_EXTEND, w));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Over a link it may be heard that a command reads when it has ended: it was not done at once,
 * and does not get all that is left. */
static void what_is_heard_late_is_no_speed(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    double units, end_s, left;

    (void)state;
    desk_slurps(places, 0);
    units = ordered(places, CLEAVE_EXTEND, 1)->units;
    end_s = 2.1 + units / 10000;
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_EXTENDED, .worker = 1, .units = units, .time_s = 2.1 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED,
                                             .worker = 1,
                                             .start_s = 2.1,
                                             .time_s = end_s - 2e-6,
                                             .more = true });
    left = places->view.units_left;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_DONE,
                                             .worker = 1,
                                             .units = units,
                                             .start_s = 2.1,
                                             .time_s = end_s,
                                             .read_s = 2.101 });
    assert_non_null(ordered(places, CLEAVE_OPEN, 1));
    assert_true(ordered(places, CLEAVE_OPEN, 1)->units < 0.6 * left);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* What follows is another file: the chunk ends, without a question. */
static void a_chunk_that_nothing_follows_is_closed(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_begin(places);
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS, .time_s = 2 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 2.01 });
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_PROGRESS, .units = 500, .output = 400, .time_s = 2.01 });
    for (uint32_t w = 0; w < 3; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = w == 0 ? 0 : 1000,
                                                 .time_s = 2.01 });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DRAINED, .units = 1000, .time_s = 2.02 });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
    assert_null(ordered(places, CLEAVE_EXTEND, 0));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* The first two have their ranges, the third is kept; at 10 s the first is done, and of the
 * second nothing was heard. The order to take its range back. */
static const struct cleave_order *desk_wait_for_one(struct places *places)
{
    desk_streams(places);
    for (uint32_t w = 0; w < 2; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = 383500,
                                                 .more = w == 0,
                                                 .time_s = 2.01 });
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_DONE,
                                             .units = 384000,
                                             .time_s = 10,
                                             .start_s = 2,
                                             .read_s = 9.9 });
    return ordered(places, CLEAVE_RECALL, 1);
}

/* Who has not begun when others are done loses all of it, and is given nothing for a while. */
static void who_does_not_begin_loses_all(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    const struct cleave_order *recall;

    (void)state;
    recall = desk_wait_for_one(places);
    assert_non_null(recall);
    assert_true(recall->units == 383500);
    places->view.units_left = 383500;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                             .worker = 1,
                                             .units = 383500,
                                             .time_s = 10,
                                             .more = true });
    assert_non_null(ordered(places, CLEAVE_EXTEND, 2));
    places->view.units_left = 5000; /* of something else that came back */
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DONE, .worker = 1, .time_s = 10.001 });
    assert_null(ordered(places, CLEAVE_OPEN, 1));
    places->view.units_left = 5000;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 41 });
    assert_null(ordered(places, CLEAVE_OPEN, 1));
    places->view.units_left = 5000;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 43 });
    assert_non_null(ordered(places, CLEAVE_OPEN, 1));
    cv_arena_done(&places->arena);
    test_free(places);
}

/* It is better than nobody. */
static void who_is_late_serves_when_all_others_are_gone(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    bool served = false;

    (void)state;
    assert_non_null(desk_wait_for_one(places));
    places->view.units_left = 383500;
    desk_tell(places, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                             .worker = 1,
                                             .units = 383500,
                                             .time_s = 10,
                                             .more = true });
    desk_tell(places, (struct cleave_event){
                          .kind = CLEAVE_DONE, .worker = 1, .time_s = 10.001 });
    for (uint32_t i = 0; i < 6 && !served; i++) {
        places->view.units_left = 383500;
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                 .worker = 2 * (i % 2),
                                                 .units = 383500,
                                                 .time_s = 10.002 });
        served = ordered(places, CLEAVE_OPEN, 1) != NULL;
    }
    assert_true(served);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Whoever had the test is lost: another one begins it. */
static void a_lost_test_is_begun_again(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    desk_begin(places);
    places->view.units_left += 1000;
    desk_tell(places,
              (struct cleave_event){ .kind = CLEAVE_LOST, .units = 1000, .time_s = 1 });
    assert_true(places->orders.count > 0);
    assert_true(ordered(places, CLEAVE_OPEN, 0) != NULL ||
                ordered(places, CLEAVE_EXTEND, 1) != NULL);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* A worker is lost in the middle of its range, half of all: that is cut like any other rest, for the one
 * that has started and for the one that has to start again. */
static void what_was_lost_is_cut(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    const struct cleave_order *kept, *again;

    (void)state;
    desk_streams(places);
    for (uint32_t w = 0; w < 2; w++)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                                 .worker = w,
                                                 .units = 383500,
                                                 .more = w == 0,
                                                 .time_s = 2.01 });
    places->view.units_left += 384000;
    desk_tell(places,
              (struct cleave_event){
                  .kind = CLEAVE_LOST, .worker = 1, .units = 384000, .time_s = 2.02 });
    if (ordered(places, CLEAVE_QUERY, 0) != NULL)
        desk_tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                                 .units = 1000,
                                                 .output = 900,
                                                 .time_s = 2.02 });
    kept = ordered(places, CLEAVE_EXTEND, 2);
    again = ordered(places, CLEAVE_OPEN, 1);
    assert_non_null(kept);
    assert_non_null(again);
    assert_true(kept->units > again->units && again->units > 384000 / 4.0);
    assert_true(fabs(kept->units + again->units - 384000) < 1);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Who is expected is counted when it is shared out, for a while, and given nothing. */
static void those_who_are_coming_are_counted(void **state)
{
    const struct scene scene = {
        .kind = "slurp", .start_s = 0.2, .work_s = 8, .n = 16, .arriving = 15
    };
    struct cleave_trace *trace = NULL;
    double now_s = 0, early = 0, late = 0;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    play(&scene, trace);
    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);
        const struct cleave_order *order = &entry->as.order;

        if (!entry->is_order) {
            now_s = entry->as.event.time_s;
            continue;
        }
        if (order->kind == CLEAVE_WAKE_AT)
            continue;
        assert_int_equal(order->worker, 0);
        if (now_s < 1)
            early = fmax(early, order->units);
        else
            late = fmax(late, order->units);
    }
    assert_true(early > 0 && early < 1.3 * 8e7 / 16);
    assert_true(late > 1.5 * early);
    cleave_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_start_is_paid_twice),
        cmocka_unit_test(those_who_are_coming_are_counted),
        cmocka_unit_test(of_an_odd_number_nobody_has_two_parts),
        cmocka_unit_test(unequal_workers_end_together),
        cmocka_unit_test(slow_workers_cost_no_start),
        cmocka_unit_test(a_start_more_is_enough),
        cmocka_unit_test(nobody_is_left_alone),
        cmocka_unit_test(crumbs_need_one_start),
        cmocka_unit_test(what_was_measured_counts),
        cmocka_unit_test(who_becomes_slow_has_little),
        cmocka_unit_test(who_becomes_slow_has_no_half_of_its_share),
        cmocka_unit_test(who_is_not_sure_has_little),
        cmocka_unit_test(what_is_not_worth_a_start_is_not_left),
        cmocka_unit_test(who_is_as_long_at_work_is_no_faster),
        cmocka_unit_test(nobody_is_started_for_next_to_nothing),
        cmocka_unit_test(a_share_of_three_starts_is_tested),
        cmocka_unit_test(who_reads_much_at_once_does_not_stand_still),
        cmocka_unit_test(a_start_that_varies_is_no_speed),
        cmocka_unit_test(who_starts_too_late_is_not_started),
        cmocka_unit_test(one_worker_is_not_in_its_own_way),
        cmocka_unit_test(everything_is_done_and_done_again_the_same),
        cmocka_unit_test(no_chunk_is_larger_than_most),
        cmocka_unit_test(output_shows_that_it_works_as_it_reads),
        cmocka_unit_test(what_is_too_much_goes_to_who_was_kept),
        cmocka_unit_test(who_gave_nothing_is_asked_again),
        cmocka_unit_test(a_start_on_nothing_answers_no_range),
        cmocka_unit_test(who_swallows_all_is_tested),
        cmocka_unit_test(who_becomes_overdue_is_waited_for),
        cmocka_unit_test(what_is_heard_late_is_no_speed),
        cmocka_unit_test(what_the_way_takes_is_no_pace),
        cmocka_unit_test(what_is_heard_late_is_no_pace),
        cmocka_unit_test(who_takes_long_has_a_pace),
        cmocka_unit_test(a_pace_by_chance_is_not_believed),
        cmocka_unit_test(a_chunk_that_nothing_follows_is_closed),
        cmocka_unit_test(who_does_not_begin_loses_all),
        cmocka_unit_test(who_is_late_serves_when_all_others_are_gone),
        cmocka_unit_test(a_lost_test_is_begun_again),
        cmocka_unit_test(what_was_lost_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
