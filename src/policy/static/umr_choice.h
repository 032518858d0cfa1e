/* umr_choice.h -- uniform rounds: for how many workers, and how many of them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_CHOICE_H
#define CV_UMR_CHOICE_H
#include "policy/static/umr.h"
#include "policy/static/umr_rounds.h"

struct cv_umr_search {
    const uint32_t *order;              /* by decreasing bandwidth                 */
    const struct cleave_worker *sorted; /* themselves, next to each other          */
    const struct cv_umr_sums *sums;     /* sums[n]: of the first n                 */
    double load;
    uint32_t round_cap;
    uint32_t witness; /* place of a worker whose last chunk was negative           */
};

/* As many rounds as the formula says for such sums; of the search only load and round_cap
 * are read. */
uint32_t cv_umr_choose_rounds(const struct cv_umr_search *search,
                              const struct cv_umr_sums *p);

/* The workers and for them the rounds, 0: the best, that end first with no chunk negative;
 * 0 workers if none can have the given rounds. `load` and `round_cap` are set before. */
enum cleave_status cv_umr_choose(struct cv_umr_search *search,
                                 const struct cleave_worker *workers, uint32_t nworkers,
                                 uint32_t rounds, struct cv_arena *arena,
                                 struct cv_umr *out, struct cleave_error *err);

#endif
