/* persistent_slot.c -- a slot whose command stays and is given one piece after the other.
 * SPDX-License-Identifier: MIT
 *
 * A small piece costs two calls on the way in (persistent_slot.c) and two on the way out: read
 * the answer, keep it; larger ones are spliced, as always. The process is watched for its
 * output and its end all the time, so nothing is set up or taken down per piece. */
#include "run/slot/persistent_slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/slot/slot_kind.h"

/* --- give a piece to a command that stays ------------------------------------------ */

/* What is small is read behind its length, and both are written by one call: that is cheaper
 * than to splice it, and the command wakes up once. */

enum { SMALL = 16 * 1024 }; /* bytes that are copied */

/* Copy all parts into `bytes` behind each other; how many bytes, 0 if that cannot be done:
 * the feed will find out why. */
static size_t copy_parts(const struct cv_part *parts, size_t count, unsigned char *bytes)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t length = (size_t)(parts[i].end - parts[i].begin);

        if (cv_part_read(&parts[i], parts[i].begin, bytes + done, length) !=
            (ssize_t)length)
            return 0;
        done += length;
    }
    return done;
}

/* The first `done` bytes of the parts have been fed. */
static void skip(struct cv_part *parts, size_t count, uint64_t done)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = parts[i].end - parts[i].begin;
        const uint64_t some = done < length ? done : length;

        parts[i].begin += some;
        if (parts[i].bytes != NULL)
            parts[i].bytes = (const char *)parts[i].bytes + some;
        done -= some;
    }
}

/* Put in at once what is small; how many bytes went in. */
static uint64_t put_small(int fd, const struct cv_part *parts, size_t count)
{
    unsigned char bytes[CV_FRAME + SMALL];
    const size_t length = copy_parts(parts, count, bytes);
    const ssize_t put = length > 0 ? write(fd, bytes, length) : 0;

    return put > 0 ? (uint64_t)put : 0;
}

/* Feed a frame: parts[0] is its length, which is set here. */
static enum cleave_status put_frame(struct cv_slot *slot, struct cv_pipe_feeder *feeder,
                                    unsigned char *frame, struct cv_part *parts,
                                    size_t count, struct cleave_error *err)
{
    uint64_t length = 0, put;

    for (size_t i = 1; i < count; i++)
        length += parts[i].end - parts[i].begin;
    cv_persistent_length_put(frame, length);
    parts[0] = (struct cv_part){ .bytes = frame, .fd = -1, .end = CV_FRAME };
    put = length <= SMALL ? put_small(feeder->fd, parts, count) : 0;
    slot->persistent.sent += put;
    if (put == CV_FRAME + length) {
        feeder->feeding = false;
        cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, 0);
        return CLEAVE_OK;
    }
    skip(parts, count, put);
    CV_TRY(cv_pipe_feeder_begin(feeder, parts, count, err));
    return cv_pipe_feeder_watch(feeder, err);
}

enum cleave_status cv_persistent_give(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_persistent *persistent = &slot->persistent;
    struct cv_part parts[1 + CV_SLOT_PARTS], mates[2];
    const size_t count = cv_slot_parts(slot, parts + 1);
    const size_t nmates = cv_slot_mate_parts(slot, mates + 1);

    persistent->given = true;
    persistent->refused = false;
    persistent->part = persistent->begun = false;
    persistent->nhead = 0;
    persistent->left = 0;
    persistent->sent = 0;
    slot->start_s = cv_clock_s();
    CV_TRY(put_frame(slot, &slot->in, persistent->frames[0], parts, 1 + count, err));
    if (nmates > 0)
        CV_TRY(
            put_frame(slot, &slot->mate, persistent->frames[1], mates, 1 + nmates, err));
    return cv_slot_limit(slot, err);
}

/* --- what a command that stays has written, read as answers ------------------------ */

/* An answer is a length of CV_FRAME bytes, the highest first, and as many bytes; or a length
 * of all ones, which says that the command failed. It may come in any pieces. Where lines are to be
 * seen as they come, it may also come in parts, each with a length of its own, which is marked but
 * for the last. */

enum { LENGTH_BITS = 56 }; /* of an honest length: any text has more */

bool cv_persistent_answered(const struct cv_persistent *persistent)
{
    return persistent->nhead == CV_FRAME && persistent->left == 0 && !persistent->part;
}

/* The length has come. */
static enum cv_answer judge_length(struct cv_persistent *persistent)
{
    uint64_t length = cv_persistent_length(persistent->head);

    persistent->refused = length == UINT64_MAX;
    persistent->part =
        persistent->in_parts && !persistent->refused && (length & CV_STEADY_PART) != 0;
    if (persistent->part)
        length &= ~CV_STEADY_PART;
    if (!persistent->refused && length >> LENGTH_BITS != 0)
        return CV_ANSWER_NO_LENGTH;
    persistent->left = persistent->refused ? 0 : length;
    persistent->begun = persistent->begun || persistent->part;
    return CV_ANSWER_GOOD;
}

enum cv_answer cv_persistent_read(struct cv_persistent *persistent, const char *bytes,
                                  size_t length, struct cv_answer_bytes *out)
{
    size_t missing, head;

    if (persistent->part && persistent->left == 0) { /* the next one */
        persistent->part = false;
        persistent->nhead = 0;
    }
    missing = CV_FRAME - persistent->nhead;
    head = missing < length ? missing : length;
    *out = (struct cv_answer_bytes){ bytes + length, 0 };
    if (!persistent->given || cv_persistent_answered(persistent))
        return CV_ANSWER_UNASKED;
    memcpy(persistent->head + persistent->nhead, bytes, head);
    persistent->nhead += head;
    if (head > 0 && persistent->nhead == CV_FRAME &&
        judge_length(persistent) != CV_ANSWER_GOOD)
        return CV_ANSWER_NO_LENGTH;
    bytes += head;
    length -= head;
    *out = (struct cv_answer_bytes){ bytes, length < persistent->left
                                                ? length
                                                : (size_t)persistent->left };
    persistent->left -= out->length;
    return length > out->length && !persistent->part ? CV_ANSWER_LONG : CV_ANSWER_GOOD;
}

/* --- a slot whose command stays and is given one piece after the other ------------- */

enum {
    COPY = 32 * 1024, /* of an answer that is read, not spliced   */
    TURN = 8 << 20,   /* bytes moved before others get their turn */
    UNSTARTED = 127,  /* as a shell says it                       */
};

static const double PATIENCE_S = 10; /* with the first answer of all */

static void broke(struct cv_slot *slot, const struct cleave_error *err)
{
    slot->broke(slot->context, err);
}

static bool is_alive(const struct cv_slot *slot)
{
    return slot->process.pid > 0;
}

/* Whether it can be given a piece, or its answer be believed. */
static bool is_usable(const struct cv_slot *slot)
{
    return is_alive(slot) && !slot->exited && slot->kills == 0 && slot->out >= 0 &&
           !slot->persistent.leaving;
}

static bool is_answered(const struct cv_slot *slot)
{
    return cv_persistent_answered(&slot->persistent) && slot->fault == NULL;
}

/* The command cannot be used any more. */
static void mark_unusable(struct cv_slot *slot, const char *fault)
{
    slot->fault = fault;
    if (slot->kills == 0)
        slot->kills = 1; /* it has nothing to clean up that we could wait for */
    if (!slot->exited)
        cv_slot_kill(slot);
}

/* --- the end of a piece ------------------------------------------------------------------- */

/* The piece is over once it has been answered and fed. */
static void check_over(struct cv_slot *slot)
{
    struct cv_persistent *persistent = &slot->persistent;

    if (!persistent->given || !is_answered(slot) || slot->in.feeding ||
        slot->mate.feeding)
        return;
    persistent->given = false;
    persistent->spoke = true;
    cv_poller_cancel(slot->poller, &persistent->patience);
    persistent->answers++;
    slot->busy = false;
    if (slot->out >= 0 && slot->timeout_s > 0)
        cv_poller_cancel(slot->poller, &slot->timer);
    /* To others it is as if a command had ended. */
    slot->process.exit_code = persistent->refused ? 1 : 0;
    slot->process.signal = 0;
    slot->fault = persistent->refused ? "said that it failed" : NULL;
    slot->ended(slot->context, slot, persistent->refused ? CV_SLOT_FAILED : CV_SLOT_DONE);
}

static void all_fed(void *context, struct cv_pipe_feeder *feeder)
{
    (void)feeder;
    check_over(context);
}

/* --- answers ------------------------------------------------------------------------------ */

/* Somebody who has never sent a length does not know what he is asked for: there is no use
 * in asking him about every piece. */
static enum cleave_status no_length(struct cv_slot *slot, struct cleave_error *err)
{
    const struct cv_persistent *persistent = &slot->persistent;
    char shown[64];

    mark_unusable(slot, "answered with something that is no length");
    if (persistent->spoke)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected the length of an answer, got '%s': is '%s' made to "
                   "be persistent?",
                   cv_shown((const char *)persistent->head, CV_FRAME, shown,
                            sizeof shown),
                   slot->command->argv[0]);
}

/* Bytes that the command has written, of one part or of several. */
static enum cleave_status take(struct cv_slot *slot, const char *bytes, size_t length,
                               struct cleave_error *err)
{
    const char *end = bytes + length;
    struct cv_answer_bytes kept;

    while (bytes < end && slot->kills == 0) {
        switch (
            cv_persistent_read(&slot->persistent, bytes, (size_t)(end - bytes), &kept)) {
        case CV_ANSWER_NO_LENGTH:
            return no_length(slot, err);
        case CV_ANSWER_UNASKED:
            mark_unusable(slot, "wrote something that it was not asked for");
            break;
        case CV_ANSWER_LONG:
            mark_unusable(slot, "wrote more than the length of its answer");
            break;
        case CV_ANSWER_GOOD:
            break;
        }
        if (kept.length > 0)
            /* Whoever sends lines on has to know where the last whole one ends. */
            CV_TRY((slot->persistent.in_parts ? cv_chunk_output_write_lines
                                              : cv_chunk_output_write)(slot->store,
                                                                       kept.bytes,
                                                                       kept.length, err));
        bytes = kept.bytes + kept.length;
    }
    return CLEAVE_OK;
}

/* Read on, once; *more is false when there is nothing now. */
static enum cleave_status read_some(struct cv_slot *slot, bool *more,
                                    struct cleave_error *err)
{
    struct cv_persistent *persistent = &slot->persistent;
    char bytes[COPY];
    ssize_t got;

    if (slot->kills == 0 && persistent->left >= COPY) {
        const uint64_t before = cv_chunk_output_size(slot->store);
        enum cv_chunk_output_state state;

        CV_TRY(cv_chunk_output_pump(slot->store, slot->out,
                                    persistent->left < TURN ? persistent->left : TURN,
                                    &state, err));
        persistent->left -= cv_chunk_output_size(slot->store) - before;
        *more = state == CV_STORE_BUSY;
        got = state == CV_STORE_END ? 0 : 1;
    } else {
        got = read(slot->out, bytes, sizeof bytes);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read from a command: %s",
                           strerror(errno));
        *more = got > 0 || (got < 0 && errno == EINTR);
        /* What a dying command says is heard, so that it can die, and forgotten. */
        if (got > 0 && slot->kills == 0)
            CV_TRY(take(slot, bytes, (size_t)got, err));
    }
    if (got == 0) {
        cv_poller_remove(slot->poller, &slot->out_watch);
        cv_close(&slot->out);
        if (!persistent->leaving && !slot->exited && slot->kills == 0)
            cv_slot_kill_soon(slot); /* it cannot answer any more */
    }
    return CLEAVE_OK;
}

static void answer_ready(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    struct cleave_error err;
    bool more;

    (void)events;
    if (read_some(slot, &more, &err) != CLEAVE_OK) {
        broke(slot, &err);
        return;
    }
    if (slot->persistent.in_parts && slot->busy && slot->wrote != NULL)
        slot->wrote(slot->context, slot);
    if (slot->kills == 0)
        check_over(slot);
}

/* --- processes ---------------------------------------------------------------------------- */

static enum cleave_status start_process(struct cv_slot *slot, struct cleave_error *err);

/* A command may end between two pieces, in good order; the one it was given meanwhile
 * goes to the next. */
static bool ended_between(const struct cv_slot *slot)
{
    const struct cv_persistent *persistent = &slot->persistent;

    return !persistent->given ||
           (slot->process.exit_code == 0 && persistent->answers > 0 &&
            persistent->nhead == 0 && !persistent->begun && !slot->timed_out &&
            slot->fault == NULL);
}

/* The end of the process was the end of the piece. */
static void fail_piece(struct cv_slot *slot)
{
    slot->persistent.given = false;
    slot->busy = false;
    if (slot->fault == NULL && slot->process.exit_code == 0)
        slot->fault = "exited before it answered";
    slot->ended(slot->context, slot,
                slot->stopping    ? CV_SLOT_STOPPED
                : slot->timed_out ? CV_SLOT_TIMED_OUT
                                  : CV_SLOT_FAILED);
}

/* The piece is not begun, if there is no room for a process now. */
static void start_another(struct cv_slot *slot)
{
    struct cleave_error err;
    const enum cleave_status status = start_process(slot, &err);

    if (status == CLEAVE_OK)
        return;
    if (status != CLEAVE_ERESOURCES) {
        broke(slot, &err);
        return;
    }
    cv_slot_done(slot);
    slot->unbegun = true;
    snprintf(slot->unstarted, sizeof slot->unstarted, CV_UNSTARTED "%.220s", err.text);
    slot->fault = slot->unstarted;
    slot->process.exit_code = UNSTARTED;
    slot->ended(slot->context, slot, CV_SLOT_FAILED);
}

static void process_ended(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    struct cleave_error err;
    enum cleave_status status = CLEAVE_OK;
    bool more = true;

    (void)events;
    slot->exited = true;
    while (status == CLEAVE_OK && slot->out >= 0 && more)
        status = read_some(slot, &more, &err);
    if (slot->out >= 0)
        cv_process_signal(&slot->process, SIGKILL); /* children that it left */
    cv_slot_release(slot);
    cv_poller_cancel(slot->poller, &slot->persistent.patience);
    cv_process_reap(&slot->process);
    if (status != CLEAVE_OK) {
        broke(slot, &err);
    } else if (!slot->busy) {
        slot->left(slot->context, slot);
    } else if (slot->persistent.given && is_answered(slot) && slot->kills == 0) {
        slot->left(slot->context, slot);
        check_over(slot);
    } else if (!slot->stopping && ended_between(slot)) {
        slot->left(slot->context, slot);
        start_another(slot);
    } else {
        fail_piece(slot);
    }
}

static void report_silent_command(void *context)
{
    struct cv_slot *slot = context;

    slot->silent(slot->context, slot);
}

static enum cleave_status set_nonblocking(int fd, struct cleave_error *err)
{
    if (fd >= 0 && !cv_never_wait(fd))
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a pipe: %s", strerror(errno));
    return CLEAVE_OK;
}

static enum cleave_status launch(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    CV_TRY(cv_slot_open_pipes(slot, pipes, err));
    slot->in.over = slot->mate.over = all_fed;
    CV_TRY(set_nonblocking(slot->in.fd, err));
    CV_TRY(set_nonblocking(slot->mate.fd, err));
    CV_TRY(set_nonblocking(slot->out, err));
    CV_TRY(cv_slot_spawn(slot, pipes, err));
    if (!slot->persistent.spoke)
        CV_TRY(cv_poller_set(slot->poller, &slot->persistent.patience,
                             cv_clock_s() + PATIENCE_S, report_silent_command, slot,
                             err));
    CV_TRY(cv_poller_add(slot->poller, &slot->out_watch, slot->out, CV_READABLE,
                         answer_ready, slot, err));
    return cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd, CV_READABLE,
                         process_ended, slot, err);
}

/* A process, and the piece for it. */
static enum cleave_status start_process(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_slot_pipes pipes = { { -1, -1 }, { -1, -1 }, { -1, -1 }, NULL };
    enum cleave_status status;

    slot->persistent.answers = 0;
    slot->persistent.leaving = false;
    status = launch(slot, &pipes, err);
    cv_slot_close_pipes(&pipes);
    if (status == CLEAVE_OK)
        status = cv_persistent_give(slot, err);
    return status;
}

/* --- as a slot ---------------------------------------------------------------------------- */

static enum cleave_status start_steady(struct cv_slot *slot, struct cleave_error *err)
{
    enum cleave_status status = cv_chunk_output_open(slot->outputs, &slot->store, err);

    if (status == CLEAVE_OK && slot->sends)
        cv_chunk_output_use_blocks(slot->store);
    slot->busy = true;
    slot->unbegun = false;
    slot->persistent.given = false;
    slot->start_s = cv_clock_s();
    if (slot->kills == 0)
        slot->fault = NULL;
    if (status == CLEAVE_OK && is_usable(slot))
        status = cv_persistent_give(slot, err);
    else if (status == CLEAVE_OK && !is_alive(slot))
        status = start_process(slot, err);
    /* Else the last process is about to end, and another follows. */
    if (status != CLEAVE_OK)
        cv_slot_done(slot);
    return status;
}

/* The length of the piece has been said: nothing of it can be taken back. */
static uint64_t fed_steady(const struct cv_slot *slot)
{
    return slot->piece.body.end;
}

static bool cut_steady(struct cv_slot *slot, const struct cv_piece *head)
{
    (void)slot;
    (void)head;
    return false;
}

static void stop_steady(struct cv_slot *slot)
{
    if (!is_alive(slot) || slot->stopping)
        return;
    slot->stopping = true;
    cv_slot_kill(slot);
}

static bool leave_steady(struct cv_slot *slot)
{
    struct cleave_error err;

    if (!is_alive(slot))
        return true;
    if (!slot->persistent.leaving) {
        slot->persistent.leaving = true;
        if (slot->kills == 0)
            slot->fault = NULL;
        cv_pipe_feeder_close(&slot->in);
        cv_pipe_feeder_close(&slot->mate);
        if (slot->kills == 0 && cv_slot_limit(slot, &err) != CLEAVE_OK)
            broke(slot, &err);
    }
    return false;
}

static void done_steady(struct cv_slot *slot)
{
    /* Before it can see that its input ends too soon. */
    cv_process_signal(&slot->process, SIGKILL);
    cv_slot_release(slot);
    cv_poller_cancel(slot->poller, &slot->persistent.patience);
    slot->busy = false;
    slot->persistent.given = false;
    cv_process_kill(&slot->process);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

static const struct cv_slot_kind steady_kind = {
    .start = start_steady,
    .fed = fed_steady,
    .cut = cut_steady,
    .stop = stop_steady,
    .leave = leave_steady,
    .done = done_steady,
};

void cv_persistent_init(struct cv_slot *slot)
{
    slot->kind = &steady_kind;
}
