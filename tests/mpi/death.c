/* death.c -- a rank dies while the others wait for it in a reduction.
 * SPDX-License-Identifier: MIT
 *
 * Usage: death POLICY. Never ends with success: the MPI library has to end the others. */
#include <signal.h>

#include "mpi_check.h"

int main(int argc, char **argv)
{
    struct check check;
    double own = 1, sum = 0;

    check_begin(&check, &argc, &argv);
    for (int round = 0; round < 1000; round++) {
        if (round == 20 && check.world_rank == check.world_size - 1)
            raise(SIGKILL);
        cleave_mpi_reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD,
                          argc > 1 ? argv[1] : NULL);
    }
    return check_end(&check, "death");
}
