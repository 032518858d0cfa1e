/* xmi.h -- multi-installment, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_XMI_H
#define CV_XMI_H
#include <cleave/policy.h>
#include "model/load/plan.h"

extern const struct cleave_policy cleave_policy_xmi;

struct cv_xmi {
    uint32_t workers, rounds;
    bool feasible;       /* no chunk is negative                              */
    double last_s;       /* computing time of the last chunk, latency left out */
    double makespan_s;   /* NAN unless feasible                               */
    struct cv_plan plan; /* workers 0 .. workers - 1                          */
};

/* Exactly n workers and `rounds` rounds; sizes may be negative. */
enum cleave_status cv_xmi_fixed(const struct cleave_worker *worker, uint32_t n,
                                double load, uint32_t rounds, struct cv_arena *arena,
                                struct cv_xmi *out, struct cleave_error *err);

/* The most workers up to `nworkers` without a negative chunk. If there is none,
 * out->workers is 0, out->feasible false and the plan empty. */
enum cleave_status cv_xmi_plan(const struct cleave_worker *worker, uint32_t nworkers,
                               double load, uint32_t rounds, struct cv_arena *arena,
                               struct cv_xmi *out, struct cleave_error *err);

extern const struct cleave_policy cleave_policy_xmi_k;

struct cv_xmi_k {
    uint32_t workers;
    size_t chunks;
    double makespan_s;
    struct cv_plan plan; /* workers 0 .. workers - 1                           */
};

/* Equal workers; at most max_chunks chunks, at least 1. A plan always exists. */
enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err);

extern const struct cleave_policy cleave_policy_mi;

/* All n workers, with sizes as if there were no latencies; out->makespan_s includes them. */
enum cleave_status cv_mi_plan(const struct cleave_worker *worker, uint32_t n, double load,
                              uint32_t rounds, struct cv_arena *arena, struct cv_xmi *out,
                              struct cleave_error *err);

#endif
