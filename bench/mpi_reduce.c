/* mpi_reduce.c -- time from the last arrival to the result, with arrivals spread out.
 * SPDX-License-Identifier: MIT
 *
 * Usage: mpi_reduce ROUNDS BYTES COST BALANCED_S POLICY...
 *
 * For a vector of doubles and for ranks that come up to 0, 1, 4 and 16 times as late as a
 * balanced reduction by the MPI library takes (BALANCED_S; 0: what is measured first),
 * prints the median time of each policy as CSV: ranks,bytes,skew,cost,policy,median_s. The
 * policies take turns in every round, with the same delays. A rank that is early, or done,
 * sleeps, as if it had a processor to itself. COST is how often the operator goes over
 * each value: 0 is MPI_SUM. If it is negative the operator is said not to commute.
 *
 * Balanced rounds come one after the other, each after a barrier. Before each row there are
 * rounds that are not counted, from which "auto" learns. */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <cleave/mpi.h>

enum { MOST_POLICIES = 8, MOST_ROUNDS = 2000, WARM_ROUNDS = 100 };

struct bench {
    int rank, n, rounds, npolicies, cost, count;
    char **policies;
    MPI_Op op;
    MPI_Comm comm; /* a new one for each row */
    double *own, *sum;
    double times[MOST_POLICIES][MOST_ROUNDS];
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_until(double when_s)
{
    struct timespec when = { .tv_sec = (time_t)when_s };

    when.tv_nsec = (long)((when_s - (double)when.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
        continue;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

/* A number from 0 to 1 for a rank in a round. */
static double chance(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u;

    for (int i = 0; i < 3; i++)
        x = (x ^ x >> 29) * 0xff51afd7ed558ccdu;
    return (double)(x >> 11) * 0x1p-53;
}

static int cost_of_op;

/* A sum that takes longer. */
static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const double *from = in;
    double *to = inout;

    (void)type;
    for (int i = 0; i < *count; i++) {
        double x = from[i];

        for (int k = 0; k < cost_of_op; k++)
            x = sqrt(x * x);
        to[i] += x;
    }
}

/* One reduction; the time from the last arrival to the result, on rank 0. */
static double once(struct bench *bench, const char *policy, double late_s)
{
    double came, spent[2] = { 0, 0 }, last[2];

    MPI_Barrier(bench->comm);
    if (late_s >= 0) {
        double start = now_s() + 100e-6;

        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, bench->comm);
        sleep_until(start + late_s);
    }
    came = now_s();
    if (strcmp(policy, "mpi") == 0)
        MPI_Reduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op, 0,
                   bench->comm);
    else
        cleave_mpi_reduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op, 0,
                          bench->comm, policy);
    spent[0] = came;
    spent[1] = bench->rank == 0 ? now_s() : 0;
    MPI_Reduce(spent, last, 2, MPI_DOUBLE, MPI_MAX, 0, bench->comm);
    return bench->rank == 0 ? last[1] - last[0] : 0;
}

static void measure(struct bench *bench, double skew_s, int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int p = 0; p < bench->npolicies; p++) {
            double late = chance((uint64_t)bench->rank, (uint64_t)round) * skew_s;

            bench->times[p][round] =
                once(bench, bench->policies[p], skew_s > 0 ? late : -1);
        }
}

static void print_rows(struct bench *bench, double balanced)
{
    static const double skews[] = { 0, 1, 4, 16 };

    for (size_t s = 0; s < sizeof skews / sizeof *skews; s++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &bench->comm);
        measure(bench, skews[s] * balanced, WARM_ROUNDS);
        measure(bench, skews[s] * balanced, bench->rounds);
        for (int p = 0; p < bench->npolicies; p++) {
            double middle = median(bench->times[p], bench->rounds);

            if (p == 0 && balanced == 0)
                balanced = middle;
            if (bench->rank == 0)
                printf("%d,%zu,%g,%d,%s,%.9f\n", bench->n,
                       (size_t)bench->count * sizeof(double), skews[s], bench->cost,
                       bench->policies[p], middle);
        }
        MPI_Bcast(&balanced, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Comm_free(&bench->comm);
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;

    MPI_Init(&argc, &argv);
    if (argc < 6 || argc - 5 > MOST_POLICIES ||
        (int)strtol(argv[1], NULL, 10) > MOST_ROUNDS) {
        fprintf(stderr, "usage: mpi_reduce ROUNDS BYTES COST BALANCED_S POLICY...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.n);
    bench.rounds = (int)strtol(argv[1], NULL, 10);
    bench.count = (int)((size_t)strtol(argv[2], NULL, 10) / sizeof(double));
    bench.cost = (int)strtol(argv[3], NULL, 10);
    cost_of_op = abs(bench.cost);
    bench.policies = argv + 5;
    bench.npolicies = argc - 5;
    bench.op = MPI_SUM;
    if (bench.cost != 0)
        MPI_Op_create(slow_sum, bench.cost > 0, &bench.op);
    bench.own = calloc((size_t)bench.count, sizeof *bench.own);
    bench.sum = calloc((size_t)bench.count, sizeof *bench.sum);
    if (bench.own == NULL || bench.sum == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    print_rows(&bench, strtod(argv[4], NULL));
    free(bench.own);
    free(bench.sum);
    if (bench.cost != 0)
        MPI_Op_free(&bench.op);
    MPI_Finalize();
    return 0;
}
