/* reduction.c -- reductions of a communicator in a queue. SPDX-License-Identifier: MIT */
#include "mpi/reduce/reduction.h"

#include <math.h>
#include <sched.h>

#include "mpi/reduce/comm_state.h"

static void enqueue(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    r->next = NULL;
    r->begun = r->ended = false;
    r->held = r->send;
    r->writable = r->in_place;
    if (state->first == NULL)
        state->first = r;
    else
        state->last->next = r;
    state->last = r;
    atomic_fetch_add_explicit(&cv_mpi_process.pending, 1, memory_order_relaxed);
}

/* Dynamic policies send a partial in CV_DEPTH segments: all are in flight at once, and no
 * rank wakes up only to send the next one. */
static const double least_segment = 262144, most_segment = 16777216;
/* Between machines, segments that MPI libraries send eagerly. */
static const double least_apart = 32768;

static double dynamic_segment(const struct cv_comm_state *state,
                              enum cv_mpi_policy policy, double bytes)
{
    const double min = policy == CV_MPI_TREE_REPLAN ? least_apart : least_segment;

    if (state->settings.segment_bytes > 0)
        return state->settings.segment_bytes;
    return fmin(fmax(bytes / CV_DEPTH, min), most_segment);
}

int cv_reduction_begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
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
    /* If all ranks get the result, all use MPI_IN_PLACE or none. */
    if (call->send == MPI_IN_PLACE && !at_root)
        r->send = call->recv;
    r->blocks = false;
    if (policy == CV_MPI_TREE_DYN || policy == CV_MPI_ORDERED ||
        policy == CV_MPI_TREE_REPLAN)
        cv_vector_cut(&r->vector, dynamic_segment(state, policy, r->vector.bytes));
    enqueue(r);
    return MPI_SUCCESS;
}

/* MPI_Reduce in the queue. */
static int mpi_begin(struct cv_reduction *r)
{
    return PMPI_Ireduce(r->in_place ? MPI_IN_PLACE : r->send, r->recv, r->vector.count,
                        r->vector.type, r->vector.op, r->root, r->state->comm,
                        &r->request);
}

static int mpi_advance(struct cv_reduction *r, MPI_Request **out)
{
    *out = r->request == MPI_REQUEST_NULL ? NULL : &r->request;
    return MPI_SUCCESS;
}

static const struct cv_reduction_algorithm scheme_mpi = { mpi_begin, mpi_advance };

static const struct cv_reduction_algorithm *scheme_of(enum cv_mpi_policy policy)
{
    switch (policy) {
    case CV_MPI_TREE_DYN:
        return &cv_algorithm_tree_dyn;
    case CV_MPI_ORDERED:
        return &cv_algorithm_ordered;
    case CV_MPI_TREE_REPLAN:
        return &cv_algorithm_tree_replan;
    case CV_MPI_MPI:
        return &scheme_mpi;
    default:
        return &cv_algorithm_tree;
    }
}

static int begin(struct cv_reduction *r)
{
    r->keeps_order = !r->vector.commutes || r->policy == CV_MPI_ORDERED;
    r->whole = r->recv_buffers = NULL;
    r->in.posted = r->in.done = r->out.posted = r->out.done = 0;
    r->combine_s = r->combined_bytes = 0;
    r->awaited = NULL;
    r->nany = 0;
    r->algorithm = scheme_of(r->policy);
    r->begun = true;
    CV_MPI_TRY(r->algorithm->begin(r));
    return r->algorithm->advance(r, &r->awaited);
}

static int await_once(struct cv_reduction *r, bool block, int *complete)
{
    r->which = 0;
    if (r->nany == 0)
        return block ? PMPI_Wait(r->awaited, &r->status)
                     : PMPI_Test(r->awaited, complete, &r->status);
    r->any[0] = r->awaited == r->any ? MPI_REQUEST_NULL : *r->awaited;
    CV_MPI_TRY(block ? PMPI_Waitany(r->nany, r->any, &r->which, &r->status)
                     : PMPI_Testany(r->nany, r->any, &r->which, complete, &r->status));
    if (r->awaited != r->any)
        *r->awaited = r->any[0];
    r->any[0] = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* If ranks share processors, a waiting rank yields; not every MPI library does. */
static int await(struct cv_reduction *r, bool block, int *complete)
{
    if (!block || !r->state->costs.crowded)
        return await_once(r, block, complete);
    for (;;) {
        CV_MPI_TRY(await_once(r, false, complete));
        if (*complete)
            return MPI_SUCCESS;
        sched_yield();
    }
}

/* One step of the first reduction in the queue; *out_stuck: it waits for other ranks. */
static int step(struct cv_comm_state *state, bool block, bool *out_stuck)
{
    struct cv_reduction *r = state->first;
    int complete = 1;

    if (!r->begun) {
        CV_MPI_TRY(begin(r));
    } else {
        CV_MPI_TRY(await(r, block, &complete));
        if (complete) {
            r->nany = 0;
            CV_MPI_TRY(r->algorithm->advance(r, &r->awaited));
        }
    }
    *out_stuck = !complete;
    if (r->awaited == NULL) {
        r->ended = true;
        state->first = r->next;
        atomic_fetch_sub_explicit(&cv_mpi_process.pending, 1, memory_order_relaxed);
    }
    return MPI_SUCCESS;
}

int cv_reduction_drive(struct cv_reduction *r, bool block)
{
    struct cv_comm_state *state = r->state;
    bool stuck = false;

    while (!r->ended && !stuck && state->broken == MPI_SUCCESS)
        state->broken = step(state, block, &stuck);
    return r->ended ? MPI_SUCCESS : state->broken;
}

int cv_reduction_drain(struct cv_comm_state *state)
{
    return state->first == NULL ? MPI_SUCCESS : cv_reduction_drive(state->last, true);
}
