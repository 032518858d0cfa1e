/* failing_allocator.h -- the allocator of the C library with a counter: the n-th call
 * fails. For one file of a program. SPDX-License-Identifier: MIT
 *
 * CV_NO_ALLOCATOR is defined if that is impossible; the program prints a note, and its
 * tests are skipped. */
#ifndef CV_FAILING_ALLOCATOR_H
#define CV_FAILING_ALLOCATOR_H
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define CV_NO_ALLOCATOR 1

int main(void)
{
    fprintf(stderr, "skipped: needs glibc's own allocator, without a sanitizer\n");
    return 77;
}

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *block);

static atomic_long countdown = -1; /* below 0: never fail */
static atomic_bool has_failed;
static atomic_long live_blocks; /* allocated and not released; read by leak tests */

static bool fails_now(void)
{
    if (atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    live_blocks += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails_now() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails_now())
        return NULL;
    return old == NULL ? counted(__libc_malloc(size)) : __libc_realloc(old, size);
}

void free(void *block)
{
    live_blocks -= block != NULL;
    __libc_free(block);
}

#endif
#endif
