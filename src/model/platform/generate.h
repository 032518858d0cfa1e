/* generate.h -- random platforms of a given heterogeneity. SPDX-License-Identifier: MIT
 *
 * Every number of every worker is uniform on ((1 - h) mean, (1 + h) mean) with
 * h = (heterogeneity - 1) / (heterogeneity + 1), so that two workers differ by less than
 * the factor `heterogeneity`. A worker's numbers depend on seed, means and heterogeneity,
 * not on how many workers there are. Workers are named w0, w1, ... */
#ifndef CV_GENERATE_H
#define CV_GENERATE_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/platform/platform_internal.h"

struct cv_generate {
    uint32_t workers;
    double heterogeneity; /* at least 1: all equal */
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

enum cv_nominal {
    CV_NOMINAL_HERE, /* a command on this machine; units are bytes       */
    CV_NOMINAL_RANK, /* a command on another machine; units are bytes    */
    CV_NOMINAL_CALL, /* calls of a function at an MPI rank, unit by unit */
};

/* A platform of `count` such workers, which share no port. `names` are copied; NULL: w0,
 * w1, ... Names that a platform file could not have are refused. */
enum cleave_status cv_nominal_platform(enum cv_nominal kind, const char *const *names,
                                       uint32_t count, struct cleave_platform **out,
                                       struct cleave_error *err);

/* One of them. */
struct cleave_worker cv_nominal_worker(enum cv_nominal kind);

/* Whether the costs of a worker are only nominal. */
bool cv_is_nominal(const struct cleave_worker *worker);

enum { CV_PUBLISHED_KINDS = 10, CV_PUBLISHED_PROFILES = 10 };

/* Kind 0 .. 9 of the table. */
struct cleave_worker cv_literature_worker(unsigned kind);

/* Steps of profile k up to `until_s` in groups[k], for all profiles; none without a drop. */
enum cleave_status cv_literature_profiles(double drop, double until_s,
                                          struct cv_arena *arena,
                                          struct cv_group out[CV_PUBLISHED_PROFILES],
                                          struct cleave_error *err);

/* Make this many workers w0, w1, ..., of all kinds in turn; the profile changes after
 * every ten workers. On success *out is owned by the caller (cleave_platform_free). */
enum cleave_status cv_literature_platform(uint32_t nworkers, enum cleave_port port,
                                          double drop, double until_s,
                                          struct cleave_platform **out,
                                          struct cleave_error *err);

#endif
