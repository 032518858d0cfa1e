/* reduce_tree_facts.h -- a tree as it came about, and what is known about its length.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_TREE_FACTS_H
#define CV_REDUCE_TREE_FACTS_H
#include <cleave/reduce.h>
#include "engine/driver.h"
#include "model/reduce/reduce_costs.h"

/* What the public tree points into. */
struct cv_owned_tree {
    struct cleave_tree tree; /* first: this is what callers hold */
    struct cv_arena arena;
};

/* Who sent to whom, when, and which inputs it carried, from the entries of a trace. */
enum cleave_status cv_tree_gather(const struct cleave_trace *trace, size_t first_entry,
                                  bool plain, struct cv_owned_tree *owned,
                                  struct cleave_error *err);

/* From 100000 nodes on, a fixed tree is executed by formula, without events, if nobody wants
 * to see them. *out_done tells whether that was so. */
enum cleave_status cv_tree_directly(const struct cleave_reduction *job,
                                    const struct cv_reduce_costs *costs,
                                    const struct cv_planned *planned,
                                    struct cv_owned_tree *owned, bool *out_done,
                                    struct cleave_error *err);

/* Lower and upper bound, and the optimum where it is known. */
enum cleave_status cv_tree_bound(const struct cv_reduce_costs *costs,
                                 const struct cv_planned *planned,
                                 struct cv_owned_tree *owned, struct cleave_error *err);

#endif
