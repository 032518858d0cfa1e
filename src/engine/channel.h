/* channel.h -- messages between a link and whoever carries them, in one process.
 * SPDX-License-Identifier: MIT
 *
 * Two threads meet here: the user (a link of a run) and the carrier (the bridge between
 * MPI ranks). What a socket pair would copy twice is written into, and read from, the
 * memory that the carrier sends and receives. Messages come out as they went in, in order;
 * what they mean is not looked at. All calls are the user's, come from one thread at a
 * time and never wait: `fd` says when it is worth to call again. */
#ifndef CV_CHANNEL_H
#define CV_CHANNEL_H
#include <stdbool.h>
#include <stddef.h>

struct cleave_channel; /* so called as a public header has a pointer to it */

struct cv_channel_calls {
    /* `fd` has been readable: forget that, then look. */
    void (*heed)(struct cleave_channel *channel);
    /* Make `fd` readable: there is more than the user has looked at. */
    void (*remind)(struct cleave_channel *channel);
    /* The oldest message, borrowed until `done`; NULL: there is none now. *out_ended: and
     * there will not be any more. */
    const unsigned char *(*peek)(struct cleave_channel *channel, size_t *out_length,
                                 bool *out_ended);
    /* The oldest message has been read. */
    void (*done)(struct cleave_channel *channel);
    /* Where the next message goes, up to `room` bytes; the same until `send`. NULL: there is
     * no place now, and `fd` will tell; or, *out_deaf, nobody will ever read it. */
    unsigned char *(*place)(struct cleave_channel *channel, bool *out_deaf);
    void (*send)(struct cleave_channel *channel, size_t length);
    /* This user reads and sends nothing more. What comes is dropped; what was sent goes on
     * its way, and the other end hears of nothing. */
    void (*leave)(struct cleave_channel *channel);
    /* And let the other end know, behind all that was sent. Once, the last call of all. */
    void (*end)(struct cleave_channel *channel);
};

struct cleave_channel {
    const struct cv_channel_calls *calls;
    int fd;      /* owned by the carrier                                             */
    size_t room; /* bytes of a message, at most                                      */
};

#endif
