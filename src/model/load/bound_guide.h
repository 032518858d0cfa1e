/* bound_guide.h -- a first guess at what the port's time is worth.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_GUIDE_H
#define CV_BOUND_GUIDE_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"

enum { CV_PRICE_PIECES = 64 };

/* A price of the port's time that falls in steps: price[k] units of load per second from
 * from[k] to from[k + 1]; the last piece has price 0 and does not end. */
struct cv_prices {
    uint32_t pieces;
    double from[CV_PRICE_PIECES + 1], price[CV_PRICE_PIECES + 1];
    double
        total[CV_PRICE_PIECES + 1];  /* sum of price x time up to from[k]              */
    double gap[CV_PRICE_PIECES + 1]; /* how long a chunk sent then keeps a worker busy */
};

/* Set `total` from `from` and `price`. */
void cv_prices_sum(struct cv_prices *prices);

/* Prices of at most `most_pieces` (2 to CV_PRICE_PIECES) pieces, and the makespan of the
 * schedule they come from. Returns false when memory is short. */
bool cv_price_guide(const struct cleave_worker *workers, uint32_t nworkers, double load,
                    uint32_t most_pieces, struct cv_arena *scratch, struct cv_prices *out,
                    double *out_makespan);

#endif
