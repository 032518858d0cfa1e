/* mpi_check.h -- helpers of the MPI tests: checks that all ranks agree on, numbers made
 * from a seed, late ranks. SPDX-License-Identifier: MIT */
#ifndef MPI_CHECK_H
#define MPI_CHECK_H
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/mpi.h>

struct check {
    int world_rank, world_size;
    long made, failed;
};

static inline void check_begin(struct check *check, int *argc, char ***argv)
{
    memset(check, 0, sizeof *check);
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check->world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check->world_size);
}

/* Count a check; the first few failures are printed. */
#define CHECK(check, holds, ...)                                                \
    do {                                                                        \
        (check)->made++;                                                        \
        if (!(holds) && (check)->failed++ < 5) {                                \
            fprintf(stderr, "%s:%d: rank %d: not so: %s: ", __FILE__, __LINE__, \
                    (check)->world_rank, #holds);                               \
            fprintf(stderr, __VA_ARGS__);                                       \
            fputc('\n', stderr);                                                \
        }                                                                       \
    } while (0)

/* The exit status, the same on all ranks. */
static inline int check_end(struct check *check, const char *what)
{
    long mine[2] = { check->made, check->failed }, all[2];

    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (check->world_rank == 0)
        printf("%s: %ld checks, %ld failed\n", what, all[0], all[1]);
    MPI_Finalize();
    return all[1] > 0 || all[0] == 0;
}

/* A number that depends on its arguments alone. */
static inline uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x =
        a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu;

    for (int i = 0; i < 3; i++) {
        x ^= x >> 29;
        x *= 0xff51afd7ed558ccdu;
    }
    return x ^ x >> 32;
}

/* The policies one after the other. */
static inline const char *nth_policy(uint64_t x)
{
    int count = 1; /* there is one at least */

    while (cleave_mpi_policy_name(count) != NULL)
        count++;
    return cleave_mpi_policy_name((int)(x % (uint64_t)count));
}

/* Come late by up to most_us, some ranks in some rounds. */
static inline void come_late(int rank, uint64_t round, unsigned most_us)
{
    uint64_t x = mixed((uint64_t)rank, round, 77);

    if (most_us > 0 && x % 3 == 0)
        usleep((useconds_t)(x / 3 % most_us));
}

/* The first n ranks of the world; MPI_COMM_NULL on other ranks. */
static inline MPI_Comm first_ranks(int n)
{
    MPI_Comm comm;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &comm);
    return comm;
}

#endif
