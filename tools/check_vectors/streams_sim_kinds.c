/* streams_sim_kinds.c -- cases of several data streams that are simulated.
 * SPDX-License-Identifier: MIT
 *
 * The policy gets tau, theta, first loads and first posts as the case lists them and runs
 * on the native engine; profiles are periodic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "kinds.h"
#include "model/platform/profile.h"
#include "model/platform/platform_internal.h"
#include "sim/stream/stream_run.h"
#include "streams_inputs.h"

enum { HEAD = 5, MOST_SETTINGS = 3 };

/* Profiles last for this many horizons; later factors last as long as necessary. */
static const double PROFILE_HORIZONS = 20;
/* Times this close are the same. */
static const double TIED_S = 1e-9;

/* The first rounds of a worker, as the policy tells. */
struct head {
    double loads[HEAD], posts[HEAD], sigmas[HEAD];
    uint32_t nposts, nsigmas;
};

/* The last message of a worker on its way back. */
struct last_return {
    double start_s, length_s;
};

struct recorder {
    struct cv_stream_stats stats;
    struct cv_as4dr_watch watch;
    struct head *heads;
    struct last_return *last;
    double *share, end_s;
    bool spread;
};

static void on_event(void *context, const struct cleave_event *event)
{
    struct recorder *recorder = context;

    if (event->kind == CLEAVE_RETURNED)
        recorder->last[event->worker] =
            (struct last_return){ event->start_s, event->time_s - event->start_s };
    recorder->stats.watch.event(&recorder->stats, event);
}

static void on_posted(void *context, uint32_t worker, double time_s, double units)
{
    struct recorder *recorder = context;
    struct head *head = &recorder->heads[worker];

    if (head->nposts < HEAD) {
        head->loads[head->nposts] = units;
        head->posts[head->nposts++] = time_s;
    }
    recorder->stats.watch.posted(&recorder->stats, worker, time_s, units);
}

static void on_measured(void *context, uint32_t worker, double time_s, double sigma_s)
{
    struct recorder *recorder = context;
    struct head *head = &recorder->heads[worker];

    if (head->nsigmas < HEAD)
        head->sigmas[head->nsigmas++] = sigma_s;
    recorder->stats.watch.measured(&recorder->stats, worker, time_s, sigma_s);
}

static void on_waited(void *context, uint32_t worker, bool back, double wait_s)
{
    struct recorder *recorder = context;

    recorder->stats.watch.waited(&recorder->stats, worker, back, wait_s);
}

static void on_spread(void *context, double end_s, const double *share)
{
    struct recorder *recorder = context;
    const uint32_t n = cleave_platform_nworkers(recorder->stats.platform);

    recorder->spread = true;
    recorder->end_s = end_s;
    memcpy(recorder->share, share, n * sizeof *share);
}

/* --- inputs ------------------------------------------------------------------------------ */

static double profile_number(struct vector_case *c, const struct json *profile,
                             const char *name)
{
    const struct json *value = json_get(profile, name);

    if (value == NULL || value->kind != JSON_NUMBER) {
        case_fail(c, "input profiles: expected a number for '%s'", name);
        return 1;
    }
    return value->number;
}

static bool make_platform(struct vector_case *c, const struct cv_stream_ring *ring,
                          double until_s, struct cleave_platform **out)
{
    const struct json *profiles = json_get(c->in, "profiles");
    struct cv_group *groups = cv_array(c->arena, ring->n, sizeof *groups);
    char(*names)[16] = cv_array(c->arena, ring->n, sizeof *names);
    struct cleave_error err;

    if (profiles != NULL && (profiles->kind != JSON_LIST || profiles->count != ring->n)) {
        case_fail(c, "input profiles: expected one per worker");
        return false;
    }
    if (groups == NULL || names == NULL) {
        case_fail(c, "out of memory");
        return false;
    }
    for (uint32_t w = 0; w < ring->n; w++) {
        snprintf(names[w], sizeof names[w], "w%u", w);
        groups[w].name = names[w];
        groups[w].count = 1;
        if (profiles != NULL) {
            const struct json *profile = &profiles->items[w];
            const struct cv_periodic periodic = { profile_number(c, profile, "delta"),
                                                  profile_number(c, profile, "period"),
                                                  profile_number(c, profile, "phase"),
                                                  profile_number(c, profile, "duty") };

            groups[w].steps =
                cv_periodic_steps(&periodic, until_s, c->arena, &groups[w].nsteps);
            if (groups[w].steps == NULL)
                case_fail(c, "input profiles: too many steps");
        }
    }
    return c->result == CASE_PASSED &&
           case_ok(c,
                   cv_platform_build(CLEAVE_PORT_DUPLEX, ring->workers, groups, ring->n,
                                     out, NULL, &err),
                   &err);
}

/* Words of the case that are parameters of the policy. */
static size_t read_settings(struct vector_case *c, struct cleave_setting *settings)
{
    static const char *const names[MOST_SETTINGS][2] = { { "post", "post" },
                                                         { "service", "service" },
                                                         { "cleanup", "end" } };
    size_t n = 0;

    settings[n++] = (struct cleave_setting){ "end", "none" };
    for (size_t i = 0; i < MOST_SETTINGS; i++) {
        const struct json *value = json_get(c->in, names[i][0]);

        if (value != NULL && value->text != NULL)
            settings[n++] = (struct cleave_setting){ names[i][1], value->text };
    }
    return n;
}

/* --- results ------------------------------------------------------------------------------ */

static void expect_use(struct vector_case *c, const struct recorder *recorder)
{
    const struct cleave_stream_use whole = cv_stream_use(&recorder->stats, false);
    const struct cleave_stream_use window = cv_stream_use(&recorder->stats, true);

    expect_number(c, "t_end", recorder->stats.end_s);
    expect_number(c, "bytes", whole.units);
    expect_number(c, "throughput", whole.throughput_ups);
    expect_number(c, "useful", whole.useful);
    expect_number(c, "busy", whole.busy);
    expect_number(c, "win_bytes", window.units);
    expect_number(c, "win_throughput", window.throughput_ups);
    expect_number(c, "win_useful", window.useful);
    expect_number(c, "win_busy", window.busy);
    expect_number(c, "wait_send", recorder->stats.wait_send_s);
}

/* If the rest was spread, all workers end at the same time except for rounding, which
 * decides in which order their last results are fetched. The sum of the waits depends on
 * that: it is least with the shortest result first and greatest with the longest. */
static void expect_waits(struct vector_case *c, const struct recorder *recorder,
                         uint32_t n)
{
    double waits_s = recorder->stats.wait_return_s, least_s = 0, most_s = 0;
    double *lengths = case_room(c, n);
    uint32_t tied = 0;

    if (!recorder->spread) {
        expect_number(c, "wait_recv", waits_s);
        return;
    }
    for (uint32_t w = 0; lengths != NULL && w < n; w++)
        if (fabs(recorder->stats.workers[w].end_s - recorder->end_s) <= TIED_S) {
            lengths[tied++] = recorder->last[w].length_s;
            waits_s -= recorder->last[w].start_s - recorder->stats.workers[w].end_s;
        }
    if (tied > 0)
        qsort(lengths, tied, sizeof *lengths, cv_compare_doubles);
    for (uint32_t i = 0; i + 1 < tied; i++) {
        least_s += lengths[i] * (tied - 1 - i);
        most_s += lengths[tied - 1 - i] * (tied - 1 - i);
    }
    expect_at_least(c, "wait_recv", waits_s + most_s);
    expect_at_most(c, "wait_recv", waits_s + least_s);
}

static void expect_workers(struct vector_case *c, const struct recorder *recorder,
                           uint32_t n)
{
    double *idle = case_room(c, n), *end = case_room(c, n), *last = case_room(c, n);
    uint32_t *rounds = cv_array(c->arena, n, sizeof *rounds);

    if (idle == NULL || end == NULL || last == NULL || rounds == NULL)
        return;
    for (uint32_t w = 0; w < n; w++) {
        idle[w] = recorder->stats.workers[w].idle_s;
        end[w] = recorder->stats.workers[w].end_s;
        last[w] = recorder->stats.workers[w].last_load;
        rounds[w] = recorder->stats.workers[w].rounds;
    }
    expect_numbers(c, "idle", idle, n);
    expect_numbers(c, "cpu_end", end, n);
    expect_numbers(c, "alpha_last", last, n);
    expect_counts(c, "rounds", rounds, n);
}

/* A list of lists, one per worker: row `worker` of it. */
static void expect_row(struct vector_case *c, const char *name, uint32_t worker,
                       const double *got, uint32_t count)
{
    const struct json *rows = json_get(c->out, name);
    struct json map = { .kind = JSON_MAP, .count = 1, .keys = &name };
    struct vector_case row = *c;

    if (rows == NULL || rows->kind != JSON_LIST || worker >= rows->count) {
        case_fail(c, "%s: expected a list per worker", name);
        return;
    }
    map.items = &rows->items[worker];
    row.out = &map;
    expect_numbers(&row, name, got, count);
    if (row.result == CASE_FAILED)
        case_fail(c, "worker %u: %s", worker, row.text);
}

static void expect_heads(struct vector_case *c, const struct recorder *recorder,
                         uint32_t n)
{
    expect_nothing(c, "alpha_head"); /* row by row instead */
    expect_nothing(c, "sigma_head");
    expect_nothing(c, "posts_head");
    for (uint32_t w = 0; w < n; w++) {
        const struct head *head = &recorder->heads[w];

        expect_row(c, "alpha_head", w, head->loads, head->nposts);
        expect_row(c, "posts_head", w, head->posts, head->nposts);
        expect_row(c, "sigma_head", w, head->sigmas, head->nsigmas);
    }
}

static void expect_all(struct vector_case *c, const struct recorder *recorder, uint32_t n)
{
    expect_use(c, recorder);
    expect_waits(c, recorder, n);
    expect_workers(c, recorder, n);
    expect_heads(c, recorder, n);
    if (recorder->spread) {
        expect_number(c, "cleanup_tstar", recorder->end_s);
        expect_numbers(c, "cleanup_share", recorder->share, n);
    }
}

/* --- a case ---------------------------------------------------------------------------------- */

static bool init_recorder(struct vector_case *c, struct recorder *recorder,
                          const struct cleave_platform *platform)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    size_t count = 0;
    const double *window = case_numbers(c, "window", &count);
    struct cleave_error err;

    if (count != 2) {
        case_fail(c, "input window: expected two numbers");
        return false;
    }
    *recorder = (struct recorder){
        .heads = cv_array(c->arena, n, sizeof *recorder->heads),
        .last = cv_array(c->arena, n, sizeof *recorder->last),
        .share = case_room(c, n),
        .watch = { recorder, on_event, on_posted, on_measured, on_waited, on_spread },
    };
    if (recorder->heads == NULL || recorder->last == NULL)
        case_fail(c, "out of memory");
    return c->result == CASE_PASSED &&
           case_ok(c,
                   cv_stream_stats_init(&recorder->stats, platform, case_number(c, "T"),
                                        case_number(c, "rho"), window[0], window[1],
                                        c->arena, &err),
                   &err);
}

static void run_on(struct vector_case *c, const struct cv_stream_ring *ring,
                   const struct cleave_platform *platform, struct recorder *recorder)
{
    struct cleave_setting settings[MOST_SETTINGS + 1];
    size_t nloads, nstarts;
    const struct cv_as4dr_given given = {
        .tau_s = ring->tau_s,
        .floor_s = case_has(c, "floor") ? case_number(c, "floor") : 0,
        .theta = ring->theta,
        .first_load = case_numbers(c, "alpha1", &nloads),
        .start_s = case_numbers(c, "start", &nstarts),
    };
    const struct cv_stream_run stream = {
        .platform = platform,
        .declared = cleave_platform_workers(platform),
        .settings = settings,
        .nsettings = read_settings(c, settings),
        .horizon_s = case_number(c, "T"),
        .rest = case_has(c, "V") ? case_number(c, "V") : 0,
        .result_ratio = ring->result_ratio,
        .given = &given,
        .watch = &recorder->watch,
    };
    struct cv_outcome outcome;
    struct cv_planned planned;
    struct cleave_error err;

    if (nloads != ring->n || nstarts != ring->n || ring->theta == NULL) {
        case_fail(c, "input: expected theta, alpha1 and start for every worker");
        return;
    }
    if (!case_ok(c, cv_stream_plan(&stream, &planned, &err), &err))
        return;
    if (case_ok(c, cv_stream_drive(&stream, &planned, NULL, &outcome, &err), &err) &&
        case_ok(c, cv_stream_stats_close(&recorder->stats, &err), &err))
        expect_all(c, recorder, ring->n);
    cv_planned_done(&planned);
}

static void run_sim(struct vector_case *c)
{
    const struct cv_stream_ring ring = case_ring(c);
    struct cleave_platform *platform = NULL;
    struct recorder recorder;

    if (ring.n == 0 ||
        !make_platform(c, &ring, PROFILE_HORIZONS * case_number(c, "T"), &platform))
        return;
    if (init_recorder(c, &recorder, platform)) {
        run_on(c, &ring, platform, &recorder);
        cv_stream_stats_done(&recorder.stats);
    }
    cleave_platform_free(platform);
}

const struct case_kind streams_sim_kinds[] = {
    { "sim_steady", run_sim },
    { "sim_varying", run_sim },
    { "sim_cleanup", run_sim },
    { NULL, NULL },
};
