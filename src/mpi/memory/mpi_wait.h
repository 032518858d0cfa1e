/* mpi_wait.h -- to wait and let others have the processor. SPDX-License-Identifier: MIT */
#ifndef CV_MPI_WAIT_H
#define CV_MPI_WAIT_H
#include <mpi.h>

/* MPI_Wait, but whoever waits goes to the end of the queue of its processor. Where ranks share
 * processors not every MPI library sees to that: one that only spins keeps those who have
 * something to do waiting until its time slice is over. */
int cv_mpi_wait(MPI_Request *request);

#endif
