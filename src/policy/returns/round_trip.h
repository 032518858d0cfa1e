/* round_trip.h -- policies of one round with results, for other policies.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUND_TRIP_H
#define CV_ROUND_TRIP_H
#include "model/returns/returns.h"
#include "policy/common/setup.h"

/* The instance of a view; NULL trips: no memory. */
struct cv_returns cv_returns_of(const struct cleave_view *view,
                                struct cleave_setup *setup);

/* The search of best-orders takes up to two seconds for this many workers. */
enum { CV_SEARCH_QUICK = 100 };

#endif
