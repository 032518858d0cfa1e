/* elastic_sample.c -- how unequal workers are, if the command works when it has read all.
 * SPDX-License-Identifier: MIT
 *
 * How fast a worker is shows only when its chunk is done, and the next one takes a start. So
 * a quarter of those that have started are tried on next to nothing, and start again at
 * once, while the others wait for them: if these are alike, the others can have all of their
 * shares with the start that they have paid. */
#include <math.h>

#include "policy/pull/elastic.h"

/* One of so many is tried, on what it does in this time at least. */
enum { ONE_OF = 4 };
static const double TRIED_S = 1e-3;
/* The others wait for so many times that long. */
static const double WAIT = 6;
/* It pays if a share takes more than this part of a start, and less than so many starts. */
static const double LEAST_STARTS = 0.05, MOST_STARTS = 1.5;
/* Those that were not tried may differ by so much more. */
static const double MORE = 1.5;

static bool pays(const struct cv_decision *turn)
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
    if (warm < 2 || !pays(turn))
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
