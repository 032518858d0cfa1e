/* peer_port.c -- frames to and from other workers, over one socket.
 * SPDX-License-Identifier: MIT */
#include "run/wire/peer_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fail.h"

enum { ROOM = CV_FRAME_HEAD + CV_FRAME_MOST, TURNS = 8 };

static void break_port(struct cv_peer_port *port, const struct cleave_error *err)
{
    if (port->fd < 0)
        return;
    cv_poller_remove(port->poller, &port->watch);
    port->fd = -1;
    port->broke(port->context, err);
}

static void fail_system(struct cv_peer_port *port, const char *what)
{
    struct cleave_error err;

    cv_fail(&err, CLEAVE_EENGINE, "cannot %s other workers: %s", what, strerror(errno));
    break_port(port, &err);
}

static void set_events(struct cv_peer_port *port, bool writing)
{
    struct cleave_error err;

    if (port->fd < 0 || port->writing == writing)
        return;
    port->writing = writing;
    if (cv_poller_modify(port->poller, &port->watch,
                         CV_READABLE | (writing ? CV_WRITABLE : 0), &err) != CLEAVE_OK)
        break_port(port, &err);
}

/* --- out ---------------------------------------------------------------------------------- */

static bool make_frame(struct cv_peer_port *port)
{
    struct cv_frame_head head = { .type = 0 };

    if (!port->more(port->context, &head, port->out + CV_FRAME_HEAD))
        return false;
    head.checksum = cv_frame_checksum(&head, port->out + CV_FRAME_HEAD);
    cv_frame_encode(&head, port->out);
    port->nout = CV_FRAME_HEAD + head.length;
    port->sent = 0;
    return true;
}

static void write_some(struct cv_peer_port *port)
{
    for (int turn = 0; turn < TURNS && port->fd >= 0;) {
        ssize_t n;

        if (port->sent == port->nout) {
            turn++;
            if (!make_frame(port)) {
                set_events(port, false);
                return;
            }
        }
        n = send(port->fd, port->out + port->sent, port->nout - port->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            port->sent += (size_t)n;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            fail_system(port, "send to");
    }
}

void cv_peer_port_wake(struct cv_peer_port *port)
{
    set_events(port, true);
}

/* --- in ----------------------------------------------------------------------------------- */

/* How many bytes of the frame are missing; 0: it is whole, and this is its head. */
static enum cleave_status look(const struct cv_peer_port *port, size_t *out_missing,
                               struct cv_frame_head *head, struct cleave_error *err)
{
    *out_missing = CV_FRAME_HEAD - port->nin;
    if (port->nin < CV_FRAME_HEAD)
        return CLEAVE_OK;
    CV_TRY(cv_frame_decode(port->in, head, err));
    *out_missing = CV_FRAME_HEAD + head->length - port->nin;
    if (*out_missing > 0)
        return CLEAVE_OK;
    if (cv_frame_checksum(head, port->in + CV_FRAME_HEAD) != head->checksum)
        return cv_fail(err, CLEAVE_EINPUT, "a frame of another worker was damaged");
    return CLEAVE_OK;
}

/* Hand over the frame if it is whole; how many bytes are missing of it or the next one. */
static bool deliver(struct cv_peer_port *port, size_t *out_missing)
{
    struct cv_frame_head head;
    struct cleave_error err;

    if (look(port, out_missing, &head, &err) != CLEAVE_OK) {
        break_port(port, &err);
        return false;
    }
    if (*out_missing > 0)
        return true;
    port->nin = 0;
    *out_missing = CV_FRAME_HEAD;
    port->frame(port->context, &head, port->in + CV_FRAME_HEAD);
    return port->fd >= 0;
}

static void read_some(struct cv_peer_port *port)
{
    size_t missing;

    /* What has been read is always handed over: nobody would call again for it. */
    for (int turn = 0; deliver(port, &missing) && turn < TURNS; turn++) {
        const ssize_t n = recv(port->fd, port->in + port->nin, missing, MSG_DONTWAIT);
        struct cleave_error err;

        if (n > 0) {
            port->nin += (size_t)n;
        } else if (n == 0) {
            cv_fail(&err, CLEAVE_ECLOSED, "the other workers cannot be reached any more");
            break_port(port, &err);
            return;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            fail_system(port, "hear");
            return;
        }
    }
}

/* --- both --------------------------------------------------------------------------------- */

static void ready(void *context, unsigned events)
{
    struct cv_peer_port *port = context;

    if (events & CV_READABLE)
        read_some(port);
    if (port->fd >= 0 && port->writing && (events & CV_WRITABLE))
        write_some(port);
}

enum cleave_status cv_peer_port_open(struct cv_peer_port *port, int fd,
                                     struct cleave_error *err)
{
    port->fd = -1;
    port->nin = port->nout = port->sent = 0;
    port->writing = false;
    port->in = malloc(ROOM);
    port->out = malloc(ROOM);
    if (port->in == NULL || port->out == NULL) {
        cv_peer_port_close(port);
        return cv_fail_memory(err, "frames");
    }
    CV_TRY(cv_poller_add(port->poller, &port->watch, fd, CV_READABLE, ready, port, err));
    port->fd = fd;
    return CLEAVE_OK;
}

void cv_peer_port_close(struct cv_peer_port *port)
{
    if (port->fd >= 0)
        cv_poller_remove(port->poller, &port->watch);
    port->fd = -1;
    free(port->in);
    free(port->out);
    port->in = port->out = NULL;
}
