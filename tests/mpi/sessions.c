/* sessions.c -- an MPI program with sessions, without calls of cleave, for the preload;
 * and, with BY_CLEAVE, one that reduces by calls of cleave. SPDX-License-Identifier: MIT
 *
 * Usage: sessions [both]. Communicators of a session work before the world exists
 * (MPI_Init), with `both` next to a world and after it. Exit status 77: this MPI has
 * none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BY_CLEAVE
#include <cleave/mpi.h>

/* In an order that is given, whatever the operator. */
#define REDUCE(...) cleave_mpi_reduce(__VA_ARGS__, "ordered-tree-dyn")
#define REDUCE_ALL(...) cleave_mpi_allreduce(__VA_ARGS__, "tree-dyn")
#else
#define REDUCE MPI_Reduce
#define REDUCE_ALL MPI_Allreduce
#endif

#if MPI_VERSION < 4
int main(void)
{
    fprintf(stderr, "sessions: this MPI is older than MPI 4\n");
    return 77;
}
#else

enum { MOST = 20000 };

static long wrong;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const int *left = in;
    int *right = inout;

    (void)type;
    for (int i = 0; i < *count; i++)
        right[i] += left[i];
}

static void check(const int *got, int count, int ranks)
{
    for (int i = 0; i < count; i++)
        if (got[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7))
            wrong++;
}

/* Short and long vectors, in place and not, by an operator of MPI and a user-defined
 * one. */
static void reduce(MPI_Comm comm)
{
    static const int counts[] = { 0, 1, 1000, MOST };
    static int own[MOST], sum[MOST];
    int rank, ranks;
    MPI_Op ours;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Op_create(add, 1, &ours);
    for (int k = 0; k < 12; k++) {
        const int count = counts[k % 4], root = k % ranks;
        const MPI_Op op = k % 3 == 0 ? ours : MPI_SUM;

        for (int i = 0; i < count; i++)
            own[i] = rank + i % 7;
        memset(sum, 0, sizeof sum);
        REDUCE(own, sum, count, MPI_INT, op, root, comm);
        if (rank == root)
            check(sum, count, ranks);
        memcpy(sum, own, sizeof sum);
        REDUCE_ALL(MPI_IN_PLACE, sum, count, MPI_INT, op, comm);
        check(sum, count, ranks);
    }
    MPI_Op_free(&ours);
}

int main(int argc, char **argv)
{
    const int both = argc > 1 && strcmp(argv[1], "both") == 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, copy;
    long all = 0;
    int rank;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "cleave.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    MPI_Comm_rank(comm, &rank);
    reduce(comm);
    if (both) {
        MPI_Init(&argc, &argv);
        reduce(MPI_COMM_WORLD);
        MPI_Comm_dup(comm, &copy);
        reduce(copy);
        reduce(comm);
        MPI_Comm_free(&copy);
        MPI_Finalize();
        reduce(comm);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, comm);
    if (rank == 0)
        printf("%ld wrong\n", all);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return wrong == 0 ? 0 : 1;
}
#endif
