/* ordered_inner.h -- the ways to find an ordered tree with overlap.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_INNER_H
#define CV_ORDERED_INNER_H
#include "model/ready/ready_ordered.h"

/* absent, and early with d <= c. */
enum cleave_status cv_ordered_overlap(const struct cv_ready_job *job,
                                      struct cv_ordered_tree *tree, double *out_s,
                                      struct cleave_error *err);
/* early with d > c. */
enum cleave_status cv_ordered_late(const struct cv_ready_job *job,
                                   struct cv_ordered_tree *tree, double *out_s,
                                   struct cleave_error *err);

#endif
