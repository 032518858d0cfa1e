/* event_heap.h -- the earliest of many pending times. SPDX-License-Identifier: MIT
 *
 * A 4-ary heap of (time, key): of two equal times the lower key comes first. Inline and
 * almost without branches that depend on the data: it is the inner loop of the native
 * engines. Times are not negative, so their bits order as they do. Places after the last
 * item hold an item that is later than all others, so that groups of four are always
 * full. */
#ifndef CV_EVENT_HEAP_H
#define CV_EVENT_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cv_pending {
    uint64_t time_bits, key;
};

/* Later than all, and than INFINITY. */
static const struct cv_pending CV_PENDING_NEVER = { INT64_MAX, UINT64_MAX };

struct cv_event_heap {
    struct cv_pending *items; /* owned; room items and a few more */
    size_t count, room;
    bool hole; /* the first item was taken and not replaced */
};

/* For this many items in all; false: no memory. */
bool cv_event_heap_reserve(struct cv_event_heap *heap, size_t room);
void cv_event_heap_clear(struct cv_event_heap *heap);
void cv_event_heap_done(struct cv_event_heap *heap);

static inline struct cv_pending cv_pending_at(double time_s, uint64_t key)
{
    struct cv_pending item = { 0, key };

    time_s += 0.0; /* no negative zero */
    memcpy(&item.time_bits, &time_s, sizeof time_s);
    return item;
}

static inline double cv_pending_time(const struct cv_pending *item)
{
    double time_s;

    memcpy(&time_s, &item->time_bits, sizeof time_s);
    return time_s;
}

/* Bits of times are below 2^63, so that the difference of (time, key) as 128-bit
 * numbers has its sign in the highest bit: three instructions and no branch. */
static inline bool cv_pending_before(const struct cv_pending *a,
                                     const struct cv_pending *b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 both;

    const both first = (both)a->time_bits << 64 | a->key;
    const both second = (both)b->time_bits << 64 | b->key;

    return (int64_t)((first - second) >> 64) < 0;
#else
    /* Not && and ||: both sides cost less than a mispredicted branch. */
    return (a->time_bits < b->time_bits) |
           ((a->time_bits == b->time_bits) & (a->key < b->key));
#endif
}

static inline void cv_event_heap_sink(struct cv_event_heap *heap, struct cv_pending item)
{
    struct cv_pending *const items = heap->items;
    const size_t count = heap->count;
    size_t at = 0, child;

    while ((child = 4 * at + 1) < count) {
        const size_t a = child + cv_pending_before(&items[child + 1], &items[child]);
        const size_t b =
            child + 2 + cv_pending_before(&items[child + 3], &items[child + 2]);
        const size_t best = cv_pending_before(&items[b], &items[a]) ? b : a;

        if (!cv_pending_before(&items[best], &item))
            break;
        items[at] = items[best];
        at = best;
    }
    items[at] = item;
}

/* Fill the place that cv_event_heap_take left. */
static inline void cv_event_heap_settle(struct cv_event_heap *heap)
{
    struct cv_pending last;

    if (!heap->hole)
        return;
    heap->hole = false;
    last = heap->items[--heap->count];
    heap->items[heap->count] = CV_PENDING_NEVER;
    if (heap->count > 0)
        cv_event_heap_sink(heap, last);
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

/* Take the earliest; the heap is not empty. Its place stays open, as the engine mostly
 * adds another item before it looks again. */
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

struct cv_tournament {
    /* owned: 1 is the top, the children of i are 2 i and 2 i + 1 */
    struct cv_pending *nodes;
    size_t places; /* a power of two                                      */
};

/* False: no memory. Clear it before use. */
bool cv_tournament_init(struct cv_tournament *tree, size_t places);
void cv_tournament_clear(struct cv_tournament *tree);
void cv_tournament_done(struct cv_tournament *tree);

static inline void cv_tournament_set(struct cv_tournament *tree, size_t place,
                                     struct cv_pending item)
{
    struct cv_pending *const nodes = tree->nodes;

    for (size_t at = tree->places + place; at > 1; at /= 2) {
        const struct cv_pending *const other = &nodes[at ^ 1];
        const uint64_t time_bits = other->time_bits, key = other->key;
        const bool later = cv_pending_before(other, &item);

        nodes[at] = item;
        item.time_bits = later ? time_bits : item.time_bits;
        item.key = later ? key : item.key;
    }
    nodes[1] = item;
}

static inline const struct cv_pending *
cv_tournament_first(const struct cv_tournament *tree)
{
    return &tree->nodes[1];
}

#endif
