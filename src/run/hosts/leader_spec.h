/* leader_spec.h -- which hosts or ranks lead others. SPDX-License-Identifier: MIT */
#ifndef CV_LEADER_SPEC_H
#define CV_LEADER_SPEC_H
#include <stdint.h>
#include "base/fail.h"
#include "model/platform/leaders.h"
#include "run/hosts/host_spec.h"

/* In the arena. */
struct cv_via {
    struct cv_lead_rule *rules;
    size_t count;
    struct cv_host_spec_item *hosts; /* all named hosts, each leader before its hosts */
    size_t nhosts;
};

/* Texts such as "gate" and "me@gate:node[01-16],x:4". */
enum cleave_status cv_via_read(const char *const *texts, size_t count,
                               struct cv_arena *arena, struct cv_via *out,
                               struct cleave_error *err);
/* As cv_via_read, for workers of a platform file: names without logins and slots. */
enum cleave_status cv_via_read_names(const char *const *texts, size_t count,
                                     struct cv_arena *arena, struct cv_via *out,
                                     struct cleave_error *err);

/* Ranks per leader: "4" is 4; "node" is UINT32_MAX, one leader per machine. */
enum cleave_status cv_rank_groups_read(const char *text, uint32_t *out,
                                       struct cleave_error *err);
/* Groups of at most `max` ranks of one machine: leader[r] is the first rank of the group of r.
 * machine[r] is a number below `size`. Rank 0 is the master and leads none: leader[0] is 0. */
enum cleave_status cv_rank_groups_make(const uint32_t *machine, uint32_t size,
                                       uint32_t max, uint32_t *leader,
                                       struct cleave_error *err);
/* Ranks in the group of a leader, itself included; 0: it does not lead. */
uint32_t cv_rank_group_size(const uint32_t *leader, uint32_t size, uint32_t rank);

#endif
