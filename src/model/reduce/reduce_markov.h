/* reduce_markov.h -- the dynamic reduction when costs are exponential.
 * SPDX-License-Identifier: MIT
 *
 * n values; a value that becomes ready waits in a slot, or, if one waits there, is sent to
 * it; the receiver then reduces. Transfers take an exponential time of rate lambda_d, and
 * reductions one of rate lambda_c, drawn anew for each (fixed costs per node would make
 * the process remember). */
#ifndef CV_REDUCE_MARKOV_H
#define CV_REDUCE_MARKOV_H
#include <stdint.h>
#include <cleave/error.h>

struct cv_markov {
    double mean_s, variance;
};

/* Reductions cost nothing. With i transfers under way the next end takes 1 / (i lambda_d)
 * on average; each number from floor(n / 2) down to 1 occurs with the slot empty and, from
 * floor((n - 1) / 2) down, with the slot taken. So
 *
 *     mean     = (H(floor(n / 2)) + H(floor((n - 1) / 2))) / lambda_d
 *     variance = (Q(floor(n / 2)) + Q(floor((n - 1) / 2))) / lambda_d^2
 *
 * where H and Q sum 1 / i and 1 / i^2 up to their argument. O(1). */
enum cleave_status cv_markov_transfers(uint32_t n, double lambda_d, struct cv_markov *out,
                                       struct cleave_error *err);

/* Both cost. A state is v values left and y reductions under way; whether the slot is
 * taken is the parity of v - y, and (v - y) / 2 transfers are under way. A transfer's end
 * leads to (v - 1, y + 1), a reduction's to (v, y - 1). Mean and variance of every state
 * follow from those of the two it leads to. O(n^2) time, O(n) memory. lambda_c INFINITY:
 * as above. */
enum cleave_status cv_markov_both(uint32_t n, double lambda_d, double lambda_c,
                                  struct cv_markov *out, struct cleave_error *err);

#endif
