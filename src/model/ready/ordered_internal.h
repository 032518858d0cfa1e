/* ordered_internal.h -- the ways to find an ordered tree with overlap.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_INTERNAL_H
#define CV_ORDERED_INTERNAL_H
#include "model/ready/ready_ordered.h"

/* absent, and early with d <= c. */
enum cleave_status cv_ordered_overlap(const struct cv_ready_job *job,
                                      struct cv_ordered_tree *tree, double *out_s,
                                      struct cleave_error *err);
/* early with d > c. */
enum cleave_status cv_ordered_late(const struct cv_ready_job *job,
                                   struct cv_ordered_tree *tree, double *out_s,
                                   struct cleave_error *err);

/* Where the interval i .. j is cut. */
struct cv_ordered_cut {
    uint32_t cut; /* the last node of the left part */
    bool left_receives;
};

/* *which: CV_FIRST_CUT for all of a sender's interval, then what the last call has left there. */
#define CV_FIRST_CUT UINT32_MAX
typedef struct cv_ordered_cut cv_ordered_cut_of(const void *context, uint32_t i,
                                                uint32_t j, uint32_t *which);
/* The tree that these cuts make of all n nodes; false when memory is short. */
bool cv_ordered_build(uint32_t n, cv_ordered_cut_of *cut_of, const void *context,
                      struct cv_ordered_tree *tree);

#endif
