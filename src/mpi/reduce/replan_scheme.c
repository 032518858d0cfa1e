/* replan_scheme.c -- tree-replan among MPI ranks. SPDX-License-Identifier: MIT
 *
 * Without atomic operations. Whoever comes tells the root in a short message, and is told
 * whom to expect partials from and whom to send to; the root decides as they come
 * (replan_plan.h). A rank that is told only whom to expect says when it has combined
 * them. So a partial that comes last costs two short messages and one transfer, and
 * nobody waits at a place of a tree whose owner has not come.
 *
 * The root has heard all that a rank has to say before it tells that rank where to send,
 * after which that one says no more, and the root listens to it no more: messages of two
 * reductions cannot be confused. Whoever listens does so before anything can be said, so
 * that a message need not wait for that.
 *
 * It pays as long as ranks come far apart, and the root sees whether it does: how long after
 * the last had come the result was there, with a plan and, when all were told to use
 * MPI_Reduce, without. The first call of a size goes there in any case, later ones where
 * plans do not pay or all come within a moment, and then more and more of them unasked
 * (replan_history.h). */
#include <stdlib.h>

#include "mpi/reduce/partial_transfer.h"
#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/replan_internal.h"
#include "mpi/reduce/slices.h"

enum { BEGIN, AWAIT, RECEIVE, SEND };

static void free_replanning(struct cv_replanning *of)
{
    if (of->saying != MPI_REQUEST_NULL)
        PMPI_Wait(&of->saying, MPI_STATUS_IGNORE);
    cv_replan_free(of->plan);
    free(of->told);
    free(of->heard);
    free(of->listening);
    free(of->statuses);
    free(of->pace);
    free(of->there);
    free(of);
}

static int make_replanning(struct cv_comm_state *state)
{
    const size_t n = (size_t)state->size;
    struct cv_replanning *of = calloc(1, sizeof *of);

    if (of == NULL)
        return MPI_ERR_NO_MEM;
    of->saying = MPI_REQUEST_NULL;
    of->plan = cv_replan_new(state->size);
    of->told = calloc(3 * n + CV_TOLD_FROM, sizeof *of->told);
    of->heard = calloc(n, sizeof *of->heard);
    of->listening = calloc(n + 1 + CV_SLICE_REQUESTS, sizeof(MPI_Request));
    of->statuses = calloc(n, sizeof(MPI_Status));
    of->pace = calloc(2 * n, sizeof *of->pace);
    of->there = calloc(n, sizeof *of->there);
    if (of->plan == NULL || of->told == NULL || of->heard == NULL ||
        of->listening == NULL || of->statuses == NULL || of->pace == NULL ||
        of->there == NULL) {
        free_replanning(of);
        return MPI_ERR_NO_MEM;
    }
    of->expect = of->told + n + CV_TOLD_FROM;
    of->which = of->expect + n;
    of->came_s = of->pace + n;
    for (size_t i = 0; i <= n + CV_SLICE_REQUESTS; i++)
        of->listening[i] = MPI_REQUEST_NULL;
    state->replanning = of;
    state->free_replanning = free_replanning;
    return MPI_SUCCESS;
}

static bool is_root(const struct cv_reduction *r)
{
    return r->state->rank == r->root;
}

/* --- the others ------------------------------------------------------------------------- */

/* To the root: this rank is there, and has combined so many. */
static int say(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    CV_MPI_TRY(PMPI_Wait(&of->saying, MPI_STATUS_IGNORE));
    of->said = r->at.replan.said = r->at.replan.done;
    return PMPI_Isend(&of->said, 1, MPI_INT, r->root, CV_TAG_TOLD, r->state->comm,
                      &of->saying);
}

static int listen_to_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(of->told, r->state->size + CV_TOLD_FROM, MPI_INT, r->root,
                      CV_TAG_TOLD, r->state->comm, of->listening);
}

static int hear_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    int count;

    CV_MPI_TRY(PMPI_Get_count(&r->status, MPI_INT, &count));
    at->to = of->told[CV_TOLD_TO];
    cv_replan_habit(r)->unasked = of->told[CV_TOLD_UNASKED];
    for (int i = CV_TOLD_FROM; i < count; i++)
        of->expect[at->expected++] = of->told[i];
    return MPI_SUCCESS;
}

/* --- all -------------------------------------------------------------------------------- */

static int replan_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    if (state->replanning == NULL)
        CV_MPI_TRY(make_replanning(state));
    CV_MPI_TRY(cv_link_costs_measure(&state->costs, state->comm));
    r->at.replan = (struct cv_in_replan){ .step = BEGIN, .to = CV_TO_NOBODY, .said = -1 };
    if (r->blocks && cv_replan_habit(r)->unasked > 0) {
        cv_replan_habit(r)->unasked--;
        r->at.replan.to = CV_TO_MPI;
    }
    return MPI_SUCCESS;
}

/* What has come is taken in. */
static int take(struct cv_reduction *r)
{
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && !is_root(r))
        return hear_root(r);
    if (is_root(r) && r->which > 0) {
        CV_MPI_TRY(cv_replan_root_hear(r, r->which - 1));
        return cv_replan_root_direct(r);
    }
    if (at->step == SEND)
        return cv_partial_transfer_send_on(r, &at->data);
    CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    if (at->data != NULL)
        return MPI_SUCCESS;
    at->done++;
    at->step = AWAIT;
    if (!is_root(r))
        return MPI_SUCCESS;
    cv_replan_hear(r->state->replanning->plan, r->root, at->done, PMPI_Wtime());
    return cv_replan_root_direct(r);
}

/* What to wait for: a segment, what is said, or at the root either. */
static int await_next(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    *out = at->step == AWAIT ? NULL : at->data;
    if (is_root(r)) {
        if (cv_replan_is_complete(of->plan))
            return MPI_SUCCESS;
        r->any = of->listening;
        r->nany = r->state->size + 1;
        if (*out == NULL)
            *out = of->listening;
        return MPI_SUCCESS;
    }
    if (at->step != AWAIT)
        return MPI_SUCCESS;
    *out = of->listening;
    CV_MPI_TRY(listen_to_root(r));
    return at->said != at->done ? say(r) : MPI_SUCCESS;
}

static int go_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && at->to == CV_TO_SLICES) {
        return cv_slices_run(r, of->expect, at->expected, cv_replan_requests(r->state));
    } else if (at->step == AWAIT && at->done < at->expected) {
        at->step = RECEIVE;
        CV_MPI_TRY(cv_partial_transfer_receive(r, of->expect[at->done], CV_RIGHT));
        CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    } else if (at->step == AWAIT && at->to >= 0) {
        at->step = SEND;
        cv_partial_transfer_send(r, at->to);
        CV_MPI_TRY(cv_partial_transfer_send_on(r, &at->data));
    } else if (at->step == AWAIT && at->to == CV_TO_MPI) {
        return cv_replan_by_mpi(r);
    }
    return await_next(r, out);
}

/* For the next time, when a plan has been carried out. */
static void learn(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    const struct cv_in_replan *at = &r->at.replan;

    if (r->combined_bytes > 0)
        of->combine_byte_s = r->combine_s / r->combined_bytes;
    if (is_root(r) && at->to != CV_TO_MPI)
        cv_replan_root_learn(r);
}

static int replan_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_replan *at = &r->at.replan;
    bool over = false;

    *out = NULL;
    if (at->step != BEGIN) {
        CV_MPI_TRY(take(r));
    } else {
        at->step = AWAIT;
        if (is_root(r) && at->to != CV_TO_MPI)
            CV_MPI_TRY(cv_replan_root_open(r, &over));
    }
    if (over)
        return MPI_SUCCESS;
    CV_MPI_TRY(go_on(r, out));
    if (*out == NULL)
        learn(r);
    return MPI_SUCCESS;
}

const struct cv_reduction_algorithm cv_scheme_tree_replan = { replan_begin,
                                                              replan_advance };
