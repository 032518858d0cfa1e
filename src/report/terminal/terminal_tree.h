/* terminal_tree.h -- a reduction tree and what its nodes do, as text.
 * SPDX-License-Identifier: MIT
 *
 * One row per node. On the left the tree: below a node those that send to it, in the
 * order in which it receives. On the right time goes by: a node receives and combines,
 * then sends. Where there is no room for that, the begin of its transfer stands there. */
#ifndef CV_TERMINAL_TREE_H
#define CV_TERMINAL_TREE_H
#include <cleave/reduce.h>
#include <cleave/trace.h>
#include "base/text.h"
#include "report/terminal/terminal_gantt.h"

/* Does nothing for more than style->rows nodes. `trace` is what happened: the entries of
 * one run. */
void cv_terminal_tree(const struct cleave_tree *tree, const struct cleave_trace *trace,
                      const struct cv_gantt_style *style, struct cv_text *out);

#endif
