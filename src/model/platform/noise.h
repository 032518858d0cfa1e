/* noise.h -- by how much one operation takes longer than modelled.
 * SPDX-License-Identifier: MIT
 *
 * The factor of an operation depends on (seed, run, worker, number of the operation on
 * that worker) only, so that every policy meets the same platform in the same run and
 * the number of threads changes nothing. */
#ifndef CV_NOISE_H
#define CV_NOISE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/run.h>
#include "base/gamma_sampler.h"
#include "base/random.h"

/* Recorded factors: the k-th chunk sent takes factor[k mod n] times its modelled time. */
struct cv_factors {
    const double *factor; /* borrowed */
    size_t n;
};

struct cv_noise {
    struct cleave_noise drawn;
    struct cv_factors transfer, compute; /* used instead when not empty */
    uint64_t seed;
    uint32_t run;
};

/* Whether any factor can differ from 1. */
bool cv_noise_any(const struct cv_noise *noise);

enum cv_activity { CV_TRANSFER, CV_COMPUTE, CV_RETURN };

/* Factor for the `nth` chunk of `worker`, which is chunk `chunk` of the whole run. Returns
 * are never among the recorded ones. */
double cv_noise_factor(const struct cv_noise *noise, enum cv_activity activity,
                       uint32_t worker, uint32_t nth, uint64_t chunk);

/* Factors on the costs of records. */
struct cv_record_law {
    enum cleave_cost_kind kind;
    struct cv_gamma gamma;
    double scale, power; /* parameters of the normal in the exponent, or of the uniform */
    uint64_t seed;
    uint32_t run;
};

void cv_record_law_begin(struct cv_record_law *law,
                         const struct cleave_cost_law *declared, uint64_t seed,
                         uint32_t run);
double cv_record_factor(const struct cv_record_law *law, uint64_t record);

/* The stalls of a worker: the next one is [from_s, to_s). */
struct cv_standstill {
    struct cv_random random;
    struct cleave_stalls law;
    double hang_s; /* from then on for ever; INFINITY: never */
    double from_s, to_s;
};

void cv_standstill_begin(struct cv_standstill *still, const struct cleave_stalls *law,
                         double hang_s, uint64_t seed, uint32_t run, uint32_t worker);
void cv_standstill_next(struct cv_standstill *still);

#endif
