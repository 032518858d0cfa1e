/* event_heap.h -- the earliest of many pending times. SPDX-License-Identifier: MIT
 *
 * A 4-ary heap of (time, key). Keys carry a sequence number in their high bits, so that
 * of two equal times the activity that began first comes first, and what it is in the
 * low ones. Inline: it is the inner loop of the native engine. */
#ifndef CV_EVENT_HEAP_H
#define CV_EVENT_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_pending {
    double time_s;
    uint64_t key;
};

struct cv_event_heap {
    struct cv_pending *items; /* borrowed; room for all that can be pending at once */
    size_t count;
    bool hole; /* the first item has been taken and its place not yet filled */
};

static inline bool cv_pending_before(const struct cv_pending *a, const struct cv_pending *b)
{
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->key < b->key);
}

static inline void cv_event_heap_sink(struct cv_event_heap *heap, struct cv_pending item)
{
    struct cv_pending *const items = heap->items;
    const size_t count = heap->count;
    size_t at = 0, child;

    while ((child = 4 * at + 1) < count) {
        size_t end = child + 4 < count ? child + 4 : count, best = child;

        for (size_t i = child + 1; i < end; i++)
            if (cv_pending_before(&items[i], &items[best]))
                best = i;
        if (!cv_pending_before(&items[best], &item))
            break;
        items[at] = items[best];
        at = best;
    }
    items[at] = item;
}

/* Close the hole that cv_event_heap_take left. */
static inline void cv_event_heap_settle(struct cv_event_heap *heap)
{
    if (!heap->hole)
        return;
    heap->hole = false;
    if (--heap->count > 0)
        cv_event_heap_sink(heap, heap->items[heap->count]);
}

static inline void cv_event_heap_add(struct cv_event_heap *heap, struct cv_pending item)
{
    size_t at;

    if (heap->hole) {
        heap->hole = false;
        cv_event_heap_sink(heap, item);
        return;
    }
    at = heap->count++;
    while (at > 0 && cv_pending_before(&item, &heap->items[(at - 1) / 4])) {
        heap->items[at] = heap->items[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    heap->items[at] = item;
}

/* Take the earliest; the heap is not empty. Its place is kept open, since the engine
 * mostly adds another item before it looks again. */
static inline struct cv_pending cv_event_heap_take(struct cv_event_heap *heap)
{
    cv_event_heap_settle(heap);
    heap->hole = true;
    return heap->items[0];
}

static inline bool cv_event_heap_empty(const struct cv_event_heap *heap)
{
    return heap->count == (heap->hole ? 1u : 0u);
}

#endif
