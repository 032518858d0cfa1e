/* elastic_read_all.c -- sizes for a command that works when it has read all.
 * SPDX-License-Identifier: MIT
 *
 * What such a command was given cannot be taken back once it is closed, so a size has to be
 * right: at most half of what its worker can do until all could end together, unless that
 * is not worth a start, and less where starts cost next to nothing: who has an eighth of its share
 * and drops to a quarter of its speed still ends before half of the time is over, and the rest can
 * go to others. Little for a worker whose speed is not known. */
#include <math.h>

#include "policy/pull/elastic.h"
#include "policy/pull/fold_charge.h"

/* A chunk should be worth so many starts; if a start is this part of it, it need not be larger,
 * but for at most so many times as many chunks. */
static const double START_WORTH = 3, SHARE = 0.02, MORE_PARTS = 4;
/* ... and of so many, as long as it is not known how fast the others are. */
static const double CERTAIN_WORTH = 2;
/* Such a part of a share is as good as all of it: the rest is not worth a start. */
static const double NEARLY = 0.8;
/* Where a start is less than this part of an equal share, no chunk is more than such a part of it: who drops to a
 * quarter of its speed in the very moment at which it was given that still needs no more than a share's time. */
static const double CHEAP = 0.03, LARGEST = 0.2;
/* What a chunk leaves of a share should be worth so many starts: else it is all of it. */
static const double LEFT_WORTH = 2;
/* Nobody is started for less than this part of a start: that would save next to nothing, and the more are
 * started, the later is the last of them. */
static const double LEAST_WORTH = 0.05;
/* The last one that has started takes what is left over, if it is this part of what it has. */
static const double CRUMB = 0.01;
/* Of so many one whose speed is not sure is no loss. */
enum { MANY = 8 };
/* Workers are that unequal, if nobody has said; who may be so many times as fast is as fast, since it is heard late on a
 * busy machine that somebody has begun. */
static const double UNEQUAL = 30, ALIKE = 1.5;

/* The next sizes wait for others than the test for this part of what it took. */
static const double LINE_WAIT = 0.25, SLOW_WAIT = 0.2;

/* Since when it reads; INFINITY: not yet, or not known. Who had started when it was given something did so at once, even
 * if that was not heard yet. */
static double reads_from(const struct cv_elastic *elastic, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &elastic->hands[worker];

    if (hand->started_s >= 0)
        return hand->started_s;
    return hand->bound_s - hand->begun_s >= cv_elastic_start(elastic, worker)
               ? hand->bound_s
               : INFINITY;
}

/* How many times as fast as it is thought to be a worker may be of which nothing is sure. One that is at work is no
 * faster than what it has by the time that it has taken so far: if it was given as much as one that is done, and at the
 * same time, it is no faster than that one. */
static double may_be_faster(const struct cv_decision *turn, uint32_t worker,
                            double unequal)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double thought_ups = fmax(cv_elastic_speed(elastic, worker), 1e-12);
    const double worked_s = turn->now_s - reads_from(elastic, worker) - elastic->late_s;
    double faster;

    if (hand->state != CV_PHASE_CLOSED || !(worked_s > 0))
        return unequal;
    faster = hand->given / worked_s / thought_ups;
    return faster <= ALIKE ? 1 : fmin(unequal, faster);
}

/* What is left of a share then; all of it if that is no more than a little less. */
static double certain_part(const struct cv_decision *turn, double unequal)
{
    const struct cv_elastic *elastic = turn->elastic;
    double all = 0;

    for (uint32_t w = 0; w < elastic->n; w++)
        if (!cv_hand_is_out(&elastic->hands[w]))
            all += elastic->hands[w].sure ? 1 : may_be_faster(turn, w, unequal);
    return elastic->present >= NEARLY * all ? 1 : elastic->present / all;
}

/* For a worker whose speed is not known: if it is as fast as the others, that costs it a
 * second start; if it is as slow as may be, all wait for it. Both cost the same factor. What
 * would be left should be worth a start, the more so if workers are not so unequal. */
static double unknown_size(double size, double share, double start_units, double h)
{
    const double max = fmax(share / (2 * h), 2 / (h - 1) * start_units);

    return share < fmax(1.1 * max, 16 / (h * h) * start_units) ? share : fmin(size, max);
}

static double end_of(const struct cv_decision *turn)
{
    return isfinite(turn->view->units_left)
               ? cv_elastic_end_apart(turn->elastic, turn->view, turn->now_s)
               : INFINITY;
}

/* The most that a chunk may be, if starts cost little. */
static double largest(const struct cv_decision *turn, double speed_ups, double start_s)
{
    const double share_s = cv_elastic_share_s(turn->elastic, turn->view);

    return start_s < CHEAP * share_s ? LARGEST * share_s * speed_ups : INFINITY;
}

/* If all could end together then; that is as of the last call of end_of. */
static double size_of(const struct cv_decision *turn, uint32_t worker, double end_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const struct cleave_view *view = turn->view;
    const double speed_ups = cv_elastic_speed(elastic, worker);
    const double unequal = view->unequal > 0 ? view->unequal : UNEQUAL;
    const double thought = view->measured ? fmin(unequal, CV_AS_MEASURED) : unequal;
    const double h =
        fmax(elastic->spread > 0 ? fmin(thought, elastic->spread) : thought, 1.5);
    const double start_s = cv_elastic_start(elastic, worker) +
                           (elastic->lined ? elastic->late_s : 0) +
                           cv_fold_charge(view, elastic->fold_s, elastic->present);
    double share, size;

    if (isinf(view->units_left)) {
        size = cv_elastic_own_speed(elastic, worker) > 0
                   ? start_s * speed_ups / SHARE
                   : 2 / (h - 1) * start_s * speed_ups;
        return fmin(cv_elastic_share(elastic, view), fmax(size, 16 * elastic->piece));
    }
    share = speed_ups * (end_s - elastic->ready[worker].in_s);
    if (!(share > 0))
        return 0;
    size = fmin(share / elastic->parts,
                fmax(share / (MORE_PARTS * elastic->parts), start_s * speed_ups / SHARE));
    size = fmin(size, largest(turn, speed_ups, start_s));
    size = fmax(size, fmin(share, START_WORTH * start_s * speed_ups));
    if (share - size < LEFT_WORTH * start_s * speed_ups)
        size = share;
    if (!(cv_elastic_own_speed(elastic, worker) > 0) ||
        (elastic->apart && elastic->present >= MANY && !elastic->hands[worker].sure))
        size = unknown_size(size, share, start_s * speed_ups, h);
    return fmin(size, fmax(fmax(share * certain_part(turn, h),
                                elastic->growth * elastic->hands[worker].done),
                           CERTAIN_WORTH * start_s * speed_ups));
}

static double soft(const struct cv_decision *turn, double units)
{
    const double left = turn->view->units_left;

    return left - units < fmax(units / 8, cv_elastic_min_units(turn->view)) ? left
                                                                            : units;
}

/* A chunk for which a command has to be started. */
static double worth_starting(const struct cv_decision *turn, uint32_t worker,
                             double units)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double start_s = cv_elastic_start(elastic, worker) + elastic->late_s;

    return isfinite(turn->view->units_left)
               ? fmax(units, LEAST_WORTH * start_s * cv_elastic_speed(elastic, worker))
               : units;
}

static void serve_held(const struct cv_decision *turn, uint32_t worker)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    double units = size_of(turn, worker, end_of(turn));

    hand->held = false;
    /* What records that are not divided have left over is not worth a start. */
    if (turn->view->units_left <= hand->given * CRUMB)
        units = turn->view->units_left;
    if (units > 0 && turn->view->units_left > 0 && !(hand->due > 0))
        cv_decision_extend(turn, worker, soft(turn, units));
    if (hand->state == CV_PHASE_OPEN)
        cv_decision_close(turn, worker);
}

/* Was most of what the test took a start, or work? Others who were given more meanwhile
 * will tell, soon if it was a start. */
static bool waits_for_a_line(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double until_s = elastic->tested_s + LINE_WAIT * elastic->test_s;

    if (elastic->lined || elastic->test_s < 2 * elastic->mean_start_s ||
        turn->now_s >= until_s || !cv_elastic_busy(elastic))
        return false;
    cv_decision_wake(turn, until_s);
    return true;
}

/* Most of it was a start, and some are not done with their first chunk: how slow are they? If
 * that is not waited for, they are left with a share that takes a start more. */
static bool waits_for_the_slow(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    const double until_s = elastic->tested_s + SLOW_WAIT * elastic->test_s;
    bool any = false;

    if (!elastic->lined || elastic->late_s < elastic->test_s / 2 ||
        turn->now_s >= until_s || isinf(turn->view->units_left))
        return false;
    for (uint32_t w = 0; w < elastic->n; w++)
        any = any || (elastic->hands[w].state == CV_PHASE_CLOSED &&
                      !(elastic->hands[w].done > 0));
    if (any)
        cv_decision_wake(turn, until_s);
    return any;
}

enum { PASSES = 3 };

static int pass_of(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;

    if (elastic->hands[worker].state != CV_PHASE_PRESTARTED)
        return PASSES - 1;
    return cv_elastic_ready_in(elastic, worker, turn->now_s) > elastic->late_s;
}

void cv_slurp_serve(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double end_s = 0;
    bool known = false; /* until somebody is given something, it is the same */

    if (waits_for_a_line(turn) || waits_for_the_slow(turn) || cv_sample_waits(turn))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].held && elastic->hands[w].state == CV_PHASE_OPEN)
            serve_held(turn, w);
    /* Those that wait, those that will soon, then those to be started. */
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t w = 0; w < elastic->n; w++) {
            const struct cv_worker_estimate *hand = &elastic->hands[w];
            double units;

            if (!(turn->view->units_left > 0))
                return;
            if (!cv_hand_is_free(hand) || pass_of(turn, w) != pass)
                continue;
            if (!known)
                end_s = end_of(turn);
            known = true;
            units = size_of(turn, w, end_s);
            if (!(units > 0) && cv_elastic_busy(elastic))
                continue; /* others are ready sooner */
            if (pass == PASSES - 1)
                units = worth_starting(turn, w, units);
            units = soft(turn, fmax(units, cv_elastic_min_units(turn->view)));
            cv_decision_give(turn, w, units,
                             units < turn->view->units_left || pass == PASSES - 1);
            known = false;
        }
}
