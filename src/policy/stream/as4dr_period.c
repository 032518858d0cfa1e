/* as4dr_period.c -- how long rounds are to last. SPDX-License-Identifier: MIT
 *
 * The least tau is what keeps a shared port below PORT_SHARE of the time: with g latencies
 * and S, B speeds and bandwidths, messages take (2 sum g) / tau + sum S / B of it. A tau
 * that is not given starts from there in a stream (as4dr_rule.c says how it goes on). For
 * a load of known size that takes T, latencies take 2 f / tau of the time and the end
 * costs about tau / 4: tau = sqrt(8 f T). In a real run neither f nor T is known, so it is
 * found as for a stream. */
#include <math.h>

#include "policy/stream/as4dr.h"

static const double PORT_SHARE = 0.9;
/* Where messages alone take more than that, latencies may add this part of a round. */
static const double LATENCY_SHARE = 0.1;
/* A round where costs say nothing about time. */
static const double ANY_TAU_S = 1;
/* Rounds of a load of known size; no round is shorter than a part of that. */
static const double MOST_ROUNDS = 200, LEAST_PART = 1e-5;
/* Rounds of a tapered end are not shorter than this part of tau. */
static const double LEAST_TAPER = 0.01;

/* Least tau for messages that take `latencies` in a round and `rate` of the time. */
static double tau_for(double latencies_s, double rate)
{
    return rate < PORT_SHARE - LATENCY_SHARE ? latencies_s / (PORT_SHARE - rate)
                                             : latencies_s / LATENCY_SHARE;
}

/* What the messages of a round need: the latencies alone, and the least tau in which the
 * port can serve all workers. */
struct port_needs {
    double latencies_s, tau_s;
};

static struct port_needs needs_of(double latencies_s, double rate)
{
    return (struct port_needs){ latencies_s, tau_for(latencies_s, rate) };
}

static struct port_needs greater(struct port_needs a, struct port_needs b)
{
    return a.tau_s > b.tau_s ? a : b;
}

static struct port_needs port_needs(const struct cleave_worker *workers, uint32_t n,
                                    enum cleave_port port, double ratio)
{
    double out_s = 0, back_s = 0, out_rate = 0, back_rate = 0;
    struct port_needs max = { 0, 0 };

    for (uint32_t w = 0; w < n; w++) {
        const double out = workers[w].speed_ups / workers[w].bandwidth_ups;
        const double back =
            ratio * workers[w].speed_ups / workers[w].return_bandwidth_ups;

        max = greater(max, greater(needs_of(2 * workers[w].latency_s, out),
                                   needs_of(2 * workers[w].return_latency_s, back)));
        out_s += 2 * workers[w].latency_s;
        back_s += 2 * workers[w].return_latency_s;
        out_rate += out;
        back_rate += back;
    }
    if (port == CLEAVE_PORT_MULTI)
        return max;
    if (port == CLEAVE_PORT_ONE)
        return needs_of(out_s + back_s, out_rate + back_rate);
    return greater(needs_of(out_s, out_rate), needs_of(back_s, back_rate));
}

/* What the declared latencies and speeds of all workers come to. */
struct sums {
    double speed, latency, least_latency, most_latency;
};

static struct sums sum_up(const struct cleave_worker *workers, uint32_t n)
{
    struct sums sums = { 0, 0, INFINITY, 0 };

    for (uint32_t w = 0; w < n; w++) {
        sums.speed += workers[w].speed_ups;
        sums.latency += workers[w].compute_latency_s;
        sums.least_latency = fmin(sums.least_latency, workers[w].compute_latency_s);
        sums.most_latency = fmax(sums.most_latency, workers[w].compute_latency_s);
    }
    return sums;
}

void cv_as4dr_choose_tau(struct cv_as4dr *as4dr, const struct cleave_view *view,
                         const struct cleave_worker *workers)
{
    const struct sums sums = sum_up(workers, view->nworkers);
    const struct port_needs port =
        port_needs(workers, view->nworkers, view->port, view->result_ratio);
    const double mean_s = sums.latency / view->nworkers;
    double whole_s = INFINITY;

    as4dr->mean_latency_s = mean_s;
    as4dr->tau_s = as4dr->period_s;
    as4dr->least_tau_s = port.tau_s;
    if (as4dr->finite) {
        /* All the time that is needed, were there no latencies but one. */
        whole_s = view->units_total / sums.speed + 2 * sums.least_latency;
        as4dr->least_s = LEAST_PART * whole_s;
        if (!(as4dr->period_s > 0) && !view->real)
            as4dr->tau_s = fmax(fmax(port.tau_s, 4 * sums.least_latency),
                                fmax(sqrt(8 * mean_s * whole_s), whole_s / MOST_ROUNDS));
    }
    if (!(as4dr->period_s > 0) && (!as4dr->finite || view->real)) {
        as4dr->automatic = true;
        if (!(port.tau_s > 0) && !(mean_s > 0))
            as4dr->least_tau_s = ANY_TAU_S;
        /* Workers that are served in turn, or keep their places, have the same rounds. */
        if (as4dr->service == CV_SERVE_RR || as4dr->rule == CV_RULE_PLL)
            as4dr->least_tau_s =
                fmax(as4dr->least_tau_s, CV_LATENCIES_PER_ROUND * sums.most_latency);
        as4dr->tau_s = fmax(as4dr->least_tau_s, CV_LATENCIES_PER_ROUND * mean_s);
    }
    /* Short rounds keep the port busy with latencies: over the time T that they last,
     * rounds of x take T / x of them, and x more at the end. */
    as4dr->floor_s = as4dr->wanted_floor_s;
    if (!(as4dr->floor_s > 0))
        as4dr->floor_s = fmax(fmin(port.tau_s, sqrt(port.latencies_s * whole_s)),
                              LEAST_TAPER * as4dr->tau_s);
}
