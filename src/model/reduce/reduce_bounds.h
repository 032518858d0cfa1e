/* reduce_bounds.h -- bounds of reductions and guarantees of algorithms.
 * SPDX-License-Identifier: MIT
 *
 * For equal costs: between ceil(log2 n) max(d, c) and ceil(log2 n) (d + c), and above
 * that when transfers or reducers are limited to K. For unequal transfers and equal
 * reductions: ratios to the optimum, in terms of Delta = D / d, the greatest transfer
 * cost over the least. All in O(log n), any n. */
#ifndef CV_REDUCE_BOUNDS_H
#define CV_REDUCE_BOUNDS_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stdint.h>

/* n >= 1 elements; costs finite and >= 0. */
double cv_reduce_lower(uint64_t n, double d, double c);
double cv_reduce_upper(uint64_t n, double d, double c);

/* Time of the greedy tree with at most k >= 1 transfers at a time, or k reducers. First l
 * = ceil(log2 k) rounds of d + c make 2^l nodes, from then on k more per round: (l +
 * ceil((n - 2^l) / k)) (d + c). A k above n / 2 has the effect of n / 2. */
double cv_reduce_upper_limited(uint64_t n, double d, double c, uint64_t k);

/* The proved property of a policy: nothing, that its tree is optimal for equal costs, the
 * guarantee of an algorithm that does not know the costs, or that it is optimal for known
 * ready times. */
enum cv_reduce_method {
    CV_METHOD_UNPROVED,
    CV_METHOD_OPTIMAL,
    CV_METHOD_BINOMIAL_STAT,
    CV_METHOD_FIBONACCI_STAT,
    CV_METHOD_TREE_DYN,
    CV_METHOD_ORDERED_TREE_DYN,
    CV_METHOD_READY
};

/* The time within which the ordered dynamic algorithm ends, transfers costing at most
 * `most_transfer`: (floor(log_1.5(n - 1)) + 1) (D + c). Among v values no two neighbours
 * stay idle, so at least (v - 1) / 3 transfers run; they end within D + c, and v - 1
 * falls to two thirds. 0 for n = 1. */
double cv_reduce_ordered_upper(uint32_t n, double most_transfer, double c);
/* The rounds in that bound: floor(log_1.5(n - 1)) + 1, in whole numbers; 0 for n = 1. */
unsigned cv_reduce_ordered_rounds(uint32_t n);

/* A length is at most `ratio` times the optimum. */
struct cv_reduce_guarantee {
    double ratio;
    const char *formula; /* static */
    const char *when;    /* static: "c = 0", "c = d" or "any c"                      */
    /* number of the theorem in the report on non-clairvoyant reductions; 0: our own */
    unsigned theorem;
};

/* The best guarantee that holds for n nodes, transfers from `least_transfer` to
 * `most_transfer`, and reductions of c on every node. False when there is none: the
 * least transfer is 0 and the ratio of transfers has no bound. */
bool cv_reduce_guarantee(enum cv_reduce_method method, uint32_t n, double least_transfer,
                         double most_transfer, double c, struct cv_reduce_guarantee *out);

struct cv_markov {
    double mean_s, variance;
};

/* Reductions cost nothing. With i transfers running the next end takes 1 / (i lambda_d)
 * on average; each number from floor(n / 2) down to 1 occurs with the slot empty and, from
 * floor((n - 1) / 2) down, with the slot taken. So
 *
 *     mean     = (H(floor(n / 2)) + H(floor((n - 1) / 2))) / lambda_d
 *     variance = (Q(floor(n / 2)) + Q(floor((n - 1) / 2))) / lambda_d^2
 *
 * where H and Q sum 1 / i and 1 / i^2 up to their argument. O(1). */
enum cleave_status cv_markov_transfers(uint32_t n, double lambda_d, struct cv_markov *out,
                                       struct cleave_error *err);

/* Both cost. A state is v values left and y running reductions; whether the slot is taken
 * is the parity of v - y, and (v - y) / 2 transfers are running. A transfer's end leads
 * to (v - 1, y + 1), a reduction's to (v, y - 1). Mean and variance of every state follow
 * from mean and variance of its two successors. O(n^2) time, O(n) memory. lambda_c
 * INFINITY: as above. */
enum cleave_status cv_markov_both(uint32_t n, double lambda_d, double lambda_c,
                                  struct cv_markov *out, struct cleave_error *err);

#endif
