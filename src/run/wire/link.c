/* link.c -- frames over a pair of descriptors, or a channel. SPDX-License-Identifier: MIT */
#include "run/wire/link_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/process.h"
#include "run/wire/remote.h"

enum { PENDING = 16 << 20 }; /* bytes kept for one who does not read */

static const double BEAT_S = 1;

/* --- the end ------------------------------------------------------------------------------ */

void cv_link_close(struct cv_link *link)
{
    link->broken = true;
    if (link->poller != NULL) {
        cv_poller_remove(link->poller, &link->in_watch);
        cv_poller_remove(link->poller, &link->out_watch);
        cv_poller_cancel(link->poller, &link->send_heartbeat);
    }
    if (link->channel != NULL)
        link->channel->calls->leave(link->channel);
    link->channel = NULL;
    cv_close(&link->in);
    cv_close(&link->out);
    cv_link_compressor_done(&link->compressor);
    free(link->got);
    free(link->put);
    free(link->plain);
    link->got = link->put = link->plain = NULL;
    link->ngot = link->got_room = link->nput = link->put_from = link->put_room = 0;
}

/* --- the pulse ---------------------------------------------------------------------------- */

static bool has_news(const struct cv_link *link)
{
    struct pollfd wait = { .fd = link->channel != NULL ? link->channel->fd : link->in,
                           .events = POLLIN };

    return poll(&wait, 1, 0) > 0;
}

/* Whoever has slept himself listens before he judges, but once: what trickles in without
 * ever being a frame is no sign of life. */
static bool is_lost(struct cv_link *link, double now_s)
{
    if (now_s - link->heard_s <= link->silence_s)
        return false;
    if (link->grace_used || !has_news(link))
        return true;
    link->grace_used = true;
    return false;
}

static void send_heartbeat(void *context)
{
    struct cv_link *link = context;
    const double now_s = cv_clock_s();
    struct cleave_error err;

    if (link->send_queue_full || link->trouble != 0 || is_lost(link, now_s)) {
        if (link->trouble != 0)
            cv_fail(&err, CLEAVE_EENGINE, "cannot send: %s", strerror(link->trouble));
        else if (link->send_queue_full)
            cv_fail(&err, CLEAVE_ELOST, "it does not read what it is sent");
        else
            cv_fail(&err, CLEAVE_ELOST, "nothing was heard for %g s", link->silence_s);
        cv_link_break(link, &err);
        return;
    }
    if (cv_link_pending(link) == 0)
        cv_link_send(link,
                     &(struct cv_frame_head){ .type = CV_FRAME_PING,
                                              .value = (uint64_t)link->rate_Bps },
                     NULL, 0);
    if (!link->broken &&
        cv_poller_set(link->poller, &link->send_heartbeat, now_s + BEAT_S, send_heartbeat,
                      link, &err) != CLEAVE_OK)
        cv_link_break(link, &err);
}

/* --- the beginning ------------------------------------------------------------------------ */

static enum cleave_status set_nonblocking(int fd, struct cleave_error *err)
{
    if (!cv_never_wait(fd))
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a connection: %s",
                       strerror(errno));
    return CLEAVE_OK;
}

size_t cv_link_fits(const struct cv_link *link)
{
    const size_t room =
        link->channel != NULL ? link->channel->room - CV_FRAME_HEAD : CV_FRAME_MOST;

    return room < CV_FRAME_MOST ? room : CV_FRAME_MOST;
}

static void reset(struct cv_link *link)
{
    link->in = link->out = -1;
    link->channel = NULL;
    link->place = NULL;
    link->awaits = false;
    link->got = link->put = link->plain = NULL;
    link->ngot = link->got_room = link->put_from = link->nput = link->put_room = 0;
    link->in_watch = link->out_watch = (struct cv_watch){ 0 };
    link->send_heartbeat = (struct cv_timer){ 0 };
    link->broken = link->peer_closed = link->send_queue_full = link->grace_used = false;
    link->trouble = 0;
    link->most_pending = PENDING;
    link->frames = link->plain_sent = link->wire_sent = 0;
    link->rate_Bps = link->other_Bps = 0;
    cv_link_compressor_init(&link->compressor);
    link->heard_s = cv_clock_s();
}

enum cleave_status cv_link_open_channel(struct cv_link *link,
                                        struct cleave_channel *channel,
                                        struct cleave_error *err)
{
    reset(link);
    link->channel = channel;
    CV_TRY(cv_poller_add(link->poller, &link->in_watch, channel->fd, CV_READABLE,
                         cv_link_receive, link, err));
    return cv_poller_set(link->poller, &link->send_heartbeat, link->heard_s + BEAT_S,
                         send_heartbeat, link, err);
}

enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err)
{
    reset(link);
    link->in = in;
    link->out = out;
    /* One descriptor cannot be watched twice. */
    if (in == out && (link->out = fcntl(in, F_DUPFD_CLOEXEC, 3)) < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a connection: %s",
                       strerror(errno));
    CV_TRY(set_nonblocking(link->in, err));
    CV_TRY(set_nonblocking(link->out, err));
    CV_TRY(cv_poller_add(link->poller, &link->in_watch, link->in, CV_READABLE,
                         cv_link_can_read, link, err));
    return cv_poller_set(link->poller, &link->send_heartbeat, link->heard_s + BEAT_S,
                         send_heartbeat, link, err);
}
