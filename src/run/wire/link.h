/* link.h -- frames over a pair of descriptors, or a channel. SPDX-License-Identifier: MIT
 *
 * Frames are put together and taken apart here, and damaged ones are found out. A link never
 * waits: what does not go out at once is kept, up to a limit. It says something every second
 * and wants to hear something, or else is broken: only whole frames count as heard, and of
 * what is still coming nobody knows whether it will ever be one. */
#ifndef CV_LINK_H
#define CV_LINK_H
#include "engine/channel.h"
#include "run/common/link_compressor.h"
#include "run/common/poller.h"
#include "run/wire/frame.h"

struct cv_link {
    struct cv_poller *poller; /* borrowed                                              */
    /* A whole frame, its payload, length and checksum as they were before it was
     * compressed, borrowed for the call. It may close the link. */
    void (*frame)(void *context, const struct cv_frame_head *head,
                  const unsigned char *payload);
    /* There is room for more: put the next frame of what is long. False: there is none.
     * May be NULL. */
    bool (*more)(void *context);
    /* The other side has closed the link between two frames (ECLOSED), has gone (ELOST) or
     * speaks nonsense (EINPUT); called once, and nothing else after. */
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;
    double silence_s; /* so long may the other side say nothing                        */
    size_t most_pending; /* bytes that are kept for it; set by cv_link_open             */
    double rate_Bps; /* what the link moves, told in pings; 0: not known              */
    bool lenient;    /* what comes before the first frame is passed over (link.h) */

    int in, out; /* owned; -1: closed                                                  */
    struct cleave_channel *channel; /* borrowed, instead of them; NULL: closed, or none */
    unsigned char *place;           /* of the channel, while a frame is made there      */
    bool awaits; /* of a channel: there is something to go out, or for `more` to give  */
    struct cv_watch in_watch, out_watch;
    struct cv_timer send_heartbeat;
    struct cv_link_compressor compressor;
    unsigned char *got, *put, *plain; /* owned: come, to go, not compressed            */
    size_t ngot, got_room, put_from, nput, put_room;
    double heard_s; /* when the last whole frame had come                              */
    double other_Bps; /* what the other side says of the link                          */
    uint64_t frames;  /* that have come                                                */
    uint64_t plain_sent, wire_sent; /* bytes of payloads, before and after compression */
    bool broken,
        peer_closed; /* deaf: nobody reads what is sent                              */
    bool
        send_queue_full; /* more was sent than it takes                                  */
    int trouble;     /* why nothing can be sent (errno); 0: it can                   */
    bool grace_used; /* it was silent for too long, and something has just come       */
};

/* Callbacks and poller have been set. The descriptors belong to the link from here on,
 * even on failure; they may be one. */
enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err);
/* The same over a channel, which the link leaves when it is closed. */
enum cleave_status cv_link_open_channel(struct cv_link *link,
                                        struct cleave_channel *channel,
                                        struct cleave_error *err);
void cv_link_close(struct cv_link *link);
/* End the connection for this reason, which `broke` is told; nothing if it has ended. */
void cv_link_break(struct cv_link *link, const struct cleave_error *err);
/* Longest payload that need not be cut up or copied again on its way. */
size_t cv_link_fits(const struct cv_link *link);
/* Send a frame: its type, flags, peer, chunk and value are given; the rest is made here.
 * Long payloads are compressed if that pays. Failures are told by `broke`, later. */
void cv_link_send(struct cv_link *link, const struct cv_frame_head *head,
                  const void *payload, size_t length);
/* The same of one whose length and checksum are given, too. */
void cv_link_send_summed(struct cv_link *link, const struct cv_frame_head *head,
                         const void *payload);
/* There is something for `more` to give. */
void cv_link_wake(struct cv_link *link);
/* Bytes that have not gone out. */
size_t cv_link_pending(const struct cv_link *link);

/* --- link.c --- */

/* Callback of a watch: send what waits, and ask for more. */
void cv_link_can_write(void *context, unsigned events);

/* --- link.c --- */

void cv_link_receive(void *context, unsigned events);

#endif
