/* mpi_reduce.c -- time from the last arrival to the result, with arrivals spread out.
 * SPDX-License-Identifier: MIT
 *
 * Usage: mpi_reduce [--all] [--arrivals PATTERN] SECONDS BYTES COST CONTENDER...
 *
 * For a vector of doubles and for ranks that come up to 0, 1, 4 and 16 times as late as a
 * balanced reduction by the MPI library takes, prints what each contender took, as CSV:
 *
 *     ranks,bytes,skew,cost,contender,rounds,median_s,ratio,call,arrivals
 *
 * With --all it is MPI_Allreduce, until the last rank has the result. PATTERN is one of
 * mpi_arrivals.h, "random" unless given.
 *
 * A contender is a policy, or "mpi", "again" (both MPI_Reduce: their difference is the
 * difference by chance) or "adapt" (MPI_Reduce of Open MPI's coll/adapt, which must be
 * allowed by --mca coll_adapt_priority 1) or "han" (the same of coll/han). All take turns
 * in every round, in a newly drawn order and with the same delays; `ratio` is the median
 * over the rounds of the first contender's time by this one's. A row takes about SECONDS,
 * the balanced one three times SECONDS, unless the least number of calls takes longer.
 *
 * COST is how often the operator goes over each value: 0 is MPI_SUM. If it is negative
 * the operator is declared as not commutative. Ranks that are not yet due sleep, as if
 * each had a processor to itself. Every contender has its own communicator, a new one for
 * each row; before a row there are calls that do not count, from which "auto" learns. */
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

#include "mpi_arrivals.h"

enum { MOST_CONTENDERS = 8, MOST_ROUNDS = 4000, LEAST_ROUNDS = 11, BALANCED = 3 };
enum { WARM_CALLS = 3, LEARN_CALLS = 300, LEAST_LEARN_CALLS = 150 };

struct contender {
    const char *name;
    bool by_mpi; /* MPI_Reduce, of whatever component */
    MPI_Comm comm;
    double times[MOST_ROUNDS];
};

struct bench {
    int rank, n, ncontenders, cost, count;
    double seconds;
    MPI_Op op;
    double *own, *sum;
    struct contender contenders[MOST_CONTENDERS];
    double scratch[MOST_ROUNDS];
    bool to_all;
    struct arrivals arrivals;
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

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
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
static double once(struct bench *bench, const struct contender *contender, double late_s)
{
    double came, spent[2] = { 0, 0 }, last[2];

    MPI_Barrier(MPI_COMM_WORLD);
    if (late_s >= 0) {
        double start = now_s() + 100e-6;

        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        sleep_until(start + late_s);
    }
    came = now_s();
    if (bench->to_all && contender->by_mpi)
        MPI_Allreduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op,
                      contender->comm);
    else if (bench->to_all)
        cleave_mpi_allreduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op,
                             contender->comm, contender->name);
    else if (contender->by_mpi)
        MPI_Reduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op, 0,
                   contender->comm);
    else
        cleave_mpi_reduce(bench->own, bench->sum, bench->count, MPI_DOUBLE, bench->op, 0,
                          contender->comm, contender->name);
    spent[0] = came;
    spent[1] = bench->rank == 0 || bench->to_all ? now_s() : 0;
    MPI_Reduce(spent, last, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return bench->rank == 0 ? last[1] - last[0] : 0;
}

/* Delay of this rank in a round; negative: no rank is late. */
static double delay(const struct bench *bench, double skew_s, int round)
{
    return skew_s > 0
               ? arrivals_part(&bench->arrivals, bench->rank, bench->n, round) * skew_s
               : -1;
}

/* Calls that do not count, and how long one takes. */
static double warm_up(struct bench *bench, double skew_s)
{
    double since = now_s(), took;

    for (int i = 0; i < WARM_CALLS; i++)
        for (int c = 0; c < bench->ncontenders; c++)
            once(bench, &bench->contenders[c], delay(bench, skew_s, i));
    took = (now_s() - since) / (WARM_CALLS * bench->ncontenders);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int c = 0; c < bench->ncontenders; c++) {
        int calls =
            (int)fmax(fmin(bench->seconds / took, LEARN_CALLS), LEAST_LEARN_CALLS);

        if (strcmp(bench->contenders[c].name, "auto") == 0)
            for (int i = 0; i < calls; i++)
                once(bench, &bench->contenders[c], delay(bench, skew_s, i));
    }
    return took;
}

static int measure(struct bench *bench, double skew_s)
{
    double took = warm_up(bench, skew_s) * bench->ncontenders;
    double seconds = bench->seconds * (skew_s > 0 ? 1 : BALANCED);
    int rounds = (int)fmax(fmin(seconds / took, MOST_ROUNDS), LEAST_ROUNDS);
    int order[MOST_CONTENDERS];

    for (int round = 0; round < rounds; round++) {
        for (int c = 0; c < bench->ncontenders; c++) {
            int at = (int)(chance(1000 + (uint64_t)c, (uint64_t)round) * (c + 1));

            order[c] = order[at];
            order[at] = c;
        }
        for (int i = 0; i < bench->ncontenders; i++) {
            struct contender *contender = &bench->contenders[order[i]];

            contender->times[round] = once(bench, contender, delay(bench, skew_s, round));
        }
    }
    return rounds;
}

static void open_comms(struct bench *bench)
{
    for (int c = 0; c < bench->ncontenders; c++) {
        struct contender *contender = &bench->contenders[c];
        MPI_Info info;

        MPI_Info_create(&info);
        if (strcmp(contender->name, "adapt") == 0 || strcmp(contender->name, "han") == 0)
            MPI_Info_set(info, "ompi_comm_coll_preference", contender->name);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &contender->comm);
        MPI_Info_free(&info);
    }
}

/* Returns the first one's median time. */
static double print_row(struct bench *bench, double skew, int rounds)
{
    const struct contender *first = &bench->contenders[0];
    double base = 0;

    for (int c = 0; c < bench->ncontenders && bench->rank == 0; c++) {
        const struct contender *contender = &bench->contenders[c];
        double middle, ratio;

        for (int i = 0; i < rounds; i++)
            bench->scratch[i] = first->times[i] / contender->times[i];
        ratio = median(bench->scratch, rounds);
        memcpy(bench->scratch, contender->times, (size_t)rounds * sizeof(double));
        middle = median(bench->scratch, rounds);
        if (c == 0)
            base = middle;
        printf("%d,%zu,%g,%d,%s,%d,%.9f,%.4f,%s,%s\n", bench->n,
               (size_t)bench->count * sizeof(double), skew, bench->cost, contender->name,
               rounds, middle, ratio, bench->to_all ? "allreduce" : "reduce",
               bench->arrivals.name);
    }
    fflush(stdout);
    MPI_Bcast(&base, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return base;
}

static void run(struct bench *bench)
{
    static const double skews[] = { 0, 1, 4, 16 };
    double balanced = 0;

    for (size_t s = 0; s < sizeof skews / sizeof *skews; s++) {
        int rounds;
        double base;

        open_comms(bench);
        rounds = measure(bench, skews[s] * balanced);
        base = print_row(bench, skews[s], rounds);
        if (s == 0)
            balanced = base;
        for (int c = 0; c < bench->ncontenders; c++)
            MPI_Comm_free(&bench->contenders[c].comm);
    }
}

static bool read_arguments(struct bench *bench, int argc, char **argv)
{
    static const char *const by_mpi[] = { "mpi", "again", "adapt", "han" };
    const char *arrivals = "random";

    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        if (strcmp(argv[1], "--all") == 0) {
            bench->to_all = true;
        } else if (argc > 2 && strcmp(argv[1], "--arrivals") == 0) {
            arrivals = argv[2];
            argc--, argv++;
        } else {
            return false;
        }
    }
    if (!arrivals_open(&bench->arrivals, arrivals))
        return false;
    if (argc < 5 || argc - 4 > MOST_CONTENDERS)
        return false;
    bench->seconds = strtod(argv[1], NULL);
    bench->count = (int)((size_t)strtol(argv[2], NULL, 10) / sizeof(double));
    bench->cost = (int)strtol(argv[3], NULL, 10);
    bench->ncontenders = argc - 4;
    for (int c = 0; c < bench->ncontenders; c++) {
        bench->contenders[c].name = argv[4 + c];
        for (size_t i = 0; i < sizeof by_mpi / sizeof *by_mpi; i++)
            if (strcmp(argv[4 + c], by_mpi[i]) == 0)
                bench->contenders[c].by_mpi = true;
    }
    return bench->seconds > 0 && bench->count > 0;
}

int main(int argc, char **argv)
{
    static struct bench bench;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.n);
    if (!read_arguments(&bench, argc, argv)) {
        fprintf(stderr,
                "usage: mpi_reduce [--all] [--arrivals PATTERN] SECONDS BYTES COST "
                "CONTENDER...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    cost_of_op = abs(bench.cost);
    bench.op = MPI_SUM;
    if (bench.cost != 0)
        MPI_Op_create(slow_sum, bench.cost > 0, &bench.op);
    bench.own = calloc((size_t)bench.count, sizeof *bench.own);
    bench.sum = calloc((size_t)bench.count, sizeof *bench.sum);
    if (bench.own == NULL || bench.sum == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (int i = 0; i < bench.count; i++)
        bench.own[i] = bench.rank + i; /* memory that was never written costs less */
    run(&bench);
    free(bench.own);
    free(bench.sum);
    if (bench.cost != 0)
        MPI_Op_free(&bench.op);
    MPI_Finalize();
    return 0;
}
