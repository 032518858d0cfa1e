/* refusing_mpi.c -- a call of MPI that fails, put before that of the library.
 * SPDX-License-Identifier: MIT
 *
 * It takes no arguments: those of the caller are left alone, and whatever MPI it is, an
 * error is another number than 0. */
#include <unistd.h>

int MPI_Iallgather(void);

int MPI_Iallgather(void)
{
    sleep(2); /* the rank is about to end, and others may still be starting */
    return 1;
}
