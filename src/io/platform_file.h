/* platform_file.h -- write a platform file. SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_FILE_H
#define CV_PLATFORM_FILE_H
#include <cleave/platform.h>
#include <stdio.h>
#include "io/reading.h"
#include "model/platform/leaders.h"
#include "model/platform/platform_internal.h"

/* Write YAML from which the reader makes the same platform, to the last bit of every
 * number. Each line of `comment` goes on top behind "# "; NULL: none. */
enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err);

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

/* cleave_platform_parse and cleave_platform_load, looked at so (platform_file.c). */
enum cleave_status cv_platform_parse_as(const char *name, const char *text, size_t length,
                                        const struct cv_platform_view *how,
                                        struct cleave_platform **out,
                                        struct cleave_error *err);
enum cleave_status cv_platform_load_as(const char *path,
                                       const struct cv_platform_view *how,
                                       struct cleave_platform **out,
                                       struct cleave_error *err);

#endif
