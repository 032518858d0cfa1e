/* link_out.c -- what goes over a link, put together. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/wire/link_internal.h"

enum { TURNS = 16 }; /* frames put out before others get their turn */

/* --- the end ------------------------------------------------------------------------------ */

void cv_link_break(struct cv_link *link, const struct cleave_error *err)
{
    if (link->broken)
        return;
    link->broken = true;
    cv_poller_remove(link->poller, &link->in_watch);
    cv_poller_remove(link->poller, &link->out_watch);
    cv_poller_cancel(link->poller, &link->send_heartbeat);
    link->broke(link->context, err);
}

void cv_link_fail_system(struct cv_link *link, const char *what, int error)
{
    struct cleave_error err;

    cv_fail(&err, error == ECONNRESET ? CLEAVE_ELOST : CLEAVE_EENGINE, "cannot %s: %s",
            what, strerror(error));
    cv_link_break(link, &err);
}

/* --- out ---------------------------------------------------------------------------------- */

size_t cv_link_pending(const struct cv_link *link)
{
    return link->nput - link->put_from;
}

/* Copy what is there into messages; as below. */
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

/* Write what is there. False: the rest has to wait, or the link is broken. Nobody may read
 * any more while there is still something to be heard: that ends the link, not this. */
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
            cv_link_fail_system(link, "send", errno);
            return false;
        }
        link->peer_closed = put < 0;
        link->put_from += put > 0 ? (size_t)put : 0;
    }
    link->put_from = link->nput = 0;
    return true;
}

/* Whether a frame can go out at once. */
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
        return; /* that one does both */
    if (cv_poller_add(link->poller, &link->out_watch,
                      link->channel != NULL ? link->channel->fd : link->out,
                      link->channel != NULL ? CV_READABLE : CV_WRITABLE,
                      cv_link_can_write, link, NULL) != CLEAVE_OK)
        link->trouble = errno; /* said later, see cv_link_send */
}

/* Room for a whole frame behind what is to go out: in a message, if nothing is before it.
 * NULL: memory is short. */
static unsigned char *grow_array(struct cv_link *link, size_t length)
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
    /* Said later, as other failures are: whoever sends is in the middle of something. */
    if (cv_link_pending(link) + length > link->most_pending) {
        link->send_queue_full = true;
        return;
    }
    out = grow_array(link, CV_FRAME_HEAD + length);
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
