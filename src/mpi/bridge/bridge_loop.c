/* bridge_loop.c -- the loop of the bridge: links, frames between workers, and the end.
 * SPDX-License-Identifier: MIT
 *
 * A sleep ends when a user has something to send, so it delays only messages from other
 * ranks. */
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/bridge/bridge_internal.h"

/* --- lines -------------------------------------------------------------------------- */

/* The other rank cannot be reached: end both directions. */
static void break_line(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    if (!bridge->failed)
        cv_fail(&bridge->err, CLEAVE_EENGINE, "MPI: the link to rank %d broke",
                line->rank);
    bridge->failed = true;
    line->out.ended = line->out.marked = line->in.ended = true;
    line->out.count = line->in.count = 0;
    line->deaf = line->broken = true;
    for (unsigned i = 0; i < 2 * CV_BRIDGE_BUFFERS; i++) {
        MPI_Request *request = &line->out.requests[i]; /* requests of `in` follow */

        if (*request != MPI_REQUEST_NULL)
            MPI_Request_free(request);
    }
    if (line->peers)
        (void)shutdown(line->fd, SHUT_RDWR);
    else
        cv_bridge_end_tell(&line->end, line->out.first, line->came, true, true);
}

static int post(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    const unsigned index = ring->first + ring->count;
    struct cv_bridge_buffer *buffer = cv_ring_buffer(ring, index);

    buffer->complete = false;
    buffer->length = buffer->done = 0;
    ring->count++;
    return MPI_Irecv(buffer->bytes, (int)line->room, MPI_BYTE, line->rank,
                     line->peers ? CV_BRIDGE_TAG_PEER : CV_BRIDGE_TAG_LINK, bridge->comm,
                     cv_ring_request(ring, index));
}

enum cleave_status cv_bridge_line_listen(struct cv_bridge *bridge,
                                         struct cv_bridge_line *line,
                                         struct cleave_error *err)
{
    for (unsigned i = 0; i < CV_BRIDGE_BUFFERS; i++)
        if (post(bridge, line) != MPI_SUCCESS)
            return cv_fail(err, CLEAVE_EENGINE, "MPI: cannot receive from rank %d",
                           line->rank);
    return CLEAVE_OK;
}

static void cancel_receives(struct cv_bridge_line *line)
{
    for (unsigned i = 0; i < CV_BRIDGE_BUFFERS; i++) {
        MPI_Request *request = &line->in.requests[i];

        if (*request == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    line->in.count = 0;
}

/* Post the oldest buffer again. False: the line is broken. */
static bool repost(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    line->in.first++;
    line->in.count--;
    if (post(bridge, line) == MPI_SUCCESS)
        return true;
    break_line(bridge, line);
    return false;
}

/* Send the next buffer. False: the line is broken. */
static bool send_next(struct cv_bridge *bridge, struct cv_bridge_line *line, int rank,
                      size_t length)
{
    struct cv_ring *out = &line->out;
    const unsigned index = out->first + out->count;
    struct cv_bridge_buffer *buffer = cv_ring_buffer(out, index);

    buffer->length = length;
    buffer->complete = false;
    if (MPI_Isend(buffer->bytes, (int)length, MPI_BYTE, rank,
                  line->peers ? CV_BRIDGE_TAG_PEER : CV_BRIDGE_TAG_LINK, bridge->comm,
                  cv_ring_request(out, index)) != MPI_SUCCESS) {
        break_line(bridge, line);
        return false;
    }
    out->count++;
    return true;
}

/* Release buffers that have been sent; send the empty message at the end. True: something
 * changed. */
static bool retire_sent(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *out = &line->out;
    bool moved = false;

    while (out->count > 0 && cv_ring_buffer(out, out->first)->complete) {
        out->first++;
        out->count--;
        moved = true;
    }
    if (out->ended && !out->marked && out->count < CV_BRIDGE_BUFFERS) {
        out->marked = true;
        moved = true;
        if (!line->peers)
            send_next(bridge, line, line->rank, 0);
    }
    return moved;
}

/* --- links -------------------------------------------------------------------------- */

/* Post buffers that the user has read, and hand over received ones up to the empty
 * message. */
static bool hand_over(struct cv_bridge *bridge, struct cv_bridge_line *line,
                      unsigned taken)
{
    struct cv_ring *ring = &line->in;
    bool moved = false;

    for (; !ring->ended && ring->first != taken; moved = true)
        if (!repost(bridge, line))
            return true;
    for (; !ring->ended && line->came != ring->first + ring->count; moved = true) {
        const struct cv_bridge_buffer *buffer = cv_ring_buffer(ring, line->came);

        if (!buffer->complete)
            break;
        if (buffer->length > 0) {
            line->came++;
            continue;
        }
        ring->ended = true;
        cancel_receives(line);
    }
    return moved;
}

/* Hand received buffers to the user, and send filled ones. True: something changed. */
static bool move_link(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    const struct cv_end_events events = cv_bridge_end_look(&line->end);
    struct cv_ring *out = &line->out;
    bool moved = hand_over(bridge, line, events.taken);

    for (; !out->ended && out->first + out->count != events.filled; moved = true) {
        const unsigned next = out->first + out->count;

        if (!send_next(bridge, line, line->rank, cv_ring_buffer(out, next)->length))
            return true;
    }
    out->ended = out->ended || events.said;
    moved |= retire_sent(bridge, line);
    cv_bridge_end_tell(&line->end, out->first, line->came, line->in.ended, line->broken);
    return moved;
}

/* Both directions, and all buffers have been sent. */
static bool has_ended(const struct cv_bridge_line *line)
{
    return line->out.marked && line->out.count == 0 && (line->peers || line->in.ended);
}

/* --- frames between workers --------------------------------------------------------- */

/* False: the socket is full. */
static bool write_frame(struct cv_bridge_line *line, struct cv_bridge_buffer *buffer)
{
    while (!line->deaf && buffer->done < buffer->length) {
        const ssize_t n =
            send(line->fd, buffer->bytes + buffer->done, buffer->length - buffer->done,
                 MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0)
            buffer->done += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return false;
        else if (errno != EINTR)
            line->deaf = true;
    }
    return true;
}

/* Write received frames to the socket. True: something changed. */
static bool deliver_frames(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    struct cv_ring *ring = &line->in;
    bool moved = false;

    line->blocked = false;
    while (ring->count > 0 && cv_ring_buffer(ring, ring->first)->complete) {
        struct cv_bridge_buffer *buffer = cv_ring_buffer(ring, ring->first);
        const size_t before = buffer->done;

        line->blocked = !write_frame(line, buffer);
        moved |= buffer->done > before || !line->blocked;
        if (line->blocked)
            break;
        bridge->received++;
        if (!repost(bridge, line))
            return true;
    }
    return moved;
}

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Read the rest of a frame into the free buffer, and send it. */
static bool fetch_frame(struct cv_bridge *bridge, struct cv_bridge_line *line,
                        bool *out_more)
{
    struct cv_bridge_buffer *buffer =
        cv_ring_buffer(&line->out, line->out.first + line->out.count);
    size_t all = CV_BRIDGE_HEAD;
    uint32_t to, length = 0;
    bool moved = false;

    for (;;) {
        ssize_t n;

        if (line->partial >= CV_BRIDGE_HEAD) {
            length = number_at(buffer->bytes + CV_BRIDGE_LENGTH_AT);
            all = CV_BRIDGE_HEAD + (size_t)length;
        }
        if (length > CV_BRIDGE_MOST || line->partial == all)
            break;
        n = recv(line->fd, buffer->bytes + line->partial, all - line->partial,
                 MSG_DONTWAIT);
        if (n <= 0) {
            *out_more = false;
            line->out.ended = n == 0 || (errno != EAGAIN && errno != EINTR);
            return moved;
        }
        line->partial += (size_t)n;
        moved = true;
    }
    to = number_at(buffer->bytes + CV_BRIDGE_PEER_AT);
    if (length <= CV_BRIDGE_MOST && to > 0 && to < bridge->open.size) {
        line->partial = 0;
        bridge->sent[to]++;
        send_next(bridge, line, (int)to, all);
        return true;
    }
    if (length > CV_BRIDGE_MOST)
        cv_fail(&bridge->err, CLEAVE_EENGINE,
                "expected frames of at most %d bytes between ranks, got one of %u",
                CV_BRIDGE_MOST, length);
    else
        cv_fail(&bridge->err, CLEAVE_EENGINE,
                "expected a frame for one of the ranks 1 to %u, got one for rank %u",
                bridge->open.size - 1, to);
    bridge->failed = line->out.ended = true;
    return true;
}

/* Read from the socket and send. */
static bool fetch_frames(struct cv_bridge *bridge, struct cv_bridge_line *line)
{
    bool moved = false, more = true;

    while (more && !line->out.ended && line->out.count < CV_BRIDGE_BUFFERS)
        moved |= fetch_frame(bridge, line, &more);
    return moved;
}

/* Events of the socket to poll for. */
static short peer_events(const struct cv_bridge_line *line)
{
    const bool reads = !line->out.ended && line->out.count < CV_BRIDGE_BUFFERS;

    return (short)((reads ? POLLIN : 0) | (line->blocked ? POLLOUT : 0));
}

/* --- the loop ----------------------------------------------------------------------- */

/* The master waits this long for ranks that have stopped. */
static const double PATIENCE_S = 15;
/* Open MPI tests requests before it makes progress. */
#ifdef OPEN_MPI
enum { LOOKS = 2 };
#else
enum { LOOKS = 1 };
#endif

/* Mark buffers whose requests are complete. */
static bool look(struct cv_bridge *bridge)
{
    int n = 0, code = MPI_SUCCESS;

    for (int i = 0; i < LOOKS && n == 0 && code == MPI_SUCCESS; i++)
        code = MPI_Testsome(bridge->nrequests, bridge->requests, &n, bridge->done,
                            bridge->statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
        for (uint32_t i = 0; i < bridge->nlines; i++)
            break_line(bridge, &bridge->lines[i]);
        return true;
    }
    if (n == MPI_UNDEFINED)
        return false;
    for (int i = 0; i < n; i++) {
        const unsigned index = (unsigned)bridge->done[i];
        struct cv_bridge_line *line = &bridge->lines[index / (2 * CV_BRIDGE_BUFFERS)];
        const bool in = index / CV_BRIDGE_BUFFERS % 2 == 1;
        struct cv_bridge_buffer *buffer =
            cv_ring_buffer(in ? &line->in : &line->out, index);
        int length = 0;

        if (code == MPI_ERR_IN_STATUS && bridge->statuses[i].MPI_ERROR != MPI_SUCCESS) {
            break_line(bridge, line);
            continue;
        }
        buffer->complete = true;
        if (in) {
            if (MPI_Get_count(&bridge->statuses[i], MPI_BYTE, &length) != MPI_SUCCESS) {
                break_line(bridge, line);
                continue;
            }
            buffer->length = (size_t)length;
        }
    }
    return n > 0;
}

/* NULL on rank 0. */
static struct cv_bridge_line *peer_line(struct cv_bridge *bridge)
{
    return bridge->open.rank > 0 ? &bridge->lines[bridge->nlines - 1] : NULL;
}

/* Sleep until a user has done something, but not longer than `time`. */
static bool attend(struct cv_bridge *bridge, const struct timespec *time)
{
    struct cv_bridge_line *peers = peer_line(bridge);
    struct pollfd polls[2] = { { .fd = bridge->bell, .events = POLLIN }, { .fd = -1 } };
    bool moved = false;

    if (peers != NULL && (polls[1].events = peer_events(peers)) != 0)
        polls[1].fd = peers->fd;
    if (ppoll(polls, 2, time, NULL) <= 0)
        return false;
    if (polls[0].revents != 0) {
        cv_bridge_clear_event(bridge->bell);
        moved = true;
    }
    if (peers != NULL && polls[1].revents != 0 && (polls[1].events & POLLIN))
        moved |= fetch_frames(bridge, peers);
    return moved;
}

static bool move(struct cv_bridge *bridge)
{
    bool moved = look(bridge);

    for (uint32_t i = 0; i < bridge->nlines; i++) {
        struct cv_bridge_line *line = &bridge->lines[i];

        if (line->peers) {
            moved |= deliver_frames(bridge, line);
            moved |= retire_sent(bridge, line);
        } else {
            moved |= move_link(bridge, line);
        }
    }
    return moved;
}

static bool all_over(const struct cv_bridge *bridge)
{
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (!has_ended(&bridge->lines[i]))
            return false;
    return true;
}

static bool all_said(const struct cv_bridge *bridge)
{
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (!bridge->lines[i].out.ended)
            return false;
    return true;
}

/* At the end all ranks exchange how many frames they have sent to each other, wait for
 * theirs, and leave together. */
struct ending {
    enum { MOVING, COUNTING, AWAITING, LEAVING } stage;
    MPI_Request request;
    uint64_t expected;
};

static bool check(struct cv_bridge *bridge, int code)
{
    if (code == MPI_SUCCESS)
        return true;
    cv_fail(&bridge->err, CLEAVE_EENGINE, "MPI: the ranks cannot end together");
    bridge->failed = true;
    return false;
}

/* True: all ranks may leave. All lines have ended after the first stage. */
static bool end_step(struct cv_bridge *bridge, struct ending *ending)
{
    int done = 0;

    if (ending->stage == MOVING && all_over(bridge)) {
        if (!check(bridge, MPI_Ireduce_scatter_block(bridge->sent, &ending->expected, 1,
                                                     MPI_UINT64_T, MPI_SUM, bridge->comm,
                                                     &ending->request)))
            return false;
        ending->stage = COUNTING;
    }
    if (ending->stage == COUNTING || ending->stage == LEAVING) {
        if (!check(bridge, MPI_Test(&ending->request, &done, MPI_STATUS_IGNORE)) || !done)
            return false;
        if (ending->stage == LEAVING)
            return true;
        ending->stage = AWAITING;
        /* All senders are done; drop frames that have no reader. */
        if (peer_line(bridge) != NULL && peer_line(bridge)->blocked)
            peer_line(bridge)->deaf = true;
    }
    if (ending->stage == AWAITING && bridge->received >= ending->expected) {
        if (peer_line(bridge) != NULL)
            cancel_receives(peer_line(bridge));
        if (check(bridge, MPI_Ibarrier(bridge->comm, &ending->request)))
            ending->stage = LEAVING;
    }
    return false;
}

/* Whether to stop waiting for all ranks to end; rank 0 decides first. */
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
