/* nonblocking.c -- reductions that continue while ranks compute, several at a time, on
 * several communicators. SPDX-License-Identifier: MIT
 *
 * Usage: nonblocking ROUNDS [SETTINGS]. */
#include "mpi_check.h"

enum { COMMS = 3, EACH = 4, COUNT = 600, LONG = 20000, TAG = 5 };

struct going {
    struct cleave_mpi_request *request;
    double own[COUNT], sum[COUNT];
    int root, n;
};

static void begin(struct going *going, MPI_Comm comm, uint64_t x)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &going->n);
    going->root = (int)(x / 8 % (uint64_t)going->n);
    for (int i = 0; i < COUNT; i++) {
        going->own[i] = rank + i;
        going->sum[i] = -1;
    }
    cleave_mpi_ireduce(going->own, going->sum, COUNT, MPI_DOUBLE, MPI_SUM, going->root,
                       comm, nth_policy(x), &going->request);
}

static void look_at(struct check *check, const struct going *going, MPI_Comm comm)
{
    int rank, n = going->n;
    bool right = true;

    MPI_Comm_rank(comm, &rank);
    CHECK(check, going->request == NULL, "the request is still there");
    for (int i = 0; i < COUNT; i++)
        right = right &&
                going->sum[i] == (rank == going->root ? n * (n - 1) / 2.0 + n * i : -1);
    CHECK(check, right, "%d ranks, root %d", n, going->root);
}

/* Some of each communicator at once; ended by waiting, by testing, in any order. */
static void many(struct check *check, MPI_Comm *comms, struct going *all, uint64_t round)
{
    int left = COMMS * EACH;

    for (int c = 0; c < COMMS; c++)
        for (int k = 0; k < EACH; k++)
            begin(&all[c * EACH + k], comms[c], mixed(round, (uint64_t)c, (uint64_t)k));
    come_late(check->world_rank, round, 300);
    while (left > 0) {
        left = 0;
        for (int i = 0; i < COMMS * EACH; i++) {
            int done = 1;

            if (round % 3 == 0)
                cleave_mpi_wait(&all[(i * 5 + 3) % (COMMS * EACH)].request);
            else
                cleave_mpi_test(&all[i].request, &done);
            left += !done;
        }
    }
    for (int i = 0; i < COMMS * EACH; i++)
        look_at(check, &all[i], comms[i / EACH]);
}

/* A blocking reduction after a nonblocking one that other ranks complete first. Short
 * ones are handed on to the MPI library at once, long ones do not fit into its
 * buffers. */
static void mixed_up(struct check *check, MPI_Comm comm, struct going *going,
                     uint64_t round)
{
    static double own[LONG], sum[LONG];
    int rank, n, count = round % 3 == 0 ? 1 : LONG, root;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    root = (int)(round / 3 % (uint64_t)n);
    for (int i = 0; i < count; i++)
        own[i] = rank + i;
    begin(going, comm, round);
    if (rank % 2 == 0)
        cleave_mpi_wait(&going->request);
    if (round % 5 == 0)
        cleave_mpi_allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, comm,
                             nth_policy(round / 8));
    else
        cleave_mpi_reduce(own, sum, count, MPI_DOUBLE, MPI_SUM, root, comm,
                          nth_policy(round / 8));
    cleave_mpi_wait(&going->request);
    look_at(check, going, comm);
    if (rank == root || round % 5 == 0)
        for (int i = 0; i < count; i += LONG / 4)
            CHECK(check, sum[i] == n * (n - 1) / 2.0 + (double)n * i, "%g", sum[i]);
}

/* Messages of the program are not disturbed by a reduction's messages. */
static void among_messages(struct check *check, struct going *going, uint64_t round)
{
    int n = check->world_size, rank = check->world_rank, got = -1;
    int next = (rank + 1) % n;
    MPI_Request request;

    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    begin(going, MPI_COMM_WORLD, round);
    MPI_Send(&rank, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
    cleave_mpi_wait(&going->request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(check, got == (rank + n - 1) % n, "%d", got);
    look_at(check, going, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct going *all = calloc((size_t)COMMS * EACH, sizeof *all);
    MPI_Comm comms[COMMS];
    struct check check;
    uint64_t rounds;
    int done = 0;

    check_begin(&check, &argc, &argv);
    if (all == NULL)
        return MPI_Abort(MPI_COMM_WORLD, 1);
    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, check.world_rank % 2, 0, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check.world_rank, &comms[2]);
    for (int c = 0; c < COMMS; c++) {
        if (argc > 2)
            cleave_mpi_tune(comms[c], argv[2]);
        cleave_mpi_prepare(comms[c]);
    }
    for (uint64_t round = 0; round < rounds; round++) {
        many(&check, comms, all, round);
        mixed_up(&check, comms[round % COMMS], all, round);
        among_messages(&check, all, round);
    }
    cleave_mpi_test(&all[0].request, &done);
    CHECK(&check, done == 1, "no request is a finished one");
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    free(all);
    return check_end(&check, "nonblocking");
}
