/* call_begin.c -- a call becomes a reduction. SPDX-License-Identifier: MIT */
#include <math.h>

#include "mpi/reduce/mpi_process.h"
#include "mpi/reduce/mpi_call.h"
#include "mpi/memory/mpi_try.h"

/* In the dynamic policies a partial travels in as many pieces as may be under way: then all
 * are on their way at once, and no rank has to wake up only to send the next. */
static const double least_segment = 262144, most_segment = 16777216;
/* Between machines, pieces that MPI libraries send without asking the receiver first. */
static const double least_apart = 32768;

static double dynamic_segment(const struct cv_comm_state *state,
                              enum cv_mpi_policy policy, double bytes)
{
    const double min = policy == CV_MPI_TREE_REPLAN ? least_apart : least_segment;

    if (state->settings.segment_bytes > 0)
        return state->settings.segment_bytes;
    return fmin(fmax(bytes / CV_DEPTH, min), most_segment);
}

int cv_call_begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                  struct cv_comm_state *state, struct cv_reduction *r)
{
    bool at_root = state->rank == call->root;

    r->state = state;
    CV_MPI_TRY(cv_vector_init(&r->vector, call->count, call->type, call->op));
    if (policy == CV_MPI_TREE_DYN && !r->vector.commutes)
        return cv_mpi_process_error("tree-dyn needs an operator that commutes; "
                                    "ordered-tree-dyn does not");
    if (policy == CV_MPI_TREE_REPLAN && !r->vector.commutes)
        return cv_mpi_process_error("tree-replan needs an operator that commutes; "
                                    "ordered-tree-dyn does not");
    r->policy = policy == CV_MPI_FIXED ? CV_MPI_BINOMIAL : policy;
    r->root = call->root;
    r->in_place = call->send == MPI_IN_PLACE && at_root;
    r->recv = at_root ? call->recv : NULL;
    r->send = r->in_place ? call->recv : call->send;
    /* All want the result: then it is in place everywhere, or nowhere. */
    if (call->send == MPI_IN_PLACE && !at_root)
        r->send = call->recv;
    r->blocks = false;
    if (policy == CV_MPI_TREE_DYN || policy == CV_MPI_ORDERED ||
        policy == CV_MPI_TREE_REPLAN)
        cv_vector_cut(&r->vector, dynamic_segment(state, policy, r->vector.bytes));
    cv_reduction_add(r);
    return MPI_SUCCESS;
}
