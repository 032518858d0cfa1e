/* bridge_line.c -- slabs between their users and another rank. SPDX-License-Identifier: MIT */
#include <sys/socket.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_internal.h"

/* --- coming in ---------------------------------------------------------------------------- */

static int post(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    const unsigned index = ring->first + ring->count;
    struct cv_bridge_buffer *slab = cv_ring_slab(ring, index);

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

bool cv_bridge_line_repost(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    line->in.first++;
    line->in.count--;
    if (post(bridge, line) == MPI_SUCCESS)
        return true;
    cv_bridge_line_break(bridge, line);
    return false;
}

/* --- going out ---------------------------------------------------------------------------- */

bool cv_bridge_line_send(struct cv_bridge *bridge, struct cv_bridge_line *line, int rank,
                         size_t length)
{
    struct cv_ring *out = &line->out;
    const unsigned index = out->first + out->count;
    struct cv_bridge_buffer *slab = cv_ring_slab(out, index);

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
            cv_bridge_line_send(bridge, line, line->rank, 0);
    }
    return moved;
}

/* --- a link ------------------------------------------------------------------------------- */

/* Post again what the user has read, and hand over what has come, up to the message
 * without bytes that ends it. */
static bool hand_over(struct cv_bridge *bridge, struct cv_bridge_line *line,
                      unsigned taken)
{
    struct cv_ring *ring = &line->in;
    bool moved = false;

    for (; !ring->ended && ring->first != taken; moved = true)
        if (!cv_bridge_line_repost(bridge, line))
            return true;
    for (; !ring->ended && line->came != ring->first + ring->count; moved = true) {
        const struct cv_bridge_buffer *slab = cv_ring_slab(ring, line->came);

        if (!slab->complete)
            break;
        if (slab->length > 0) {
            line->came++;
            continue;
        }
        ring->ended = true;
        cv_bridge_line_withdraw(line);
    }
    return moved;
}

bool cv_bridge_link_move(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    const struct cv_end_events events = cv_bridge_end_look(&line->end);
    struct cv_ring *out = &line->out;
    bool moved = hand_over(bridge, line, events.taken);

    for (; !out->ended && out->first + out->count != events.filled; moved = true) {
        const unsigned next = out->first + out->count;

        if (!cv_bridge_line_send(bridge, line, line->rank,
                                 cv_ring_slab(out, next)->length))
            return true;
    }
    out->ended = out->ended || events.said;
    moved |= cv_bridge_line_settle(bridge, line);
    cv_bridge_end_tell(&line->end, out->first, line->came, line->in.ended, line->broken);
    return moved;
}

/* --- both --------------------------------------------------------------------------------- */

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
    line->deaf = line->broken = true;
    for (unsigned i = 0; i < 2 * CV_BRIDGE_SLABS; i++) {
        MPI_Request *request = &line->out.requests[i]; /* those of `in` come behind */

        if (*request != MPI_REQUEST_NULL)
            MPI_Request_free(request);
    }
    if (line->peers)
        (void)shutdown(line->fd, SHUT_RDWR);
    else
        cv_bridge_end_tell(&line->end, line->out.first, line->came, true, true);
}
