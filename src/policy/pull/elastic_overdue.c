/* elastic_overdue.c -- chunks that were closed and take far longer than they should.
 * SPDX-License-Identifier: MIT
 *
 * Of a command that reads all before it works nothing can be taken back. Whether it does was
 * seen on one worker: on a fast one, as a GPU, that takes a batch at a time, a command may seem
 * to that on others works as it reads, and far slower. So when a closed chunk is long overdue and
 * somebody else is free, what was not fed is asked for. Who has read all says so, and is not
 * asked again. */
#include <math.h>

#include "policy/pull/elastic.h"

/* It takes so many times as long as it should: less than that may be a slow worker that reads all, and a start
 * for what it gives back costs more than it saves. */
static const double OVERDUE = 16;

/* From when on it is; INFINITY: nothing can be asked for. */
static double overdue_at(const struct cv_decision *turn, uint32_t worker)
{
    const struct cv_elastic *elastic = turn->elastic;
    const struct cv_worker_estimate *hand = &elastic->hands[worker];
    const double speed_ups = cv_elastic_speed(elastic, worker);

    if (hand->state != CV_PHASE_CLOSED || hand->firm || hand->recalling ||
        hand->started_s < 0 || hand->due > 0 || !(speed_ups > 0) ||
        !(hand->given > turn->view->ahead))
        return INFINITY;
    return hand->started_s + OVERDUE * (elastic->late_s + hand->given / speed_ups);
}

bool cv_overdue_ask(const struct cv_decision *turn)
{
    const struct cv_elastic *elastic = turn->elastic;
    bool any = false, free = false;
    double next_s = INFINITY;

    for (uint32_t w = 0; w < elastic->n && !free; w++)
        free = cv_hand_is_free(&elastic->hands[w]);
    for (uint32_t w = 0; w < elastic->n && free; w++) {
        const double at_s = overdue_at(turn, w);

        if (turn->now_s > at_s) {
            any = true;
            cv_decision_recall(turn, w, elastic->hands[w].given);
        } else {
            next_s = fmin(next_s, at_s);
        }
    }
    /* Nothing else may happen until then. */
    if (!any && isfinite(next_s))
        cv_decision_wake(turn, next_s * 1.0001);
    return any;
}
