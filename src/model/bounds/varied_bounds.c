/* varied_bounds.c -- what no schedule can beat where speeds change with time.
 * SPDX-License-Identifier: MIT
 *
 * With f the factor on speed and bandwidths of a worker, which has something to compute
 * from its latencies on at the earliest, and whose last result takes its latency to return,
 *
 *     x <= S * integral of f from beta + alpha to T - beta',
 *     x <= B * integral of f from beta to T - alpha - beta',
 *     ratio x <= B' * integral of f from beta + alpha + beta' to T.
 *
 * Every unit passes the port at the rate B max f at most, its result at B' max f: as in
 * load_bounds.c, sum x (1/B + ratio/B') / max f <= T on a single port, the results alone or
 * the load alone on a duplex one, where the port can do nothing useful for the first ones
 * before, nor for the load in the last, least alpha + least beta. A fractional knapsack
 * says how much can be done by T, which grows with T; the least T is found by bisection
 * from below. */
#include "model/bounds/varied_bounds.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/platform/profile.h"

enum { MOST_STEPS = 200 };

/* A worker at its best. */
struct passage {
    double port_s; /* of the port, per unit */
    uint32_t worker;
};

struct varied {
    const struct cv_bound_query *query;
    struct passage *out, *back; /* by what they cost the port; back: of duplex, results */
    double dead_s;              /* when the port is of no use                           */
};

CV_ORDER_BY_TWO(cheapest_first, struct passage, port_s, worker)

static double part(const struct cleave_profile *profile, double rate, double from_s,
                   double to_s)
{
    return from_s < to_s ? rate * cv_profile_work(profile, from_s, to_s) : 0;
}

/* The most that a worker can do by T, whatever the others do. */
static double most_alone(const struct cv_bound_query *query, uint32_t w, double end_s)
{
    const struct cleave_profile *profile = &query->profiles[w];
    const struct cleave_worker *worker = &query->workers[w];
    const double there_s = worker->latency_s + worker->compute_latency_s;
    const double back_s = query->result_ratio > 0 ? worker->return_latency_s : 0;
    double units = part(profile, worker->speed_ups, there_s, end_s - back_s);

    units = fmin(units, part(profile, worker->bandwidth_ups, worker->latency_s,
                             end_s - worker->compute_latency_s - back_s));
    if (query->result_ratio > 0)
        units =
            fmin(units, part(profile, worker->return_bandwidth_ups / query->result_ratio,
                             there_s + back_s, end_s));
    return units;
}

static double knapsack(const struct varied *varied, const struct passage *all,
                       double room_s, double end_s)
{
    double units = 0;

    for (uint32_t i = 0; i < varied->query->nworkers && room_s > 0; i++) {
        double alone = most_alone(varied->query, all[i].worker, end_s);

        if (alone * all[i].port_s > room_s)
            alone = room_s / all[i].port_s;
        units += alone;
        room_s -= alone * all[i].port_s;
    }
    return units;
}

static double most_by(const struct varied *varied, double end_s)
{
    double units = knapsack(varied, varied->out, end_s - varied->dead_s, end_s);

    if (varied->back != NULL)
        units = fmin(units, knapsack(varied, varied->back, end_s, end_s));
    return units;
}

static struct passage *passages(const struct cv_bound_query *query, double load,
                                double results, struct cv_arena *scratch)
{
    struct passage *all = cv_array(scratch, query->nworkers, sizeof *all);

    for (uint32_t w = 0; all != NULL && w < query->nworkers; w++) {
        const struct cleave_worker *worker = &query->workers[w];
        const double max = cv_profile_most(&query->profiles[w]);

        all[w].worker = w;
        all[w].port_s =
            (load / worker->bandwidth_ups + results / worker->return_bandwidth_ups) /
            fmax(max, 1e-300);
    }
    if (all != NULL)
        qsort(all, query->nworkers, sizeof *all, cheapest_first);
    return all;
}

static bool prepare(struct varied *varied, const struct cv_bound_query *query,
                    struct cv_arena *scratch)
{
    const bool multi = query->port == CLEAVE_PORT_MULTI,
               one = query->port == CLEAVE_PORT_ONE;
    double alpha = INFINITY, beta = INFINITY;

    *varied = (struct varied){ .query = query };
    varied->out = passages(query, multi ? 0 : 1, one ? query->result_ratio : 0, scratch);
    if (varied->out == NULL)
        return false;
    for (uint32_t w = 0; w < query->nworkers; w++) {
        alpha = fmin(alpha, query->workers[w].compute_latency_s);
        beta = fmin(beta, query->workers[w].latency_s);
    }
    if (!multi) /* with results of one port there is something to fetch in the end */
        varied->dead_s = beta + (one && query->result_ratio > 0 ? 0 : alpha);
    if (query->port != CLEAVE_PORT_DUPLEX || !(query->result_ratio > 0))
        return true;
    varied->back = passages(query, 0, query->result_ratio, scratch);
    return varied->back != NULL;
}

double cv_varied_bound(const struct cv_bound_query *query, struct cv_arena *scratch)
{
    struct varied varied;
    double low = 0, high = 1;

    if (!prepare(&varied, query, scratch))
        return NAN;
    if (query->lifespan_s > 0)
        return most_by(&varied, query->lifespan_s);
    while (most_by(&varied, high) < query->load) {
        if (high > 1e300)
            return INFINITY;
        low = high;
        high *= 2;
    }
    for (int i = 0; i < MOST_STEPS && high - low > 1e-15 * high; i++) {
        const double middle = low + (high - low) / 2;

        if (most_by(&varied, middle) < query->load)
            low = middle;
        else
            high = middle;
    }
    return low;
}
