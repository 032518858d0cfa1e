/* leader_spec.h -- who leads whom, as --via says it. SPDX-License-Identifier: MIT */
#ifndef CV_LEADER_SPEC_H
#define CV_LEADER_SPEC_H
#include <stdint.h>
#include "base/fail.h"
#include "model/platform/lead_rules.h"
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

/* "node": one leader for all of a machine, *out = UINT32_MAX; "4": for four of them. */
enum cleave_status cv_rank_groups_read(const char *text, uint32_t *out,
                                       struct cleave_error *err);

/* leader[r] of ranks 1 to size - 1: the first of those, at most `most` and all on one machine,
 * that r is one of; itself, if it leads them or is alone. machine[r]: a number for the machine
 * that it is on, below size. Rank 0, which is the master, leads nobody: leader[0] is 0. */
enum cleave_status cv_rank_groups_make(const uint32_t *machine, uint32_t size,
                                       uint32_t max, uint32_t *leader,
                                       struct cleave_error *err);
/* How many a leader has, itself included; 0: it is none. */
uint32_t cv_rank_group_size(const uint32_t *leader, uint32_t size, uint32_t rank);

#endif
