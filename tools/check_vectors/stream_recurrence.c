/* stream_recurrence.c -- how the load of a worker follows measured rounds.
 * SPDX-License-Identifier: MIT */
#include "stream_recurrence.h"

#include "model/stream/stream_costs.h"

/* The error of the latency, and the c of the head of the header. */
static double latency_error(const struct recurrence *recurrence)
{
    return recurrence->latency_s - recurrence->declared_latency_s;
}

static double seen_latency(const struct recurrence *recurrence)
{
    return 2 * recurrence->declared_latency_s +
           latency_error(recurrence) / recurrence->theta;
}

double recurrence_sigma(const struct recurrence *recurrence, double load)
{
    const double first =
        recurrence->latency_s + recurrence->theta * load / recurrence->speed_ups;

    return (first - recurrence->declared_latency_s) / recurrence->theta +
           2 * recurrence->declared_latency_s;
}

void recurrence_run(const struct recurrence *recurrence, double first_load,
                    uint32_t rounds, double *loads, double *sigmas)
{
    double load = first_load;

    for (uint32_t i = 0; i < rounds; i++) {
        loads[i] = load;
        sigmas[i] = recurrence_sigma(recurrence, load);
        load = cv_stream_next_load(load, recurrence->tau_s, sigmas[i]);
    }
}

double recurrence_fixed_point(const struct recurrence *recurrence)
{
    return recurrence->speed_ups * (recurrence->tau_s - seen_latency(recurrence));
}

double recurrence_factor(const struct recurrence *recurrence)
{
    return seen_latency(recurrence) / recurrence->tau_s;
}

double recurrence_round(const struct recurrence *recurrence)
{
    return recurrence->tau_s + latency_error(recurrence) * (2 - 1 / recurrence->theta);
}
