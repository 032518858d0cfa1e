/* idle_time.c -- how long processors had nothing to do. SPDX-License-Identifier: MIT */
#include "run/kit/idle_time.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

double cv_idle_s(void)
{
    FILE *file = fopen("/proc/stat", "re");
    double idle = NAN;

    if (file == NULL)
        return NAN;
    if (fscanf(file, "cpu %*f %*f %*f %lf", &idle) != 1)
        idle = NAN;
    fclose(file);
    return idle / (double)sysconf(_SC_CLK_TCK);
}
