/* parallel_frames.c -- jobs of BGZF and zstd for parallel_decode.h.
 * SPDX-License-Identifier: MIT
 *
 * A scan finds the headers in the arriving input. A new job begins at a member if the job before
 * has enough bytes. If the scan fails, all further input goes to the last job, whose decoder
 * reports the error or decodes the rest. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/decode/formats.h"
#include "run/decode/parallel_decode.h"

enum {
    BATCH = 128 * 1024,  /* input bytes of a job          */
    MAX_MADE = 32 << 20, /* output bytes that it may hold */
};

struct cutter {
    struct cv_frame_scan scan;
    size_t batch;   /* as in struct cv_parallel_format */
    uint64_t at;    /* offset in the file of the next byte for a job          */
    bool first;     /* there was no job before                                */
    size_t carried; /* bytes of scan.head from earlier reads, not in a job    */
    struct cv_decode_job *job; /* borrowed: the last one; NULL: none                 */
};

/* --- the reader ----------------------------------------------------------------------------- */

/* Begin a job unless there is one. */
static bool begin_job(struct cutter *cutter, struct cv_parallel_decoder *parallel)
{
    struct cv_decode_job *job;

    if (cutter->job != NULL)
        return true;
    job = cv_decode_job_new(parallel, cutter->at);
    if (job == NULL)
        return false;
    job->made_some = !cutter->first;
    cutter->first = false;
    if (!cv_decode_job_submit(parallel, job))
        return false;
    cutter->job = job;
    return true;
}

static bool add_to_job(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                       const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!begin_job(cutter, parallel))
        return false;
    cutter->at += length;
    return cv_decode_job_add(cutter->job, bytes, length);
}

/* The header of a member ends before bytes[at]. Earlier bytes belong to the last job; the header
 * belongs to a new one if the last one has enough bytes and the scan continues. bytes[*begin] is the
 * first byte that is in no job. */
static bool pass_head(struct cutter *cutter, struct cv_parallel_decoder *parallel,
                      const uint8_t *bytes, size_t at, size_t *begin)
{
    const size_t here = cutter->scan.have - cutter->carried;
    const size_t before = at - here - *begin;

    if (cutter->job != NULL && cutter->job->given + before >= cutter->batch &&
        cutter->scan.part != CV_FRAME_LOST) {
        if (!add_to_job(cutter, parallel, bytes + *begin, before))
            return false;
        cv_decode_job_complete(cutter->job, 0);
        cutter->job = NULL;
        *begin = at - here;
    }
    return add_to_job(cutter, parallel, cutter->scan.head, cutter->carried);
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
        if (was == CV_FRAME_MEMBER)
            good = pass_head(cutter, parallel, bytes, at, &begin);
        scan->have = cutter->carried = 0;
    }
    /* An incomplete header that may begin a job is carried over to the next call. */
    if (scan->part == CV_FRAME_MEMBER && scan->pass == 0 && good) {
        length -= scan->have - cutter->carried;
        cutter->carried = scan->have;
    }
    return good && add_to_job(cutter, parallel, bytes + begin, length - begin);
}

static void end(void *state, struct cv_parallel_decoder *parallel, int error)
{
    struct cutter *cutter = state;

    add_to_job(cutter, parallel, cutter->scan.head, cutter->carried);
    if (error != 0 ? begin_job(cutter, parallel) : cutter->job != NULL)
        cv_decode_job_complete(cutter->job, error);
}

/* --- the consumer --------------------------------------------------------------------------- */

static enum cleave_status settle(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_decode_job *job, struct cleave_error *err)
{
    (void)state, (void)parallel;
    return job->status == CLEAVE_OK ? CLEAVE_OK : cv_fail_again(err, &job->err);
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
    return cutter;
}

const struct cv_parallel_format cv_parallel_frames = {
    .job_size = sizeof(struct cv_decode_job),
    .batch = BATCH,
    .max = MAX_MADE,
    .open = open_cutter,
    .close = free,
    .cut = cut,
    .end = end,
    .settle = settle,
};
