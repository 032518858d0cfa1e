/* joint.h -- a load and the reduction of its results as one plan. SPDX-License-Identifier: MIT
 *
 * Every worker gets one chunk, makes one partial, and the partials are reduced: along a
 * tree among the workers, or all at the master, over its port, one after the other (star).
 * A worker whose partial is needed early gets less. For an order of sending and a tree the
 * best sizes follow (joint.h), and the end is T_load + sum of y q: so the tree is one
 * with a small weighted sum of tails (joint.h). Sets of workers are tried from all down, the
 * worker of least weight leaving first, and then changed while the end is earlier. */
#ifndef CV_JOINT_H
#define CV_JOINT_H
#include <cleave/error.h>
#include <cleave/platform.h>
#include <stdbool.h>
#include <stdint.h>
#include "model/ready/ready_tree.h"

/* A load for workers (borrowed). */
struct cv_joint_load {
    const struct cleave_worker *workers;
    double units;
    bool multi; /* links share no port */
};

/* T for the `n` workers of `order` with these tails; fills `sizes` and `weights` (y),
 * unless NULL. */
double cv_joint_sizes(const struct cv_joint_load *load, const uint32_t *order, uint32_t n,
                      const double *tails, double *sizes, double *weights);

/* Costs and model; n and ready times are not used. */
struct cv_tail_costs {
    double d, c;
    enum cleave_ready_model model;
};

/* A tree for n nodes; arrays are the caller's. */
struct cv_tail_tree {
    uint32_t *parent, *turn; /* turn: at the receiver, from 0       */
    double *tails;
};

/* A workspace for trees of up to n nodes, in the arena; NULL when memory is short. */
struct cv_tail_workspace;
struct cv_tail_workspace *cv_tail_room_new(struct cv_arena *arena, uint32_t n,
                                           const struct cv_tail_costs *costs);

void cv_tail_room_done(struct cv_tail_workspace *room);

/* Varn's tree; the sum of its tails. Exact for merge, absent, and early with d <= c. */
double cv_varn_tree(struct cv_tail_workspace *room, uint32_t n, struct cv_tail_tree *out);

/* A tree for `weights`; the weighted sum of its tails. */
double cv_tail_tree(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    struct cv_tail_tree *out);

struct cv_joint_job {
    struct cv_joint_load load;
    uint32_t nworkers;
    const uint32_t *order; /* order of sending, with all workers; borrowed */
    struct cv_tail_costs costs;
    bool at_master;   /* the partials are combined there                          */
    uint32_t folders; /* how many the master combines at a time; 0: one */
    bool duplex;      /* the master receives while it sends */
    bool all;         /* use all workers of the load plan */
};

/* Arrays of `used` in the order of sending, in the arena. */
struct cv_joint_plan {
    double end_s;
    uint32_t used;
    uint32_t *order;
    double *sizes;
    double *tails;
    double *with_s;          /* by worker: the end with this one more; INFINITY: it would
                                get nothing */
    uint32_t *parent, *turn; /* by place in the order; NULL at the master               */
};

enum cleave_status cv_joint_plan(const struct cv_joint_job *job, struct cv_arena *arena,
                                 struct cv_joint_plan *out, struct cleave_error *err);

/* The load planned alone so that all end together, then the shortest reduction: with all
 * workers, or with the best number of them. */
enum cleave_status cv_joint_apart(const struct cv_joint_job *job, double *out_s,
                                  uint32_t *out_used, struct cleave_error *err);

/* A lower bound for any order, workers and tree in one round; INFINITY without workers. */
enum cleave_status cv_joint_bound(const struct cv_joint_job *job, double *out_s,
                                  struct cleave_error *err);

#endif
