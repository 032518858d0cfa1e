/* lead_rules.h -- who leads whom, in words. SPDX-License-Identifier: MIT */
#ifndef CV_LEAD_RULES_H
#define CV_LEAD_RULES_H
#include <stdbool.h>
#include <stddef.h>
#include "base/fail.h"
#include "model/platform/leaders.h"

/* A worker, and those behind it. */
struct cv_lead_rule {
    const char *leader;
    const char *const *led; /* ended by NULL; NULL: all whom nobody else leads */
};

/* Workers by their names, of which no two are the same; NULL: one that is neither led nor
 * leads. `others`: whether it is meant by "all"; NULL: every one is. */
struct cv_lead_names {
    const char *const *items;
    const bool *others;
    uint32_t count;
};

/* Put into leader[], per name, what the rules say; it has what is known already, and is
 * CV_NO_LEADER where that is nothing. CLEAVE_EINPUT: a name that is not there, one with two
 * leaders, several rules for all others, one that leads nobody, or a circle. */
enum cleave_status cv_lead_rules_apply(const struct cv_lead_rule *rules, size_t count,
                                       const struct cv_lead_names *names,
                                       uint32_t *leader, struct cleave_error *err);

#endif
