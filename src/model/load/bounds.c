/* bounds.c -- makespans no schedule can beat. SPDX-License-Identifier: MIT
 *
 * ideal: everybody computes from the first moment, load / sum of speeds.
 * port:  what a worker computes had to pass the port, which takes x / B, and neither a
 *        worker nor the port can use all the time: the least T for which the fractional
 *        knapsack 0 <= x_i <= S_i (T - alpha_i - beta_i), sum x_i / B_i <= T - least
 *        alpha - least beta (widest links first) holds the load.
 * start: nobody computes before something has arrived, bound_start.c.
 * price: the port's time is worth something, bound_price.c; for workers that differ.
 * optimal: workers all alike, bound_equal.c; `rounds` when the search for the optimum had
 *        to stop early and only a bound came of it.
 * With a port per worker (multi) links do not compete: instead of `port` there is `link`,
 * and every worker's own optimum is known, so `optimal` is, too.
 * Proofs, costs and how tight each is: docs/theory/bounds.md. */
#include "model/load/bounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "model/load/bound_equal.h"
#include "model/platform/equal_workers.h"
#include "model/load/bound_price.h"
#include "model/load/bound_start.h"

/* No bound is tighter than this one, rounding aside. */
static const char optimal[] = "optimal";

struct rank {
    double bandwidth;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(widest_first, struct rank, bandwidth, worker)

/* Units that can be computed by time t, and how fast they grow with t. */
struct volume {
    double units, slope;
};

struct knapsack {
    const struct cleave_worker *workers;
    const struct rank *order; /* widest link first */
    uint32_t n;
    double alpha, beta;   /* the least of each */
    uint32_t most_chunks; /* tried per worker, alone_volume */
    bool *exact;          /* cleared when more could matter */
};

static struct volume knapsack_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 };
    double room = t - sack->alpha - sack->beta, room_slope = 1;

    for (uint32_t k = 0; k < sack->n && room > 0; k++) {
        const struct cleave_worker *w = &sack->workers[sack->order[k].worker];
        const double time = t - w->compute_latency_s - w->latency_s;
        const double units = w->speed_ups * time;

        if (time <= 0)
            continue;
        if (units >= room * w->bandwidth_ups) {
            volume.units += room * w->bandwidth_ups;
            volume.slope += room_slope * w->bandwidth_ups;
            break;
        }
        volume.units += units;
        volume.slope += w->speed_ups;
        room -= units / w->bandwidth_ups;
        room_slope -= w->speed_ups / w->bandwidth_ups;
    }
    return volume;
}

static struct volume link_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 };

    for (uint32_t i = 0; i < sack->n; i++) {
        const struct cleave_worker *w = &sack->workers[i];
        const double time = t - w->compute_latency_s - w->latency_s;

        if (time > 0) {
            volume.units += fmin(w->speed_ups, w->bandwidth_ups) * time;
            volume.slope += fmin(w->speed_ups, w->bandwidth_ups);
        }
    }
    return volume;
}

static struct volume alone_volume(const struct knapsack *sack, double t)
{
    struct volume volume = { 0, 0 }, one = { 0, 0 };

    for (uint32_t i = 0; i < sack->n; i++) {
        if (i == 0 || !cv_workers_equal(&sack->workers[i - 1], 2, false, NULL, NULL))
            one.units = cv_bound_alone(&sack->workers[i], t, sack->most_chunks,
                                       &one.slope, sack->exact);
        volume.units += one.units;
        volume.slope += one.slope;
    }
    return volume;
}

/* The least t at which an increasing, piecewise linear volume reaches the load: Newton's
 * method inside a bracket, halved now and then because the volume is neither convex nor
 * concave and Newton's method alone can run in circles. */
static double volume_root(struct volume (*volume)(const struct knapsack *, double),
                          const struct knapsack *sack, double load, double low,
                          double high)
{
    double t = high;

    for (int step = 1; step < 400 && high - low > 1e-15 * high; step++) {
        const struct volume at = volume(sack, t);
        const double next = t + (load - at.units) / at.slope;

        if (fabs(next - t) <= 1e-15 * t)
            break;
        if (at.units >= load)
            high = t;
        else
            low = t;
        t = next > low && next < high && step % 4 != 0 ? next : low + (high - low) / 2;
    }
    return t;
}

/* A time at which one worker alone could have done the load, whatever the bound. */
static double late_enough(const struct cleave_worker *workers, uint32_t n, double load)
{
    double best = INFINITY;

    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *w = &workers[i];

        best = fmin(best, w->latency_s + w->compute_latency_s + load / w->speed_ups +
                              load / w->bandwidth_ups);
    }
    return best;
}

static bool bound_port(const struct cleave_worker *workers, uint32_t n, double load,
                       struct cv_arena *scratch, bool multi, double *out)
{
    struct rank *order = cv_array(scratch, n, sizeof *order);
    struct knapsack sack = {
        .workers = workers, .order = order, .n = n, .alpha = INFINITY, .beta = INFINITY
    };

    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = (struct rank){ workers[i].bandwidth_ups, i };
        sack.alpha = fmin(sack.alpha, workers[i].compute_latency_s);
        sack.beta = fmin(sack.beta, workers[i].latency_s);
    }
    qsort(order, n, sizeof *order, widest_first);
    *out = volume_root(multi ? link_volume : knapsack_volume, &sack, load,
                       sack.alpha + sack.beta, late_enough(workers, n, load));
    return true;
}

/* Any workers with a port each: every one does the most it can alone. */
static double bound_alone(const struct cleave_worker *workers, uint32_t n, double load,
                          double min, bool *out_exact)
{
    const uint32_t max = (uint32_t)fmax(32, fmin(4096, 1e6 / n));
    const struct knapsack sack = {
        .workers = workers, .n = n, .most_chunks = max, .exact = out_exact
    };

    *out_exact = true;
    return volume_root(alone_volume, &sack, load, min, late_enough(workers, n, load));
}

static double bound_ideal(const struct cleave_worker *workers, uint32_t n, double load)
{
    double speed = 0;

    for (uint32_t i = 0; i < n; i++)
        speed += workers[i].speed_ups;
    return load / speed;
}

/* The three bounds that only one port gives. */
static size_t bounds_one_port(const struct cleave_worker *workers, uint32_t n,
                              double load, struct cv_arena *scratch,
                              struct cleave_bound *out)
{
    bool exact = false;
    size_t count = 0;
    double value = cv_bound_start(workers, n, load, scratch);

    if (value < 0)
        return 0;
    out[count++] = (struct cleave_bound){ "start", value };
    if (cv_workers_equal(workers, n, false, NULL, NULL)) {
        value = cv_bound_equal(workers, n, load, scratch, &exact);
        out[count++] = (struct cleave_bound){ exact ? optimal : "rounds", value };
    } else {
        value = cv_bound_price(workers, n, load, scratch);
        if (value > 0)
            out[count++] = (struct cleave_bound){ "price", value };
    }
    return value < 0 ? 0 : count;
}

size_t cv_bounds(const struct cleave_worker *workers, uint32_t nworkers,
                 enum cleave_port port, double load, struct cv_arena *scratch,
                 struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest)
{
    const bool multi = port == CLEAVE_PORT_MULTI;
    size_t count = 0, more;

    out[count++] = (struct cleave_bound){ "ideal", bound_ideal(workers, nworkers, load) };
    if (!bound_port(workers, nworkers, load, scratch, multi, &out[count].value_s))
        return 0;
    out[count++].name = multi ? "link" : "port";
    if (multi) {
        bool exact;

        out[count].value_s =
            bound_alone(workers, nworkers, load, out[count - 1].value_s, &exact);
        out[count++].name = exact ? optimal : "rounds";
    } else {
        more = bounds_one_port(workers, nworkers, load, scratch, out + count);
        if (more == 0)
            return 0;
        count += more;
    }
    *out_tightest = 0;
    for (size_t i = 1; i < count; i++) {
        if (out[i].value_s > out[*out_tightest].value_s ||
            strcmp(out[i].name, optimal) == 0)
            *out_tightest = i;
    }
    return count;
}
