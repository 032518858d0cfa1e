/* common_clock.c -- how far the clocks of two ranks are apart. SPDX-License-Identifier: MIT
 *
 * MPI_Wtime counts from a moment of each process's own, so the clock of the system is
 * read. Ranks on one node have the same. Elsewhere a rank asks the one above it in a
 * binomial tree a few times; the quickest answer tells the difference to within half of
 * what it took, and differences add up on the way to rank 0. */
#include "mpi/reduce/chooser.h"

#include <time.h>

#include "mpi/reduce/comm_state.h"
#include "mpi/memory/mpi_try.h"

enum { TIMES = 4 };

double cv_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int answer(MPI_Comm comm, int child)
{
    for (int i = 0; i < TIMES; i++) {
        double now;

        CV_MPI_TRY(
            PMPI_Recv(&now, 1, MPI_DOUBLE, child, CV_TAG_PING, comm, MPI_STATUS_IGNORE));
        now = cv_clock_s();
        CV_MPI_TRY(PMPI_Send(&now, 1, MPI_DOUBLE, child, CV_TAG_PING, comm));
    }
    return MPI_SUCCESS;
}

static int ask(MPI_Comm comm, int parent, double *out_s)
{
    double best = 0;

    for (int i = 0; i < TIMES; i++) {
        double sent = cv_clock_s(), theirs, took;

        CV_MPI_TRY(PMPI_Send(&sent, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm));
        CV_MPI_TRY(PMPI_Recv(&theirs, 1, MPI_DOUBLE, parent, CV_TAG_PING, comm,
                             MPI_STATUS_IGNORE));
        took = cv_clock_s() - sent;
        if (i == 0 || took < best) {
            best = took;
            *out_s = theirs - (sent + took / 2);
        }
    }
    return MPI_SUCCESS;
}

/* Rank r is below r with its lowest bit cleared. */
static int walk(MPI_Comm comm, int rank, int size, double *offset)
{
    int lowest = rank & -rank;

    if (rank > 0) {
        double above;

        CV_MPI_TRY(ask(comm, rank - lowest, offset));
        CV_MPI_TRY(PMPI_Recv(&above, 1, MPI_DOUBLE, rank - lowest, CV_TAG_PING, comm,
                             MPI_STATUS_IGNORE));
        *offset += above;
    }
    for (int bit = 1; (rank == 0 || bit < lowest) && bit < size - rank; bit *= 2) {
        CV_MPI_TRY(answer(comm, rank + bit));
        CV_MPI_TRY(PMPI_Send(offset, 1, MPI_DOUBLE, rank + bit, CV_TAG_PING, comm));
    }
    return MPI_SUCCESS;
}

int cv_clock_offset(MPI_Comm comm, double *out_s, bool *out_apart)
{
    MPI_Comm node;
    int rank, size, here = 0, apart, any;
    double offset = 0;

    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    /* Where no communicator is left to ask with, messages are right in any case. */
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
        CV_MPI_TRY(PMPI_Comm_size(node, &here));
        CV_MPI_TRY(PMPI_Comm_free(&node));
    }
    apart = here < size;
    CV_MPI_TRY(PMPI_Allreduce(&apart, &any, 1, MPI_INT, MPI_MAX, comm));
    if (any)
        CV_MPI_TRY(walk(comm, rank, size, &offset));
    *out_s = offset;
    *out_apart = any != 0;
    return MPI_SUCCESS;
}
