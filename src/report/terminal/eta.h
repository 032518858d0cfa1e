/* eta.h -- how long something will still take, steady enough to be shown.
 * SPDX-License-Identifier: MIT
 *
 * The rate is that of late, in which what is long ago weighs little: its memory grows with
 * the time that has passed, so that it is the mean at first. Time before anything was done
 * does not count, as commands that start do nothing yet. What is shown follows the clock
 * down and moves to what the rate says little by little: in a second up by a fifth or down by
 * a third, and at once never to more than twice or less than half. */
#ifndef CV_ETA_H
#define CV_ETA_H

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

#endif
