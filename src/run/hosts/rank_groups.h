/* rank_groups.h -- which ranks of an MPI job lead others. SPDX-License-Identifier: MIT */
#ifndef CV_RANK_GROUPS_H
#define CV_RANK_GROUPS_H
#include <stdint.h>
#include "base/fail.h"

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
