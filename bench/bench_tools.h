/* bench_tools.h -- helpers of benches: a clock, sorted times, the machine.
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_TOOLS_H
#define BENCH_TOOLS_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cleave/cleave.h>

static inline double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* A bench that cannot do its work prints the reason and ends. */
static inline void check(enum cleave_status status, const struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return;
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

/* Version and machine, for a stored output. */
static inline void describe_machine(void)
{
    struct utsname name;

    if (uname(&name) == 0)
        printf("cleave %s on %s %s, %ld cores\n", cleave_version(), name.sysname,
               name.machine, sysconf(_SC_NPROCESSORS_ONLN));
}

#endif
