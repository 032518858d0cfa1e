/* wide_frames.c -- where blocks of BGZF and frames of zstd and lz4 begin, as their bytes come.
 * SPDX-License-Identifier: MIT
 *
 * All of them say how long their parts are. A walker reads heads and passes over the rest; where a member
 * begins and a job has enough bytes, the next one does. If it meets what it does not know, it only
 * passes on: the decoder of the last job will say what is wrong, or do it all. */
#include <stdlib.h>
#include <string.h>

#include "run/decode/wide.h"

enum {
    BATCH = 128 * 1024, /* compressed bytes that are worth a job              */
    MOST = 32 << 20,    /* decoded ones that it may hold                      */
    HEAD = CV_CODEC_HEAD
};

/* What the head is of that is read. */
enum part { MEMBER, BLOCK, LOST };

struct walk {
    uint64_t at;   /* in the file                                         */
    uint64_t pass; /* bytes before the next head                          */
    uint8_t head[HEAD];
    size_t have, need;
    enum part part;
    bool checked;   /* a check stands behind the member, 4 bytes           */
    bool checks;    /* ... behind each block of lz4                        */
    bool first;     /* there was no job before                             */
    size_t carried; /* of the head of a member: bytes from earlier reads, not passed on */
    struct cv_wide_job *job; /* borrowed: the last one; NULL: none       */
    /* What the head says; false: more of it is needed. */
    bool (*step)(struct walk *walk);
};

static uint32_t number(const uint8_t *bytes, unsigned count)
{
    uint32_t value = 0;

    while (count > 0)
        value = value << 8 | bytes[--count];
    return value;
}

/* The next head, behind what is passed over. */
static void expect(struct walk *walk, enum part part, size_t need, uint64_t pass)
{
    walk->part = part;
    walk->need = need;
    walk->pass = pass;
}

/* --- heads ---------------------------------------------------------------------------------- */

static bool step_bgzf(struct walk *walk)
{
    const uint32_t length = number(walk->head + 16, 2) + 1;

    if (!cv_codec_bgzf.begins(walk->head, HEAD) || length < HEAD)
        walk->part = LOST;
    else
        expect(walk, MEMBER, HEAD, length - HEAD);
    return true;
}

static bool is_skippable(const uint8_t *head)
{
    return (head[0] & 0xF0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0;
}

/* A frame to be skipped; `need` bytes of the next head. */
static bool step_skippable(struct walk *walk, size_t need)
{
    if (walk->have < 8) {
        walk->need = 8;
        return false;
    }
    expect(walk, MEMBER, need, number(walk->head + 4, 4));
    return true;
}

static bool step_zstd(struct walk *walk)
{
    static const uint8_t dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
    const uint32_t block = number(walk->head, 3);
    const unsigned flags = walk->head[4], single = flags >> 5 & 1;

    if (walk->part == BLOCK) {
        walk->pass = (block >> 1 & 3) == 1 ? 1 : block >> 3;
        if ((block & 1) != 0)
            expect(walk, MEMBER, 5, walk->pass + (walk->checked ? 4 : 0));
    } else if (is_skippable(walk->head)) {
        return step_skippable(walk, 5);
    } else if (memcmp(walk->head, "\x28\xb5\x2f\xfd", 4) != 0) {
        walk->part = LOST;
    } else {
        walk->checked = (flags >> 2 & 1) != 0;
        expect(walk, BLOCK, 3,
               1 - single + dictionary[flags & 3] +
                   (flags >> 6 == 0 ? single : content[flags >> 6]));
    }
    return true;
}

static bool step_lz4(struct walk *walk)
{
    const uint32_t block = number(walk->head, 4);
    const unsigned flags = walk->head[4];

    if (walk->part == BLOCK && block == 0) {
        expect(walk, MEMBER, 6, walk->checked ? 4 : 0);
    } else if (walk->part == BLOCK) {
        walk->pass = (uint64_t)(block & 0x7FFFFFFF) + (walk->checks ? 4 : 0);
    } else if (is_skippable(walk->head)) {
        return step_skippable(walk, 6);
    } else if (memcmp(walk->head, "\x04\x22\x4d\x18", 4) != 0) {
        walk->part = LOST;
    } else {
        walk->checked = (flags >> 2 & 1) != 0;
        walk->checks = (flags >> 4 & 1) != 0;
        expect(walk, BLOCK, 4,
               1u + ((flags >> 3 & 1) != 0 ? 8 : 0) + ((flags & 1) != 0 ? 4 : 0));
    }
    return true;
}

/* --- jobs ----------------------------------------------------------------------------------- */

/* Let there be a job. */
static bool begin_job(struct walk *walk, struct cv_wide *wide)
{
    if (walk->job != NULL)
        return true;
    walk->job = cv_wide_begin(wide, walk->at);
    if (walk->job == NULL)
        return false;
    walk->job->made_some = !walk->first;
    walk->first = false;
    if (!cv_wide_give(wide, walk->job))
        walk->job = NULL;
    return walk->job != NULL;
}

/* Bytes for the last job, which begins with them if there is none. */
static bool pass_on(struct walk *walk, struct cv_wide *wide, const uint8_t *bytes,
                    size_t length)
{
    if (length == 0)
        return true;
    if (!begin_job(walk, wide))
        return false;
    walk->at += length;
    return cv_wide_put(walk->job, bytes, length);
}

/* The head of a member is there, and ends before `at`. What is before it belongs to the last job; it and what
 * follows to the next one, if the last one has enough. *begin is what was passed on of the bytes. */
static bool end_head(struct walk *walk, struct cv_wide *wide, const uint8_t *bytes,
                     size_t at, size_t *begin)
{
    const size_t here = walk->have - walk->carried;
    bool good = true;

    if (walk->job != NULL && walk->job->given + (at - here - *begin) >= BATCH) {
        good = pass_on(walk, wide, bytes + *begin, at - here - *begin);
        *begin = at - here;
        cv_wide_complete(walk->job, 0);
        walk->job = NULL;
    }
    if (good)
        good = pass_on(walk, wide, walk->head, walk->carried);
    walk->carried = 0;
    return good;
}

static bool cut(void *state, struct cv_wide *wide, const uint8_t *bytes, size_t length)
{
    struct walk *walk = state;
    size_t at = 0, begin = 0;
    bool good = true;

    while (good && at < length && walk->part != LOST) {
        const uint64_t want = walk->pass > 0 ? walk->pass : walk->need - walk->have;
        const size_t some = want < length - at ? (size_t)want : length - at;
        const bool member = walk->part == MEMBER;

        at += some;
        if (walk->pass > 0) {
            walk->pass -= some;
            continue;
        }
        memcpy(walk->head + walk->have, bytes + at - some, some);
        walk->have += some;
        if (walk->have < walk->need || !walk->step(walk))
            continue;
        if (member)
            good = walk->part == LOST ? pass_on(walk, wide, walk->head, walk->carried)
                                      : end_head(walk, wide, bytes, at, &begin);
        walk->have = walk->carried = 0;
    }
    /* A head that is not whole waits until it is. */
    if (walk->part == MEMBER && walk->pass == 0) {
        length -= walk->have - walk->carried;
        walk->carried = walk->have;
    }
    return good && pass_on(walk, wide, bytes + begin, length - begin);
}

static void end(void *state, struct cv_wide *wide, int error)
{
    struct walk *walk = state;

    pass_on(walk, wide, walk->head, walk->carried);
    if (error != 0 ? begin_job(walk, wide) : walk->job != NULL)
        cv_wide_complete(walk->job, error);
}

static struct walk *open_walk(uint64_t offset, bool (*step)(struct walk *walk),
                              size_t need)
{
    struct walk *walk = calloc(1, sizeof *walk);

    if (walk != NULL) {
        walk->at = offset;
        walk->step = step;
        walk->first = true;
        expect(walk, MEMBER, need, 0);
    }
    return walk;
}

static void *open_bgzf(uint64_t offset)
{
    return open_walk(offset, step_bgzf, HEAD);
}

static void *open_zstd(uint64_t offset)
{
    return open_walk(offset, step_zstd, 5);
}

static void *open_lz4(uint64_t offset)
{
    return open_walk(offset, step_lz4, 6);
}

#define FORM(name)                                                                       \
    const struct cv_wide_form cv_wide_##name = { .codec = &cv_codec_##name,              \
                                                 .job_size = sizeof(struct cv_wide_job), \
                                                 .most = MOST,                           \
                                                 .open = open_##name,                    \
                                                 .close = free,                          \
                                                 .cut = cut,                             \
                                                 .end = end }
FORM(bgzf);
FORM(zstd);
FORM(lz4);
