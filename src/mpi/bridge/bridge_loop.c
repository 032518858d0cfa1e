/* bridge_loop.c -- the loop of the bridge, and how it ends. SPDX-License-Identifier: MIT
 *
 * A nap ends at once when a user has something to send, so it delays only what comes in
 * from other ranks. */
#include <sched.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_internal.h"
#include "mpi/bridge/bridge_idle.h"

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
            cv_bridge_line_break(bridge, &bridge->lines[i]);
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
            cv_bridge_line_break(bridge, line);
            continue;
        }
        slab->complete = true;
        if (in) {
            if (MPI_Get_count(&bridge->statuses[i], MPI_BYTE, &length) != MPI_SUCCESS) {
                cv_bridge_line_break(bridge, line);
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

    if (peers != NULL && (polls[1].events = cv_bridge_peers_events(peers)) != 0)
        polls[1].fd = peers->fd;
    if (ppoll(polls, 2, time, NULL) <= 0)
        return false;
    if (polls[0].revents != 0) {
        cv_bridge_clear_event(bridge->bell);
        moved = true;
    }
    if (polls[1].revents != 0 && (polls[1].events & POLLIN))
        moved |= cv_bridge_peers_fetch(bridge, peers);
    return moved;
}

static bool move(struct cv_bridge *bridge)
{
    bool moved = look(bridge);

    for (uint32_t i = 0; i < bridge->nlines; i++) {
        struct cv_bridge_line *line = &bridge->lines[i];

        if (line->peers) {
            moved |= cv_bridge_peers_deliver(bridge, line);
            moved |= cv_bridge_line_settle(bridge, line);
        } else {
            moved |= cv_bridge_link_move(bridge, line);
        }
    }
    return moved;
}

static bool all_over(const struct cv_bridge *bridge)
{
    for (uint32_t i = 0; i < bridge->nlines; i++)
        if (!cv_bridge_line_over(&bridge->lines[i]))
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
            cv_bridge_line_withdraw(peer_line(bridge));
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
