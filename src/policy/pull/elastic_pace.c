/* elastic_pace.c -- how fast a command reads. SPDX-License-Identifier: MIT
 *
 * Simulated commands read evenly: what was read since the last look, by the time, is the pace. A
 * real one takes what its pipe holds, and reads nothing while it works on that; how long that
 * may take, the view says. Two looks tell the pace only within bounds then, and it is thought to
 * be what it was, or that of all, as far as these allow. Who does not move at all is taken for
 * slow little by little: to take its work over costs a start. */
#include <math.h>

#include "policy/pull/elastic.h"

/* A pipe is narrow until so many windows have been read. */
static const double NARROW = 4;
/* A sample of so many times what is read at once is as good as any. */
static const double STEADY = 8;
/* So many sips are as many as a test has. */
static const double TELLING = 4;
/* That somebody stands still is believed after such a part of a start. */
static const double STILL = 0.25;

/* Read evenly, so many units since the last sample. False: that says nothing. */
static bool even(const struct cv_decision *turn, struct cv_worker_estimate *hand,
                 double units)
{
    const double ahead = turn->view->ahead, since_s = turn->now_s - hand->from_s;

    if (hand->from_s >= 0) {
        if (!(since_s > CV_SAMPLE_S) || !(units > ahead || hand->pace_ups < 0 ||
                                          since_s * hand->pace_ups > 4 * ahead))
            return false;
        hand->pace_ups = units / since_s;
    }
    hand->from_s = turn->now_s;
    hand->from = hand->read;
    return hand->pace_ups >= 0;
}

/* As it was thought to be, unless that cannot be. */
static double bounded(const struct cv_decision *turn,
                      const struct cv_worker_estimate *hand, double thought_ups,
                      double units, double since_s)
{
    const double burst_s = turn->view->burst_s, narrow = 2 * turn->view->ahead;

    if (hand->read < NARROW * turn->view->ahead)
        return fmin(fmax(thought_ups, (units - narrow) / since_s),
                    (units + narrow) / since_s);
    return fmin(fmax(thought_ups, units / (since_s + burst_s)),
                since_s > burst_s ? units / (since_s - burst_s) : INFINITY);
}

/* Of what was read until it last moved. */
static void learn_pace(const struct cv_decision *turn, struct cv_worker_estimate *hand)
{
    const double units = hand->read - hand->from, since_s = hand->moved_s - hand->from_s;
    const double thought_ups =
        hand->moving_ups >= 0 ? hand->moving_ups : turn->elastic->scale_ups * hand->prior;
    /* What was seen of it is no less than what the test had: it counts for itself. */
    const bool first = cv_elastic_writes_small(turn->view) && hand->moving_ups < 0 &&
                       units >= TELLING * turn->view->ahead;
    const bool steady = since_s >= STEADY * turn->view->burst_s;

    if (!(since_s > CV_SAMPLE_S))
        return;
    hand->moving_ups = steady || first || !(thought_ups > 0)
                           ? units / since_s
                           : bounded(turn, hand, thought_ups, units, since_s);
    if (steady) {
        hand->from_s = hand->moved_s;
        hand->from = hand->read;
    }
}

/* Read in gulps; has it moved since the last look? False: that says nothing. */
static bool gulping(const struct cv_decision *turn, struct cv_worker_estimate *hand,
                    bool moved)
{
    const struct cv_elastic *elastic = turn->elastic;
    double patience_s = fmax(turn->view->burst_s, STILL * elastic->mean_start_s), still_s;

    if (hand->from_s < 0) {
        hand->from_s = hand->moved_s = turn->now_s;
        hand->from = hand->read;
        return false;
    }
    if (moved) {
        hand->moved_s = turn->now_s;
        learn_pace(turn, hand);
    }
    still_s = turn->now_s - hand->moved_s;
    if (cv_elastic_writes_small(turn->view) &&
        hand->moving_ups > 0) /* it works on what it has read at once */
        patience_s = fmax(patience_s, 2 * turn->view->ahead / hand->moving_ups);
    if (hand->moving_ups < 0 && still_s > patience_s)
        hand->moving_ups = elastic->scale_ups * hand->prior;
    if (hand->moving_ups < 0)
        return false;
    hand->pace_ups = hand->moving_ups * fmin(1, patience_s / fmax(still_s, 1e-9));
    return true;
}

void cv_decision_sample(const struct cv_decision *turn, uint32_t worker, double read)
{
    struct cv_worker_estimate *hand = &turn->elastic->hands[worker];
    const double since_s = turn->now_s - hand->from_s;
    const bool moved = read > hand->read;

    hand->read = read;
    hand->sampled_s = turn->now_s;
    if (turn->view->burst_s > 0 ? gulping(turn, hand, moved)
                                : even(turn, hand, read - hand->from))
        hand->own = hand->pace_ups < CV_OWN_PACE * cv_elastic_pipe(turn->view, worker) &&
                    cv_elastic_tells(turn->elastic, since_s, 1);
}
