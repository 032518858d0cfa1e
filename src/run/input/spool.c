/* spool.c -- the part of a stream that is still needed, in memory.
 * SPDX-License-Identifier: MIT */
#include "run/input/spool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"

/* Memory comes and goes in blocks of the size of a huge page, where pages have 4 KiB.
 * Where they have more, huge ones are too large to be asked for. */
enum { BLOCK = 2 << 20, OPEN = 16 * BLOCK, COMMON_PAGE = 4096 };

static const uint64_t USUAL = sizeof(size_t) > 4 ? UINT64_C(1) << 36 : 1 << 28;

static enum cleave_status no_room(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "cannot keep the input in memory: %s",
                   strerror(errno));
}

static uint64_t down(uint64_t offset)
{
    return offset & ~(uint64_t)(BLOCK - 1);
}

static uint64_t up(uint64_t offset)
{
    return down(offset + BLOCK - 1);
}

/* --- memory ------------------------------------------------------------------------------ */

/* Addresses without memory, half as many again and again if there are none. The first is
 * that of a block. */
static char *reserve(size_t *size, size_t min)
{
    for (;; *size /= 2) {
        const size_t wanted = up(*size > min ? *size : min);
        char *at = mmap(NULL, wanted + BLOCK, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (at != MAP_FAILED) {
            const size_t before = up((uintptr_t)at) - (uintptr_t)at;

            if (before > 0)
                munmap(at, before);
            if (before < BLOCK)
                munmap(at + before + wanted, BLOCK - before);
            *size = wanted;
            return at + before;
        }
        if (*size <= min || *size <= BLOCK)
            return NULL;
    }
}

/* Let there be memory for a while behind `used`: as somebody may fill it while some of it is used, before it ends. */
static enum cleave_status open_more(struct cv_spool_segment *stretch, size_t used,
                                    struct cleave_error *err)
{
    size_t more = stretch->size - stretch->open;

    if (more == 0 || stretch->open - used >= OPEN)
        return CLEAVE_OK;
    if (more > OPEN)
        more = OPEN;
    if (mprotect(stretch->bytes + stretch->open, more, PROT_READ | PROT_WRITE) != 0)
        return no_room(err);
    if (sysconf(_SC_PAGESIZE) == COMMON_PAGE)
        madvise(stretch->bytes + stretch->open, more, MADV_HUGEPAGE); /* if it has any */
    stretch->open += more;
    return CLEAVE_OK;
}

/* Blocks of which nothing is left, of those that [begin, end) touches. Who has borrowed
 * from them keeps what they were. */
static enum cleave_status release(const struct cv_spool *spool,
                                  const struct cv_spool_segment *stretch, uint64_t begin,
                                  uint64_t end, struct cleave_error *err)
{
    struct cv_range whole = { begin, end };
    uint64_t from, to;

    cv_range_set_find(&spool->given, begin, &whole);
    if (whole.begin < stretch->begin)
        whole.begin = stretch->begin;
    from = down(begin - stretch->begin);
    if (from < whole.begin - stretch->begin)
        from += BLOCK;
    to = up(end - stretch->begin);
    if (to > whole.end - stretch->begin)
        to -= BLOCK;
    if (from < to && mmap(stretch->bytes + from, to - from, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                          0) == MAP_FAILED)
        return no_room(err);
    return CLEAVE_OK;
}

/* --- stretches --------------------------------------------------------------------------- */

static enum cleave_status add_stretch(struct cv_spool *spool, uint64_t begin, size_t min,
                                      struct cleave_error *err)
{
    struct cv_spool_segment new = { .begin = begin,
                                    .end = UINT64_MAX,
                                    .size = spool->size };

    if (!CV_ROOM(spool->stretches, &spool->capacity, spool->count + 1))
        return cv_fail_memory(err, "an index of the input");
    new.bytes = reserve(&new.size, min);
    if (new.bytes == NULL)
        return no_room(err);
    spool->stretches[spool->count++] = new;
    return CLEAVE_OK;
}

static enum cleave_status drop_stretch(struct cv_spool *spool, size_t index,
                                       struct cleave_error *err)
{
    struct cv_spool_segment *stretch = &spool->stretches[index];
    const uint64_t begin = stretch->begin, end = stretch->end;

    munmap(stretch->bytes, stretch->size);
    memmove(stretch, stretch + 1, (spool->count - index - 1) * sizeof *stretch);
    spool->count--;
    return begin < end ? cv_range_set_remove(&spool->given, begin, end, err) : CLEAVE_OK;
}

enum cleave_status cv_spool_init(struct cv_spool *spool, size_t stretch,
                                 struct cleave_error *err)
{
    *spool = (struct cv_spool){ .size = stretch > 0 ? stretch : (size_t)USUAL };
    cv_range_set_init(&spool->given);
    return add_stretch(spool, 0, BLOCK, err);
}

void cv_spool_done(struct cv_spool *spool)
{
    for (size_t i = 0; i < spool->count; i++)
        munmap(spool->stretches[i].bytes, spool->stretches[i].size);
    free(spool->stretches);
    cv_range_set_done(&spool->given);
}

static size_t stretch_of(const struct cv_spool *spool, uint64_t offset)
{
    size_t index = spool->count - 1;

    while (index > 0 && spool->stretches[index].begin > offset)
        index--;
    assert(offset >= spool->stretches[index].begin);
    return index;
}

const char *cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end)
{
    const struct cv_spool_segment *stretch = &spool->stretches[stretch_of(spool, offset)];

    *end = stretch->end;
    return stretch->bytes + (offset - stretch->begin);
}

/* Go on in a new stretch, from `settled` on; what had come behind it is moved there. A long
 * record is not moved again and again. */
static enum cleave_status go_on(struct cv_spool *spool, uint64_t settled,
                                uint64_t received, struct cleave_error *err)
{
    const size_t tail = (size_t)(received - settled);
    struct cv_spool_segment *before, *now;

    CV_TRY(add_stretch(spool, settled, 4 * tail + BLOCK, err));
    before = &spool->stretches[spool->count - 2];
    now = before + 1;
    while (now->open < tail)
        CV_TRY(open_more(now, now->open, err));
    memcpy(now->bytes, before->bytes + (settled - before->begin), tail);
    before->end = settled;
    if (before->given == settled - before->begin)
        return drop_stretch(spool, spool->count - 2, err);
    return CLEAVE_OK;
}

enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, char **at, size_t *room,
                                 struct cleave_error *err)
{
    struct cv_spool_segment *last = &spool->stretches[spool->count - 1];
    size_t used = (size_t)(received - last->begin);

    if (used == last->size) {
        CV_TRY(go_on(spool, settled, received, err));
        last = &spool->stretches[spool->count - 1];
        used = (size_t)(received - last->begin);
    }
    CV_TRY(open_more(last, used, err));
    *at = last->bytes + used;
    *room = last->open - used;
    return CLEAVE_OK;
}

enum cleave_status cv_spool_give_back(struct cv_spool *spool, uint64_t begin,
                                      uint64_t end, struct cleave_error *err)
{
    const size_t index = stretch_of(spool, begin);
    struct cv_spool_segment *stretch = &spool->stretches[index];

    assert(begin < end && end <= stretch->end);
    CV_TRY(cv_range_set_put(&spool->given, begin, end, err));
    stretch->given += end - begin;
    if (stretch->end != UINT64_MAX && stretch->given == stretch->end - stretch->begin)
        return drop_stretch(spool, index, err);
    return release(spool, stretch, begin, end, err);
}
