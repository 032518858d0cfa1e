/* leaders.h -- workers behind others. SPDX-License-Identifier: MIT
 *
 * A leader takes large pieces, cuts them and passes them on to the workers behind it, over a port
 * of the same kind as the master's. To the master it is one worker, with an equivalent speed: its
 * own, and what those behind it compute at most in the long run. On a port for one message at a
 * time these are the rates a_i <= S_i whose sum is largest while sum a_i / B_i <= 1, so the widest
 * links first (bandwidth-centric: Beaumont et al. 2002); on port multi, min(S_i, B_i). What its
 * first piece waits for is its compute latency: the latencies of all messages of a pass
 * over those it uses, one after the other or at once, and the longest compute latency of them.
 * Trees of leaders are collapsed from their leaves. */
#ifndef CV_LEADERS_H
#define CV_LEADERS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/fail.h"
#include "model/platform/platform_internal.h"

#define CV_NO_LEADER UINT32_MAX

/* leader[g] is the group that leads the workers of group g, so many for each of its own, or
 * CV_NO_LEADER. Costs of leaders become those of all that they stand for, and groups behind
 * them are taken out: *ngroups is how many are left, in their order. Fails if leaders go in
 * circles, with one of them in *reterr_group. O(groups log groups). */
enum cleave_status cv_leaders_collapse(enum cleave_port port, const uint32_t *leader,
                                       struct cleave_worker *kinds,
                                       struct cv_group *groups, uint32_t *ngroups,
                                       uint32_t *reterr_group, struct cleave_error *err);

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
