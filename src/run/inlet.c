/* inlet.c -- a pipe that a command reads from, and what goes into it.
 * SPDX-License-Identifier: MIT */
#include "run/inlet.h"

#include "base/fail.h"
#include "run/process.h"

/* Bytes moved before others get their turn. */
enum { TURN = 8 << 20 };

void cv_inlet_init(struct cv_inlet *inlet)
{
    *inlet = (struct cv_inlet){ .fd = -1 };
}

static enum cleave_status feed_on(struct cv_inlet *inlet, struct cleave_error *err)
{
    enum cv_feed_state state;

    CV_TRY(cv_feed_pump(&inlet->feed, TURN, &state, err));
    inlet->feeding = state == CV_FEED_FULL || state == CV_FEED_BUSY;
    return CLEAVE_OK;
}

enum cleave_status cv_inlet_begin(struct cv_inlet *inlet, const struct cv_part *parts,
                                  size_t count, struct cleave_error *err)
{
    cv_feed_init(&inlet->feed, inlet->fd, parts, count);
    return feed_on(inlet, err);
}

static void ready(void *context, unsigned events)
{
    struct cv_inlet *inlet = context;
    struct cleave_error err;

    (void)events;
    if (feed_on(inlet, &err) != CLEAVE_OK) {
        cv_poller_remove(inlet->poller, &inlet->watch);
        inlet->broke(inlet->context, &err);
    } else if (!inlet->feeding) {
        cv_poller_remove(inlet->poller, &inlet->watch);
        inlet->over(inlet->context, inlet);
    }
}

enum cleave_status cv_inlet_watch(struct cv_inlet *inlet, struct cleave_error *err)
{
    if (!inlet->feeding)
        return CLEAVE_OK;
    return cv_poller_add(inlet->poller, &inlet->watch, inlet->fd, CV_WRITABLE, ready,
                         inlet, err);
}

void cv_inlet_close(struct cv_inlet *inlet)
{
    cv_poller_remove(inlet->poller, &inlet->watch);
    cv_close(&inlet->fd);
    inlet->feeding = false;
}
