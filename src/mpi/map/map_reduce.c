/* map_reduce.c -- cleave_mpi_map_reduce, and its work on a communicator of one rank.
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_messages.h"

enum { CHUNKS = 64, LEVELS = 8 };

/* Partials of 2^level equal chunks, combined as in a binary counter: in order, and each
 * at most log2(chunks) times. */
struct counter {
    struct cleave_mpi_buffer levels[LEVELS];
    bool full[LEVELS];
};

static enum cleave_status combine(const struct cleave_mpi_map *map,
                                  struct cleave_mpi_buffer *left,
                                  struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_result *out, struct cleave_error *err)
{
    struct cleave_mpi_buffer made = { 0 };
    enum cleave_status status = CV_MAP_CALL(map, combine, err, left, right, &made);

    if (status != CLEAVE_OK) {
        cv_map_buffer_done(&made);
        return status;
    }
    out->combinations++;
    cv_map_buffer_done(left);
    cv_map_buffer_done(right);
    *right = made;
    return CLEAVE_OK;
}

/* Combine the partial with all full levels up to the first empty one. */
static enum cleave_status count(const struct cleave_mpi_map *map, struct counter *counter,
                                struct cleave_mpi_buffer *partial,
                                struct cleave_mpi_result *out, struct cleave_error *err)
{
    unsigned level = 0;

    for (; counter->full[level]; level++) {
        CV_TRY(combine(map, &counter->levels[level], partial, out, err));
        counter->full[level] = false;
    }
    counter->levels[level] = *partial;
    counter->full[level] = true;
    *partial = (struct cleave_mpi_buffer){ 0 };
    return CLEAVE_OK;
}

static enum cleave_status one_chunk(const struct cleave_mpi_map *map, uint64_t begin,
                                    uint64_t end, struct counter *counter,
                                    struct cleave_mpi_result *out,
                                    struct cleave_error *err)
{
    struct cleave_mpi_buffer input = { 0 }, partial = { 0 };
    enum cleave_status status = CLEAVE_OK;

    if (map->pack != NULL)
        status = CV_MAP_CALL(map, pack, err, begin, end, &input);
    if (status == CLEAVE_OK)
        status = CV_MAP_CALL(map, compute, err, begin, end, &input, &partial);
    cv_map_buffer_done(&input);
    if (status == CLEAVE_OK)
        status = map->combine != NULL
                     ? count(map, counter, &partial, out, err)
                     : CV_MAP_CALL(map, collect, err, begin, end, &partial);
    out->chunks += status == CLEAVE_OK;
    cv_map_buffer_done(&partial);
    return status;
}

static enum cleave_status sum_up(const struct cleave_mpi_map *map,
                                 struct counter *counter, struct cleave_mpi_result *out,
                                 struct cleave_error *err)
{
    bool any = false;

    for (unsigned level = 0; level < LEVELS; level++) {
        struct cleave_mpi_buffer *buffer = &counter->levels[level];

        if (!counter->full[level])
            continue;
        if (any)
            CV_TRY(combine(map, buffer, &out->value, out, err));
        else
            out->value = *buffer;
        any = true;
        *buffer = (struct cleave_mpi_buffer){ 0 };
    }
    return CLEAVE_OK;
}

static enum cleave_status map_alone(const struct cleave_mpi_map *map,
                                    struct cleave_mpi_result *out,
                                    struct cleave_error *err)
{
    struct cleave_mpi_result result = { 0 };
    struct counter counter = { 0 };
    enum cleave_status status = CLEAVE_OK;
    uint64_t size = map->units / CHUNKS + 1;

    if (map->compute == NULL || (map->combine == NULL && map->collect == NULL))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'compute', and 'combine' or 'collect'");
    for (uint64_t begin = 0; begin < map->units && status == CLEAVE_OK; begin += size)
        status =
            one_chunk(map, begin, map->units - begin < size ? map->units : begin + size,
                      &counter, &result, err);
    if (status == CLEAVE_OK)
        status = sum_up(map, &counter, &result, err);
    for (unsigned level = 0; level < LEVELS; level++)
        cv_map_buffer_done(&counter.levels[level]);
    if (status == CLEAVE_OK)
        *out = result;
    else
        cv_map_buffer_done(&result.value);
    return status;
}

/* --- share a divisible job among the ranks of an MPI program: the public call ------- */

static enum cleave_status run(const struct cleave_mpi_map *map, MPI_Comm comm,
                              struct cleave_mpi_result *out, struct cleave_error *err)
{
    struct cv_map_tasks *tasks;
    enum cleave_status status;
    int rank, size, level;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1)
        return map_alone(map, out, err);
    MPI_Query_thread(&level);
    CV_TRY(cv_map_tasks_new(level >= MPI_THREAD_FUNNELED, &tasks, err));
    status = rank == 0 ? cv_map_lead(map, comm, tasks, out, err)
                       : cv_map_work(map, comm, tasks, err);
    cv_map_tasks_free(tasks);
    return status;
}

__attribute__((visibility("default"))) enum cleave_status
cleave_mpi_map_reduce(const struct cleave_mpi_map *map, MPI_Comm comm,
                      struct cleave_mpi_result *out, struct cleave_error *err)
{
    const double began_s = cv_idle_wait_clock_s();
    struct cleave_error ignored;
    struct cleave_mpi_result result = { 0 };
    enum cleave_status status;
    MPI_Comm own;
    int inter;

    if (err == NULL)
        err = &ignored;
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return cv_fail(err, CLEAVE_EINPUT, "expected an intra-communicator");
    /* Separate messages from those of the program. */
    if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS)
        return cv_fail(err, CLEAVE_EENGINE, "MPI could not duplicate the communicator");
    status = run(map, own, &result, err);
    MPI_Comm_free(&own);
    if (status != CLEAVE_OK)
        return status;
    result.seconds = cv_idle_wait_clock_s() - began_s;
    if (out != NULL)
        *out = result;
    else
        cv_map_buffer_done(&result.value);
    return CLEAVE_OK;
}

__attribute__((visibility("default"))) void
cleave_mpi_result_done(struct cleave_mpi_result *result)
{
    if (result != NULL)
        cv_map_buffer_done(&result->value);
}
