/* channel.h -- messages between a link and its carrier, in one process.
 * SPDX-License-Identifier: MIT
 *
 * Two threads use a channel: the user (a link of a run) and the carrier (the bridge
 * between MPI ranks). Messages are written into and read from the memory that the carrier
 * sends and receives, in order; a socket pair would copy them twice. The user makes all
 * calls, from one thread at a time; no call waits: `fd` becomes readable when a call can
 * make progress. */
#ifndef CV_CHANNEL_H
#define CV_CHANNEL_H
#include <stdbool.h>
#include <stddef.h>

struct cleave_channel; /* named like this because a public header has a pointer to it */

struct cv_channel_calls {
    /* Clear `fd` after it was readable, then look. */
    void (*heed)(struct cleave_channel *channel);
    /* Make `fd` readable: the user has not seen all messages. */
    void (*remind)(struct cleave_channel *channel);
    /* The oldest message, borrowed until `done`; NULL: none now. *out_ended: no more will
     * follow. */
    const unsigned char *(*peek)(struct cleave_channel *channel, size_t *out_length,
                                 bool *out_ended);
    /* The oldest message has been read. */
    void (*done)(struct cleave_channel *channel);
    /* Memory for the next message, up to `room` bytes; the same until `send`. NULL: none
     * is free now, `fd` reports it; or, with *out_deaf, the other end has closed. */
    unsigned char *(*place)(struct cleave_channel *channel, bool *out_deaf);
    void (*send)(struct cleave_channel *channel, size_t length);
    /* The user reads and sends nothing more. Arriving messages are dropped, sent ones are
     * delivered; the other end is not notified. */
    void (*leave)(struct cleave_channel *channel);
    /* Notify the other end, after all sent messages. The last call. */
    void (*end)(struct cleave_channel *channel);
};

struct cleave_channel {
    const struct cv_channel_calls *calls;
    int fd;      /* owned by the carrier                                             */
    size_t room; /* bytes of a message, at most                                      */
};

#endif
