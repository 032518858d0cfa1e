/* open_chance.h -- a policy that gives orders about open chunks at random.
 * SPDX-License-Identifier: MIT */
#ifndef OPEN_CHANCE_H
#define OPEN_CHANCE_H
#include "base/random.h"
#include "open_scene.h"

enum { WORKERS = 3, ROUNDS = 60 };

static struct cv_random chance;
static uint64_t script_seed;
static struct {
    unsigned held; /* chunks that have not ended */
    bool open, due;
    bool gone; /* a chunk was lost there */
} hands[WORKERS];
static int rounds;
static bool copies; /* chunks are copied as well */

static double draw(double below)
{
    return below * cv_random_uniform(&chance);
}

static void note(const struct cleave_event *event)
{
    if (event->kind == CLEAVE_START) {
        cv_random_at(&chance, script_seed, 1, 2, 3);
        memset(hands, 0, sizeof hands);
        rounds = 0;
    } else if (event->kind == CLEAVE_LOST || event->kind == CLEAVE_DROPPED) {
        hands[event->worker].held--;
        hands[event->worker].open = hands[event->worker].due = false;
        hands[event->worker].gone |= event->kind == CLEAVE_LOST;
    } else if (event->kind == CLEAVE_DONE) {
        hands[event->worker].held--;
        hands[event->worker].due = false;
    } else if (event->kind == CLEAVE_EXTENDED) {
        hands[event->worker].due = false;
    }
}

static void begin_something(uint32_t w, const struct cleave_view *view,
                            struct cleave_orders *orders)
{
    const double units = fmin(draw(draw(2) < 1 ? 30 : 300), view->units_left);

    if (!(units > 0))
        return;
    hands[w].held++;
    hands[w].open = draw(5) > 1;
    if (hands[w].open)
        cleave_order_open(orders, w, draw(3) < 1 ? 0 : units);
    else
        cleave_order_send(orders, w, units);
}

static void do_something(const struct cleave_view *view, struct cleave_orders *orders)
{
    const uint32_t w = (uint32_t)draw(WORKERS);
    const int what = (int)draw(10);
    const uint32_t peer = copies ? (w + 1 + (uint32_t)draw(WORKERS - 1)) % WORKERS : w;

    if (what == 0)
        cleave_order_look(orders, w);
    else if (what == 1)
        cleave_order_recall(orders, w, draw(200));
    else if (hands[w].held == 0 && copies && what < 6) {
        hands[w].held++;
        hands[peer].open = false;
        cleave_order_copy(orders, w, peer);
    } else if (hands[w].held == 0 && !hands[w].gone)
        begin_something(w, view, orders);
    else if (hands[w].open && what == 2) {
        cleave_order_close(orders, w);
        hands[w].open = false;
    } else if (hands[w].open && !hands[w].due && view->units_left > 0) {
        hands[w].due = true;
        cleave_order_extend(orders, w, fmin(draw(100), view->units_left));
    }
}

/* Close the open chunks, and give the rest away. */
static void finish(const struct cleave_view *view, struct cleave_orders *orders)
{
    for (uint32_t w = 0; w < WORKERS; w++) {
        if (hands[w].open)
            cleave_order_close(orders, w);
        hands[w].open = false;
    }
    for (uint32_t w = 0; w < WORKERS; w++)
        if (hands[w].held == 0 && !hands[w].gone && view->units_left > 0) {
            hands[w].held++;
            cleave_order_send(orders, w, fmin(view->units_left, 50));
        }
}

static void at_random(const struct cleave_view *view, const struct cleave_event *event,
                      struct cleave_orders *orders)
{
    note(event);
    if (rounds >= ROUNDS) {
        finish(view, orders);
        return;
    }
    if (event->kind == CLEAVE_START || event->kind == CLEAVE_WAKE) {
        rounds++;
        cleave_order_wake(orders, 0, event->time_s + draw(2));
    }
    for (int i = (int)draw(4); i > 0; i--)
        do_something(view, orders);
}

#endif
