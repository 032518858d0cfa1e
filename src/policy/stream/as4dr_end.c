/* as4dr_end.c -- what happens when the end of the load is known.
 * SPDX-License-Identifier: MIT
 *
 * A stream that has ended, or a load of known size, leaves V units to post.
 *
 *   taper   rounds go on with the wanted length min(tau, max(floor, V / (2 sum of
 *           speeds))): they get shorter and shorter, so that workers which turn out
 *           slower than last measured are not left with much
 *   spread  V is poured over the workers once, so that all end together if they stay as
 *           fast as last measured (model/load/water_fill.h)
 *   none    full rounds until nothing is left */
#include <math.h>

#include "model/load/plan.h"
#include "policy/stream/as4dr.h"

/* Less than this part of the load is rounding. */
static const double ROUNDING = 1e-12;
/* By how much loads grow while latencies cannot be told from speeds. */
static const double GROWTH = 8;

double cv_as4dr_left(const struct cv_as4dr *as4dr, const struct cleave_view *view)
{
    const double left = view->units_left - as4dr->reserved;

    if (isinf(left))
        return left;
    return left > ROUNDING * view->units_total ? left : 0;
}

double cv_as4dr_wanted(const struct cv_as4dr *as4dr, const struct cleave_view *view,
                       uint32_t worker, double now_s)
{
    const double tau_s = cv_as4dr_tau(as4dr, worker, now_s);

    if (!as4dr->known_end || as4dr->end != CV_END_TAPER)
        return tau_s;
    return fmin(tau_s, fmax(as4dr->floor_s,
                            cv_as4dr_left(as4dr, view) / (2 * as4dr->speed_sum)));
}

/* Of a round that should take wanted_s. Latencies take half of it at most. */
static double tapered(const struct cv_as4dr *as4dr, uint32_t worker, double wanted_s)
{
    const double latencies_s = 2 * as4dr->workers[worker].latency_s;

    return fmax(as4dr->workers[worker].speed_ups *
                    fmax(wanted_s - latencies_s, latencies_s),
                as4dr->least_s * as4dr->places[worker].speed_ups);
}

/* Records cannot be divided, so neither can what is to be less than one in each part. */
static double real_load(const struct cv_as4dr_worker *worker, double load)
{
    /* Another size tells more. */
    if (worker->rounds > 0 && !worker->fit.sure)
        load = fmax(load, GROWTH * worker->load);
    return fmax(load, 2);
}

double cv_as4dr_load(struct cv_as4dr *as4dr, const struct cleave_view *view,
                     uint32_t worker, double now_s)
{
    const double left = cv_as4dr_left(as4dr, view);
    double load, wanted_s;

    if (!(left > 0))
        return 0;
    wanted_s = cv_as4dr_wanted(as4dr, view, worker, now_s);
    /* A load that is known from the beginning has full rounds, too. */
    if (as4dr->known_end && as4dr->end == CV_END_TAPER &&
        (!as4dr->finite || wanted_s < cv_as4dr_tau(as4dr, worker, now_s)))
        load = tapered(as4dr, worker, wanted_s);
    else if (as4dr->workers[worker].rounds == 0)
        load = as4dr->places[worker].first_load;
    else
        load = cv_as4dr_next(as4dr, worker, now_s);
    if (as4dr->real)
        load = real_load(&as4dr->workers[worker], load);
    return left - load > ROUNDING * view->units_total || isinf(left) ? load : left;
}

bool cv_as4dr_should_spread(const struct cv_as4dr *as4dr, const struct cleave_view *view)
{
    return as4dr->end == CV_END_SPREAD && as4dr->known_end && !as4dr->spread_out &&
           cv_as4dr_left(as4dr, view) <= as4dr->speed_sum * as4dr->tau_s;
}

/* One chunk more for a worker, which is the last it gets. */
static void give_share(struct cv_as4dr *as4dr, uint32_t worker, double units,
                       double now_s, struct cleave_orders *orders)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];

    w->last_chunk = as4dr->ordered++;
    w->asked_s[CV_REQUEST_LAST] = now_s;
    w->due_units += units;
    w->due_parts++;
    cv_as4dr_asked(w, units);
    cleave_order_send(orders, worker, units);
}

void cv_as4dr_spread(struct cv_as4dr *as4dr, const struct cleave_view *view, double now_s,
                     struct cleave_orders *orders)
{
    double *ready = as4dr->room[0], *overhead = as4dr->room[1];
    double *speed = as4dr->room[2], *share = as4dr->room[3];
    double left = cv_as4dr_left(as4dr, view), end_s;
    uint32_t n = 0;

    as4dr->spread_out = true;
    if (!(left > 0))
        return;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        ready[w] = cv_as4dr_free_at(as4dr, w, now_s);
        overhead[w] = as4dr->workers[w].latency_s;
        speed[w] = as4dr->places[w].member ? as4dr->workers[w].speed_ups : 0;
    }
    if (!cv_water_fill(as4dr->basins, ready, overhead, speed, view->nworkers, left, share,
                       &end_s))
        return;
    if (as4dr->watch != NULL && as4dr->watch->spread != NULL)
        as4dr->watch->spread(as4dr->watch->context, end_s, share);
    /* Those that run out first are served first; the last one takes what rounding left. */
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (share[w] > 0)
            as4dr->ranks[n++] = (struct cv_as4dr_rank){ ready[w], w };
    cv_as4dr_sort(as4dr->ranks, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = as4dr->ranks[i].worker;
        const double units = i + 1 < n ? fmin(share[w], left) : left;

        left -= units;
        if (units > 0)
            give_share(as4dr, w, units, now_s, orders);
    }
}
