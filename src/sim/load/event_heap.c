/* event_heap.c -- room for the pending times. SPDX-License-Identifier: MIT */
#include "sim/load/event_heap.h"

#include <stdlib.h>

#include "base/arena.h"

/* The last item may be the first of a group of four. */
enum { SPARE = 4 };

bool cv_event_heap_reserve(struct cv_event_heap *heap, size_t room)
{
    size_t capacity = heap->room == 0 ? 0 : heap->room + SPARE;

    if (room <= heap->room)
        return true;
    if (!CV_ROOM(heap->items, &capacity, room + SPARE))
        return false;
    heap->room = capacity - SPARE;
    for (size_t i = heap->count; i < capacity; i++)
        heap->items[i] = CV_PENDING_NEVER;
    return true;
}

void cv_event_heap_clear(struct cv_event_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        heap->items[i] = CV_PENDING_NEVER;
    heap->count = 0;
    heap->hole = false;
}

void cv_event_heap_done(struct cv_event_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
}
