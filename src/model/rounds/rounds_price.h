/* rounds_price.h -- prices on the time of the port, and the best responses of workers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_PRICE_H
#define CV_ROUNDS_PRICE_H
#include "model/rounds/rounds.h"

/* Prices in units per second on cells of time from 0 to edge[cells]: those of sends do not
 * increase, those of returns do not decrease. */
struct cv_price_steps {
    uint32_t cells;
    double *edge;                /* cells + 1                       */
    double *send, *back;         /* per cell                        */
    double *send_sum, *back_sum; /* cells + 1: price x time up to an edge */
};

/* False when memory is short. `max`: cells. */
bool cv_price_steps_init(struct cv_price_steps *prices, uint32_t max,
                         struct cv_arena *arena);
/* Set the sums from edges and prices. */
void cv_price_steps_sum(struct cv_price_steps *prices);

/* Kinds of workers of an instance. */
struct cv_kinds {
    uint32_t n;
    struct cv_trip *trips;
    double *count;
};
bool cv_kinds_init(struct cv_kinds *kinds, const struct cv_returns *returns,
                   struct cv_arena *arena);

/* The worth of the port's time and of all workers, minus the load. Negative: no schedule ends
 * by the last edge. `room` holds a number per edge. */
double cv_rounds_lagrangian(const struct cv_rounds *rounds, const struct cv_kinds *kinds,
                            const struct cv_price_steps *prices, double *room);

#endif
