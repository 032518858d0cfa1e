/* bridge_line.c -- bytes between a socket and another rank. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_inner.h"

/* --- coming in ---------------------------------------------------------------------------- */

static int post(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    const unsigned index = ring->first + ring->count;
    struct cv_slab *slab = cv_ring_slab(ring, index);

    slab->complete = false;
    slab->length = slab->done = 0;
    ring->count++;
    return MPI_Irecv(slab->bytes, (int)line->room, MPI_BYTE, line->rank,
                     line->peers ? CV_BRIDGE_TAG_PEER : CV_BRIDGE_TAG_LINK, bridge->comm,
                     cv_ring_request(ring, index));
}

enum cleave_status cv_bridge_line_listen(struct cv_bridge *bridge,
                                         struct cv_bridge_line *line,
                                         struct cleave_error *err)
{
    for (unsigned i = 0; i < CV_BRIDGE_SLABS; i++)
        if (post(bridge, line) != MPI_SUCCESS)
            return cv_fail(err, CLEAVE_EENGINE, "MPI: cannot receive from rank %d",
                           line->rank);
    return CLEAVE_OK;
}

void cv_bridge_line_withdraw(struct cv_bridge_line *line)
{
    for (unsigned i = 0; i < CV_BRIDGE_SLABS; i++) {
        MPI_Request *request = &line->in.requests[i];

        if (*request == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    line->in.count = 0;
}

/* Hand a slab to the socket: false if it has no room for the rest. */
static bool write_slab(struct cv_bridge_line *line, struct cv_slab *slab)
{
    while (!line->deaf && slab->done < slab->length) {
        const ssize_t n = send(line->fd, slab->bytes + slab->done,
                               slab->length - slab->done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0)
            slab->done += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return false;
        else if (errno != EINTR)
            line->deaf = true;
    }
    return true;
}

/* The other side has ended the link: so does the socket, in that direction. */
static void end_in(struct cv_bridge_line *line)
{
    line->in.ended = true;
    line->in.first++;
    line->in.count--;
    cv_bridge_line_withdraw(line);
    (void)shutdown(line->fd, SHUT_WR);
}

bool cv_bridge_line_deliver(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    bool moved = false;

    line->blocked = false;
    while (ring->count > 0 && cv_ring_slab(ring, ring->first)->complete) {
        struct cv_slab *slab = cv_ring_slab(ring, ring->first);
        const size_t before = slab->done;

        if (slab->length == 0 && !line->peers) {
            end_in(line);
            return true;
        }
        line->blocked = !write_slab(line, slab);
        moved |= slab->done > before || !line->blocked;
        if (line->blocked)
            break;
        bridge->received += line->peers;
        ring->first++;
        ring->count--;
        if (post(bridge, line) != MPI_SUCCESS) {
            cv_bridge_line_break(bridge, line);
            return true;
        }
    }
    return moved;
}

/* --- going out ---------------------------------------------------------------------------- */

static bool send_slab(struct cv_bridge *bridge, struct cv_bridge_line *line, int rank,
                      size_t length)
{
    struct cv_ring *out = &line->out;
    const unsigned index = out->first + out->count;
    struct cv_slab *slab = cv_ring_slab(out, index);

    slab->length = length;
    slab->rank = rank;
    slab->complete = false;
    if (MPI_Isend(slab->bytes, (int)length, MPI_BYTE, rank,
                  line->peers ? CV_BRIDGE_TAG_PEER : CV_BRIDGE_TAG_LINK, bridge->comm,
                  cv_ring_request(out, index)) != MPI_SUCCESS) {
        cv_bridge_line_break(bridge, line);
        return false;
    }
    out->count++;
    return true;
}

bool cv_bridge_line_settle(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *out = &line->out;
    bool moved = false;

    while (out->count > 0 && cv_ring_slab(out, out->first)->complete) {
        out->first++;
        out->count--;
        moved = true;
    }
    if (out->ended && !out->marked && out->count < CV_BRIDGE_SLABS) {
        out->marked = true;
        moved = true;
        if (!line->peers)
            send_slab(bridge, line, line->rank, 0);
    }
    return moved;
}

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* How many bytes of the frame in the free slab are still to be read; its length if none. */
static size_t wanting(const struct cv_bridge_line *line, const struct cv_slab *slab,
                      bool *out_bad)
{
    uint32_t length;

    *out_bad = false;
    if (line->partial < CV_BRIDGE_HEAD)
        return CV_BRIDGE_HEAD - line->partial;
    length = number_at(slab->bytes + CV_BRIDGE_LENGTH_AT);
    *out_bad = length > CV_BRIDGE_MOST;
    return *out_bad ? 0 : CV_BRIDGE_HEAD + length - line->partial;
}

/* A frame for a peer is complete. */
static bool send_frame(struct cv_bridge *bridge, struct cv_bridge_line *line,
                       const struct cv_slab *slab)
{
    const uint32_t to = number_at(slab->bytes + CV_BRIDGE_PEER_AT);
    const size_t length = line->partial;

    line->partial = 0;
    if (to == 0 || to >= bridge->open.size) {
        cv_fail(&bridge->err, CLEAVE_EENGINE,
                "expected a frame for one of the ranks 1 to %u, got one for rank %u",
                bridge->open.size - 1, to);
        bridge->failed = true;
        line->out.ended = true;
        return true;
    }
    bridge->sent[to]++;
    return send_slab(bridge, line, (int)to, length);
}

static bool fetch_frame(struct cv_bridge *bridge, struct cv_bridge_line *line,
                        bool *out_more)
{
    struct cv_slab *slab = cv_ring_slab(&line->out, line->out.first + line->out.count);
    bool bad, moved = false;
    size_t rest;

    while ((rest = wanting(line, slab, &bad)) > 0) {
        const ssize_t n = recv(line->fd, slab->bytes + line->partial, rest, MSG_DONTWAIT);

        if (n <= 0) {
            *out_more = false;
            line->out.ended = n == 0 || (errno != EAGAIN && errno != EINTR);
            return moved;
        }
        line->partial += (size_t)n;
        moved = true;
    }
    if (bad) {
        cv_fail(&bridge->err, CLEAVE_EENGINE,
                "expected frames of at most %d bytes between ranks, got one of %u",
                CV_BRIDGE_MOST, number_at(slab->bytes + CV_BRIDGE_LENGTH_AT));
        bridge->failed = true;
        *out_more = false;
        line->out.ended = true;
        return true;
    }
    send_frame(bridge, line, slab);
    return true;
}

static bool fetch_bytes(struct cv_bridge *bridge, struct cv_bridge_line *line,
                        bool *out_more)
{
    struct cv_slab *slab = cv_ring_slab(&line->out, line->out.first + line->out.count);
    const ssize_t n = recv(line->fd, slab->bytes, line->room, MSG_DONTWAIT);

    if (n > 0)
        return send_slab(bridge, line, line->rank, (size_t)n);
    *out_more = false;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    line->out.ended = true;
    return true;
}

bool cv_bridge_line_fetch(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    bool moved = false, more = true;

    while (more && !line->out.ended && line->out.count < CV_BRIDGE_SLABS)
        moved |= line->peers ? fetch_frame(bridge, line, &more)
                             : fetch_bytes(bridge, line, &more);
    return moved;
}

/* --- both --------------------------------------------------------------------------------- */

short cv_bridge_line_events(const struct cv_bridge_line *line)
{
    const bool reads = !line->out.ended && line->out.count < CV_BRIDGE_SLABS;

    return (short)((reads ? POLLIN : 0) | (line->blocked ? POLLOUT : 0));
}

bool cv_bridge_line_over(const struct cv_bridge_line *line)
{
    return line->out.marked && line->out.count == 0 && (line->peers || line->in.ended);
}

void cv_bridge_line_break(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    if (!bridge->failed)
        cv_fail(&bridge->err, CLEAVE_EENGINE, "MPI: the link to rank %d broke",
                line->rank);
    bridge->failed = true;
    line->out.ended = line->out.marked = line->in.ended = true;
    line->out.count = line->in.count = 0;
    line->deaf = true;
    for (unsigned i = 0; i < 2 * CV_BRIDGE_SLABS; i++) {
        MPI_Request *request = &line->out.requests[i]; /* those of `in` come behind */

        if (*request != MPI_REQUEST_NULL)
            MPI_Request_free(request);
    }
    (void)shutdown(line->fd, SHUT_RDWR);
}
