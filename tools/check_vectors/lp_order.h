/* lp_order.h -- the best sizes for a send order, by linear programming.
 * SPDX-License-Identifier: MIT
 *
 * Needs CLP (compiled with CLEAVE_HAVE_CLP or CLEAVE_WITH_CLP). The library does without;
 * this is for checks that its closed forms are optimal. */
#ifndef LP_ORDER_H
#define LP_ORDER_H
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>

/* Least makespan of `load` units in the order seq[0..n-1]; every chunk listed is sent and
 * pays its latencies, even with 0 units. With `units` not NULL, units[0..n-1] are sizes
 * that reach it. NAN when the solver fails, memory is short or CLP is missing. */
double lp_order_optimum(const struct cleave_worker *workers, double load,
                        const uint32_t *seq, size_t n, double *units);

/* Whether CLP was compiled in. */
int lp_order_available(void);

#endif
