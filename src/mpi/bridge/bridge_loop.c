/* bridge_loop.c -- the loop of the bridge, and how it ends. SPDX-License-Identifier: MIT
 *
 * A nap ends at once when a user has something to send, so it delays only what comes in
 * from other ranks. */
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/bridge/bridge_internal.h"

/* --- slabs between their users and another rank ------------------------------------ */

/* --- coming in ---------------------------------------------------------------------------- */

static void bridge_line_break(struct cv_bridge *bridge, struct cv_bridge_line *line);

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

/* Withdraw the receives that nothing will come for. */
static void bridge_line_withdraw(struct cv_bridge_line *line)
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

/* Post the oldest slab again, which nobody needs any more. False: MPI refused, and the line
 * is broken. */
static bool bridge_line_repost(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    line->in.first++;
    line->in.count--;
    if (post(bridge, line) == MPI_SUCCESS)
        return true;
    bridge_line_break(bridge, line);
    return false;
}

/* --- going out ---------------------------------------------------------------------------- */

/* Send the next slab; false as above. */
static bool bridge_line_send(struct cv_bridge *bridge, struct cv_bridge_line *line,
                             int rank, size_t length)
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
        bridge_line_break(bridge, line);
        return false;
    }
    out->count++;
    return true;
}

/* Forget what has been sent; send the end when there is nothing before it. True: something
 * moved. */
static bool bridge_line_settle(struct cv_bridge *bridge, struct cv_bridge_line *line)
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
            bridge_line_send(bridge, line, line->rank, 0);
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
        if (!bridge_line_repost(bridge, line))
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
        bridge_line_withdraw(line);
    }
    return moved;
}

/* Hand what has come on a link to its user, and send what the user has filled. True:
 * something moved. */
static bool bridge_link_move(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    const struct cv_end_events events = cv_bridge_end_look(&line->end);
    struct cv_ring *out = &line->out;
    bool moved = hand_over(bridge, line, events.taken);

    for (; !out->ended && out->first + out->count != events.filled; moved = true) {
        const unsigned next = out->first + out->count;

        if (!bridge_line_send(bridge, line, line->rank, cv_ring_slab(out, next)->length))
            return true;
    }
    out->ended = out->ended || events.said;
    moved |= bridge_line_settle(bridge, line);
    cv_bridge_end_tell(&line->end, out->first, line->came, line->in.ended, line->broken);
    return moved;
}

/* --- both --------------------------------------------------------------------------------- */

/* Whether both ways have ended and all has been handed over. */
static bool bridge_line_over(const struct cv_bridge_line *line)
{
    return line->out.marked && line->out.count == 0 && (line->peers || line->in.ended);
}

/* The other rank is not to be had: nothing is sent or expected any more. */
static void bridge_line_break(struct cv_bridge *bridge, struct cv_bridge_line *line)
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

/* --- whole frames between a socket and the other workers --------------------------- */

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

/* Write what has come to the socket, and post the receives again. True: something moved. */
static bool bridge_peers_deliver(struct cv_bridge *bridge, struct cv_bridge_line *line)
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
        if (!bridge_line_repost(bridge, line))
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
    return bridge_line_send(bridge, line, (int)to, length);
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

/* Read from the socket and send. */
static bool bridge_peers_fetch(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    bool moved = false, more = true;

    while (more && !line->out.ended && line->out.count < CV_BRIDGE_SLABS)
        moved |= fetch_frame(bridge, line, &more);
    return moved;
}

/* What the socket should be waited for now. */
static short bridge_peers_events(const struct cv_bridge_line *line)
{
    const bool reads = !line->out.ended && line->out.count < CV_BRIDGE_SLABS;

    return (short)((reads ? POLLIN : 0) | (line->blocked ? POLLOUT : 0));
}

/* --- the loop of the bridge, and how it ends --------------------------------------- */

/* So long the master waits for ranks that do not move any more. */
static const double PATIENCE_S = 15;
/* Open MPI looks at the requests first, and then for what has come. */
#ifdef OPEN_MPI
enum { LOOKS = 2 };
#else
enum { LOOKS = 1 };
#endif

/* Note which slabs MPI is finished with. */
static bool look(struct cv_bridge *bridge)
{
    int n = 0, code = MPI_SUCCESS;

    for (int i = 0; i < LOOKS && n == 0 && code == MPI_SUCCESS; i++)
        code = MPI_Testsome(bridge->nrequests, bridge->requests, &n, bridge->done,
                            bridge->statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
        for (uint32_t i = 0; i < bridge->nlines; i++)
            bridge_line_break(bridge, &bridge->lines[i]);
        return true;
    }
    if (n == MPI_UNDEFINED)
        return false;
    for (int i = 0; i < n; i++) {
        const unsigned index = (unsigned)bridge->done[i];
        struct cv_bridge_line *line = &bridge->lines[index / (2 * CV_BRIDGE_SLABS)];
        const bool in = index / CV_BRIDGE_SLABS % 2 == 1;
        struct cv_bridge_buffer *slab = cv_ring_slab(in ? &line->in : &line->out, index);
        int length = 0;

        if (code == MPI_ERR_IN_STATUS && bridge->statuses[i].MPI_ERROR != MPI_SUCCESS) {
            bridge_line_break(bridge, line);
            continue;
        }
        slab->complete = true;
        if (in) {
            if (MPI_Get_count(&bridge->statuses[i], MPI_BYTE, &length) != MPI_SUCCESS) {
                bridge_line_break(bridge, line);
                continue;
            }
            slab->length = (size_t)length;
        }
    }
    return n > 0;
}

/* The line of the peers is the last one, where there is one. */
static struct cv_bridge_line *peer_line(struct cv_bridge *bridge)
{
    return bridge->open.rank > 0 ? &bridge->lines[bridge->nlines - 1] : NULL;
}

/* Sleep until a user has done something or the time is over. */
static bool attend(struct cv_bridge *bridge, const struct timespec *time)
{
    struct cv_bridge_line *peers = peer_line(bridge);
    struct pollfd polls[2] = { { .fd = bridge->bell, .events = POLLIN }, { .fd = -1 } };
    bool moved = false;

    if (peers != NULL && (polls[1].events = bridge_peers_events(peers)) != 0)
        polls[1].fd = peers->fd;
    if (ppoll(polls, 2, time, NULL) <= 0)
        return false;
    if (polls[0].revents != 0) {
        cv_bridge_clear_event(bridge->bell);
        moved = true;
    }
    if (polls[1].revents != 0 && (polls[1].events & POLLIN))
        moved |= bridge_peers_fetch(bridge, peers);
    return moved;
}

static bool move(struct cv_bridge *bridge)
{
    bool moved = look(bridge);

    for (uint32_t i = 0; i < bridge->nlines; i++) {
        struct cv_bridge_line *line = &bridge->lines[i];

        if (line->peers) {
            moved |= bridge_peers_deliver(bridge, line);
            moved |= bridge_line_settle(bridge, line);
        } else {
            moved |= bridge_link_move(bridge, line);
        }
    }
    return moved;
}

static bool all_over(const struct cv_bridge *bridge)
{
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (!bridge_line_over(&bridge->lines[i]))
            return false;
    return true;
}

/* Whether the users have nothing more to say. */
static bool all_said(const struct cv_bridge *bridge)
{
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (!bridge->lines[i].out.ended)
            return false;
    return true;
}

/* How a bridge ends: all ranks tell how many frames they have sent to whom, wait for as
 * many as they are told, and leave together. */
struct ending {
    enum { MOVING, COUNTING, AWAITING, LEAVING } stage;
    MPI_Request request;
    uint64_t expected;
};

/* Whether MPI did what was asked for; if not, the ranks cannot end together. */
static bool well(struct cv_bridge *bridge, int code)
{
    if (code == MPI_SUCCESS)
        return true;
    cv_fail(&bridge->err, CLEAVE_EENGINE, "MPI: the ranks cannot end together");
    bridge->failed = true;
    return false;
}

/* True when everybody may go. All lines are over from the second stage on. */
static bool end_step(struct cv_bridge *bridge, struct ending *ending)
{
    int done = 0;

    if (ending->stage == MOVING && all_over(bridge)) {
        if (!well(bridge, MPI_Ireduce_scatter_block(bridge->sent, &ending->expected, 1,
                                                    MPI_UINT64_T, MPI_SUM, bridge->comm,
                                                    &ending->request)))
            return false;
        ending->stage = COUNTING;
    }
    if (ending->stage == COUNTING || ending->stage == LEAVING) {
        if (!well(bridge, MPI_Test(&ending->request, &done, MPI_STATUS_IGNORE)) || !done)
            return false;
        if (ending->stage == LEAVING)
            return true;
        ending->stage = AWAITING;
        /* Who had something to say to somebody who does not listen has said it. */
        if (peer_line(bridge) != NULL && peer_line(bridge)->blocked)
            peer_line(bridge)->deaf = true;
    }
    if (ending->stage == AWAITING && bridge->received >= ending->expected) {
        if (peer_line(bridge) != NULL)
            bridge_line_withdraw(peer_line(bridge));
        if (well(bridge, MPI_Ibarrier(bridge->comm, &ending->request)))
            ending->stage = LEAVING;
    }
    return false;
}

/* Whether it makes no sense to wait any longer for all to end together. Others leave it
 * to rank 0 to say so first. */
static bool gave_up(const struct cv_bridge *bridge, double silence_s)
{
    return bridge->open.rank == 0 ? silence_s > PATIENCE_S && all_said(bridge)
                                  : silence_s > 2 * PATIENCE_S && all_over(bridge);
}

enum cleave_status cv_bridge_move(struct cv_bridge *bridge, struct cleave_error *err)
{
    struct ending ending = { .stage = MOVING };
    double last_s = cv_idle_wait_clock_s();

    for (;;) {
        bool moved = move(bridge);
        const double silence_s = cv_idle_wait_clock_s() - last_s;
        struct timespec time;

        if (bridge->failed && all_over(bridge)) {
            *err = bridge->err;
            return err->status;
        }
        if (!bridge->failed && end_step(bridge, &ending))
            return CLEAVE_OK;
        time = moved ? (struct timespec){ 0, 0 } : cv_idle_wait_for(silence_s);
        if (time.tv_nsec == 0 && !moved)
            sched_yield();
        moved |= attend(bridge, &time);
        if (moved)
            last_s = cv_idle_wait_clock_s();
        else if (gave_up(bridge, silence_s))
            return cv_fail(err, CLEAVE_EENGINE,
                           "MPI: a rank has not answered for %g s after the end",
                           PATIENCE_S);
    }
}
