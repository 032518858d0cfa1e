/* elastic_slurp.c -- sizes for a command that works when it has read all.
 * SPDX-License-Identifier: MIT
 *
 * What such a command was given cannot be taken back once it is closed, so a size has to be
 * right: at most half of what its worker can do until all could end together, unless that
 * is not worth a start; and little for a worker whose speed is not known. */
#include <math.h>

#include "policy/pull/elastic.h"

/* A chunk should be worth so many starts; of a stream a start is this part of it. */
static const double START_WORTH = 3, SHARE = 0.02;
/* Workers are that unequal, if nobody has said. */
static const double UNEQUAL = 30;

static double size_of(const struct cv_turn *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double h = fmax(view->unequal > 0 ? view->unequal : UNEQUAL, 1.5);
    const double start_s =
        cv_elastic_start(elastic, worker) + (elastic->lined ? elastic->late_s : 0);
    double share, size;

    if (isinf(view->units_left))
        return fmin(cv_elastic_share(elastic, view),
                    fmax(start_s * speed_ups / SHARE, 16 * elastic->piece));
    share = speed_ups * (cv_elastic_end(elastic, view->units_left, turn->now_s) -
                         elastic->hands[worker].ready_s);
    if (!(share > 0))
        return 0;
    size = fmax(share / elastic->parts, fmin(share, START_WORTH * start_s * speed_ups));
    if (!(cv_elastic_own_speed(elastic, worker) > 0))
        size = fmin(size, fmax(share / (2 * h), 2 / (h - 1) * start_s * speed_ups));
    return size;
}

static double soft(const struct cv_turn *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_grain(turn->view)) ? left : units;
}

static void serve_held(const struct cv_turn *turn, uint32_t worker)
{
    struct cv_hand *hand = &turn->elastic->hands[worker];
    const double units = size_of(turn, worker);

    hand->held = false;
    if (units > 0 && turn->view->units_left > 0 && !(hand->due > 0))
        cv_turn_extend(turn, worker, soft(turn, units));
    if (hand->state == CV_HAND_OPEN)
        cv_turn_close(turn, worker);
}

static bool nobody_works(const struct cv_elastic *elastic)
{
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].state == CV_HAND_OPEN ||
            elastic->hands[w].state == CV_HAND_CLOSED)
            return false;
    return true;
}

void cv_slurp_serve(const struct cv_turn *turn)
{
    struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].held && elastic->hands[w].state == CV_HAND_OPEN)
            serve_held(turn, w);
    for (int pass = 0; pass < 2; pass++) /* those that wait, then those to be started */
        for (uint32_t w = 0; w < elastic->n; w++) {
            const struct cv_hand *hand = &elastic->hands[w];
            double units;

            if (!(turn->view->units_left > 0))
                return;
            if (!cv_hand_is_free(hand) ||
                hand->state != (pass == 0 ? CV_HAND_WARM : CV_HAND_IDLE))
                continue;
            units = size_of(turn, w);
            if (!(units > 0) && !nobody_works(elastic))
                continue; /* others are ready sooner */
            cv_turn_give(turn, w, soft(turn, fmax(units, cv_elastic_grain(turn->view))),
                         true);
        }
}
