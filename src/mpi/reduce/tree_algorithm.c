/* tree_algorithm.c -- greedy, binomial and fibonacci. SPDX-License-Identifier: MIT
 *
 * The tree is fixed before anything is sent, and so is the order in which a node
 * combines: its own values first, then those of its children one after the other. So the
 * result is the same, to the last bit, in whatever order ranks arrive. Vectors are sent
 * in segments: a node sends a segment on when the segments of all children have been
 * combined. */
#include "mpi/reduce/tree_algorithm.h"

#include <stdlib.h>
#include "model/reduce/reduce_tree.h"
#include "mpi/reduce/comm_state.h"
#include "mpi/reduce/reduction.h"

/* --- plans -------------------------------------------------------------------------- */

/* A vector of S segments takes about
 *
 *     L(d, c) + (S - 1) m max(d, c)
 *
 * where L is the length of the tree for one segment, with costs d and c, and m the
 * largest number of senders of a node, which receives m segments for each that it sends
 * on. The shortest tree for one segment has many senders at its root; with many segments
 * a narrow tree is better, down to the chain. So greedy tries greedy trees of at most 1,
 * 2, 4, ... senders with S = 1, 2, 4, ..., and takes the best.
 *
 * If ranks share processors, nodes of a chain do not work at the same time: they wait to
 * be scheduled, for every segment. Then a vector is sent in one or a few segments. */

/* Limits memory only: in a wide tree, pipelining costs more than it gains. */
static const double default_segment = 8388608;
enum { LEAST_SEGMENT = 65536, MOST_SEGMENTS = 64 };

/* Greedy insertion has two queues, both in order of time: nodes without senders, and
 * nodes that can receive again. */
double cv_tree_narrow(uint32_t n, uint32_t max, double d, double c, uint32_t *parent,
                      double *time, uint32_t *senders)
{
    double length = 0, slower = d > c ? d : c;
    uint32_t fresh = 0, head = 0, tail = 0;
    double *again = time + n; /* the second queue: times, nodes */
    uint32_t *who = senders + n;

    parent[0] = CV_NO_NODE;
    time[0] = 0;
    senders[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        bool back = head < tail && (fresh == i || again[head] <= time[fresh]);
        uint32_t node = back ? who[head] : fresh;
        double at = back ? again[head] : time[fresh];

        if (back)
            head++;
        else
            fresh++;
        parent[i] = node;
        time[i] = length = at + c + d;
        senders[i] = 0;
        if (++senders[node] < max) {
            who[tail] = node;
            again[tail++] = at + slower;
        }
    }
    return length;
}

static double estimate(double length, uint32_t max, double d, double c, double segments)
{
    return length + (segments - 1) * max * (d > c ? d : c);
}

static uint32_t most_senders(const uint32_t *senders, uint32_t n)
{
    uint32_t max = 0;

    for (uint32_t i = 0; i < n; i++)
        max = senders[i] > max ? senders[i] : max;
    return max;
}

static void choose_greedy(struct cv_tree_plan *plan,
                          const struct cv_tree_request *request, uint32_t *parent,
                          double *time, uint32_t *senders)
{
    const uint32_t n = (uint32_t)request->size;
    double best = 0, best_d = 0, best_c = 0;
    uint32_t best_most = 0;
    double given = request->crowded && request->segment_bytes == 0
                       ? default_segment
                       : request->segment_bytes;

    for (int segments = 1; segments <= MOST_SEGMENTS; segments *= 2) {
        double bytes = request->bytes / segments;
        double d, c;

        if (given > 0)
            bytes = given < request->bytes ? given : request->bytes;
        d = request->latency_s + bytes * request->byte_s;
        c = bytes * request->combine_byte_s;
        for (uint32_t max = 1;; max *= 2) {
            double length = cv_tree_narrow(n, max, d, c, parent, time, senders);
            uint32_t met = most_senders(senders, n);
            double total = estimate(length, met, d, c, request->bytes / bytes);

            if (best_most == 0 || total < best) {
                best = total, best_d = d, best_c = c, best_most = max;
                plan->segment_bytes = bytes;
            }
            if (met < max)
                break;
        }
        if (given > 0 || bytes / 2 < LEAST_SEGMENT)
            break;
    }
    cv_tree_narrow(n, best_most, best_d, best_c, parent, time, senders);
}

/* The position of every node: its own value first, then the blocks of its senders, which
 * arrive in reverse order of insertion. Senders have higher numbers than receivers. */
static void lay_out(const uint32_t *parent, uint32_t n, uint32_t *size, uint32_t *taken,
                    uint32_t *position)
{
    for (uint32_t i = 0; i < n; i++)
        size[i] = 1, taken[i] = 0;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t above = parent[i];

        position[i] = taken[above];
        taken[above] += size[i];
        size[above] += size[i];
    }
    position[0] = 0;
    for (uint32_t i = 1; i < n; i++)
        position[i] += position[parent[i]] + 1;
}

static int rank_of(const struct cv_tree_request *request, const uint32_t *position,
                   uint32_t node)
{
    int64_t rank = (int64_t)node + request->root;

    if (!request->commutes)
        return (int)position[node];
    return (int)(rank < request->size ? rank : rank - request->size);
}

/* Keep the part of this rank. */
static void keep_own(struct cv_tree_plan *plan, const struct cv_tree_request *request,
                     const uint32_t *parent, const uint32_t *position)
{
    const uint32_t n = (uint32_t)request->size;
    uint32_t me = 0;

    while (rank_of(request, position, me) != request->rank)
        me++;
    plan->parent = me == 0 ? -1 : rank_of(request, position, parent[me]);
    plan->nchildren = 0;
    for (uint32_t i = n - 1; i > me; i--)
        if (parent[i] == me)
            plan->children[plan->nchildren++] = rank_of(request, position, i);
}

static bool grow_array(struct cv_tree_plan *plan, uint32_t n)
{
    /* parent, 2 senders, 2 position, children; 2 times: see cv_tree_plan_make. */
    const size_t node = 7 * sizeof(uint32_t) + 2 * sizeof(double);

    if (plan->room >= n)
        return true;
    free(plan->tree);
    plan->room = 0;
    plan->tree = malloc(n * node);
    if (plan->tree == NULL)
        return false;
    plan->room = n;
    return true;
}

static bool same_request(const struct cv_tree_request *a, const struct cv_tree_request *b)
{
    return a->policy == b->policy && a->rank == b->rank && a->size == b->size &&
           a->root == b->root && a->commutes == b->commutes && a->bytes == b->bytes &&
           a->segment_bytes == b->segment_bytes && a->latency_s == b->latency_s &&
           a->byte_s == b->byte_s && a->combine_byte_s == b->combine_byte_s &&
           a->crowded == b->crowded;
}

bool cv_tree_plan_make(struct cv_tree_plan *plan, const struct cv_tree_request *request)
{
    const uint32_t n = (uint32_t)request->size;
    double *time;
    uint32_t *parent, *senders, *size, *taken, *position;

    if (same_request(&plan->request, request))
        return true;
    plan->request.size = 0;
    if (!grow_array(plan, n))
        return false;
    time = (void *)plan->tree; /* first, for its alignment */
    parent = (void *)(time + 2 * (size_t)n);
    senders = parent + n;
    size = senders, taken = senders + n;
    position = senders + 2 * (size_t)n;
    plan->children = (int *)(position + n);
    plan->segment_bytes =
        request->segment_bytes > 0 ? request->segment_bytes : default_segment;
    if (request->policy == CV_MPI_GREEDY)
        choose_greedy(plan, request, parent, time, senders);
    else
        cv_strategy_tree(request->policy == CV_MPI_FIBONACCI ? CV_STRATEGY_FIBONACCI
                                                             : CV_STRATEGY_BINOMIAL,
                         CV_TIES_LOW, n, parent);
    if (!request->commutes)
        lay_out(parent, n, size, taken, position);
    keep_own(plan, request, parent, position);
    plan->request = *request;
    return true;
}

void cv_tree_plan_free(struct cv_tree_plan *plan)
{
    free(plan->tree);
    *plan = (struct cv_tree_plan){ 0 };
}

/* --- reductions --------------------------------------------------------------------- */

/* Segment s of child k is item s m + k, of m children. Items are received ahead into a
 * ring of buffers; items of the last child directly into the result of the segment. */

enum { AGREE, START, TAKE_IN, SEND_ON, COLLECT };

static int plan_tree(struct cv_reduction *r)
{
    const struct cv_mpi_settings *settings = &r->state->settings;
    struct cv_link_costs *costs = &r->state->costs;
    struct cv_tree_request request = { .policy = r->policy,
                                       .rank = r->state->rank,
                                       .size = r->state->size,
                                       .root = r->root,
                                       .commutes = r->vector.commutes,
                                       .bytes = r->vector.bytes,
                                       .segment_bytes = settings->segment_bytes };

    if (r->policy == CV_MPI_GREEDY) {
        cv_link_costs_settle(costs);
        request.latency_s = costs->latency_s;
        request.byte_s = costs->byte_s;
        request.combine_byte_s = costs->combine_byte_s;
        request.crowded = costs->crowded;
        if (settings->transfer_s > 0) {
            if (request.latency_s > settings->transfer_s)
                request.latency_s = settings->transfer_s;
            request.byte_s = (settings->transfer_s - request.latency_s) / request.bytes;
        }
        if (settings->combine_s > 0)
            request.combine_byte_s = settings->combine_s / request.bytes;
    }
    if (!cv_tree_plan_make(&r->state->plan, &request))
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

/* The request to wait for before planning, or NULL. */
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
    /* If order matters, the tree is rooted at rank 0, which sends the result on. */
    moves = !r->vector.commutes && r->root != 0;
    if (moves && state->rank == 0)
        tree->parent = r->root;
    tree->collects = moves && state->rank == r->root;
    tree->own_place = r->writable && !tree->collects;
    if (tree->items > 0)
        CV_MPI_TRY(cv_reduction_recv_buffers(r));
    if (tree->items > 0 && !tree->collects)
        return cv_reduction_whole(r);
    /* The result will be received into `recv`, where the own values may be. */
    if (tree->items > 0)
        return cv_scratch_vector(&state->whole, &r->vector, &r->whole);
    return MPI_SUCCESS;
}

static char *item_place(const struct cv_reduction *r, long item)
{
    int nchildren = r->state->plan.nchildren;
    bool last = (item + 1) % nchildren == 0;

    if (last && !r->at.tree.own_place)
        return r->whole + cv_vector_offset(&r->vector, (int)(item / nchildren));
    return cv_reduction_recv_buffer(r, item);
}

/* At the root and in place: the own values may be overwritten. */
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

/* Send segments that are ready; *out: the send to wait for. */
static int send_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_tree *tree = &r->at.tree;
    int nchildren = r->state->plan.nchildren;
    int ready = nchildren > 0 ? (int)(tree->done / nchildren) : r->vector.segments;
    const char *from = nchildren > 0 ? r->whole : r->send;
    /* The result has a separate tag from segments that the root still receives. */
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
    /* Wait for sends after all items have arrived. The send of the result must not be
     * waited for earlier: the root receives it when its own sends are complete, which may
     * wait for this rank. */
    if (tree->done == tree->items ? tree->gone < tree->sent
                                  : tree->sent < ready && tag == CV_TAG_TREE)
        *out = &tree->out[tree->gone % CV_DEPTH];
    return MPI_SUCCESS;
}

/* Receive the result that rank 0 made for another root. */
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

const struct cv_reduction_algorithm cv_algorithm_tree = { tree_begin, tree_advance };
