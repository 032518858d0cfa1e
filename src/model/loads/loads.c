/* loads.c -- costs of several loads, and each of them alone. SPDX-License-Identifier: MIT */
#include "model/loads/loads.h"

#include <math.h>
#include <stdlib.h>

bool cv_loads_init(struct cv_loads *out, const struct cleave_view *view,
                   const double *units, struct cv_arena *arena)
{
    const uint32_t n = view->nworkers, count = (uint32_t)view->nloads;

    *out = (struct cv_loads){
        .n = n, .count = count, .multi = view->port == CLEAVE_PORT_MULTI, .units = units
    };
    if (!CV_NEW(arena, out->e, (size_t)n * count) ||
        !CV_NEW(arena, out->c, (size_t)n * count) ||
        !CV_NEW(arena, out->chunk_s, (size_t)n * count) ||
        !CV_NEW(arena, out->weight, count) || !CV_NEW(arena, out->release_s, count) ||
        !CV_NEW(arena, out->alone_s, count) || !CV_NEW(arena, out->latency_s, n) ||
        !CV_NEW(arena, out->start_s, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        out->latency_s[i] = view->workers[i].latency_s;
        out->start_s[i] = view->workers[i].compute_latency_s;
    }
    for (uint32_t k = 0; k < count; k++) {
        out->weight[k] = view->loads[k].weight;
        out->release_s[k] = view->loads[k].release_s;
        out->alone_s[k] = view->loads[k].alone_s;
    }
    cv_loads_charge(out, view, INFINITY);
    return true;
}

void cv_loads_charge(struct cv_loads *loads, const struct cleave_view *view,
                     double chunk_s)
{
    for (uint32_t i = 0; i < loads->n; i++) {
        const struct cleave_worker *worker = &view->workers[i];

        for (uint32_t k = 0; k < loads->count; k++) {
            const size_t at = (size_t)i * loads->count + k;
            const double e = view->loads[k].compute[i] / worker->speed_ups,
                         c = view->loads[k].transfer / worker->bandwidth_ups,
                         links = c / e * (loads->multi ? 1 : loads->n),
                         latencies_s = worker->latency_s + worker->compute_latency_s;

            loads->chunk_s[at] =
                fmax(chunk_s / fmax(1, links), fmin(chunk_s, latencies_s));
            loads->c[at] = c + worker->latency_s * e / chunk_s;
            loads->e[at] = e * (1 + worker->compute_latency_s / loads->chunk_s[at]);
        }
    }
}

/* --- one load alone ------------------------------------------------------------------ */

struct share {
    uint32_t worker;
    double e, c, latency_s, start_s;
    double units; /* done in the time that was tried last */
};

static int by_link(const void *left, const void *right)
{
    const struct share *a = left, *b = right;

    return (a->c > b->c) - (a->c < b->c);
}

/* Units that can be done in time_s: cheap links first on a shared port, which waits for
 * the least latencies of workers that can compute by then. */
static double units_in(struct share *shares, uint32_t n, bool multi, double time_s)
{
    double latency_s = INFINITY, start_s = INFINITY, units = 0, port_s;

    for (uint32_t i = 0; i < n; i++)
        if (shares[i].latency_s + shares[i].start_s < time_s) {
            latency_s = fmin(latency_s, shares[i].latency_s);
            start_s = fmin(start_s, shares[i].start_s);
        }
    port_s = fmax(0, time_s - latency_s - start_s);
    for (uint32_t i = 0; i < n; i++) {
        struct share *share = &shares[i];
        const double own_s = fmax(0, time_s - share->latency_s - share->start_s);
        const double room_s = multi ? own_s : port_s, most = own_s / share->e;

        share->units =
            share->c > 0 && most * share->c > room_s ? room_s / share->c : most;
        units += share->units;
        port_s = fmax(0, port_s - share->units * share->c);
    }
    return units;
}

double cv_loads_alone(const struct cv_loads *loads, uint32_t k, double *quota)
{
    struct share *shares = calloc(loads->n, sizeof *shares);
    double low = 0, high = 1;

    if (shares == NULL)
        return NAN;
    for (uint32_t i = 0; i < loads->n; i++)
        shares[i] = (struct share){ i,
                                    loads->e[(size_t)i * loads->count + k],
                                    loads->c[(size_t)i * loads->count + k],
                                    loads->latency_s[i],
                                    loads->start_s[i],
                                    0 };
    qsort(shares, loads->n, sizeof *shares, by_link);
    while (units_in(shares, loads->n, loads->multi, high) < loads->units[k] &&
           high < 1e300) {
        low = high;
        high *= 2;
    }
    for (int turn = 0; turn < 200 && low < high * (1 - 1e-15); turn++) {
        const double middle = low + (high - low) / 2;
        const bool enough =
            units_in(shares, loads->n, loads->multi, middle) >= loads->units[k];

        *(enough ? &high : &low) = middle;
    }
    if (quota != NULL) {
        const double units = units_in(shares, loads->n, loads->multi, high);

        for (uint32_t i = 0; i < loads->n; i++)
            quota[(size_t)shares[i].worker * loads->count + k] =
                shares[i].units * loads->units[k] / units;
    }
    free(shares);
    return low;
}

double cv_loads_value(enum cleave_goal goal, const struct cleave_load *loads,
                      uint32_t count, const double *ends_s)
{
    double value = 0;

    for (uint32_t k = 0; k < count; k++) {
        if (goal == CLEAVE_GOAL_WEIGHTED)
            value += loads[k].weight * ends_s[k];
        else if (goal == CLEAVE_GOAL_MAKESPAN)
            value = fmax(value, ends_s[k]);
        else if (loads[k].alone_s > 0)
            value = fmax(value, (ends_s[k] - loads[k].release_s) / loads[k].alone_s);
    }
    return value;
}
