/* single_slot.c -- a command that is started for one piece and ends with it.
 * SPDX-License-Identifier: MIT
 *
 * A piece is over as a pipeline of a shell is: the process has ended, all writers have closed its
 * output, and its input is fed or has no reader. */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "run/slot/slot_kind.h"

/* Bytes moved before other callbacks run. */
enum { TURN = 8 << 20 };
/* A pause after a read of less than PIECES from an output of at least LARGE bytes for a link: the
 * pipe collects more meanwhile. */
enum { LARGE = 1 << 20, PIECES = 128 * 1024 };
static const double REST_S = 1e-3;
/* Most commands that take less than this end with their output: no pidfd is opened before. */
static const double LATE_S = 0.01;
/* Between two tries to open a pidfd when no descriptor is left. */
static const double AGAIN_S = 0.05;
/* Children that hold the pipes of a command that has ended are reported after this time. */
static const double HELD_S = 5;

/* --- the end of a piece -------------------------------------------------------------- */

/* The process and its output have ended, or were given up. */
static void finish(struct cv_slot *slot)
{
    enum cv_slot_end end;
    struct cleave_error err;
    bool ok;

    cv_poller_remove(slot->poller, &slot->end_watch);
    /* Stop the children of a failed command; its group is still its own until it is reaped. The
     * children of a successful command stay, as in a shell. */
    if (slot->kills > 0 || cv_process_failed(&slot->process, slot->ok))
        cv_process_signal(&slot->process, SIGKILL);
    cv_process_reap(&slot->process);
    if (slot->process.start_error != 0) {
        cv_command_fail_start(slot->command, slot->process.start_error, &err);
        cv_slot_note_unstarted(slot, &err);
    }
    ok = slot->process.start_error == 0 &&
         cv_status_is_ok(slot->process.exit_code, slot->ok);
    end = slot->stopping    ? CV_SLOT_STOPPED
          : slot->timed_out ? CV_SLOT_TIMED_OUT
          : ok              ? CV_SLOT_DONE
                            : CV_SLOT_FAILED;
    cv_slot_release(slot);
    slot->busy = false;
    slot->events->ended(slot->context, slot, end);
}

static void check_over(struct cv_slot *slot)
{
    if (slot->exited && slot->out < 0 && slot->in.fd < 0 && slot->mate.fd < 0)
        finish(slot);
}

/* A process in another session holds the output. */
static void abandon_single(struct cv_slot *slot)
{
    cv_pipe_feeder_close(&slot->in);
    cv_pipe_feeder_close(&slot->mate);
    cv_slot_close_output(slot);
    finish(slot);
}

static void held(void *context)
{
    struct cv_slot *slot = context;

    slot->events->held(slot->context, slot);
}

/* The command has ended, and children use its pipes. If it has failed, they are stopped after a
 * moment. */
static void check_held(struct cv_slot *slot)
{
    if (!slot->busy || !slot->exited || slot->kills > 0)
        return;
    if (cv_process_failed(&slot->process, slot->ok))
        cv_slot_kill_soon(slot);
    else if (slot->events->held != NULL)
        cv_poller_set(slot->poller, &slot->patience, cv_clock_s() + HELD_S, held, slot);
}

/* --- the input of open pieces -------------------------------------------------------- */

/* The pipe is empty or, if not `read`, has no reader: then the command does without its input. */
static void run_dry(void *context, bool read)
{
    struct cv_slot *slot = context;

    if (!slot->open.more && read)
        slot->open.read_s = cv_clock_s();
    if (!slot->open.more || !read || slot->exited) {
        cv_pipe_feeder_close(&slot->in);
        check_over(slot);
        return;
    }
    slot->open.dry_s = cv_clock_s();
    slot->events->drained(slot->context, slot);
}

static void began(void *context)
{
    struct cv_slot *slot = context;

    slot->open.spawn_s = slot->start_s;
    slot->events->began(slot->context, slot);
}

/* The command has bytes to read from now on. */
static void begin_monitor(struct cv_slot *slot)
{
    cv_slot_limit(slot);
    slot->in.began = began;
    slot->in.empty = run_dry;
    cv_pipe_feeder_monitor(&slot->in, slot->start_s);
}

static void open_piece_fed(struct cv_slot *slot, struct cv_pipe_feeder *feeder)
{
    struct cleave_error err;

    if (feeder == &slot->mate) {
        if (!slot->open.more || slot->exited || feeder->refused) {
            cv_pipe_feeder_close(feeder);
            check_over(slot);
        }
        return;
    }
    if (feeder->refused || slot->exited)
        run_dry(slot, false);
    else if (cv_pipe_feeder_await_empty(feeder, &err) != CLEAVE_OK)
        cv_slot_broke(slot, &err);
}

/* The process has ended. Children that read get the bytes that were fed. */
static void note_exit(struct cv_slot *slot)
{
    slot->exited = true;
    if (slot->open.on && !slot->in.feeding)
        cv_pipe_feeder_close(&slot->in);
    if (slot->open.on && !slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
}

static bool is_open_single(const struct cv_slot *slot)
{
    return slot->in.fd >= 0 && !slot->exited;
}

static enum cleave_status extend_single(struct cv_slot *slot,
                                        const struct cv_piece *longer,
                                        struct cleave_error *err)
{
    struct cv_part parts[CV_SLOT_PARTS], mates[1];
    size_t count, nmates;

    slot->piece = *longer;
    count = cv_slot_parts(slot, parts);
    nmates = cv_slot_mate_parts(slot, mates);
    if (!slot->open.bound) {
        begin_monitor(slot);
        cv_ordered_output_offer(slot->store, slot->piece.begin, NULL, NULL);
    }
    slot->open.bound = true;
    if (slot->mate.fd >= 0)
        CV_TRY(cv_pipe_feeder_grow(&slot->mate, mates, nmates, err));
    return cv_pipe_feeder_grow(&slot->in, parts, count, err);
}

static void shut_single(struct cv_slot *slot)
{
    if (!slot->open.bound) {
        cv_slot_stop_command(slot);
        return;
    }
    if (!slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
    if (slot->in.fd < 0)
        check_over(slot);
    else if (!slot->in.feeding && !slot->in.waits)
        run_dry(slot, true);
}

/* --- the output and the process ------------------------------------------------------ */

static void rested(void *context)
{
    struct cv_slot *slot = context;
    struct cleave_error err;

    if (slot->out >= 0 &&
        cv_poller_modify(slot->poller, &slot->out_watch, CV_READABLE, &err) != CLEAVE_OK)
        cv_slot_broke(slot, &err);
}

/* Let a large output collect in its pipe, if that is wide: looking at every few kilobytes takes
 * longer than reading them. Its end is noticed at once. */
static void rest(struct cv_slot *slot)
{
    struct cleave_error err;

    if (!slot->sends || slot->out_watch.events == 0 ||
        cv_chunk_output_size(slot->store) < LARGE ||
        fcntl(slot->out, F_GETPIPE_SZ) < CV_PIPE_WIDE)
        return;
    if (cv_poller_modify(slot->poller, &slot->out_watch, 0, &err) != CLEAVE_OK)
        cv_slot_broke(slot, &err);
    cv_poller_set(slot->poller, &slot->rest, cv_clock_s() + REST_S, rested, slot);
}

static void process_ended(void *context, unsigned events);

/* The process has no pidfd yet. */
static bool is_unwatched(const struct cv_slot *slot)
{
    return slot->process.pidfd < 0 && !slot->exited;
}

static void listen(void *context)
{
    struct cv_slot *slot = context;
    struct cleave_error err;
    const enum cleave_status status = cv_process_listen(&slot->process, &err);

    /* The end of its output tells as well, or the end of another command frees a descriptor. */
    if (status == CLEAVE_ERESOURCES && slot->out >= 0)
        cv_poller_set(slot->poller, &slot->patience, cv_clock_s() + AGAIN_S, listen,
                      slot);
    else if (status != CLEAVE_OK ||
             cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd,
                           CV_READABLE, process_ended, slot, &err) != CLEAVE_OK)
        cv_slot_broke(slot, &err);
}

/* The process has ended as well, or will soon. */
static void output_over(struct cv_slot *slot)
{
    const bool late = is_unwatched(slot);

    cv_slot_close_output(slot);
    if (late) {
        cv_poller_cancel(slot->poller, &slot->patience);
        if (cv_process_is_over(&slot->process))
            note_exit(slot);
        else
            listen(slot);
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
        cv_slot_broke(slot, &err);
        return;
    }
    cv_ordered_output_pass_on(slot->store);
    if (slot->events->wrote != NULL)
        slot->events->wrote(slot->context, slot);
    if (state == CV_STORE_EMPTY && cv_chunk_output_came(slot->store) - before < PIECES)
        rest(slot);
    if (state == CV_STORE_END)
        output_over(slot);
}

static void process_ended(void *context, unsigned events)
{
    struct cv_slot *slot = context;

    (void)events;
    cv_poller_remove(slot->poller, &slot->end_watch);
    note_exit(slot);
    if (slot->out >= 0)
        output_ready(slot, CV_READABLE); /* the rest of the output */
    else
        check_over(slot);
    check_held(slot);
}

/* --- the start ----------------------------------------------------------------------- */

static void all_fed(void *context, struct cv_pipe_feeder *feeder)
{
    struct cv_slot *slot = context;

    if (slot->open.on) {
        open_piece_fed(slot, feeder);
        return;
    }
    cv_pipe_feeder_close(feeder);
    check_over(slot);
}

static void some_fed(void *context, struct cv_pipe_feeder *feeder)
{
    struct cv_slot *slot = context;

    if (feeder == &slot->in)
        slot->events->moved(slot->context, slot);
}

/* A small piece fits into the pipe before the command is started. */
static enum cleave_status fill(struct cv_slot *slot, struct cv_pipe_feeder *feeder,
                               const struct cv_part *parts, size_t count,
                               struct cleave_error *err)
{
    feeder->over = all_fed;
    feeder->moved = slot->open.on && slot->events->moved != NULL ? some_fed : NULL;
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
    if (!is_unwatched(slot))
        CV_TRY(cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd,
                             CV_READABLE, process_ended, slot, err));
    else if (slot->open.on) /* a piece grows only while the process lives */
        listen(slot);
    else
        cv_poller_set(slot->poller, &slot->patience, slot->start_s + LATE_S, listen,
                      slot);
    CV_TRY(cv_pipe_feeder_watch(&slot->in, err));
    CV_TRY(cv_pipe_feeder_watch(&slot->mate, err));
    if (!slot->open.on)
        cv_slot_limit(slot);
    if (!slot->open.on || !slot->open.bound)
        return CLEAVE_OK;
    begin_monitor(slot);
    return slot->in.feeding ? CLEAVE_OK : cv_pipe_feeder_await_empty(&slot->in, err);
}

static enum cleave_status launch(struct cv_slot *slot, const struct cv_part *parts,
                                 size_t count, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    const bool has_bytes = !slot->open.on || slot->open.bound;
    struct cv_part mates[1];
    const size_t nmates = has_bytes ? cv_slot_mate_parts(slot, mates) : 0;
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    if (slot->sends)
        cv_chunk_output_use_blocks(slot->store);
    if (has_bytes)
        cv_ordered_output_offer(slot->store, slot->piece.begin, NULL, NULL);
    CV_TRY(cv_slot_open_pipes(slot, pipes, err));
    CV_TRY(fill(slot, &slot->in, parts, has_bytes ? count : 0, err));
    CV_TRY(fill(slot, &slot->mate, mates, nmates, err));
    status = cv_slot_spawn(slot, pipes, slot->out >= 0, err);
    /* The thread of a lazy reader may have used up the limit, and can be started later. */
    if (status == CLEAVE_ERESOURCES && cv_pipe_feeder_pause(&slot->in))
        status = cv_slot_spawn(slot, pipes, slot->out >= 0, err);
    CV_TRY(status);
    return watch(slot, err);
}

static void done_single(struct cv_slot *slot)
{
    if (slot->busy)
        cv_slot_kill_now(slot);
}

static enum cleave_status start(struct cv_slot *slot, const struct cv_part *parts,
                                size_t count, struct cleave_error *err)
{
    struct cv_slot_pipes pipes = CV_SLOT_NO_PIPES;
    enum cleave_status status;

    slot->busy = true;
    slot->start_s = cv_clock_s();
    status = slot->base != NULL ? cv_slot_build_command(slot, err) : CLEAVE_OK;
    if (status == CLEAVE_OK && slot->by_lines)
        status = cv_line_output_begin(slot, err);
    if (status == CLEAVE_OK)
        status = launch(slot, parts, count, &pipes, err);
    cv_slot_close_pipes(&pipes);
    if (status != CLEAVE_OK)
        cv_slot_done(slot);
    return status;
}

static enum cleave_status start_single(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_part parts[CV_SLOT_PARTS];
    const size_t count = cv_slot_parts(slot, parts);

    return start(slot, parts, count, err);
}

enum cleave_status cv_slot_start_parts(struct cv_slot *slot, const struct cv_part *parts,
                                       size_t count, struct cleave_error *err)
{
    assert(slot->kind->start == start_single);
    slot->piece = (struct cv_piece){ .fd = -1, .mate_fd = -1 };
    slot->open = (struct cv_open_slot){ .on = false };
    return start(slot, parts, count, err);
}

static uint64_t fed_single(const struct cv_slot *slot)
{
    return slot->in.fd < 0 || (slot->open.on && !slot->open.bound)
               ? slot->piece.body.end
               : cv_pipe_writer_at(&slot->in.writer, cv_slot_body(slot));
}

/* The piece and its mates are cut, or none of them: mates that were fed cannot be taken back
 * either. */
static bool cut_held(struct cv_slot *slot, const struct cv_piece *head)
{
    const size_t body = cv_slot_body(slot);
    const bool mates = slot->piece.mate_fd >= 0;

    if (slot->in.fd < 0 || cv_pipe_writer_at(&slot->in.writer, body) > head->body.end)
        return false;
    if (head->closing != CV_CLOSING_NONE && head->closing != slot->piece.closing)
        return false; /* the last piece of an array has no part that would close it */
    if (mates &&
        (slot->mate.fd < 0 || !cv_pipe_writer_cut(&slot->mate.writer, 0, head->mate.end)))
        return false;
    if (!cv_pipe_writer_cut(&slot->in.writer, body, head->body.end))
        return false;
    /* The end of the file is cut off, and so is the part that closes it, which was not fed. */
    if (slot->piece.closing != head->closing)
        cv_pipe_writer_cut(&slot->in.writer, body + 1, 0);
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

static bool leave_single(struct cv_slot *slot)
{
    return !slot->busy;
}

static const struct cv_slot_kind single_kind = {
    .start = start_single,
    .fed = fed_single,
    .cut = cut_single,
    .stop = cv_slot_stop_command,
    .leave = leave_single,
    .done = done_single,
    .abandon = abandon_single,
    .is_open = is_open_single,
    .extend = extend_single,
    .shut = shut_single,
    .starts_each = true,
};

void cv_slot_init(struct cv_slot *slot)
{
    memset(slot, 0, sizeof *slot);
    slot->kind = &single_kind;
    cv_pipe_feeder_init(&slot->in);
    cv_pipe_feeder_init(&slot->mate);
    slot->out = slot->error_lines.pipe.read = slot->error_lines.pipe.write = -1;
    slot->process.pidfd = -1;
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
