/* link.h -- frames over a pair of descriptors, or a channel. SPDX-License-Identifier: MIT
 *
 * A link never blocks: bytes that cannot be written at once are kept, up to a limit. It sends
 * a PING every second and breaks if no complete frame arrives for `silence_s`. A part of a
 * frame does not count, because it may never become complete. */
#ifndef CV_LINK_H
#define CV_LINK_H
#include <poll.h>
#include "engine/channel.h"
#include "run/common/transfer.h"
#include "run/common/poller.h"
#include "run/wire/frame.h"

struct cv_link {
    /* Set before the link is opened. */
    struct cv_poller *poller; /* borrowed */
    /* Receives a frame, decompressed; head and payload are borrowed. May close the link. */
    void (*frame)(void *context, const struct cv_frame_head *head,
                  const unsigned char *payload);
    /* The link can send more: send the next frame. False: there is none. May be NULL. */
    bool (*more)(void *context);
    /* The other side has closed the link between two frames (ECLOSED), was lost (ELOST) or
     * broke the protocol (EINPUT). Called once; no other callback follows. */
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;
    double silence_s;
    bool lenient; /* skip text of login scripts before the first frame */

    size_t most_pending;            /* bytes that may wait to be written */
    double rate_Bps;                /* measured here, sent in PING; 0: not known */
    double other_Bps;               /* measured by the other side */
    int in, out;                    /* owned; -1: closed */
    struct cleave_channel *channel; /* borrowed, instead of them; or NULL */
    unsigned char *place; /* message of the channel while a frame is made in it */
    bool awaits;          /* the channel: there is something to send */
    struct cv_watch in_watch, out_watch;
    struct cv_timer send_heartbeat;
    struct cv_link_compressor compressor;
    unsigned char *got, *put; /* owned: bytes received, and to be sent */
    unsigned char *plain;     /* owned: a payload, decompressed */
    size_t ngot, got_room, put_from, nput, put_room;
    double heard_s;                 /* when the last frame arrived */
    uint64_t frames;                /* received */
    uint64_t plain_sent, wire_sent; /* bytes of payloads, and of them compressed */
    bool broken;
    bool peer_closed;     /* the other side does not read */
    bool send_queue_full; /* more than most_pending was sent */
    bool grace_used;      /* silence_s has passed, but bytes had arrived */
    int trouble;          /* errno of a failed send; 0: none */
};

/* The link owns the descriptors from now on, even on failure; they may be one. */
enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err);
/* cv_link_close leaves the channel. */
enum cleave_status cv_link_open_channel(struct cv_link *link,
                                        struct cleave_channel *channel,
                                        struct cleave_error *err);
void cv_link_close(struct cv_link *link);
/* Before cv_link_close: deliver no more frames and begin none. Write the frames that were begun, end
 * the stream, and drop bytes until the other side ends its stream as well, which may still be
 * passing frames on. False: not done, call again after `wait`. */
bool cv_link_finish(struct cv_link *link, struct pollfd *wait);
/* End the link for this reason and call `broke`, unless it has ended. */
void cv_link_break(struct cv_link *link, const struct cleave_error *err);
/* The longest payload that is neither split nor copied. */
size_t cv_link_fits(const struct cv_link *link);
/* Send a frame; length and checksum of the head are computed. Long payloads are compressed if
 * that pays. Failures are reported later, by `broke`. */
void cv_link_send(struct cv_link *link, const struct cv_frame_head *head,
                  const void *payload, size_t length);
/* As cv_link_send, for a head that has length and checksum. */
void cv_link_send_summed(struct cv_link *link, const struct cv_frame_head *head,
                         const void *payload);
/* Send the bytes of a packer, which is released. False: the packer had no memory. */
bool cv_link_send_packed(struct cv_link *link, const struct cv_frame_head *head,
                         struct cv_packer *packer);
/* `more` has something to send. */
void cv_link_wake(struct cv_link *link);
/* Bytes that wait to be written. */
size_t cv_link_pending(const struct cv_link *link);

/* Callbacks of watches, for tests: the link can send; the channel has a message or room. */
void cv_link_can_write(void *context, unsigned events);
void cv_link_receive(void *context, unsigned events);

#endif
