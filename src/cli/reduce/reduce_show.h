/* reduce_show.h -- a reduction tree as text for people. SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_SHOW_H
#define CV_REDUCE_SHOW_H
#include <cleave/reduce.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/reduce/reduce_options.h"
#include "io/json_out.h"

enum { CV_TREE_DRAWN = 32 }; /* most nodes of a tree that is drawn */

/* "64 nodes, transfer 5ms, compute gamma:1,0.5", in bold on a terminal. */
void cv_reduce_headline(const struct cv_reduce_job *reduce, const char *before,
                        const struct cv_screen *screen, struct cv_text *out);

/* Add length, bounds, shape and, when `trace` is given and the tree small, a drawing. */
void cv_tree_text(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                  const struct cleave_trace *trace, const char *explanation,
                  const struct cv_screen *screen, struct cv_text *out);

/* Members of an object that the caller has opened. */
void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree);
/* degree and depth of the tree and, where all transfers take d and all combinations c, what
 * each of them alone makes it take; NAN: they do not. */
void cv_field_extent(struct cv_json *json, const struct cleave_tree *tree, double d,
                     double c);
/* parent, start and, when the policy keeps order, intervals. */
void cv_field_tree(struct cv_json *json, const struct cleave_tree *tree);

#endif
