/* fold_charge.h -- what a chunk costs because its result is reduced.
 * SPDX-License-Identifier: MIT
 *
 * Each chunk makes one result more, and that takes so many seconds to fold as was seen
 * (fold_s of CLEAVE_DONE). With n workers and `folders` folds at a time, folding keeps up
 * with what is computed while a chunk takes n / folders times as long: that much is added
 * to what a chunk costs to start. And if results come one after the other, the first one
 * of n is to be there (n - 1) / folders folds before the last one, as in joint. */
#ifndef CV_FOLD_CHARGE_H
#define CV_FOLD_CHARGE_H
#include <cleave/policy.h>

/* What a result takes to be folded, as far as is known now: *fold_s is brought up to date. */
static inline void cv_fold_note(const struct cleave_event *event, double *fold_s)
{
    if (event->kind == CLEAVE_DONE && event->fold_s > 0)
        *fold_s = event->fold_s;
}

/* Seconds of a worker that a chunk more is worth, of so many workers. */
static inline double cv_fold_charge(const struct cleave_view *view, double fold_s,
                                    uint32_t workers)
{
    return view->folders > 0 && workers > view->folders ? fold_s * workers / view->folders
                                                        : fold_s;
}

/* So long before the end the result is to be there behind which `later` others come. */
static inline double cv_fold_tail(const struct cleave_view *view, double fold_s,
                                  uint32_t later)
{
    return view->folders > 0 ? fold_s * later / view->folders : 0;
}

#endif
