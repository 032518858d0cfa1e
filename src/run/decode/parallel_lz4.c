/* parallel_lz4.c -- frames of lz4, and the blocks of one where each can be decoded by itself.
 * SPDX-License-Identifier: MIT
 *
 * Such a frame is cut between blocks when a job has enough of them. Each job gets them with a head and an end in
 * the place of the frame's, which may say how much all of them hold and have a check of it: who asks sees to these. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/decode/wide_frames.h"

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
        cv_walk_expect(walk, CV_WALK_BLOCK, CV_LZ4_BLOCK,
                       (uint64_t)(block & ~CV_LZ4_STORED) +
                           (walk->lz4.checks ? CV_LZ4_CHECK : 0));
    else if (walk->apart)
        cv_walk_expect(walk, CV_WALK_CHECK, check, 0);
    else
        cv_walk_expect(walk, CV_WALK_MEMBER, FIRST, check);
}

/* The head of a frame, with that of its first block. */
static bool step(struct cv_frame_walk *walk)
{
    const uint8_t *head = walk->head;
    size_t length;

    if (walk->part == CV_WALK_CHECK)
        return true;
    if (walk->part == CV_WALK_BLOCK) {
        pass_block(walk, cv_lz4_number(head));
        return true;
    }
    if (cv_walk_skippable(head))
        return cv_walk_skip(walk, FIRST);
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
    struct cv_frame_walk *walk = cv_walk_open(offset, step, FIRST);

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
    .cut = cv_walk_cut,
    .end = cv_walk_end,
    .look = look,
    .settle = settle,
};
