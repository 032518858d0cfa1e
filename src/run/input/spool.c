/* spool.c -- the bytes of a stream that are still needed, in memory. SPDX-License-Identifier: MIT */
#include "run/input/spool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"

/* A block has the size of a huge page if pages have 4 KiB. With larger pages, huge ones are too large
 * to be asked for. */
enum { BLOCK = 2 << 20, OPEN = 16 * BLOCK, COMMON_PAGE = 4096 };

static const uint64_t USUAL = sizeof(size_t) > 4 ? UINT64_C(1) << 36 : 1 << 28;

static enum cleave_status no_room(struct cleave_error *err)
{
    return cv_fail_errno(err, errno, "cannot keep the input in memory");
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

/* Addresses without memory, from a block boundary. *size is halved until that succeeds. */
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

/* Allow memory for at least OPEN bytes after `used`: a decoder may fill them ahead. */
static enum cleave_status open_more(struct cv_spool_segment *segment, size_t used,
                                    struct cleave_error *err)
{
    size_t more = segment->size - segment->open;

    if (more == 0 || segment->open - used >= OPEN)
        return CLEAVE_OK;
    if (more > OPEN)
        more = OPEN;
    if (mprotect(segment->bytes + segment->open, more, PROT_READ | PROT_WRITE) != 0)
        return no_room(err);
    if (sysconf(_SC_PAGESIZE) == COMMON_PAGE)
        madvise(segment->bytes + segment->open, more, MADV_HUGEPAGE); /* may fail */
    segment->open += more;
    return CLEAVE_OK;
}

/* Release blocks that [begin, end) touches and that are given back completely. Pipes that have
 * borrowed them keep their bytes. */
static enum cleave_status release(const struct cv_spool *spool,
                                  const struct cv_spool_segment *segment, uint64_t begin,
                                  uint64_t end, struct cleave_error *err)
{
    struct cv_range whole = { begin, end };
    uint64_t from, to;

    cv_range_set_find(&spool->given, begin, &whole);
    if (whole.begin < segment->begin)
        whole.begin = segment->begin;
    from = down(begin - segment->begin);
    if (from < whole.begin - segment->begin)
        from += BLOCK;
    to = up(end - segment->begin);
    if (to > whole.end - segment->begin)
        to -= BLOCK;
    if (from < to && mmap(segment->bytes + from, to - from, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                          0) == MAP_FAILED)
        return no_room(err);
    return CLEAVE_OK;
}

/* --- segments --------------------------------------------------------------------------- */

static enum cleave_status add_segment(struct cv_spool *spool, uint64_t begin, size_t min,
                                      struct cleave_error *err)
{
    struct cv_spool_segment new = { .begin = begin,
                                    .end = UINT64_MAX,
                                    .size = spool->size };

    if (!CV_ROOM(spool->segments, &spool->capacity, spool->count + 1))
        return cv_fail_memory(err, "an index of the input");
    new.bytes = reserve(&new.size, min);
    if (new.bytes == NULL)
        return no_room(err);
    spool->segments[spool->count++] = new;
    return CLEAVE_OK;
}

static enum cleave_status drop_segment(struct cv_spool *spool, size_t index,
                                       struct cleave_error *err)
{
    struct cv_spool_segment *segment = &spool->segments[index];
    const uint64_t begin = segment->begin, end = segment->end;

    munmap(segment->bytes, segment->size);
    memmove(segment, segment + 1, (spool->count - index - 1) * sizeof *segment);
    spool->count--;
    return begin < end ? cv_range_set_remove(&spool->given, begin, end, err) : CLEAVE_OK;
}

enum cleave_status cv_spool_init(struct cv_spool *spool, size_t segment,
                                 struct cleave_error *err)
{
    *spool = (struct cv_spool){ .size = segment > 0 ? segment : (size_t)USUAL };
    cv_range_set_init(&spool->given);
    return add_segment(spool, 0, BLOCK, err);
}

void cv_spool_done(struct cv_spool *spool)
{
    for (size_t i = 0; i < spool->count; i++)
        munmap(spool->segments[i].bytes, spool->segments[i].size);
    free(spool->segments);
    cv_range_set_done(&spool->given);
}

static size_t segment_at(const struct cv_spool *spool, uint64_t offset)
{
    size_t index = spool->count - 1;

    while (index > 0 && spool->segments[index].begin > offset)
        index--;
    assert(offset >= spool->segments[index].begin);
    return index;
}

const char *cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end)
{
    const struct cv_spool_segment *segment = &spool->segments[segment_at(spool, offset)];

    *end = segment->end;
    return segment->bytes + (offset - segment->begin);
}

/* Continue in a new segment with the bytes from `settled`. It is large enough that a long record is
 * not moved again and again. */
static enum cleave_status begin_segment(struct cv_spool *spool, uint64_t settled,
                                        uint64_t received, struct cleave_error *err)
{
    const size_t tail = (size_t)(received - settled);
    struct cv_spool_segment *before, *now;

    CV_TRY(add_segment(spool, settled, 4 * tail + BLOCK, err));
    before = &spool->segments[spool->count - 2];
    now = before + 1;
    while (now->open < tail)
        CV_TRY(open_more(now, now->open, err));
    memcpy(now->bytes, before->bytes + (settled - before->begin), tail);
    before->end = settled;
    if (before->given == settled - before->begin)
        return drop_segment(spool, spool->count - 2, err);
    return CLEAVE_OK;
}

enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, char **at, size_t *room,
                                 struct cleave_error *err)
{
    struct cv_spool_segment *last = &spool->segments[spool->count - 1];
    size_t used = (size_t)(received - last->begin);

    if (used == last->size) {
        CV_TRY(begin_segment(spool, settled, received, err));
        last = &spool->segments[spool->count - 1];
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
    const size_t index = segment_at(spool, begin);
    struct cv_spool_segment *segment = &spool->segments[index];

    assert(begin < end && end <= segment->end);
    CV_TRY(cv_range_set_put(&spool->given, begin, end, err));
    segment->given += end - begin;
    if (segment->end != UINT64_MAX && segment->given == segment->end - segment->begin)
        return drop_segment(spool, index, err);
    return release(spool, segment, begin, end, err);
}
