/* joint_sizes.c -- sizes for workers that must be done at different times before the end.
 * SPDX-License-Identifier: MIT */
#include "model/joint/joint_sizes.h"

#include <stddef.h>

/* What the link and the processor of a worker do together. */
static double rate(const struct cleave_worker *worker)
{
    return 1 / (1 / worker->bandwidth_ups + 1 / worker->speed_ups);
}

static double own_s(const struct cleave_worker *worker, double tail_s)
{
    return tail_s + worker->compute_latency_s + worker->latency_s;
}

static double multi_sizes(const struct cv_joint_load *load, const uint32_t *order,
                          uint32_t n, const double *tails, double *sizes, double *weights)
{
    double all = 0, late = 0, end_s;

    for (uint32_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];

        all += rate(worker);
        late += rate(worker) * own_s(worker, tails[k]);
    }
    end_s = (load->units + late) / all;
    for (uint32_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];

        if (sizes != NULL)
            sizes[k] = rate(worker) * (end_s - own_s(worker, tails[k]));
        if (weights != NULL)
            weights[k] = rate(worker) / all;
    }
    return end_s;
}

/* How the load of all grows with T: X1 of X0 + X1 T, which is found on the way. */
static double find_weights(const struct cv_joint_load *load, const uint32_t *order,
                           uint32_t n, double growth, double *weights)
{
    double later =
        0; /* what the load of later workers loses when the port is free later */

    for (uint32_t k = n; k-- > 0;) {
        const struct cleave_worker *worker = &load->workers[order[k]];
        const double g = rate(worker);

        weights[k] = g * (1 + later / worker->bandwidth_ups) / growth;
        later = -g + (1 - g / worker->bandwidth_ups) * later;
    }
    return growth;
}

double cv_joint_sizes(const struct cv_joint_load *load, const uint32_t *order, uint32_t n,
                      const double *tails, double *sizes, double *weights)
{
    double free0 = 0, free1 = 0; /* the port is free at free0 + free1 T */
    double load0 = 0, load1 = 0; /* load so far: load0 + load1 T        */
    double end_s, free_s = 0;

    if (load->multi)
        return multi_sizes(load, order, n, tails, sizes, weights);
    for (uint32_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];
        const double g = rate(worker);
        const double x0 = -g * (own_s(worker, tails[k]) + free0), x1 = g * (1 - free1);

        load0 += x0;
        load1 += x1;
        free0 += worker->latency_s + x0 / worker->bandwidth_ups;
        free1 += x1 / worker->bandwidth_ups;
    }
    end_s = (load->units - load0) / load1;
    if (weights != NULL)
        find_weights(load, order, n, load1, weights);
    for (uint32_t k = 0; k < n && sizes != NULL; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];

        sizes[k] = rate(worker) * (end_s - own_s(worker, tails[k]) - free_s);
        free_s += worker->latency_s + sizes[k] / worker->bandwidth_ups;
    }
    return end_s;
}
