/* leak_watch.c -- look for unreachable memory at the end of a test program.
 * SPDX-License-Identifier: MIT
 *
 * Replaces the leak check of AddressSanitizer on machines where that check takes seconds
 * per process: on arm64 it visits 2^28 possible regions of memory, several times. Here
 * the sanitizer's hooks keep a table of the blocks there are. At the end, memory
 * reachable from globals, thread-local variables, the stack and registers is marked;
 * unmarked blocks have leaked, and the program ends with status 23, as with the other
 * check. Pointers into a block count as pointers to it. Threads that still run are not
 * looked at: there should be none. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

enum { STATUS = 23, FRAMES = 12, SHOWN = 5, FIRST_ROOM = 1 << 16 };

struct block {
    uintptr_t begin; /* 0: the place is free; 1: it was used once */
    size_t size;
    bool found;
};

/* Open addressing, in separate memory: the hooks must not allocate any. */
static struct block *table;
static size_t room, used, live;
static volatile char lock;
static pid_t owner; /* a child that was forked has another, and does not look */

/* --- the table ---------------------------------------------------------------------------- */

UNCHECKED static void enter(void)
{
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
        ;
}

UNCHECKED static void leave(void)
{
    __atomic_clear(&lock, __ATOMIC_RELEASE);
}

UNCHECKED static size_t place_of(uintptr_t begin)
{
    return (size_t)((begin >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);
}

UNCHECKED static struct block *new_table(size_t blocks)
{
    void *at = mmap(NULL, blocks * sizeof(struct block), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        abort();
    return at;
}

UNCHECKED static void put(uintptr_t begin, size_t size)
{
    size_t i = place_of(begin);

    while (table[i].begin > 1)
        i = (i + 1) & (room - 1);
    used += table[i].begin == 0;
    table[i] = (struct block){ .begin = begin, .size = size };
    live++;
}

UNCHECKED static void grow(void)
{
    struct block *old = table;
    const size_t old_room = room;

    room = live * 4 < FIRST_ROOM ? FIRST_ROOM : live * 4;
    while ((room & (room - 1)) != 0)
        room += room & -room;
    table = new_table(room);
    used = live = 0;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].begin > 1)
            put(old[i].begin, old[i].size);
    if (old != NULL)
        munmap(old, old_room * sizeof *old);
}

/* The sanitizer calls these two by their names. */
void __sanitizer_malloc_hook(const volatile void *begin, size_t size);
void __sanitizer_free_hook(const volatile void *begin);

UNCHECKED void __sanitizer_malloc_hook(const volatile void *begin, size_t size)
{
    if (begin == NULL)
        return;
    enter();
    if (used * 2 >= room)
        grow();
    put((uintptr_t)begin, size);
    leave();
}

UNCHECKED void __sanitizer_free_hook(const volatile void *begin)
{
    const uintptr_t sought = (uintptr_t)begin;

    if (begin == NULL || table == NULL)
        return;
    enter();
    for (size_t i = place_of(sought); table[i].begin != 0; i = (i + 1) & (room - 1))
        if (table[i].begin == sought) {
            table[i].begin = 1;
            live--;
            break;
        }
    leave();
}

/* --- the end ------------------------------------------------------------------------------ */

static struct block *blocks; /* in the order of their addresses */
static size_t nblocks, *pending, npending;

UNCHECKED static int compare(const void *a, const void *b)
{
    const uintptr_t x = ((const struct block *)a)->begin,
                    y = ((const struct block *)b)->begin;

    return (x > y) - (x < y);
}

UNCHECKED static void mark(uintptr_t address)
{
    size_t low = 0, high = nblocks;

    while (low < high) { /* the first block after it */
        const size_t middle = (low + high) / 2;

        if (blocks[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || blocks[low - 1].found ||
        address - blocks[low - 1].begin >=
            blocks[low - 1].size + (blocks[low - 1].size == 0))
        return;
    blocks[low - 1].found = true;
    pending[npending++] = low - 1;
}

UNCHECKED static void scan(uintptr_t begin, uintptr_t end)
{
    begin = (begin + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
    for (; begin + sizeof(uintptr_t) <= end; begin += sizeof(uintptr_t))
        mark(*(const uintptr_t *)begin); // NOLINT(performance-no-int-to-ptr)
}

/* Globals and thread-local variables of a program or library; without the sanitizer's,
 * which know all blocks, and the two lists here. */
UNCHECKED static int scan_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    if (strstr(info->dlpi_name, "libasan") != NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0)
            scan(begin, begin + part->p_memsz);
        else if (part->p_type == PT_TLS && info->dlpi_tls_data != NULL)
            scan((uintptr_t)info->dlpi_tls_data,
                 (uintptr_t)info->dlpi_tls_data + part->p_memsz);
    }
    return 0;
}

UNCHECKED static void scan_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    jmp_buf registers;
    const uintptr_t here = (uintptr_t)&registers;

    (void)setjmp(registers);
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    scan(here, (uintptr_t)low + size);
    scan((uintptr_t)__builtin_thread_pointer(),
         (uintptr_t)__builtin_thread_pointer() + 2 * sizeof(uintptr_t));
}

static void show(const struct block *block)
{
    void *frames[FRAMES];
    int thread;
    const size_t n =
        __asan_get_alloc_stack((void *)block->begin, frames, FRAMES, &thread); // NOLINT

    fprintf(stderr, "leaked: %zu bytes, allocated at\n", block->size);
    for (size_t i = 0; i < n; i++) {
        char line[512];

        __sanitizer_symbolize_pc(frames[i], "    %f %s:%l", line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
}

/* Whether the loader has it: of threads that have ended it keeps what belongs to their stacks. */
static bool is_loaders(const struct block *block)
{
    void *frames[FRAMES];
    int thread;
    const size_t n =
        __asan_get_alloc_stack((void *)block->begin, frames, FRAMES, &thread); // NOLINT
    Dl_info info;

    for (size_t i = 0; i < n && i < 3; i++)
        if (dladdr(frames[i], &info) != 0 && strstr(info.dli_fname, "/ld-") != NULL)
            return true;
    return false;
}

UNCHECKED static void follow(void)
{
    while (npending > 0) {
        const struct block *block = &blocks[pending[--npending]];

        scan(block->begin, block->begin + block->size);
    }
}

UNCHECKED static size_t count_leaks(void)
{
    size_t leaks = 0;

    enter();
    blocks = new_table(live + 1);
    pending = (size_t *)new_table(live + 1);
    for (size_t i = 0; i < room; i++)
        if (table[i].begin > 1)
            blocks[nblocks++] = table[i];
    leave();
    qsort(blocks, nblocks, sizeof *blocks, compare);
    dl_iterate_phdr(scan_module, NULL);
    scan_stack();
    follow();
    for (size_t i = 0; i < nblocks; i++)
        if (!blocks[i].found && is_loaders(&blocks[i]))
            mark(blocks[i].begin);
    follow();
    for (size_t i = 0; i < nblocks; i++)
        leaks += !blocks[i].found;
    return leaks;
}

static void look(void)
{
    size_t leaks, shown = 0;

    if (getpid() != owner)
        return;
    leaks = count_leaks();
    for (size_t i = 0; i < nblocks && shown < SHOWN && leaks > 0; i++)
        if (!blocks[i].found) {
            show(&blocks[i]);
            shown++;
        }
    if (leaks == 0)
        return;
    fprintf(stderr, "leaked: %zu blocks in all\n", leaks);
    fflush(NULL);
    _exit(STATUS);
}

__attribute__((constructor)) static void begin(void)
{
    owner = getpid();
    atexit(look);
}
