/* sweep.h -- one thing that takes many values, as typed. SPDX-License-Identifier: MIT
 *
 *     cv=0.01:10:log       four values per factor of ten
 *     cv=0.01:10:log:7     seven values
 *     nodes=16:256:16      a step
 *
 * What may vary for a reduction: cv (of both laws), transfer, compute (their means) and
 * nodes. For a load: latency, bandwidth, speed and compute-latency of every worker, each
 * also as a factor on what is declared (latency-factor ..), load, result-ratio, error,
 * workers (the first so many) and budget. */
#ifndef CV_SWEEP_H
#define CV_SWEEP_H
#include <cleave/policy.h>
#include <cleave/reduce.h>
#include "base/arena.h"
#include "base/text.h"
#include "model/platform/platform_internal.h"

enum cv_swept {
    CV_SWEEP_NONE,
    CV_SWEEP_CV,
    CV_SWEEP_TRANSFER,
    CV_SWEEP_COMPUTE,
    CV_SWEEP_NODES,
    CV_SWEEP_COST,   /* from here on of loads: a cost of every worker */
    CV_SWEEP_FACTOR, /* on such a cost                                */
    CV_SWEEP_WORKERS,
    CV_SWEEP_LOAD,
    CV_SWEEP_RESULT_RATIO,
    CV_SWEEP_ERROR,
    CV_SWEEP_BUDGET,
};

struct cv_sweep {
    enum cv_swept what;
    const struct cv_worker_field *field; /* of COST and FACTOR */
    const char *name;                    /* "cv"; static or in the arena */
    const double *values;                /* in the arena, increasing  */
    size_t count;
    bool by_factors; /* neighbours differ by a factor, not by a step */
};

enum { CV_SWEEP_VALUES = 1000 }; /* most in a sweep */

/* All return an exit status; what is wrong has been told. `text` NULL is a sweep over
 * nothing, with one value. */
int cv_sweep_read(const char *text, enum cleave_task task, struct cv_arena *arena,
                  struct cv_sweep *out);
/* Add all that may be swept, each with `behind` behind it and spaces between. */
void cv_sweep_names(enum cleave_task task, const char *behind, struct cv_text *out);
/* The unit of its values: "s", "units/s", "units" or "". */
const char *cv_sweep_unit(const struct cv_sweep *sweep);
/* Whether it is the platform that varies. */
bool cv_sweep_is_platform(const struct cv_sweep *sweep);
/* The platform for value `index`: *out is owned by the caller. */
int cv_sweep_platform(const struct cv_sweep *sweep, size_t index,
                      const struct cleave_platform *declared, struct cv_arena *arena,
                      struct cleave_platform **out);
/* Put value `index` into the job, whose laws may be replaced by texts in the arena. */
int cv_sweep_apply(const struct cv_sweep *sweep, size_t index, struct cv_arena *arena,
                   struct cleave_reduction *job);

#endif
