/* bridge_idle.h -- wait for MPI without keeping a core busy. SPDX-License-Identifier: MIT
 *
 * MPI has nothing to wait on, so loops look again and again, and nap in between: the
 * longer nothing has come, the longer. A nap delays what comes by at most half of the
 * silence before, by no more than 500 us or 4 % of it, and never by more than a
 * millisecond. */
#ifndef CV_BRIDGE_IDLE_H
#define CV_BRIDGE_IDLE_H
#include <mpi.h>
#include <time.h>

/* Seconds of a clock that only goes forward. */
double cv_idle_wait_clock_s(void);
/* How long to sleep after nothing has happened for so long; 0: only let others run. */
struct timespec cv_idle_wait_for(double silence_s);
/* Wait for a request; what MPI says of it. */
int cv_idle_wait_reset(MPI_Request *request);

#endif
