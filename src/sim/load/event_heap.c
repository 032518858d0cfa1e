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

/* --- room for the places of a tournament ------------------------------------------- */

bool cv_tournament_init(struct cv_tournament *tree, size_t places)
{
    size_t power = 1;

    while (power < places)
        power *= 2;
    tree->places = power;
    tree->nodes = calloc(2 * power, sizeof *tree->nodes);
    return tree->nodes != NULL;
}

void cv_tournament_clear(struct cv_tournament *tree)
{
    for (size_t i = 0; i < 2 * tree->places; i++)
        tree->nodes[i] = CV_PENDING_NEVER;
}

void cv_tournament_done(struct cv_tournament *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
}
