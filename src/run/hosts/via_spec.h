/* via_spec.h -- who leads whom, as --via says it. SPDX-License-Identifier: MIT */
#ifndef CV_VIA_SPEC_H
#define CV_VIA_SPEC_H
#include "model/platform/leaders.h"
#include "run/hosts/host_spec.h"

/* All of the arena. */
struct cv_via {
    struct cv_lead_rule *rules;
    size_t count;
    struct cv_host_spec_item
        *hosts; /* all that are named, a leader before those behind it */
    size_t nhosts;
};

/* "gate", "me@gate:node[01-16],x:4"; several of them. */
enum cleave_status cv_via_read(const char *const *texts, size_t count,
                               struct cv_arena *arena, struct cv_via *out,
                               struct cleave_error *err);
/* The same where they are workers of a platform file, which knows how they are reached: names
 * and nothing else. */
enum cleave_status cv_via_read_names(const char *const *texts, size_t count,
                                     struct cv_arena *arena, struct cv_via *out,
                                     struct cleave_error *err);

#endif
