/* fold_pace.h -- how long partials take to move and to be folded, from those seen.
 * SPDX-License-Identifier: MIT
 *
 * For the rule of tree-adapt and ordered-adapt: a partial may go ahead to a worker that
 * folds once that one has at most one transfer to go. Then it arrives when the worker is
 * done, so that nobody waits, and nobody is bound before there is need. Costs grow with the
 * bytes, so both are lines through what was seen. */
#ifndef CV_FOLD_PACE_H
#define CV_FOLD_PACE_H
#include "engine/fold_plan.h"
#include "policy/common/fit.h"

struct cv_fold_pace {
    struct cv_fit transfer, fold; /* seconds for the bytes that move; of a step        */
};

/* A step took whole_s, from the order to the end; of that fold_s to fold, below 0: it was
 * not said. Without it, steps whose parts need not move tell what folding takes, and the
 * others, with that, what it takes to move. */
void cv_fold_pace_saw(struct cv_fold_pace *pace, const struct cv_fold_step *step,
                      double whole_s, double fold_s);
/* When a step that was ordered at given_s has at most the transfer of so many bytes to go.
 * Infinite: as long as nothing is known. */
double cv_fold_pace_near_s(const struct cv_fold_pace *pace,
                           const struct cv_fold_step *step, double given_s,
                           uint64_t bytes);

#endif
