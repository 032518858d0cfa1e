/* tree_plan.c -- fixed trees: who sends to whom, in how many segments.
 * SPDX-License-Identifier: MIT
 *
 * A vector of S segments passes a tree in about
 *
 *     L(d, c) + (S - 1) m max(d, c)
 *
 * where L is the length of the tree for one segment, with d and c its costs, and m the
 * most senders that a node has: that node receives m segments for each that it passes on.
 * The shortest tree for one segment has many senders at its root; with many segments a
 * narrow tree is better, down to the chain. So "greedy" tries trees of at most 1, 2, 4,
 * ... senders, each the greedy one, with S = 1, 2, 4, ..., and takes the best.
 *
 * That holds if each rank has a processor. Where they share some, the nodes of a chain do
 * not work side by side: they wait for each other to be scheduled, for every segment.
 * Then a vector passes in one piece, or few. */
#include "mpi/reduce/tree_plan.h"

#include <stdlib.h>

#include "model/reduce/reduce_tree.h"

/* Without pipelining in mind: only so that memory is bounded. Waiting for the first piece
 * of every child before the second of any costs more than it gains in a wide tree. */
static const double default_segment = 8388608;
enum { LEAST_SEGMENT = 65536, MOST_SEGMENTS = 64 };

/* The two queues of the greedy insertion: nodes never chosen, which are in order of time
 * as they come, and nodes chosen before, linked in the order in which they come back. */
double cv_tree_narrow(uint32_t n, uint32_t max, double d, double c, uint32_t *parent,
                      double *time, uint32_t *senders)
{
    double length = 0, slower = d > c ? d : c;
    uint32_t fresh = 0, head = 0, tail = 0;
    double *again = time + n;    /* when, of those that come back  */
    uint32_t *who = senders + n; /* and which                      */

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

/* The best tree and number of segments. */
static void choose_greedy(struct cv_tree_plan *plan, const struct cv_tree_request *wish,
                          uint32_t *parent, double *time, uint32_t *senders)
{
    const uint32_t n = (uint32_t)wish->size;
    double best = 0, best_d = 0, best_c = 0;
    uint32_t best_most = 0;
    double given =
        wish->crowded && wish->segment_bytes == 0 ? default_segment : wish->segment_bytes;

    for (int segments = 1; segments <= MOST_SEGMENTS; segments *= 2) {
        double bytes = wish->bytes / segments;
        double d, c;

        if (given > 0)
            bytes = given < wish->bytes ? given : wish->bytes;
        d = wish->latency_s + bytes * wish->byte_s;
        c = bytes * wish->combine_byte_s;
        for (uint32_t max = 1;; max *= 2) {
            double length = cv_tree_narrow(n, max, d, c, parent, time, senders);
            uint32_t met = most_senders(senders, n);
            double total = estimate(length, met, d, c, wish->bytes / bytes);

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

/* Position of every node's value: its own first, then the blocks of its senders, of which
 * those inserted last arrive first. Senders have higher numbers than their receivers. */
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

static int rank_of(const struct cv_tree_request *wish, const uint32_t *position,
                   uint32_t node)
{
    int64_t rank = (int64_t)node + wish->root;

    if (!wish->commutes)
        return (int)position[node];
    return (int)(rank < wish->size ? rank : rank - wish->size);
}

/* What concerns this rank. */
static void keep_own(struct cv_tree_plan *plan, const struct cv_tree_request *wish,
                     const uint32_t *parent, const uint32_t *position)
{
    const uint32_t n = (uint32_t)wish->size;
    uint32_t me = 0;

    while (rank_of(wish, position, me) != wish->rank)
        me++;
    plan->parent = me == 0 ? -1 : rank_of(wish, position, parent[me]);
    plan->nchildren = 0;
    for (uint32_t i = n - 1; i > me; i--)
        if (parent[i] == me)
            plan->children[plan->nchildren++] = rank_of(wish, position, i);
}

static bool grow_array(struct cv_tree_plan *plan, uint32_t n)
{
    /* A tree, five arrays beside it, the children; and two of doubles. */
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

static bool same_wish(const struct cv_tree_request *a, const struct cv_tree_request *b)
{
    return a->policy == b->policy && a->rank == b->rank && a->size == b->size &&
           a->root == b->root && a->commutes == b->commutes && a->bytes == b->bytes &&
           a->segment_bytes == b->segment_bytes && a->latency_s == b->latency_s &&
           a->byte_s == b->byte_s && a->combine_byte_s == b->combine_byte_s &&
           a->crowded == b->crowded;
}

bool cv_tree_plan_make(struct cv_tree_plan *plan, const struct cv_tree_request *wish)
{
    const uint32_t n = (uint32_t)wish->size;
    double *time;
    uint32_t *parent, *senders, *size, *taken, *position;

    if (same_wish(&plan->wish, wish))
        return true;
    plan->wish.size = 0;
    if (!grow_array(plan, n))
        return false;
    time = (void *)plan->tree; /* first, for its alignment */
    parent = (void *)(time + 2 * (size_t)n);
    senders = parent + n;
    size = senders, taken = senders + n;
    position = senders + 2 * (size_t)n;
    plan->children = (int *)(position + n);
    plan->segment_bytes = wish->segment_bytes > 0 ? wish->segment_bytes : default_segment;
    if (wish->policy == CV_MPI_GREEDY)
        choose_greedy(plan, wish, parent, time, senders);
    else
        cv_strategy_tree(wish->policy == CV_MPI_FIBONACCI ? CV_STRATEGY_FIBONACCI
                                                          : CV_STRATEGY_BINOMIAL,
                         CV_TIES_LOW, n, parent);
    if (!wish->commutes)
        lay_out(parent, n, size, taken, position);
    keep_own(plan, wish, parent, position);
    plan->wish = *wish;
    return true;
}

void cv_tree_plan_free(struct cv_tree_plan *plan)
{
    free(plan->tree);
    *plan = (struct cv_tree_plan){ 0 };
}
