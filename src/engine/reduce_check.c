/* reduce_check.c -- who still holds a partial, and of what. SPDX-License-Identifier: MIT */
#include "engine/reduce_check.h"

bool cv_reduce_check_init(struct cv_reduce_check *check, struct cv_arena *arena,
                          uint32_t nodes, bool keeps_order, bool all_there)
{
    check->nodes = nodes;
    check->sent = 0;
    check->due = cv_array(arena, nodes, sizeof *check->due);
    check->gone = cv_array(arena, nodes, sizeof *check->gone);
    check->there = cv_array(arena, nodes, sizeof *check->there);
    check->first = check->last = NULL;
    if (check->due == NULL || check->gone == NULL || check->there == NULL)
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        check->there[i] = all_there;
    if (!keeps_order)
        return true;
    check->first = cv_array(arena, nodes, sizeof *check->first);
    check->last = cv_array(arena, nodes, sizeof *check->last);
    if (check->first == NULL || check->last == NULL)
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        check->first[i] = check->last[i] = i;
    return true;
}
