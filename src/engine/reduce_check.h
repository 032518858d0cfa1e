/* reduce_check.h -- who still holds a partial, and of what. SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_CHECK_H
#define CV_REDUCE_CHECK_H
#include <cleave/policy.h>
#include "base/arena.h"

/* The state of a reduction as the driver sees it. */
struct cv_reduce_check {
    uint32_t nodes, sent;   /* sent: partials ordered to be sent so far             */
    uint32_t *due;          /* per node: partials on their way to it or uncombined  */
    bool *gone;             /* per node: has been ordered to send                   */
    bool *there;            /* per node: has its own partial                        */
    uint32_t *first, *last; /* inputs a node stands for; NULL: order is not kept  */
};

bool cv_reduce_check_init(struct cv_reduce_check *check, struct cv_arena *arena,
                          uint32_t nodes, bool keeps_order, bool all_there);
/* NULL if the order may be carried out, and then it is taken note of; else what is wrong
 * with it (static). */
static inline const char *cv_reduce_check_order(struct cv_reduce_check *check,
                                                const struct cleave_order *order)
{
    uint32_t to = order->worker, from = order->peer;

    if (to >= check->nodes || from >= check->nodes)
        return "there is no such node";
    if (to == from)
        return "a node cannot send to itself";
    if (check->gone[from])
        return "the sender has sent its partial before";
    if (check->gone[to])
        return "the receiver has sent its partial away";
    if (!check->there[from])
        return "the sender has no partial yet";
    if (check->due[from] > 0)
        return "the sender has combinations to do";
    if (check->first != NULL) {
        if (check->last[from] + 1 == check->first[to])
            check->first[to] = check->first[from];
        else if (check->last[to] + 1 == check->first[from])
            check->last[to] = check->last[from];
        else
            return "their inputs are no neighbours";
    }
    check->gone[from] = true;
    check->due[to]++;
    check->sent++;
    return NULL;
}

static inline void cv_reduce_check_ready(struct cv_reduce_check *check, uint32_t node)
{
    check->there[node] = true;
}

static inline void cv_reduce_check_combined(struct cv_reduce_check *check,
                                            uint32_t receiver)
{
    check->due[receiver]--;
}

#endif
