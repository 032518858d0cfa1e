/* tree_text.h -- a reduction tree as text for people. SPDX-License-Identifier: MIT */
#ifndef CV_TREE_TEXT_H
#define CV_TREE_TEXT_H
#include <cleave/reduce.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/reduce/reduce_options.h"

enum { CV_TREE_DRAWN = 32 }; /* most nodes of a tree that is drawn */

/* "64 nodes, transfer 5ms, compute gamma:1,0.5", in bold on a terminal. */
void cv_reduce_headline(const struct cv_reduce_job *reduce, const char *before,
                        const struct cv_screen *screen, struct cv_text *out);

/* Add length, bounds, shape and, when `trace` is given and the tree small, a drawing. */
void cv_tree_text(const struct cleave_tree *tree, const struct cv_reduce_job *reduce,
                  const struct cleave_trace *trace, const char *explanation,
                  const struct cv_screen *screen, struct cv_text *out);

#endif
