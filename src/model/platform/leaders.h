/* leaders.h -- workers that pass on work to other workers. SPDX-License-Identifier: MIT
 *
 * A leader takes large pieces, cuts them and passes them on to the workers that it leads, over a
 * port of the same kind as the master's. To the master it is one worker with an equivalent speed:
 * its own, plus the highest steady rate of the workers that it leads. On a port for one message at
 * a time these are the rates a_i <= S_i whose sum is largest while sum a_i / B_i <= 1, so the
 * widest links first (bandwidth-centric: Beaumont et al. 2002); on port multi, min(S_i, B_i). The
 * wait of its first piece is its compute latency: the latencies of one message to each worker that
 * it uses, one after the other or at once, plus the longest compute latency of these workers.
 * Trees of leaders are collapsed from their leaves. */
#ifndef CV_LEADERS_H
#define CV_LEADERS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/fail.h"
#include "model/platform/platform_internal.h"

#define CV_NO_LEADER UINT32_MAX

/* leader[g] is the group whose workers lead `count` workers of group g each, or CV_NO_LEADER.
 * Leaders get the costs of all workers that they lead; led groups are not changed. Fails if
 * leaders go in circles, with one of them in *reterr_group. O(groups log groups). */
enum cleave_status cv_leaders_collapse(enum cleave_port port, const uint32_t *leader,
                                       struct cleave_worker *kinds,
                                       struct cv_group *groups, uint32_t ngroups,
                                       uint32_t *reterr_group, struct cleave_error *err);

struct cv_lead_rule {
    const char *leader;
    const char *const *led; /* ended by NULL; NULL: all workers without another leader */
};

/* Names of workers, all different; NULL: a worker that is neither led nor leads. `others`:
 * whether a rule for all other workers includes it; NULL: it includes each one. */
struct cv_lead_names {
    const char *const *items;
    const bool *others;
    uint32_t count;
};

/* Add the leaders of the rules to leader[], which has an element per name: a leader that is
 * known already, or CV_NO_LEADER. CLEAVE_EINPUT: an unknown name, a worker with two leaders,
 * several rules for all others, a leader of no worker, or a circle. */
enum cleave_status cv_lead_rules_apply(const struct cv_lead_rule *rules, size_t count,
                                       const struct cv_lead_names *names,
                                       uint32_t *leader, struct cleave_error *err);

#endif
