/* eta.c -- how long something will still take. SPDX-License-Identifier: MIT */
#include "report/terminal/eta.h"

#include <math.h>

static const double LEAST_S = 10, LEAST_PART = 0.05; /* to go by                       */
static const double MEMORY_S = 3, MEMORY_PART = 0.3; /* of what has passed              */
static const double UP = 1.2, DOWN = 1.5, LEAP = 2;  /* in a second, and at once        */
static const double SHORT_S = 0.5; /* from there it may grow by these, not from nothing */

void cv_eta_init(struct cv_eta *pace, double now_s)
{
    *pace = (struct cv_eta){ .at_s = now_s, .began_s = now_s, .left_s = NAN };
}

/* What is said moves to `left_s`, `gone_s` after the last time. */
static void follow(struct cv_eta *pace, double gone_s, double left_s)
{
    const double least_s = fmax(0, pace->left_s - gone_s) / fmin(LEAP, pow(DOWN, gone_s));
    const double most_s = fmax(SHORT_S, pace->left_s) * fmin(LEAP, pow(UP, gone_s));

    pace->left_s = isnan(pace->left_s) ? left_s : fmax(least_s, fmin(most_s, left_s));
}

double cv_eta_left(struct cv_eta *pace, double now_s, double done, double total)
{
    const double gone_s = now_s - pace->at_s;
    const double news = fmax(0, done - pace->done);
    double since_s, kept;

    if (!(gone_s > 0))
        return pace->left_s;
    pace->at_s = now_s;
    pace->done += news;
    if (!(pace->done > 0)) {
        pace->began_s = now_s;
        return NAN;
    }
    since_s = now_s - pace->began_s;
    kept = exp(-gone_s / (MEMORY_S + MEMORY_PART * since_s));
    pace->units = kept * pace->units + news;
    pace->time_s = kept * pace->time_s + gone_s;
    if (isnan(pace->left_s) && since_s < LEAST_S && pace->done < LEAST_PART * total)
        return NAN;
    if (pace->units > 0)
        follow(pace, gone_s, fmax(0, total - pace->done) * pace->time_s / pace->units);
    return pace->left_s;
}
