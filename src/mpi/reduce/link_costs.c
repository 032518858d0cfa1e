/* link_costs.c -- what transfers and combinations take, measured and agreed on.
 * SPDX-License-Identifier: MIT
 *
 * A few messages to and fro between rank 2k and 2k + 1 give latency and bandwidth, a sum of
 * doubles the cost of combining; the slowest counts. What the operator in use takes is
 * noted in reductions 1, 2, 4, 8, ... and agreed on by an MPI_Iallreduce that the
 * next one waits for, so that all ranks change their mind in the same call. */
#include "mpi/reduce/tree_plan.h"

#include <sched.h>
#include <stdlib.h>

#include "mpi/reduce/team.h"
#include "mpi/reduce/mpi_try.h"

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

/* Whether there are fewer processors on this node than ranks: of all that one of them may
 * run on. */
static int is_crowded(MPI_Comm comm, double *out)
{
    cpu_set_t mine, all;
    MPI_Comm node;
    int here;

    CV_MPI_TRY(PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CV_MPI_TRY(PMPI_Comm_size(node, &here));
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    CV_MPI_TRY(PMPI_Allreduce(&mine, &all, sizeof all, MPI_BYTE, MPI_BOR, node));
    *out = CPU_COUNT(&all) > 0 && CPU_COUNT(&all) < here;
    return PMPI_Comm_free(&node);
}

int cv_link_costs_measure(struct cv_link_costs *costs, MPI_Comm comm)
{
    double mine[4] = { 0, 0, 0, 0 }, all[4];
    char *buffer;
    int rank, size, peer, code = MPI_SUCCESS;

    if (costs->known)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    peer = rank ^ 1;
    CV_MPI_TRY(is_crowded(comm, &mine[3]));
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
        code = PMPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_MAX, comm);
    if (code != MPI_SUCCESS)
        return code;
    costs->latency_s = all[0];
    costs->byte_s = all[1] > all[0] ? (all[1] - all[0]) / (LARGE - SMALL) : 0;
    costs->combine_byte_s = all[2];
    costs->crowded = all[3] > 0;
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

void cv_link_costs_settle(struct cv_link_costs *costs)
{
    if (costs->all[1] > 0)
        costs->combine_byte_s = costs->all[0] / costs->all[1];
}
