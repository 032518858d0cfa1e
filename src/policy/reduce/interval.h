/* interval.h -- which node stands for which inputs, in their order.
 * SPDX-License-Identifier: MIT */
#ifndef CV_INTERVAL_H
#define CV_INTERVAL_H
#include "policy/common/setup.h"

#define CV_NOBODY UINT32_MAX

/* Inputs first .. last of a node that holds a partial, and who stands at either end. */
struct cv_intervals {
    uint32_t n;
    uint32_t *first, *last;  /* per node                                    */
    uint32_t *begins, *ends; /* per input: the node whose interval begins
                                    or ends there, if it is an end              */
};

bool cv_intervals_init(struct cv_intervals *intervals, struct cv_arena *arena,
                       uint32_t n);

static inline uint32_t cv_left_of(const struct cv_intervals *in, uint32_t node)
{
    return in->first[node] == 0 ? CV_NOBODY : in->ends[in->first[node] - 1];
}

static inline uint32_t cv_right_of(const struct cv_intervals *in, uint32_t node)
{
    return in->last[node] + 1 == in->n ? CV_NOBODY : in->begins[in->last[node] + 1];
}

/* The receiver stands for the sender's inputs too; they must be neighbours. */
static inline void cv_intervals_join(struct cv_intervals *in, uint32_t receiver,
                                     uint32_t sender)
{
    /* From the lower first to the higher last, without a branch: no one can guess it. */
    const uint32_t first[] = { in->first[receiver], in->first[sender] };
    const uint32_t last[] = { in->last[receiver], in->last[sender] };
    const uint32_t begin = first[0] < first[1] ? first[0] : first[1];
    const uint32_t end = last[0] > last[1] ? last[0] : last[1];

    in->first[receiver] = begin;
    in->last[receiver] = end;
    in->begins[begin] = in->ends[end] = receiver;
}

#endif
