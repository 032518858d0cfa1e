/* bench_sleep.c -- a command of a given duration, on busy processors.
 * SPDX-License-Identifier: MIT
 *
 *     bench_sleep NAME SECONDS SECONDS_IF_SLOW
 *
 * Sleeps SECONDS, or SECONDS_IF_SLOW on a worker that is slow: one of cleave whose name begins
 * with s (CLEAVE_WORKER), or slot 3 or higher of GNU parallel (PARALLEL_JOBSLOT, from 1) or of
 * xargs (SLOT, from 0). One small process and no shell, so that starts take little of the time. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static bool is_slow(void)
{
    const char *worker = getenv("CLEAVE_WORKER"), *slot = getenv("PARALLEL_JOBSLOT");

    if (worker != NULL)
        return worker[0] == 's';
    if (slot != NULL)
        return strtol(slot, NULL, 10) > 2;
    slot = getenv("SLOT");
    return slot != NULL && strtol(slot, NULL, 10) > 1;
}

int main(int argc, char **argv)
{
    struct timespec left;
    double seconds;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_sleep NAME SECONDS SECONDS_IF_SLOW\n");
        return 2;
    }
    seconds = strtod(argv[is_slow() ? 3 : 2], NULL);
    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    return 0;
}
