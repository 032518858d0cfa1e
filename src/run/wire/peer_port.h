/* peer_port.h -- frames to and from other workers, over one socket.
 * SPDX-License-Identifier: MIT
 *
 * Whoever is behind the socket (engine/mpi_bridge.h) looks at the head of a frame and
 * takes it to the peer it is for. Frames are made one at a time, when there is room for
 * them. */
#ifndef CV_PEER_PORT_H
#define CV_PEER_PORT_H
#include "run/wire/frame.h"
#include "run/common/poller.h"

struct cv_peer_port {
    struct cv_poller *poller; /* borrowed                                             */
    /* A frame has come; the payload is borrowed for the call. */
    void (*frame)(void *context, const struct cv_frame_head *head,
                  const unsigned char *payload);
    /* Make the next frame: head but for the checksum, and its payload. False: there is
     * none. */
    bool (*more)(void *context, struct cv_frame_head *head, unsigned char *payload);
    /* It cannot be used any more; called once. */
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;

    int fd; /* borrowed; -1: closed                                                   */
    struct cv_watch watch;
    unsigned char *in, *out; /* owned: a frame each                                   */
    size_t nin, nout, sent;
    bool writing;
};

/* Callbacks and poller have been set. */
enum cleave_status cv_peer_port_open(struct cv_peer_port *port, int fd,
                                     struct cleave_error *err);
void cv_peer_port_close(struct cv_peer_port *port);
/* There is something for `more` to make. */
void cv_peer_port_wake(struct cv_peer_port *port);

#endif
