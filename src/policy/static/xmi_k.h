/* xmi_k.h -- the best number of workers and of chunks, for other policies and for checks.
 * SPDX-License-Identifier: MIT */
#ifndef CV_XMI_K_H
#define CV_XMI_K_H
#include <cleave/policy.h>
#include "model/load/plan.h"

extern const struct cleave_policy cleave_policy_xmi_k;

struct cv_xmi_k {
    uint32_t workers;
    size_t chunks;
    double makespan_s;
    struct cv_plan plan; /* workers 0 .. workers - 1                           */
};

/* Equal workers; at most max_chunks chunks, at least 1. There always is a plan. */
enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err);

#endif
