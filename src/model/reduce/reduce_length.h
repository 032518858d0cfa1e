/* reduce_length.h -- how long the shortest reduction takes, without its tree.
 * SPDX-License-Identifier: MIT
 *
 * Let a = max(d, c) and b = d + c. The greedy tree inserts, at the time i a + j b before
 * the end, exactly C(i + j - 1, j - 1) nodes, for i >= 0 and j >= 1: a node is reached by
 * j steps down, the last of which is a step down, with i waits between them. Counting
 * the points in order of time until n nodes are reached gives the length. With k =
 * ceil(log2 n) it lies between k a and k b, and b <= 2 a, so O(log^2 n) points are met,
 * of which those above k a are sorted. Counts are whole numbers that stop at 2^64 - 1. */
#ifndef CV_REDUCE_LENGTH_H
#define CV_REDUCE_LENGTH_H
#include <stdint.h>

/* The least k with 2^k >= n, for n >= 1. */
unsigned cv_ceil_log2(uint64_t n);

/* The least time in which n >= 1 elements can be reduced, each on its node, by transfers
 * of d and reductions of c that overlap; d and c finite, >= 0. No memory, any n. */
double cv_reduce_length(uint64_t n, double d, double c);

#endif
