/* reduce_task.h -- jobs of reductions, and trees as text and JSON. SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_TASK_H
#define CV_REDUCE_TASK_H
#include "cli/task/task.h"

struct cv_markov;

enum { CV_TREE_DRAWN = 32 }; /* most nodes of a tree that is drawn */

/* The job of the task reduce. */
struct cv_reduce_job {
    struct cleave_reduction job;
    struct cleave_costs *costs; /* owned; NULL: laws */
    double *ready_s;            /* owned; NULL: no times, or a law */
    struct cleave_tree *tree;   /* owned: the plan, or the only run of exact costs */
    double length_s, lower_s, upper_s; /* --length-only */
    double bound_s;                    /* no tree is shorter, costs at their means */
    struct cleave_reduction swept;     /* compare: the job for a value of the sweep */
};

uint32_t cv_reduce_nodes(const struct cv_reduce_job *reduce);
/* The means of transfers and combinations; false if the costs come from a file. */
bool cv_reduce_means(const struct cleave_reduction *job, double *d, double *c);
/* Whether the costs do not vary: a file, or laws without spread. */
bool cv_reduce_is_exact(const struct cleave_reduction *job);
/* The length that no tree is below when all costs are at their means, for any policy. Returns
 * an exit status. */
int cv_reduce_bound(const struct cleave_reduction *job, double *out);
/* Mean and variance of tree-dyn in closed form; false unless costs are exponential and every
 * combination draws its own, or costs nothing. */
bool cv_reduce_closed_form(const struct cleave_reduction *job, struct cv_markov *out);
extern const char *const cv_ready_models[3]; /* by enum cleave_ready_model */

/* "64 nodes, transfer 5ms, compute gamma:1,0.5" */
void cv_reduce_words(const struct cv_reduce_job *reduce, struct cv_text *out);
/* Length, bounds, shape and, if `drawn` and the tree is small, a drawing of the trace. */
void cv_tree_text(struct cv_task_call *task, bool drawn, const struct cv_screen *screen,
                  struct cv_text *out);
/* The proved bound or guarantee for the tree, from its policy and these costs. */
void cv_reduce_explain(const struct cv_reduce_job *reduce,
                       const struct cv_task_options *options, struct cv_text *out);

/* Members of the tree's object: bounds; degree, depth and the bounds that follow from them;
 * the model of ready times and its bound; parent, start and, if the policy keeps the order,
 * intervals. */
void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree);
void cv_field_extent(struct cv_json *json, const struct cv_reduce_job *reduce);
void cv_field_ready(struct cv_json *json, const struct cv_reduce_job *reduce);
void cv_field_tree(struct cv_json *json, const struct cleave_tree *tree);

#endif
