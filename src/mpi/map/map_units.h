/* map_units.h -- computed units of a shared job. SPDX-License-Identifier: MIT
 *
 * Ranges are kept, not a total: a chunk that counts twice and a missing chunk of the same
 * size would have the right total. */
#ifndef CV_MAP_UNITS_H
#define CV_MAP_UNITS_H
#include "run/common/range_set.h"

/* Add [begin, end); fails, and names the units, if some of them are in the set. */
enum cleave_status cv_map_units_add(struct cv_range_set *units, uint64_t begin,
                                    uint64_t end, struct cleave_error *err);
/* Fails, and names the first wrong units, unless the set is [0, all). */
enum cleave_status cv_map_units_check(const struct cv_range_set *units, uint64_t all,
                                      struct cleave_error *err);

#endif
