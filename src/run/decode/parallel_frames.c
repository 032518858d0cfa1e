/* parallel_frames.c -- jobs of BGZF, zstd and lz4 for parallel_decode.h.
 * SPDX-License-Identifier: MIT
 *
 * A scan finds the headers in the arriving input. A new job begins at a member if the job before
 * has enough bytes. If the scan fails, all further input goes to the last job, whose decoder
 * reports the error or decodes the rest.
 *
 * An lz4 frame with independent blocks is cut between blocks, too. Each job of such a frame gets
 * its own frame header and end mark. The size and checksum of the whole frame are verified by the
 * consumer. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/decode/formats.h"
#include "run/decode/parallel_decode.h"

enum {
    BATCH = 128 * 1024,  /* input bytes of a job                                     */
    MAX_MADE = 32 << 20, /* output bytes that it may hold                           */
    SMALL = 32, /* a frame is split if its first block has at least BATCH / SMALL bytes */
};

struct frame_job {
    struct cv_decode_job job; /* first */
    bool split;               /* a part of one lz4 frame: */
    bool first, last;         /* the first part, the last */
    struct cv_lz4_head head;
    bool begun;                   /* the consumer has seen output of it        */
    bool cut_short;               /* the last: the checksum is not complete    */
    uint32_t check;               /* the last: the checksum of the frame       */
    uint64_t check_at, check_end; /* the last: its place in the file           */
};

struct cutter {
    struct cv_frame_scan scan;
    size_t batch;          /* as in struct cv_parallel_format */
    uint64_t at;           /* offset in the file of the next byte for a job          */
    bool first;            /* there was no job before                                */
    size_t carried;        /* bytes of scan.head from earlier reads, not in a job    */
    struct frame_job *job; /* borrowed: the last one; NULL: none                     */
    bool fresh;            /* no job has blocks of the split frame yet               */
    uint64_t frame;        /* offset in the file of the split frame                  */
    /* For the consumer: the split frame so far. */
    XXH32_state_t *sum; /* owned */
    uint64_t made;
};

/* --- the reader ----------------------------------------------------------------------------- */

/* Begin a job unless there is one. */
static bool begin_job(struct cutter *cutter, struct cv_parallel_decoder *parallel)
{
    const bool split = cutter->scan.split;
    uint8_t head[CV_LZ4_LEAST];
    struct cv_decode_job *job;

    if (cutter->job != NULL)
        return true;
    job = cv_decode_job_new(parallel, cutter->at - (split ? sizeof head : 0));
    if (job == NULL)
        return false;
    job->made_some = !cutter->first;
    cutter->first = false;
    cutter->job = (struct frame_job *)job;
    if (split) {
        job->before = job->offset - cutter->frame;
        cutter->job->split = true;
        cutter->job->first = cutter->fresh;
        cutter->job->head = cutter->scan.lz4;
        cutter->fresh = false;
    }
    if (!cv_decode_job_submit(parallel, job)) {
        cutter->job = NULL;
        return false;
    }
    if (!split)
        return true;
    cv_lz4_head_make(&cutter->scan.lz4, head);
    return cv_decode_job_add(job, head, sizeof head);
}

/* The last job is complete. Blocks that others continue get an end mark. */
static bool end_job(struct cutter *cutter)
{
    static const uint8_t end_mark[CV_LZ4_BLOCK];
    struct frame_job *job = cutter->job;
    const bool good = !job->split || job->last ||
                      cv_decode_job_add(&job->job, end_mark, sizeof end_mark);

    cv_decode_job_complete(&job->job, 0);
    cutter->job = NULL;
    return good;
}

static bool add_to_job(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                       const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!begin_job(cutter, parallel))
        return false;
    cutter->at += length;
    return cv_decode_job_add(&cutter->job->job, bytes, length);
}

/* Split the lz4 frame that begins here: its header is replaced by one in each job. */
static bool split_frame(struct cutter *cutter, struct cv_parallel_decoder *parallel)
{
    const size_t length = cutter->scan.have - CV_LZ4_BLOCK;

    cutter->frame = cutter->at;
    cutter->at += length;
    cutter->scan.split = cutter->fresh = true;
    return add_to_job(cutter, parallel, cutter->scan.head + length, CV_LZ4_BLOCK);
}

/* A header where a job may begin ends before bytes[at]. Earlier bytes belong to the last job; the
 * header belongs to a new one if the last one has enough bytes or the frame is split here.
 * bytes[*begin] is the first byte that is in no job. */
static bool end_head(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                     bool can_split, const uint8_t *bytes, size_t at, size_t *begin)
{
    const size_t here = cutter->scan.have - cutter->carried;
    const size_t before = at - here - *begin;
    const bool enough =
        cutter->job != NULL && cutter->job->job.given + before >= cutter->batch;
    const bool splits = can_split && cutter->scan.pass >= cutter->batch / SMALL;
    bool good = true;

    if (enough || splits) {
        good = add_to_job(cutter, parallel, bytes + *begin, before) &&
               (cutter->job == NULL || end_job(cutter));
        *begin = splits ? at : at - here;
    }
    if (good)
        good = splits ? split_frame(cutter, parallel)
                      : add_to_job(cutter, parallel, cutter->scan.head, cutter->carried);
    return good;
}

/* The checksum of a split frame: it is for the consumer, as no job has all blocks. */
static bool end_frame(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                      const uint8_t *bytes, size_t at, size_t *begin)
{
    struct cv_frame_scan *scan = &cutter->scan;
    const size_t here = scan->have - cutter->carried;
    const bool good = add_to_job(cutter, parallel, bytes + *begin, at - here - *begin);

    *begin = at;
    cutter->at += scan->have;
    if (!good)
        return false;
    cutter->job->last = true;
    cutter->job->check_at = cutter->at - scan->have;
    cutter->job->check_end = cutter->at;
    if (scan->have > 0)
        cutter->job->check = (uint32_t)cv_little_endian(scan->head, CV_LZ4_CHECK);
    cv_frame_scan_init(scan, &cv_codec_lz4);
    return end_job(cutter);
}

static bool pass_head(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                      enum cv_frame_part was, const uint8_t *bytes, size_t at,
                      size_t *begin)
{
    struct cv_frame_scan *scan = &cutter->scan;
    bool good = true;

    if (was == CV_FRAME_CHECK)
        good = end_frame(cutter, parallel, bytes, at, begin);
    else if (scan->part == CV_FRAME_LOST)
        good = add_to_job(cutter, parallel, scan->head, cutter->carried);
    else if (was == CV_FRAME_MEMBER || scan->split)
        good = end_head(cutter, parallel,
                        was == CV_FRAME_MEMBER && scan->part == CV_FRAME_BLOCK &&
                            scan->lz4.independent,
                        bytes, at, begin);
    scan->have = cutter->carried = 0;
    return good;
}

static bool cut(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                size_t length)
{
    struct cutter *cutter = state;
    struct cv_frame_scan *scan = &cutter->scan;
    size_t at = 0, begin = 0;
    bool good = true;

    while (good && at < length && scan->part != CV_FRAME_LOST) {
        const uint64_t pending = scan->pass > 0 ? scan->pass : scan->need - scan->have;
        const size_t some = pending < length - at ? (size_t)pending : length - at;
        const enum cv_frame_part was = scan->part;

        at += some;
        if (scan->pass > 0) {
            scan->pass -= some;
            continue;
        }
        memcpy(scan->head + scan->have, bytes + at - some, some);
        scan->have += some;
        if (scan->have < scan->need || !scan->step(scan))
            continue;
        good = pass_head(cutter, parallel, was, bytes, at, &begin);
    }
    /* An incomplete header that may begin a job is carried over to the next call. */
    if ((scan->part == CV_FRAME_MEMBER || scan->split) && scan->pass == 0 && good) {
        length -= scan->have - cutter->carried;
        cutter->carried = scan->have;
    }
    return good && add_to_job(cutter, parallel, bytes + begin, length - begin);
}

static void end(void *state, struct cv_parallel_decoder *parallel, int error)
{
    struct cutter *cutter = state;
    const struct cv_frame_scan *scan = &cutter->scan;

    if (scan->part == CV_FRAME_CHECK && cutter->job != NULL && error == 0) {
        cutter->job->last = true;
        cutter->job->cut_short = scan->have < scan->need;
        cutter->job->check_at = cutter->at;
        cutter->job->check_end = cutter->at + cutter->carried;
    } else {
        add_to_job(cutter, parallel, scan->head, cutter->carried);
    }
    if (error != 0 ? begin_job(cutter, parallel) : cutter->job != NULL)
        cv_decode_job_complete(&cutter->job->job, error);
}

/* --- the consumer: split frames of lz4 ------------------------------------------------------ */

static void look(void *state, struct cv_decode_job *job)
{
    struct cutter *cutter = state;
    struct frame_job *part = (struct frame_job *)job;

    if (!part->split)
        return;
    if (part->first && !part->begun) {
        XXH32_reset(cutter->sum, 0);
        cutter->made = 0;
    }
    part->begun = true;
    cutter->made += job->made;
    if (part->head.frame_check)
        for (const struct cv_decode_chunk *chunk = job->chunks; chunk != NULL;
             chunk = chunk->next)
            XXH32_update(cutter->sum, chunk->bytes, chunk->length);
}

static enum cleave_status settle(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_decode_job *job, struct cleave_error *err)
{
    const struct cutter *cutter = state;
    const struct frame_job *part = (const struct frame_job *)job;

    (void)parallel;
    if (job->status != CLEAVE_OK)
        *err = job->err;
    if (job->status != CLEAVE_OK || !part->split || !part->last)
        return job->status;
    if (part->head.sized && cutter->made != part->head.size)
        return cv_decoder_refuse(job->decoder, part->check_at,
                                 "another number of bytes than it says", err);
    if (part->cut_short)
        return cv_decoder_refuse(job->decoder, part->check_end, NULL, err);
    return !part->head.frame_check || part->check == XXH32_digest(cutter->sum)
               ? CLEAVE_OK
               : cv_decoder_refuse(job->decoder, part->check_end,
                                   "bytes that do not fit their check", err);
}

static void close_cutter(void *state)
{
    XXH32_freeState(((struct cutter *)state)->sum);
    free(state);
}

static void *open_cutter(const struct cv_codec *codec, size_t batch, uint64_t offset)
{
    struct cutter *cutter = calloc(1, sizeof *cutter);

    if (cutter == NULL)
        return NULL;
    cv_frame_scan_init(&cutter->scan, codec);
    cutter->batch = batch;
    cutter->at = offset;
    cutter->first = true;
    cutter->sum = XXH32_createState();
    if (cutter->sum != NULL)
        return cutter;
    close_cutter(cutter);
    return NULL;
}

const struct cv_parallel_format cv_parallel_frames = {
    .job_size = sizeof(struct frame_job),
    .batch = BATCH,
    .max = MAX_MADE,
    .open = open_cutter,
    .close = close_cutter,
    .cut = cut,
    .end = end,
    .look = look,
    .settle = settle,
};
