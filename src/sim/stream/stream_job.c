/* stream_job.c -- simulate data streams: the public call. SPDX-License-Identifier: MIT
 *
 * Streams share only the platform file, so each is simulated alone, on a platform of its
 * workers, in parallel. */
#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "model/platform/argument_check.h"
#include "model/platform/platform_internal.h"
#include "sim/many/parallel.h"
#include "sim/stream/stream_run.h"

struct owned_result {
    struct cleave_streams_result result; /* first: this is what callers hold */
    struct cleave_stream_result *streams;
    struct cleave_stream_worker *workers;
    struct cv_arena arena;
};

struct stream_case {
    const struct cleave_stream_job *job;
    const uint32_t *members; /* indices in the platform; NULL: all */
    uint32_t number, n;
    struct cleave_platform platform;   /* a view of the job's               */
    struct cleave_worker *declared;    /* in arena                          */
    struct cleave_stream_worker *rows; /* of the result: one per worker     */
    struct cleave_stream_result *out;  /* of the result                     */
    struct cv_arena arena;             /* workers, names, statistics */
    struct cv_planned planned;         /* owns the reasons                  */
    struct cv_stream_stats stats;
    struct cv_outcome outcome;
};

static enum cleave_status check_numbers(const struct cleave_stream_job *job,
                                        struct cleave_error *err)
{
    if (!(job->horizon_s > 0) || isinf(job->horizon_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a positive horizon, got %g",
                       job->horizon_s);
    if (!(job->rest_s >= 0) || isinf(job->rest_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a rest of 0 s or more, got %g",
                       job->rest_s);
    if (!(job->declared_factor >= 0) || isinf(job->declared_factor))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a positive factor of declared speeds, got %g",
                       job->declared_factor);
    if (job->window_to_s != 0 &&
        !(job->window_from_s >= 0 && job->window_to_s > job->window_from_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a window that ends after it begins, got %g to %g s",
                       job->window_from_s, job->window_to_s);
    if (job->trace != NULL && job->streams != NULL && job->nstreams > 1)
        return cv_fail(err, CLEAVE_EINPUT, "expected one stream to trace, got %u",
                       job->nstreams);
    return CLEAVE_OK;
}

/* Every worker exists and serves one stream at most. */
static enum cleave_status check_streams(const struct cleave_stream_job *job,
                                        struct cv_arena *arena, struct cleave_error *err)
{
    const uint32_t n = cleave_platform_nworkers(job->platform);
    bool *taken = cv_array(arena, n, sizeof *taken);

    if (taken == NULL)
        return cv_fail_memory(err, "the workers of the streams");
    if (job->nstreams == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more streams, got 0");
    for (uint32_t s = 0; s < job->nstreams; s++) {
        if (job->streams[s].nworkers == 0)
            return cv_fail(err, CLEAVE_EINPUT, "stream %u has no workers", s);
        for (uint32_t i = 0; i < job->streams[s].nworkers; i++) {
            const uint32_t w = job->streams[s].workers[i];

            if (w >= n)
                return cv_fail(err, CLEAVE_EINPUT,
                               "stream %u: expected workers below %u, got %u", s, n, w);
            if (taken[w])
                return cv_fail(err, CLEAVE_EINPUT, "worker '%s' serves two streams",
                               cleave_platform_worker_name(job->platform, w));
            taken[w] = true;
        }
    }
    return CLEAVE_OK;
}

/* --- one stream --------------------------------------------------------------------- */

/* The platform of one master; it has the groups, and so the profiles, of the whole
 * platform. */
static enum cleave_status view_platform(struct stream_case *stream,
                                        struct cleave_error *err)
{
    const struct cleave_platform *whole = stream->job->platform;
    const double factor =
        stream->job->declared_factor > 0 ? stream->job->declared_factor : 1;
    struct cleave_platform *own = &stream->platform;

    *own = *whole;
    own->nworkers = stream->n;
    if (!CV_NEW(&stream->arena, own->workers, stream->n) ||
        !CV_NEW(&stream->arena, own->names, stream->n) ||
        !CV_NEW(&stream->arena, stream->declared, stream->n) ||
        (whole->group_of != NULL && !CV_NEW(&stream->arena, own->group_of, stream->n)))
        return cv_fail_memory(err, "the workers of a stream");
    for (uint32_t i = 0; i < stream->n; i++) {
        const uint32_t w = stream->members != NULL ? stream->members[i] : i;

        own->workers[i] = stream->declared[i] = whole->workers[w];
        own->names[i] = whole->names[w];
        if (whole->group_of != NULL)
            own->group_of[i] = whole->group_of[w];
        stream->declared[i].speed_ups *= factor;
        stream->rows[i] =
            (struct cleave_stream_worker){ .worker = w, .stream = stream->number };
    }
    return CLEAVE_OK;
}

static double declared_speed(const struct stream_case *stream)
{
    double sum = 0;

    for (uint32_t i = 0; i < stream->n; i++)
        sum += stream->declared[i].speed_ups;
    return sum;
}

static enum cleave_status run_stream(struct stream_case *stream, struct cleave_error *err)
{
    const struct cleave_stream_job *job = stream->job;
    const bool window = job->window_to_s > 0;
    struct cv_stream_run run = { .platform = &stream->platform,
                                 .settings = job->settings,
                                 .nsettings = job->nsettings,
                                 .horizon_s = job->horizon_s,
                                 .result_ratio = job->result_ratio,
                                 .watch = &stream->stats.watch,
                                 .simgrid = job->simgrid };

    CV_TRY(view_platform(stream, err));
    run.declared = stream->declared;
    run.rest = job->rest_s * declared_speed(stream);
    CV_TRY(cv_stream_stats_init(&stream->stats, &stream->platform, job->horizon_s,
                                job->result_ratio, window ? job->window_from_s : 0,
                                window ? job->window_to_s : job->horizon_s,
                                &stream->arena, err));
    CV_TRY(cv_stream_plan(&run, &stream->planned, err));
    CV_TRY(cv_stream_drive(&run, &stream->planned, job->trace, &stream->outcome, err));
    return cv_stream_stats_close(&stream->stats, err);
}

static enum cleave_status run_streams(void *context, unsigned thread, uint64_t begin,
                                      uint64_t end, struct cleave_error *err)
{
    struct stream_case *streams = context;

    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        CV_TRY(run_stream(&streams[i], err));
    return CLEAVE_OK;
}

/* --- the result --------------------------------------------------------------------- */

static enum cleave_status fill_stream(const struct stream_case *stream,
                                      struct cv_arena *arena, struct cleave_error *err)
{
    const struct cv_stream_stats *stats = &stream->stats;
    struct cleave_stream_round *rounds = cv_array(arena, stats->nrounds, sizeof *rounds);
    struct cleave_stream_result *out = stream->out;

    if (rounds == NULL)
        return cv_fail_memory(err, "the rounds of a stream");
    for (size_t i = 0; i < stats->nrounds; i++)
        rounds[i] = stats->rounds[i];
    *out = (struct cleave_stream_result){
        .nworkers = stream->n,
        .end_s = stats->end_s,
        .units_in_time = stats->units_in_time,
        .throughput_ups = stats->units_in_time / stats->horizon_s,
        .window = cv_stream_use(stats, true),
        .whole = cv_stream_use(stats, false),
        .wait_send_s = stats->wait_send_s,
        .wait_return_s = stats->wait_return_s,
        .contentions = stats->contentions,
        .chunks = stream->outcome.chunks,
        .events = stream->outcome.events,
        .rounds = rounds,
        .nrounds = stats->nrounds,
    };
    for (uint32_t i = 0; i < stream->n; i++) {
        const struct cv_stream_worker_stats *own = &stats->workers[i];
        struct cleave_stream_worker *row = &stream->rows[i];

        row->rounds = own->rounds;
        row->units = own->units;
        row->useful_s = own->useful_s;
        row->busy_s = own->busy_s;
        row->idle_s = own->idle_s;
        row->end_s = own->end_s;
        row->last_load = own->last_load;
        out->members += own->rounds > 0;
        out->idle_s += own->idle_s;
    }
    for (const struct cv_left_out *note = stream->planned.notes.left_out; note != NULL;
         note = note->next) {
        stream->rows[note->worker].left_out = cv_arena_text(arena, note->reason);
        if (stream->rows[note->worker].left_out == NULL)
            return cv_fail_memory(err, "the workers left out");
    }
    return CLEAVE_OK;
}

static void add_use(struct cleave_stream_use *sum, const struct cleave_stream_use *use,
                    uint32_t members)
{
    sum->units += use->units;
    sum->throughput_ups += use->throughput_ups;
    sum->useful += use->useful * members;
    sum->busy += use->busy * members;
}

static void sum_streams(struct owned_result *owned)
{
    struct cleave_streams_result *sum = &owned->result;
    uint32_t members = 0;

    for (uint32_t s = 0; s < sum->nstreams; s++) {
        const struct cleave_stream_result *stream = &sum->streams[s];

        sum->throughput_ups += stream->throughput_ups;
        add_use(&sum->window, &stream->window, stream->members);
        add_use(&sum->whole, &stream->whole, stream->members);
        sum->end_s = fmax(sum->end_s, stream->end_s);
        sum->contentions += stream->contentions;
        members += stream->members;
    }
    if (members > 0) {
        sum->window.useful /= members;
        sum->window.busy /= members;
        sum->whole.useful /= members;
        sum->whole.busy /= members;
    }
}

static enum cleave_status simulate(const struct cleave_stream_job *job,
                                   struct stream_case *cases, struct owned_result *owned,
                                   struct cleave_error *err)
{
    const struct cv_parallel loop = { .count = job->nstreams,
                                      .block = 1,
                                      .threads = job->threads,
                                      .body = run_streams,
                                      .context = cases };
    uint32_t first = 0;

    for (uint32_t s = 0; s < job->nstreams; s++) {
        cases[s].job = job;
        cases[s].number = s;
        cases[s].members = job->streams[s].workers;
        cases[s].n = job->streams[s].nworkers;
        cases[s].rows = &owned->workers[first];
        cases[s].out = &owned->streams[s];
        first += cases[s].n;
    }
    CV_TRY(cv_parallel_run(&loop, err));
    for (uint32_t s = 0; s < job->nstreams; s++)
        CV_TRY(fill_stream(&cases[s], &owned->arena, err));
    owned->result.streams = owned->streams;
    owned->result.nstreams = job->nstreams;
    owned->result.workers = owned->workers;
    owned->result.nworkers = first;
    sum_streams(owned);
    return CLEAVE_OK;
}

static enum cleave_status simulate_cases(const struct cleave_stream_job *job,
                                         struct owned_result *owned,
                                         struct cleave_error *err)
{
    struct stream_case *cases;
    enum cleave_status status;
    size_t nworkers = 0;

    for (uint32_t s = 0; s < job->nstreams; s++)
        nworkers += job->streams[s].nworkers;
    owned->streams = cv_array(&owned->arena, job->nstreams, sizeof *owned->streams);
    owned->workers = cv_array(&owned->arena, nworkers, sizeof *owned->workers);
    cases = calloc(job->nstreams, sizeof *cases);
    if (owned->streams == NULL || owned->workers == NULL || cases == NULL) {
        free(cases);
        return cv_fail_memory(err, "the streams");
    }
    for (uint32_t s = 0; s < job->nstreams; s++) {
        cv_arena_init(&cases[s].arena);
        cv_arena_init(&cases[s].planned.arena);
    }
    status = simulate(job, cases, owned, err);
    for (uint32_t s = 0; s < job->nstreams; s++) {
        cv_stream_stats_done(&cases[s].stats);
        cv_planned_done(&cases[s].planned);
        cv_arena_done(&cases[s].arena);
    }
    free(cases);
    return status;
}

enum cleave_status cleave_simulate_streams(const struct cleave_stream_job *job,
                                           struct cleave_streams_result **out,
                                           struct cleave_error *err)
{
    struct cleave_stream all = { .workers = NULL };
    struct owned_result *owned;
    struct cleave_stream_job filled;
    enum cleave_status status;

    CV_TRY(cv_check_stream_job(job, err));
    CV_EXPECT_POINTER(out, err, "out");
    owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return cv_fail_memory(err, "the streams");
    filled = *job;
    all.nworkers = cleave_platform_nworkers(job->platform);
    cv_arena_init(&owned->arena);
    status = check_numbers(job, err);
    if (status == CLEAVE_OK && job->streams != NULL)
        status = check_streams(job, &owned->arena, err);
    if (job->streams == NULL) {
        filled.streams = &all;
        filled.nstreams = 1;
    }
    CV_THEN(status, simulate_cases(&filled, owned, err));
    if (status != CLEAVE_OK) {
        cleave_streams_result_free(&owned->result);
        return status;
    }
    *out = &owned->result;
    return CLEAVE_OK;
}

void cleave_streams_result_free(struct cleave_streams_result *result)
{
    struct owned_result *owned = (struct owned_result *)result;

    if (owned == NULL)
        return;
    cv_arena_done(&owned->arena);
    free(owned);
}
