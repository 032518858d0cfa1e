/* orders.c -- the orders of one decision. SPDX-License-Identifier: MIT */
#include "policy/orders.h"

#include "base/arena.h"

static void add(struct cleave_orders *orders, const struct cleave_order *order)
{
    if (orders->count == orders->capacity) {
        struct cleave_order *grown =
            cv_grow(orders->items, &orders->capacity, orders->count + 1, sizeof *grown);

        if (grown == NULL) {
            orders->out_of_memory = true;
            return;
        }
        orders->items = grown;
    }
    orders->items[orders->count++] = *order;
}

void cleave_order_send(struct cleave_orders *orders, uint32_t worker, double units)
{
    struct cleave_order order = { .kind = CLEAVE_SEND, .worker = worker, .units = units };

    *orders->units_left -= units;
    add(orders, &order);
}

void cleave_order_wake(struct cleave_orders *orders, uint32_t worker, double time_s)
{
    struct cleave_order order = { .kind = CLEAVE_WAKE_AT,
                                  .worker = worker,
                                  .time_s = time_s };

    add(orders, &order);
}

void cleave_order_combine(struct cleave_orders *orders, uint32_t receiver,
                          uint32_t sender)
{
    struct cleave_order order = { .kind = CLEAVE_COMBINE,
                                  .worker = receiver,
                                  .peer = sender };

    add(orders, &order);
}
