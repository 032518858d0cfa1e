/* calibrate_spread.h -- how far measurements are from the costs that were made of them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_CALIBRATE_SPREAD_H
#define CV_CALIBRATE_SPREAD_H
#include <cleave/execute.h>
#include <cleave/platform.h>
#include "base/text.h"

struct cv_measured {
    char *worker; /* owned */
    double units, seconds;
};

struct cv_spread {
    struct cv_measured *items; /* owned                                    */
    size_t count, room;
    bool failed; /* there was no memory for one: nothing is said          */
};

void cv_spread_init(struct cv_spread *spread);
void cv_spread_done(struct cv_spread *spread);
/* What a command took; failed ones do not count. Fits cleave_listener.attempted. */
void cv_spread_attempted(void *spread, const struct cleave_attempt *attempt);

/* The units of all measurements. */
double cv_spread_units(const struct cv_spread *spread);
/* The line through all of them, by least squares: units in a second, and what is lost before
 * the first. There must be some. */
double cv_spread_fit(const struct cv_spread *spread, double *out_latency_s);

/* Say how far from these costs the measurements of workers are, as a line for the file, and
 * warn if they differ so much that the costs are worth little. `names`: of the workers; the
 * first one stands for all of them. */
void cv_spread_tell(const struct cv_spread *spread, const char *const *names,
                    size_t nnames, const struct cleave_worker *costs,
                    struct cv_text *comment);
/* How many processes wanted to run on this machine of late. Warn, once something has been
 * measured, if those were more than it has cores. */
double cv_spread_load(void);
void cv_spread_warn_busy(double load);

#endif
