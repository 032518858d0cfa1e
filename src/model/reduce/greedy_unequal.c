/* greedy_unequal.c -- a short tree when nodes reduce at different speeds.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/greedy_unequal.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fail.h"
#include "base/heap.h"

struct entry {
    double key;
    uint32_t node;
};

CV_ORDER_BY_TWO(by_key, struct entry, key, node)

static bool before(const struct entry *a, const struct entry *b)
{
    return by_key(a, b) < 0;
}

CV_HEAP(entry, struct entry, before)

/* What a chosen node's key grows by; its s is key - c - d, which is not needed. */
static double wait_of(double d, double c)
{
    return d > c ? d : c;
}

/* `queue` holds the nodes by increasing cost. Its places are taken by the heap as they are
 * used: after i insertions the heap has i entries. */
static double grow(struct cv_greedy_tree *tree, double d, const double *c,
                   struct entry *queue)
{
    const uint32_t root = queue[0].node;
    double last = 0;

    tree->parent[root] = CV_NO_NODE;
    tree->rev_s[root] = 0;
    queue[0] = (struct entry){ c[root] + d, root };
    for (uint32_t i = 1; i < tree->n; i++) {
        const uint32_t node = queue[i].node;
        struct entry chosen = queue[0];

        last = chosen.key;
        tree->parent[node] = chosen.node;
        tree->rev_s[node] = last;
        chosen.key += wait_of(d, c[chosen.node]);
        entry_sink(queue, i, 0, chosen);
        entry_push(queue, i, (struct entry){ last + c[node] + d, node });
    }
    return last;
}

enum cleave_status cv_greedy_unequal_plan(struct cv_greedy_tree *tree, double d,
                                          const double *c, struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute = c };
    struct entry *queue;
    double length;

    if (tree->n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    CV_TRY(cv_tree_costs_check(&costs, tree->n, err));
    queue = malloc(tree->n * sizeof *queue);
    if (queue == NULL)
        return cv_fail_memory(err, "a tree for unequal nodes");
    for (uint32_t i = 0; i < tree->n; i++)
        queue[i] = (struct entry){ c[i], i };
    qsort(queue, tree->n, sizeof *queue, by_key);
    length = grow(tree, d, c, queue);
    free(queue);
    if (!isfinite(length))
        return cv_fail(err, CLEAVE_EINPUT, "expected costs whose sum is a finite number");
    for (uint32_t i = 0; i < tree->n; i++)
        tree->start_s[i] = tree->parent[i] == CV_NO_NODE ? NAN : length - tree->rev_s[i];
    tree->length_s = length;
    return CLEAVE_OK;
}
