/* arena.h -- memory that is released all at once. SPDX-License-Identifier: MIT
 *
 * cv_arena_reset keeps the largest block, so a loop of runs allocates in its first turn
 * only. */
#ifndef CV_ARENA_H
#define CV_ARENA_H
#include <stdbool.h>
#include <stddef.h>

struct cv_arena_block;

struct cv_arena {
    struct cv_arena_block *newest; /* owned */
};

void cv_arena_init(struct cv_arena *arena);
void cv_arena_done(struct cv_arena *arena);
void cv_arena_reset(struct cv_arena *arena);
/* `count` elements of `size` bytes, zeroed and aligned for any type. NULL: out of memory,
 * or count * size overflows; for count 0 a pointer that must not be read. */
void *cv_array(struct cv_arena *arena, size_t count, size_t size);
/* Allocate `count` elements for the pointer `array`; false: out of memory. */
#define CV_NEW(arena, array, count) \
    (((array) = cv_array((arena), (count), sizeof *(array))) != NULL)
/* A copy of a string; NULL: out of memory. */
char *cv_arena_text(struct cv_arena *arena, const char *text);

/* Grow a heap array to hold at least `needed` elements, by doubling. Returns the new
 * array, or NULL with the old one unchanged. *capacity is updated. */
void *cv_grow(void *array, size_t *capacity, size_t needed, size_t size);
/* `array` is the address of the pointer to the array. False: out of memory, nothing
 * changed. */
bool cv_grow_array(void *array, size_t *capacity, size_t needed, size_t size);
/* Make room for `needed` elements in a heap array, given by its pointer. False: out of
 * memory. */
#ifdef __clang_analyzer__ /* it assumes that an array with capacity may be NULL */
#define CV_ROOM(array, capacity, needed) \
    cv_grow_array(&(array), (capacity), (needed), sizeof *(array))
#else
#define CV_ROOM(array, capacity, needed) \
    (*(capacity) >= (needed) ||          \
     cv_grow_array(&(array), (capacity), (needed), sizeof *(array)))
#endif

#endif
