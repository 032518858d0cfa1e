/* parallel_frames.c -- where blocks of BGZF and frames of zstd and lz4 begin, as their bytes come.
 * SPDX-License-Identifier: MIT
 *
 * All of them say how long their parts are. A walker reads heads and passes over the rest; where a member
 * begins and a job has enough bytes, the next one does. If it meets what it does not know, it only
 * passes on: the decoder of the last job will say what is wrong, or do it all. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "run/decode/codec_lz4.h"
#include "run/decode/parallel_decode.h"

enum {
    CV_WALK_BATCH = 128 * 1024, /* compressed bytes that are worth a job              */
    CV_WALK_MOST = 32 << 20,    /* decoded ones that it may hold                      */
    CV_WALK_HEAD = 24           /* bytes of the longest head                          */
};

/* What the head is of that is read. */
enum cv_walk_part { CV_WALK_MEMBER, CV_WALK_BLOCK, CV_WALK_CHECK, CV_WALK_LOST };

/* A job whose blocks may be those of one frame of lz4 (parallel_frames.c). */
struct cv_walk_job {
    struct cv_parallel_decode_job
        job;          /* first                                                  */
    bool apart;       /* it has blocks of one frame only: of it,                */
    bool first, last; /* ... the first, the last                                */
    struct cv_lz4_head head;
    bool begun;     /* the one who asks has seen it                               */
    bool cut_short; /* the last: its check has not all come                       */
    uint32_t check; /* ... it                                                     */
    uint64_t check_at, check_end; /* ... where it is in the file                      */
};

struct cv_frame_walk {
    uint64_t at;   /* in the file: behind what was passed on              */
    uint64_t pass; /* bytes before the next head                          */
    uint8_t head[CV_WALK_HEAD];
    size_t have, need;
    enum cv_walk_part part;
    bool checked; /* a check stands behind the member, 4 bytes           */
    bool first;   /* there was no job before                             */
    size_t
        carried; /* of a head that a job may begin with: bytes from earlier reads, not passed on */
    struct cv_walk_job *job; /* borrowed: the last one; NULL: none       */
    /* What the head says; false: more of it is needed. */
    bool (*step)(struct cv_frame_walk *walk);
    /* Of lz4: the frame that it is in, if jobs may begin with its blocks. */
    bool opens; /* one may begin here                                     */
    bool apart; /* it is in one                                           */
    bool fresh; /* ... of which no job has blocks yet                     */
    uint64_t frame;
    struct cv_lz4_head lz4;
    /* Of who asks: what was made of such a frame. */
    struct cv_lz4_sum *sum; /* owned */
};

enum {
    HEAD = CV_CODEC_HEAD,
    /* So many times the first block of a frame that is worth jobs of its own is what is worth a job. */
    SMALL = 32,
};


static uint32_t number(const uint8_t *bytes, unsigned count)
{
    uint32_t value = 0;

    while (count > 0)
        value = value << 8 | bytes[--count];
    return value;
}

/* The next head, behind what is passed over. */
static void walk_expect(struct cv_frame_walk *walk, enum cv_walk_part part, size_t need,
                        uint64_t pass)
{
    walk->part = part;
    walk->need = need;
    walk->pass = pass;
}

/* --- heads ---------------------------------------------------------------------------------- */

static bool step_bgzf(struct cv_frame_walk *walk)
{
    const uint32_t length = number(walk->head + 16, 2) + 1;

    if (!cv_codec_bgzf.begins(walk->head, HEAD) || length < HEAD)
        walk->part = CV_WALK_LOST;
    else
        walk_expect(walk, CV_WALK_MEMBER, HEAD, length - HEAD);
    return true;
}

/* A frame to be skipped? */
static bool walk_skippable(const uint8_t *head)
{
    return (head[0] & 0xF0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0;
}

/* ... which it is; `need` bytes of the next head. */
static bool walk_skip(struct cv_frame_walk *walk, size_t need)
{
    if (walk->have < 8) {
        walk->need = 8;
        return false;
    }
    walk_expect(walk, CV_WALK_MEMBER, need, number(walk->head + 4, 4));
    return true;
}

static bool step_zstd(struct cv_frame_walk *walk)
{
    static const uint8_t dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
    const uint32_t block = number(walk->head, 3);
    const unsigned flags = walk->head[4], single = flags >> 5 & 1;

    if (walk->part == CV_WALK_BLOCK) {
        walk->pass = (block >> 1 & 3) == 1 ? 1 : block >> 3;
        if ((block & 1) != 0)
            walk_expect(walk, CV_WALK_MEMBER, 5, walk->pass + (walk->checked ? 4 : 0));
    } else if (walk_skippable(walk->head)) {
        return walk_skip(walk, 5);
    } else if (memcmp(walk->head, "\x28\xb5\x2f\xfd", 4) != 0) {
        walk->part = CV_WALK_LOST;
    } else {
        walk->checked = (flags >> 2 & 1) != 0;
        walk_expect(walk, CV_WALK_BLOCK, 3,
                    1 - single + dictionary[flags & 3] +
                        (flags >> 6 == 0 ? single : content[flags >> 6]));
    }
    return true;
}

/* --- jobs ----------------------------------------------------------------------------------- */

/* Let there be a job. Blocks of a frame get a head of their own, before which they seem to begin. */
static bool begin_job(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel)
{
    uint8_t head[CV_LZ4_LEAST];
    struct cv_parallel_decode_job *job;

    if (walk->job != NULL)
        return true;
    job = cv_wide_begin(parallel, walk->at - (walk->apart ? sizeof head : 0));
    if (job == NULL)
        return false;
    job->made_some = !walk->first;
    walk->first = false;
    walk->job = (struct cv_walk_job *)job;
    if (walk->apart) {
        job->before = job->offset - walk->frame;
        walk->job->apart = true;
        walk->job->first = walk->fresh;
        walk->job->head = walk->lz4;
        walk->fresh = false;
    }
    if (!cv_wide_give(parallel, job)) {
        walk->job = NULL;
        return false;
    }
    if (!walk->apart)
        return true;
    cv_lz4_head_make(&walk->lz4, head);
    return cv_wide_put(job, head, sizeof head);
}

/* There is enough in the last job. Blocks of a frame that others go on with get an end of their own. */
static bool end_job(struct cv_frame_walk *walk)
{
    static const uint8_t none[CV_LZ4_BLOCK];
    struct cv_walk_job *job = walk->job;
    const bool good =
        !job->apart || job->last || cv_wide_put(&job->job, none, sizeof none);

    cv_wide_complete(&job->job, 0);
    walk->job = NULL;
    return good;
}

/* Bytes for the last job, which begins with them if there is none. */
static bool pass_on(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel,
                    const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!begin_job(walk, parallel))
        return false;
    walk->at += length;
    return cv_wide_put(&walk->job->job, bytes, length);
}

/* Blocks of the frame that begins here are for jobs of their own. Its head was not passed on: one is made in its
 * place. */
static bool open_frame(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel)
{
    const size_t length = walk->have - CV_LZ4_BLOCK;

    walk->frame = walk->at;
    walk->at += length;
    walk->apart = walk->fresh = true;
    return pass_on(walk, parallel, walk->head + length, CV_LZ4_BLOCK);
}

/* A head is there that a job may begin with, and ends before `at`. What is before it belongs to the last job;
 * it and what follows to the next one, if the last one has enough, or must not have more. *begin is what was
 * passed on of the bytes. */
static bool end_head(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel,
                     const uint8_t *bytes, size_t at, size_t *begin)
{
    const size_t here = walk->have - walk->carried;
    const size_t before = at - here - *begin;
    const size_t batch = parallel->form->batch;
    const bool enough = walk->job != NULL && walk->job->job.given + before >= batch;
    const bool opens = walk->opens && walk->pass >= batch / SMALL;
    bool good = true;

    walk->opens = false;
    if (enough || opens) {
        good = pass_on(walk, parallel, bytes + *begin, before) &&
               (walk->job == NULL || end_job(walk));
        *begin = opens ? at : at - here;
    }
    if (good)
        good = opens ? open_frame(walk, parallel)
                     : pass_on(walk, parallel, walk->head, walk->carried);
    walk->carried = 0;
    return good;
}

/* The check of a frame is there: it is for who asks, as no job has all of its blocks. */
static bool end_frame(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel,
                      const uint8_t *bytes, size_t at, size_t *begin)
{
    const size_t here = walk->have - walk->carried;
    const bool good = pass_on(walk, parallel, bytes + *begin, at - here - *begin);

    *begin = at;
    walk->at += walk->have;
    walk->carried = 0;
    walk->apart = false;
    if (!good)
        return false;
    walk->job->last = true;
    walk->job->check_at = walk->at - walk->have;
    walk->job->check_end = walk->at;
    if (walk->have > 0)
        walk->job->check = cv_lz4_number(walk->head);
    walk_expect(walk, CV_WALK_MEMBER, 6, 0);
    return end_job(walk);
}

static bool pass_head(struct cv_frame_walk *walk, struct cv_parallel_decoder *parallel,
                      enum cv_walk_part was, const uint8_t *bytes, size_t at,
                      size_t *begin)
{
    bool good = true;

    if (was == CV_WALK_CHECK)
        good = end_frame(walk, parallel, bytes, at, begin);
    else if (walk->part == CV_WALK_LOST)
        good = pass_on(walk, parallel, walk->head, walk->carried);
    else if (was == CV_WALK_MEMBER || walk->apart)
        good = end_head(walk, parallel, bytes, at, begin);
    walk->have = walk->carried = 0;
    return good;
}

static bool walk_cut(void *state, struct cv_parallel_decoder *parallel,
                     const uint8_t *bytes, size_t length)
{
    struct cv_frame_walk *walk = state;
    size_t at = 0, begin = 0;
    bool good = true;

    while (good && at < length && walk->part != CV_WALK_LOST) {
        const uint64_t pending = walk->pass > 0 ? walk->pass : walk->need - walk->have;
        const size_t some = pending < length - at ? (size_t)pending : length - at;
        const enum cv_walk_part was = walk->part;

        at += some;
        if (walk->pass > 0) {
            walk->pass -= some;
            continue;
        }
        memcpy(walk->head + walk->have, bytes + at - some, some);
        walk->have += some;
        if (walk->have < walk->need || !walk->step(walk))
            continue;
        good = pass_head(walk, parallel, was, bytes, at, &begin);
    }
    /* A head that is not whole waits until it is. */
    if ((walk->part == CV_WALK_MEMBER || walk->apart) && walk->pass == 0 && good) {
        length -= walk->have - walk->carried;
        walk->carried = walk->have;
    }
    return good && pass_on(walk, parallel, bytes + begin, length - begin);
}

static void walk_end(void *state, struct cv_parallel_decoder *parallel, int error)
{
    struct cv_frame_walk *walk = state;

    if (walk->part == CV_WALK_CHECK && walk->job != NULL && error == 0) {
        walk->job->last = true;
        walk->job->cut_short = walk->have < walk->need;
        walk->job->check_at = walk->at;
        walk->job->check_end = walk->at + walk->carried;
    } else {
        pass_on(walk, parallel, walk->head, walk->carried);
    }
    if (error != 0 ? begin_job(walk, parallel) : walk->job != NULL)
        cv_wide_complete(&walk->job->job, error);
}

static struct cv_frame_walk *
walk_open(uint64_t offset, bool (*step)(struct cv_frame_walk *walk), size_t need)
{
    struct cv_frame_walk *walk = calloc(1, sizeof *walk);

    if (walk != NULL) {
        walk->at = offset;
        walk->step = step;
        walk->first = true;
        walk_expect(walk, CV_WALK_MEMBER, need, 0);
    }
    return walk;
}

static void *open_bgzf(uint64_t offset)
{
    return walk_open(offset, step_bgzf, HEAD);
}

static void *open_zstd(uint64_t offset)
{
    return walk_open(offset, step_zstd, 5);
}

#define FORM(name)                                                                       \
    const struct cv_parallel_decode_format cv_wide_##name = { .codec = &cv_codec_##name, \
                                                              .job_size = sizeof(        \
                                                                  struct cv_walk_job),   \
                                                              .batch = CV_WALK_BATCH,    \
                                                              .max = CV_WALK_MOST,       \
                                                              .open = open_##name,       \
                                                              .close = free,             \
                                                              .cut = walk_cut,           \
                                                              .end = walk_end }
FORM(bgzf);
FORM(zstd);

/* --- frames of lz4, and the blocks of one where each can be decoded by itself ------ */

/* Such a frame is cut between blocks when a job has enough of them. Each job gets them with a head and an end in
 * the place of the frame's, which may say how much all of them hold and have a check of it: who asks sees to these. */

enum { FIRST = 6 /* bytes of a head that are looked at first */ };

struct cv_lz4_sum {
    XXH32_state_t *state; /* owned                  */
    uint64_t made;        /* bytes of the frame     */
};

/* --- the reader ----------------------------------------------------------------------------- */

/* Behind the head of a block. */
static void pass_block(struct cv_frame_walk *walk, uint32_t block)
{
    const size_t check = walk->lz4.checked ? CV_LZ4_CHECK : 0;

    if (block != 0)
        walk_expect(walk, CV_WALK_BLOCK, CV_LZ4_BLOCK,
                    (uint64_t)(block & ~CV_LZ4_STORED) +
                        (walk->lz4.checks ? CV_LZ4_CHECK : 0));
    else if (walk->apart)
        walk_expect(walk, CV_WALK_CHECK, check, 0);
    else
        walk_expect(walk, CV_WALK_MEMBER, FIRST, check);
}

/* The head of a frame, with that of its first block. */
static bool step_lz4(struct cv_frame_walk *walk)
{
    const uint8_t *head = walk->head;
    size_t length;

    if (walk->part == CV_WALK_CHECK)
        return true;
    if (walk->part == CV_WALK_BLOCK) {
        pass_block(walk, cv_lz4_number(head));
        return true;
    }
    if (walk_skippable(head))
        return walk_skip(walk, FIRST);
    length = cv_lz4_head_length(head);
    if (memcmp(head, "\x04\x22\x4d\x18", 4) == 0 && walk->have < length + CV_LZ4_BLOCK) {
        walk->need = length + CV_LZ4_BLOCK;
        return false;
    }
    if (!cv_lz4_head_read(head, &walk->lz4)) {
        walk->part = CV_WALK_LOST;
        return true;
    }
    pass_block(walk, cv_lz4_number(head + length));
    walk->opens = walk->lz4.apart && walk->part == CV_WALK_BLOCK;
    return true;
}

/* --- who asks ------------------------------------------------------------------------------- */

static void look(void *state, struct cv_parallel_decode_job *job)
{
    struct cv_lz4_sum *sum = ((struct cv_frame_walk *)state)->sum;
    struct cv_walk_job *part = (struct cv_walk_job *)job;

    if (!part->apart)
        return;
    if (part->first && !part->begun) {
        XXH32_reset(sum->state, 0);
        sum->made = 0;
    }
    part->begun = true;
    sum->made += job->made;
    if (part->head.checked)
        for (const struct cv_parallel_decode_chunk *chunk = job->chunks; chunk != NULL;
             chunk = chunk->next)
            XXH32_update(sum->state, chunk->bytes, chunk->length);
}

static enum cleave_status settle(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_parallel_decode_job *job,
                                 struct cleave_error *err)
{
    const struct cv_lz4_sum *sum = ((struct cv_frame_walk *)state)->sum;
    const struct cv_walk_job *part = (const struct cv_walk_job *)job;

    (void)parallel;
    if (job->status != CLEAVE_OK)
        *err = job->err;
    if (job->status != CLEAVE_OK || !part->apart || !part->last)
        return job->status;
    if (part->head.sized && sum->made != part->head.size)
        return cv_decoder_refuse(job->decoder, part->check_at,
                                 "another number of bytes than it says", err);
    if (part->cut_short)
        return cv_decoder_refuse(job->decoder, part->check_end, NULL, err);
    return !part->head.checked || part->check == XXH32_digest(sum->state)
               ? CLEAVE_OK
               : cv_decoder_refuse(job->decoder, part->check_end,
                                   "bytes that do not fit their check", err);
}

/* --- life ----------------------------------------------------------------------------------- */

static void close_lz4(void *state)
{
    struct cv_frame_walk *walk = state;

    if (walk->sum != NULL)
        XXH32_freeState(walk->sum->state);
    free(walk->sum);
    free(walk);
}

static void *open_lz4(uint64_t offset)
{
    struct cv_frame_walk *walk = walk_open(offset, step_lz4, FIRST);

    if (walk == NULL)
        return NULL;
    walk->sum = calloc(1, sizeof *walk->sum);
    if (walk->sum != NULL)
        walk->sum->state = XXH32_createState();
    if (walk->sum != NULL && walk->sum->state != NULL)
        return walk;
    close_lz4(walk);
    return NULL;
}

const struct cv_parallel_decode_format cv_wide_lz4 = {
    .codec = &cv_codec_lz4,
    .job_size = sizeof(struct cv_walk_job),
    .batch = CV_WALK_BATCH,
    .max = CV_WALK_MOST,
    .open = open_lz4,
    .close = close_lz4,
    .cut = walk_cut,
    .end = walk_end,
    .look = look,
    .settle = settle,
};
