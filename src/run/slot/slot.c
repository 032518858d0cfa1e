/* slot.c -- functions for slots of all kinds, and the command of one piece.
 * SPDX-License-Identifier: MIT */
#include "run/slot/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/signal_name.h"
#include "run/slot/slot_kind.h"
#include "run/spawn/starter.h"

/* Between SIGTERM, SIGKILL and giving up; and after a failure, until the children are stopped. */
static const double GRACE_S = 1;
enum { SIGNALS = 2 };

/* --- the command of one piece -------------------------------------------------------- */

static void free_variables(struct cv_piece_command *tailored)
{
    while (tailored->ntold > 0)
        free(tailored->told[--tailored->ntold]);
}

static void free_tailored(struct cv_piece_command *tailored)
{
    free_variables(tailored);
    if (tailored->argv_room > 0) {
        free(tailored->command.argv);
        free(tailored->command.script);
    }
    free(tailored->command.environment);
    free(tailored->words);
    *tailored = (struct cv_piece_command){ .words = NULL };
}

/* Words of the prefix, then words of the item. */
static enum cleave_status put_words(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    const struct cv_command *base = slot->base;
    size_t nwords = 0, count;
    char **argv, **script;

    while (own->words[nwords] != NULL)
        nwords++;
    count = base->nprefix + nwords;
    if (!CV_ROOM(own->command.argv, &own->argv_room, count + 1) ||
        !CV_ROOM(own->command.script, &own->script_room, count + 2))
        return cv_fail_memory(err, "a command");
    argv = own->command.argv;
    script = own->command.script;
    memcpy(argv, base->argv, base->nprefix * sizeof *argv);
    memcpy(argv + base->nprefix, own->words, (nwords + 1) * sizeof *argv);
    script[0] = base->script[0];
    script[1] = base->path;
    memcpy(script + 2, argv + 1, count * sizeof *script);
    return CLEAVE_OK;
}

/* Whether a variable belongs to a run that this process is part of. */
static bool is_ours(const char *text)
{
    static const char *const names[CV_TOLD] = { "CHUNK=", "SLOT=",   "BEGIN=",
                                                "END=",   "RECORD=", "INPUT=" };

    if (strncmp(text, "CLEAVE_", 7) != 0)
        return false;
    for (size_t i = 0; i < CV_TOLD; i++)
        if (strncmp(text + 7, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Copy all variables that are not ours, once. */
static enum cleave_status keep_variables(struct cv_piece_command *own,
                                         const struct cv_command *base,
                                         struct cleave_error *err)
{
    if (own->command.environment != NULL)
        return CLEAVE_OK;
    own->command.environment =
        calloc(base->nenvironment + CV_TOLD + 1, sizeof *own->command.environment);
    if (own->command.environment == NULL)
        return cv_fail_memory(err, "the environment of a command");
    for (size_t i = 0; i < base->nenvironment; i++)
        if (!is_ours(base->environment[i]))
            own->command.environment[own->nkept++] = base->environment[i];
    return CLEAVE_OK;
}

static enum cleave_status tell(struct cv_piece_command *own, const char *name,
                               const char *text, struct cleave_error *err)
{
    char *variable = malloc(strlen("CLEAVE_=") + strlen(name) + strlen(text) + 1);

    if (variable == NULL)
        return cv_fail_memory(err, "the environment of a command");
    stpcpy(stpcpy(stpcpy(stpcpy(variable, "CLEAVE_"), name), "="), text);
    own->told[own->ntold++] = variable;
    return CLEAVE_OK;
}

static enum cleave_status tell_number(struct cv_piece_command *own, const char *name,
                                      uint64_t number, struct cleave_error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    return tell(own, name, text, err);
}

/* Variables of a part of an input. */
static enum cleave_status tell_part(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    const struct cv_piece *piece = &slot->piece;
    uint64_t first = 0, count;

    if (piece->begin == piece->end) /* an open piece without bytes */
        return CLEAVE_OK;
    CV_TRY(tell_number(own, "BEGIN", piece->body.begin, err));
    CV_TRY(tell(own, "INPUT", piece->name, err));
    if (!slot->open.on)
        CV_TRY(tell_number(own, "END", piece->body.end, err));
    if (slot->numbers != NULL)
        CV_TRY(cv_source_records(slot->numbers, piece, &first, &count, err));
    return first > 0 ? tell_number(own, "RECORD", first, err) : CLEAVE_OK;
}

enum cleave_status cv_slot_tell(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;

    free_variables(own);
    for (; slot->told != NULL && own->ntold < CV_TOLD && slot->told[own->ntold] != NULL;
         own->ntold++) {
        own->told[own->ntold] = strdup(slot->told[own->ntold]);
        if (own->told[own->ntold] == NULL)
            return cv_fail_memory(err, "the environment of a command");
    }
    if (slot->told != NULL)
        return CLEAVE_OK;
    CV_TRY(tell_number(own, "CHUNK",
                       slot->items != NULL ? slot->piece.begin + 1 : slot->number + 1,
                       err));
    CV_TRY(tell_number(own, "SLOT", (uint64_t)slot->worker + 1, err));
    return slot->items == NULL ? tell_part(slot, err) : CLEAVE_OK;
}

enum cleave_status cv_item_piece_words(const struct cleave_items *items,
                                       const struct cv_piece *piece, uint32_t place,
                                       char ***out, struct cleave_error *err)
{
    return items->max > 1 ? items->several(items->context, piece->begin,
                                           piece->end - piece->begin, place, out, err)
                          : items->words(items->context, piece->begin, place, out, err);
}

enum cleave_status cv_slot_build_command(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    struct cv_command *command = &own->command;
    char **words;

    command->path = slot->base->path;
    command->elf = slot->base->elf;
    command->cpus = slot->base->cpus;
    if (slot->items != NULL) {
        CV_TRY(cv_item_piece_words(slot->items, &slot->piece, slot->worker + 1, &words,
                                   err));
        free(own->words);
        own->words = words;
        CV_TRY(put_words(slot, err));
    } else {
        command->argv = slot->base->argv;
        command->script = slot->base->script;
    }
    CV_TRY(keep_variables(own, slot->base, err));
    CV_TRY(cv_slot_tell(slot, err));
    memcpy(command->environment + own->nkept, own->told, own->ntold * sizeof *own->told);
    command->nenvironment = own->nkept + own->ntold;
    command->environment[command->nenvironment] = NULL;
    slot->command = command;
    return CLEAVE_OK;
}

/* --- parts and pipes ----------------------------------------------------------------- */

size_t cv_slot_body(const struct cv_slot *slot)
{
    return slot->piece.header.end > slot->piece.header.begin ? 1 : 0;
}

size_t cv_slot_parts(const struct cv_slot *slot, struct cv_part parts[CV_SLOT_PARTS])
{
    const struct cv_piece *piece = &slot->piece;
    size_t count = cv_slot_body(slot);

    if (count > 0)
        parts[0] = cv_piece_header(piece);
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

/* A child that waits for the command of an item; NULL: none, or it cannot be used. */
static struct cv_start *take_child(const struct cv_slot *slot, int *out)
{
    struct cv_starter *starter =
        slot->kind->starts_each ? cv_poller_starter(slot->poller) : NULL;

    if (starter == NULL || slot->items == NULL || slot->items->errors != NULL ||
        slot->errors > 0 || slot->direct > 0 || slot->piece.mate_fd >= 0)
        return NULL;
    return cv_starter_take(starter, out);
}

static void feeder_broke(void *context, const struct cleave_error *err)
{
    cv_slot_broke(context, err);
}

enum cleave_status cv_slot_open_pipes(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                      struct cleave_error *err)
{
    pipes->ahead = take_child(slot, &pipes->out.read);
    /* Items are among the words of the command, and its input is empty. */
    if (slot->items == NULL)
        CV_TRY(cv_pipe_open(&pipes->in, err));
    if (slot->direct > 0) {
        pipes->out.write = fcntl(slot->direct, F_DUPFD_CLOEXEC, 3);
        if (pipes->out.write < 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot pass the output on: %s",
                           strerror(errno));
    } else if (pipes->ahead == NULL) {
        CV_TRY(cv_pipe_open(&pipes->out, err));
    }
    if (slot->piece.mate_fd >= 0)
        CV_TRY(cv_pipe_open(&pipes->mate, err));
    slot->in.fd = pipes->in.write;
    slot->out = pipes->out.read;
    slot->mate.fd = pipes->mate.write;
    pipes->in.write = pipes->out.read = pipes->mate.write = -1;
    slot->in.poller = slot->mate.poller = slot->poller;
    slot->in.context = slot->mate.context = slot;
    slot->in.broke = slot->mate.broke = feeder_broke;
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
                                 bool late, struct cleave_error *err)
{
    int errors = -1, shared = -1, in = pipes->in.read;
    enum cleave_status status;

    if (slot->items != NULL)
        CV_TRY(cv_poller_null(slot->poller, &in, err));
    if (slot->errors > 0)
        errors = fcntl(slot->errors, F_DUPFD_CLOEXEC, 3);
    else if (slot->items != NULL && slot->items->errors != NULL)
        CV_TRY(
            slot->items->errors(slot->items->context, slot->piece.begin, &errors, err));
    if (errors < 0 && pipes->ahead != NULL)
        cv_error_lines_exchange(slot, pipes->ahead);
    else if (errors < 0 && slot->direct <= 0)
        shared = cv_error_lines_open(slot);
    slot->exited = slot->stopping = slot->timed_out = false;
    slot->kills = 0;
    slot->fault = NULL;
    slot->error_lines.tail[0] = '\0';
    status = cv_process_start(&slot->process, slot->command,
                              &(struct cv_process_files){
                                  .in = in,
                                  .out = pipes->out.write,
                                  .errors = errors >= 0 ? errors : shared,
                                  .extra = pipes->mate.read,
                                  .guard = cv_poller_guard(slot->poller),
                                  .starter = slot->kind->starts_each
                                                 ? cv_poller_starter(slot->poller)
                                                 : NULL,
                                  .ahead = pipes->ahead,
                                  .late = late },
                              cv_poller_old_mask(slot->poller), err);
    pipes->ahead = NULL; /* the child runs the command */
    cv_close(&errors);
    return status;
}

/* --- the end of a command ------------------------------------------------------------ */

void cv_slot_broke(struct cv_slot *slot, const struct cleave_error *err)
{
    slot->events->broke(slot->context, err);
}

void cv_slot_note_unstarted(struct cv_slot *slot, const struct cleave_error *err)
{
    snprintf(slot->unstarted, sizeof slot->unstarted, CV_UNSTARTED "%.220s", err->text);
    slot->fault = slot->unstarted;
}

void cv_slot_close_output(struct cv_slot *slot)
{
    cv_poller_remove(slot->poller, &slot->out_watch);
    cv_poller_cancel(slot->poller, &slot->rest);
    cv_close(&slot->out);
}

void cv_slot_release(struct cv_slot *slot)
{
    cv_error_lines_end(slot);
    cv_pipe_feeder_close(&slot->in);
    cv_pipe_feeder_close(&slot->mate);
    cv_slot_close_output(slot);
    cv_poller_remove(slot->poller, &slot->end_watch);
    cv_poller_cancel(slot->poller, &slot->timer);
    cv_poller_cancel(slot->poller, &slot->patience);
}

void cv_slot_kill_now(struct cv_slot *slot)
{
    /* Before the command can see that its input ends early. */
    cv_process_signal(&slot->process, SIGKILL);
    cv_slot_release(slot);
    slot->busy = false;
    cv_process_kill(&slot->process);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

static void kill_harder(void *context)
{
    cv_slot_kill(context);
}

void cv_slot_kill_soon(struct cv_slot *slot)
{
    cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + GRACE_S, kill_harder, slot);
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

void cv_slot_stop_command(struct cv_slot *slot)
{
    if (slot->process.pid <= 0 || slot->stopping)
        return;
    slot->stopping = true;
    cv_slot_kill(slot);
}

static void time_out(void *context)
{
    struct cv_slot *slot = context;

    slot->timed_out = true;
    cv_slot_kill(slot);
}

void cv_slot_limit(struct cv_slot *slot)
{
    if (slot->timeout_s > 0)
        cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + slot->timeout_s,
                      time_out, slot);
}

void cv_slot_limit_to(struct cv_slot *slot, double seconds)
{
    slot->timeout_s = seconds;
    if (!slot->busy || slot->kills > 0 || slot->remote != NULL)
        return;
    cv_poller_set(slot->poller, &slot->timer, slot->start_s + seconds, time_out, slot);
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
                 "has ended, but its status is unknown: is SIGCHLD ignored, or does a "
                 "debugger keep it?");
    else
        snprintf(out, size, "exited with status %d", process->exit_code);
}

/* --- slots of all kinds -------------------------------------------------------------- */

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
    return cv_pipe_writer_fed(&slot->in.writer) + cv_pipe_writer_fed(&slot->mate.writer);
}

uint64_t cv_slot_fed(const struct cv_slot *slot)
{
    return slot->kind->fed(slot);
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

bool cv_slot_is_remote(const struct cv_slot *slot)
{
    return slot->remote != NULL;
}

/* The slot that has the process. */
static const struct cv_slot *process_slot(const struct cv_slot *slot)
{
    return slot->carrier != NULL ? slot->carrier : slot;
}

bool cv_slot_starts(const struct cv_slot *slot)
{
    return slot->remote == NULL &&
           (slot->kind->starts_each || process_slot(slot)->process.pid <= 0);
}

bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    return slot->kind->cut != NULL && slot->kind->cut(slot, head);
}

void cv_slot_stop(struct cv_slot *slot)
{
    slot->kind->stop(slot);
}

bool cv_slot_is_idle(const struct cv_slot *slot)
{
    return !slot->busy && !process_slot(slot)->stopping &&
           process_slot(slot)->kills == 0 && !slot->persistent.leaving;
}

bool cv_slot_release_command(struct cv_slot *slot)
{
    return slot->kind->leave(slot);
}

void cv_slot_done(struct cv_slot *slot)
{
    slot->kind->done(slot);
    free_tailored(&slot->tailored);
    cv_line_output_done(&slot->lines);
    cv_error_lines_close(slot);
}

void cv_slot_free(struct cv_slot *slot)
{
    cv_slot_done(slot);
    if (slot->kind->free != NULL)
        slot->kind->free(slot);
}

/* --- open pieces --------------------------------------------------------------------- */

static void end_wait(struct cv_slot *slot)
{
    if (slot->open.dry_s > 0)
        slot->open.idle_s += cv_clock_s() - slot->open.dry_s;
    slot->open.dry_s = 0;
}

enum cleave_status cv_slot_open(struct cv_slot *slot, const struct cv_piece *piece,
                                struct cleave_error *err)
{
    slot->piece = *piece;
    slot->open = (struct cv_open_slot){ .on = true,
                                        .more = true,
                                        .bound = piece->body.end > piece->body.begin };
    return slot->kind->start(slot, err);
}

bool cv_slot_is_open(const struct cv_slot *slot)
{
    return slot->busy && slot->open.more && !slot->stopping && !slot->timed_out &&
           slot->kind->is_open(slot);
}

enum cleave_status cv_slot_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err)
{
    end_wait(slot);
    return slot->kind->extend(slot, longer, err);
}

void cv_slot_close_input(struct cv_slot *slot)
{
    if (!slot->busy || !slot->open.more)
        return;
    slot->open.more = false;
    end_wait(slot);
    slot->kind->shut(slot);
}
