/* meter.h -- how much work a search may do, counted in steps and not by a clock.
 * SPDX-License-Identifier: MIT
 *
 * A step takes about a nanosecond, whatever the machine: what is found within a limit is the
 * same everywhere. Who may be asked to stop early counts what it does, and looks now and then
 * whether the limit is passed. A NULL meter counts nothing and has no limit. */
#ifndef CV_METER_H
#define CV_METER_H
#include <stdbool.h>
#include <stddef.h>

static const double CV_STEPS_A_SECOND = 1e9;

struct cv_meter {
    double spent, limit; /* steps */
};

static inline void cv_meter_spend(struct cv_meter *meter, double steps)
{
    if (meter != NULL)
        meter->spent += steps;
}

static inline bool cv_meter_over(const struct cv_meter *meter)
{
    return meter != NULL && meter->spent >= meter->limit;
}

/* For a plan that is tried afterwards, which needs some of it, too: half of what is left. */
static inline struct cv_meter cv_meter_half(const struct cv_meter *meter)
{
    return (struct cv_meter){ 0, (meter->limit - meter->spent) / 2 };
}

#endif
