/* terminal_progress.h -- time left, progress bar and the limit of a run, as text.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TERMINAL_PROGRESS_H
#define CV_TERMINAL_PROGRESS_H
#include <cleave/execute.h>
#include <stdbool.h>
#include "base/text.h"

/* An estimate that is steady enough to be shown. The rate is an exponential average
 * over recent time; its window grows with the elapsed time, so it is the mean at
 * first. Time before the first unit does not count: commands are starting. The
 * estimate counts down with the clock and moves to the new value gradually: per second
 * up by a fifth or down by a third, and in one call by a factor of two at most.
 * Members are private. */
struct cv_eta {
    double at_s, done;    /* of the last call                                 */
    double began_s;       /* time of the last call before the first unit      */
    double units, time_s; /* weighted sums                                    */
    double left_s;        /* last result; NAN: none                           */
};

/* `now_s` is in seconds of any clock. */
void cv_eta_init(struct cv_eta *eta, double now_s);
/* Seconds left when `done` of `total` units are done. NAN until ten seconds or a
 * twentieth of all units: the first chunks are small, and their start-up time says
 * little about the rest. */
double cv_eta_left(struct cv_eta *eta, double now_s, double done, double total);

/* Add a bar of `columns` columns, filled up to `part`: in blocks, to an eighth of a
 * column, or in '#' and '.'. */
void cv_bar_add(struct cv_text *out, double part, unsigned columns, bool utf8);

/* Add a sentence if workers waited for chunks because the master was busy with many
 * small chunks, or because its port was sending all the time. */
void cv_limit_text(const struct cleave_execution_result *result, struct cv_text *out);

#endif
