/* arena.c -- memory that is released all at once. SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096 };

struct cv_arena_block {
    struct cv_arena_block *older; /* owned */
    size_t size, used;
    alignas(max_align_t) unsigned char bytes[];
};

void cv_arena_init(struct cv_arena *arena)
{
    arena->newest = NULL;
}

static void free_blocks(struct cv_arena_block *block)
{
    while (block != NULL) {
        struct cv_arena_block *older = block->older;

        free(block);
        block = older;
    }
}

void cv_arena_done(struct cv_arena *arena)
{
    if (arena == NULL)
        return;
    free_blocks(arena->newest);
    arena->newest = NULL;
}

void cv_arena_reset(struct cv_arena *arena)
{
    if (arena->newest == NULL)
        return;
    /* Blocks grow, so the newest is the largest. */
    free_blocks(arena->newest->older);
    arena->newest->older = NULL;
    arena->newest->used = 0;
}

static struct cv_arena_block *add_block(struct cv_arena *arena, size_t needed)
{
    size_t size = arena->newest == NULL ? FIRST_BLOCK : arena->newest->size;
    struct cv_arena_block *block;

    if (arena->newest != NULL && size <= SIZE_MAX / 4)
        size *= 2;
    if (size < needed)
        size = needed;
    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    block = malloc(sizeof *block + size);
    if (block == NULL)
        return NULL;
    block->older = arena->newest;
    block->size = size;
    block->used = 0;
    arena->newest = block;
    return block;
}

void *cv_array(struct cv_arena *arena, size_t count, size_t size)
{
    const size_t step = alignof(max_align_t);
    struct cv_arena_block *block = arena->newest;
    size_t bytes;
    void *result;

    if (size != 0 && count > (SIZE_MAX - step) / size)
        return NULL;
    bytes = (count * size + step - 1) / step * step;
    if (block == NULL || block->size - block->used < bytes)
        block = add_block(arena, bytes);
    if (block == NULL)
        return NULL;
    result = block->bytes + block->used;
    block->used += bytes;
    memset(result, 0, bytes);
    return result;
}

char *cv_arena_text(struct cv_arena *arena, const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = cv_array(arena, length, 1);

    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void *cv_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    void *grown;

    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            return NULL;
        wanted *= 2;
    }
    if (size != 0 && wanted > SIZE_MAX / size)
        return NULL;
    grown = realloc(array, wanted * size);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

bool cv_grow_array(void *array, size_t *capacity, size_t needed, size_t size)
{
    void *old, *grown;

    memcpy(&old, array, sizeof old);
    grown = cv_grow(old, capacity, needed, size);
    if (grown == NULL)
        return false;
    memcpy(array, &grown, sizeof grown);
    return true;
}
