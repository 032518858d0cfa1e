/* bounds.h -- makespans no schedule can beat. SPDX-License-Identifier: MIT */
#ifndef CV_BOUNDS_H
#define CV_BOUNDS_H
#include <cleave/platform.h>
#include <cleave/run.h>
#include "base/arena.h"

enum { CV_MAX_BOUNDS = 8 };

/* All bounds for `load` units, no results returned, under the given port rule. Returns
 * how many were written; names are static. *out_tightest is the index of the largest.
 * `scratch` is used for working memory. ENOMEM gives 0. */
size_t cv_bounds(const struct cleave_worker *workers, uint32_t nworkers, enum cleave_port port,
                 double load, struct cv_arena *scratch, struct cleave_bound out[CV_MAX_BOUNDS],
                 size_t *out_tightest);

#endif
