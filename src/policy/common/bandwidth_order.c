/* bandwidth_order.c -- workers by decreasing bandwidth. SPDX-License-Identifier: MIT */
#include "policy/common/bandwidth_order.h"

#include <stdlib.h>

#include "base/compare.h"

struct keyed {
    double bandwidth;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(faster_first, struct keyed, bandwidth, worker)

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
