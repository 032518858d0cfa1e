/* reduce_tree.h -- trees of reductions and their times.
 * SPDX-License-Identifier: MIT
 *
 * A tree over n nodes is an array: parent[i] is the node that receives the partial of
 * i, CV_NO_NODE for the root, where the result ends. Costs are the same for all links:
 * a transfer occupies the port of its receiver for d, a reduction occupies its node for
 * c. A node receives one partial at a time, first come first served, of simultaneous
 * requests the lowest index first; it reduces one at a time, receives while it reduces,
 * and sends once all it receives is reduced.
 *
 * For m senders that ask at t(1) <= ... <= t(m) the receiver is ready at
 *
 *     max over j of t(j) + d + c + (m - j) max(d, c),
 *
 * which depends on d and c through their sum and their greater alone: swapping them
 * changes no length. */
#ifndef CV_REDUCE_TREE_H
#define CV_REDUCE_TREE_H
#include <cleave/error.h>
#include <cleave/policy.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

#define CV_NO_NODE UINT32_MAX

/* Costs, all >= 0. */
struct cv_tree_costs {
    double transfer_s;             /* d                                                */
    double compute_s;              /* c                                                */
    const double *compute;         /* borrowed: c per node, or NULL: compute_s for all */
    const double *ready_s;         /* borrowed: when nodes have their partials; NULL: 0 */
    enum cleave_ready_model model; /* for nodes with ready times */
    const uint32_t *turn;          /* borrowed: of senders at their receiver, from 0;
                             NULL: first come, first served */
};

/* A tree executed as soon as possible. Arrays are owned by the arena. */
struct cv_tree_run {
    uint32_t n, root;
    double length_s;
    double *ready_s;  /* when a node has reduced all it receives and asks to send  */
    double *start_s;  /* when its transfer begins; NAN for the root                */
    uint32_t *first;  /* n + 1: node i receives sender[first[i] .. first[i+1] - 1] */
    uint32_t *sender; /* n - 1, per receiver in the order of reception             */
    uint32_t *order;  /* all nodes, receivers before their senders                 */
};

/* O(n) when the senders of every node ask in the order of their index, O(n log m)
 * otherwise, where m is the greatest number of senders to a node. */
enum cleave_status cv_tree_run(const uint32_t *parent, uint32_t n,
                               const struct cv_tree_costs *costs, struct cv_arena *arena,
                               struct cv_tree_run *out, struct cleave_error *err);

/* The position of each node's own element among the inputs, for an operation that does
 * not commute: a node's element first, then the blocks of its senders in the order of
 * reception, so that every reduction appends the interval next to its own. O(n). *out is
 * an array of n, owned by the arena. */
enum cleave_status cv_tree_layout(const struct cv_tree_run *run, struct cv_arena *arena,
                                  uint32_t **out, struct cleave_error *err);

/* The same tree with every node named by its position: out[position[i]] is
 * position[parent[i]]. Its layout is the identity. */
void cv_tree_rename(const uint32_t *parent, const uint32_t *position, uint32_t n,
                    uint32_t *out);

/* The least k with 2^k >= n, for n >= 1. */
unsigned cv_ceil_log2(uint64_t n);

/* The least time in which n >= 1 elements can be reduced, each on its node, by transfers
 * of d and reductions of c that overlap; d and c finite, >= 0. No memory, any n. */
double cv_reduce_length(uint64_t n, double d, double c);

enum cv_strategy { CV_STRATEGY_BINOMIAL, CV_STRATEGY_FIBONACCI };
enum cv_ties { CV_TIES_LOW, CV_TIES_HIGH };

enum { CV_MOST_FIBONACCI = 93 };

/* F(1) = F(2) = 1; k from 0 to CV_MOST_FIBONACCI, beyond that UINT64_MAX. */
uint64_t cv_fibonacci(unsigned k);

/* The nodes of a full tree of an order: 2^k, F(k + 2). Order -1 is a single node too, and
 * only Fibonacci trees are made of it. Too large: UINT64_MAX. */
uint64_t cv_strategy_full_size(enum cv_strategy which, int order);
/* The time a full tree takes: k (d + c); d + (k - 1) max(d, c) + c, 0 for k <= 0. */
double cv_strategy_full_length(enum cv_strategy which, int order, double d, double c);
/* The least order, from 0, whose full tree has at least n nodes. */
int cv_strategy_order(enum cv_strategy which, uint64_t n);

/* Fill parent[0 .. n-1], n >= 1. */
void cv_strategy_tree(enum cv_strategy which, enum cv_ties ties, uint32_t n,
                      uint32_t *parent);

/* The time of that tree with the given costs; never more than the time of the full tree
 * that holds n nodes. O(n). The arena is for scratch. */
enum cleave_status cv_strategy_length(enum cv_strategy which, enum cv_ties ties,
                                      uint32_t n, double d, double c,
                                      struct cv_arena *arena, double *out,
                                      struct cleave_error *err);

/* A bound of the strategy's length relative to the optimum, for any n: binomial
 * 1 + min(d, c) / max(d, c), Fibonacci 2; 1 when all costs are 0. */
double cv_strategy_ratio(enum cv_strategy which, double d, double c);
/* The limit of this bound for large n. Both are below 1.45: with a = max(d, c), b = d + c and rho
 * the root of exp(-a rho) + exp(-b rho) = 1, the optimum grows as ln n / rho. */
double cv_strategy_ratio_limit(enum cv_strategy which, double d, double c);

/* At most one of the two; 0: no limit. */
struct cv_greedy_limit {
    uint32_t transfers; /* at the same time            */
    uint32_t reducers;  /* nodes that receive anything */
};

struct cv_greedy_tree {
    uint32_t n;
    double length_s;
    uint32_t *parent; /* node 0 is the root                                           */
    double *rev_s;    /* end of the transfer, backwards from the end; non-decreasing  */
    double *start_s;  /* length - rev: the latest begin of the transfer, in forward
                         time; NAN for the root. Under a limit on transfers this is
                         the schedule to follow.                                      */
};

/* Arrays for n nodes; false when memory is short. */
bool cv_greedy_tree_room(struct cv_greedy_tree *tree, struct cv_arena *arena, uint32_t n);

/* Fill a tree that has room. O(n). */
enum cleave_status cv_greedy_tree_plan(struct cv_greedy_tree *tree, double d, double c,
                                       const struct cv_greedy_limit *limit,
                                       struct cleave_error *err);

/* Fill a tree that has room, for tree->n nodes with costs c[i] >= 0. The root is the node
 * with the least c; rev_s is by node, so not sorted. */
enum cleave_status cv_greedy_unequal_plan(struct cv_greedy_tree *tree, double d,
                                          const double *c, struct cleave_error *err);

#endif
