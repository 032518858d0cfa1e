/* platform_leaders.h -- workers of a platform file that others lead.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_LEADERS_H
#define CV_PLATFORM_LEADERS_H
#include "io/reading.h"
#include "model/platform/platform_internal.h"

/* Where a worker is in the file, and who leads it. */
struct cv_declared {
    unsigned line, column; /* of its name */
    const char *via;       /* NULL: the master */
    unsigned via_line, via_column;
};

/* Let leaders stand for all who are behind them (model/platform/leaders.h), and take these
 * out of the arrays, of which `ngroups` elements are left. */
enum cleave_status cv_read_leaders(struct cv_reading *in, enum cleave_port port,
                                   struct cleave_worker *kinds, struct cv_group *groups,
                                   struct cv_declared *declared, size_t *ngroups);

#endif
