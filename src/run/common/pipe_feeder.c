/* pipe_feeder.c -- a pipe writer that is driven by a poller. SPDX-License-Identifier: MIT */
#include "run/common/pipe_feeder.h"

#include <fcntl.h>
#include <poll.h>

#include "base/fail.h"

enum {
    PAGE = 4096,
    TURN = 8 << 20,   /* bytes written before other callbacks run */
    MUCH = 64 * 1024, /* bytes that are worth a wake-up */
    STEP = 4 * MUCH,  /* bytes that a thread writes before it reports */
};

static const double FORGET = 0.98; /* factor of best_Bps with each sleep */
/* Between two tries to begin the next part in spite of a limit, and how long to try. */
static const double SCARCE_S = 0.02, HOPE_S = 60;
/* Between two looks at a reader that has not begun: a share of the time since its start, within
 * these limits. */
static const double SHARE = 0.02, SHORT_S = 1e-3, LONG_S = 20e-3;

/* --- the beginning and the end of reading -------------------------------------------- */

static enum cleave_status look(struct cv_pipe_feeder *feeder, struct cleave_error *err);

static bool has_no_reader(const struct cv_pipe_feeder *feeder)
{
    struct pollfd at = { .fd = feeder->fd, .events = 0 };

    return poll(&at, 1, 0) == 1 && (at.revents & POLLERR) != 0;
}

static void look_again(void *context)
{
    struct cv_pipe_feeder *feeder = context;
    struct cleave_error err;

    if (look(feeder, &err) != CLEAVE_OK)
        feeder->broke(feeder->context, &err);
}

static void look_later(struct cv_pipe_feeder *feeder)
{
    const double now_s = cv_clock_s();
    double wait_s = feeder->has_begun ? SHORT_S : SHARE * (now_s - feeder->since_s);

    wait_s = wait_s < SHORT_S ? SHORT_S : wait_s > LONG_S ? LONG_S : wait_s;
    cv_poller_set(feeder->poller, &feeder->looks, now_s + wait_s, look_again, feeder);
}

static void page_ready(void *context, unsigned events)
{
    struct cv_pipe_feeder *feeder = context;

    (void)events;
    look_again(feeder);
    if (!feeder->page.added)
        return;
    /* The pipe is neither empty nor full, so a watch would be ready all the time. */
    cv_poller_remove(feeder->poller, &feeder->page);
    look_later(feeder);
}

/* The pipe is full if it is no wider than a page. */
static enum cleave_status watch_page(struct cv_pipe_feeder *feeder,
                                     struct cleave_error *err)
{
    if (feeder->page.added || fcntl(feeder->fd, F_SETPIPE_SZ, PAGE) < 0)
        return CLEAVE_OK;
    feeder->shrunk = true;
    return cv_poller_add(feeder->poller, &feeder->page, feeder->fd, CV_WRITABLE,
                         page_ready, feeder, err);
}

/* Bytes may have been read. */
static void note_begin(struct cv_pipe_feeder *feeder)
{
    bool begun;

    if (!feeder->monitored || feeder->has_begun)
        return;
    cv_pipe_writer_hold(&feeder->writer);
    begun = cv_pipe_writer_unread(&feeder->writer) < cv_pipe_writer_fed(&feeder->writer);
    cv_pipe_writer_go_on(&feeder->writer);
    if (!begun)
        return;
    feeder->has_begun = true;
    feeder->began(feeder->context);
}

/* More is written: do not wait for the end. */
static void stop_waiting(struct cv_pipe_feeder *feeder)
{
    feeder->waits = false;
    cv_poller_remove(feeder->poller, &feeder->page);
    if (feeder->shrunk)
        cv_pipe_widen(feeder->fd, feeder->writer.width.bytes);
    feeder->shrunk = false;
}

/* Look at the pipe, and arrange for the next look. */
static enum cleave_status look(struct cv_pipe_feeder *feeder, struct cleave_error *err)
{
    bool read;

    cv_poller_cancel(feeder->poller, &feeder->looks);
    note_begin(feeder);
    if (feeder->waits) {
        read = cv_pipe_writer_unread(&feeder->writer) == 0;
        if (read) /* the reader may have begun just now */
            note_begin(feeder);
        if (read || has_no_reader(feeder)) {
            stop_waiting(feeder);
            feeder->empty(feeder->context, read);
            return CLEAVE_OK;
        }
        CV_TRY(watch_page(feeder, err));
    }
    if (!feeder->has_begun || (feeder->waits && !feeder->page.added))
        look_later(feeder);
    return CLEAVE_OK;
}

void cv_pipe_feeder_monitor(struct cv_pipe_feeder *feeder, double since_s)
{
    feeder->since_s = since_s;
    feeder->monitored = true;
    feeder->has_begun = feeder->waits = feeder->shrunk = false;
    look_later(feeder);
}

enum cleave_status cv_pipe_feeder_await_empty(struct cv_pipe_feeder *feeder,
                                              struct cleave_error *err)
{
    feeder->waits = true;
    return look(feeder, err);
}

/* --- feeding ------------------------------------------------------------------------- */

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder)
{
    *feeder = (struct cv_pipe_feeder){ .fd = -1 };
}

/* The pipe is full after `put` bytes: how long to sleep until half of it is read at the same
 * pace; 0: wait for room. Not for a reader that makes much room at a time. At most the time for
 * three quarters at the best pace: a reader without a core may get one again. `before`: bytes
 * that were unread after a sleep. */
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
    /* An empty pipe after a sleep: the sleep was too long. */
    wait_s = slept && before == 0 ? since_s / 2 : since_s * unread / 2 / (double)put;
    most_s = 0.75 * unread / feeder->best_Bps;
    if (wait_s > most_s)
        wait_s = most_s;
    return cv_writer_thread_pause_s(wait_s);
}

/* Write what fits. `slept`: after a sleep, not when there was room. */
static enum cleave_status feed(struct cv_pipe_feeder *feeder, bool slept, double *sleep_s,
                               struct cleave_error *err)
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

enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err)
{
    double sleep_s;

    cv_poller_remove(feeder->poller, &feeder->source);
    cv_pipe_writer_done(&feeder->writer);
    cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, count);
    feeder->writer.step = feeder->moved != NULL ? STEP : 0;
    if (feeder->narrow)
        cv_pipe_writer_narrow(&feeder->writer, feeder->small_write);
    CV_TRY(feed(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* the reader has not begun */
    return CLEAVE_OK;
}

bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder)
{
    const struct cv_pipe_writer *writer = &feeder->writer;
    /* A reader that needs a thread would wait for it while its command runs. */
    const bool may_pause = writer->threaded != NULL && writer->threaded->running &&
                           writer->parts[writer->thread_part].lazy->give != NULL;

    if (may_pause)
        cv_pipe_writer_done(&feeder->writer);
    return may_pause;
}

static enum cleave_status feed_and_wait(struct cv_pipe_feeder *feeder, bool slept,
                                        struct cleave_error *err);

static void turn(struct cv_pipe_feeder *feeder, bool slept)
{
    struct cleave_error err;

    if (!feeder->dry)
        note_begin(feeder); /* the pipe has room: bytes were read */
    cv_poller_remove(feeder->poller, &feeder->source);
    if (feed_and_wait(feeder, slept, &err) != CLEAVE_OK) {
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
        feeder->writer.small_write = 0; /* the pipe is writable, but not empty */
    turn(feeder, false);
}

static void woken(void *context)
{
    turn(context, true);
}

/* A limit prevents the lazy reader of the next part while the command runs. It will pass: the
 * reader of the part before has ended. False: another error, or too many tries. */
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

static enum cleave_status feed_and_wait(struct cv_pipe_feeder *feeder, bool slept,
                                        struct cleave_error *err)
{
    enum cleave_status status;
    double sleep_s;
    unsigned events;

    cv_poller_cancel(feeder->poller, &feeder->nap);
    status = feed(feeder, slept, &sleep_s, err);
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
        cv_poller_set(feeder->poller, &feeder->nap, feeder->fed_s + sleep_s, woken,
                      feeder);
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
    stop_waiting(feeder);
    CV_TRY(feed(feeder, false, &sleep_s, err));
    feeder->fed_s = 0; /* the reader had nothing to read, so its pace is unknown */
    if (feeder->feeding)
        return cv_pipe_feeder_watch(feeder, err);
    feeder->over(feeder->context, feeder);
    return CLEAVE_OK;
}

void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder)
{
    feeder->shrunk = feeder->monitored = false; /* no wide pipe is needed */
    stop_waiting(feeder);
    cv_poller_cancel(feeder->poller, &feeder->looks);
    cv_poller_remove(feeder->poller, &feeder->watch);
    cv_poller_remove(feeder->poller, &feeder->source);
    cv_poller_cancel(feeder->poller, &feeder->nap);
    cv_pipe_writer_done(&feeder->writer);
    cv_close(&feeder->fd);
    feeder->feeding = false;
}
