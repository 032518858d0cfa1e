/* reduce_explain.h -- what is known about how good a tree can be.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_EXPLAIN_H
#define CV_REDUCE_EXPLAIN_H
#include <cleave/reduce.h>
#include "base/text.h"
#include "cli/reduce/reduce_options.h"

/* Add sentences about `tree`: which bound or guarantee holds for its policy and these
 * costs, with the numbers put in. */
void cv_reduce_explain(const struct cleave_tree *tree,
                       const struct cv_reduce_options *options,
                       const struct cv_reduce_job *reduce, struct cv_text *out);

/* The bound ln(sum of exp(s ready)) / s for costs at their means; NAN if there is none. */
double cv_ready_shown_bound(const struct cv_reduce_job *reduce, double d, double c);

#endif
