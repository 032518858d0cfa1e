/* terminal_progress.h -- how long something will still take, steady enough to be shown.
 * SPDX-License-Identifier: MIT
 *
 * The rate is that of late, in which what is long ago weighs little: its memory grows with
 * the time that has passed, so that it is the mean at first. Time before anything was done
 * does not count, as commands that start do nothing yet. What is shown follows the clock
 * down and moves to what the rate says little by little: in a second up by a fifth or down by
 * a third, and at once never to more than twice or less than half. */
#ifndef CV_TERMINAL_PROGRESS_H
#define CV_TERMINAL_PROGRESS_H
#include <cleave/execute.h>
#include <stdbool.h>
#include "base/text.h"

/* The fields are for the functions of this header. */
struct cv_eta {
    double at_s, done;    /* at the last look                                           */
    double began_s;       /* the last look before anything was done                     */
    double units, time_s; /* done and gone, by their weights                            */
    double left_s;        /* as it was said last; NAN: it was not                       */
};

/* From `now_s` on, in seconds of any clock. */
void cv_eta_init(struct cv_eta *pace, double now_s);
/* Now `done` of `total` units are: how many seconds the rest will take. NAN while there is
 * too little to go by: less than ten seconds, and less than a twentieth of all. The first
 * chunks are small, and starting commands for them says little of the rest. */
double cv_eta_left(struct cv_eta *pace, double now_s, double done, double total);

/* Add a bar of so many columns of which `part` is full: in blocks, to an eighth of a
 * column, or in '#' and '.' where there is no UTF-8. */
void cv_bar_add(struct cv_text *out, double part, unsigned columns, bool utf8);

/* Workers wait for chunks when the master has no time to hand them out, because they are small
 * and many, and when the one port it has is sending to others all the time: add a sentence
 * that says so, with figures; or nothing. */
void cv_limit_text(const struct cleave_execution_result *result, struct cv_text *out);

#endif
