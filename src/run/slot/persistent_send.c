/* persistent_send.c -- give a piece to a command that stays. SPDX-License-Identifier: MIT
 *
 * What is small is read behind its length, and both are written by one call: that is cheaper
 * than to splice it, and the command wakes up once. */
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/slot/slot_kind.h"
#include "run/slot/persistent_length.h"

enum { SMALL = 16 * 1024 }; /* bytes that are copied */

/* Copy all parts into `bytes` behind each other; how many bytes, 0 if that cannot be done:
 * the feed will find out why. */
static size_t copy_parts(const struct cv_part *parts, size_t count, unsigned char *bytes)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t length = (size_t)(parts[i].end - parts[i].begin);

        if (cv_part_read(&parts[i], parts[i].begin, bytes + done, length) !=
            (ssize_t)length)
            return 0;
        done += length;
    }
    return done;
}

/* The first `done` bytes of the parts have been fed. */
static void skip(struct cv_part *parts, size_t count, uint64_t done)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = parts[i].end - parts[i].begin;
        const uint64_t some = done < length ? done : length;

        parts[i].begin += some;
        if (parts[i].bytes != NULL)
            parts[i].bytes = (const char *)parts[i].bytes + some;
        done -= some;
    }
}

/* Put in at once what is small; how many bytes went in. */
static uint64_t put_small(int fd, const struct cv_part *parts, size_t count)
{
    unsigned char bytes[CV_FRAME + SMALL];
    const size_t length = copy_parts(parts, count, bytes);
    const ssize_t put = length > 0 ? write(fd, bytes, length) : 0;

    return put > 0 ? (uint64_t)put : 0;
}

/* Feed a frame: parts[0] is its length, which is set here. */
static enum cleave_status put_frame(struct cv_slot *slot, struct cv_pipe_feeder *feeder,
                                    unsigned char *frame, struct cv_part *parts,
                                    size_t count, struct cleave_error *err)
{
    uint64_t length = 0, put;

    for (size_t i = 1; i < count; i++)
        length += parts[i].end - parts[i].begin;
    cv_persistent_length_put(frame, length);
    parts[0] = (struct cv_part){ .bytes = frame, .fd = -1, .end = CV_FRAME };
    put = length <= SMALL ? put_small(feeder->fd, parts, count) : 0;
    slot->persistent.sent += put;
    if (put == CV_FRAME + length) {
        feeder->feeding = false;
        cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, 0);
        return CLEAVE_OK;
    }
    skip(parts, count, put);
    CV_TRY(cv_pipe_feeder_begin(feeder, parts, count, err));
    return cv_pipe_feeder_watch(feeder, err);
}

enum cleave_status cv_persistent_give(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_persistent *persistent = &slot->persistent;
    struct cv_part parts[1 + CV_SLOT_PARTS], mates[2];
    const size_t count = cv_slot_parts(slot, parts + 1);
    const size_t nmates = cv_slot_mate_parts(slot, mates + 1);

    persistent->given = true;
    persistent->refused = false;
    persistent->part = persistent->begun = false;
    persistent->nhead = 0;
    persistent->left = 0;
    persistent->sent = 0;
    slot->start_s = cv_clock_s();
    CV_TRY(put_frame(slot, &slot->in, persistent->frames[0], parts, 1 + count, err));
    if (nmates > 0)
        CV_TRY(
            put_frame(slot, &slot->mate, persistent->frames[1], mates, 1 + nmates, err));
    return cv_slot_limit(slot, err);
}
