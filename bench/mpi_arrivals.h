/* mpi_arrivals.h -- delays of ranks before a reduction. SPDX-License-Identifier: MIT
 *
 * After A. Salimibeni, B. Cosenza and S. Hunold, who measured collectives under patterns of
 * arrival: how late each rank is, as a part of the greatest delay.
 *
 *     random    each between nothing and the greatest, drawn anew in each round
 *     one       one rank is late, another one in each round
 *     linear    the more the higher the rank
 *     bimodal   every second rank is late
 *     FILE      as traced: a line for each round with the seconds that each rank was late;
 *               rounds and ranks beyond those of the file begin anew */
#ifndef BENCH_MPI_ARRIVALS_H
#define BENCH_MPI_ARRIVALS_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACED_MOST = 65536 };

struct arrivals {
    const char *name;
    double traced[TRACED_MOST], latest; /* all numbers of a file */
    size_t columns, rows;
};

/* A number from 0 to 1 for a rank in a round. */
static inline double chance(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u;

    for (int i = 0; i < 3; i++)
        x = (x ^ x >> 29) * 0xff51afd7ed558ccdu;
    return (double)(x >> 11) * 0x1p-53;
}

/* Lines of as many numbers each, none negative and one greater than 0. */
static inline bool arrivals_trace(struct arrivals *arrivals, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[16384];
    size_t count = 0;
    bool good = file != NULL;

    while (good && fgets(line, sizeof line, file) != NULL) {
        size_t columns = 0;
        char *at = line, *end;

        for (;; at = end, columns++) {
            const double value = strtod(at, &end);

            if (end == at)
                break;
            if (count == TRACED_MOST || !(value >= 0 && isfinite(value))) {
                good = false;
                break;
            }
            arrivals->traced[count++] = value;
            arrivals->latest = fmax(arrivals->latest, value);
        }
        good = good && (arrivals->rows == 0 || columns == arrivals->columns);
        arrivals->columns = columns;
        arrivals->rows++;
    }
    if (file != NULL)
        fclose(file);
    return good && count > 0 && arrivals->latest > 0;
}

static inline bool arrivals_open(struct arrivals *arrivals, const char *name)
{
    static const char *const names[] = { "random", "one", "linear", "bimodal" };

    *arrivals = (struct arrivals){ .name = name };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    arrivals->name = "traced";
    return arrivals_trace(arrivals, name);
}

/* How late a rank of n is in a round: 0 to 1. */
static inline double arrivals_part(const struct arrivals *arrivals, int rank, int n,
                                   int round)
{
    if (arrivals->rows > 0)
        return arrivals->traced[(size_t)round % arrivals->rows * arrivals->columns +
                                (size_t)rank % arrivals->columns] /
               arrivals->latest;
    switch (arrivals->name[0]) {
    case 'o':
        return rank == round % n;
    case 'l':
        return n > 1 ? (double)rank / (n - 1) : 0;
    case 'b':
        return rank % 2;
    default:
        return chance((uint64_t)rank, (uint64_t)round);
    }
}

#endif
