/* fold_charge.h -- cost that a reduction adds to a chunk. SPDX-License-Identifier: MIT
 *
 * Each chunk adds one result, and folding it takes the measured seconds (fold_s of
 * CLEAVE_DONE). With n workers and `folders` folds at a time, folding keeps up with the
 * workers if a chunk takes n / folders folds: this time is added to the start of a chunk.
 * And if results come one after the other, the first one of n is to be there (n - 1) /
 * folders folds before the last one, as in joint. */
#ifndef CV_FOLD_CHARGE_H
#define CV_FOLD_CHARGE_H
#include <cleave/policy.h>

/* Estimate of the seconds to fold a result: updates *fold_s. */
static inline void cv_fold_note(const struct cleave_event *event, double *fold_s)
{
    if (event->kind == CLEAVE_DONE && event->fold_s > 0)
        *fold_s = event->fold_s;
}

/* Seconds of a worker that one more chunk may cost, for this many workers. */
static inline double cv_fold_charge(const struct cleave_view *view, double fold_s,
                                    uint32_t workers)
{
    return view->folders > 0 && workers > view->folders ? fold_s * workers / view->folders
                                                        : fold_s;
}

/* Seconds before the end at which a result has to arrive if `later` results follow it. */
static inline double cv_fold_tail(const struct cleave_view *view, double fold_s,
                                  uint32_t later)
{
    return view->folders > 0 ? fold_s * later / view->folders : 0;
}

#endif
