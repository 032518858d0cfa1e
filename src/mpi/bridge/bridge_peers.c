/* bridge_peers.c -- whole frames between a socket and the other workers.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_internal.h"

/* --- coming in ---------------------------------------------------------------------------- */

/* Hand a slab to the socket: false if it has no room for the rest. */
static bool write_slab(struct cv_bridge_line *line, struct cv_bridge_buffer *slab)
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

bool cv_bridge_peers_deliver(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    bool moved = false;

    line->blocked = false;
    while (ring->count > 0 && cv_ring_slab(ring, ring->first)->complete) {
        struct cv_bridge_buffer *slab = cv_ring_slab(ring, ring->first);
        const size_t before = slab->done;

        line->blocked = !write_slab(line, slab);
        moved |= slab->done > before || !line->blocked;
        if (line->blocked)
            break;
        bridge->received++;
        if (!cv_bridge_line_repost(bridge, line))
            return true;
    }
    return moved;
}

/* --- going out ---------------------------------------------------------------------------- */

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* How many bytes of the frame in the free slab are still to be read; its length if none. */
static size_t wanting(const struct cv_bridge_line *line,
                      const struct cv_bridge_buffer *slab, bool *out_bad)
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
                       const struct cv_bridge_buffer *slab)
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
    return cv_bridge_line_send(bridge, line, (int)to, length);
}

static bool fetch_frame(struct cv_bridge *bridge, struct cv_bridge_line *line,
                        bool *out_more)
{
    struct cv_bridge_buffer *slab =
        cv_ring_slab(&line->out, line->out.first + line->out.count);
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

bool cv_bridge_peers_fetch(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    bool moved = false, more = true;

    while (more && !line->out.ended && line->out.count < CV_BRIDGE_SLABS)
        moved |= fetch_frame(bridge, line, &more);
    return moved;
}

short cv_bridge_peers_events(const struct cv_bridge_line *line)
{
    const bool reads = !line->out.ended && line->out.count < CV_BRIDGE_SLABS;

    return (short)((reads ? POLLIN : 0) | (line->blocked ? POLLOUT : 0));
}
