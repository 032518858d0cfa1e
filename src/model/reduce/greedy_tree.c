/* greedy_tree.c -- the shortest tree for equal costs, with or without a limit.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/greedy_tree.h"

#include <math.h>
#include <stdlib.h>
#include "base/compare.h"
#include "base/fail.h"
#include "base/heap.h"

bool cv_greedy_tree_room(struct cv_greedy_tree *tree, struct cv_arena *arena, uint32_t n)
{
    /* One piece of memory: blocks of an arena double. */
    double *piece = cv_array(arena, n, 2 * sizeof(double) + sizeof(uint32_t));

    if (piece == NULL)
        return false;
    tree->n = n;
    tree->rev_s = piece;
    tree->start_s = piece + n;
    tree->parent = (uint32_t *)(void *)(piece + 2 * (size_t)n);
    return true;
}

struct growth {
    double d, c, step; /* step: max(d, c) */
    uint32_t reducers, transfers;
    bool limited; /* transfers are */
};

/* Node i goes below `chosen`, whose time is s. */
static inline void insert(const struct growth *growth, struct cv_greedy_tree *tree,
                          uint32_t i, uint32_t chosen, double s)
{
    const double sent = s + growth->c;

    tree->parent[i] = chosen;
    if (growth->limited) {
        const uint32_t k = growth->transfers;
        const double slot = i >= k ? tree->rev_s[i - k] : 0;
        const double end = (sent > slot ? sent : slot) + growth->d;
        const double next = end - growth->c;

        tree->rev_s[i] = end;
        tree->start_s[i] = sent > next ? sent : next;
    } else {
        tree->rev_s[i] = sent + growth->d;
        tree->start_s[i] = s + growth->step;
    }
}

/* `fresh` is the oldest node never chosen, `again` the oldest step whose chosen node has
 * not been chosen since. After the first step neither queue runs dry, but for `fresh` at
 * the last reducer. */
static void grow(const struct growth *growth, struct cv_greedy_tree *tree)
{
    const uint32_t n = tree->n;
    uint32_t fresh = 1, again = 1, i = 2;

    insert(growth, tree, 1, 0, 0);
    for (; i < n && fresh < growth->reducers; i++) {
        const double young = tree->rev_s[fresh], old = tree->start_s[again];
        const uint32_t other = tree->parent[again];
        const bool take = young < old || (young == old && fresh < other);

        insert(growth, tree, i, take ? fresh : other, take ? young : old);
        fresh += take;
        again += !take;
    }
    for (; i < n; i++, again++)
        insert(growth, tree, i, tree->parent[again], tree->start_s[again]);
}

static enum cleave_status check_input(const struct cv_greedy_tree *tree, double d,
                                      double c, const struct cv_greedy_limit *limit,
                                      struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute_s = c };

    if (tree->n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    if (limit->transfers != 0 && limit->reducers != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a limit on transfers or on reducers, got both");
    return cv_tree_costs_check(&costs, tree->n, err);
}

enum cleave_status cv_greedy_tree_plan(struct cv_greedy_tree *tree, double d, double c,
                                       const struct cv_greedy_limit *limit,
                                       struct cleave_error *err)
{
    const struct growth growth = {
        .d = d,
        .c = c,
        .step = d > c ? d : c,
        .reducers = limit->reducers != 0 ? limit->reducers : UINT32_MAX,
        .transfers = limit->transfers,
        .limited = limit->transfers != 0,
    };
    double length;

    CV_TRY(check_input(tree, d, c, limit, err));
    tree->parent[0] = CV_NO_NODE;
    tree->rev_s[0] = 0;
    if (tree->n > 1)
        grow(&growth, tree);
    length = tree->rev_s[tree->n - 1];
    if (!isfinite(length))
        return cv_fail(err, CLEAVE_EINPUT, "expected costs whose sum is a finite number");
    for (uint32_t i = 1; i < tree->n; i++)
        tree->start_s[i] = length - tree->rev_s[i];
    tree->start_s[0] = NAN;
    tree->length_s = length;
    return CLEAVE_OK;
}

/* --- a short tree when nodes reduce at different speeds ---------------------------- */

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
static double unequal_grow(struct cv_greedy_tree *tree, double d, const double *c,
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
    length = unequal_grow(tree, d, c, queue);
    free(queue);
    if (!isfinite(length))
        return cv_fail(err, CLEAVE_EINPUT, "expected costs whose sum is a finite number");
    for (uint32_t i = 0; i < tree->n; i++)
        tree->start_s[i] = tree->parent[i] == CV_NO_NODE ? NAN : length - tree->rev_s[i];
    tree->length_s = length;
    return CLEAVE_OK;
}
