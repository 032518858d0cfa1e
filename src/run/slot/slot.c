/* slot.c -- a command on a piece of the input, of whatever kind.
 * SPDX-License-Identifier: MIT */
#include "run/slot/slot.h"

#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "run/slot/line_output.h"
#include "run/slot/slot_kind.h"

void cv_slot_init(struct cv_slot *slot)
{
    memset(slot, 0, sizeof *slot);
    slot->kind = &cv_slot_single;
    cv_pipe_feeder_init(&slot->in);
    cv_pipe_feeder_init(&slot->mate);
    slot->out = -1;
    slot->process.pidfd = -1;
}

enum cleave_status cv_slot_start(struct cv_slot *slot, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    slot->piece = *piece;
    slot->open = (struct cv_open_slot){ .on = false };
    return slot->kind->start(slot, err);
}

uint64_t cv_slot_whole(const struct cv_piece *piece)
{
    return piece->header.end - piece->header.begin + piece->body.end - piece->body.begin +
           cv_piece_closing(piece).end +
           (piece->mate_fd >= 0 ? piece->mate.end - piece->mate.begin : 0);
}

uint64_t cv_slot_sent(const struct cv_slot *slot)
{
    if (slot->kind->sent != NULL)
        return slot->kind->sent(slot);
    return slot->persistent.sent + cv_pipe_writer_fed(&slot->in.writer) +
           cv_pipe_writer_fed(&slot->mate.writer);
}

uint64_t cv_slot_fed(const struct cv_slot *slot)
{
    return slot->kind->fed(slot);
}

bool cv_slot_is_remote(const struct cv_slot *slot)
{
    return slot->remote != NULL;
}

bool cv_slot_starts(const struct cv_slot *slot)
{
    return slot->remote == NULL && (slot->kind->starts_each || slot->process.pid <= 0);
}

bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    return slot->kind->cut(slot, head);
}

void cv_slot_stop(struct cv_slot *slot)
{
    slot->kind->stop(slot);
}

bool cv_slot_is_idle(const struct cv_slot *slot)
{
    return !slot->busy && !slot->stopping && slot->kills == 0 &&
           !slot->persistent.leaving;
}

bool cv_slot_release_command(struct cv_slot *slot)
{
    return slot->kind->leave(slot);
}

void cv_slot_done(struct cv_slot *slot)
{
    slot->kind->done(slot);
    cv_tailored_done(&slot->tailored);
    cv_line_output_done(&slot->lines);
}

void cv_slot_free(struct cv_slot *slot)
{
    cv_slot_done(slot);
    if (slot->kind->free != NULL)
        slot->kind->free(slot);
}

void cv_slot_describe_end(const struct cv_slot *slot, char *out, size_t size)
{
    const struct cv_process *process = &slot->process;
    char name[CV_SIGNAL_ROOM];

    if (slot->timed_out)
        snprintf(out, size, "took longer than %g s", slot->timeout_s);
    else if (slot->fault != NULL)
        snprintf(out, size, "%s", slot->fault);
    else if (process->signal != 0)
        snprintf(out, size, "was ended by %s", cv_signal_text(process->signal, name));
    else if (process->exit_code < 0)
        snprintf(out, size,
                 "has ended, but nobody can say how: is SIGCHLD ignored, or does "
                 "a debugger keep it?");
    else
        snprintf(out, size, "exited with status %d", process->exit_code);
}
