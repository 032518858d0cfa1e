/* fold_pace.c -- how long partials take to move and to be folded, from those seen.
 * SPDX-License-Identifier: MIT */
#include "engine/fold_pace.h"

#include <math.h>

/* Bytes of a step: all, and those that move after the order. */
static double bytes_of(const struct cv_fold_step *step, bool moving)
{
    double bytes = 0;

    for (uint32_t i = 0; i < step->count; i++)
        if (!moving ||
            (step->parts[i].holder != step->at && step->parts[i].ahead != step->at))
            bytes += (double)step->parts[i].bytes;
    return bytes;
}

/* Whether it waited for something that was sent before the order. */
static bool was_expecting(const struct cv_fold_step *step)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (step->parts[i].ahead == step->at)
            return true;
    return false;
}

static double time_of(const struct cv_fit *fit, double bytes)
{
    return fit->rate_ups > 0 ? fit->latency_s + bytes / fit->rate_ups : INFINITY;
}

void cv_fold_pace_saw(struct cv_fold_pace *pace, const struct cv_fold_step *step,
                      double whole_s, double fold_s)
{
    const double all = bytes_of(step, false), moved = bytes_of(step, true);

    if (fold_s < 0 && moved <= 0 && !was_expecting(step))
        fold_s = whole_s;
    if (fold_s >= 0)
        cv_fit_add(&pace->fold, all, fold_s, -1);
    else
        fold_s = time_of(&pace->fold, all);
    if (moved > 0 && !was_expecting(step) && isfinite(fold_s))
        cv_fit_add(&pace->transfer, moved, whole_s - fold_s, -1);
}

double cv_fold_pace_near_s(const struct cv_fold_pace *pace,
                           const struct cv_fold_step *step, double given_s,
                           uint64_t bytes)
{
    const double moved = bytes_of(step, true);
    const double transfer_s = time_of(&pace->transfer, (double)bytes);

    if (!isfinite(transfer_s))
        return INFINITY;
    return given_s + (moved > 0 ? time_of(&pace->transfer, moved) : 0) +
           time_of(&pace->fold, bytes_of(step, false)) - transfer_s;
}
