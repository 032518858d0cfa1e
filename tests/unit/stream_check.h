/* stream_check.h -- workers to serve streams with. SPDX-License-Identifier: MIT */
#ifndef STREAM_CHECK_H
#define STREAM_CHECK_H
#include "plan_check.h"

#include "model/stream/stream_costs.h"

/* Computing is slow against messages, as the method assumes. */
static inline struct cleave_worker stream_worker(struct cv_random *random)
{
    const double speed = random_scale(random, 1, 1000);
    const double latency = random_scale(random, 1e-3, 0.1);
    const double out = random_scale(random, 30, 3e4),
                 gap = random_scale(random, 1e-3, 0.05);

    return (struct cleave_worker){
        .speed_ups = speed,
        .compute_latency_s = latency,
        .bandwidth_ups = speed * out,
        .latency_s = gap,
        .return_bandwidth_ups = speed * random_scale(random, 30, 3e4),
        .return_latency_s = random_scale(random, 1e-3, 0.05),
    };
}

/* 100 workers of each of the ten kinds of the published experiments. */
enum { PUBLISHED_WORKERS = 1000 };

static inline void published_workers(struct cleave_worker workers[PUBLISHED_WORKERS])
{
    static const struct cleave_worker kinds[10] = {
        { 1, 1e-2, 1e6, 1e-2, 1e6, 1e-2 },      { 1e2, 1e-1, 1e7, 1e-3, 1e7, 1e-3 },
        { 10, 1e-3, 1e8, 1.5e-2, 1e8, 1.5e-2 }, { 1e3, 1e-2, 1e9, 1e-2, 1e9, 1e-2 },
        { 1, 1e-3, 1e6, 1e-2, 1e6, 1e-2 },      { 1e2, 1e-1, 1e7, 1e-3, 1e7, 1e-3 },
        { 10, 1e-4, 1e8, 1e-2, 1e8, 1e-2 },     { 1e3, 1e-2, 1e9, 1e-2, 1e9, 1e-2 },
        { 1, 1e-3, 1e6, 1e-3, 1e6, 1e-3 },      { 1e2, 1e-2, 1e7, 1e-2, 1e7, 1e-2 },
    };

    for (uint32_t w = 0; w < PUBLISHED_WORKERS; w++)
        workers[w] = kinds[w / 100];
}

#endif
