/* item_check.c -- which items were given to whom. SPDX-License-Identifier: MIT */
#include "engine/item_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

bool cv_item_check_begin(struct cv_item_check *check, uint64_t nitems)
{
    check->nitems = check->given = check->nchunks = 0;
    if (nitems == 0)
        return true;
    if (nitems >= SIZE_MAX || !CV_ROOM(check->has, &check->has_room, (size_t)nitems))
        return false;
    memset(check->has, 0, (size_t)nitems * sizeof *check->has);
    check->nitems = nitems;
    return true;
}

void cv_item_check_done(struct cv_item_check *check)
{
    free(check->has);
    free(check->of);
    *check = (struct cv_item_check){ .nitems = 0 };
}

/* What is wrong with an order, or NULL. */
static const char *find_fault(const struct cv_item_check *check,
                              const struct cleave_order *order)
{
    if (order->kind != CLEAVE_SEND)
        return "an item is sent as a whole";
    if (order->item >= check->nitems)
        return "there is no such item";
    return check->has[order->item] ? "it was given before" : NULL;
}

enum cleave_status cv_item_check_order(struct cv_item_check *check, const char *policy,
                                       const struct cleave_order *order,
                                       struct cleave_error *err)
{
    const char *fault = find_fault(check, order);

    if (fault != NULL)
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' gave item %llu of %llu to worker %u: %s", policy,
                       (unsigned long long)order->item, (unsigned long long)check->nitems,
                       order->worker, fault);
    if (!CV_ROOM(check->of, &check->of_room, (size_t)check->nchunks + 1))
        return cv_fail_memory(err, "the items of a run");
    check->of[check->nchunks++] = order->item;
    check->has[order->item] = true;
    check->given++;
    return CLEAVE_OK;
}

uint64_t cv_item_check_of(const struct cv_item_check *check, uint64_t chunk)
{
    return chunk < check->nchunks ? check->of[chunk] : 0;
}

void cv_item_check_note(struct cv_item_check *check, const struct cleave_event *event)
{
    uint64_t item;

    if (event->kind != CLEAVE_LOST || event->chunk >= check->nchunks)
        return;
    item = check->of[event->chunk];
    check->given -= check->has[item];
    check->has[item] = false;
}
