/* umr_unselected.h -- uniform rounds for all workers, whatever their links.
 * SPDX-License-Identifier: MIT */
#ifndef CV_UMR_UNSELECTED_H
#define CV_UMR_UNSELECTED_H
#include "policy/static/umr.h"

/* All workers in the given order, even if they use more than the port; what would be
 * negative is not sent, and the rest grows to the load. `rounds` 0: as many as the formula
 * says, at most round_cap. With nothing left to send out->workers is 0. */
enum cleave_status cv_umr_unselected(const struct cleave_worker *workers,
                                     const uint32_t *order, uint32_t nworkers,
                                     double load, uint32_t round_cap, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err);

#endif
