/* gate.c -- when this machine may begin another command. SPDX-License-Identifier: MIT */
#include "run/kit/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between two looks at a machine that is too busy. */
static const double AGAIN_S = 0.5;

/* The average of the last minute; 0: nobody knows. */
static double load_now(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

static bool has_memory(uint64_t least)
{
    static const char name[] = "MemAvailable:";
    FILE *file = least > 0 ? fopen("/proc/meminfo", "re") : NULL;
    unsigned long long kilobytes = 0;
    bool known = false;
    char line[128];

    while (file != NULL && !known && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) {
            kilobytes = strtoull(line + strlen(name), NULL, 10);
            known = true;
        }
    if (file != NULL)
        fclose(file);
    return !known || kilobytes >= least / 1024;
}

/* Only to wake up: whoever waits looks by himself. */
static void woken(void *context)
{
    (void)context;
}

enum cleave_status cv_gate_look(struct cv_gate *gate, struct cv_poller *poller, bool *out,
                                struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    double again_s = gate->next_s;

    *out = true;
    if (now_s >= gate->next_s) {
        if (!(gate->most_load > 0 && load_now() > gate->most_load) &&
            has_memory(gate->least_memory))
            return CLEAVE_OK;
        again_s = now_s + AGAIN_S;
    }
    *out = false;
    return cv_poller_set(poller, &gate->timer, again_s, woken, gate, err);
}

void cv_gate_passed(struct cv_gate *gate)
{
    if (gate->delay_s > 0)
        gate->next_s = cv_clock_s() + gate->delay_s;
}
