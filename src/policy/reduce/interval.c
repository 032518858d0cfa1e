/* interval.c -- which node stands for which inputs, in their order.
 * SPDX-License-Identifier: MIT */
#include "policy/reduce/interval.h"

bool cv_intervals_init(struct cv_intervals *in, struct cv_arena *arena, uint32_t n)
{
    in->n = n;
    in->first = cv_array(arena, n, sizeof *in->first);
    in->last = cv_array(arena, n, sizeof *in->last);
    in->begins = cv_array(arena, n, sizeof *in->begins);
    in->ends = cv_array(arena, n, sizeof *in->ends);
    if (in->first == NULL || in->last == NULL || in->begins == NULL || in->ends == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        in->first[i] = in->last[i] = in->begins[i] = in->ends[i] = i;
    return true;
}
