/* simulated_input.c -- the load of a simulated run, as commands get it. SPDX-License-Identifier: MIT */
#include "engine/simulated_input.h"

#include <math.h>

/* Less of a load than this part of it is nothing. */
static const double GRAIN = 1e-12;

void cv_simulated_input_begin(struct cv_simulated_input *input, double units, double hold,
                              uint32_t nworkers, double record)
{
    const uint32_t parts = nworkers + 1 + nworkers / 4; /* as in a real run */

    cv_free_ranges_clear(&input->free, GRAIN * units, record);
    input->units = units;
    input->hold = hold;
    input->share = hold / parts;
    input->arrived = input->finished = input->wished = 0;
    input->ended = false;
}

static bool is_going_on(const struct cv_simulated_input *input)
{
    return input->hold > 0 && input->arrived < input->units;
}

bool cv_simulated_input_arrive(struct cv_simulated_input *input)
{
    const double upto = input->hold > 0
                            ? fmin(input->units, input->finished + input->hold)
                            : input->units;

    if (!(upto > input->arrived))
        return false;
    cv_free_ranges_add(&input->free, input->arrived, upto);
    input->arrived = upto;
    return input->hold > 0 && !is_going_on(input);
}

bool cv_simulated_input_take(struct cv_simulated_input *input, double *units,
                             double *out_begin)
{
    if (is_going_on(input)) {
        const struct cv_free_range *first = input->free.items;
        const double part = fmin(*units, input->share);

        if (input->free.count == 0 || first->end - first->begin < part)
            return false;
        *units = part;
    }
    *units = cv_free_ranges_take_first(&input->free, *units, out_begin);
    return true;
}

double cv_simulated_input_left(const struct cv_simulated_input *input)
{
    if (input->hold > 0 && !input->ended)
        return INFINITY;
    return fmax(0, cv_free_ranges_sum(&input->free) - input->wished);
}
