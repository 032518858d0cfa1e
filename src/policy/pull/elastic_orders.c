/* elastic_orders.c -- orders about open chunks, and the books kept of them.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "policy/pull/elastic.h"

static const double SOON_S = 1e-5;
/* One is looked at again after this part of its time. */
static const double AGAIN = 1.0 / 16;

/* A new command: what was learnt of its worker stays. */
static void renew(const struct cv_decision *turn, struct cv_worker_estimate *hand)
{
    *hand = (struct cv_worker_estimate){ .state = CV_PHASE_PRESTARTED,
                                         .begun_s = turn->now_s,
                                         .started_s = -1,
                                         .from_s = -1,
                                         .mate = CV_NOBODY,
                                         .prior = hand->prior,
                                         .prior_start_s = hand->prior_start_s,
                                         .start_s = hand->start_s,
                                         .pace_ups = hand->pace_ups,
                                         .moving_ups = hand->moving_ups,
                                         .done = hand->done,
                                         .took_s = hand->took_s,
                                         .after_s = hand->after_s,
                                         .small = hand->small,
                                         .large = hand->large,
                                         .lost = hand->lost,
                                         .sampled = hand->sampled,
                                         .sure = hand->sure,
                                         .own = hand->own };
}

void cv_decision_prestart(const struct cv_decision *turn, uint32_t worker)
{
    renew(turn, &turn->elastic->hands[worker]);
    cleave_order_open(turn->orders, worker, 0);
}

/* As much as there is and one may have. */
static double bounded(const struct cv_decision *turn,
                      const struct cv_worker_estimate *hand, double units)
{
    const struct cv_elastic *elastic = turn->elastic;

    units = fmax(units, elastic->min);
    if (elastic->max > 0)
        units = fmin(units, elastic->max - hand->given);
    return fmin(units, turn->view->units_left);
}

void cv_decision_give(const struct cv_decision *turn, uint32_t worker, double units,
                      bool close)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const bool warm = hand->state == CV_PHASE_PRESTARTED;

    hand->given = 0;
    units = bounded(turn, hand, units);
    if (!(units > 0))
        return;
    if (!warm)
        renew(turn, hand);
    hand->state = CV_PHASE_OPEN;
    hand->bound_s = turn->now_s;
    hand->given = hand->due = units;
    hand->sending = !warm;
    if (warm)
        cleave_order_extend(turn->orders, worker, units);
    else
        cleave_order_open(turn->orders, worker, units);
    if (close)
        cv_decision_close(turn, worker);
}

void cv_decision_extend(const struct cv_decision *turn, uint32_t worker, double units)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];

    units = bounded(turn, hand, units);
    if (hand->due > 0)
        return;
    if (!(units > 0)) {
        if (hand->drained)
            cv_decision_close(turn, worker);
        return;
    }
    hand->due = units;
    hand->given += units;
    cleave_order_extend(turn->orders, worker, units);
}

void cv_decision_close(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];

    hand->state = CV_PHASE_CLOSED;
    hand->closed_s = turn->now_s;
    hand->held = false;
    cleave_order_close(turn->orders, worker);
}

void cv_decision_recall(const struct cv_decision *turn, uint32_t worker, double units)
{
    turn->elastic->hands[worker].recalling = true;
    turn->elastic->waits++;
    cleave_order_recall(turn->orders, worker, units);
}

void cv_decision_query(const struct cv_decision *turn, uint32_t worker)
{
    turn->elastic->hands[worker].looking = true;
    turn->elastic->hands[worker].looked_s = turn->now_s;
    turn->elastic->waits++;
    cleave_order_look(turn->orders, worker);
}

void cv_decision_wake(const struct cv_decision *turn, double time_s)
{
    uint32_t worker = 0;

    time_s = fmax(time_s, turn->now_s + SOON_S); /* what is asked for now comes later */
    if (turn->elastic->wake_s > turn->now_s && turn->elastic->wake_s <= time_s)
        return;
    /* That somebody who was not there is woken means that it is, or is again. */
    while (worker + 1 < turn->elastic->n &&
           (cv_hand_is_out(&turn->elastic->hands[worker]) ||
            turn->elastic->hands[worker].coming))
        worker++;
    turn->elastic->wake_s = time_s;
    cleave_order_wake(turn->orders, worker, time_s);
}

bool cv_decision_query_all(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    bool any = false;

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];
        const double since_s = turn->now_s - hand->sampled_s;

        if (hand->state != CV_PHASE_OPEN || hand->started_s < 0 || hand->drained ||
            hand->looking || !(since_s > CV_SAMPLE_S))
            continue;
        if (hand->pace_ups > 0 &&
            since_s < AGAIN * cv_elastic_rest(elastic, w, turn->now_s))
            continue;
        cv_decision_query(turn, w);
        any = true;
    }
    return any;
}
