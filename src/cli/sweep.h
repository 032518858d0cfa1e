/* sweep.h -- one thing that takes many values, as typed. SPDX-License-Identifier: MIT
 *
 *     cv=0.01:10:log       four values per factor of ten
 *     cv=0.01:10:log:7     seven values
 *     nodes=16:256:16      a step
 *
 * What may vary: cv (of both laws), transfer, compute (their means) and nodes. */
#ifndef CV_SWEEP_H
#define CV_SWEEP_H
#include <cleave/reduce.h>
#include "base/arena.h"

enum cv_swept {
    CV_SWEEP_NONE,
    CV_SWEEP_CV,
    CV_SWEEP_TRANSFER,
    CV_SWEEP_COMPUTE,
    CV_SWEEP_NODES
};

struct cv_sweep {
    enum cv_swept what;
    const char *name;     /* "cv"; static              */
    const double *values; /* in the arena, increasing  */
    size_t count;
};

enum { CV_SWEEP_VALUES = 1000 }; /* most in a sweep */

/* Both return an exit status; what is wrong has been told. `text` NULL is a sweep over
 * nothing, with one value. */
int cv_sweep_read(const char *text, struct cv_arena *arena, struct cv_sweep *out);
/* Put value `index` into the job, whose laws may be replaced by texts in the arena. */
int cv_sweep_apply(const struct cv_sweep *sweep, size_t index, struct cv_arena *arena,
                   struct cleave_reduction *job);

#endif
