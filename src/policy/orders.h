/* orders.h -- the orders of one decision. SPDX-License-Identifier: MIT */
#ifndef CV_ORDERS_H
#define CV_ORDERS_H
#include <stddef.h>
#include <cleave/policy.h>

struct cleave_orders {
    struct cleave_order *items; /* owned by the driver                            */
    size_t count, capacity;
    double *units_left;         /* the view's: falls as orders are given          */
    bool out_of_memory;
};

#endif
