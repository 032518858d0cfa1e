/* idle_time.c -- how long processors had nothing to do. SPDX-License-Identifier: MIT */
#include "run/hosts/idle_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDLE = 4 }; /* which number of the first line: cpu user nice system idle ... */

double cv_idle_s(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[256] = "", *at = line + 3, *end = NULL;
    double ticks = NAN;

    if (file == NULL)
        return NAN;
    if (fgets(line, sizeof line, file) == NULL || strncmp(line, "cpu ", 4) != 0)
        end = at; /* it says something else */
    fclose(file);
    for (int i = 0; i < IDLE && end != at; i++) {
        at = end != NULL ? end : at;
        ticks = strtod(at, &end);
    }
    return end != at ? ticks / (double)sysconf(_SC_CLK_TCK) : NAN;
}
