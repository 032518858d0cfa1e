/* wide_bzip2_join.c -- blocks of bzip2, put together again. SPDX-License-Identifier: MIT
 *
 * Parts come in order. As all before one was decoded, it begins with a mark that is one; whether it ends with
 * one too is known when it has been decoded. */
#include "run/decode/wide_bzip2.h"

#include <errno.h>

#include "base/fail.h"

bool cv_bzip2_head(const uint8_t *bytes)
{
    return cv_codec_bzip2.begins(bytes, CV_BZIP2_HEAD_SIZE);
}

/* Give the bits of a part as a stream, or, of an end, as they are. */
bool cv_bzip2_fill(struct cv_bzip2_part *part, const struct cv_bits *bits, int error)
{
    struct cv_bits all = { .bytes = NULL };
    bool good = cv_bits_put(&all, 0x425A68, 24) &&
                cv_bits_put(&all, (uint8_t)part->level, 8) &&
                cv_bits_copy(&all, bits->bytes, 0, bits->count);

    part->count = bits->count;
    part->job.offset = part->begin / 8 - CV_BZIP2_HEAD_SIZE;
    part->job.before = part->job.offset - part->stream;
    part->job.idle = part->ends;
    if (good && part->followed && !part->ends &&
        bits->count >= CV_BZIP2_MARK + CV_BZIP2_CHECK)
        good = cv_bits_put(&all, CV_BZIP2_END, CV_BZIP2_MARK) &&
               cv_bits_put(&all, cv_bits_get(bits->bytes, CV_BZIP2_MARK, CV_BZIP2_CHECK),
                           CV_BZIP2_CHECK);
    good = good && cv_wide_put(&part->job, all.bytes, (size_t)((all.count + 7) / 8));
    cv_bits_done(&all);
    cv_wide_complete(&part->job, good ? error : ENOMEM);
    return good;
}

/* The bits of a part, as the reader has given them. */
static const uint8_t *bytes_of(const struct cv_bzip2_part *part)
{
    const struct cv_parallel_decode_job *job = &part->job;

    return (job->spent != NULL ? job->spent : job->first)->bytes + CV_BZIP2_HEAD_SIZE;
}

/* Put the next part behind some bits; *followed: whether there is one behind that. False: there is none. */
static bool join_next(struct cv_parallel_decoder *parallel, struct cv_bits *bits,
                      bool *followed)
{
    struct cv_bzip2_part *next;
    void *job;
    bool more, good;

    if (!*followed ||
        cv_ordered_jobs_wait(parallel->pool, &job, &more, NULL) != CLEAVE_OK ||
        job == NULL)
        return false;
    next = job;
    good = cv_bits_copy(bits, bytes_of(next), 0, next->count);
    *followed = next->followed;
    cv_wide_forget(&next->job);
    cv_wide_drop(next);
    return good;
}

/* Decode other bytes in the place of a part's own. */
static enum cleave_status decode_instead(struct cv_bzip2_part *part,
                                         struct cv_bzip2_part *other,
                                         struct cleave_error *err)
{
    struct cv_parallel_decode_job *job = &part->job;
    const struct cv_parallel_decode_job was = *job;
    enum cleave_status status;
    bool more = false;

    status = cv_wide_decode(&other->job, &more, err);
    job->decoder = other->job.decoder;
    job->chunks = other->job.chunks;
    job->made = other->job.made;
    other->job.decoder = was.decoder;
    other->job.chunks = was.chunks;
    cv_wide_forget(&other->job);
    cv_wide_drop(other);
    return status;
}

/* The block of a part, with other bits than it was cut to. */
static enum cleave_status try_again(const struct cv_bzip2_blocks *blocks,
                                    struct cv_bzip2_part *part,
                                    const struct cv_bits *bits, bool followed,
                                    struct cleave_error *err)
{
    struct cv_bzip2_part *other =
        (struct cv_bzip2_part *)cv_wide_begin(part->job.parallel, 0);

    if (other == NULL)
        return cv_fail_memory(err, "a decoder");
    other->begin = part->begin;
    other->stream = part->stream;
    other->level = blocks->level_now;
    other->followed = followed;
    if (!cv_bzip2_fill(other, bits, 0)) {
        cv_wide_forget(&other->job);
        cv_wide_drop(other);
        return cv_fail_memory(err, "a decoder");
    }
    return decode_instead(part, other, err);
}

/* If it was cut at what only looked like a mark, more bits make it whole. */
static enum cleave_status mend_block(const struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    struct cv_bits bits = { .bytes = NULL };
    bool followed = part->followed;
    enum cleave_status status = cv_bits_copy(&bits, bytes_of(part), 0, part->count)
                                    ? try_again(blocks, part, &bits, followed, err)
                                    : cv_fail_memory(err, "a decoder");

    while (status == CLEAVE_EINPUT && bits.count < (uint64_t)CV_BZIP2_MOST * 8 &&
           join_next(parallel, &bits, &followed))
        status = try_again(blocks, part, &bits, followed, err);
    cv_bits_done(&bits);
    return status;
}

static enum cleave_status settle_block(struct cv_bzip2_blocks *blocks,
                                       struct cv_parallel_decoder *parallel,
                                       struct cv_bzip2_part *part,
                                       struct cleave_error *err)
{
    struct cv_parallel_decode_job *job = &part->job;
    enum cleave_status status = job->status;

    if (status != CLEAVE_OK)
        *err = job->err;
    if (status == CLEAVE_OK ? part->level != blocks->level_now
                            : status == CLEAVE_EINPUT && part->followed)
        status = mend_block(blocks, parallel, part, err);
    if (status == CLEAVE_OK)
        blocks->check =
            (blocks->check << 1 | blocks->check >> 31) ^
            (uint32_t)cv_bits_get(bytes_of(part), CV_BZIP2_MARK, CV_BZIP2_CHECK);
    else if (job->decoder == NULL || !cv_decoder_short(job->decoder)) {
        cv_wide_drop_chunks(job->chunks); /* they are not proven */
        job->chunks = NULL;
        job->made = 0;
    }
    return status;
}

/* What is wrong with the end of a stream, or behind it, is said by a decoder that gets the end of a stream without
 * blocks, whose check is 0, and then what is behind. */
static enum cleave_status refuse_end(const struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    const uint64_t head = (part->begin + CV_BZIP2_MARK + CV_BZIP2_CHECK + 7) / 8,
                   begin = head * 8;
    const bool whole = part->count >= CV_BZIP2_MARK + CV_BZIP2_CHECK;
    const uint64_t gone = begin - part->begin;
    struct cv_bits bits = { .bytes = NULL };
    struct cv_bzip2_part *other = (struct cv_bzip2_part *)cv_wide_begin(parallel, 0);
    bool followed = part->followed;
    bool good = other != NULL && cv_bits_copy(&bits, bytes_of(part), 0,
                                              whole ? CV_BZIP2_MARK : part->count);

    if (good && whole)
        good = cv_bits_put(&bits,
                           cv_bits_get(bytes_of(part), CV_BZIP2_MARK, CV_BZIP2_CHECK) ^
                               blocks->check,
                           CV_BZIP2_CHECK);
    if (good && part->count > gone)
        good = cv_bits_copy(&bits, bytes_of(part), gone, part->count - gone);
    while (good && bits.count < UINT64_C(8) * (CV_BZIP2_MARK + CV_BZIP2_CHECK) &&
           join_next(parallel, &bits, &followed))
        continue;
    if (good) {
        other->begin = part->begin;
        other->stream = part->stream;
        other->level = blocks->level_now;
        good = cv_bzip2_fill(other, &bits, part->job.error);
    }
    cv_bits_done(&bits);
    if (!good) {
        cv_wide_drop(other);
        return cv_fail_memory(err, "a decoder");
    }
    if (whole)
        other->job.offset =
            head - (CV_BZIP2_MARK + CV_BZIP2_CHECK) / 8 - CV_BZIP2_HEAD_SIZE;
    other->job.before = other->job.offset - part->stream;
    return decode_instead(part, other, err);
}

/* The next stream has to begin where this one ends, or the input ends there. */
static enum cleave_status settle_end(struct cv_bzip2_blocks *blocks,
                                     struct cv_parallel_decoder *parallel,
                                     struct cv_bzip2_part *part, struct cleave_error *err)
{
    const uint64_t gone =
        (part->begin + CV_BZIP2_MARK + CV_BZIP2_CHECK + 7) / 8 * 8 - part->begin;
    const uint64_t head_bits = UINT64_C(8) * CV_BZIP2_HEAD_SIZE;
    const uint8_t *bytes = bytes_of(part);
    uint8_t head[CV_BZIP2_HEAD_SIZE];

    if (part->count >= gone && part->job.error == 0 &&
        cv_bits_get(bytes, CV_BZIP2_MARK, CV_BZIP2_CHECK) == blocks->check) {
        if (part->count == gone && !part->followed)
            return CLEAVE_OK;
        for (uint64_t i = 0; part->count == gone + head_bits && i < CV_BZIP2_HEAD_SIZE;
             i++)
            head[i] = (uint8_t)cv_bits_get(bytes, gone + i * 8, 8);
        if (part->followed && part->count == gone + head_bits && cv_bzip2_head(head)) {
            blocks->check = 0;
            blocks->level_now = (char)head[CV_BZIP2_HEAD_SIZE - 1];
            return CLEAVE_OK;
        }
    }
    return refuse_end(blocks, parallel, part, err);
}

enum cleave_status cv_bzip2_settle(void *state, struct cv_parallel_decoder *parallel,
                                   struct cv_parallel_decode_job *job,
                                   struct cleave_error *err)
{
    struct cv_bzip2_blocks *blocks = state;
    struct cv_bzip2_part *part = (struct cv_bzip2_part *)job;

    if (job->first == NULL && job->spent == NULL && job->status == CLEAVE_OK &&
        job->error != 0)
        return cv_fail_memory(err, "a decoder");
    if (part->plain || (job->first == NULL && job->spent == NULL)) {
        if (job->status != CLEAVE_OK)
            *err = job->err;
        return job->status;
    }
    if (blocks->level_now == 0)
        blocks->level_now = part->level;
    return part->ends ? settle_end(blocks, parallel, part, err)
                      : settle_block(blocks, parallel, part, err);
}
