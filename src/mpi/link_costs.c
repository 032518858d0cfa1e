/* link_costs.c -- what transfers and combinations take, measured and agreed on.
 * SPDX-License-Identifier: MIT
 *
 * A few messages to and fro between rank 2k and 2k + 1 give latency and bandwidth, a sum of
 * doubles the cost of combining; the slowest counts. What the operator in use takes is
 * noted in reductions 1, 2, 4, 8, ... and agreed on by an MPI_Iallreduce that is waited
 * for in the next one, so that all ranks change their mind in the same call. */
#include "mpi/tree_plan.h"

#include <stdlib.h>

#include "mpi/team.h"
#include "mpi/mpi_try.h"

enum { SMALL = 8, LARGE = 65536, TIMES = 8 };

/* The mean time of a message of `bytes` one way. Not the least one: where ranks share a
 * processor it takes turns, and these must count. */
static int ping(MPI_Comm comm, int rank, int peer, char *buffer, int bytes, double *out_s)
{
    double since = 0;

    for (int i = 0; i <= TIMES; i++) {
        if (i == 1)
            since = PMPI_Wtime(); /* the first one makes the connection */
        if (rank < peer) {
            CV_MPI_TRY(PMPI_Send(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm));
            CV_MPI_TRY(PMPI_Recv(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm,
                                 MPI_STATUS_IGNORE));
        } else {
            CV_MPI_TRY(PMPI_Recv(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm,
                                 MPI_STATUS_IGNORE));
            CV_MPI_TRY(PMPI_Send(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm));
        }
    }
    *out_s = (PMPI_Wtime() - since) / (2 * TIMES);
    return MPI_SUCCESS;
}

static double combine_time(char *buffer)
{
    enum { DOUBLES = LARGE / 2 / sizeof(double) };
    double best = 0;

    for (int i = 0; i < TIMES; i++) {
        double since = PMPI_Wtime(), took;

        PMPI_Reduce_local(buffer, buffer + LARGE / 2, DOUBLES, MPI_DOUBLE, MPI_SUM);
        took = PMPI_Wtime() - since;
        if (i == 0 || took < best)
            best = took;
    }
    return best / (DOUBLES * sizeof(double));
}

int cv_link_costs_measure(struct cv_link_costs *costs, MPI_Comm comm)
{
    double mine[3] = { 0, 0, 0 }, all[3];
    char *buffer;
    int rank, size, peer, code = MPI_SUCCESS;

    if (costs->known)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    peer = rank ^ 1;
    buffer = calloc(LARGE, 1);
    if (buffer == NULL)
        return MPI_ERR_NO_MEM;
    if (peer < size) {
        code = ping(comm, rank, peer, buffer, SMALL, &mine[0]);
        if (code == MPI_SUCCESS)
            code = ping(comm, rank, peer, buffer, LARGE, &mine[1]);
    }
    mine[2] = combine_time(buffer);
    free(buffer);
    if (code == MPI_SUCCESS)
        code = PMPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, comm);
    if (code != MPI_SUCCESS)
        return code;
    costs->latency_s = all[0];
    costs->byte_s = all[1] > all[0] ? (all[1] - all[0]) / (LARGE - SMALL) : 0;
    costs->combine_byte_s = all[2];
    costs->known = true;
    return MPI_SUCCESS;
}

int cv_link_costs_note(struct cv_link_costs *costs, MPI_Comm comm, double seconds,
                       double bytes)
{
    costs->calls++;
    if ((costs->calls & (costs->calls - 1)) != 0)
        return MPI_SUCCESS;
    costs->mine[0] = seconds;
    costs->mine[1] = bytes;
    return PMPI_Iallreduce(costs->mine, costs->all, 2, MPI_DOUBLE, MPI_SUM, comm,
                           &costs->agreeing);
}

int cv_link_costs_settle(struct cv_link_costs *costs)
{
    if (costs->agreeing == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Wait(&costs->agreeing, MPI_STATUS_IGNORE));
    if (costs->all[1] > 0)
        costs->combine_byte_s = costs->all[0] / costs->all[1];
    return MPI_SUCCESS;
}
