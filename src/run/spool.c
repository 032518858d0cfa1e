/* spool.c -- the part of a stream that is still needed, in memory of no process.
 * SPDX-License-Identifier: MIT */
#include "run/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"

static enum cleave_status cannot(const char *what, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "cannot %s: %s", what, strerror(errno));
}

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static enum cleave_status add_lap(struct cv_spool *spool, struct cv_lap lap,
                                  struct cleave_error *err)
{
    if (spool->nlaps == spool->capacity) {
        struct cv_lap *laps =
            cv_grow(spool->laps, &spool->capacity, spool->nlaps + 1, sizeof *laps);

        if (laps == NULL)
            return cv_fail_memory(err, "an index of the input");
        spool->laps = laps;
    }
    spool->laps[spool->nlaps++] = lap;
    return CLEAVE_OK;
}

enum cleave_status cv_spool_init(struct cv_spool *spool, uint64_t keep, uint64_t least,
                                 struct cleave_error *err)
{
    *spool = (struct cv_spool){ .keep = keep, .least = least };
    cv_range_set_init(&spool->free);
    spool->fd = memfd_create("cleave-input", MFD_CLOEXEC);
    if (spool->fd < 0)
        return cannot("make room for the input in memory", err);
    if (ftruncate(spool->fd, (off_t)keep) != 0)
        return cannot("make room for the input in memory", err);
    spool->bytes =
        mmap(NULL, (size_t)keep, PROT_READ | PROT_WRITE, MAP_SHARED, spool->fd, 0);
    if (spool->bytes == MAP_FAILED) {
        spool->bytes = NULL;
        return cannot("make room for the input in memory", err);
    }
    return add_lap(spool, (struct cv_lap){ 0, UINT64_MAX, 0, UINT64_MAX, 0 }, err);
}

void cv_spool_done(struct cv_spool *spool)
{
    if (spool->bytes != NULL)
        munmap(spool->bytes, (size_t)spool->keep);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool->laps);
    cv_range_set_done(&spool->free);
}

void cv_spool_straight(struct cv_spool *spool)
{
    spool->straight = true;
}

/* --- laps -------------------------------------------------------------------------------- */

static size_t lap_of(const struct cv_spool *spool, uint64_t offset)
{
    size_t index = spool->nlaps - 1;

    while (index > 0 && spool->laps[index].begin > offset)
        index--;
    assert(offset >= spool->laps[index].begin);
    return index;
}

uint64_t cv_spool_at(const struct cv_spool *spool, uint64_t offset, uint64_t *end)
{
    const struct cv_lap *lap = &spool->laps[lap_of(spool, offset)];

    *end = lap->end;
    return lap->at + (offset - lap->begin);
}

/* The first free range that is long enough; one at the end of the file if there is none. */
static struct cv_range place_for(const struct cv_spool *spool, uint64_t length)
{
    for (size_t i = 0; i < cv_range_set_count(&spool->free); i++) {
        const struct cv_range range = cv_range_set_at(&spool->free, i);

        if (range.end - range.begin >= length)
            return range;
    }
    return (struct cv_range){ spool->size, UINT64_MAX };
}

static enum cleave_status copy(const struct cv_spool *spool, uint64_t from, uint64_t to,
                               uint64_t length, struct cleave_error *err)
{
    char bytes[64 * 1024];

    while (length > 0) {
        const size_t some = length < sizeof bytes ? (size_t)length : sizeof bytes;
        const ssize_t got = pread(spool->fd, bytes, some, (off_t)from);
        ssize_t put = got;

        if (got > 0)
            put = pwrite(spool->fd, bytes, (size_t)got, (off_t)to);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return cannot("keep the input in memory", err);
        from += (uint64_t)put;
        to += (uint64_t)put;
        length -= (uint64_t)put;
    }
    return CLEAVE_OK;
}

/* Go on in `place`, from `settled` on; what had come behind it is moved there. */
static enum cleave_status begin_lap(struct cv_spool *spool, struct cv_range place,
                                    uint64_t settled, uint64_t received,
                                    struct cleave_error *err)
{
    struct cv_lap *last = &spool->laps[spool->nlaps - 1];
    const uint64_t tail = last->at + (settled - last->begin);
    const uint64_t end = last->limit == UINT64_MAX ? spool->size : last->limit;

    CV_TRY(copy(spool, tail, place.begin, received - settled, err));
    if (place.end != UINT64_MAX)
        CV_TRY(cv_range_set_remove(&spool->free, place.begin, place.end, err));
    if (tail < end)
        CV_TRY(cv_range_set_put(&spool->free, tail, end, err));
    last->end = settled;
    last->limit = tail;
    if (last->given == settled - last->begin)
        spool->nlaps--; /* nothing of it is needed any more */
    return add_lap(spool,
                   (struct cv_lap){ settled, UINT64_MAX, place.begin, place.end, 0 },
                   err);
}

enum cleave_status cv_spool_room(struct cv_spool *spool, uint64_t settled,
                                 uint64_t received, uint64_t *at, uint64_t *room,
                                 struct cleave_error *err)
{
    struct cv_lap *last = &spool->laps[spool->nlaps - 1];
    const uint64_t now = last->at + (received - last->begin);
    const uint64_t tail = received - settled;

    if (last->limit == UINT64_MAX && spool->size < now)
        spool->size = now;
    /* A long record is not moved again and again. */
    if (!spool->straight &&
        (last->limit == UINT64_MAX ? received - last->begin >= spool->least
                                   : now == last->limit)) {
        const struct cv_range place =
            place_for(spool,
                      tail < spool->least / 4 ? spool->least : 4 * tail + spool->least);

        if (place.end != UINT64_MAX || last->limit != UINT64_MAX)
            CV_TRY(begin_lap(spool, place, settled, received, err));
        last = &spool->laps[spool->nlaps - 1];
    }
    *at = last->at + (received - last->begin);
    *room = (*at < spool->keep && spool->keep < last->limit ? spool->keep : last->limit) -
            *at;
    return CLEAVE_OK;
}

/* --- memory ------------------------------------------------------------------------------ */

/* Pages behind what is kept (nothing is that will not be written again) on which nothing is
 * left, of those that [begin, end) touches. */
static enum cleave_status punch(struct cv_spool *spool, uint64_t begin, uint64_t end,
                                struct cleave_error *err)
{
    const uint64_t page = page_size();
    struct cv_range whole = { begin, end };
    uint64_t from = begin & ~(page - 1), to = (end + page - 1) & ~(page - 1);

    cv_range_set_find(&spool->free, begin, &whole);
    if (from < whole.begin)
        from = (whole.begin + page - 1) & ~(page - 1);
    if (from < spool->keep && !spool->straight)
        from = (spool->keep + page - 1) & ~(page - 1);
    if (to > whole.end)
        to = whole.end & ~(page - 1);
    if (from < to && fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               (off_t)from, (off_t)(to - from)) != 0)
        return cannot("give back memory of the input", err);
    return CLEAVE_OK;
}

enum cleave_status cv_spool_give_back(struct cv_spool *spool, uint64_t begin,
                                      uint64_t end, struct cleave_error *err)
{
    const size_t index = lap_of(spool, begin);
    struct cv_lap *lap = &spool->laps[index];
    const uint64_t at = lap->at + (begin - lap->begin);

    assert(begin < end && end <= lap->end);
    CV_TRY(cv_range_set_put(&spool->free, at, at + (end - begin), err));
    lap->given += end - begin;
    if (lap->end != UINT64_MAX && lap->given == lap->end - lap->begin) {
        memmove(lap, lap + 1, (spool->nlaps - index - 1) * sizeof *lap);
        spool->nlaps--;
    }
    return punch(spool, at, at + (end - begin), err);
}

enum cleave_status cv_spool_view(const struct cv_spool *spool, uint64_t begin,
                                 uint64_t end, const char **out, struct cleave_error *err)
{
    uint64_t lap_end;
    const uint64_t at = cv_spool_at(spool, begin, &lap_end);
    const uint64_t into = at & (page_size() - 1);
    const char *bytes;

    assert(begin < end && end <= lap_end);
    if (at + (end - begin) <= spool->keep) {
        *out = spool->bytes + at;
        return CLEAVE_OK;
    }
    bytes = mmap(NULL, (size_t)(into + (end - begin)), PROT_READ, MAP_SHARED, spool->fd,
                 (off_t)(at - into));
    if (bytes == MAP_FAILED)
        return cannot("look at the input in memory", err);
    *out = bytes + into;
    return CLEAVE_OK;
}

void cv_spool_close_view(const struct cv_spool *spool, const char *bytes, uint64_t length)
{
    const size_t into = (size_t)((uintptr_t)bytes & (page_size() - 1));

    if (bytes < spool->bytes || bytes >= spool->bytes + spool->keep)
        munmap((char *)bytes - into, (size_t)length + into);
}
