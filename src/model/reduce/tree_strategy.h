/* tree_strategy.h -- trees that ignore the costs: binomial and Fibonacci.
 * SPDX-License-Identifier: MIT
 *
 * The greedy tree for d : c = 1 : 0 (binomial) or 1 : 1 (Fibonacci), whatever the costs
 * are. Each is optimal for its own ratio: the first sends in rounds that halve the nodes,
 * the second keeps every receiver busy.
 *
 * With unit costs the greedy insertion has a closed form. At the time t before the end
 * all m(t) nodes present are chosen once, and the new ones are present from t + b on,
 * where b = 1 (binomial) or 2 (Fibonacci): m(t + 1) = m(t) + m(t + 1 - b), which is 2^t
 * or the Fibonacci number F(t + 1). Which of the equal nodes goes first is free and
 * matters only in a last round that is not full: ties low takes them by increasing index,
 * ties high by decreasing index. O(1) per node. */
#ifndef CV_TREE_STRATEGY_H
#define CV_TREE_STRATEGY_H
#include <stdint.h>
#include <cleave/error.h>
#include "base/arena.h"

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
/* The least order, from 0 on, whose full tree has at least n nodes. */
int cv_strategy_order(enum cv_strategy which, uint64_t n);

/* Fill parent[0 .. n-1], n >= 1. */
void cv_strategy_tree(enum cv_strategy which, enum cv_ties ties, uint32_t n,
                      uint32_t *parent);

/* The time that tree takes with the given costs; never more than that of the full tree
 * that holds n nodes. O(n). The arena is for scratch. */
enum cleave_status cv_strategy_length(enum cv_strategy which, enum cv_ties ties,
                                      uint32_t n, double d, double c,
                                      struct cv_arena *arena, double *out,
                                      struct cleave_error *err);

/* What the strategy's length is at most, in terms of the optimum, for any n: binomial
 * 1 + min(d, c) / max(d, c), Fibonacci 2; 1 when all costs are 0. */
double cv_strategy_ratio(enum cv_strategy which, double d, double c);
/* The same for n without end. Both are below 1.45: with a = max(d, c), b = d + c and rho
 * the root of exp(-a rho) + exp(-b rho) = 1, the optimum grows as ln n / rho. */
double cv_strategy_ratio_limit(enum cv_strategy which, double d, double c);

#endif
