/* bench_star.h -- the star on which simulators are measured. SPDX-License-Identifier: MIT */
#ifndef BENCH_STAR_H
#define BENCH_STAR_H
#include "bench_tools.h"
#include "model/platform/generate.h"

/* Workers of about one unit per second, a tenth of a second to start a chunk, and a port that
 * all of them together use half of. To be freed. */
static inline struct cleave_platform *bench_star(uint32_t workers, double latency_s)
{
    const struct cv_generate wanted = { .port = CLEAVE_PORT_ONE,
                                        .workers = workers,
                                        .heterogeneity = 1,
                                        .seed = 1,
                                        .speed = 1,
                                        .compute_latency = 0.1,
                                        .bandwidth = 2.0 * workers,
                                        .latency = latency_s };
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    check(cv_generate_platform(&wanted, &platform, &err), &err);
    return platform;
}

#endif
