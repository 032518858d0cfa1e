/* heap.h -- binary heaps. SPDX-License-Identifier: MIT */
#ifndef CV_HEAP_H
#define CV_HEAP_H
#include <stddef.h>

/* Define functions for arrays of this type, whose first `count` elements are a heap by
 * before(a, b), which gets pointers:
 *   NAME_sink  put an item at index `at` or below it, given a heap below `at`;
 *   NAME_push  add an item, which makes count + 1;
 *   NAME_pop   remove the first item, which makes count - 1. */
#define CV_HEAP(name, type, before)                                                      \
    __attribute__((unused)) static void name##_sink(type *heap, size_t count, size_t at, \
                                                    type item)                           \
    {                                                                                    \
        for (size_t child; (child = 2 * at + 1) < count; at = child) {                   \
            if (child + 1 < count && before(&heap[child + 1], &heap[child]))             \
                child++;                                                                 \
            if (!before(&heap[child], &item))                                            \
                break;                                                                   \
            heap[at] = heap[child];                                                      \
        }                                                                                \
        heap[at] = item;                                                                 \
    }                                                                                    \
                                                                                         \
    __attribute__((unused)) static void name##_push(type *heap, size_t count, type item) \
    {                                                                                    \
        size_t at = count;                                                               \
                                                                                         \
        for (; at > 0 && before(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)          \
            heap[at] = heap[(at - 1) / 2];                                               \
        heap[at] = item;                                                                 \
    }                                                                                    \
                                                                                         \
    __attribute__((unused)) static type name##_pop(type *heap, size_t count)             \
    {                                                                                    \
        type const first = heap[0];                                                      \
                                                                                         \
        name##_sink(heap, count - 1, 0, heap[count - 1]);                                \
        return first;                                                                    \
    }

#endif
