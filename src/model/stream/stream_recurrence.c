/* stream_recurrence.c -- how the load of a worker follows measured rounds.
 * SPDX-License-Identifier: MIT */
#include "model/stream/stream_recurrence.h"

#include <math.h>

/* The error of the latency, and the c of the head of the header. */
static double latency_error(const struct cv_recurrence *recurrence)
{
    return recurrence->latency_s - recurrence->declared_latency_s;
}

static double seen_latency(const struct cv_recurrence *recurrence)
{
    return 2 * recurrence->declared_latency_s +
           latency_error(recurrence) / recurrence->theta;
}

double cv_recurrence_sigma(const struct cv_recurrence *recurrence, double load)
{
    const double first =
        recurrence->latency_s + recurrence->theta * load / recurrence->speed_ups;

    return (first - recurrence->declared_latency_s) / recurrence->theta +
           2 * recurrence->declared_latency_s;
}

double cv_recurrence_next(double load, double tau_s, double sigma)
{
    const double next = load * tau_s / sigma;

    return sigma > 0 && isfinite(next) ? next : load;
}

void cv_recurrence_run(const struct cv_recurrence *recurrence, double first_load,
                       uint32_t rounds, double *loads, double *sigmas)
{
    double load = first_load;

    for (uint32_t i = 0; i < rounds; i++) {
        loads[i] = load;
        sigmas[i] = cv_recurrence_sigma(recurrence, load);
        load = cv_recurrence_next(load, recurrence->tau_s, sigmas[i]);
    }
}

double cv_recurrence_fixed_point(const struct cv_recurrence *recurrence)
{
    return recurrence->speed_ups * (recurrence->tau_s - seen_latency(recurrence));
}

double cv_recurrence_factor(const struct cv_recurrence *recurrence)
{
    return seen_latency(recurrence) / recurrence->tau_s;
}

double cv_recurrence_round(const struct cv_recurrence *recurrence)
{
    return recurrence->tau_s + latency_error(recurrence) * (2 - 1 / recurrence->theta);
}
