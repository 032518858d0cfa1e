/* bound_response.h -- what one worker earns at most when the port's time has a price.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BOUND_RESPONSE_H
#define CV_BOUND_RESPONSE_H
#include <cleave/platform.h>
#include "model/load/bound_guide.h"

/* The most that units computed by `horizon`, less the price of their messages, can come
 * to for this worker, or a little more. `lag` from 0 to 1 chooses among bounds on that
 * value; all are valid. *out_slope: how fast it grows with the horizon. If `used` is not
 * NULL, the port's time used in each piece is added to it, `weight` times. */
double cv_price_response(const struct cv_prices *prices,
                         const struct cleave_worker *worker, double horizon, double lag,
                         double *out_slope, double *used, double weight);

/* Price x time up to t. */
double cv_prices_until(const struct cv_prices *prices, double t);

#endif
