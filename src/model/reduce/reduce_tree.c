/* reduce_tree.c -- trees of reductions and their times.
 * SPDX-License-Identifier: MIT */
#include "model/reduce/reduce_tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/compare.h"
#include "base/fail.h"
#include "base/heap.h"

static bool is_cost(double cost)
{
    return isfinite(cost) && cost >= 0;
}

/* Checks that costs are finite and not negative. */
static enum cleave_status tree_costs_check(const struct cv_tree_costs *costs, uint32_t n,
                                           struct cleave_error *err)
{
    if (n == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected at least one node to reduce, got none");
    if (!is_cost(costs->transfer_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a transfer cost of 0 or more, got %g",
                       costs->transfer_s);
    if (costs->compute == NULL && !is_cost(costs->compute_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a compute cost of 0 or more, got %g",
                       costs->compute_s);
    for (uint32_t i = 0; costs->compute != NULL && i < n; i++)
        if (!is_cost(costs->compute[i]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a compute cost of 0 or more for node %u, got %g", i,
                           costs->compute[i]);
    return CLEAVE_OK;
}

/* By ready time, then by number. */
static int by_ready(const void *a, const void *b, void *ready_s)
{
    const uint32_t *x = a, *y = b;
    const double *times_s = ready_s;

    return cv_order(CV_COMPARE(times_s[*x], times_s[*y]), CV_COMPARE(*x, *y), 0);
}

static void sort_senders(double *ready_s, uint32_t *node, size_t n)
{
    enum { FEW = 24 };
    size_t sorted = 1;

    while (n > FEW && sorted < n &&
           by_ready(&node[sorted - 1], &node[sorted], ready_s) < 0)
        sorted++;
    if (n > FEW && sorted < n)
        qsort_r(node, n, sizeof *node, by_ready, ready_s);
    if (n > FEW)
        return;
    for (size_t i = 1; i < n; i++) {
        const uint32_t moved = node[i];
        size_t at = i;

        for (; at > 0 && by_ready(&moved, &node[at - 1], ready_s) < 0; at--)
            node[at] = node[at - 1];
        node[at] = moved;
    }
}

/* Senders grouped by receiver, by number or by their turns; then all nodes from the root
 * down. */
static void link_senders(const uint32_t *parent, const uint32_t *turn,
                         struct cv_tree_run *run)
{
    const uint32_t n = run->n;
    uint32_t known = 1;

    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            run->first[parent[i] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        run->first[i + 1] += run->first[i];
    /* `order` counts the placed nodes, until it takes its own values. */
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            run->sender[run->first[parent[i]] +
                        (turn != NULL ? turn[i] : run->order[parent[i]]++)] = i;
    run->order[0] = run->root;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = run->first[run->order[i]]; k < run->first[run->order[i] + 1];
             k++)
            run->order[known++] = run->sender[k];
}

static void receive_all(const struct cv_tree_costs *costs, struct cv_tree_run *run,
                        uint32_t node)
{
    const double d = costs->transfer_s;
    const double c = costs->compute != NULL ? costs->compute[node] : costs->compute_s;
    const uint32_t begin = run->first[node], end = run->first[node + 1];
    double busy_s = costs->ready_s != NULL ? costs->ready_s[node] : 0;
    double port_s = costs->model == CLEAVE_READY_EARLY ? 0 : busy_s;

    if (costs->turn == NULL)
        sort_senders(run->ready_s, run->sender + begin, end - begin);
    for (uint32_t k = begin; k < end; k++) {
        const uint32_t sender = run->sender[k];

        if (port_s < run->ready_s[sender])
            port_s = run->ready_s[sender];
        if (costs->model == CLEAVE_READY_MERGE && port_s < busy_s)
            port_s = busy_s;
        run->start_s[sender] = port_s;
        port_s += d;
        busy_s = (busy_s < port_s ? port_s : busy_s) + c;
    }
    run->ready_s[node] = busy_s;
}

static bool grow_array(struct cv_tree_run *run, struct cv_arena *arena, uint32_t n)
{
    /* One piece of memory: blocks of an arena double. */
    double *piece =
        cv_array(arena, (size_t)n + 1, 2 * sizeof(double) + 3 * sizeof(uint32_t));

    if (piece == NULL)
        return false;
    run->ready_s = piece;
    run->start_s = piece + n;
    run->first = (uint32_t *)(void *)(piece + 2 * (size_t)n);
    run->sender = run->first + n + 1;
    run->order = run->sender + n;
    return true;
}

enum cleave_status cv_tree_run(const uint32_t *parent, uint32_t n,
                               const struct cv_tree_costs *costs, struct cv_arena *arena,
                               struct cv_tree_run *out, struct cleave_error *err)
{
    struct cv_tree_run run = { .n = n };

    CV_TRY(tree_costs_check(costs, n, err));
    if (!grow_array(&run, arena, n))
        return cv_fail_memory(err, "the execution of a tree");
    while (parent[run.root] != CV_NO_NODE)
        run.root++;
    link_senders(parent, costs->turn, &run);
    for (uint32_t i = n; i-- > 0;)
        receive_all(costs, &run, run.order[i]);
    run.start_s[run.root] = NAN;
    run.length_s = run.ready_s[run.root];
    if (!isfinite(run.length_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected costs whose sum is a finite number");
    *out = run;
    return CLEAVE_OK;
}

enum cleave_status cv_tree_layout(const struct cv_tree_run *run, struct cv_arena *arena,
                                  uint32_t **out, struct cleave_error *err)
{
    uint32_t *size = calloc(run->n, sizeof *size); /* elements below and at a node */
    uint32_t *position = size == NULL ? NULL : cv_array(arena, run->n, sizeof *position);

    if (position == NULL) {
        free(size);
        return cv_fail_memory(err, "the layout of a tree");
    }
    for (uint32_t i = run->n; i-- > 0;) {
        const uint32_t node = run->order[i];

        size[node]++;
        for (uint32_t k = run->first[node]; k < run->first[node + 1]; k++)
            size[node] += size[run->sender[k]];
    }
    for (uint32_t i = 0; i < run->n; i++) {
        const uint32_t node = run->order[i];
        uint32_t next = position[node] + 1;

        for (uint32_t k = run->first[node]; k < run->first[node + 1]; k++) {
            position[run->sender[k]] = next;
            next += size[run->sender[k]];
        }
    }
    free(size);
    *out = position;
    return CLEAVE_OK;
}

void cv_tree_rename(const uint32_t *parent, const uint32_t *position, uint32_t n,
                    uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[position[i]] = parent[i] == CV_NO_NODE ? CV_NO_NODE : position[parent[i]];
}

enum { MOST_ROUNDS = 64, MOST_WAITS = 2 * MOST_ROUNDS + 2 };

/* Rounding may put a point on the wrong side of a bound by this much. */
static const double slack = 1e-12;

struct point {
    double time_s;
    uint64_t nodes; /* inserted at that time */
};

unsigned cv_ceil_log2(uint64_t n)
{
    unsigned k = 0;

    while (k < 64 && (n - 1) >> k != 0)
        k++;
    return k;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

CV_ORDER_BY(by_time, struct point, time_s)

double cv_reduce_length(uint64_t n, double d, double c)
{
    const double a = d > c ? d : c, b = d + c;
    const unsigned k = cv_ceil_log2(n);
    const double low = k * a * (1 - slack), high = k * b * (1 + slack);
    /* Per j at most 2 (k - j) + 2 points: their sum over j is below k (k + 1). */
    struct point points[MOST_ROUNDS * (MOST_ROUNDS + 2)];
    uint64_t paths[MOST_WAITS], sum = 1; /* the root */
    size_t npoints = 0;

    if (k == 0 || a == 0)
        return 0;
    for (unsigned i = 0; i < MOST_WAITS; i++)
        paths[i] = 1;
    for (unsigned j = 1; j <= k; j++) {
        const unsigned max = 2 * (k - j) + 1;

        for (unsigned i = 0; i <= max; i++) {
            const double time_s = i * a + j * b;

            if (j > 1 && i > 0)
                paths[i] = add_capped(paths[i], paths[i - 1]);
            if (time_s > high)
                continue;
            if (time_s < low)
                sum = add_capped(sum, paths[i]);
            else
                points[npoints++] = (struct point){ time_s, paths[i] };
        }
    }
    qsort(points, npoints, sizeof *points, by_time);
    for (size_t p = 0; p < npoints; p++) {
        sum = add_capped(sum, points[p].nodes);
        if (sum >= n)
            return points[p].time_s;
    }
    return k * b; /* the last point, but for rounding */
}

uint64_t cv_fibonacci(unsigned k)
{
    uint64_t now = 0, next = 1;

    if (k > CV_MOST_FIBONACCI)
        return UINT64_MAX;
    for (; k > 0; k--) {
        const uint64_t sum = now + next; /* wraps only past the last one asked for */

        now = next;
        next = sum;
    }
    return now;
}

uint64_t cv_strategy_full_size(enum cv_strategy which, int order)
{
    if (order <= 0)
        return 1;
    if (which == CV_STRATEGY_FIBONACCI)
        return cv_fibonacci((unsigned)order + 2);
    return order < 64 ? UINT64_C(1) << order : UINT64_MAX;
}

double cv_strategy_full_length(enum cv_strategy which, int order, double d, double c)
{
    if (order <= 0)
        return 0;
    if (which == CV_STRATEGY_BINOMIAL)
        return order * (d + c);
    return d + (order - 1) * (d > c ? d : c) + c;
}

int cv_strategy_order(enum cv_strategy which, uint64_t n)
{
    int order = 0;

    if (which == CV_STRATEGY_BINOMIAL)
        return (int)cv_ceil_log2(n);
    while (cv_strategy_full_size(which, order) < n)
        order++;
    return order;
}

void cv_strategy_tree(enum cv_strategy which, enum cv_ties ties, uint32_t n,
                      uint32_t *parent)
{
    /* Nodes present at t, and all nodes inserted so far, some of them later than t. */
    uint64_t present = 1, inserted = 1;

    parent[0] = CV_NO_NODE;
    while (inserted < n) {
        const uint64_t before = inserted;

        for (uint64_t k = 0; k < present && inserted < n; k++)
            parent[inserted++] = (uint32_t)(ties == CV_TIES_LOW ? k : present - 1 - k);
        present = which == CV_STRATEGY_BINOMIAL ? inserted : before;
    }
}

enum cleave_status cv_strategy_length(enum cv_strategy which, enum cv_ties ties,
                                      uint32_t n, double d, double c,
                                      struct cv_arena *arena, double *out,
                                      struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute_s = c };
    struct cv_tree_run run;
    uint32_t *parent;

    if (!CV_NEW(arena, parent, n))
        return cv_fail_memory(err, "a tree");
    cv_strategy_tree(which, ties, n, parent);
    CV_TRY(cv_tree_run(parent, n, &costs, arena, &run, err));
    *out = run.length_s;
    return CLEAVE_OK;
}

double cv_strategy_ratio(enum cv_strategy which, double d, double c)
{
    const double max = d > c ? d : c, min = d > c ? c : d;

    if (max == 0)
        return 1;
    return which == CV_STRATEGY_BINOMIAL ? 1 + min / max : 2;
}

double cv_strategy_ratio_limit(enum cv_strategy which, double d, double c)
{
    const double max = d > c ? d : c, min = d > c ? c : d;
    const double phi = (1 + sqrt(5)) / 2;
    double r, low, high;

    if (max == 0)
        return 1;
    /* With max(d, c) = 1 and min(d, c) = r, rho is between ln phi (r = 1) and ln 2. */
    r = min / max;
    low = log(phi) * (1 - 1e-9);
    high = log(2) * (1 + 1e-9);
    for (int i = 0; i < 60; i++) {
        const double rho = (low + high) / 2;

        if (exp(-rho) + exp(-(1 + r) * rho) > 1)
            low = rho;
        else
            high = rho;
    }
    return which == CV_STRATEGY_BINOMIAL ? (1 + r) * low / log(2) : low / log(phi);
}

/* --- the shortest tree for equal costs, with or without a limit -------------------- */

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

/* Times from the start, from times before the end. */
static enum cleave_status set_starts(struct cv_greedy_tree *tree, double length_s,
                                     struct cleave_error *err)
{
    if (!isfinite(length_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected costs whose sum is a finite number");
    for (uint32_t i = 0; i < tree->n; i++)
        tree->start_s[i] =
            tree->parent[i] == CV_NO_NODE ? NAN : length_s - tree->rev_s[i];
    tree->length_s = length_s;
    return CLEAVE_OK;
}

enum cleave_status cv_greedy_tree_plan(struct cv_greedy_tree *tree, double d, double c,
                                       const struct cv_greedy_limit *limit,
                                       struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute_s = c };
    const struct growth growth = {
        .d = d,
        .c = c,
        .step = d > c ? d : c,
        .reducers = limit->reducers != 0 ? limit->reducers : UINT32_MAX,
        .transfers = limit->transfers,
        .limited = limit->transfers != 0,
    };

    if (limit->transfers != 0 && limit->reducers != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a limit on transfers or on reducers, got both");
    CV_TRY(tree_costs_check(&costs, tree->n, err));
    tree->parent[0] = CV_NO_NODE;
    tree->rev_s[0] = 0;
    if (tree->n > 1)
        grow(&growth, tree);
    return set_starts(tree, tree->rev_s[tree->n - 1], err);
}

static bool before(const struct cv_ranked *a, const struct cv_ranked *b)
{
    return cv_rank_up(a, b) < 0;
}

CV_HEAP(entry, struct cv_ranked, before)

/* `queue` holds the nodes by increasing cost. Its places are taken by the heap as they are
 * used: after i insertions the heap has i entries. */
static double unequal_grow(struct cv_greedy_tree *tree, double d, const double *c,
                           struct cv_ranked *queue)
{
    const uint32_t root = queue[0].index;
    double last = 0;

    tree->parent[root] = CV_NO_NODE;
    tree->rev_s[root] = 0;
    queue[0] = (struct cv_ranked){ c[root] + d, root };
    for (uint32_t i = 1; i < tree->n; i++) {
        const uint32_t node = queue[i].index;
        struct cv_ranked chosen = queue[0];

        last = chosen.value;
        tree->parent[node] = chosen.index;
        tree->rev_s[node] = last;
        chosen.value += d > c[chosen.index] ? d : c[chosen.index];
        entry_sink(queue, i, 0, chosen);
        entry_push(queue, i, (struct cv_ranked){ last + c[node] + d, node });
    }
    return last;
}

enum cleave_status cv_greedy_unequal_plan(struct cv_greedy_tree *tree, double d,
                                          const double *c, struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = d, .compute = c };
    struct cv_ranked *queue;
    double length;

    CV_TRY(tree_costs_check(&costs, tree->n, err));
    queue = malloc(tree->n * sizeof *queue);
    if (queue == NULL)
        return cv_fail_memory(err, "a tree for unequal nodes");
    for (uint32_t i = 0; i < tree->n; i++)
        queue[i] = (struct cv_ranked){ c[i], i };
    qsort(queue, tree->n, sizeof *queue, cv_rank_up);
    length = unequal_grow(tree, d, c, queue);
    free(queue);
    return set_starts(tree, length, err);
}
