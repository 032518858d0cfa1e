/* replan_internal.h -- what the ranks of tree-replan keep, and what its root does.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REPLAN_INTERNAL_H
#define CV_REPLAN_INTERNAL_H
#include "mpi/reduce/reduction.h"
#include "mpi/plan/replan_history.h"
#include "mpi/plan/replan_plan.h"

/* What a rank says: how many partials it has combined. What it is told: whom to send to, or
 * that MPI_Reduce or slices are to be used; how many calls after this one go to MPI_Reduce
 * unasked; and whom to expect before it sends, or who keeps the slices. */
enum { CV_TOLD_TO, CV_TOLD_UNASKED, CV_TOLD_FROM };
enum { CV_TO_NOBODY = -1, CV_TO_MPI = -2, CV_TO_SLICES = -3 };

struct cv_replanning {
    int *told;              /* by the root or, there, what is told to one        */
    int *expect;            /* whom this rank is to expect, in turn              */
    double *came_s;         /* at the root: when each rank came                   */
    bool *there;            /* at the root: who has come, when slices are given    */
    int *heard;             /* at the root: what each rank said                 */
    int *which;             /* at the root: who has said something               */
    MPI_Request *listening; /* at the root for each rank, behind a place for a
                                segment; at another for the root. Behind these,
                                those of slices                                   */
    int said;
    MPI_Request saying;
    double combine_byte_s; /* what the operator took in it, 0: unknown            */
    double *pace;          /* at the root, of each rank                          */
    struct cv_replan_history habits[CV_HABITS];
    MPI_Status *statuses;
    struct cv_replan *plan; /* owned */
};

/* Requests of slices (CV_SLICE_REQUESTS). */
static inline MPI_Request *cv_replan_requests(const struct cv_comm_state *state)
{
    return state->replanning->listening + state->size + 1;
}

static inline struct cv_replan_history *cv_replan_habit(const struct cv_reduction *r)
{
    return &r->state->replanning->habits[cv_replan_history_of(r->vector.bytes)];
}

static inline int cv_replan_by_mpi(struct cv_reduction *r)
{
    return PMPI_Reduce(r->in_place ? MPI_IN_PLACE : r->send, r->recv, r->vector.count,
                       r->vector.type, r->vector.op, r->root, r->state->comm);
}

/* --- replan_root.c --- */

/* The root has come. *out: all have used MPI_Reduce or slices, and that is over. */
int cv_replan_root_open(struct cv_reduction *r, bool *out);
/* What a rank has said is taken in. */
int cv_replan_root_hear(struct cv_reduction *r, int rank);
/* Decide on what can be decided, and tell whom it concerns. */
int cv_replan_root_direct(struct cv_reduction *r);
/* A plan has been carried out. */
void cv_replan_root_learn(struct cv_reduction *r);

#endif
