/* umr_choice.h -- uniform rounds: for how many workers, and how many of them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_CHOICE_H
#define CV_UMR_CHOICE_H
#include "policy/static/umr.h"
#include "policy/static/umr_rounds.h"

struct cv_umr_search {
    const uint32_t *order;              /* all workers by decreasing bandwidth     */
    const struct cleave_worker *sorted; /* themselves, next to each other          */
    const struct cv_umr_sums *sums;     /* sums[n]: of the first n                 */
    double load;
    uint32_t round_cap;
    uint32_t witness; /* place of a worker whose last chunk was negative           */
};

/* Order the workers and fill in the sums over the first of them. */
enum cleave_status cv_umr_sum_up(struct cv_umr_search *search,
                                 const struct cleave_worker *workers, uint32_t nworkers,
                                 struct cv_arena *arena, struct cv_umr *out,
                                 struct cleave_error *err);
/* The most workers, and for them the rounds, 0: the best, for which no chunk is negative;
 * 0 workers if there are none for these rounds. */
void cv_umr_choose(struct cv_umr_search *search, uint32_t rounds, struct cv_umr *out);

#endif
