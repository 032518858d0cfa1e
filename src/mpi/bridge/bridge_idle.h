/* bridge_idle.h -- wait for MPI without keeping a core busy. SPDX-License-Identifier: MIT
 *
 * MPI has no descriptor to wait on, so loops poll and sleep in between. A sleep delays a
 * message by at most half of the silence before it, by at most 500 us or 4 % of it, and
 * never by more than 1 ms. */
#ifndef CV_BRIDGE_IDLE_H
#define CV_BRIDGE_IDLE_H
#include <mpi.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
double cv_idle_wait_clock_s(void);
/* How long to sleep after silence_s without activity; 0: yield. */
struct timespec cv_idle_wait_for(double silence_s);
/* Wait for a request. Returns the code of MPI. */
int cv_idle_wait_reset(MPI_Request *request);

#endif
