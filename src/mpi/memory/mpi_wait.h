/* mpi_wait.h -- to wait and let others have the processor. SPDX-License-Identifier: MIT */
#ifndef CV_MPI_WAIT_H
#define CV_MPI_WAIT_H
#include <mpi.h>

/* MPI_Wait, but whoever waits goes to the end of the queue of its processor. Where ranks share
 * processors not every MPI library sees to that: one that only spins keeps those who have
 * something to do waiting until its time slice is over. */
int cv_mpi_wait(MPI_Request *request);
/* The same where it does not matter to be a moment late, with naps in the long run: for what is
 * set up once, and may have to wait for a rank that comes much later. */
int cv_mpi_wait_long(MPI_Request *request);

#endif
