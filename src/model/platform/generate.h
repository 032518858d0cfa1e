/* generate.h -- random platforms of a given heterogeneity. SPDX-License-Identifier: MIT
 *
 * Every number of every worker is uniform on ((1 - h) mean, (1 + h) mean) with
 * h = (heterogeneity - 1) / (heterogeneity + 1), so that two workers differ by less than
 * the factor `heterogeneity`. A worker's numbers depend on seed, means and heterogeneity,
 * not on how many workers there are. Workers are named w0, w1, ... */
#ifndef CV_GENERATE_H
#define CV_GENERATE_H
#include <stdint.h>
#include <cleave/platform.h>

struct cv_generate {
    uint32_t workers;
    double heterogeneity; /* at least 1: all alike */
    uint64_t seed;
    double speed, compute_latency, bandwidth, latency; /* means */
    enum cleave_port port;
};

/* 10 workers alike, one port; mean speed, compute latency and latency 1, bandwidth 20. */
void cv_generate_preset(struct cv_generate *out);

/* On success *out is owned by the caller (cleave_platform_free). */
enum cleave_status cv_generate_platform(const struct cv_generate *wanted,
                                        struct cleave_platform **out,
                                        struct cleave_error *err);

#endif
