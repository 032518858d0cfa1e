/* platform_file.h -- platform files: platforms, and the hosts of a real run.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_FILE_H
#define CV_PLATFORM_FILE_H
#include <stdio.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "model/platform/leaders.h"

#define CV_GPUS_AUTO UINT32_MAX /* all GPUs of the machine */

/* How the workers of one group of a platform file are reached in a real run. */
struct cv_host_fields {
    const char *name;          /* name of the group */
    const char *ssh, *command; /* NULL: not given                             */
    const char *rate;          /* that the workers share, as "60/min"; NULL   */
    uint32_t slots;            /* 0: not given                                */
    uint32_t gpus;             /* slots with a GPU each; only without `slots` */
};

/* Two optional changes to the leaders of a platform file. */
struct cv_platform_view {
    /* The file as seen by the worker of this name: the workers that it leads have no leader,
     * its slots are local workers, and all other workers are left out. NULL: the master. */
    const char *as;
    /* Leaders in addition to `via` of the file. */
    const struct cv_lead_rule *rules;
    size_t nrules;
};

struct cv_platform_file {
    struct cleave_platform *platform; /* owned by the caller                           */
    struct cv_host_fields *hosts;     /* one per group of the platform, in the arena */
};

/* cleave_platform_parse and cleave_platform_load with a view; texts of the hosts live in the
 * arena. */
enum cleave_status cv_platform_parse_as(const char *name, const char *text, size_t length,
                                        const struct cv_platform_view *view,
                                        struct cv_arena *arena,
                                        struct cv_platform_file *out,
                                        struct cleave_error *err);
enum cleave_status cv_platform_load_as(const char *path,
                                       const struct cv_platform_view *view,
                                       struct cleave_platform **out,
                                       struct cleave_error *err);

/* Write YAML from which the reader makes the same platform, to the last bit of every
 * number. `hosts` has an element per group; NULL: no host fields. Each line of `comment`
 * becomes a comment at the top; NULL: none. */
enum cleave_status cv_platform_write(const struct cleave_platform *platform,
                                     const struct cv_host_fields *hosts,
                                     const char *comment, FILE *file,
                                     struct cleave_error *err);

#endif
