/* pipe_feeder.c -- a pipe that a command reads from, and what goes into it.
 * SPDX-License-Identifier: MIT */
#include "run/common/pipe_feeder.h"

#include "base/fail.h"
#include "run/common/writer_thread.h"
#include "run/common/process.h"
#include "run/common/lazy_reader.h"

enum {
    TURN = 8 << 20,   /* bytes moved before others get their turn      */
    MUCH = 64 * 1024, /* bytes for which it is worth while to be woken */
    STEP = 4 * MUCH,  /* put in by a thread before that is told        */
};

static const double FORGET = 0.98; /* of the best pace, with each nap */
/* Between two looks for room, and how long that is worth while. */
static const double SCARCE_S = 0.02, HOPE_S = 60;

void cv_pipe_feeder_init(struct cv_pipe_feeder *inlet)
{
    *inlet = (struct cv_pipe_feeder){ .fd = -1 };
}

/* How long to sleep, when so much was put in that the pipe is full: until half of what
 * is there has been read, if the reader goes on as it did; 0: until there is room. A reader
 * that makes much room at a time need not be slept for. One that had no core for a while
 * gets one again: so never longer than it would take for three quarters at its best. */
static double nap_s(struct cv_pipe_feeder *inlet, bool slept, uint64_t before,
                    uint64_t put, double now_s)
{
    const double since_s = now_s - inlet->fed_s;
    double unread, wait_s, most_s;

    if (inlet->fed_s <= 0 || put == 0 || inlet->feed.small_write > 0 ||
        (!slept && put >= MUCH))
        return 0;
    unread = (double)cv_pipe_writer_unread(&inlet->feed);
    inlet->best_Bps *= FORGET;
    if ((double)put > since_s * inlet->best_Bps)
        inlet->best_Bps = (double)put / since_s;
    /* Nothing was left: it was late. */
    wait_s = slept && before == 0 ? since_s / 2 : since_s * unread / 2 / (double)put;
    most_s = 0.75 * unread / inlet->best_Bps;
    if (wait_s > most_s)
        wait_s = most_s;
    return cv_writer_thread_pause_s(wait_s);
}

/* Put in what fits. `slept`: not just when there was some room. */
static enum cleave_status feed_on(struct cv_pipe_feeder *inlet, bool slept,
                                  double *sleep_s, struct cleave_error *err)
{
    const uint64_t before = slept ? cv_pipe_writer_unread(&inlet->feed) : 0;
    const uint64_t fed = cv_pipe_writer_fed(&inlet->feed);
    const double now_s = cv_clock_s();
    enum cv_pipe_writer_state state;

    CV_TRY(cv_pipe_writer_pump(&inlet->feed, TURN, &state, err));
    inlet->dry = state == CV_FEED_DRY;
    inlet->feeding = state == CV_FEED_FULL || state == CV_FEED_BUSY || inlet->dry;
    inlet->refused = state == CV_FEED_REFUSED;
    *sleep_s =
        state == CV_FEED_FULL
            ? nap_s(inlet, slept, before, cv_pipe_writer_fed(&inlet->feed) - fed, now_s)
            : 0;
    inlet->fed_s = now_s;
    return CLEAVE_OK;
}

static void leave_source(struct cv_pipe_feeder *inlet)
{
    if (inlet->poller != NULL)
        cv_poller_remove(inlet->poller, &inlet->source);
}

enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *inlet,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err)
{
    double sleep_s;

    leave_source(inlet);
    cv_pipe_writer_done(&inlet->feed);
    cv_pipe_writer_init(&inlet->feed, inlet->fd, parts, count);
    inlet->feed.step = inlet->moved != NULL ? STEP : 0;
    if (inlet->narrow)
        cv_pipe_writer_narrow(&inlet->feed, inlet->small_write);
    CV_TRY(feed_on(inlet, false, &sleep_s, err));
    inlet->fed_s = 0; /* whoever reads it has not begun */
    return CLEAVE_OK;
}

bool cv_pipe_feeder_pause(struct cv_pipe_feeder *inlet)
{
    const struct cv_pipe_writer *feed = &inlet->feed;
    /* One that cannot do without a thread would have to wait for it behind its command. */
    const bool may_pause = feed->flow != NULL && feed->flow->running &&
                           feed->parts[feed->flow_part].well->give != NULL;

    if (may_pause)
        cv_pipe_writer_done(&inlet->feed);
    return may_pause;
}

static enum cleave_status go_on(struct cv_pipe_feeder *inlet, bool slept,
                                struct cleave_error *err);

static void turn(struct cv_pipe_feeder *inlet, bool slept)
{
    struct cleave_error err;

    if (!inlet->dry)
        cv_read_monitor_note(&inlet->drain); /* there is room: something has been read */
    leave_source(inlet);
    if (go_on(inlet, slept, &err) != CLEAVE_OK) {
        cv_poller_remove(inlet->poller, &inlet->watch);
        inlet->broke(inlet->context, &err);
        return;
    }
    if (inlet->moved != NULL)
        inlet->moved(inlet->context, inlet);
    if (!inlet->feeding) {
        cv_poller_remove(inlet->poller, &inlet->watch);
        inlet->over(inlet->context, inlet);
    }
}

static void ready(void *context, unsigned events)
{
    struct cv_pipe_feeder *inlet = context;

    (void)events;
    if (inlet->feed.small_write > 0 && !inlet->dry &&
        cv_pipe_writer_unread(&inlet->feed) > 0)
        cv_pipe_writer_gulp(&inlet->feed);
    turn(inlet, false);
}

static void woken(void *context)
{
    turn(context, true);
}

/* The next part is made by somebody for whom there is no room, behind a command that has begun: a little
 * later there is, as what made the part before has ended, and nobody begins who would need more than that.
 * False: that is not why, or it has been so for longer. */
static bool can_wait(struct cv_pipe_feeder *inlet, enum cleave_status status)
{
    const double now_s = cv_clock_s();

    if (status != CLEAVE_ERESOURCES) {
        inlet->scarce_s = 0;
        return false;
    }
    if (!(inlet->scarce_s > 0))
        inlet->scarce_s = now_s;
    inlet->dry = false;
    inlet->fed_s = now_s;
    return now_s - inlet->scarce_s < HOPE_S;
}

static enum cleave_status go_on(struct cv_pipe_feeder *inlet, bool slept,
                                struct cleave_error *err)
{
    enum cleave_status status;
    double sleep_s;
    unsigned events;

    cv_poller_cancel(inlet->poller, &inlet->nap);
    status = feed_on(inlet, slept, &sleep_s, err);
    if (can_wait(inlet, status))
        sleep_s = SCARCE_S;
    else
        CV_TRY(status);
    events = sleep_s > 0 || inlet->dry ? 0 : CV_WRITABLE;
    if (inlet->feeding && inlet->watch.events != events)
        CV_TRY(cv_poller_modify(inlet->poller, &inlet->watch, events, err));
    if (inlet->dry)
        CV_TRY(cv_poller_add(inlet->poller, &inlet->source,
                             cv_pipe_writer_source(&inlet->feed), CV_READABLE, ready,
                             inlet, err));
    if (sleep_s > 0)
        CV_TRY(cv_poller_set(inlet->poller, &inlet->nap, inlet->fed_s + sleep_s, woken,
                             inlet, err));
    return CLEAVE_OK;
}

enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *inlet,
                                        struct cleave_error *err)
{
    if (!inlet->feeding)
        return CLEAVE_OK;
    return cv_poller_add(inlet->poller, &inlet->watch, inlet->fd, CV_WRITABLE, ready,
                         inlet, err);
}

enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *inlet,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err)
{
    double sleep_s;

    cv_pipe_writer_grow(&inlet->feed, parts, count);
    if (inlet->feeding)
        return CLEAVE_OK;
    cv_read_monitor_rest(&inlet->drain);
    CV_TRY(feed_on(inlet, false, &sleep_s, err));
    inlet->fed_s = 0; /* it had nothing to read: that is not its pace */
    if (inlet->feeding)
        return cv_pipe_feeder_watch(inlet, err);
    inlet->over(inlet->context, inlet);
    return CLEAVE_OK;
}

void cv_pipe_feeder_close(struct cv_pipe_feeder *inlet)
{
    cv_read_monitor_stop(&inlet->drain);
    cv_poller_remove(inlet->poller, &inlet->watch);
    leave_source(inlet);
    cv_poller_cancel(inlet->poller, &inlet->nap);
    cv_pipe_writer_done(&inlet->feed);
    cv_close(&inlet->fd);
    inlet->feeding = false;
}
