/* row_lane.c -- what the inner loop of many simulated runs seldom needs.
 * SPDX-License-Identifier: MIT */
#include "policy/reduce/row_lane.h"

void cv_lane_sleep_until(struct cv_row_lane *lane, uint32_t node, double time_s)
{
    bool *asleep = lane->nodes[node].asleep;
    uint32_t which = asleep[0] ? 1 : 0;

    if (asleep[which] || !(time_s >= lane->now_s && time_s <= 1e300)) {
        lane->undecided = true;
        return;
    }
    asleep[which] = true;
    cv_row_add(&lane->row, lane->keys,
               cv_lane_key(lane, node, CV_LANE_WAKE + which, time_s));
}
