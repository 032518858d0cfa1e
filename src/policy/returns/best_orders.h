/* best_orders.h -- how far the search for the best orders goes.
 * SPDX-License-Identifier: MIT */
#ifndef CV_BEST_ORDERS_H
#define CV_BEST_ORDERS_H
#include "policy/returns/round_trip.h"

/* Up to so many workers auto lets it search: a second or two. */
enum { CV_SEARCH_QUICK = 100 };

#endif
