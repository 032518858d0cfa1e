/* persistent_slot.c -- a slot whose command processes many pieces. SPDX-License-Identifier: MIT
 *
 * A small piece costs two system calls on the way in and two on the way out (read the answer,
 * keep it); larger ones are spliced. The output and the end of the process are watched all the
 * time, so nothing is set up per piece. */
#include "run/slot/persistent_slot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/slot/slot_kind.h"

enum {
    SMALL = 16 * 1024, /* a smaller piece is copied */
    COPY = 32 * 1024,  /* an answer with less left is read, not spliced */
    TURN = 8 << 20,    /* bytes moved before other callbacks run */
    UNSTARTED = 127,   /* exit status of a shell for such a command */
    LENGTH_BITS = 56,  /* a plausible length has no more bits; any text has */
};

static const double PATIENCE_S = 10; /* with the first answer */

/* --- give a piece to the command ----------------------------------------------------- */

/* A small piece and its length are written by one call: that is cheaper than splicing, and the
 * command wakes up once. */

/* The first `done` bytes of the parts were written. */
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

/* Write all parts by one call; returns the bytes written. If a part cannot be read, 0: the feeder
 * will find the cause. */
static uint64_t put_small(int fd, const struct cv_part *parts, size_t count)
{
    unsigned char bytes[CV_FRAME + SMALL];
    size_t done = 0;
    ssize_t put;

    for (size_t i = 0; i < count; i++) {
        const size_t length = (size_t)(parts[i].end - parts[i].begin);

        if (cv_part_read(&parts[i], parts[i].begin, bytes + done, length) !=
            (ssize_t)length)
            return 0;
        done += length;
    }
    put = write(fd, bytes, done);
    return put > 0 ? (uint64_t)put : 0;
}

/* parts[0] is reserved for the length. */
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

enum cleave_status cv_persistent_put(struct cv_slot *slot, struct cv_pipe_feeder *in,
                                     struct cv_pipe_feeder *mate,
                                     struct cleave_error *err)
{
    struct cv_persistent *persistent = &slot->persistent;
    struct cv_part parts[1 + CV_SLOT_PARTS], mates[2];
    const size_t count = cv_slot_parts(slot, parts + 1);
    const size_t nmates = cv_slot_mate_parts(slot, mates + 1);

    persistent->sent = 0;
    slot->start_s = cv_clock_s();
    CV_TRY(put_frame(slot, in, persistent->frames[0], parts, 1 + count, err));
    return nmates > 0
               ? put_frame(slot, mate, persistent->frames[1], mates, 1 + nmates, err)
               : CLEAVE_OK;
}

static enum cleave_status give(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_persistent *persistent = &slot->persistent;

    persistent->given = true;
    persistent->refused = false;
    persistent->part = persistent->begun = false;
    persistent->nhead = 0;
    persistent->left = 0;
    CV_TRY(cv_persistent_put(slot, &slot->in, &slot->mate, err));
    cv_slot_limit(slot);
    return CLEAVE_OK;
}

/* --- parse answers ------------------------------------------------------------------- */

bool cv_answer_head_read(const unsigned char frame[CV_FRAME], struct cv_answer_head *out)
{
    enum { NUMBERED = 0x80, VALUE_BITS = 40 };
    const uint64_t word = cv_persistent_length(frame);
    const unsigned kind = frame[0] & ~(unsigned)NUMBERED;

    *out = (struct cv_answer_head){ .kind = CV_ANSWER_FAILED };
    if (word == UINT64_MAX)
        return true;
    out->numbered = (frame[0] & NUMBERED) != 0;
    out->number = out->numbered ? (uint16_t)(word >> VALUE_BITS & 0xFFFF) : 0;
    out->value = word & ((UINT64_C(1) << (out->numbered ? VALUE_BITS : 56)) - 1);
    out->kind = kind == 0   ? CV_ANSWER_BYTES
                : kind == 2 ? CV_ANSWER_LATER
                            : CV_ANSWER_FAILED;
    return kind == 0 || kind == 2 || (kind == 1 && out->numbered && out->value == 0);
}

double cv_answer_later_s(const struct cv_answer_head *answer)
{
    const double least_s = 1e-3,
                 longest_s = 24 * 3600; /* then the command is asked again */

    return fmin(fmax(1e-3 * (double)answer->value, least_s), longest_s);
}

bool cv_persistent_answered(const struct cv_persistent *persistent)
{
    return persistent->nhead == CV_FRAME && persistent->left == 0 && !persistent->part;
}

/* The length is complete. */
static enum cv_answer judge_length(struct cv_persistent *persistent)
{
    uint64_t length = cv_persistent_length(persistent->head);
    struct cv_answer_head answer;

    persistent->refused = length == UINT64_MAX;
    persistent->later_s = 0;
    if (cv_answer_head_read(persistent->head, &answer) && !answer.numbered &&
        answer.kind == CV_ANSWER_LATER) {
        persistent->later_s = cv_answer_later_s(&answer);
        length = 0;
    }
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

    if (persistent->part && persistent->left == 0) { /* the next part */
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

/* --- the end of a piece -------------------------------------------------------------- */

static bool is_alive(const struct cv_slot *slot)
{
    return slot->process.pid > 0;
}

/* Whether it can be given a piece, and its answer counts. */
static bool is_usable(const struct cv_slot *slot)
{
    return is_alive(slot) && !slot->exited && slot->kills == 0 && slot->out >= 0 &&
           !slot->persistent.leaving;
}

static bool is_answered(const struct cv_slot *slot)
{
    return cv_persistent_answered(&slot->persistent) && slot->fault == NULL;
}

static void mark_unusable(struct cv_slot *slot, const char *fault)
{
    slot->fault = fault;
    if (slot->kills == 0)
        slot->kills = 1; /* a SIGTERM to clean up would be pointless */
    if (!slot->exited)
        cv_slot_kill(slot);
}

/* A piece is over once it has been answered and fed. */
static void check_over(struct cv_slot *slot)
{
    struct cv_persistent *persistent = &slot->persistent;

    if (!persistent->given || !is_answered(slot) || slot->in.feeding ||
        slot->mate.feeding)
        return;
    persistent->given = false;
    persistent->spoke = true;
    cv_poller_cancel(slot->poller, &slot->patience);
    persistent->answers++;
    slot->busy = false;
    if (slot->out >= 0 && slot->timeout_s > 0)
        cv_poller_cancel(slot->poller, &slot->timer);
    /* For the user as if a command had ended. */
    slot->later_s = persistent->later_s;
    slot->process.exit_code = persistent->refused || slot->later_s > 0 ? 1 : 0;
    slot->process.signal = 0;
    slot->fault = persistent->refused ? "said that it failed" : NULL;
    slot->events->ended(slot->context, slot,
                        slot->process.exit_code != 0 ? CV_SLOT_FAILED : CV_SLOT_DONE);
}

static void all_fed(void *context, struct cv_pipe_feeder *feeder)
{
    (void)feeder;
    check_over(context);
}

/* --- answers ------------------------------------------------------------------------- */

enum cleave_status cv_fail_not_persistent(const struct cv_command *command,
                                          const unsigned char head[CV_FRAME],
                                          struct cleave_error *err)
{
    char shown[64];

    return cv_fail(err, CLEAVE_EINPUT,
                   "expected the length of an answer, got '%s': is '%s' made to "
                   "be persistent?",
                   cv_shown((const char *)head, CV_FRAME, shown, sizeof shown),
                   command->argv[0]);
}

/* A command that has never sent a length does not know the protocol, so the run fails at once. */
static enum cleave_status no_length(struct cv_slot *slot, struct cleave_error *err)
{
    mark_unusable(slot, CV_BAD_LENGTH);
    return slot->persistent.spoke
               ? CLEAVE_OK
               : cv_fail_not_persistent(slot->command, slot->persistent.head, err);
}

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
            /* The end of the last complete line is needed to send lines early. */
            CV_TRY((slot->persistent.in_parts ? cv_chunk_output_write_lines
                                              : cv_chunk_output_write)(slot->store,
                                                                       kept.bytes,
                                                                       kept.length, err));
        bytes = kept.bytes + kept.length;
    }
    return CLEAVE_OK;
}

/* Read once; *more: there may be more. */
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
        /* Output of a command that is being killed is read, so that it can end, and dropped. */
        if (got > 0 && slot->kills == 0)
            CV_TRY(take(slot, bytes, (size_t)got, err));
    }
    if (got == 0) {
        cv_poller_remove(slot->poller, &slot->out_watch);
        cv_close(&slot->out);
        if (!persistent->leaving && !slot->exited && slot->kills == 0)
            cv_slot_kill_soon(slot); /* no answer can follow */
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
        cv_slot_broke(slot, &err);
        return;
    }
    if (slot->persistent.in_parts && slot->busy && slot->events->wrote != NULL)
        slot->events->wrote(slot->context, slot);
    if (slot->kills == 0)
        check_over(slot);
}

/* --- processes ----------------------------------------------------------------------- */

static enum cleave_status start_process(struct cv_slot *slot, struct cleave_error *err);

/* The command has exited with status 0 between two pieces. The piece that it was given meanwhile
 * goes to the next process. */
static bool ended_between(const struct cv_slot *slot)
{
    const struct cv_persistent *persistent = &slot->persistent;

    return !persistent->given ||
           (slot->process.exit_code == 0 && persistent->answers > 0 &&
            persistent->nhead == 0 && !persistent->begun && !slot->timed_out &&
            slot->fault == NULL);
}

/* The end of the process is the end of the piece. */
static void fail_piece(struct cv_slot *slot)
{
    slot->persistent.given = false;
    slot->busy = false;
    if (slot->fault == NULL && slot->process.exit_code == 0)
        slot->fault = "exited before it answered";
    slot->events->ended(slot->context, slot,
                        slot->stopping    ? CV_SLOT_STOPPED
                        : slot->timed_out ? CV_SLOT_TIMED_OUT
                                          : CV_SLOT_FAILED);
}

/* If a limit prevents a process, the piece is not begun. */
static void start_another(struct cv_slot *slot)
{
    struct cleave_error err;
    const enum cleave_status status = start_process(slot, &err);

    if (status == CLEAVE_OK)
        return;
    if (status != CLEAVE_ERESOURCES) {
        cv_slot_broke(slot, &err);
        return;
    }
    cv_slot_done(slot);
    slot->unbegun = true;
    cv_slot_note_unstarted(slot, &err);
    slot->process.exit_code = UNSTARTED;
    slot->events->ended(slot->context, slot, CV_SLOT_FAILED);
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
        cv_process_signal(&slot->process, SIGKILL); /* children of the command */
    cv_slot_release(slot);
    cv_process_reap(&slot->process);
    if (status != CLEAVE_OK) {
        cv_slot_broke(slot, &err);
    } else if (!slot->busy) {
        slot->events->left(slot->context, slot);
    } else if (slot->persistent.given && is_answered(slot) && slot->kills == 0) {
        slot->events->left(slot->context, slot);
        check_over(slot);
    } else if (!slot->stopping && ended_between(slot)) {
        slot->events->left(slot->context, slot);
        start_another(slot);
    } else {
        fail_piece(slot);
    }
}

static void report_silent_command(void *context)
{
    struct cv_slot *slot = context;

    slot->events->silent(slot->context, slot);
}

static enum cleave_status launch(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    CV_TRY(cv_slot_open_pipes(slot, pipes, err));
    slot->in.over = slot->mate.over = all_fed;
    if ((slot->in.fd >= 0 && !cv_never_wait(slot->in.fd)) ||
        (slot->mate.fd >= 0 && !cv_never_wait(slot->mate.fd)) ||
        !cv_never_wait(slot->out))
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a pipe: %s", strerror(errno));
    CV_TRY(cv_slot_spawn(slot, pipes, false, err));
    if (!slot->persistent.spoke)
        cv_poller_set(slot->poller, &slot->patience, cv_clock_s() + PATIENCE_S,
                      report_silent_command, slot);
    CV_TRY(cv_poller_add(slot->poller, &slot->out_watch, slot->out, CV_READABLE,
                         answer_ready, slot, err));
    return cv_poller_add(slot->poller, &slot->end_watch, slot->process.pidfd, CV_READABLE,
                         process_ended, slot, err);
}

/* Start a process and give it the piece. */
static enum cleave_status start_process(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_slot_pipes pipes = CV_SLOT_NO_PIPES;
    enum cleave_status status;

    slot->persistent.answers = 0;
    slot->persistent.leaving = false;
    status = launch(slot, &pipes, err);
    cv_slot_close_pipes(&pipes);
    if (status == CLEAVE_OK)
        status = give(slot, err);
    return status;
}

static enum cleave_status start_persistent(struct cv_slot *slot, struct cleave_error *err)
{
    enum cleave_status status = cv_chunk_output_open(slot->outputs, &slot->store, err);

    if (status == CLEAVE_OK && slot->sends)
        cv_chunk_output_use_blocks(slot->store);
    slot->busy = true;
    slot->unbegun = false;
    slot->later_s = 0;
    slot->persistent.given = false;
    slot->start_s = cv_clock_s();
    if (slot->kills == 0)
        slot->fault = NULL;
    if (status == CLEAVE_OK && is_usable(slot))
        status = give(slot, err);
    else if (status == CLEAVE_OK && !is_alive(slot))
        status = start_process(slot, err);
    /* else the last process is about to end, and another follows */
    if (status != CLEAVE_OK)
        cv_slot_done(slot);
    return status;
}

/* The command knows the length of the piece, so nothing can be taken back. */
static uint64_t fed_persistent(const struct cv_slot *slot)
{
    return slot->piece.body.end;
}

static bool leave_persistent(struct cv_slot *slot)
{
    if (!is_alive(slot))
        return true;
    if (!slot->persistent.leaving) {
        slot->persistent.leaving = true;
        if (slot->kills == 0)
            slot->fault = NULL;
        cv_pipe_feeder_close(&slot->in);
        cv_pipe_feeder_close(&slot->mate);
        if (slot->kills == 0)
            cv_slot_limit(slot);
    }
    return false;
}

static void done_persistent(struct cv_slot *slot)
{
    cv_slot_kill_now(slot);
    slot->persistent.given = false;
}

static const struct cv_slot_kind persistent_kind = {
    .start = start_persistent,
    .fed = fed_persistent,
    .stop = cv_slot_stop_command,
    .leave = leave_persistent,
    .done = done_persistent,
};

void cv_persistent_init(struct cv_slot *slot)
{
    slot->kind = &persistent_kind;
}
