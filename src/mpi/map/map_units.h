/* map_units.h -- which units of a shared job have been computed. SPDX-License-Identifier: MIT
 *
 * A total says nothing about which: one chunk that counts twice and one that is missing make
 * it right again. */
#ifndef CV_MAP_UNITS_H
#define CV_MAP_UNITS_H
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_map_range {
    uint64_t begin, end;
};

/* Zero at first. Ranges that touch are one. */
struct cv_map_units {
    struct cv_map_range *ranges; /* owned, by begin                                   */
    size_t count, room;
};

void cv_map_units_free(struct cv_map_units *units);
/* [begin, end) has been computed; fails, and names them, if units of it were before. */
enum cleave_status cv_map_units_add(struct cv_map_units *units, uint64_t begin,
                                    uint64_t end, struct cleave_error *err);
/* Whether all units up to `all` have been, and no others; names the first that are not. */
enum cleave_status cv_map_units_check(const struct cv_map_units *units, uint64_t all,
                                      struct cleave_error *err);

#endif
