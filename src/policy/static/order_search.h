/* order_search.h -- a good send order by local search. SPDX-License-Identifier: MIT
 *
 * An order is worth the makespan of its vertex (model/load/vertex.h): no gap, all end
 * together. One that would need a negative chunk is worth nothing. */
#ifndef CV_ORDER_SEARCH_H
#define CV_ORDER_SEARCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "model/load/plan.h"

/* What a chunk costs, in the form the recursion needs. */
struct cv_order_cost {
    double speed_ups, latency_s;    /* of computing                                    */
    double growth, use, constant_s; /* ahead' = growth ahead - use lead + constant     */
};

struct cv_order {
    uint32_t *seq;
    size_t n;
    double time_s; /* INFINITY while there is none */
};

struct cv_order_search {
    const struct cv_order_cost *cost; /* per worker                                    */
    uint32_t nworkers;
    double load;
    size_t max_chunks;
    uint64_t effort, steps;        /* chunks whose size may be, was computed        */
    struct cv_affine *base, *lead; /* per worker; lead is scratch                   */
    struct cv_order now, best;
};

/* False when memory is short. The arena owns everything. */
bool cv_order_search_init(struct cv_order_search *search,
                          const struct cleave_worker *workers, uint32_t nworkers,
                          double load, size_t max_chunks, uint64_t effort,
                          struct cv_arena *arena);

/* Round robin over order[0..n-1], the first round partial or not: find the best number of
 * chunks, at least n. INFINITY when none is feasible or can beat `limit_s`. */
double cv_order_periodic(struct cv_order_search *search, const uint32_t *order,
                         uint32_t n, double limit_s, size_t *out_chunks);

/* Take that order as the current one, and as the best if it is. */
void cv_order_begin(struct cv_order_search *search, const uint32_t *order, uint32_t n,
                    size_t chunks, double time_s);

/* Delete, replace, insert and exchange chunks of the current order while that shortens
 * the makespan; then again from slight changes of the best, until the effort is spent. */
void cv_order_improve(struct cv_order_search *search);

#endif
