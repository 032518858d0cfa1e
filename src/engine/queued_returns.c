/* queued_returns.c -- results that wait for their turn. SPDX-License-Identifier: MIT */
#include "engine/queued_returns.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void cv_queued_returns_clear(struct cv_queued_returns *held, bool on, bool before)
{
    held->on = on;
    held->before = before;
    held->under_way = false;
    held->sends = 0;
    held->first = held->count = 0;
}

void cv_queued_returns_done(struct cv_queued_returns *held)
{
    free(held->items);
    held->items = NULL;
    held->first = held->count = held->room = 0;
}

bool cv_queued_returns_add(struct cv_queued_returns *held,
                           const struct cleave_order *order)
{
    if (held->first == held->count)
        held->first = held->count = 0;
    if (!CV_ROOM(held->items, &held->room, held->count + 1))
        return false;
    held->items[held->count++] = *order;
    return true;
}

void cv_queued_returns_note(struct cv_queued_returns *held,
                            const struct cleave_event *event)
{
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_EXTENDED)
        held->sends--;
    else if (event->kind == CLEAVE_RETURNED)
        held->under_way = false;
}

bool cv_queued_returns_next(struct cv_queued_returns *held, bool all_sent,
                            struct cleave_order *out)
{
    if (held->sends > 0 || held->under_way || held->first == held->count ||
        (held->before && !all_sent))
        return false;
    *out = held->items[held->first++];
    held->under_way = true;
    return true;
}

bool cv_queued_returns_take(struct cv_queued_returns *held, uint32_t worker,
                            struct cleave_order *out)
{
    size_t at = held->first;

    while (at < held->count && held->items[at].worker != worker)
        at++;
    if (at == held->count)
        return false;
    *out = held->items[at];
    held->count--;
    memmove(&held->items[at], &held->items[at + 1],
            (held->count - at) * sizeof *held->items);
    return true;
}
