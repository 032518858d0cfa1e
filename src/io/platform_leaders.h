/* platform_leaders.h -- workers of a platform file that others lead.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_LEADERS_H
#define CV_PLATFORM_LEADERS_H
#include "io/reading.h"
#include "model/platform/lead_rules.h"
#include "model/platform/platform_internal.h"

/* Where a worker is in the file, and who leads it. */
struct cv_declared {
    unsigned line, column; /* of its name */
    const char *via;       /* NULL: the master */
    unsigned via_line, via_column;
};

/* How a platform file is looked at. */
struct cv_platform_view {
    /* All is as the worker of this name sees it: those behind it are led by nobody, its own
     * slots are places here, and nobody else is left; NULL: as the master does. */
    const char *as;
    /* Who leads whom, besides what the file says. */
    const struct cv_lead_rule *rules;
    size_t nrules;
};

/* Let leaders stand for all who are behind them (model/platform/leaders.h), and take these
 * out of the arrays, of which `ngroups` elements are left. */
enum cleave_status cv_read_leaders(struct cv_reading *in,
                                   const struct cv_platform_view *how,
                                   enum cleave_port port, struct cleave_worker *kinds,
                                   struct cv_group *groups, struct cv_declared *declared,
                                   size_t *ngroups);

/* cleave_platform_parse and cleave_platform_load, looked at so (platform_reader.c). */
enum cleave_status cv_platform_parse_as(const char *name, const char *text, size_t length,
                                        const struct cv_platform_view *how,
                                        struct cleave_platform **out,
                                        struct cleave_error *err);
enum cleave_status cv_platform_load_as(const char *path,
                                       const struct cv_platform_view *how,
                                       struct cleave_platform **out,
                                       struct cleave_error *err);

#endif
