/* tree_scheme.c -- greedy, binomial and fibonacci among MPI ranks.
 * SPDX-License-Identifier: MIT
 *
 * The tree is fixed before anything is sent, and so is the order in which a node combines:
 * its own values first, then those of its children one after the other. The result is the
 * same, to the last bit, whoever comes first. Long vectors pass in segments: a node passes
 * a segment on as soon as all children's parts of it are in.
 *
 * Segment s of child k is item s m + k, of m children. Items are received ahead into a ring
 * of berths; the last child's go straight to where the result of the segment belongs. */
#include "mpi/reduce/mpi_process.h"
#include "mpi/reduce/reduction.h"
#include "mpi/memory/mpi_try.h"

enum { AGREE, START, TAKE_IN, SEND_ON, COLLECT };

static int plan_tree(struct cv_reduction *r)
{
    const struct cv_mpi_settings *settings = &r->state->settings;
    struct cv_link_costs *costs = &r->state->costs;
    struct cv_tree_request wish = { .policy = r->policy,
                                    .rank = r->state->rank,
                                    .size = r->state->size,
                                    .root = r->root,
                                    .commutes = r->vector.commutes,
                                    .bytes = r->vector.bytes,
                                    .segment_bytes = settings->segment_bytes };

    if (r->policy == CV_MPI_GREEDY) {
        cv_link_costs_settle(costs);
        wish.latency_s = costs->latency_s;
        wish.byte_s = costs->byte_s;
        wish.combine_byte_s = costs->combine_byte_s;
        wish.crowded = costs->crowded;
        if (settings->transfer_s > 0) {
            if (wish.latency_s > settings->transfer_s)
                wish.latency_s = settings->transfer_s;
            wish.byte_s = (settings->transfer_s - wish.latency_s) / wish.bytes;
        }
        if (settings->combine_s > 0)
            wish.combine_byte_s = settings->combine_s / wish.bytes;
    }
    if (!cv_tree_plan_make(&r->state->plan, &wish))
        return MPI_ERR_NO_MEM;
    return MPI_SUCCESS;
}

static int tree_begin(struct cv_reduction *r)
{
    r->at.tree.step = AGREE;
    if (r->policy != CV_MPI_GREEDY)
        return MPI_SUCCESS;
    return cv_link_costs_measure(&r->state->costs, r->state->comm);
}

/* What has to be known before the tree is, or NULL. */
static MPI_Request *agreement(struct cv_reduction *r)
{
    MPI_Request *agreeing = &r->state->costs.agreeing;

    return r->policy == CV_MPI_GREEDY && *agreeing != MPI_REQUEST_NULL ? agreeing : NULL;
}

static int grow_tree(struct cv_reduction *r)
{
    struct cv_in_tree *tree = &r->at.tree;
    struct cv_comm_state *state = r->state;
    bool moves;

    CV_MPI_TRY(plan_tree(r));
    cv_vector_cut(&r->vector, state->plan.segment_bytes);
    *tree = (struct cv_in_tree){ .step = START, .parent = state->plan.parent };
    tree->items = (long)state->plan.nchildren * r->vector.segments;
    /* In order, the tree is rooted at rank 0, whence the result moves on. */
    moves = !r->vector.commutes && r->root != 0;
    if (moves && state->rank == 0)
        tree->parent = r->root;
    tree->collects = moves && state->rank == r->root;
    tree->own_place = r->writable && !tree->collects;
    if (tree->items > 0)
        CV_MPI_TRY(cv_reduction_recv_buffers(r));
    if (tree->items > 0 && !tree->collects)
        return cv_reduction_whole(r);
    if (tree->items > 0) {
        /* What is collected later goes where the own values may be now. */
        char *bytes = cv_scratch_get(&state->whole, r->vector.span);

        if (bytes == NULL)
            return MPI_ERR_NO_MEM;
        r->whole = bytes - r->vector.lower;
    }
    return MPI_SUCCESS;
}

/* Where an item arrives. */
static char *item_place(const struct cv_reduction *r, long item)
{
    int nchildren = r->state->plan.nchildren;
    bool last = (item + 1) % nchildren == 0;

    if (last && !r->at.tree.own_place)
        return r->whole + cv_vector_offset(&r->vector, (int)(item / nchildren));
    return cv_reduction_recv_buffer(r, item);
}

/* The own values may be overwritten, at the root and in place. */
static int combine_in_place(struct cv_reduction *r, char *arrived, char *own, int count)
{
    if (r->vector.commutes)
        return cv_reduction_combine(r, arrived, own, count);
    CV_MPI_TRY(cv_reduction_combine(r, own, arrived, count));
    return cv_vector_copy(&r->vector, arrived, own, count, r->state->comm,
                          r->state->rank);
}

static int take_item(struct cv_reduction *r)
{
    struct cv_in_tree *tree = &r->at.tree;
    int nchildren = r->state->plan.nchildren;
    int segment = (int)(tree->done / nchildren);
    int count = cv_vector_part(&r->vector, segment);
    MPI_Aint offset = cv_vector_offset(&r->vector, segment);
    char *arrived = item_place(r, tree->done);

    if (tree->own_place) {
        tree->done++;
        return combine_in_place(r, arrived, (char *)r->recv + offset, count);
    }
    if (tree->done % nchildren == 0)
        tree->sum = (const char *)r->send + offset;
    CV_MPI_TRY(cv_reduction_combine(r, tree->sum, arrived, count));
    tree->sum = arrived;
    tree->done++;
    return MPI_SUCCESS;
}

static int post_items(struct cv_reduction *r)
{
    struct cv_in_tree *tree = &r->at.tree;
    const struct cv_tree_plan *plan = &r->state->plan;

    while (tree->posted < tree->items && tree->posted < tree->done + CV_DEPTH) {
        long item = tree->posted++;

        CV_MPI_TRY(PMPI_Irecv(item_place(r, item),
                              cv_vector_part(&r->vector, (int)(item / plan->nchildren)),
                              r->vector.type, plan->children[item % plan->nchildren],
                              CV_TAG_TREE, r->state->comm, &tree->in[item % CV_DEPTH]));
    }
    return MPI_SUCCESS;
}

/* Send the segments that are ready; *out: one that must be gone first. */
static int send_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_tree *tree = &r->at.tree;
    int nchildren = r->state->plan.nchildren;
    int ready = nchildren > 0 ? (int)(tree->done / nchildren) : r->vector.segments;
    const char *from = nchildren > 0 ? r->whole : r->send;
    /* The result travels apart from what the root still receives from rank 0's tree. */
    int tag = r->state->plan.parent < 0 ? CV_TAG_RESULT : CV_TAG_TREE;

    *out = NULL;
    if (tree->parent < 0)
        return MPI_SUCCESS;
    while (tree->sent < ready && tree->sent < tree->gone + CV_DEPTH) {
        int i = tree->sent++;

        CV_MPI_TRY(PMPI_Isend(from + cv_vector_offset(&r->vector, i),
                              cv_vector_part(&r->vector, i), r->vector.type, tree->parent,
                              tag, r->state->comm, &tree->out[i % CV_DEPTH]));
    }
    /* Once all has arrived there is nothing else to do than to see it go. The result is
     * not waited for earlier: the root takes it when all that it has to send is gone, which
     * may be waiting for this rank. */
    if (tree->done == tree->items ? tree->gone < tree->sent
                                  : tree->sent < ready && tag == CV_TAG_TREE)
        *out = &tree->out[tree->gone % CV_DEPTH];
    return MPI_SUCCESS;
}

/* The result, at last, if rank 0 made it for another root. */
static int collect(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_tree *tree = &r->at.tree;
    int segments = r->vector.segments;

    if (tree->step == COLLECT)
        tree->gone++;
    else
        tree->sent = tree->gone = 0;
    tree->step = COLLECT;
    while (tree->sent < segments && tree->sent < tree->gone + CV_DEPTH) {
        int i = tree->sent++;

        CV_MPI_TRY(PMPI_Irecv((char *)r->recv + cv_vector_offset(&r->vector, i),
                              cv_vector_part(&r->vector, i), r->vector.type, 0,
                              CV_TAG_RESULT, r->state->comm, &tree->in[i % CV_DEPTH]));
    }
    *out = tree->gone < segments ? &tree->in[tree->gone % CV_DEPTH] : NULL;
    return MPI_SUCCESS;
}

static int finish(struct cv_reduction *r)
{
    /* What is given need not be found out. */
    if (r->policy != CV_MPI_GREEDY || r->state->settings.combine_s > 0)
        return MPI_SUCCESS;
    return cv_link_costs_note(&r->state->costs, r->state->comm, r->combine_s,
                              r->combined_bytes);
}

static int tree_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_tree *tree = &r->at.tree;

    if (tree->step == AGREE) {
        *out = agreement(r);
        if (*out != NULL)
            return MPI_SUCCESS;
        CV_MPI_TRY(grow_tree(r));
    }
    if (tree->step == COLLECT) {
        CV_MPI_TRY(collect(r, out));
        return *out == NULL ? finish(r) : MPI_SUCCESS;
    }
    if (tree->step == TAKE_IN)
        CV_MPI_TRY(take_item(r));
    else if (tree->step == SEND_ON)
        tree->gone++;
    CV_MPI_TRY(post_items(r));
    tree->step = SEND_ON;
    CV_MPI_TRY(send_on(r, out));
    if (*out != NULL)
        return MPI_SUCCESS;
    tree->step = TAKE_IN;
    if (tree->done < tree->items) {
        *out = &tree->in[tree->done % CV_DEPTH];
        return MPI_SUCCESS;
    }
    if (tree->collects)
        CV_MPI_TRY(collect(r, out));
    return *out == NULL ? finish(r) : MPI_SUCCESS;
}

const struct cv_reduction_algorithm cv_scheme_tree = { tree_begin, tree_advance };
