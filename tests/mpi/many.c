/* many.c -- a program with many communicators, which knows nothing of cleave.
 * SPDX-License-Identifier: MIT
 *
 * Usage: many AT_ONCE IN_TURN CALLS [PARTS]. Reduces on N communicators at once, made in
 * PARTS parts (2), each after reductions on the earlier ones, and on as many
 * communicators that are made and freed one after the other, several times each. An MPI
 * library has a limited number, and freed communicators may leave nothing: neither files,
 * nor pieces of memory. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, FEW = 8 };

static int rank;
static long wrong;

static void check(int is_so, const char *what, long number)
{
    if (is_so)
        return;
    wrong++;
    fprintf(stderr, "rank %d: %s: %ld\n", rank, what, number);
}

static void reduce(MPI_Comm comm, int calls)
{
    static double own[COUNT], sum[COUNT];
    int n;

    MPI_Comm_size(comm, &n);
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < COUNT; i++)
            own[i] = call + i;
        MPI_Allreduce(own, sum, COUNT, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < COUNT; i += 111)
            check(sum[i] == n * (double)(call + i), "not the sum, element", i);
        MPI_Reduce(own, sum, COUNT, MPI_DOUBLE, MPI_SUM, call % n, comm);
    }
}

static long open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static long pieces_of_memory(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    long count = 0;
    int c;

    while (file != NULL && (c = getc(file)) != EOF)
        count += c == '\n';
    if (file != NULL)
        fclose(file);
    return count;
}

int main(int argc, char **argv)
{
    long at_once, in_turn, parts, made = 0, files, pieces, all = 0;
    MPI_Comm *comms, comm;
    int calls;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    at_once = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    in_turn = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
    calls = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1;
    parts = argc > 4 ? strtol(argv[4], NULL, 10) : 2;
    comms = calloc((size_t)at_once, sizeof(MPI_Comm));
    if (comms == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    reduce(MPI_COMM_WORLD, calls);
    files = open_files();
    pieces = pieces_of_memory();
    for (long part = 1; part <= parts; part++) {
        const long first = made;

        for (; made < at_once * part / parts; made++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]);
        for (long i = first; i < made; i++)
            reduce(comms[i], calls);
    }
    for (long i = 0; i < at_once; i++)
        MPI_Comm_free(&comms[i]);
    for (long i = 0; i < in_turn; i++) {
        if (i % 2 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        reduce(comm, calls);
        MPI_Comm_free(&comm);
    }
    /* The MPI library may keep a few for the next one. */
    check(open_files() <= files + FEW, "more open files than before", open_files());
    check(pieces_of_memory() <= pieces + FEW, "more pieces of memory than before",
          pieces_of_memory());
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld wrong\n", all);
    free(comms);
    MPI_Finalize();
    return 0;
}
