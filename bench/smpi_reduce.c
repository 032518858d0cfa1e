/* smpi_reduce.c -- reductions on a simulated platform, compiled with smpicc.
 * SPDX-License-Identifier: MIT
 *
 * Usage: smpi_reduce ROUNDS BYTES SKEW_S POLICY FLOPS
 *
 * Prints the mean simulated time from the last arrival to the result. Ranks come late by
 * up to SKEW_S, the same in every run. POLICY "mpi" is the MPI_Reduce that smpirun was told
 * to use. Combining costs FLOPS operations per byte.
 *
 * The library gets the time of a combination: it would measure it by an MPI_Iallreduce,
 * for which SMPI sends a message from each rank to each other, which takes minutes to
 * simulate for some hundred ranks. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/mpi.h>

static double flops_per_byte;

static void sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const double *from = in;
    double *to = inout;

    (void)type;
    for (int i = 0; i < *count; i++)
        to[i] += from[i];
    if (flops_per_byte > 0)
        smpi_execute_flops(flops_per_byte * 8.0 * *count);
}

static double chance(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u;

    for (int i = 0; i < 3; i++)
        x = (x ^ x >> 29) * 0xff51afd7ed558ccdu;
    return (double)(x >> 11) * 0x1p-53;
}

static double once(const double *own, double *total, int count, MPI_Op op,
                   const char *policy, double late_s)
{
    double mine[2] = { 0, 0 }, last[2];
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep((useconds_t)(late_s * 1e6)); /* simulated */
    mine[0] = MPI_Wtime();
    cleave_mpi_reduce(own, total, count, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, policy);
    mine[1] = rank == 0 ? MPI_Wtime() : 0;
    MPI_Allreduce(mine, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last[1] - last[0];
}

/* Pass the time of combining on the mean machine. */
static void tell_costs(double *own, double *total, int count, MPI_Op op)
{
    double since = MPI_Wtime(), took, sum;
    char settings[64];
    int n;

    MPI_Reduce_local(own, total, count, MPI_DOUBLE, op);
    took = MPI_Wtime() - since;
    MPI_Allreduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    snprintf(settings, sizeof settings, "combine=%.9fs", sum / n);
    if (sum / n > 1e-9)
        cleave_mpi_tune(MPI_COMM_WORLD, settings);
}

int main(int argc, char **argv)
{
    int rank, n, rounds, count;
    double skew, took = 0, *own, *total;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    if (argc != 6) {
        fprintf(stderr, "usage: smpi_reduce ROUNDS BYTES SKEW_S POLICY FLOPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rounds = (int)strtol(argv[1], NULL, 10);
    count = (int)((size_t)strtol(argv[2], NULL, 10) / sizeof(double));
    skew = strtod(argv[3], NULL);
    flops_per_byte = strtod(argv[5], NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    own = calloc((size_t)count, sizeof *own);
    total = calloc((size_t)count, sizeof *total);
    if (own == NULL || total == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; i++)
        own[i] = rank + i;
    MPI_Op_create(sum, 1, &op);
    tell_costs(own, total, count, op);
    /* The first round sets things up. */
    for (int round = -1; round < rounds; round++) {
        double late = chance((uint64_t)rank, (uint64_t)(round + 1)) * skew;
        double time = once(own, total, count, op, argv[4], late);

        if (round >= 0)
            took += time / rounds;
        for (int i = 0; i < count && rank == 0; i += count / 8 + 1)
            if (total[i] != n * (n - 1) / 2.0 + (double)n * i)
                MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("%.9f\n", took);
    MPI_Op_free(&op);
    free(own);
    free(total);
    MPI_Finalize();
    return 0;
}
