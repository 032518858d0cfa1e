/* rate.h -- how much may start in any window of a given length. SPDX-License-Identifier: MIT
 *
 * A pure state machine: time comes from the caller, in seconds of any clock, and never goes back.
 * Windows are half open: a start at t is in (now - period_s, now] until now = t + period_s. In
 * each window the sum of starts is at most `amount`. The learnt limit is lower: the
 * start of a command that asks to be run later is taken off, and a tenth of `amount` comes back in
 * each period. */
#ifndef CV_RATE_H
#define CV_RATE_H
#include <cleave/run.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero but amount and period_s at first. */
struct cv_rate {
    double amount, period_s; /* declared; both above 0 */
    double cut;              /* the learnt limit is amount - cut */
    double since_s; /* a part of `cut` comes back each period_s after this time */
    double used;    /* sum of `starts` */
    struct cv_rate_start {
        double time_s, amount;
    } * starts; /* owned: starts of the last period, from `first` */
    size_t first, count, room;
};

/* "60/min", "90000w/h", "5/10s"; `first` and `count` are left. False: it is none of them. */
bool cv_rate_parse(const char *text, struct cleave_rate *out);

void cv_rate_done(struct cv_rate *rate);
/* The first time, from now_s, at which `amount` may start, after all earlier starts and after
 * waiting workers that need `ahead` in all. An amount above the learnt limit starts in an empty
 * window. */
double cv_rate_next_s(struct cv_rate *rate, double now_s, double amount, double ahead);
/* Whether `amount` fits into an empty window, whatever limit was learnt. */
bool cv_rate_can_hold(const struct cv_rate *rate, double amount);
/* How much may start now. */
double cv_rate_left(struct cv_rate *rate, double now_s);
/* `amount` was started now. */
enum cleave_status cv_rate_start(struct cv_rate *rate, double now_s, double amount,
                                 struct cleave_error *err);
/* A command of this amount asked to be run later: lower the learnt limit. */
void cv_rate_lower(struct cv_rate *rate, double now_s, double amount);

#endif
