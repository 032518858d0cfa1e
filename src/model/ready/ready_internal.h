/* ready_internal.h -- what the two ways to find a tree for ready times share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_READY_INTERNAL_H
#define CV_READY_INTERNAL_H
#include "model/ready/ready_tree.h"

/* A place where a node may be born or a chain may stop. */
struct cv_ready_slot {
    double t;
    uint32_t chain;
};

/* Slots of one kind in order of time: [front, back) may be had by the node at hand, those
 * from `waiting` to before `end` not yet. Between them are slots given away. */
struct cv_ready_queue {
    struct cv_ready_slot *at;
    uint32_t front, back, waiting, end;
    double above; /* level less time */
};

enum { CV_READY_FRESH, CV_READY_GROWN, CV_READY_ROOT, CV_READY_QUEUES };

struct cv_ready_late; /* ready_late.c */

struct cv_ready_planner {
    uint32_t max;     /* nodes there is room for                        */
    uint32_t *order;  /* nodes by decreasing ready time                 */
    double *sorted;   /* their times; then room for as many numbers     */
    uint32_t *spare;  /* another tree                                   */
    uint32_t *second; /* and one more                                   */
    uint32_t *above;  /* per chain: the one it was born from            */
    uint32_t *owner;  /* per chain: a node, or CV_NO_NODE               */
    uint32_t nchains, chains_most;
    double amin_s;   /* the least ready time                           */
    double next_s;   /* no length below it is possible                 */
    double needed_s; /* what the tree needs that is being made         */
    struct cv_ready_queue queue[CV_READY_QUEUES];
    struct cv_ready_late *late;
};

/* A chain born from another; its number. */
static inline uint32_t cv_ready_chain(struct cv_ready_planner *planner, uint32_t above)
{
    planner->above[planner->nchains] = above;
    planner->owner[planner->nchains] = UINT32_MAX;
    return planner->nchains++;
}

/* A chain that stops at `level` is node's. */
static inline void cv_ready_give(struct cv_ready_planner *planner,
                                 const struct cv_ready_job *job, uint32_t chain,
                                 uint32_t node, double level)
{
    const double needed_s = job->ready_s[node] + level;

    planner->owner[chain] = node;
    if (needed_s > planner->needed_s)
        planner->needed_s = needed_s;
}

static inline void cv_ready_note(struct cv_ready_planner *planner, double time_s)
{
    if (time_s < planner->next_s)
        planner->next_s = time_s;
}

struct cv_ready_late *cv_ready_late_new(struct cv_arena *arena, uint32_t chains);
/* Whether a tree was found for early with d > c, up to who owns which chain: of the slots
 * a node may have it gets the one with the greatest t, or the greatest level. */
bool cv_ready_decide_late(struct cv_ready_planner *planner,
                          const struct cv_ready_job *job, uint32_t root, double time_s,
                          bool by_level);

#endif
