/* mpi_reduce.c -- ranks that finish their work at different times reduce their results.
 * SPDX-License-Identifier: MIT
 *
 * mpicc mpi_reduce.c -lcleave-mpi && mpirun -n 4 ./a.out
 *
 * Each rank estimates pi from its share of points, some shares being larger than others. The
 * sum is made in the order of arrival, and once more while the next batch is computed. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <cleave/mpi.h>

/* How many of `points` points fall into the quarter circle. */
static double hits(uint64_t seed, long points)
{
    double inside = 0;

    for (long i = 0; i < points; i++) {
        double x, y;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = (double)(seed >> 33) * 0x1p-31;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        y = (double)(seed >> 33) * 0x1p-31;
        inside += x * x + y * y < 1;
    }
    return inside;
}

int main(int argc, char **argv)
{
    struct cleave_mpi_request *request;
    double own[2], sum[2];
    int rank, done;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    own[1] = 50000.0 * (rank % 3 + 1);
    own[0] = hits((uint64_t)rank + 1, (long)own[1]);

    /* A finished rank sends to a waiting rank. */
    cleave_mpi_reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, "tree-dyn");
    if (rank == 0)
        printf("pi is about %.2f\n", 4 * sum[0] / sum[1]);

    /* Reduce while other work is computed; cleave_mpi_test lets it advance. */
    cleave_mpi_ireduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, "tree-dyn",
                       &request);
    for (done = 0; !done;) {
        hits(99, 1000);
        cleave_mpi_test(&request, &done);
    }
    if (rank == 0)
        printf("pi is about %.2f\n", 4 * sum[0] / sum[1]);
    MPI_Finalize();
    return 0;
}
