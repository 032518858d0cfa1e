/* orders.c -- the orders of one decision. SPDX-License-Identifier: MIT */
#include "policy/common/orders.h"

#include "base/arena.h"

struct cleave_order *cv_orders_grow(struct cleave_orders *orders)
{
    if (!CV_ROOM(orders->items, &orders->capacity, orders->count + 1)) {
        orders->out_of_memory = true;
        return NULL;
    }
    return orders->items + orders->count;
}

void cleave_order_send(struct cleave_orders *orders, uint32_t worker, double units)
{
    cv_order_units(orders, CLEAVE_SEND, worker, units);
}

void cleave_order_item(struct cleave_orders *orders, uint32_t worker, uint64_t item)
{
    /* The driver rejects an item that does not exist. */
    const double units = item < orders->nitems ? orders->sizes[item] : 0;

    *orders->units_left -= units;
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_SEND,
                                                .worker = worker,
                                                .units = units,
                                                .item = item });
}

void cleave_order_load(struct cleave_orders *orders, uint32_t worker, size_t load,
                       double units)
{
    *orders->units_left -= units;
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_SEND,
                                                .worker = worker,
                                                .units = units,
                                                .item = load });
}

void cleave_order_return(struct cleave_orders *orders, uint32_t worker, uint64_t chunk)
{
    cv_order_add(orders, (struct cleave_order){
                             .kind = CLEAVE_RETURN, .worker = worker, .chunk = chunk });
}

void cleave_order_recall(struct cleave_orders *orders, uint32_t worker, double units)
{
    cv_order_add(orders, (struct cleave_order){
                             .kind = CLEAVE_RECALL, .worker = worker, .units = units });
}

void cleave_order_open(struct cleave_orders *orders, uint32_t worker, double units)
{
    cv_order_units(orders, CLEAVE_OPEN, worker, units);
}

void cleave_order_extend(struct cleave_orders *orders, uint32_t worker, double units)
{
    cv_order_units(orders, CLEAVE_EXTEND, worker, units);
}

void cleave_order_close(struct cleave_orders *orders, uint32_t worker)
{
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_CLOSE, .worker = worker });
}

void cleave_order_look(struct cleave_orders *orders, uint32_t worker)
{
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_QUERY, .worker = worker });
}

void cleave_order_copy(struct cleave_orders *orders, uint32_t worker, uint32_t peer)
{
    cv_order_add(orders, (struct cleave_order){
                             .kind = CLEAVE_COPY, .worker = worker, .peer = peer });
}

void cleave_order_wake(struct cleave_orders *orders, uint32_t worker, double time_s)
{
    cv_order_add(orders, (struct cleave_order){ .kind = CLEAVE_WAKE_AT,
                                                .worker = worker,
                                                .time_s = time_s });
}

void cleave_order_combine(struct cleave_orders *orders, uint32_t receiver,
                          uint32_t sender)
{
    cv_order_combine(orders, receiver, sender);
}

void cleave_orders_keep(struct cleave_orders *orders, double units)
{
    cv_orders_keep(orders, units);
}
