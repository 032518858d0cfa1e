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

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder)
{
    *feeder = (struct cv_pipe_feeder){ .fd = -1 };
}

/* How long to sleep, when so much was put in that the pipe is full: until half of what
 * is there has been read, if the reader goes on as it did; 0: until there is room. A reader
 * that makes much room at a time need not be slept for. One that had no core for a while
 * gets one again: so never longer than it would take for three quarters at its best. */
static double nap_s(struct cv_pipe_feeder *feeder, bool slept, uint64_t before,
                    uint64_t put, double now_s)
{
    const double since_s = now_s - feeder->fed_s;
    double unread, wait_s, most_s;

    if (feeder->fed_s <= 0 || put == 0 || feeder->writer.small_write > 0 ||
        (!slept && put >= MUCH))
        return 0;
    unread = (double)cv_pipe_writer_unread(&feeder->writer);
    feeder->best_Bps *= FORGET;
    if ((double)put > since_s * feeder->best_Bps)
        feeder->best_Bps = (double)put / since_s;
    /* Nothing was left: it was late. */
    wait_s = slept && before == 0 ? since_s / 2 : since_s * unread / 2 / (double)put;
    most_s = 0.75 * unread / feeder->best_Bps;
    if (wait_s > most_s)
        wait_s = most_s;
    return cv_writer_thread_pause_s(wait_s);
}

/* Put in what fits. `slept`: not just when there was some room. */
static enum cleave_status feed_on(struct cv_pipe_feeder *feeder, bool slept,
                                  double *sleep_s, struct cleave_error *err)
{
    const uint64_t before = slept ? cv_pipe_writer_unread(&feeder->writer) : 0;
    const uint64_t fed = cv_pipe_writer_fed(&feeder->writer);
    const double now_s = cv_clock_s();
    enum cv_pipe_writer_state state;

    CV_TRY(cv_pipe_writer_pump(&feeder->writer, TURN, &state, err));
    feeder->dry = state == CV_FEED_DRY;
    feeder->feeding = state == CV_FEED_FULL || state == CV_FEED_BUSY || feeder->dry;
    feeder->refused = state == CV_FEED_REFUSED;
    *sleep_s = state == CV_FEED_FULL
                   ? nap_s(feeder, slept, before,
                           cv_pipe_writer_fed(&feeder->writer) - fed, now_s)
                   : 0;
    feeder->fed_s = now_s;
    return CLEAVE_OK;
}

static void leave_source(struct cv_pipe_feeder *feeder)
{
    if (feeder->poller != NULL)
        cv_poller_remove(feeder->poller, &feeder->source);
}

enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err)
{
    double sleep_s;

    leave_source(feeder);
    cv_pipe_writer_done(&feeder->writer);
    cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, count);
    feeder->writer.step = feeder->moved != NULL ? STEP : 0;
    if (feeder->narrow)
        cv_pipe_writer_narrow(&feeder->writer, feeder->small_write);
    CV_TRY(feed_on(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* whoever reads it has not begun */
    return CLEAVE_OK;
}

bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder)
{
    const struct cv_pipe_writer *writer = &feeder->writer;
    /* One that cannot do without a thread would have to wait for it behind its command. */
    const bool may_pause = writer->threaded != NULL && writer->threaded->running &&
                           writer->parts[writer->flow_part].well->give != NULL;

    if (may_pause)
        cv_pipe_writer_done(&feeder->writer);
    return may_pause;
}

static enum cleave_status go_on(struct cv_pipe_feeder *feeder, bool slept,
                                struct cleave_error *err);

static void turn(struct cv_pipe_feeder *feeder, bool slept)
{
    struct cleave_error err;

    if (!feeder->dry)
        cv_read_monitor_note(&feeder->drain); /* there is room: something has been read */
    leave_source(feeder);
    if (go_on(feeder, slept, &err) != CLEAVE_OK) {
        cv_poller_remove(feeder->poller, &feeder->watch);
        feeder->broke(feeder->context, &err);
        return;
    }
    if (feeder->moved != NULL)
        feeder->moved(feeder->context, feeder);
    if (!feeder->feeding) {
        cv_poller_remove(feeder->poller, &feeder->watch);
        feeder->over(feeder->context, feeder);
    }
}

static void ready(void *context, unsigned events)
{
    struct cv_pipe_feeder *feeder = context;

    (void)events;
    if (feeder->writer.small_write > 0 && !feeder->dry &&
        cv_pipe_writer_unread(&feeder->writer) > 0)
        cv_pipe_writer_gulp(&feeder->writer);
    turn(feeder, false);
}

static void woken(void *context)
{
    turn(context, true);
}

/* The next part is made by somebody for whom there is no room, behind a command that has begun: a little
 * later there is, as what made the part before has ended, and nobody begins who would need more than that.
 * False: that is not why, or it has been so for longer. */
static bool can_wait(struct cv_pipe_feeder *feeder, enum cleave_status status)
{
    const double now_s = cv_clock_s();

    if (status != CLEAVE_ERESOURCES) {
        feeder->scarce_s = 0;
        return false;
    }
    if (!(feeder->scarce_s > 0))
        feeder->scarce_s = now_s;
    feeder->dry = false;
    feeder->fed_s = now_s;
    return now_s - feeder->scarce_s < HOPE_S;
}

static enum cleave_status go_on(struct cv_pipe_feeder *feeder, bool slept,
                                struct cleave_error *err)
{
    enum cleave_status status;
    double sleep_s;
    unsigned events;

    cv_poller_cancel(feeder->poller, &feeder->nap);
    status = feed_on(feeder, slept, &sleep_s, err);
    if (can_wait(feeder, status))
        sleep_s = SCARCE_S;
    else
        CV_TRY(status);
    events = sleep_s > 0 || feeder->dry ? 0 : CV_WRITABLE;
    if (feeder->feeding && feeder->watch.events != events)
        CV_TRY(cv_poller_modify(feeder->poller, &feeder->watch, events, err));
    if (feeder->dry)
        CV_TRY(cv_poller_add(feeder->poller, &feeder->source,
                             cv_pipe_writer_source(&feeder->writer), CV_READABLE, ready,
                             feeder, err));
    if (sleep_s > 0)
        CV_TRY(cv_poller_set(feeder->poller, &feeder->nap, feeder->fed_s + sleep_s, woken,
                             feeder, err));
    return CLEAVE_OK;
}

enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *feeder,
                                        struct cleave_error *err)
{
    if (!feeder->feeding)
        return CLEAVE_OK;
    return cv_poller_add(feeder->poller, &feeder->watch, feeder->fd, CV_WRITABLE, ready,
                         feeder, err);
}

enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *feeder,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err)
{
    double sleep_s;

    cv_pipe_writer_grow(&feeder->writer, parts, count);
    if (feeder->feeding)
        return CLEAVE_OK;
    cv_read_monitor_rest(&feeder->drain);
    CV_TRY(feed_on(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* it had nothing to read: that is not its pace */
    if (feeder->feeding)
        return cv_pipe_feeder_watch(feeder, err);
    feeder->over(feeder->context, feeder);
    return CLEAVE_OK;
}

void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder)
{
    cv_read_monitor_stop(&feeder->drain);
    cv_poller_remove(feeder->poller, &feeder->watch);
    leave_source(feeder);
    cv_poller_cancel(feeder->poller, &feeder->nap);
    cv_pipe_writer_done(&feeder->writer);
    cv_close(&feeder->fd);
    feeder->feeding = false;
}
