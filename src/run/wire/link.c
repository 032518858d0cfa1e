/* link.c -- frames over a pair of descriptors, or a channel. SPDX-License-Identifier: MIT */
#include "run/wire/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fail.h"
#include "run/common/process.h"
#include "run/wire/protocol.h"

enum {
    PREAMBLE_MOST =
        64 * 1024,      /* bytes of text before the first frame                   */
    PENDING = 16 << 20, /* bytes kept for a side that does not read               */
    READ = 256 * 1024,  /* per call of read                                       */
    MESSAGES = 4,       /* received from a channel before other watches get a turn */
    TURNS = 16,         /* frames sent before other watches get a turn            */
};

static const double BEAT_S = 1;

static void stop_watching(struct cv_link *link)
{
    link->broken = true;
    cv_poller_remove(link->poller, &link->in_watch);
    cv_poller_remove(link->poller, &link->out_watch);
    cv_poller_cancel(link->poller, &link->send_heartbeat);
}

void cv_link_break(struct cv_link *link, const struct cleave_error *err)
{
    if (link->broken)
        return;
    stop_watching(link);
    link->broke(link->context, err);
}

void cv_link_close(struct cv_link *link)
{
    link->broken = true;
    if (link->poller != NULL)
        stop_watching(link);
    if (link->channel != NULL)
        link->channel->calls->leave(link->channel);
    link->channel = NULL;
    cv_close(&link->in);
    cv_close(&link->out);
    cv_link_compressor_done(&link->compressor);
    free(link->got);
    free(link->put);
    free(link->plain);
    link->got = link->put = link->plain = NULL;
    link->ngot = link->got_room = link->nput = link->put_from = link->put_room = 0;
}

static void fail_system(struct cv_link *link, const char *what, int error)
{
    struct cleave_error err;

    cv_fail(&err, error == ECONNRESET ? CLEAVE_ELOST : CLEAVE_EENGINE, "cannot %s: %s",
            what, strerror(error));
    cv_link_break(link, &err);
}

/* --- sending ------------------------------------------------------------------------ */

size_t cv_link_pending(const struct cv_link *link)
{
    return link->nput - link->put_from;
}

static bool flush_channel(struct cv_link *link)
{
    struct cleave_channel *channel = link->channel;

    while (link->put_from < link->nput && !link->peer_closed) {
        const size_t left = link->nput - link->put_from;
        const size_t some = left < channel->room ? left : channel->room;
        unsigned char *place = channel->calls->place(channel, &link->peer_closed);

        if (place == NULL && !link->peer_closed)
            return false;
        if (place == NULL)
            break;
        memcpy(place, link->put + link->put_from, some);
        channel->calls->send(channel, some);
        link->put_from += some;
    }
    link->put_from = link->nput = 0;
    return true;
}

/* Write the pending bytes. False: the rest has to wait, or the link is broken. If the
 * other side does not read, bytes are dropped: it may still send, and the end of its
 * stream ends the link. */
static bool flush(struct cv_link *link)
{
    if (link->channel != NULL)
        return flush_channel(link);
    while (link->put_from < link->nput && !link->peer_closed) {
        const ssize_t put =
            write(link->out, link->put + link->put_from, link->nput - link->put_from);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return false;
        if (put < 0 && errno != EPIPE && errno != ECONNRESET) {
            fail_system(link, "send", errno);
            return false;
        }
        link->peer_closed = put < 0;
        link->put_from += put > 0 ? (size_t)put : 0;
    }
    link->put_from = link->nput = 0;
    return true;
}

bool cv_link_finish(struct cv_link *link, struct pollfd *wait)
{
    char dropped[4096];
    ssize_t got;

    if (!link->broken)
        stop_watching(link);
    *wait = (struct pollfd){ .fd = link->out, .events = POLLOUT };
    if (link->channel != NULL)
        *wait = (struct pollfd){ .fd = link->channel->fd, .events = POLLIN };
    if (!flush(link) && (link->channel != NULL || errno == EAGAIN))
        return false;
    if (link->channel != NULL)
        return true;
    (void)shutdown(link->out, SHUT_WR); /* `in` may be the same socket */
    cv_close(&link->out);
    *wait = (struct pollfd){ .fd = link->in, .events = POLLIN };
    got = read(link->in, dropped, sizeof dropped);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static bool has_place(struct cv_link *link)
{
    return link->channel == NULL ||
           link->channel->calls->place(link->channel, &link->peer_closed) != NULL ||
           link->peer_closed;
}

void cv_link_can_write(void *context, unsigned events)
{
    struct cv_link *link = context;

    (void)events;
    if (link->channel != NULL && link->out_watch.added)
        link->channel->calls->heed(link->channel);
    for (int turn = 0; turn < TURNS && !link->broken; turn++) {
        if (!flush(link) || !has_place(link))
            return;
        if (link->peer_closed || link->more == NULL || !link->more(link->context)) {
            if (!link->broken && cv_link_pending(link) == 0) {
                link->awaits = false;
                cv_poller_remove(link->poller, &link->out_watch);
            }
            return;
        }
    }
    if (link->channel != NULL && !link->broken)
        link->channel->calls->remind(link->channel);
}

void cv_link_wake(struct cv_link *link)
{
    if (link->broken || link->peer_closed || link->out_watch.added || link->awaits)
        return;
    if (link->channel != NULL) {
        link->awaits = true;
        link->channel->calls->remind(link->channel);
    }
    if (link->channel != NULL && link->in_watch.added)
        return; /* that callback sends as well */
    if (cv_poller_add(link->poller, &link->out_watch,
                      link->channel != NULL ? link->channel->fd : link->out,
                      link->channel != NULL ? CV_READABLE : CV_WRITABLE,
                      cv_link_can_write, link, NULL) != CLEAVE_OK)
        link->trouble = errno; /* reported later, see cv_link_send */
}

/* Room for a frame after the pending bytes: in a message of the channel, if nothing is
 * pending. NULL: memory is short. */
static unsigned char *find_room(struct cv_link *link, size_t length)
{
    if (link->channel != NULL && cv_link_pending(link) == 0 &&
        length <= link->channel->room) {
        link->place = link->channel->calls->place(link->channel, &link->peer_closed);
        if (link->place != NULL)
            return link->place;
    }
    if (link->put_from > 0 && link->nput + length > link->put_room) {
        memmove(link->put, link->put + link->put_from, link->nput - link->put_from);
        link->nput -= link->put_from;
        link->put_from = 0;
    }
    return CV_ROOM(link->put, &link->put_room, link->nput + length)
               ? link->put + link->nput
               : NULL;
}

void cv_link_send(struct cv_link *link, const struct cv_frame_head *head,
                  const void *payload, size_t length)
{
    struct cv_frame_head summed = *head;

    summed.length = (uint32_t)length;
    summed.checksum = cv_frame_checksum(&summed, payload);
    cv_link_send_summed(link, &summed, payload);
}

bool cv_link_send_packed(struct cv_link *link, const struct cv_frame_head *head,
                         struct cv_packer *packer)
{
    const bool good = !packer->failed;

    if (good)
        cv_link_send(link, head, packer->bytes, packer->length);
    cv_pack_done(packer);
    return good;
}

void cv_link_send_summed(struct cv_link *link, const struct cv_frame_head *head,
                         const void *payload)
{
    const size_t length = head->length;
    const double rate_Bps = link->rate_Bps > 0 ? link->rate_Bps : link->other_Bps;
    struct cv_frame_head made = *head;
    unsigned char *out;
    size_t became;

    if (link->broken || link->send_queue_full || link->trouble != 0)
        return;
    /* Reported by the heartbeat: the sender is not prepared for `broke`. */
    if (cv_link_pending(link) + length > link->most_pending) {
        link->send_queue_full = true;
        return;
    }
    out = find_room(link, CV_FRAME_HEAD + length);
    if (out == NULL) {
        link->trouble = ENOMEM;
        return;
    }
    became = cv_link_compressor_put(&link->compressor, rate_Bps, payload, length,
                                    out + CV_FRAME_HEAD);
    if (became > 0) {
        made.flags |= CV_FRAME_ZSTD;
        made.length = (uint32_t)became;
        made.checksum = cv_frame_checksum(&made, out + CV_FRAME_HEAD);
    } else if (length > 0) {
        memcpy(out + CV_FRAME_HEAD, payload, length);
    }
    link->plain_sent += length;
    link->wire_sent += made.length;
    cv_frame_encode(&made, out);
    if (link->place != NULL) {
        link->place = NULL;
        link->channel->calls->send(link->channel, CV_FRAME_HEAD + made.length);
        return;
    }
    link->nput += CV_FRAME_HEAD + made.length;
    if (!link->out_watch.added && !link->awaits && !flush(link))
        cv_link_wake(link);
}

/* --- receiving ---------------------------------------------------------------------- */

/* Check and decompress a payload. */
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

/* Deliver all complete frames. */
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

/* No frame has begun, and one may still arrive. */
static bool is_preamble(struct cv_link *link)
{
    const unsigned char *frame;

    if (!link->lenient)
        return false;
    frame = memmem(link->got, link->ngot, CV_FRAME_MAGIC, strlen(CV_FRAME_MAGIC));
    if (frame == NULL && link->ngot <= PREAMBLE_MOST)
        return true;
    link->lenient = false;
    if (frame != NULL) {
        link->ngot -= (size_t)(frame - link->got);
        memmove(link->got, frame, link->ngot);
    }
    return false;
}

/* Deliver the frames in `got`, and keep the rest. */
static enum cleave_status take_frames(struct cv_link *link, struct cleave_error *err)
{
    size_t at = 0;

    if (is_preamble(link))
        return CLEAVE_OK;
    CV_TRY(take_apart(link, link->got, link->ngot, &at, err));
    if (link->broken) /* and perhaps closed */
        return CLEAVE_OK;
    /* The head of an older version is shorter: do not wait for more. */
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

static enum cleave_status reserve(struct cv_link *link, size_t more,
                                  struct cleave_error *err)
{
    return CV_ROOM(link->got, &link->got_room, link->ngot + more)
               ? CLEAVE_OK
               : cv_fail_memory(err, "a frame");
}

static void can_read(void *context, unsigned events)
{
    struct cv_link *link = context;
    struct cleave_error err;
    ssize_t got;

    (void)events;
    if (reserve(link, READ, &err) != CLEAVE_OK) {
        cv_link_break(link, &err);
        return;
    }
    got = read(link->in, link->got + link->ngot, READ);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got < 0 && errno != ECONNRESET) {
        fail_system(link, "receive", errno);
        return;
    }
    if (got <= 0) { /* a socket that was closed with unread bytes resets the other end */
        end_of_stream(link);
        return;
    }
    link->ngot += (size_t)got;
    if (take_frames(link, &err) != CLEAVE_OK)
        cv_link_break(link, &err);
}

/* Frames are delivered from the message; only a frame in several messages is copied. */
static enum cleave_status take_message(struct cv_link *link, const unsigned char *bytes,
                                       size_t length, struct cleave_error *err)
{
    size_t used = 0;

    if (link->ngot == 0)
        CV_TRY(take_apart(link, bytes, length, &used, err));
    if (link->broken || used == length)
        return CLEAVE_OK;
    CV_TRY(reserve(link, length - used, err));
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

/* --- the heartbeat ------------------------------------------------------------------------ */

/* If this process was suspended, bytes may be waiting: look once before the link is
 * lost. Only a complete frame counts as a sign of life. */
static bool is_lost(struct cv_link *link, double now_s)
{
    struct pollfd wait = { .fd = link->channel != NULL ? link->channel->fd : link->in,
                           .events = POLLIN };

    if (now_s - link->heard_s <= link->silence_s)
        return false;
    if (link->grace_used || poll(&wait, 1, 0) <= 0)
        return true;
    link->grace_used = true;
    return false;
}

static void send_heartbeat(void *context)
{
    struct cv_link *link = context;
    const double now_s = cv_clock_s();
    struct cleave_error err;

    if (link->send_queue_full || link->trouble != 0 || is_lost(link, now_s)) {
        if (link->trouble != 0)
            cv_fail_errno(&err, link->trouble, "cannot send");
        else if (link->send_queue_full)
            cv_fail(&err, CLEAVE_ELOST, "it does not read its input");
        else
            cv_fail(&err, CLEAVE_ELOST, "it sent nothing for %g s", link->silence_s);
        cv_link_break(link, &err);
        return;
    }
    if (cv_link_pending(link) == 0)
        cv_link_send(link,
                     &(struct cv_frame_head){ .type = CV_FRAME_PING,
                                              .value = (uint64_t)link->rate_Bps },
                     NULL, 0);
    if (!link->broken)
        cv_poller_set(link->poller, &link->send_heartbeat, now_s + BEAT_S, send_heartbeat,
                      link);
}

size_t cv_link_fits(const struct cv_link *link)
{
    const size_t room =
        link->channel != NULL ? link->channel->room - CV_FRAME_HEAD : CV_FRAME_MOST;

    return room < CV_FRAME_MOST ? room : CV_FRAME_MOST;
}

/* The members that are set before the link is opened stay. */
static void reset(struct cv_link *link)
{
    *link = (struct cv_link){ .poller = link->poller,
                              .frame = link->frame,
                              .more = link->more,
                              .broke = link->broke,
                              .context = link->context,
                              .silence_s = link->silence_s,
                              .lenient = link->lenient,
                              .most_pending = PENDING,
                              .in = -1,
                              .out = -1,
                              .heard_s = cv_clock_s() };
    cv_link_compressor_init(&link->compressor);
}

static enum cleave_status watch(struct cv_link *link, int fd,
                                void (*call)(void *context, unsigned events),
                                struct cleave_error *err)
{
    CV_TRY(
        cv_poller_add(link->poller, &link->in_watch, fd, CV_READABLE, call, link, err));
    cv_poller_set(link->poller, &link->send_heartbeat, link->heard_s + BEAT_S,
                  send_heartbeat, link);
    return CLEAVE_OK;
}

enum cleave_status cv_link_open_channel(struct cv_link *link,
                                        struct cleave_channel *channel,
                                        struct cleave_error *err)
{
    reset(link);
    link->channel = channel;
    return watch(link, channel->fd, cv_link_receive, err);
}

enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err)
{
    reset(link);
    link->in = in;
    link->out = out;
    /* One descriptor cannot be watched twice. */
    if ((in == out && (link->out = fcntl(in, F_DUPFD_CLOEXEC, 3)) < 0) ||
        !cv_never_wait(link->in) || !cv_never_wait(link->out))
        return cv_fail_errno(err, errno, "cannot set up a connection");
    return watch(link, link->in, can_read, err);
}
