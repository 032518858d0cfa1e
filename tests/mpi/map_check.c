/* map_check.c -- a job shared among MPI ranks has the expected result, or fails on all
 * ranks. SPDX-License-Identifier: MIT
 *
 * Run by mpirun; `map_check single` does without threads. Prints the error on stderr and
 * ends all ranks. */
#include <cleave/mpi_map.h>
#include <cleave/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int world_rank;

static void check(bool holds, const char *text, const char *more)
{
    if (holds)
        return;
    fprintf(stderr, "map_check: rank %d: %s: %s\n", world_rank, text, more);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Settings of the callbacks. */
struct job {
    uint64_t units;
    bool slow;          /* every chunk takes a different time */
    size_t heavy;       /* bytes that are packed per unit                              */
    const char *fails;  /* the callback that does, at the middle unit                  */
    bool silent;        /* without a word why                                          */
    uint64_t collected; /* the unit that comes next                                    */
    uint64_t sum;
};

static void pause_for(uint64_t begin)
{
    const struct timespec time = { 0, (long)(begin * 7919 % 13 * 50000) };

    nanosleep(&time, NULL);
}

static enum cleave_status fail_in(const struct job *job, const char *name, uint64_t begin,
                                  uint64_t end, struct cleave_error *err)
{
    if (job->fails == NULL || strcmp(job->fails, name) != 0 || job->units / 2 < begin ||
        job->units / 2 >= end)
        return CLEAVE_OK;
    if (!job->silent)
        snprintf(err->text, sizeof err->text, "unit %llu is bad",
                 (unsigned long long)(job->units / 2));
    return CLEAVE_EINPUT;
}

static unsigned char data_of(uint64_t unit, size_t at)
{
    return (unsigned char)(unit * 31 + at * 7 + at / 256);
}

static enum cleave_status pack(void *context, uint64_t begin, uint64_t end,
                               struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    const struct job *job = context;
    unsigned char *bytes =
        cleave_mpi_buffer_resize(out, (size_t)(end - begin) * job->heavy);

    for (uint64_t u = begin; u < end; u++)
        for (size_t i = 0; i < job->heavy; i++)
            *bytes++ = data_of(u, i);
    return fail_in(job, "pack", begin, end, err);
}

static void check_input(const struct job *job, uint64_t begin, uint64_t end,
                        const struct cleave_mpi_buffer *input)
{
    const unsigned char *bytes = input->bytes;

    check(input->size == (size_t)(end - begin) * job->heavy, "input", "wrong size");
    for (uint64_t u = begin; u < end; u++)
        for (size_t i = 0; i < job->heavy; i++)
            check(*bytes++ == data_of(u, i), "input", "wrong byte");
}

/* "12 13 14 ": units as text, so that the order shows. */
static enum cleave_status write_units(void *context, uint64_t begin, uint64_t end,
                                      const struct cleave_mpi_buffer *input,
                                      struct cleave_mpi_buffer *out,
                                      struct cleave_error *err)
{
    const struct job *job = context;

    check_input(job, begin, end, input);
    for (uint64_t u = begin; u < end; u++) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%llu ", (unsigned long long)u);
        const size_t before = out->size;
        char *at = cleave_mpi_buffer_resize(out, before + (size_t)length);

        memcpy(at + before, text, (size_t)length);
    }
    if (job->slow)
        pause_for(begin);
    return fail_in(job, "compute", begin, end, err);
}

static enum cleave_status join(void *context, const struct cleave_mpi_buffer *left,
                               const struct cleave_mpi_buffer *right,
                               struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    const struct job *job = context;
    char *at = cleave_mpi_buffer_resize(out, left->size + right->size);

    if (left->size > 0)
        memcpy(at, left->bytes, left->size);
    if (right->size > 0)
        memcpy(at + left->size, right->bytes, right->size);
    return fail_in(job, "combine", 0, UINT64_MAX, err);
}

static enum cleave_status sum_units(void *context, uint64_t begin, uint64_t end,
                                    const struct cleave_mpi_buffer *input,
                                    struct cleave_mpi_buffer *out,
                                    struct cleave_error *err)
{
    const struct job *job = context;
    uint64_t *sum = cleave_mpi_buffer_resize(out, sizeof *sum);

    (void)input;
    (void)err;
    *sum = 0;
    for (uint64_t u = begin; u < end; u++)
        *sum += u * u;
    if (job->slow)
        pause_for(begin);
    return CLEAVE_OK;
}

static enum cleave_status add(void *context, const struct cleave_mpi_buffer *left,
                              const struct cleave_mpi_buffer *right,
                              struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    uint64_t *sum = cleave_mpi_buffer_resize(out, sizeof *sum);

    (void)context;
    (void)err;
    *sum = *(const uint64_t *)left->bytes + *(const uint64_t *)right->bytes;
    return CLEAVE_OK;
}

static enum cleave_status collect(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err)
{
    struct job *job = context;
    const char *at = partial->bytes;

    check(job->collected == begin, "collect", "not in order");
    job->collected = end;
    for (uint64_t u = begin; u < end; u++) {
        char *rest;

        check(strtoull(at, &rest, 10) == u, "collect", "another unit");
        at = rest + 1;
    }
    check(at == (const char *)partial->bytes + partial->size, "collect", "wrong size");
    return fail_in(job, "collect", begin, end, err);
}

static enum cleave_status collect_sum(void *context, uint64_t begin, uint64_t end,
                                      const struct cleave_mpi_buffer *partial,
                                      struct cleave_error *err)
{
    struct job *job = context;

    (void)err;
    job->collected += end - begin;
    job->sum += *(const uint64_t *)partial->bytes;
    return CLEAVE_OK;
}

/* --- what should come of it --------------------------------------------------------------- */

static enum cleave_status run(struct cleave_mpi_map map, struct job *job, MPI_Comm comm,
                              struct cleave_mpi_result *out, struct cleave_error *err)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    map.context = job;
    map.units = job->units;
    if (rank != 0) { /* values that other ranks must not read */
        map.units = 77;
        map.pack = NULL;
        map.policy = "no such policy";
    }
    return cleave_mpi_map_reduce(&map, comm, out, err);
}

static void check_text(const struct cleave_mpi_result *result, uint64_t units)
{
    const char *at = result->value.bytes;

    for (uint64_t u = 0; u < units; u++) {
        char *rest;

        check(at < (const char *)result->value.bytes + result->value.size, "text",
              "too short");
        check(strtoull(at, &rest, 10) == u, "text", "not in order");
        at = rest + 1;
    }
    check(units == 0 ? result->value.size == 0
                     : at == (const char *)result->value.bytes + result->value.size,
          "text", "wrong size");
}

static void text_case(MPI_Comm comm, uint64_t units, size_t heavy, bool slow,
                      const char *policy)
{
    struct job job = { .units = units, .heavy = heavy, .slow = slow };
    const struct cleave_mpi_map map = { .compute = write_units,
                                        .combine = join,
                                        .pack = heavy > 0 ? pack : NULL,
                                        .policy = policy };
    struct cleave_mpi_result result = { 0 };
    struct cleave_error err;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    check(run(map, &job, comm, &result, &err) == CLEAVE_OK, policy, err.text);
    if (rank == 0) {
        check_text(&result, units);
        check(units == 0 || result.combinations == result.chunks - 1, policy,
              "combinations");
        check(size == 1 || result.master_bytes == units * heavy + result.value.size,
              policy, "partials went through rank 0");
    }
    cleave_mpi_result_done(&result);
}

static void sum_case(MPI_Comm comm, uint64_t units, bool slow)
{
    struct job job = { .units = units, .slow = slow };
    const struct cleave_mpi_map map = { .compute = sum_units,
                                        .combine = add,
                                        .commutative = true };
    struct cleave_mpi_result result = { 0 };
    struct cleave_error err;
    uint64_t sum = 0;
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (uint64_t u = 0; u < units; u++)
        sum += u * u;
    check(run(map, &job, comm, &result, &err) == CLEAVE_OK, "sum", err.text);
    if (rank == 0)
        check(*(const uint64_t *)result.value.bytes == sum, "sum", "is another one");
    cleave_mpi_result_done(&result);
}

static void collect_case(MPI_Comm comm, uint64_t units, bool commutative)
{
    struct job job = { .units = units, .slow = true };
    const struct cleave_mpi_map map = { .compute = commutative ? sum_units : write_units,
                                        .collect = commutative ? collect_sum : collect,
                                        .commutative = commutative };
    struct cleave_error err;
    int rank;

    MPI_Comm_rank(comm, &rank);
    check(run(map, &job, comm, NULL, &err) == CLEAVE_OK, "collect", err.text);
    if (rank == 0)
        check(job.collected == units, "collect", "units are missing");
}

/* All ranks fail, with the same words. */
static void check_failure(enum cleave_status status, enum cleave_status expected,
                          const char *name, const char *says, struct cleave_error *err)
{
    char first[sizeof err->text];

    check(status == expected && err->status == expected, name, "another status");
    check(strstr(err->text, says) != NULL, name, err->text);
    memcpy(first, err->text, sizeof first);
    first[sizeof first - 1] = '\0';
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    check(strcmp(first, err->text) == 0, name, "not the same on all ranks");
}

static void failure_case(const char *fails, bool silent)
{
    struct job job = {
        .units = 2000, .slow = true, .heavy = 100, .fails = fails, .silent = silent
    };
    struct cleave_mpi_map map = { .compute = write_units, .pack = pack };
    struct cleave_error err = { 0 };
    char says[64];
    enum cleave_status status;

    if (strcmp(fails, "collect") == 0)
        map.collect = collect;
    else
        map.combine = join;
    snprintf(says, sizeof says, silent ? "'%s' failed" : "unit 1000 is bad", fails);
    status = run(map, &job, MPI_COMM_WORLD, NULL, &err);
    check_failure(status, CLEAVE_EINPUT, fails, says, &err);
}

static void mistakes(void)
{
    struct job job = { .units = 100 };
    struct cleave_mpi_map map = { .compute = write_units, .combine = join };
    struct cleave_worker workers[9];
    struct cleave_platform *platform;
    struct cleave_error err = { 0 };

    map.policy = "umrr";
    check_failure(run(map, &job, MPI_COMM_WORLD, NULL, &err), CLEAVE_EINPUT, "policy",
                  "did you mean", &err);
    map.policy = NULL;
    for (int i = 0; i < 9; i++)
        workers[i] = (struct cleave_worker){ .speed_ups = 1,
                                             .bandwidth_ups = 1,
                                             .return_bandwidth_ups = 1 };
    check(cleave_platform_new(CLEAVE_PORT_ONE, workers, 9, &platform, &err) == CLEAVE_OK,
          "platform", err.text);
    map.platform = platform;
    check_failure(run(map, &job, MPI_COMM_WORLD, NULL, &err), CLEAVE_EINPUT, "platform",
                  "expected a platform of", &err);
    cleave_platform_free(platform);
    map.platform = NULL;
    map.combine = NULL;
    check_failure(run(map, &job, MPI_COMM_WORLD, NULL, &err), CLEAVE_EINPUT, "neither",
                  "got neither", &err);
    map.combine = world_rank == 0 ? join : NULL;
    check_failure(run(map, &job, MPI_COMM_WORLD, NULL, &err), CLEAVE_EINPUT, "combine",
                  "on all ranks", &err);
}

/* A platform given, with one port for all: chunks are sent one after the other. */
static void port_case(int size)
{
    struct cleave_worker *workers = calloc((size_t)size, sizeof *workers);
    struct job job = { .units = 500, .heavy = 2000 };
    struct cleave_mpi_map map = {
        .compute = write_units, .combine = join, .pack = pack, .policy = "umr-plus"
    };
    struct cleave_mpi_result result = { 0 };
    struct cleave_platform *platform;
    struct cleave_error err;

    for (int w = 0; w < size - 1; w++)
        workers[w] = (struct cleave_worker){ .speed_ups = 1e5 * (w + 1),
                                             .compute_latency_s = 1e-4,
                                             .bandwidth_ups = 1e6,
                                             .latency_s = 1e-5,
                                             .return_bandwidth_ups = 1e6 };
    check(cleave_platform_new(CLEAVE_PORT_ONE, workers, (uint32_t)size - 1, &platform,
                              &err) == CLEAVE_OK,
          "port", err.text);
    map.platform = platform;
    check(run(map, &job, MPI_COMM_WORLD, &result, &err) == CLEAVE_OK, "port", err.text);
    if (world_rank == 0)
        check_text(&result, job.units);
    cleave_mpi_result_done(&result);
    cleave_platform_free(platform);
    free(workers);
}

/* A fold takes long enough for others to come to its rank meanwhile. */
static enum cleave_status join_slowly(void *context, const struct cleave_mpi_buffer *left,
                                      const struct cleave_mpi_buffer *right,
                                      struct cleave_mpi_buffer *out,
                                      struct cleave_error *err)
{
    const struct timespec time = { 0, 3000000 };

    nanosleep(&time, NULL);
    return join(context, left, right, out, err);
}

/* If folds take much longer than moves, some partial goes ahead at some time; the result
 * is the same. */
static void ahead_case(bool threaded)
{
    const struct cleave_mpi_map map = { .compute = write_units,
                                        .combine = join_slowly,
                                        .policy = "self" };
    uint64_t ahead = 0;

    for (int i = 0; i < (threaded ? 40 : 2) && ahead == 0; i++) {
        struct job job = { .units = 48 + (uint64_t)i };
        struct cleave_mpi_result result = { 0 };
        struct cleave_error err;

        check(run(map, &job, MPI_COMM_WORLD, &result, &err) == CLEAVE_OK, "ahead",
              err.text);
        if (world_rank == 0) {
            check_text(&result, job.units);
            check(result.combinations == result.chunks - 1, "ahead", "combinations");
        }
        ahead = result.ahead;
        cleave_mpi_result_done(&result);
        MPI_Bcast(&ahead, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    }
    check(!threaded || ahead > 0, "ahead", "nothing went ahead");
}

/* The policy gets the time of folds: the first one is made while chunks are computed. */
static void heard_case(void)
{
    struct job job = { .units = 48 };
    struct cleave_mpi_map map = { .compute = write_units,
                                  .combine = join_slowly,
                                  .policy = "self" };
    struct cleave_error err;
    bool heard = false;

    check(cleave_trace_new(&map.trace, &err) == CLEAVE_OK, "heard", err.text);
    check(run(map, &job, MPI_COMM_WORLD, NULL, &err) == CLEAVE_OK, "heard", err.text);
    for (size_t i = 0; i < cleave_trace_count(map.trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(map.trace, i);

        heard |= !entry->is_order && entry->as.event.kind == CLEAVE_DONE &&
                 entry->as.event.fold_s > 0;
    }
    check(world_rank != 0 || heard, "heard", "no chunk says what folds take");
    cleave_trace_free(map.trace);
}

static void all_cases(int size, bool threaded)
{
    static const char *const policies[] = { "learn",     "self", "guided", "factoring",
                                            "umr-plus",  "xmi",  "mi",     "as4dr",
                                            "one-round", "rumr" };
    MPI_Comm half;

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        text_case(MPI_COMM_WORLD, 1500, 0, true, policies[i]);
    text_case(MPI_COMM_WORLD, 0, 0, false, "learn");
    text_case(MPI_COMM_WORLD, 1, 10, false, "learn");
    text_case(MPI_COMM_WORLD, 3, 0, false, "self");
    text_case(MPI_COMM_WORLD, 400, 100000, false, "learn");
    for (int i = 0; i < 20; i++) {
        sum_case(MPI_COMM_WORLD, 1 + 1000u * (unsigned)i, i % 4 == 0);
        text_case(MPI_COMM_WORLD, 50, 3, false, "guided");
    }
    collect_case(MPI_COMM_WORLD, 2000, false);
    collect_case(MPI_COMM_WORLD, 2000, true);
    if (size > 1) {
        failure_case("pack", false);
        failure_case("compute", false);
        failure_case("compute", true);
        failure_case("combine", false);
        failure_case("collect", false);
        mistakes();
        port_case(size);
    }
    if (size > 3) {
        ahead_case(threaded);
        heard_case();
    }
    /* Two at a time, of other sizes, perhaps one of them alone. */
    MPI_Comm_split(MPI_COMM_WORLD, world_rank >= 1 + size / 2, world_rank, &half);
    text_case(half, 1000, 10, true, "learn");
    sum_case(half, 5000, true);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank, 0, &half);
    text_case(half, 1000, 10, false, "learn");
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    const bool single = argc > 1 && strcmp(argv[1], "single") == 0;
    int level, size;

    MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    all_cases(size, !single);
    if (world_rank == 0)
        printf("map: well, %d ranks%s\n", size, single ? ", without threads" : "");
    MPI_Finalize();
    return 0;
}
