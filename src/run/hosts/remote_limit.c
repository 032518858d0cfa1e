/* remote_limit.c -- hold other machines to the time that a piece may take.
 * SPDX-License-Identifier: MIT
 *
 * The worker stops a command that takes too long, and says so. This is for one that does not:
 * who only says that he is there is lost when a piece is overdue, whatever he was to do with
 * it. What others wait for is not held against a piece: it has its time from the moment it is
 * its turn, or from the last progress of the host. And who takes nothing of what it is sent,
 * though it says that it is there, has a link that does not move: it is lost as well, if there
 * are others. */
#include <math.h>

#include "run/hosts/remote_host.h"
#include "run/hosts/remote_slot.h"

/* A command that does not end when it is asked to is killed a second later. */
static const double KILLING_S = 2;

/* So long the word of it may take. */
static double grace_s(const struct cv_slot *slot)
{
    return slot->remote.host->hosts->terms.silence_s + KILLING_S;
}

/* INFINITY: none. */
static double limit_s(const struct cv_slot *slot)
{
    if (slot->busy && slot->stopping)
        return grace_s(slot);
    if (slot->remote.host->leads) /* it has many commands, each with its own limit */
        return (double)INFINITY;
    return slot->timeout_s > 0 ? slot->timeout_s + grace_s(slot) : (double)INFINITY;
}

/* Whether it is the one that its seat works on. */
static bool has_its_turn(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote.host->first_slot;

    for (; other != NULL; other = other->remote.next_slot)
        if (other->busy && other->remote.announced && !other->remote.computed &&
            other->remote.seat == slot->remote.seat &&
            other->remote.number < slot->remote.number)
            return false;
    return true;
}

/* The same of an open piece: its command has its time from its first byte on, whatever it waits
 * for. Until then it may be waiting for us. */
static double open_since(const struct cv_slot *slot, double now_s)
{
    const struct cv_remote *remote = &slot->remote;
    const struct cv_host *host = remote->host;

    if (remote->bound_s > 0)
        return has_its_turn(slot)
                   ? fmax(remote->bound_s, host->seats[remote->seat].free_s)
                   : now_s;
    return remote->sent > remote->acked ? fmax(remote->granted_s, host->progress_s)
                                        : now_s;
}

static double due_s(const struct cv_slot *slot, double now_s)
{
    const struct cv_remote *remote = &slot->remote;
    const struct cv_host *host = remote->host;
    double since_s = now_s; /* it waits for others */

    if (!slot->busy || slot->stopping)
        since_s = remote->stopped_s;
    else if (slot->open.on && !remote->arrived && !remote->computed)
        since_s = open_since(slot, now_s);
    else if (remote->computed)
        since_s = fmax(remote->computed_s, host->progress_s);
    else if (remote->arrived && has_its_turn(slot))
        since_s = fmax(remote->arrived_s, host->seats[remote->seat].free_s);
    else if (remote->announced && !remote->arrived)
        since_s = fmax(remote->granted_s, host->progress_s);
    return since_s + limit_s(slot);
}

static void look(void *context)
{
    struct cv_slot *slot = context;
    struct cleave_error err;

    if (due_s(slot, cv_clock_s()) > cv_clock_s()) {
        cv_limit_set(slot);
        return;
    }
    if (slot->busy && slot->stopping)
        cv_fail(&err, CLEAVE_ELOST, "a chunk was not stopped within %g s", grace_s(slot));
    else
        cv_fail(&err, CLEAVE_ELOST,
                "a %s has not ended within %g s (--timeout) and %g s more",
                slot->busy ? "chunk" : "command that stays", slot->timeout_s,
                grace_s(slot));
    cv_host_fail(slot->remote.host, &err);
}

void cv_limit_set(struct cv_slot *slot)
{
    struct cv_poller *poller = slot->remote.host->hosts->poller;
    const double when_s = due_s(slot, cv_clock_s());
    struct cleave_error err;

    cv_poller_cancel(poller, &slot->timer);
    if (isfinite(when_s) &&
        cv_poller_set(poller, &slot->timer, when_s, look, slot, &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}

void cv_limit_over(struct cv_slot *slot)
{
    cv_poller_cancel(slot->remote.host->hosts->poller, &slot->timer);
}

/* --- what does not move ------------------------------------------------------------------- */

/* One that says nothing at all is lost before. */
static double stuck_s(const struct cv_host *host)
{
    return host->hosts->terms.silence_s + KILLING_S;
}

static bool has_pieces(const struct cv_host *host)
{
    const struct cv_slot *slot = host->first_slot;

    while (slot != NULL && !slot->busy)
        slot = slot->remote.next_slot;
    return slot != NULL;
}

static enum cleave_status watch_link(struct cv_host *host, double until_s,
                                     struct cleave_error *err);

static void look_at_link(void *context)
{
    struct cv_host *host = context;
    const bool others = host->hosts->nready > 1 || host->hosts->beside;
    const bool waits = host->in_flight > 0 || host->queue != NULL;
    const double now_s = cv_clock_s();
    const double due_s = (waits ? host->moved_s : now_s) + stuck_s(host);
    struct cleave_error err;

    if (!has_pieces(host))
        return;
    if (due_s > now_s || !others) {
        if (watch_link(host, due_s > now_s ? due_s : now_s + KILLING_S, &err) !=
            CLEAVE_OK)
            cv_host_fail(host, &err);
        return;
    }
    host->stuck = true;
    cv_fail(&err, CLEAVE_ELOST,
            "its link is so slow that nothing of what it was sent came in %g s",
            stuck_s(host));
    cv_host_fail(host, &err);
}

static enum cleave_status watch_link(struct cv_host *host, double until_s,
                                     struct cleave_error *err)
{
    return cv_poller_set(host->hosts->poller, &host->link_timer, until_s, look_at_link,
                         host, err);
}

void cv_limit_link(struct cv_slot *slot)
{
    struct cv_host *host = slot->remote.host;
    struct cleave_error err;

    if (host->link_timer.place == 0 &&
        watch_link(host, cv_clock_s() + stuck_s(host), &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}
