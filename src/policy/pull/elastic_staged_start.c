/* elastic_staged_start.c -- who is given something first, when nobody knows who is slow.
 * SPDX-License-Identifier: MIT
 *
 * Where a worker reads is decided with its first byte, and a range that turns out to be a
 * slow worker's can only be taken over by one that starts again; or by one that has
 * started, and has not been given anything. So half of those that wait are given twice
 * their part, and the others what these cannot do: when it was seen how fast the first
 * ones are, all if they are alike, else half of those that are left, and so on. */
#include <math.h>

#include "policy/pull/elastic.h"

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
