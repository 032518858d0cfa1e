/* cycle_order.h -- the order of service that costs least.
 * SPDX-License-Identifier: MIT
 *
 * Going from u to v on a cycle costs max(leave[u], enter[v]). The cheapest cycle through
 * all of n places is a travelling salesman problem that is easy: Gilmore and Gomory,
 * "Sequencing a one state-variable machine", Operations Research 12, 1964. O(n log n).
 *
 * The delay of worker v behind worker u of a stream is of that form: the second result of
 * u, plus the greater of (all data of u - second result of u) and the first result of v.
 * That cost obeys the triangle inequality, so a cycle never becomes cheaper by a worker
 * more. */
#ifndef CV_CYCLE_ORDER_H
#define CV_CYCLE_ORDER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/stream/stream_costs.h"

struct cv_cycle {
    const double *leave, *enter; /* borrowed; finite, of any sign */
    uint32_t n;
};

/* Cost of the cycle order[0], order[1], ..., back to order[0]; NULL: 0, 1, 2, ... One
 * place alone is followed by itself. */
double cv_cycle_cost(const struct cv_cycle *cycle, const uint32_t *order);

/* The cheapest cycle: order[0..n-1], from place 0 on. *out_cost is what it costs, and
 * *out_bound, which may be NULL, the cost of the cheapest assignment of a next place to
 * each, which may fall apart into several cycles. false when memory is short. */
bool cv_cycle_best(const struct cv_cycle *cycle, struct cv_arena *arena, uint32_t *order,
                   double *out_cost, double *out_bound);

/* The costs between workers of a stream as a cycle. *out_base is what every order costs
 * besides: the sum of the second results. Margins are not in it: a common one stretches
 * all orders alike. false when memory is short. */
bool cv_cycle_of_times(const struct cv_stream_times *times, uint32_t n,
                       struct cv_arena *arena, struct cv_cycle *out, double *out_base);

#endif
