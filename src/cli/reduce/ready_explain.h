/* ready_explain.h -- what is known about known ready times. SPDX-License-Identifier: MIT */
#ifndef CV_READY_EXPLAIN_H
#define CV_READY_EXPLAIN_H
#include <cleave/reduce.h>
#include "base/text.h"
#include "cli/reduce/reduce_options.h"

/* Add sentences about known ready times: the growth rate, the bound and what it proves. */
void cv_ready_explain(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                      double d, double c, struct cv_text *out);

/* The bound ln(sum of exp(s ready)) / s for costs at their means; NAN if there is none. */
double cv_ready_shown_bound(const struct cv_reduce_job *reduce, double d, double c);

#endif
