/* row_lane.c -- what the inner loop of many simulated runs seldom needs.
 * SPDX-License-Identifier: MIT */
#include "policy/row_lane.h"

void cv_lane_sleep(struct cleave_lane *lane, const struct cleave_order *order)
{
    bool *asleep = lane->nodes[order->worker].asleep;
    uint32_t which = asleep[0] ? 1 : 0;

    if (asleep[which] || !(order->time_s >= lane->now_s && order->time_s <= 1e300)) {
        lane->undecided = true;
        return;
    }
    asleep[which] = true;
    cv_row_add(&lane->row, lane->keys,
               cv_lane_key(lane, order->worker, CV_LANE_WAKE + which, order->time_s));
}
