/* read_monitor.c -- hear when a command reads, and when it has read all there is.
 * SPDX-License-Identifier: MIT */
#include "run/common/read_monitor.h"

#include <fcntl.h>
#include <poll.h>

#include "base/fail.h"
#include "run/common/process.h"

enum { PAGE = 4096 };

/* Until it begins, it is looked at after such a part of the time that has passed. */
static const double SHARE = 0.02, SHORT_S = 1e-3, LONG_S = 20e-3;

static void look(void *context);

/* Whether nobody is left who could read it. */
static bool has_no_reader(const struct cv_read_monitor *drain)
{
    struct pollfd at = { .fd = drain->writer->pipe, .events = 0 };

    return poll(&at, 1, 0) == 1 && (at.revents & POLLERR) != 0;
}

static enum cleave_status look_later(struct cv_read_monitor *drain,
                                     struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    double wait_s = drain->has_begun ? SHORT_S : SHARE * (now_s - drain->since_s);

    wait_s = wait_s < SHORT_S ? SHORT_S : wait_s > LONG_S ? LONG_S : wait_s;
    return cv_poller_set(drain->poller, &drain->timer, now_s + wait_s, look, drain, err);
}

static void ready(void *context, unsigned events)
{
    struct cv_read_monitor *drain = context;
    struct cleave_error err;

    (void)events;
    look(drain);
    if (!drain->watch.added)
        return;
    /* It is neither empty nor full: to wait for room would not be to wait. */
    cv_poller_remove(drain->poller, &drain->watch);
    if (look_later(drain, &err) != CLEAVE_OK)
        drain->broke(drain->context, &err);
}

/* What is in the pipe fills it, if it is no wider than a page. */
static enum cleave_status watch(struct cv_read_monitor *drain, struct cleave_error *err)
{
    if (drain->watch.added || fcntl(drain->writer->pipe, F_SETPIPE_SZ, PAGE) < 0)
        return CLEAVE_OK;
    drain->shrunk = true;
    return cv_poller_add(drain->poller, &drain->watch, drain->writer->pipe, CV_WRITABLE,
                         ready, drain, err);
}

void cv_read_monitor_note(struct cv_read_monitor *drain)
{
    bool begun;

    if (drain->poller == NULL || drain->has_begun)
        return;
    cv_pipe_writer_hold(drain->writer);
    begun = cv_pipe_writer_unread(drain->writer) < cv_pipe_writer_fed(drain->writer);
    cv_pipe_writer_go_on(drain->writer);
    if (!begun)
        return;
    drain->has_begun = true;
    drain->began(drain->context);
}

/* Look whether it has begun, or come to the end, and see to it that this is done again. */
static enum cleave_status go_on(struct cv_read_monitor *drain, struct cleave_error *err)
{
    bool read;

    cv_poller_cancel(drain->poller, &drain->timer);
    cv_read_monitor_note(drain);
    if (drain->waits) {
        read = cv_pipe_writer_unread(drain->writer) == 0;
        if (read) /* it may have begun just now */
            cv_read_monitor_note(drain);
        if (read || has_no_reader(drain)) {
            cv_read_monitor_rest(drain);
            drain->empty(drain->context, read);
            return CLEAVE_OK;
        }
        CV_TRY(watch(drain, err));
    }
    if (drain->has_begun && (!drain->waits || drain->watch.added))
        return CLEAVE_OK;
    return look_later(drain, err);
}

static void look(void *context)
{
    struct cv_read_monitor *drain = context;
    struct cleave_error err;

    if (go_on(drain, &err) != CLEAVE_OK)
        drain->broke(drain->context, &err);
}

enum cleave_status cv_read_monitor_begin(struct cv_read_monitor *drain, double since_s,
                                         struct cleave_error *err)
{
    drain->since_s = since_s;
    drain->has_begun = drain->waits = drain->shrunk = false;
    return look_later(drain, err);
}

enum cleave_status cv_read_monitor_wait(struct cv_read_monitor *drain,
                                        struct cleave_error *err)
{
    drain->waits = true;
    return go_on(drain, err);
}

void cv_read_monitor_rest(struct cv_read_monitor *drain)
{
    if (drain->poller == NULL)
        return;
    drain->waits = false;
    cv_poller_remove(drain->poller, &drain->watch);
    if (drain->shrunk)
        cv_pipe_widen(drain->writer->pipe, drain->writer->width.bytes);
    drain->shrunk = false;
}

void cv_read_monitor_stop(struct cv_read_monitor *drain)
{
    if (drain->poller == NULL)
        return;
    drain->shrunk = false; /* nothing more will be put in */
    cv_read_monitor_rest(drain);
    cv_poller_cancel(drain->poller, &drain->timer);
    drain->poller = NULL;
}
