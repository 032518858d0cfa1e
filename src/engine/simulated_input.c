/* simulated_input.c -- the load of a simulated run, as commands get it. SPDX-License-Identifier: MIT */
#include "engine/simulated_input.h"

#include <math.h>

/* Less of a load than this part of it is nothing. */
static const double GRAIN = 1e-12;

void cv_simulated_input_begin(struct cv_simulated_input *supply, double units,
                              double hold, uint32_t nworkers, double record)
{
    const uint32_t parts = nworkers + 1 + nworkers / 4; /* as in a real run */

    cv_free_ranges_clear(&supply->free, GRAIN * units, record);
    supply->units = units;
    supply->hold = hold;
    supply->share = hold / parts;
    supply->arrived = supply->finished = supply->wished = 0;
    supply->ended = false;
}

static bool is_going_on(const struct cv_simulated_input *supply)
{
    return supply->hold > 0 && supply->arrived < supply->units;
}

bool cv_simulated_input_arrive(struct cv_simulated_input *supply)
{
    const double upto = supply->hold > 0
                            ? fmin(supply->units, supply->finished + supply->hold)
                            : supply->units;

    if (!(upto > supply->arrived))
        return false;
    cv_free_ranges_add(&supply->free, supply->arrived, upto);
    supply->arrived = upto;
    return supply->hold > 0 && !is_going_on(supply);
}

bool cv_simulated_input_take(struct cv_simulated_input *supply, double *units,
                             double *out_begin)
{
    if (is_going_on(supply)) {
        const struct cv_free_range *first = supply->free.items;
        const double part = fmin(*units, supply->share);

        if (supply->free.count == 0 || first->end - first->begin < part)
            return false;
        *units = part;
    }
    *units = cv_free_ranges_take_first(&supply->free, *units, out_begin);
    return true;
}

double cv_simulated_input_left(const struct cv_simulated_input *supply)
{
    if (supply->hold > 0 && !supply->ended)
        return INFINITY;
    return fmax(0, cv_free_ranges_sum(&supply->free) - supply->wished);
}
