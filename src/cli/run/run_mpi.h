/* run_mpi.h -- cleave run among the ranks of an MPI job. SPDX-License-Identifier: MIT
 *
 * mpirun starts every rank with the same words, or else none of them goes on. Rank 0 is the master; the others serve it
 * as workers and end with it. */
#ifndef CV_RUN_MPI_H
#define CV_RUN_MPI_H
#include "cli/common/verb.h"
#include "cli/run/run_options.h"
#include "engine/mpi_bridge.h"

struct cv_run_mpi {
    void *module;                            /* owned; NULL: there is no MPI            */
    const struct cv_mpi_bridge_calls *calls; /* of the module                           */
    struct cv_mpi_bridge *bridge;            /* owned                                   */
    struct cv_guard
        *guard; /* owned: ends the commands of this rank if it is killed; NULL */
};

/* Load the library for the MPI that has started this process, or for `library` ("openmpi"
 * or "mpich") if that is not NULL, and join the others, who must have the same words.
 * Returns an exit status; what is wrong has been told, by rank 0. Without a bridge, there
 * is nothing to do here: rank 0 has ended the job. */
int cv_run_mpi_open(const struct cv_call *call, const char *library,
                    struct cv_run_mpi *out);
/* The words of this process are wrong: if it is a rank, the others should not wait for it. */
void cv_run_mpi_refused(int count, char *const *words, int status);
/* Not rank 0: work for it until it ends. A rank that leads others (--leaders) does so by a run
 * of its own on their processors, and they wait. */
int cv_run_mpi_serve(const struct cv_run_mpi *mpi, const struct cv_call *call);
/* Rank 0: the other ranks are the workers; with --leaders, those that lead. */
int cv_run_mpi_crew(const struct cv_run_mpi *mpi, const char *leaders,
                    struct cv_arena *arena, struct cv_worker_list *out);
/* End together with the others; `status` is what the run came to, or what has gone wrong
 * here. */
int cv_run_mpi_close(struct cv_run_mpi *mpi, int status);

#endif
