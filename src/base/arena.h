/* arena.h -- memory that is released all at once. SPDX-License-Identifier: MIT
 *
 * A run owns one arena: policy state, view, queues. cv_arena_reset keeps the largest
 * block, so a loop of runs allocates only in its first turn. */
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
/* `count` elements of `size` bytes, zeroed and aligned for any type. NULL when memory
 * is short or count * size does not fit; for count 0 a pointer not to be read. */
void *cv_array(struct cv_arena *arena, size_t count, size_t size);
/* Allocate `count` elements for the pointer `array`; false when memory is short. */
#define CV_NEW(arena, array, count) \
    (((array) = cv_array((arena), (count), sizeof *(array))) != NULL)
/* A copy of a string, or NULL when memory is short. */
char *cv_arena_text(struct cv_arena *arena, const char *text);

/* The bytes in use when they are in one block, else NULL: so they can be copied, and put
 * back to where they are for as long as the arena is not reset. After a reset the same
 * calls of cv_array find room in one block. */
void *cv_arena_bytes(const struct cv_arena *arena, size_t *out_size);

/* Grow a heap array to hold at least `needed` elements: doubling, overflow checked.
 * Returns the new array, or NULL with the old one untouched. *capacity is updated. */
void *cv_grow(void *array, size_t *capacity, size_t needed, size_t size);
/* The same for one that may have the room: `array` is the address of the pointer to it.
 * False with all untouched when memory is short. */
bool cv_grow_array(void *array, size_t *capacity, size_t needed, size_t size);
/* Whether a heap array has room for `needed` elements, after it has been grown if it had
 * not. `array` is the pointer itself. */
#ifdef __clang_analyzer__ /* which would take an array with room for one that may be NULL */
#define CV_ROOM(array, capacity, needed) \
    cv_grow_array(&(array), (capacity), (needed), sizeof *(array))
#else
#define CV_ROOM(array, capacity, needed) \
    (*(capacity) >= (needed) ||          \
     cv_grow_array(&(array), (capacity), (needed), sizeof *(array)))
#endif

#endif
