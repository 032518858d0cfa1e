/* slot_kit.c -- what the kinds of slots share. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>
#include "run/slot/slot_kind.h"

#include "base/fail.h"
#include "run/spawn/starter.h"

/* It is waited so long after the polite signal, after the other one, and after the failure
 * of a command whose output somebody still holds. */
static const double GRACE_S = 1;
/* After so many signals there is none that could help. */
enum { SIGNALS = 2 };

void cv_slot_close_output(struct cv_slot *slot)
{
    cv_poller_remove(slot->poller, &slot->out_watch);
    cv_poller_cancel(slot->poller, &slot->rest);
    cv_close(&slot->out);
}

void cv_slot_release(struct cv_slot *slot)
{
    cv_pipe_feeder_close(&slot->in);
    cv_pipe_feeder_close(&slot->mate);
    cv_slot_close_output(slot);
    cv_poller_remove(slot->poller, &slot->end_watch);
    cv_poller_cancel(slot->poller, &slot->timer);
    cv_poller_cancel(slot->poller, &slot->patience);
}

static void broke(void *context, const struct cleave_error *err)
{
    struct cv_slot *slot = context;

    slot->broke(slot->context, err);
}

static void kill_harder(void *context)
{
    cv_slot_kill(context);
}

void cv_slot_kill_soon(struct cv_slot *slot)
{
    struct cleave_error err;

    if (cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + GRACE_S, kill_harder,
                      slot, &err) != CLEAVE_OK)
        broke(slot, &err);
}

void cv_slot_kill(struct cv_slot *slot)
{
    if (slot->kills >= SIGNALS && slot->exited && slot->kind->abandon != NULL) {
        slot->kind->abandon(slot);
        return;
    }
    cv_process_signal(&slot->process, slot->kills++ == 0 ? SIGTERM : SIGKILL);
    cv_slot_kill_soon(slot);
}

static void time_out(void *context)
{
    struct cv_slot *slot = context;

    slot->timed_out = true;
    cv_slot_kill(slot);
}

enum cleave_status cv_slot_limit(struct cv_slot *slot, struct cleave_error *err)
{
    if (slot->timeout_s <= 0)
        return CLEAVE_OK;
    return cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + slot->timeout_s,
                         time_out, slot, err);
}

enum cleave_status cv_slot_limit_to(struct cv_slot *slot, double seconds,
                                    struct cleave_error *err)
{
    slot->timeout_s = seconds;
    if (!slot->busy || slot->kills > 0 || slot->remote != NULL)
        return CLEAVE_OK;
    return cv_poller_set(slot->poller, &slot->timer, slot->start_s + seconds, time_out,
                         slot, err);
}

size_t cv_slot_parts(struct cv_slot *slot, struct cv_part parts[CV_SLOT_PARTS])
{
    const struct cv_piece *piece = &slot->piece;
    size_t count = 0;

    if (piece->header.end > piece->header.begin)
        parts[count++] = cv_piece_header(piece);
    slot->body = count;
    parts[count++] = cv_piece_body(piece);
    if (piece->closing != CV_CLOSING_NONE)
        parts[count++] = cv_piece_closing(piece);
    return count;
}

size_t cv_slot_mate_parts(const struct cv_slot *slot, struct cv_part parts[1])
{
    if (slot->piece.mate_fd < 0)
        return 0;
    parts[0] = cv_piece_mate(&slot->piece);
    return 1;
}

/* A child that waits for the command of an item, if there is one and it can be used. */
static struct cv_start *take_child(const struct cv_slot *slot, int *out)
{
    struct cv_starter *starter =
        slot->kind->starts_each ? cv_poller_starter(slot->poller) : NULL;

    if (starter == NULL || slot->items == NULL || slot->items->errors != NULL ||
        slot->direct > 0 || slot->piece.mate_fd >= 0)
        return NULL;
    return cv_starter_take(starter, out);
}

enum cleave_status cv_slot_open_pipes(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                      struct cleave_error *err)
{
    pipes->ahead = take_child(slot, &pipes->out.read);
    /* Items are between the words of a command: there is nothing to read. */
    if (slot->items == NULL)
        CV_TRY(cv_pipe_open(&pipes->in, err));
    if (slot->direct > 0)
        CV_TRY(cv_copy_open(slot->direct, &pipes->out.write, err));
    else if (pipes->ahead == NULL)
        CV_TRY(cv_pipe_open(&pipes->out, err));
    if (slot->piece.mate_fd >= 0)
        CV_TRY(cv_pipe_open(&pipes->mate, err));
    slot->in.fd = pipes->in.write;
    slot->out = pipes->out.read;
    slot->mate.fd = pipes->mate.write;
    pipes->in.write = pipes->out.read = pipes->mate.write = -1;
    slot->in.poller = slot->mate.poller = slot->poller;
    slot->in.context = slot->mate.context = slot;
    slot->in.broke = slot->mate.broke = broke;
    return CLEAVE_OK;
}

void cv_slot_close_pipes(struct cv_slot_pipes *pipes)
{
    if (pipes->ahead != NULL)
        cv_starter_leave(pipes->ahead);
    pipes->ahead = NULL;
    cv_pipe_close(&pipes->in);
    cv_pipe_close(&pipes->out);
    cv_pipe_close(&pipes->mate);
}

enum cleave_status cv_slot_spawn(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    int errors = -1, in = pipes->in.read;
    enum cleave_status status;

    if (slot->items != NULL)
        CV_TRY(cv_poller_null(slot->poller, &in, err));
    if (slot->items != NULL && slot->items->errors != NULL)
        CV_TRY(
            slot->items->errors(slot->items->context, slot->piece.begin, &errors, err));
    slot->exited = slot->stopping = slot->timed_out = false;
    slot->kills = 0;
    slot->fault = NULL;
    status = cv_process_start(&slot->process, slot->command,
                              &(struct cv_process_files){
                                  .in = in,
                                  .out = pipes->out.write,
                                  .errors = errors,
                                  .extra = pipes->mate.read,
                                  .guard = cv_poller_guard(slot->poller),
                                  .starter = slot->kind->starts_each
                                                 ? cv_poller_starter(slot->poller)
                                                 : NULL,
                                  .ahead = pipes->ahead,
                                  .late = slot->late },
                              cv_poller_old_mask(slot->poller), err);
    pipes->ahead = NULL; /* it has become the command */
    cv_close(&errors);
    return status;
}

uint64_t cv_slot_came(const struct cv_slot *slot)
{
    return slot->lines.written +
           (slot->store != NULL ? cv_chunk_output_came(slot->store) : 0);
}

uint64_t cv_slot_passed(const struct cv_slot *slot)
{
    return slot->lines.written +
           (slot->store != NULL ? cv_chunk_output_passed(slot->store) : 0);
}

void cv_slot_hold(const struct cv_slot *slot)
{
    cv_pipe_writer_hold(&slot->in.writer);
    cv_pipe_writer_hold(&slot->mate.writer);
}

void cv_slot_go_on(const struct cv_slot *slot)
{
    cv_pipe_writer_go_on(&slot->mate.writer);
    cv_pipe_writer_go_on(&slot->in.writer);
}
