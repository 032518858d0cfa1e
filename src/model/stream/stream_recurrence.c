/* stream_recurrence.c -- how the load of a worker follows measured rounds.
 * SPDX-License-Identifier: MIT */
#include "model/stream/stream_recurrence.h"

#include <math.h>

/* The error of the latency, and the c of the head of the header. */
static double latency_error(const struct cv_stream_map *map)
{
    return map->latency_s - map->declared_latency_s;
}

static double seen_latency(const struct cv_stream_map *map)
{
    return 2 * map->declared_latency_s + latency_error(map) / map->theta;
}

double cv_map_sigma(const struct cv_stream_map *map, double load)
{
    const double first = map->latency_s + map->theta * load / map->speed_ups;

    return (first - map->declared_latency_s) / map->theta + 2 * map->declared_latency_s;
}

double cv_map_next(double load, double tau_s, double sigma)
{
    const double next = load * tau_s / sigma;

    return sigma > 0 && isfinite(next) ? next : load;
}

void cv_map_run(const struct cv_stream_map *map, double first_load, uint32_t rounds,
                double *loads, double *sigmas)
{
    double load = first_load;

    for (uint32_t i = 0; i < rounds; i++) {
        loads[i] = load;
        sigmas[i] = cv_map_sigma(map, load);
        load = cv_map_next(load, map->tau_s, sigmas[i]);
    }
}

double cv_map_fixed_point(const struct cv_stream_map *map)
{
    return map->speed_ups * (map->tau_s - seen_latency(map));
}

double cv_map_factor(const struct cv_stream_map *map)
{
    return seen_latency(map) / map->tau_s;
}

double cv_map_round(const struct cv_stream_map *map)
{
    return map->tau_s + latency_error(map) * (2 - 1 / map->theta);
}
