/* plain.c -- an MPI program that knows nothing of cleave, for the preload.
 * SPDX-License-Identifier: MIT
 *
 * Usage: plain ROUNDS [LATE_US]. Prints a line that depends on all results, to the last
 * bit, and whether they are right. The last rank is late by LATE_US in every round. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 40000 };

struct program {
    int rank, n;
    double *own, *sum;
    unsigned long bits; /* bits of all results */
    long wrong;
};

static void keep_left(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const double *left = in;
    double *right = inout;

    (void)type;
    /* Neither commutes nor minds how it is grouped: the left one wins. */
    for (int i = 0; i < *count; i++)
        right[i] = left[i];
}

static void look_at(struct program *program, int count, double factor, double offset)
{
    for (int i = 0; i < count; i++) {
        unsigned long bits;

        memcpy(&bits, &program->sum[i], sizeof bits);
        program->bits = program->bits * 31 + bits;
        if (fabs(program->sum[i] - (factor * i * 0.1 + offset)) > 1e-6 * (1 + i))
            program->wrong++;
    }
}

static void play(struct program *program, MPI_Op left, int round, unsigned late_us)
{
    int n = program->n, count = round % 3 == 0 ? COUNT : 1 + round % 50;
    MPI_Comm pair;

    for (int i = 0; i < count; i++)
        program->own[i] = program->rank + 0.1 * i;
    if (program->rank == n - 1 && late_us > 0)
        usleep(late_us);
    MPI_Reduce(program->own, program->sum, count, MPI_DOUBLE, MPI_SUM, round % n,
               MPI_COMM_WORLD);
    if (program->rank == round % n)
        look_at(program, count, n, n * (n - 1) / 2.0);
    MPI_Reduce(program->own, program->sum, count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD);
    if (program->rank == 0)
        look_at(program, count, 1, 0);
    memcpy(program->sum, program->own, (size_t)count * sizeof *program->own);
    MPI_Allreduce(MPI_IN_PLACE, program->sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    look_at(program, count, n, n * (n - 1) / 2.0);
    if (round % 10 != 0)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, program->rank / 2, program->rank, &pair);
    MPI_Reduce(program->own, program->sum, 1, MPI_DOUBLE, MPI_SUM, 0, pair);
    MPI_Comm_free(&pair);
}

int main(int argc, char **argv)
{
    struct program program = { .bits = 1 };
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 30;
    long wrong = 0;
    MPI_Op left;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &program.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &program.n);
    program.own = malloc((size_t)2 * COUNT * sizeof *program.own);
    if (program.own == NULL)
        return MPI_Abort(MPI_COMM_WORLD, 1);
    program.sum = program.own + COUNT;
    MPI_Op_create(keep_left, 0, &left);
    for (int round = 0; round < rounds; round++)
        play(&program, left, round, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
    MPI_Op_free(&left);
    MPI_Reduce(&program.wrong, &wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (program.rank == 0)
        printf("%016lx, %ld wrong\n", program.bits, wrong);
    free(program.own);
    MPI_Finalize();
    return wrong > 0;
}
