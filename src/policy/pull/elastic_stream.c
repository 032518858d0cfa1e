/* elastic_stream.c -- ranges for a command that works as it reads.
 * SPDX-License-Identifier: MIT
 *
 * A range is what its worker can do until all could end together, or what makes its start
 * cheap. At its end it goes on with what follows, if that is nobody's. When nothing is left,
 * a free worker takes the tail of the one that will be last. */
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
/* A tail is taken if that gains more than this part of a start. */
static const double STEAL = 0.1;
/* A command has started but for such a part of what a start takes. */
static const double STARTED = 0.01;
/* Somebody who will be late is looked at again after this part of its time. */
static const double AGAIN = 1.0 / 8;
/* Of what cannot be told apart from nothing, this part is nothing. */
static const double ROUNDED = 1e-3;
/* So many recalls per worker, and nothing was finished meanwhile: it is enough. */
enum { RECALLS = 8 };

/* What a worker is given at once keeps a port that is shared from the others: it should not
 * do so for longer than its part of the time that is left. Real ranges go by windows. */
static double carried(const struct cv_turn *turn, uint32_t worker, double end_s)
{
    const struct cleave_view *view = turn->view;

    if (view->real || view->port == CLEAVE_PORT_MULTI || !isfinite(end_s))
        return INFINITY;
    return view->workers[worker].bandwidth_ups * end_s * LINK_PART /
           turn->elastic->present;
}

/* What is in its pipe cannot be taken back from a worker, and a slow one would be late with that
 * alone. Where a start is nothing beside a share, its first piece only shows how fast it is. */
static bool is_tried_first(const struct cv_turn *turn, uint32_t worker)
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
static double parted(double range, double least)
{
    return range > least ? range / floor(range / least) : range;
}

/* What its pipe holds: sips become larger for one that is fast, and nobody knows how fast one is that
 * was not seen. */
static double window_of(const struct cv_turn *turn, double speed_ups)
{
    const double fast = speed_ups > 0 ? speed_ups * SIP_S : INFINITY;

    return fmax(turn->view->ahead, fmin(cv_elastic_gulp(turn->view), fast));
}

static double range_of(const struct cv_turn *turn, uint32_t worker, double end_s)
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
                ? speed_ups * (end_s - elastic->ready[worker].in_s)
                : view->units_left / elastic->present;
    range = fmin(range, carried(turn, worker, end_s));
    if (is_tried_first(turn, worker))
        range = fmin(range, share * TRIAL);
    return fmax(0, parted(range, fmax(worth, fmax(share * LEAST_PART, windows))));
}

/* What would be left is not worth a start. */
static double soft(const struct cv_turn *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_grain(turn->view)) ? left : units;
}

/* What a start of a worker is worth. */
static double start_units(const struct cv_turn *turn, uint32_t worker)
{
    return cv_elastic_start(turn->elastic, worker) *
           cv_elastic_speed(turn->elastic, worker);
}

void cv_stream_first(const struct cv_turn *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s;

    if (isinf(turn->view->units_left))
        return;
    cv_wave_keep(turn);
    end_s = cv_elastic_end(elastic, turn->view->units_left, turn->now_s);
    if (!isfinite(end_s))
        return;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double units = range_of(turn, w, end_s), left = turn->view->units_left;

        if (elastic->hands[w].state == CV_HAND_WARM && !elastic->hands[w].spare &&
            turn->view->units_left > 0 && units > cv_elastic_grain(turn->view))
            cv_turn_give(turn, w,
                         cv_wave_is_last(turn, w) ||
                                 left - units <= fmin(units / 8, start_units(turn, w))
                             ? left
                             : units,
                         false);
    }
}

void cv_stream_further(const struct cv_turn *turn, uint32_t worker)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cv_hand *hand = &elastic->hands[worker];
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
        cv_turn_extend(turn, worker, soft(turn, units));
    else if (hand->drained)
        cv_turn_close(turn, worker);
}

/* --- tails -------------------------------------------------------------------------------- */

/* It has not begun, and should have. */
static bool is_overdue(const struct cv_turn *turn, const struct cv_hand *hand)
{
    return hand->started_s < 0 &&
           turn->now_s - hand->begun_s >= 2 * turn->elastic->usual_start_s;
}

/* Units of its chunk that can still be taken back: of one that is overdue perhaps all, if they
 * are not even there; but nothing while more is on its way. */
static double unfed(const struct cv_turn *turn, uint32_t worker)
{
    const struct cv_hand *hand = &turn->elastic->hands[worker];

    if (hand->state != CV_HAND_OPEN || hand->firm || hand->drained || hand->due > 0)
        return 0;
    if (is_overdue(turn, hand))
        return hand->given;
    return hand->given - cv_elastic_read(turn->elastic, worker, turn->now_s) -
           turn->view->ahead;
}

/* Who will be last, of those that something can be taken from, and in how long. */
struct last {
    uint32_t worker;
    double rest_s, unfed;
};

static double rest_of(const struct cv_turn *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_hand *hand = &elastic->hands[worker];
    const double rest_s = cv_elastic_rest(elastic, worker, turn->now_s);

    /* One that starts is as near as one that would be started. */
    if (hand->started_s < 0 && !is_overdue(turn, hand))
        return fmin(rest_s, hand->given / fmax(cv_elastic_speed(elastic, worker), 1e-12));
    return rest_s;
}

static struct last latest(const struct cv_turn *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    struct last last = { CV_NOBODY, -1, 0 };

    for (uint32_t w = 0; w < elastic->n; w++) {
        const double units = unfed(turn, w);

        if (!(units > cv_elastic_grain(turn->view)))
            continue;
        if (rest_of(turn, w) > last.rest_s)
            last = (struct last){ w, rest_of(turn, w), units };
    }
    return last;
}

/* When a thief would work. A start may take longer than its last one did. */
static double thief_ready_in(const struct cv_turn *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double more_s =
        elastic->hands[worker].state == CV_HAND_WARM
            ? 0
            : cv_elastic_usual_start(elastic, worker) - cv_elastic_start(elastic, worker);

    return cv_elastic_ready_in(elastic, worker, turn->now_s) + fmax(0, more_s);
}

static double thief_speed(const struct cv_elastic *elastic, uint32_t worker)
{
    const double speed_ups = cv_elastic_speed(elastic, worker);

    return speed_ups > 0 ? speed_ups : elastic->mean_ups;
}

/* What a free worker should take of the tail of the one that will be last; 0: that is not worth it. */
static double tail_for(const struct cv_turn *turn, uint32_t worker,
                       const struct last *last)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double ready_s = thief_ready_in(turn, worker), rest_s = last->rest_s;
    const double speed_ups = thief_speed(elastic, worker);
    const double late_ups = cv_elastic_speed(elastic, last->worker);
    const bool has_begun = !(elastic->hands[last->worker].started_s < 0);
    /* A result more has to be folded. */
    const double fold_s = cv_fold_charge(turn->view, elastic->fold_s, 1);
    double units, gain_s;

    if (!(speed_ups > 0))
        return 0;
    units = isfinite(rest_s) && late_ups > 0
                ? fmin((rest_s - ready_s) / (1 / late_ups + 1 / speed_ups), last->unfed)
                : last->unfed;
    gain_s = rest_s - ready_s - units / speed_ups;
    units = cv_wave_hedged(turn, worker, units, rest_s, gain_s);
    /* Who has not even begun, and should have long ago, can lose all of it; else it has to be
     * waited for, and only does what is left sooner. */
    if (isfinite(rest_s) && (has_begun || units < last->unfed))
        gain_s = fmin(gain_s, units / fmax(late_ups, 1e-12));
    return units > fmax(cv_elastic_grain(turn->view), elastic->least) &&
                   gain_s > fmax(STEAL * ready_s, turn->view->ahead / speed_ups) + fold_s
               ? units
               : 0;
}

/* How long its command, which starts on nothing, will not read yet. */
static double starts_for(const struct cv_turn *turn, uint32_t worker)
{
    const struct cv_hand *hand = &turn->elastic->hands[worker];
    const double start_s = cv_elastic_start(turn->elastic, worker);
    const double rest_s = start_s - (turn->now_s - hand->begun_s);

    return hand->state == CV_HAND_WARM && rest_s > STARTED * start_s ? rest_s : 0;
}

/* Take a tail of the one that will be last for a free worker. What it takes is decided when its command reads:
 * until then others show how fast they are. False: that is not worth it, not yet, or there is none. */
static bool steal(const struct cv_turn *turn, uint32_t worker, const struct last *last,
                  double *again_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const double units = tail_for(turn, worker, last), rest_s = last->rest_s;

    if (starts_for(turn, worker) > 0) {
        *again_s = fmin(*again_s, starts_for(turn, worker));
        return false;
    }
    if (units > 0 && elastic->recalls < RECALLS * elastic->present) {
        elastic->thief = worker;
        elastic->recalls++;
        cv_turn_recall(turn, last->worker, units);
        return true;
    }
    *again_s = fmin(*again_s,
                    fmax(isfinite(rest_s) ? rest_s * AGAIN : thief_ready_in(turn, worker),
                         1e-3 * (1 + turn->now_s)));
    return false;
}

/* More than what was rounded away when something was recalled. */
static bool is_left(const struct cv_turn *turn)
{
    const double left = turn->view->units_left;

    return left > ROUNDED * cv_elastic_grain(turn->view) ||
           (left > 0 && !cv_elastic_busy(turn->elastic));
}

/* What is left, for those that are free; the first one that had no choice. Until somebody was
 * given something, all could end together at the same time. */
static uint32_t hand_out(const struct cv_turn *turn)
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
        cv_turn_give(turn, w, soft(turn, fmax(range, cv_elastic_grain(turn->view))),
                     false);
        known = false;
    }
    return w;
}

/* Those that have started come first; who has not waits for those that are kept. */
static bool somebody_steals(const struct cv_turn *turn, uint32_t first,
                            const struct last *last, double *again_s)
{
    const struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = first; w < elastic->n; w++) {
        const struct cv_hand *hand = &elastic->hands[w];

        if (hand->state == CV_HAND_WARM && cv_hand_is_free(hand) && !hand->spare &&
            steal(turn, w, last, again_s))
            return true;
    }
    return false;
}

/* --- those who are to help later ------------------------------------------------------------ */

/* What all have to do if those that start take tails as they are ready: of the last of them. */
static struct last foreseen(const struct cv_turn *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    struct last last = { CV_NOBODY, -1, 0 };

    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->tails[w].unfed > cv_elastic_grain(turn->view) &&
            elastic->tails[w].rest_s > last.rest_s)
            last = (struct last){ w, elastic->tails[w].rest_s, elastic->tails[w].unfed };
    return last;
}

/* It will take so much of the tail of the last one. */
static void foresee(const struct cv_turn *turn, uint32_t worker, const struct last *last,
                    double units)
{
    struct cv_tail *tails = turn->elastic->tails;
    const double late_ups = cv_elastic_speed(turn->elastic, last->worker);
    const double own_ups = thief_speed(turn->elastic, worker);

    tails[last->worker].unfed -= units;
    tails[last->worker].rest_s -= units / fmax(late_ups, 1e-12);
    tails[worker].unfed = units;
    tails[worker].rest_s = thief_ready_in(turn, worker) + units / own_ups;
}

/* Start those who are worth a start, beside those that start already. */
static void call_in(const struct cv_turn *turn, double *again_s)
{
    struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = 0; w < elastic->n; w++) {
        elastic->tails[w] = (struct cv_tail){ unfed(turn, w), rest_of(turn, w) };
        if (elastic->hands[w].spare)
            return;
    }
    for (int idle = 0; idle < 2; idle++)
        for (uint32_t w = 0; w < elastic->n; w++) {
            const struct cv_hand *hand = &elastic->hands[w];
            const struct last last = foreseen(turn);
            double units;

            if (!cv_hand_is_free(hand) || last.worker == CV_NOBODY ||
                (hand->state == CV_HAND_IDLE) != idle)
                continue;
            units = tail_for(turn, w, &last);
            if (units > 0) {
                foresee(turn, w, &last, units);
                if (idle)
                    cv_turn_warm(turn, w);
            }
            if (idle)
                *again_s = fmin(*again_s, units > 0 ? cv_elastic_start(elastic, w)
                                                    : fmax(isfinite(last.rest_s)
                                                               ? last.rest_s * AGAIN
                                                               : thief_ready_in(turn, w),
                                                           1e-3 * (1 + turn->now_s)));
        }
}

void cv_stream_serve(const struct cv_turn *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    double again_s = INFINITY;
    uint32_t w;
    struct last last;

    cv_wave_release(turn);
    w = hand_out(turn);
    if (w == elastic->n)
        return;
    last = latest(turn);
    if (last.worker == CV_NOBODY || somebody_steals(turn, w, &last, &again_s))
        return;
    call_in(turn, &again_s);
    if (isfinite(again_s))
        cv_turn_wake(turn, turn->now_s + again_s);
}
