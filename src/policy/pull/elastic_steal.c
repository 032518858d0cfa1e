/* elastic_steal.c -- who takes over what another one will be late with. SPDX-License-Identifier: MIT
 *
 * When nothing is left, a free worker takes the tail of the one that will be last. One that has to be
 * started for that starts on nothing: where it begins is decided when it reads. */
#include <math.h>

#include "policy/pull/elastic.h"
#include "policy/pull/fold_charge.h"

/* A tail is taken if that gains more than this part of a start. */
static const double STEAL = 0.1;
/* A command has started but for such a part of what a start takes. */
static const double STARTED = 0.01;
/* Somebody who will be late is looked at again after this part of its time. */
static const double AGAIN = 1.0 / 8;
/* So many recalls per worker, and nothing was finished meanwhile: it is enough. */
enum { RECALLS = 8 };

/* It has not begun, and should have. */
static bool is_overdue(const struct cv_decision *turn,
                       const struct cv_worker_estimate *hand)
{
    return hand->started_s < 0 &&
           turn->now_s - hand->begun_s >= 2 * turn->elastic->usual_start_s;
}

/* Units of its chunk that can still be taken back: of one that is overdue perhaps all, if they
 * are not even there; but nothing while more is on its way. */
static double unfed(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &turn->elastic->hands[worker];

    if (hand->state != CV_PHASE_OPEN || hand->firm || hand->drained || hand->due > 0)
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

static double rest_of(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double rest_s = cv_elastic_rest(elastic, worker, turn->now_s);

    /* One that starts is as near as one that would be started. */
    if (hand->started_s < 0 && !is_overdue(turn, hand))
        return fmin(rest_s, hand->given / fmax(cv_elastic_speed(elastic, worker), 1e-12));
    return rest_s;
}

static struct last find_victim(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    struct last last = { CV_NOBODY, -1, 0 };

    for (uint32_t w = 0; w < elastic->n; w++) {
        const double units = unfed(turn, w);

        if (!(units > cv_elastic_min_units(turn->view)))
            continue;
        if (rest_of(turn, w) > last.rest_s)
            last = (struct last){ w, rest_of(turn, w), units };
    }
    return last;
}

/* When a thief would work. A start may take longer than its last one did. */
static double thief_ready_in(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double more_s =
        elastic->hands[worker].state == CV_PHASE_PRESTARTED
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
static double tail_for(const struct cv_decision *turn, uint32_t worker,
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
    units = cv_staged_start_hedged(turn, worker, units, rest_s, gain_s);
    /* Who has not even begun, and should have long ago, can lose all of it; else it has to be
     * waited for, and only does what is left sooner. */
    if (isfinite(rest_s) && (has_begun || units < last->unfed))
        gain_s = fmin(gain_s, units / fmax(late_ups, 1e-12));
    return units > fmax(cv_elastic_min_units(turn->view), elastic->min) &&
                   gain_s > fmax(STEAL * ready_s, turn->view->ahead / speed_ups) + fold_s
               ? units
               : 0;
}

/* It was not worth it: after so long it is asked again. */
static double later(const struct cv_decision *turn, uint32_t worker,
                    const struct last *last)
{
    return fmax(isfinite(last->rest_s) ? last->rest_s * AGAIN
                                       : thief_ready_in(turn, worker),
                1e-3 * (1 + turn->now_s));
}

/* How long its command, which starts on nothing, will not read yet. */
static double starts_for(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const double start_s = cv_elastic_start(turn->elastic, worker);
    const double rest_s = start_s - (turn->now_s - hand->begun_s);

    return hand->state == CV_PHASE_PRESTARTED && rest_s > STARTED * start_s ? rest_s : 0;
}

/* Take a tail of the one that will be last for a free worker. What it takes is decided when its command reads:
 * until then others show how fast they are. False: that is not worth it, not yet, or there is none. */
static bool steal(const struct cv_decision *turn, uint32_t worker,
                  const struct last *last, double *again_s)
{
    struct cv_elastic *elastic = turn->elastic;
    const double units = tail_for(turn, worker, last);

    if (starts_for(turn, worker) > 0) {
        *again_s = fmin(*again_s, starts_for(turn, worker));
        return false;
    }
    if (units > 0 && elastic->recalls < RECALLS * elastic->present) {
        elastic->thief = worker;
        elastic->recalls++;
        cv_decision_recall(turn, last->worker, units);
        return true;
    }
    *again_s = fmin(*again_s, later(turn, worker, last));
    return false;
}

/* Those that have started come first; who has not waits for those that are kept. */
static bool steal_for_first_idle(const struct cv_decision *turn, uint32_t first,
                                 const struct last *last, double *again_s)
{
    const struct cv_elastic *elastic = turn->elastic;

    for (uint32_t w = first; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state == CV_PHASE_PRESTARTED && cv_hand_is_free(hand) && !hand->spare &&
            steal(turn, w, last, again_s))
            return true;
    }
    return false;
}

/* --- those who are to help later ------------------------------------------------------------ */

/* What all have to do if those that start take tails as they are ready: of the last of them. */
static struct last foreseen(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    struct last last = { CV_NOBODY, -1, 0 };

    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->tails[w].unfed > cv_elastic_min_units(turn->view) &&
            elastic->tails[w].rest_s > last.rest_s)
            last = (struct last){ w, elastic->tails[w].rest_s, elastic->tails[w].unfed };
    return last;
}

/* It will take so much of the tail of the last one. */
static void assume_steal(const struct cv_decision *turn, uint32_t worker,
                         const struct last *last, double units)
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
static void prestart_helpers(const struct cv_decision *turn, double *again_s)
{
    struct cv_elastic *elastic = turn->elastic;
    struct last last;

    for (uint32_t w = 0; w < elastic->n; w++) {
        elastic->tails[w] = (struct cv_tail){ unfed(turn, w), rest_of(turn, w) };
        if (elastic->hands[w].spare)
            return;
    }
    last = foreseen(turn);
    for (int idle = 0; idle < 2; idle++)
        for (uint32_t w = 0; w < elastic->n; w++) {
            const struct cv_worker_estimate *hand = &elastic->hands[w];
            double units;

            if (!cv_hand_is_free(hand) || last.worker == CV_NOBODY ||
                (hand->state == CV_PHASE_IDLE) != idle)
                continue;
            units = tail_for(turn, w, &last);
            if (idle)
                *again_s = fmin(*again_s, units > 0 ? cv_elastic_start(elastic, w)
                                                    : later(turn, w, &last));
            if (!(units > 0))
                continue;
            assume_steal(turn, w, &last, units);
            last = foreseen(turn);
            if (idle)
                cv_decision_prestart(turn, w);
        }
}

void cv_steal_serve(const struct cv_decision *turn, uint32_t first)
{
    const struct last last = find_victim(turn);
    double again_s = INFINITY;

    if (last.worker == CV_NOBODY || steal_for_first_idle(turn, first, &last, &again_s))
        return;
    prestart_helpers(turn, &again_s);
    if (isfinite(again_s))
        cv_decision_wake(turn, turn->now_s + again_s);
}
