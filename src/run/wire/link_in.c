/* link_in.c -- what comes over a link, taken apart. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/wire/frame_kinds.h"
#include "run/wire/link_internal.h"
#include "run/wire/login_banner.h"
#include "run/wire/remote.h"

enum {
    READ = 256 * 1024, /* asked of one call                                     */
    MESSAGES = 4,      /* of a channel, taken before others get their turn       */
};

/* --- frames ------------------------------------------------------------------------------- */

/* Whether the checksum is right, and the payload as it was. */
static enum cleave_status open_frame(struct cv_link *link, struct cv_frame_head *head,
                                     const unsigned char **payload,
                                     struct cleave_error *err)
{
    size_t length;

    if (cv_frame_checksum(head, *payload) != head->checksum)
        return cv_fail(err, CLEAVE_EINPUT, "a frame was damaged on its way");
    if ((head->flags & CV_FRAME_ZSTD) == 0)
        return CLEAVE_OK;
    if (link->plain == NULL)
        link->plain = malloc(CV_FRAME_MOST);
    if (link->plain == NULL)
        return cv_fail_memory(err, "a frame");
    if (!cv_link_compressor_get(&link->compressor, *payload, head->length, link->plain,
                                CV_FRAME_MOST, &length))
        return cv_fail(err, CLEAVE_EINPUT, "a frame cannot be decompressed");
    head->length = (uint32_t)length;
    *payload = link->plain;
    head->checksum = cv_frame_checksum(head, *payload);
    return cv_frame_plain_check(head, err);
}

/* Take bytes apart, as far as there are whole frames. */
static enum cleave_status take_apart(struct cv_link *link, const unsigned char *bytes,
                                     size_t length, size_t *out_used,
                                     struct cleave_error *err)
{
    size_t at = 0;

    while (!link->broken && length - at >= CV_FRAME_HEAD) {
        const unsigned char *payload = bytes + at + CV_FRAME_HEAD;
        struct cv_frame_head head;
        size_t whole;

        CV_TRY(cv_frame_decode(bytes + at, &head, err));
        whole = CV_FRAME_HEAD + head.length;
        if (length - at < whole)
            break;
        CV_TRY(open_frame(link, &head, &payload, err));
        at += whole;
        link->frames++;
        link->heard_s = cv_clock_s();
        link->grace_used = false;
        if (head.type == CV_FRAME_PING)
            link->other_Bps = (double)head.value;
        else
            link->frame(link->context, &head, payload);
    }
    *out_used = at;
    return CLEAVE_OK;
}

/* Whether no frame has begun yet, and one may still come. */
static bool is_preamble(struct cv_link *link)
{
    size_t before;

    if (!link->lenient)
        return false;
    before = cv_preamble_length(link->got, link->ngot);
    if (before == link->ngot && before <= CV_PREAMBLE_MOST)
        return true;
    link->lenient = false;
    if (before < link->ngot) {
        memmove(link->got, link->got + before, link->ngot - before);
        link->ngot -= before;
    }
    return false;
}

/* Take apart what has come; what is left of it goes to the front. */
static enum cleave_status take_frames(struct cv_link *link, struct cleave_error *err)
{
    size_t at = 0;

    if (is_preamble(link))
        return CLEAVE_OK;
    CV_TRY(take_apart(link, link->got, link->ngot, &at, err));
    if (link->broken) /* and perhaps closed */
        return CLEAVE_OK;
    /* Of an older cleave there may be no more to come. */
    if (link->ngot - at >= CV_FRAME_HEAD_LEAST && link->ngot - at < CV_FRAME_HEAD)
        CV_TRY(cv_frame_look(link->got + at, link->ngot - at, err));
    memmove(link->got, link->got + at, link->ngot - at);
    link->ngot -= at;
    return CLEAVE_OK;
}

static void end_of_stream(struct cv_link *link)
{
    struct cleave_error err;

    if (link->ngot == 0)
        cv_fail(&err, CLEAVE_ECLOSED, "the connection was closed");
    else if (cv_frame_look(link->got, link->ngot, &err) == CLEAVE_OK)
        cv_fail(&err, CLEAVE_EINPUT, "the connection ended within a frame");
    cv_link_break(link, &err);
}

/* Room for more of what comes. */
static enum cleave_status await(struct cv_link *link, size_t more,
                                struct cleave_error *err)
{
    return CV_ROOM(link->got, &link->got_room, link->ngot + more)
               ? CLEAVE_OK
               : cv_fail_memory(err, "a frame");
}

void cv_link_can_read(void *context, unsigned events)
{
    struct cv_link *link = context;
    struct cleave_error err;
    ssize_t got;

    (void)events;
    if (await(link, READ, &err) != CLEAVE_OK) {
        cv_link_break(link, &err);
        return;
    }
    got = read(link->in, link->got + link->ngot, READ);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got < 0 && errno != ECONNRESET) {
        cv_link_fail_system(link, "receive", errno);
        return;
    }
    if (got <= 0) { /* one end of a socket that was closed with bytes unread is reset */
        end_of_stream(link);
        return;
    }
    link->ngot += (size_t)got;
    if (take_frames(link, &err) != CLEAVE_OK)
        cv_link_break(link, &err);
}

/* Frames are taken apart where they are; only one that is in several messages is put
 * together. */
static enum cleave_status take_message(struct cv_link *link, const unsigned char *bytes,
                                       size_t length, struct cleave_error *err)
{
    size_t used = 0;

    if (link->ngot == 0)
        CV_TRY(take_apart(link, bytes, length, &used, err));
    if (link->broken || used == length)
        return CLEAVE_OK;
    CV_TRY(await(link, length - used, err));
    memcpy(link->got + link->ngot, bytes + used, length - used);
    link->ngot += length - used;
    return used > 0 ? CLEAVE_OK : take_frames(link, err);
}

static void take_messages(struct cv_link *link)
{
    struct cleave_channel *channel = link->channel;

    for (int i = 0; i < MESSAGES && !link->broken; i++) {
        struct cleave_error err;
        size_t length;
        bool ended;
        const unsigned char *bytes = channel->calls->peek(channel, &length, &ended);

        if (ended)
            end_of_stream(link);
        if (bytes == NULL)
            return;
        if (take_message(link, bytes, length, &err) != CLEAVE_OK)
            cv_link_break(link, &err);
        if (!link->broken)
            channel->calls->done(channel);
    }
    if (!link->broken)
        channel->calls->remind(channel);
}

void cv_link_receive(void *context, unsigned events)
{
    struct cv_link *link = context;

    link->channel->calls->heed(link->channel);
    take_messages(link);
    if (!link->broken && link->awaits)
        cv_link_can_write(link, events);
}
