/* joint_bounds.c -- what no split with its reduction can beat. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/joint/joint.h"

static bool has_bound(const struct cv_joint_job *job, double *out_rate)
{
    const struct cv_ready_job costs = { .d = job->costs.d,
                                        .c = job->costs.c,
                                        .model = job->costs.model };
    const struct cv_ready_steps steps = cv_ready_steps(&costs);

    *out_rate = cv_ready_rate(steps.a, steps.b);
    return !job->at_master && cv_ready_is_exact(&costs);
}

double cv_joint_entropy(const struct cv_joint_job *job, const uint32_t *order, uint32_t n,
                        double *room)
{
    double rate, end_s, sum = 0;

    if (!has_bound(job, &rate))
        return NAN;
    for (uint32_t k = 0; k < n; k++)
        room[k] = 0;
    end_s = cv_joint_sizes(&job->load, order, n, room, NULL, room);
    for (uint32_t k = 0; k < n; k++)
        if (room[k] > 0)
            sum -= room[k] * log(room[k]);
    return isinf(rate) ? end_s : end_s + sum / rate;
}

/* How much can be done within T with total weight G: the workers of greatest rate g first,
 * each worth g (T + ln(g) / s), less G ln(G) / s; the best G. */
static double capacity(const double *rates, uint32_t n, double rate, double time_s)
{
    double value = 0, weight = 0, all = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double price = time_s + log(rates[i]) / rate;
        const double more = fmin(rates[i], fmax(0, exp(price * rate - 1) - weight));

        if (more <= 0)
            break;
        value += price * more;
        weight += more;
        all = value - weight * log(weight) / rate;
        if (more < rates[i])
            break;
    }
    return all;
}

double cv_joint_bound(const struct cv_joint_job *job, double *room)
{
    const uint32_t n = job->nworkers;
    double rate, latency = INFINITY, low = 0, high = 1;

    if (!has_bound(job, &rate) || isinf(rate))
        return NAN;
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *worker = &job->load.workers[i];

        room[i] = 1 / (1 / worker->bandwidth_ups + 1 / worker->speed_ups);
        latency = fmin(latency, worker->compute_latency_s + worker->latency_s);
    }
    qsort(room, n, sizeof *room, cv_compare_doubles_down);
    while (capacity(room, n, rate, high) < job->load.units && high < 1e300)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = low / 2 + high / 2;

        if (capacity(room, n, rate, middle) >= job->load.units)
            high = middle;
        else
            low = middle;
    }
    return low + latency;
}
