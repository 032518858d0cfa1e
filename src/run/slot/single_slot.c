/* single_slot.c -- a command that is started for one piece and ends with it.
 * SPDX-License-Identifier: MIT */
#include "run/slot/slot.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include "base/fail.h"
#include "run/slot/line_output.h"
#include "run/slot/slot_kind.h"

/* --- a command whose piece may grow ------------------------------------------------ */

/* --- its reader --------------------------------------------------------------------------- */

static void check_over(struct cv_slot *slot);
static enum cleave_status start(struct cv_slot *slot, const struct cv_part *parts,
                                size_t count, struct cleave_error *err);

static void began(void *context)
{
    struct cv_slot *slot = context;

    slot->open.spawn_s = slot->start_s;
    slot->began(slot->context, slot);
}

static void broke(void *context, const struct cleave_error *err)
{
    struct cv_slot *slot = context;

    slot->broke(slot->context, err);
}

/* It waits for more no longer. */
static void end_wait(struct cv_slot *slot)
{
    if (slot->open.dry_s > 0)
        slot->open.idle_s += cv_clock_s() - slot->open.dry_s;
    slot->open.dry_s = 0;
}

/* Nothing of it is left to be read or, if not `read`, nobody who would: then the command does
 * without, and is waited for. */
static void run_dry(struct cv_slot *slot, bool read)
{
    if (!slot->open.more && read)
        slot->open.read_s = cv_clock_s();
    if (!slot->open.more || !read || slot->exited) {
        cv_pipe_feeder_close(&slot->in);
        slot->kind->check_over(slot);
        return;
    }
    slot->open.dry_s = cv_clock_s();
    slot->drained(slot->context, slot);
}

static void emptied(void *context, bool read)
{
    run_dry(context, read);
}

void cv_open_fed(struct cv_slot *slot, struct cv_pipe_feeder *feeder)
{
    struct cleave_error err;

    if (feeder == &slot->mate) {
        if (!slot->open.more || slot->exited || feeder->refused) {
            cv_pipe_feeder_close(feeder);
            slot->kind->check_over(slot);
        }
        return;
    }
    if (feeder->refused || slot->exited)
        run_dry(slot, false);
    else if (cv_read_monitor_wait(&feeder->monitor, &err) != CLEAVE_OK)
        broke(slot, &err);
}

/* Its command has bytes to read from now on. */
static enum cleave_status listen(struct cv_slot *slot, struct cleave_error *err)
{
    CV_TRY(cv_slot_limit(slot, err));
    slot->in.monitor = (struct cv_read_monitor){ .poller = slot->poller,
                                               .writer = &slot->in.writer,
                                               .began = began,
                                               .empty = emptied,
                                               .broke = broke,
                                               .context = slot };
    return cv_read_monitor_begin(&slot->in.monitor, slot->start_s, err);
}

enum cleave_status cv_open_watch(struct cv_slot *slot, struct cleave_error *err)
{
    if (!slot->open.bound)
        return CLEAVE_OK;
    CV_TRY(listen(slot, err));
    return slot->in.feeding ? CLEAVE_OK : cv_read_monitor_wait(&slot->in.monitor, err);
}

/* Whoever reads on in its place is given what there is, and no more. */
void cv_open_ended(struct cv_slot *slot)
{
    if (!slot->in.feeding)
        cv_pipe_feeder_close(&slot->in);
    if (!slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
}

bool cv_open_is_open(const struct cv_slot *slot)
{
    return slot->in.fd >= 0 && !slot->exited;
}

enum cleave_status cv_open_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err)
{
    struct cv_part parts[CV_SLOT_PARTS], mates[1];
    size_t count, nmates;

    slot->piece = *longer;
    count = cv_slot_parts(slot, parts);
    nmates = cv_slot_mate_parts(slot, mates);
    if (!slot->open.bound) {
        CV_TRY(listen(slot, err));
        cv_ordered_output_offer(slot->store, slot->piece.begin);
    }
    slot->open.bound = true;
    if (slot->mate.fd >= 0)
        CV_TRY(cv_pipe_feeder_grow(&slot->mate, mates, nmates, err));
    return cv_pipe_feeder_grow(&slot->in, parts, count, err);
}

void cv_open_shut(struct cv_slot *slot)
{
    if (!slot->open.bound) {
        slot->kind->stop(slot);
        return;
    }
    if (!slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
    if (slot->in.fd < 0)
        slot->kind->check_over(slot);
    else if (!slot->in.feeding && !slot->in.monitor.waits)
        run_dry(slot, true);
}

/* --- what users call ---------------------------------------------------------------------- */

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

static double processor_time(const struct cv_slot *slot)
{
    struct timespec used;
    clockid_t clock;

    if (slot->process.pid <= 0 || slot->exited ||
        clock_getcpuclockid(slot->process.pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

struct cv_slot_seen cv_slot_look(const struct cv_slot *slot)
{
    struct cv_slot_seen seen = { .read = 0 };
    uint64_t unread;

    if (!slot->busy)
        return seen;
    cv_slot_hold(slot);
    seen.read = slot->kind->fed(slot) - slot->piece.body.begin;
    unread = slot->in.fd >= 0 ? cv_pipe_writer_unread(&slot->in.writer) : 0;
    cv_slot_go_on(slot);
    seen.read = seen.read > unread ? seen.read - unread : 0;
    seen.output = cv_slot_came(slot);
    seen.cpu_s = processor_time(slot);
    return seen;
}

/* --- a command that is started for one piece and ends with it ---------------------- */

/* Bytes moved before others get their turn. */
enum { TURN = 8 << 20 };
/* An output of so many bytes that comes in pieces smaller than these is let alone for a
 * moment; its pipe holds what comes until it is over. */
enum { LARGE = 1 << 20, PIECES = 128 * 1024 };
static const double REST_S = 1e-3;
/* Most commands that take no longer end when their output does: nothing but that is watched
 * for so long. */
static const double LATE_S = 0.01;
/* ... or longer, where no descriptor is left to watch the process by. */
static const double AGAIN_S = 0.05;
/* It is worth a word when children of a command that has ended work on for so long. */
static const double HELD_S = 5;

static void slot_broke(struct cv_slot *slot, const struct cleave_error *err)
{
    slot->broke(slot->context, err);
}

/* It was not the command that ended. */
static void note_unstarted(struct cv_slot *slot)
{
    struct cleave_error err;

    if (slot->process.start_error == 0)
        return;
    cv_process_fail_start(slot->command, slot->process.start_error, &err);
    snprintf(slot->unstarted, sizeof slot->unstarted, CV_UNSTARTED "%.220s", err.text);
    slot->fault = slot->unstarted;
}

/* The process and its output have come to an end, or were given up. */
static void finish(struct cv_slot *slot)
{
    enum cv_slot_end end;

    cv_poller_remove(slot->poller, &slot->end_watch);
    /* Children that a failure left; until it is reaped, its group has no other meaning.
     * What a command leaves behind that succeeded is its own affair, as in a shell. */
    if (slot->kills > 0 || cv_process_failed(&slot->process))
        cv_process_signal(&slot->process, SIGKILL);
    cv_process_reap(&slot->process);
    note_unstarted(slot);
    end = slot->stopping                 ? CV_SLOT_STOPPED
          : slot->timed_out              ? CV_SLOT_TIMED_OUT
          : slot->process.exit_code == 0 ? CV_SLOT_DONE
                                         : CV_SLOT_FAILED;
    cv_slot_release(slot);
    slot->busy = false;
    slot->ended(slot->context, slot, end);
}

/* A piece is over as in a shell's pipe: the process has ended, whoever had its output has
 * closed it, and nobody reads on, be it because all has been read. */
static void check_over(struct cv_slot *slot)
{
    if (slot->exited && slot->out < 0 && slot->in.fd < 0 && slot->mate.fd < 0)
        finish(slot);
}

static void rested(void *context)
{
    struct cv_slot *slot = context;
    struct cleave_error err;

    if (slot->out >= 0 &&
        cv_poller_modify(slot->poller, &slot->out_watch, CV_READABLE, &err) != CLEAVE_OK)
        slot_broke(slot, &err);
}

/* Let a large output that goes on over a link gather in its pipe, if that is wide enough: to
 * look at every few kilobytes would take longer than to read them. Its end is seen at
 * once. */
static void rest(struct cv_slot *slot)
{
    struct cleave_error err;

    if (!slot->sends || slot->out_watch.events == 0 ||
        cv_chunk_output_size(slot->store) < LARGE ||
        fcntl(slot->out, F_GETPIPE_SZ) < CV_PIPE_WIDE)
        return;
    if (cv_poller_modify(slot->poller, &slot->out_watch, 0, &err) != CLEAVE_OK ||
        cv_poller_set(slot->poller, &slot->rest, cv_clock_s() + REST_S, rested, slot,
                      &err) != CLEAVE_OK)
        slot_broke(slot, &err);
}

static void process_ended(void *context, unsigned events);

static void slot_listen(void *context)
{
    struct cv_slot *slot = context;
    struct cleave_error err;
    enum cleave_status status;

    slot->late = false;
    status = cv_process_listen(&slot->process, &err);
    /* Its output tells of its end as well, or somebody else's end makes room. */
    if (status == CLEAVE_ERESOURCES && slot->out >= 0 &&
        cv_poller_set(slot->poller, &slot->patience, cv_clock_s() + AGAIN_S, slot_listen,
                      slot, &err) == CLEAVE_OK) {
        slot->late = true;
        return;
    }
    if (status != CLEAVE_OK ||
        cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd, CV_READABLE,
                      process_ended, slot, &err) != CLEAVE_OK)
        slot_broke(slot, &err);
}

static void held(void *context)
{
    struct cv_slot *slot = context;

    slot->held(slot->context, slot);
}

/* It has ended, and children go on with the input and the output. But when it has failed, nobody
 * wants what they write: they get a moment, then they are stopped. */
static void check_held(struct cv_slot *slot)
{
    struct cleave_error err;

    if (!slot->busy || !slot->exited || slot->kills > 0)
        return;
    if (cv_process_failed(&slot->process))
        cv_slot_kill_soon(slot);
    else if (slot->held != NULL &&
             cv_poller_set(slot->poller, &slot->patience, cv_clock_s() + HELD_S, held,
                           slot, &err) != CLEAVE_OK)
        slot_broke(slot, &err);
}

/* With the output the process is over, too, or will soon be. */
static void output_over(struct cv_slot *slot)
{
    const bool late = slot->late;

    cv_slot_close_output(slot);
    if (late) {
        cv_poller_cancel(slot->poller, &slot->patience);
        slot->exited = cv_process_is_over(&slot->process);
        if (!slot->exited)
            slot_listen(slot);
        else if (slot->open.on)
            cv_open_ended(slot);
        slot->late = false;
    }
    check_over(slot);
    if (late)
        check_held(slot);
}

static void output_ready(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    const uint64_t before = cv_chunk_output_came(slot->store);
    enum cv_chunk_output_state state;
    struct cleave_error err;

    if ((events & CV_OVER) && !slot->by_lines) {
        cv_ordered_output_pass_on(slot->store);
        output_over(slot);
        return;
    }
    if ((slot->by_lines ? cv_line_output_pump(slot, TURN, &state, &err)
                        : cv_chunk_output_pump(slot->store, slot->out, TURN, &state,
                                               &err)) != CLEAVE_OK) {
        slot_broke(slot, &err);
        return;
    }
    cv_ordered_output_pass_on(slot->store);
    if (slot->wrote != NULL)
        slot->wrote(slot->context, slot);
    if (state == CV_STORE_EMPTY && cv_chunk_output_came(slot->store) - before < PIECES)
        rest(slot);
    if (state == CV_STORE_END)
        output_over(slot);
}

static void process_ended(void *context, unsigned events)
{
    struct cv_slot *slot = context;

    (void)events;
    slot->exited = true;
    cv_poller_remove(slot->poller, &slot->end_watch);
    if (slot->open.on)
        cv_open_ended(slot);
    if (slot->out >= 0)
        output_ready(slot, CV_READABLE); /* what is there now; it may be all */
    else
        check_over(slot);
    check_held(slot);
}

static void all_fed(void *context, struct cv_pipe_feeder *feeder)
{
    struct cv_slot *slot = context;

    if (slot->open.on) {
        cv_open_fed(slot, feeder);
        return;
    }
    cv_pipe_feeder_close(feeder);
    check_over(slot);
}

static void some_fed(void *context, struct cv_pipe_feeder *feeder)
{
    struct cv_slot *slot = context;

    if (feeder == &slot->in)
        slot->moved(slot->context, slot);
}

/* Whoever holds the output now is in a session of his own. */
static void abandon_single(struct cv_slot *slot)
{
    cv_pipe_feeder_close(&slot->in);
    cv_pipe_feeder_close(&slot->mate);
    cv_slot_close_output(slot);
    finish(slot);
}

/* A small piece fits into the pipe: then nobody has to wait for it to be read. */
static enum cleave_status fill(struct cv_slot *slot, struct cv_pipe_feeder *feeder,
                               const struct cv_part *parts, size_t count,
                               struct cleave_error *err)
{
    feeder->over = all_fed;
    feeder->moved = slot->open.on && slot->moved != NULL ? some_fed : NULL;
    feeder->narrow = slot->open.on;
    feeder->small_write = feeder == &slot->in ? slot->small_write : 0;
    if (feeder->fd < 0)
        return CLEAVE_OK;
    CV_TRY(cv_pipe_feeder_begin(feeder, parts, count, err));
    if (!feeder->feeding && !slot->open.on)
        cv_pipe_feeder_close(feeder);
    return CLEAVE_OK;
}

static enum cleave_status watch(struct cv_slot *slot, struct cleave_error *err)
{
    if (slot->out >= 0)
        CV_TRY(cv_poller_add(slot->poller, &slot->out_watch, slot->out, CV_READABLE,
                             output_ready, slot, err));
    if (slot->late && slot->open.on) /* its end is the end of what it may be given */
        slot_listen(slot);
    else if (slot->late)
        CV_TRY(cv_poller_set(slot->poller, &slot->patience, slot->start_s + LATE_S,
                             slot_listen, slot, err));
    else
        CV_TRY(cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd,
                             CV_READABLE, process_ended, slot, err));
    CV_TRY(cv_pipe_feeder_watch(&slot->in, err));
    CV_TRY(cv_pipe_feeder_watch(&slot->mate, err));
    return slot->open.on ? cv_open_watch(slot, err) : cv_slot_limit(slot, err);
}

static enum cleave_status launch(struct cv_slot *slot, const struct cv_part *parts,
                                 size_t count, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    struct cv_part mates[1];
    const size_t nmates =
        slot->open.on && !slot->open.bound ? 0 : cv_slot_mate_parts(slot, mates);
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    if (slot->sends)
        cv_chunk_output_use_blocks(slot->store);
    if (!slot->open.on || slot->open.bound)
        cv_ordered_output_offer(slot->store, slot->piece.begin);
    CV_TRY(cv_slot_open_pipes(slot, pipes, err));
    CV_TRY(fill(slot, &slot->in, parts, count, err));
    CV_TRY(fill(slot, &slot->mate, mates, nmates, err));
    slot->late = slot->out >= 0;
    status = cv_slot_spawn(slot, pipes, err);
    /* The thread that makes its input may have taken the room for it, and can begin later. */
    if (status == CLEAVE_ERESOURCES && cv_pipe_feeder_pause(&slot->in))
        status = cv_slot_spawn(slot, pipes, err);
    CV_TRY(status);
    return watch(slot, err);
}

static void done_single(struct cv_slot *slot)
{
    if (!slot->busy)
        return;
    /* Before it can see that its input ends too soon. */
    cv_process_signal(&slot->process, SIGKILL);
    cv_slot_release(slot);
    slot->busy = false;
    cv_process_kill(&slot->process);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

static enum cleave_status start(struct cv_slot *slot, const struct cv_part *parts,
                                size_t count, struct cleave_error *err)
{
    struct cv_slot_pipes pipes = { { -1, -1 }, { -1, -1 }, { -1, -1 }, NULL };
    enum cleave_status status;

    slot->busy = true;
    slot->start_s = cv_clock_s();
    status = slot->base != NULL ? cv_slot_build_command(slot, err) : CLEAVE_OK;
    if (status == CLEAVE_OK && slot->by_lines)
        status = cv_line_output_begin(slot, err);
    if (status == CLEAVE_OK)
        status = launch(slot, parts, count, &pipes, err);
    cv_slot_close_pipes(&pipes);
    if (status != CLEAVE_OK) {
        done_single(slot);
        cv_tailored_done(&slot->tailored);
        cv_line_output_done(&slot->lines);
    }
    return status;
}

static enum cleave_status start_single(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_part parts[CV_SLOT_PARTS];
    const size_t count = cv_slot_parts(slot, parts);

    return start(slot, parts, slot->open.on && !slot->open.bound ? 0 : count, err);
}

enum cleave_status cv_slot_start_parts(struct cv_slot *slot, const struct cv_part *parts,
                                       size_t count, struct cleave_error *err)
{
    assert(slot->kind->start == start_single);
    slot->piece = (struct cv_piece){ .fd = -1, .mate_fd = -1 };
    slot->body = 0;
    slot->open = (struct cv_open_slot){ .on = false };
    return start(slot, parts, count, err);
}

static uint64_t fed_single(const struct cv_slot *slot)
{
    return slot->in.fd < 0 || (slot->open.on && !slot->open.bound)
               ? slot->piece.body.end
               : cv_pipe_writer_at(&slot->in.writer, slot->body);
}

/* Both or none: mates that have been fed already cannot be taken back either. */
static bool cut_held(struct cv_slot *slot, const struct cv_piece *head)
{
    const bool mates = slot->piece.mate_fd >= 0;

    if (slot->in.fd < 0 ||
        cv_pipe_writer_at(&slot->in.writer, slot->body) > head->body.end)
        return false;
    if (head->closing != CV_CLOSING_NONE && head->closing != slot->piece.closing)
        return false; /* the last piece of an array has no part that would close it */
    if (mates &&
        (slot->mate.fd < 0 || !cv_pipe_writer_cut(&slot->mate.writer, 0, head->mate.end)))
        return false;
    if (!cv_pipe_writer_cut(&slot->in.writer, slot->body, head->body.end))
        return false;
    /* The end of the file goes with what is cut off: as nothing of that has been fed,
     * neither has what closes it. */
    if (slot->piece.closing != head->closing)
        cv_pipe_writer_cut(&slot->in.writer, slot->body + 1, 0);
    slot->piece = *head;
    return true;
}

static bool cut_single(struct cv_slot *slot, const struct cv_piece *head)
{
    bool done;

    cv_slot_hold(slot);
    done = cut_held(slot, head);
    cv_slot_go_on(slot);
    return done;
}

static void stop_single(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    cv_slot_kill(slot);
}

static bool leave_single(struct cv_slot *slot)
{
    return !slot->busy;
}

const struct cv_slot_kind cv_slot_single = {
    .start = start_single,
    .fed = fed_single,
    .cut = cut_single,
    .stop = stop_single,
    .leave = leave_single,
    .done = done_single,
    .abandon = abandon_single,
    .is_open = cv_open_is_open,
    .extend = cv_open_extend,
    .shut = cv_open_shut,
    .check_over = check_over,
    .starts_each = true,
};
