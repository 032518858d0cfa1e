/* bridge_idle.c -- wait for MPI without keeping a core busy.
 * SPDX-License-Identifier: MIT */
#include "mpi/bridge/bridge_idle.h"

#include <math.h>
#include <sched.h>

static const double NAP_S = 500e-6, LONGEST_NAP_S = 1e-3;
static const double NO_NAP_S = 2e-6; /* shorter ones are not worth the call */

double cv_idle_wait_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct timespec cv_idle_wait_for(double silence_s)
{
    const double most_s = fmin(fmax(silence_s / 25, NAP_S), LONGEST_NAP_S);
    const double nap_s = silence_s / 2 < NO_NAP_S ? 0 : fmin(silence_s / 2, most_s);

    return (struct timespec){ 0, (long)(1e9 * nap_s) };
}

int cv_idle_wait_reset(MPI_Request *request)
{
    const double began_s = cv_idle_wait_clock_s();
    int code, done = 0;

    for (;;) {
        struct timespec time;

        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done)
            return code;
        time = cv_idle_wait_for(cv_idle_wait_clock_s() - began_s);
        if (time.tv_nsec > 0)
            nanosleep(&time, NULL);
        else
            sched_yield();
    }
}
