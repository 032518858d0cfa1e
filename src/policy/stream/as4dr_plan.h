/* as4dr_plan.h -- speeds that come back: find the period, foresee the work.
 * SPDX-License-Identifier: MIT */
#ifndef CV_AS4DR_PLAN_H
#define CV_AS4DR_PLAN_H
#include <stdint.h>
#include "base/arena.h"

/* One worker's measured speeds on a grid of time, the newest CV_HISTORY_CELLS cells. */
enum { CV_HISTORY_CELLS = 256 };

struct cv_as4dr_history {
    float speed[CV_HISTORY_CELLS]; /* by cell number modulo the size; 0: unknown */
    double cell_s;
    int64_t newest;    /* number of the newest cell; -1: none          */
    int64_t looked_at; /* newest cell when the period was looked for   */
    double period_s;   /* 0: none found                                */
};

struct cv_as4dr_history *cv_as4dr_history_new(struct cv_arena *arena, uint32_t workers,
                                              double cell_s);
/* The worker computed at `speed_ups` from begin_s to end_s. */
void cv_as4dr_history_add(struct cv_as4dr_history *history, double begin_s, double end_s,
                          double speed_ups);
/* How much it will do from begin_s to end_s if it does what it did a period before.
 * Where nothing is known of that, `speed_ups` is taken. */
double cv_as4dr_history_work(const struct cv_as4dr_history *history, double begin_s,
                             double end_s, double speed_ups);

#endif
