/* link.c -- frames over a pair of descriptors. SPDX-License-Identifier: MIT */
#include "run/wire/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/kit/process.h"
#include "run/wire/frame_kinds.h"
#include "run/wire/remote.h"

enum {
    READ = 256 * 1024,  /* asked of one call                                     */
    TURNS = 16,         /* frames put out before others get their turn            */
    PENDING = 16 << 20, /* bytes kept for one who does not read                    */
};

static const double BEAT_S = 1;

/* --- the end ------------------------------------------------------------------------------ */

static void break_link(struct cv_link *link, const struct cleave_error *err)
{
    if (link->broken)
        return;
    link->broken = true;
    cv_poller_remove(link->poller, &link->in_watch);
    cv_poller_remove(link->poller, &link->out_watch);
    cv_poller_cancel(link->poller, &link->beat);
    link->broke(link->context, err);
}

static void fail_system(struct cv_link *link, const char *what, int error)
{
    struct cleave_error err;

    cv_fail(&err, error == ECONNRESET ? CLEAVE_ELOST : CLEAVE_EENGINE, "cannot %s: %s",
            what, strerror(error));
    break_link(link, &err);
}

void cv_link_close(struct cv_link *link)
{
    link->broken = true;
    if (link->poller != NULL) {
        cv_poller_remove(link->poller, &link->in_watch);
        cv_poller_remove(link->poller, &link->out_watch);
        cv_poller_cancel(link->poller, &link->beat);
    }
    cv_close(&link->in);
    cv_close(&link->out);
    cv_squeeze_done(&link->squeeze);
    free(link->got);
    free(link->put);
    free(link->plain);
    link->got = link->put = link->plain = NULL;
    link->ngot = link->got_room = link->nput = link->put_from = link->put_room = 0;
}

/* --- out ---------------------------------------------------------------------------------- */

size_t cv_link_pending(const struct cv_link *link)
{
    return link->nput - link->put_from;
}

/* Write what is there. False: the rest has to wait, or the link is broken. Nobody may read
 * any more while there is still something to be heard: that ends the link, not this. */
static bool flush(struct cv_link *link)
{
    while (link->put_from < link->nput && !link->deaf) {
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
        link->deaf = put < 0;
        link->put_from += put > 0 ? (size_t)put : 0;
    }
    link->put_from = link->nput = 0;
    return true;
}

static void can_write(void *context, unsigned events)
{
    struct cv_link *link = context;

    (void)events;
    for (int turn = 0; turn < TURNS && !link->broken; turn++) {
        if (!flush(link))
            return;
        if (link->deaf || link->more == NULL || !link->more(link->context)) {
            if (!link->broken && cv_link_pending(link) == 0)
                cv_poller_remove(link->poller, &link->out_watch);
            return;
        }
    }
}

void cv_link_wake(struct cv_link *link)
{
    struct cleave_error err;

    if (link->broken || link->deaf || link->out_watch.added)
        return;
    if (cv_poller_add(link->poller, &link->out_watch, link->out, CV_WRITABLE, can_write,
                      link, &err) != CLEAVE_OK)
        break_link(link, &err);
}

/* Room for a whole frame behind what is to go out. NULL: memory is short. */
static unsigned char *make_room(struct cv_link *link, size_t length)
{
    unsigned char *grown = link->put;

    if (link->put_from > 0 && link->nput + length > link->put_room) {
        memmove(link->put, link->put + link->put_from, link->nput - link->put_from);
        link->nput -= link->put_from;
        link->put_from = 0;
    }
    if (link->nput + length > link->put_room)
        grown = cv_grow(link->put, &link->put_room, link->nput + length, 1);
    if (grown == NULL)
        return NULL;
    link->put = grown;
    return grown + link->nput;
}

void cv_link_send(struct cv_link *link, const struct cv_frame_head *head,
                  const void *payload, size_t length)
{
    const double rate_Bps = link->rate_Bps > 0 ? link->rate_Bps : link->other_Bps;
    struct cv_frame_head made = *head;
    struct cleave_error err;
    unsigned char *out;
    size_t became;

    if (link->broken || link->choked)
        return;
    /* Said later, as other failures are: whoever sends is in the middle of something. */
    if (cv_link_pending(link) + length > link->most_pending) {
        link->choked = true;
        return;
    }
    out = make_room(link, CV_FRAME_HEAD + length);
    if (out == NULL) {
        cv_fail_memory(&err, "a frame");
        break_link(link, &err);
        return;
    }
    became =
        cv_squeeze_put(&link->squeeze, rate_Bps, payload, length, out + CV_FRAME_HEAD);
    if (became > 0)
        made.flags |= CV_FRAME_ZSTD;
    else if (length > 0)
        memcpy(out + CV_FRAME_HEAD, payload, length);
    made.length = (uint32_t)(became > 0 ? became : length);
    link->plain_sent += length;
    link->wire_sent += made.length;
    made.checksum = cv_frame_checksum(&made, out + CV_FRAME_HEAD);
    cv_frame_encode(&made, out);
    link->nput += CV_FRAME_HEAD + made.length;
    if (!link->out_watch.added && !flush(link))
        cv_link_wake(link);
}

/* --- in ----------------------------------------------------------------------------------- */

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
    if (!cv_squeeze_get(&link->squeeze, *payload, head->length, link->plain,
                        CV_FRAME_MOST, &length))
        return cv_fail(err, CLEAVE_EINPUT, "a frame cannot be decompressed");
    head->length = (uint32_t)length;
    *payload = link->plain;
    return cv_frame_plain_check(head, err);
}

/* Take apart what has come; what is left of it goes to the front. */
static enum cleave_status take_frames(struct cv_link *link, struct cleave_error *err)
{
    size_t at = 0;

    while (!link->broken && link->ngot - at >= CV_FRAME_HEAD) {
        const unsigned char *payload = link->got + at + CV_FRAME_HEAD;
        struct cv_frame_head head;
        size_t whole;

        CV_TRY(cv_frame_decode(link->got + at, &head, err));
        whole = CV_FRAME_HEAD + head.length;
        if (link->ngot - at < whole)
            break;
        CV_TRY(open_frame(link, &head, &payload, err));
        at += whole;
        link->frames++;
        link->heard_s = cv_clock_s();
        link->pardoned = false;
        if (head.type == CV_FRAME_PING)
            link->other_Bps = (double)head.value;
        else
            link->frame(link->context, &head, payload);
    }
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
    break_link(link, &err);
}

static void can_read(void *context, unsigned events)
{
    struct cv_link *link = context;
    struct cleave_error err;
    unsigned char *grown = link->got;
    ssize_t got;

    (void)events;
    if (link->got_room - link->ngot < READ)
        grown = cv_grow(link->got, &link->got_room, link->ngot + READ, 1);
    if (grown == NULL) {
        cv_fail_memory(&err, "a frame");
        break_link(link, &err);
        return;
    }
    link->got = grown;
    got = read(link->in, link->got + link->ngot, READ);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got < 0) {
        fail_system(link, "receive", errno);
        return;
    }
    if (got == 0) {
        end_of_stream(link);
        return;
    }
    link->ngot += (size_t)got;
    if (take_frames(link, &err) != CLEAVE_OK)
        break_link(link, &err);
}

/* --- the pulse ---------------------------------------------------------------------------- */

static bool has_news(const struct cv_link *link)
{
    struct pollfd wait = { .fd = link->in, .events = POLLIN };

    return poll(&wait, 1, 0) > 0;
}

/* Whoever has slept himself listens before he judges, but once: what trickles in without
 * ever being a frame is no sign of life. */
static bool is_lost(struct cv_link *link, double now_s)
{
    if (now_s - link->heard_s <= link->silence_s)
        return false;
    if (link->pardoned || !has_news(link))
        return true;
    link->pardoned = true;
    return false;
}

static void beat(void *context)
{
    struct cv_link *link = context;
    const double now_s = cv_clock_s();
    struct cleave_error err;

    if (link->choked || is_lost(link, now_s)) {
        if (link->choked)
            cv_fail(&err, CLEAVE_ELOST, "it does not read what it is sent");
        else
            cv_fail(&err, CLEAVE_ELOST, "nothing was heard for %g s", link->silence_s);
        break_link(link, &err);
        return;
    }
    if (cv_link_pending(link) == 0)
        cv_link_send(link,
                     &(struct cv_frame_head){ .type = CV_FRAME_PING,
                                              .value = (uint64_t)link->rate_Bps },
                     NULL, 0);
    if (!link->broken && cv_poller_set(link->poller, &link->beat, now_s + BEAT_S, beat,
                                       link, &err) != CLEAVE_OK)
        break_link(link, &err);
}

/* --- the beginning ------------------------------------------------------------------------ */

static enum cleave_status set_nonblocking(int fd, struct cleave_error *err)
{
    const int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a connection: %s",
                       strerror(errno));
    return CLEAVE_OK;
}

enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err)
{
    link->in = in;
    link->out = out;
    /* One descriptor cannot be watched twice. */
    if (in == out && (link->out = fcntl(in, F_DUPFD_CLOEXEC, 3)) < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a connection: %s",
                       strerror(errno));
    link->got = link->put = link->plain = NULL;
    link->ngot = link->got_room = link->put_from = link->nput = link->put_room = 0;
    link->in_watch = link->out_watch = (struct cv_watch){ 0 };
    link->beat = (struct cv_timer){ 0 };
    link->broken = link->deaf = link->choked = link->pardoned = false;
    link->most_pending = PENDING;
    link->frames = link->plain_sent = link->wire_sent = 0;
    link->rate_Bps = link->other_Bps = 0;
    cv_squeeze_init(&link->squeeze);
    link->heard_s = cv_clock_s();
    CV_TRY(set_nonblocking(link->in, err));
    CV_TRY(set_nonblocking(link->out, err));
    CV_TRY(cv_poller_add(link->poller, &link->in_watch, link->in, CV_READABLE, can_read,
                         link, err));
    return cv_poller_set(link->poller, &link->beat, link->heard_s + BEAT_S, beat, link,
                         err);
}
