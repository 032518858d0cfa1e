/* elastic_stream.c -- ranges for a command that works as it reads.
 * SPDX-License-Identifier: MIT
 *
 * A range is what its worker can do until all could end together, or what makes its start
 * cheap. At its end it goes on with what follows, if that is nobody's. */
#include <math.h>

#include "policy/pull/elastic.h"
#include "policy/pull/fold_charge.h"

/* A start may be this part of a range; a range is at least this part of a share, and so many
 * windows. */
static const double SHARE = 0.02, LEAST_PART = 1.0 / 64, WINDOWS = 8;
/* What a command reads in this time is fed at once. */
static const double SIP_S = 0.01;
/* Workers so unequal are tried first, on this part of a share, if a start is that part of it. */
static const double TRIED = 8, TRIAL = 1.0 / 256, TRIAL_START = 0.01;
/* One message may keep a shared port for this part of a worker's part of the time. */
static const double LINK_PART = 0.25;
/* Of what cannot be told apart from nothing, this part is nothing. */
static const double ROUNDED = 1e-3;

/* What a worker is given at once keeps a port that is shared from the others: it should not
 * do so for longer than its part of the time that is left. Real ranges go by windows. */
static double carried(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    const struct cleave_view *view = turn->view;

    if (view->real || view->port == CLEAVE_PORT_MULTI || !isfinite(end_s))
        return INFINITY;
    return view->workers[worker].bandwidth_ups * end_s * LINK_PART /
           turn->elastic->present;
}

/* What is in its pipe cannot be taken back from a worker, and a slow one would be late with that
 * alone. Where a start is nothing beside a share, its first piece only shows how fast it is. */
static bool is_tried_first(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share = cv_elastic_share(elastic, turn->view);

    return !turn->view->measured && turn->view->unequal > TRIED &&
           !(cv_elastic_own_speed(elastic, worker) > 0) &&
           elastic->hands[worker].pace_ups < 0 &&
           cv_elastic_start(elastic, worker) * elastic->mean_ups < TRIAL_START * share;
}

/* As many equal ranges as have at least so much each: what would be left over takes a start
 * like the others. */
static double parted(double range, double min)
{
    return range > min ? range / floor(range / min) : range;
}

/* What its pipe holds: sips become larger for one that is fast, and nobody knows how fast one is that
 * was not seen. */
static double window_of(const struct cv_decision *turn, double speed_ups)
{
    const double fast = speed_ups > 0 ? speed_ups * SIP_S : INFINITY;

    return fmax(turn->view->ahead, fmin(cv_elastic_pipe_capacity(turn->view), fast));
}

/* What a worker can do until then. */
static double part_of(const struct cv_elastic *elastic, uint32_t worker, double end_s)
{
    return worker == CV_NOBODY ? 0
                               : cv_elastic_speed(elastic, worker) *
                                     fmax(0, end_s - elastic->ready[worker].in_s);
}

static double range_of(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double share = cv_elastic_share(elastic, view);
    const double windows = WINDOWS * window_of(turn, speed_ups);
    const double worth = (cv_elastic_start(elastic, worker) + elastic->late_s +
                          cv_fold_charge(view, elastic->fold_s, elastic->present)) *
                         speed_ups / SHARE;
    double range;

    if (isinf(view->units_left))
        return speed_ups > 0 && isfinite(share) ? fmin(share, fmax(worth, share / 4))
               : isfinite(share)                ? share
                                                : fmax(fmax(worth, windows), 1);
    range = isfinite(end_s) && speed_ups > 0
                ? part_of(elastic, worker, end_s) +
                      part_of(elastic, elastic->hands[worker].mate, end_s)
                : view->units_left / elastic->present;
    range = fmin(range, carried(turn, worker, end_s));
    if (is_tried_first(turn, worker))
        range = fmin(range, share * TRIAL);
    return fmax(0, parted(range, fmax(worth, fmax(share * LEAST_PART, windows))));
}

/* What would be left is not worth a start. */
static double soft(const struct cv_decision *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_min_units(turn->view)) ? left
                                                                            : units;
}

/* What a start of a worker is worth. */
static double start_units(const struct cv_decision *turn, uint32_t worker)
{
    return cv_elastic_start(turn->elastic, worker) *
           cv_elastic_speed(turn->elastic, worker);
}

void cv_stream_first(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s;

    if (isinf(turn->view->units_left))
        return;
    cv_staged_start_keep(turn);
    end_s = cv_elastic_end(elastic, turn->view->units_left, turn->now_s);
    if (!isfinite(end_s))
        return;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double units = range_of(turn, w, end_s), left = turn->view->units_left;

        if (elastic->hands[w].state == CV_PHASE_PRESTARTED && !elastic->hands[w].spare &&
            turn->view->units_left > 0 && units > cv_elastic_min_units(turn->view))
            cv_decision_give(turn, w,
                             cv_staged_start_is_last(turn, w) ||
                                     left - units <= fmin(units / 8, start_units(turn, w))
                                 ? left
                                 : units,
                             false);
    }
}

void cv_stream_further(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double share = cv_elastic_share(elastic, turn->view);
    double end_s, units;

    if (hand->due > 0)
        return;
    elastic->goes_on = worker;
    end_s = isfinite(turn->view->units_left)
                ? cv_elastic_end(elastic, turn->view->units_left, turn->now_s)
                : INFINITY;
    units = range_of(turn, worker, end_s);
    elastic->goes_on = CV_NOBODY;
    if (isinf(turn->view->units_left))
        units = fmin(units, share - hand->given);
    if (units > 0)
        cv_decision_extend(turn, worker, soft(turn, units));
    else if (hand->drained)
        cv_decision_close(turn, worker);
}

/* More than what was rounded away when something was recalled. */
static bool is_left(const struct cv_decision *turn)
{
    const double left = turn->view->units_left;

    return left > ROUNDED * cv_elastic_min_units(turn->view) ||
           (left > 0 && !cv_elastic_busy(turn->elastic));
}

/* What is left, for those that are free; the first one that had no choice. Until somebody was
 * given something, all could end together at the same time. */
static uint32_t hand_out(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s = INFINITY, range;
    bool known = false;
    uint32_t w;

    for (w = 0; w < elastic->n && is_left(turn); w++) {
        if (!cv_hand_is_free(&elastic->hands[w]) || elastic->hands[w].spare)
            continue;
        if (!known && isfinite(turn->view->units_left))
            end_s = cv_elastic_end(elastic, turn->view->units_left, turn->now_s);
        known = true;
        range = range_of(turn, w, end_s);
        /* Those that are at work would have done it before. */
        if (!(range > 0) && cv_elastic_busy(elastic))
            continue;
        cv_decision_give(turn, w,
                         soft(turn, fmax(range, cv_elastic_min_units(turn->view))),
                         false);
        known = false;
    }
    return w;
}

void cv_stream_serve(const struct cv_decision *turn)
{
    uint32_t first;

    cv_staged_start_release(turn);
    first = hand_out(turn);
    if (first < turn->elastic->n)
        cv_steal_serve(turn, first);
}
