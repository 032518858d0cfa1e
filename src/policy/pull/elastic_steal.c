/* elastic_steal.c -- who takes over what another one will be late with. SPDX-License-Identifier: MIT
 *
 * When nothing is left, a free worker takes the tail of the one that will be last. One that has to be
 * started for that starts on nothing: where it begins is decided when it reads. */
#include <math.h>
#include "policy/pull/elastic.h"
#include "policy/pull/fold_charge.h"

/* --- who is given something first, when nobody knows who is slow ------------------- */

/* Where a worker reads is decided with its first byte, and a range that turns out to be a
 * slow worker's can only be taken over by one that starts again; or by one that has
 * started, and has not been given anything. So half of those that wait are given twice
 * their part, and the others what these cannot do: when it was seen how fast the first
 * ones are, all if they are alike, else half of those that are left, and so on. */

/* Starts that take less need not be saved. */
static const double SHORT_START_S = 5e-3;
/* A pace is known after this time and so many windows, which should be no more than this
 * part of the whole time. */
static const double PACE_S = 1.1e-3, PACE_WINDOWS = 1.5, PACE_PART = 0.05;
/* It is waited for those that have not begun for so many times that long. */
static const double PATIENCE = 4;
/* Such a part of a share can wait until all paces are known. */
static const double LITTLE = 0.25;
/* If there is nobody to help, a share may be less by this part of the time, if a slow one is
 * done with the rest in this part of a start. */
static const double HEDGE = 0.06, MUCH = 0.8, HEDGED = 8;
/* So unequal paces are more than chance. */
static const double UNEQUAL = 3;
/* A start is this part of the time for which waiting pays. */
static const double START_PART = 0.1;

static double wave_length(const struct cv_decision *turn)
{
    return fmax(fmax(PACE_S, turn->view->burst_s),
                PACE_WINDOWS * turn->view->ahead / fmax(turn->elastic->mean_ups, 1e-12));
}

static bool pays(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double start_s = elastic->mean_start_s;
    const double share_s = cv_elastic_share_s(elastic, turn->view);

    return !turn->view->measured && isfinite(turn->view->units_left) &&
           elastic->mean_ups > 0 && start_s > SHORT_START_S &&
           start_s > START_PART * share_s &&
           wave_length(turn) < PACE_PART * (start_s + share_s);
}

/* Of two workers the other one may be slow, and nobody is there to help it but the first one,
 * after a start. If they are alike, what it is given less costs no more than a small part of
 * the time; but that pays only if a slow one is done with the rest before it is helped. */
static void hedge(const struct cv_decision *turn, struct cv_worker_estimate *hand)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double share_s = cv_elastic_share_s(elastic, turn->view);
    const double less_s = HEDGE * (elastic->mean_start_s + share_s);

    if (turn->view->unequal > HEDGED &&
        fmax(share_s - less_s, 0) * turn->view->unequal < MUCH * elastic->mean_start_s)
        hand->doubt_s = 2 * less_s; /* half of that is the loss of the first one */
}

/* The next one from `worker` on in that state that is kept, or is not. */
static uint32_t next(const struct cv_elastic *elastic, uint32_t worker,
                     enum cv_worker_phase state, bool spare)
{
    while (worker < elastic->n && (elastic->hands[worker].state != state ||
                                   elastic->hands[worker].spare != spare))
        worker++;
    return worker;
}

/* Each of those that are kept will help one: first those that read already. Of an odd number one that was never
 * seen has its own part only. */
static void pair(struct cv_elastic *elastic)
{
    uint32_t helper = next(elastic, 0, CV_PHASE_PRESTARTED, true);

    for (int reads = 1; reads >= 0; reads--) {
        const enum cv_worker_phase state = reads ? CV_PHASE_OPEN : CV_PHASE_PRESTARTED;

        for (uint32_t w = next(elastic, 0, state, false);
             w < elastic->n && helper < elastic->n;
             w = next(elastic, w + 1, state, false)) {
            elastic->hands[w].mate = helper;
            elastic->hands[helper].mate = w;
            helper = next(elastic, helper + 1, CV_PHASE_PRESTARTED, true);
        }
    }
}

void cv_staged_start_unpair(struct cv_elastic *elastic)
{
    for (uint32_t w = 0; w < elastic->n; w++)
        elastic->hands[w].mate = CV_NOBODY;
}

void cv_staged_start_keep(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    uint32_t warm = 0, first = (elastic->present + 1) / 2, given = 0;

    if (elastic->waved)
        return;
    elastic->waved = true;
    if (!pays(turn))
        return;
    for (uint32_t w = 0; w < elastic->n; w++)
        warm += elastic->hands[w].state == CV_PHASE_PRESTARTED;
    for (uint32_t w = 0; warm == 1 && elastic->present == 2 && w < elastic->n; w++)
        if (elastic->hands[w].state == CV_PHASE_PRESTARTED)
            hedge(turn, &elastic->hands[w]);
    if (warm < 2)
        return;
    first = first > elastic->present - warm ? first - (elastic->present - warm) : 1;
    for (uint32_t w = 0; w < elastic->n; w++)
        if (elastic->hands[w].state == CV_PHASE_PRESTARTED)
            elastic->hands[w].spare = ++given > first;
    pair(elastic);
    elastic->wave_s = turn->now_s + wave_length(turn);
    cv_decision_wake(turn, elastic->wave_s);
}

bool cv_staged_start_is_last(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    uint32_t w = worker + 1;

    while (w < elastic->n && elastic->hands[w].state != CV_PHASE_PRESTARTED)
        w++;
    return w < elastic->n && elastic->hands[w].spare;
}

/* The slowest and the fastest that were seen. */
static void paces(const struct cv_elastic *elastic, double *slow_ups, double *fast_ups)
{
    *slow_ups = INFINITY;
    *fast_ups = 0;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double own_ups = cv_elastic_own_speed(elastic, w);

        if (elastic->hands[w].pace_ups < 0 && !(own_ups > 0))
            continue;
        *slow_ups = fmin(*slow_ups, own_ups);
        *fast_ups = fmax(*fast_ups, own_ups);
    }
}

/* Somebody was given something whose pace will be known soon. */
static bool is_pending(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double long_s = PATIENCE * wave_length(turn);

    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        if (hand->state == CV_PHASE_OPEN && hand->pace_ups < 0 &&
            turn->now_s < hand->bound_s + long_s)
            return true;
    }
    return false;
}

void cv_staged_start_release(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    uint32_t spare = 0, few;
    double slow_ups, fast_ups;

    for (uint32_t w = 0; w < elastic->n; w++)
        spare += elastic->hands[w].spare;
    if (spare == 0)
        return;
    if (turn->now_s >= elastic->wave_s && !is_pending(turn)) {
        paces(elastic, &slow_ups, &fast_ups);
        few = UNEQUAL * slow_ups < fast_ups ? (spare + 1) / 2 : spare;
        cv_staged_start_unpair(elastic); /* whom they help is decided by what was seen */
        for (uint32_t w = 0; w < elastic->n && few > 0; w++)
            if (elastic->hands[w].spare) {
                elastic->hands[w].spare = false;
                few--;
                spare--;
            }
        elastic->wave_s = turn->now_s + wave_length(turn);
    }
    if (spare > 0)
        cv_decision_wake(turn,
                         fmax(elastic->wave_s, turn->now_s + wave_length(turn) / 2));
}

/* If it is as slow as the slowest, it should be done when the one that it helps would have
 * been; unless it is worth more to have it help than a start costs. */
double cv_staged_start_hedged(const struct cv_decision *turn, uint32_t worker,
                              double units, double rest_s, double gain_s)
{
    const struct cv_elastic *elastic = turn->elastic;
    double slow_ups, fast_ups;

    if (cv_elastic_own_speed(elastic, worker) > 0 || gain_s > elastic->mean_start_s)
        return units;
    if (elastic->hands[worker].doubt_s > 0)
        return fmin(units, rest_s * elastic->mean_ups / turn->view->unequal);
    paces(elastic, &slow_ups, &fast_ups);
    if (UNEQUAL * slow_ups >= fast_ups)
        return units;
    units = fmin(units, slow_ups * rest_s);
    return is_pending(turn) && units < LITTLE * cv_elastic_share(elastic, turn->view)
               ? 0
               : units;
}

/* --- who takes over what another one will be late with ----------------------------- */

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

/* --- how unequal workers are, if the command works when it has read all ------------ */

/* How fast a worker is shows only when its chunk is done, and the next one takes a start. So
 * a quarter of those that have started are tried on next to nothing, and start again at
 * once, while the others wait for them: if these are alike, the others can have all of their
 * shares with the start that they have paid. */

/* One of so many is tried, on what it does in this time at least. */
enum { ONE_OF = 4 };
static const double TRIED_S = 1e-3;
/* The others wait for so many times that long. */
static const double WAIT = 6;
/* It pays if a share takes more than this part of a start, and less than so many starts. */
static const double LEAST_STARTS = 0.05, MOST_STARTS = 1.5;
/* Those that were not tried may differ by so much more. */
static const double MORE = 1.5;

static bool sample_pays(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    const double start_s = elastic->mean_start_s;
    const double share_s = cv_elastic_share_s(elastic, turn->view);

    return !turn->view->measured && isfinite(turn->view->units_left) &&
           elastic->mean_ups > 0 && start_s > 5 * TRIED_S &&
           share_s > LEAST_STARTS * start_s && share_s < MOST_STARTS * start_s;
}

/* In an order in which neighbours, and every other one, are far apart. */
static uint32_t pick(uint32_t i, uint32_t n)
{
    const uint32_t step = (uint32_t)(0.618 * n) | 1;

    return (uint32_t)((uint64_t)i * step % n);
}

static void begin(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    double units = TRIED_S * elastic->mean_ups;
    uint32_t warm = 0, few;

    /* As much as the test: two sizes of two workers would look like a start and work. */
    for (uint32_t w = 0; w < elastic->n; w++)
        units = fmax(units, elastic->hands[w].done);
    elastic->sampled_s = turn->now_s;
    elastic->sample_s = units / fmax(elastic->mean_ups, 1e-12);
    for (uint32_t w = 0; w < elastic->n; w++)
        warm += elastic->hands[w].state == CV_PHASE_PRESTARTED &&
                cv_hand_is_free(&elastic->hands[w]);
    if (warm < 2 || !sample_pays(turn))
        return;
    elastic->sampling = true;
    few = (warm + ONE_OF - 1) / ONE_OF;
    for (uint32_t i = 0; i < elastic->n && few > 0; i++) {
        struct cv_worker_estimate *hand = &elastic->hands[pick(i, elastic->n)];

        if (hand->state != CV_PHASE_PRESTARTED || !cv_hand_is_free(hand))
            continue;
        cv_decision_give(turn, pick(i, elastic->n), units, true);
        hand->sampled = true;
        few--;
    }
}

/* All have reported: they differ by so much. */
static void end(struct cv_elastic *elastic)
{
    double slow_ups = INFINITY, fast_ups = 0;
    bool all = true;

    elastic->sampling = false;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const double own_ups = cv_elastic_own_speed(elastic, w);

        all = all && (!elastic->hands[w].sampled || own_ups > 0);
        if (!(own_ups > 0))
            continue;
        slow_ups = fmin(slow_ups, own_ups);
        fast_ups = fmax(fast_ups, own_ups);
    }
    if (all && slow_ups > 0)
        elastic->spread = MORE * fast_ups / slow_ups;
}

bool cv_sample_waits(const struct cv_decision *turn)
{
    struct cv_elastic *elastic = turn->elastic;
    uint32_t missing = 0;
    double until_s;

    if (!(elastic->sampled_s > 0))
        begin(turn);
    if (!elastic->sampling)
        return false;
    until_s = elastic->sampled_s + WAIT * elastic->sample_s;
    for (uint32_t w = 0; w < elastic->n; w++) {
        const struct cv_worker_estimate *hand = &elastic->hands[w];

        missing += hand->state == CV_PHASE_CLOSED;
        /* They will be needed again. */
        if (hand->state == CV_PHASE_IDLE && cv_hand_is_free(hand))
            cv_decision_prestart(turn, w);
    }
    if (missing > 0 && turn->now_s < until_s) {
        cv_decision_wake(turn, until_s);
        return true;
    }
    end(elastic);
    return false;
}
