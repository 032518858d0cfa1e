/* map_reduce.c -- share a divisible job among the ranks of an MPI program: the public call.
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_internal.h"

static enum cleave_status run(const struct cleave_mpi_map *map, MPI_Comm comm,
                              struct cleave_mpi_result *out, struct cleave_error *err)
{
    struct cv_map_tasks *tasks;
    enum cleave_status status;
    int rank, size, level;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1)
        return cv_map_alone(map, out, err);
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
    /* Messages of its own, whatever else the program has under way. */
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
