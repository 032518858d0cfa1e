/* generate.c -- random platforms of a given heterogeneity.
 * SPDX-License-Identifier: MIT */
#include "model/platform/generate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "base/random.h"

/* Names of random streams: their order is part of what a seed means. */
enum field { SPEED, COMPUTE_LATENCY, BANDWIDTH, LATENCY };

void cv_generate_preset(struct cv_generate *out)
{
    *out = (struct cv_generate){
        .workers = 10,
        .heterogeneity = 1,
        .speed = 1,
        .compute_latency = 1,
        .bandwidth = 20,
        .latency = 1,
        .port = CLEAVE_PORT_ONE,
    };
}

static enum cleave_status check(const char *name, double value, double min, bool above,
                                struct cleave_error *err)
{
    char number[CV_NUMBER_SIZE];

    if (isfinite(value) && (above ? value > min : value >= min))
        return CLEAVE_OK;
    return cv_fail_at(err, &(struct cv_place){ .field = name },
                      "expected a number %s %g, got '%s'",
                      above ? "above" : "of at least", min,
                      cv_number_short(value, number));
}

static double sample(const struct cv_generate *wanted, double h, uint32_t worker,
                     enum field field, double mean)
{
    struct cv_random random;

    cv_random_at(&random, wanted->seed, worker, (uint32_t)field, 0);
    /* Equal workers get the mean itself, not the mean plus a rounding error. */
    return h == 0 ? mean : mean * (1 + h * (2 * cv_random_uniform(&random) - 1));
}

enum cleave_status cv_generate_platform(const struct cv_generate *wanted,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    double het = wanted->heterogeneity, h;
    struct cleave_worker *workers;
    enum cleave_status status;

    CV_TRY(check("heterogeneity", het, 1, false, err));
    CV_TRY(check("speed", wanted->speed, 0, true, err));
    CV_TRY(check("compute_latency", wanted->compute_latency, 0, false, err));
    CV_TRY(check("bandwidth", wanted->bandwidth, 0, true, err));
    CV_TRY(check("latency", wanted->latency, 0, false, err));
    if (wanted->workers == 0 || wanted->workers > CLEAVE_MAX_WORKERS)
        return cv_fail_at(err, &(struct cv_place){ .field = "workers" },
                          "expected a whole number from 1 to %u, got '%lu'",
                          CLEAVE_MAX_WORKERS, (unsigned long)wanted->workers);
    h = (het - 1) / (het + 1);
    workers = calloc(wanted->workers, sizeof *workers);
    if (workers == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t i = 0; i < wanted->workers; i++) {
        struct cleave_worker *worker = &workers[i];

        worker->speed_ups = sample(wanted, h, i, SPEED, wanted->speed);
        worker->compute_latency_s =
            sample(wanted, h, i, COMPUTE_LATENCY, wanted->compute_latency);
        worker->bandwidth_ups = sample(wanted, h, i, BANDWIDTH, wanted->bandwidth);
        worker->latency_s = sample(wanted, h, i, LATENCY, wanted->latency);
        worker->return_bandwidth_ups = worker->bandwidth_ups;
        worker->return_latency_s = worker->latency_s;
    }
    status = cleave_platform_new(wanted->port, workers, wanted->workers, out, err);
    free(workers);
    return status;
}
