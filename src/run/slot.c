/* slot.c -- one worker of this machine: a command on a piece of the input.
 * SPDX-License-Identifier: MIT */
#include "run/slot.h"

#include <string.h>
#include <unistd.h>

#include "base/fail.h"

/* Bytes moved before others get their turn. */
enum { TURN = 8 << 20 };
/* After a polite signal, and after the end of a command whose output somebody still holds,
 * it is waited so long. */
static const double GRACE_S = 1;

void cv_slot_init(struct cv_slot *slot)
{
    memset(slot, 0, sizeof *slot);
    slot->in = slot->out = -1;
    slot->process.pidfd = -1;
}

static void close_input(struct cv_slot *slot)
{
    cv_poller_remove(slot->poller, &slot->in_watch);
    cv_close(&slot->in);
}

static void close_output(struct cv_slot *slot)
{
    cv_poller_remove(slot->poller, &slot->out_watch);
    cv_close(&slot->out);
}

static void release(struct cv_slot *slot)
{
    close_input(slot);
    close_output(slot);
    cv_poller_remove(slot->poller, &slot->end_watch);
    cv_poller_cancel(slot->poller, &slot->timer);
    slot->busy = false;
}

static void broke(struct cv_slot *slot, const struct cleave_error *err)
{
    slot->broke(slot->context, err);
}

/* Both the process and its output have come to an end. */
static void finish(struct cv_slot *slot)
{
    enum cv_slot_end end;

    cv_poller_remove(slot->poller, &slot->end_watch);
    cv_process_reap(&slot->process);
    end = slot->stopping                 ? CV_SLOT_STOPPED
          : slot->timed_out              ? CV_SLOT_TIMED_OUT
          : slot->process.exit_code == 0 ? CV_SLOT_DONE
                                         : CV_SLOT_FAILED;
    release(slot);
    slot->ended(slot->context, slot, end);
}

static void kill_harder(void *context);

static void stop_group(struct cv_slot *slot)
{
    struct cleave_error err;

    cv_process_signal(&slot->process, slot->kills++ == 0 ? SIGTERM : SIGKILL);
    if (cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + GRACE_S, kill_harder,
                      slot, &err) != CLEAVE_OK)
        broke(slot, &err);
}

static void kill_harder(void *context)
{
    stop_group(context);
}

static void time_out(void *context)
{
    struct cv_slot *slot = context;

    slot->timed_out = true;
    stop_group(slot);
}

static void output_ready(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    enum cv_store_state state;
    struct cleave_error err;

    (void)events;
    if (cv_store_pump(slot->store, slot->out, TURN, &state, &err) != CLEAVE_OK) {
        broke(slot, &err);
        return;
    }
    if (state != CV_STORE_END)
        return;
    close_output(slot);
    if (slot->exited)
        finish(slot);
}

static void process_ended(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    struct cleave_error err;

    (void)events;
    slot->exited = true;
    cv_poller_remove(slot->poller, &slot->end_watch);
    close_input(slot);
    if (slot->out >= 0)
        output_ready(slot, CV_READABLE); /* what is there now; it may be all */
    else
        finish(slot);
    /* Children that hold the output open get their time, then they are stopped. */
    if (slot->busy && slot->exited && slot->out >= 0) {
        slot->kills = 0;
        if (cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + GRACE_S, kill_harder,
                          slot, &err) != CLEAVE_OK)
            broke(slot, &err);
    }
}

/* Feed on; true when there is no more to feed. */
static enum cleave_status feed_on(struct cv_slot *slot, bool *out_over,
                                  struct cleave_error *err)
{
    enum cv_feed_state state;

    CV_TRY(cv_feed_pump(&slot->feed, TURN, &state, err));
    *out_over = state == CV_FEED_DONE || state == CV_FEED_REFUSED;
    return CLEAVE_OK;
}

static void input_ready(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    struct cleave_error err;
    bool over;

    (void)events;
    if (feed_on(slot, &over, &err) != CLEAVE_OK)
        broke(slot, &err);
    else if (over)
        close_input(slot);
}

static void list_parts(struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    struct cv_part parts[2];
    size_t count = 0;

    if (piece->header.end > piece->header.begin)
        parts[count++] = (struct cv_part){ .fd = piece->fd,
                                           .begin = piece->header.begin,
                                           .end = piece->header.end,
                                           .name = piece->name };
    slot->body = count;
    parts[count++] = (struct cv_part){ .fd = piece->fd,
                                       .begin = piece->body.begin,
                                       .end = piece->body.end,
                                       .name = piece->name };
    cv_feed_init(&slot->feed, slot->in, parts, count);
}

static enum cleave_status watch(struct cv_slot *slot, struct cleave_error *err)
{
    CV_TRY(cv_poller_add(slot->poller, &slot->out_watch, slot->out, CV_READABLE,
                         output_ready, slot, err));
    CV_TRY(cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd, CV_READABLE,
                         process_ended, slot, err));
    if (slot->in >= 0)
        CV_TRY(cv_poller_add(slot->poller, &slot->in_watch, slot->in, CV_WRITABLE,
                             input_ready, slot, err));
    if (slot->timeout_s > 0)
        CV_TRY(cv_poller_set(slot->poller, &slot->timer, slot->start_s + slot->timeout_s,
                             time_out, slot, err));
    return CLEAVE_OK;
}

static enum cleave_status launch(struct cv_slot *slot, struct cv_pipe *in,
                                 struct cv_pipe *out, struct cleave_error *err)
{
    bool over;

    CV_TRY(cv_store_open(slot->gather, &slot->store, err));
    CV_TRY(cv_pipe_open(in, err));
    CV_TRY(cv_pipe_open(out, err));
    slot->in = in->write;
    in->write = -1;
    list_parts(slot);
    /* A small piece fits into the pipe: then nobody has to wait for it to be read. */
    CV_TRY(feed_on(slot, &over, err));
    if (over)
        cv_close(&slot->in);
    CV_TRY(cv_process_start(&slot->process, slot->command,
                            &(struct cv_process_files){ .in = in->read,
                                                        .out = out->write,
                                                        .errors = -1,
                                                        .extra = slot->piece.mate_fd },
                            cv_poller_old_mask(slot->poller), err));
    slot->out = out->read;
    out->read = -1;
    return watch(slot, err);
}

enum cleave_status cv_slot_start(struct cv_slot *slot, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    struct cv_pipe in = { -1, -1 }, out = { -1, -1 };
    enum cleave_status status;

    slot->piece = *piece;
    slot->busy = true;
    slot->exited = slot->stopping = slot->timed_out = false;
    slot->kills = 0;
    slot->start_s = cv_clock_s();
    status = launch(slot, &in, &out, err);
    cv_pipe_close(&in);
    cv_pipe_close(&out);
    if (status != CLEAVE_OK)
        cv_slot_done(slot);
    return status;
}

uint64_t cv_slot_fed(const struct cv_slot *slot)
{
    return slot->in < 0 ? slot->piece.body.end : cv_feed_at(&slot->feed, slot->body);
}

bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    if (slot->in < 0 || !cv_feed_cut(&slot->feed, slot->body, head->body.end))
        return false;
    slot->piece = *head;
    return true;
}

void cv_slot_stop(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    stop_group(slot);
}

void cv_slot_done(struct cv_slot *slot)
{
    if (!slot->busy)
        return;
    release(slot);
    cv_process_kill(&slot->process);
    if (slot->store != NULL)
        cv_store_drop(slot->store);
    slot->store = NULL;
}
