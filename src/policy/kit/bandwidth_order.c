/* bandwidth_order.c -- workers by decreasing bandwidth. SPDX-License-Identifier: MIT */
#include "policy/kit/bandwidth_order.h"

#include <stdlib.h>

struct keyed {
    double bandwidth;
    uint32_t worker;
};

static int faster_first(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;

    if (a->bandwidth != b->bandwidth)
        return a->bandwidth > b->bandwidth ? -1 : 1;
    return a->worker < b->worker ? -1 : a->worker > b->worker;
}

uint32_t *cv_bandwidth_order(const struct cleave_worker *workers, uint32_t nworkers,
                             struct cv_arena *arena)
{
    struct keyed *keyed = cv_array(arena, nworkers, sizeof *keyed);
    uint32_t *order = cv_array(arena, nworkers, sizeof *order);

    if (keyed == NULL || order == NULL)
        return NULL;
    for (uint32_t i = 0; i < nworkers; i++)
        keyed[i] = (struct keyed){ workers[i].bandwidth_ups, i };
    qsort(keyed, nworkers, sizeof *keyed, faster_first);
    for (uint32_t i = 0; i < nworkers; i++)
        order[i] = keyed[i].worker;
    return order;
}
