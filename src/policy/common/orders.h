/* orders.h -- the orders of one decision. SPDX-License-Identifier: MIT */
#ifndef CV_ORDERS_H
#define CV_ORDERS_H
#include <stddef.h>
#include <cleave/policy.h>

struct cleave_orders {
    struct cleave_order *items; /* owned by the driver                            */
    size_t count, capacity;
    double *units_left;  /* the view's: decreases with every order */
    const double *sizes; /* nitems sizes */
    uint64_t nitems;
    bool out_of_memory;
};

/* For one more order; NULL and out_of_memory if memory is short. */
struct cleave_order *cv_orders_grow(struct cleave_orders *orders);

/* The next order, which is counted; NULL: no memory. */
static inline struct cleave_order *cv_order_place(struct cleave_orders *orders)
{
    struct cleave_order *place = orders->count < orders->capacity
                                     ? &orders->items[orders->count]
                                     : cv_orders_grow(orders);

    orders->count += place != NULL;
    return place;
}

/* The public calls, inline for policies that are simulated very often. */
static inline void cv_order_add(struct cleave_orders *orders, struct cleave_order order)
{
    struct cleave_order *place = cv_order_place(orders);

    if (place != NULL)
        *place = order;
}

/* An order that takes units from those left. */
static inline void cv_order_units(struct cleave_orders *orders,
                                  enum cleave_order_kind kind, uint32_t worker,
                                  double units)
{
    struct cleave_order *place = cv_order_place(orders);

    *orders->units_left -= units;
    if (place != NULL)
        *place = (struct cleave_order){ .kind = kind, .worker = worker, .units = units };
}

/* At CLEAVE_ENDED: `units` of the stream were reserved for chunks that are not ordered
 * yet, in addition to those left. */
static inline void cv_orders_keep(struct cleave_orders *orders, double units)
{
    *orders->units_left += units;
}

static inline void cv_order_combine(struct cleave_orders *orders, uint32_t receiver,
                                    uint32_t sender)
{
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_COMBINE,
                                                .worker = receiver,
                                                .peer = sender });
}

#endif
