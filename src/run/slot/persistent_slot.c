/* persistent_slot.c -- slots that share a persistent command, which holds a piece of each.
 * SPDX-License-Identifier: MIT
 *
 * A small piece costs two system calls on the way in and two on the way out (read the answer,
 * keep it); larger ones are spliced. The output and the end of the process are watched all the
 * time, so nothing is set up per piece. */
#include "run/slot/persistent_slot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
};

static const double PATIENCE_S = 10; /* with the first answer */

enum lane_state {
    LANE_IDLE,
    LANE_WAITS,    /* the process does not have the piece */
    LANE_HELD,     /* the process has the piece, or a part of it */
    LANE_ANSWERED, /* ... and has answered */
};

struct cv_lane {
    struct cv_slot *slot; /* borrowed; NULL: it was freed */
    enum lane_state state;
    bool alone;      /* a process that fails with it has failed because of it */
    uint64_t turn;   /* pieces wait in this order; 0: it never had one */
    uint16_t number; /* number of the frame */
    uint64_t place;  /* the oldest piece has the least one */
    uint64_t sent;   /* bytes of it that were written, unless a feeder counts them */
    struct cv_answer_head answer;
};

enum window_state {
    WINDOW_SERVES,
    WINDOW_LEAVES,      /* the input was closed, so that the process ends */
    WINDOW_INTERRUPTED, /* the process is ended because of one piece: others are given again */
    WINDOW_ENDED,       /* the end of the process is being reported */
};

struct cv_window {
    struct cv_slot carrier; /* first; the process, its pipes and its standard error */
    struct cv_lane *lanes;  /* owned */
    uint32_t count, users;
    struct cv_lane *feeding,
        *reading;            /* frame being written, answer being read; or NULL */
    uint64_t turns;          /* pieces so far */
    uint64_t given, answers; /* counts for this process */
    unsigned char frames[2][CV_FRAME]; /* lengths of the piece being written */
    unsigned char head[CV_FRAME];
    size_t nhead;
    uint64_t left; /* bytes of the answer that have not arrived */
    bool in_parts; /* answers may have several parts */
    bool part;     /* ... and another part of it follows them */
    bool spoke;    /* a process has answered */
    enum window_state state;
};

/* --- answers --------------------------------------------------------------------------- */

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

/* The piece that is answered; NULL: the process does not hold it. */
static struct cv_lane *find_answered(const struct cv_window *window,
                                     const struct cv_answer_head *answer)
{
    struct cv_lane *found = NULL;

    for (uint32_t i = 0; i < window->count; i++) {
        struct cv_lane *lane = &window->lanes[i];

        if (lane->state == LANE_HELD &&
            (answer->numbered ? lane->number == answer->number
                              : found == NULL || lane->place < found->place))
            found = lane;
    }
    return found;
}

/* Seconds of CV_ANSWER_LATER: at least a millisecond, at most a day; then the command is asked
 * again. */
static double later_s(const struct cv_answer_head *answer)
{
    return fmin(fmax(1e-3 * (double)answer->value, 1e-3), 24 * 3600);
}

static uint32_t count_lanes(const struct cv_window *window, enum lane_state state)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < window->count; i++)
        count += window->lanes[i].state == state;
    return count;
}

/* --- the process ----------------------------------------------------------------------- */

static struct cv_window *window_of(const struct cv_slot *slot)
{
    return (struct cv_window *)slot->carrier; /* its first member */
}

static struct cv_lane *lane_of(const struct cv_slot *slot)
{
    struct cv_window *window = window_of(slot);

    for (uint32_t i = 0; i < window->count; i++)
        if (window->lanes[i].slot == slot)
            return &window->lanes[i];
    return NULL;
}

static bool is_usable(const struct cv_window *window)
{
    const struct cv_slot *carrier = &window->carrier;

    return carrier->process.pid > 0 && !carrier->exited && carrier->kills == 0 &&
           carrier->out >= 0 && !carrier->in.refused && window->state == WINDOW_SERVES;
}

/* End the process, because of `fault` if that is not NULL. */
static void end_process(struct cv_window *window, const char *fault)
{
    struct cv_slot *carrier = &window->carrier;

    if (carrier->fault == NULL)
        carrier->fault = fault;
    if (carrier->kills == 0 && fault != NULL)
        carrier->kills = 1; /* a SIGTERM to clean up would be pointless */
    if (carrier->process.pid > 0 && !carrier->exited)
        cv_slot_kill(carrier);
}

/* End the process because of one piece. */
static void interrupt(struct cv_window *window)
{
    if (window->carrier.kills > 0 || window->state == WINDOW_ENDED)
        return;
    window->state = WINDOW_INTERRUPTED;
    end_process(window, NULL);
}

static void lane_timed_out(void *context)
{
    struct cv_slot *slot = context;

    /* Pieces after the first late one may only have waited for it. */
    slot->timed_out = window_of(slot)->carrier.kills == 0;
    interrupt(window_of(slot));
}

/* --- giving a piece to the command ----------------------------------------------------- */

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
static enum cleave_status put_frame(struct cv_lane *lane, struct cv_pipe_feeder *feeder,
                                    unsigned char *frame, struct cv_part *parts,
                                    size_t count, struct cleave_error *err)
{
    uint64_t length = 0, put;

    for (size_t i = 1; i < count; i++)
        length += parts[i].end - parts[i].begin;
    cv_persistent_length_put(frame, length);
    parts[0] = (struct cv_part){ .bytes = frame, .fd = -1, .end = CV_FRAME };
    put = length <= SMALL ? put_small(feeder->fd, parts, count) : 0;
    lane->sent += put;
    if (put == CV_FRAME + length) {
        feeder->feeding = false;
        cv_pipe_writer_init(&feeder->writer, feeder->fd, parts, 0);
        return CLEAVE_OK;
    }
    skip(parts, count, put);
    CV_TRY(cv_pipe_feeder_begin(feeder, parts, count, err));
    return cv_pipe_feeder_watch(feeder, err);
}

/* A frame for each of the pipes. */
static enum cleave_status put_piece(struct cv_window *window, struct cv_lane *lane,
                                    struct cleave_error *err)
{
    struct cv_slot *carrier = &window->carrier;
    struct cv_part parts[1 + CV_SLOT_PARTS], mates[2];
    const size_t count = cv_slot_parts(lane->slot, parts + 1);
    const size_t nmates = cv_slot_mate_parts(lane->slot, mates + 1);

    CV_TRY(put_frame(lane, &carrier->in, window->frames[0], parts, 1 + count, err));
    return nmates > 0 ? put_frame(lane, &carrier->mate, window->frames[1], mates,
                                  1 + nmates, err)
                      : CLEAVE_OK;
}

/* Bytes of the piece being written that feeders have written. */
static uint64_t fed_now(const struct cv_window *window)
{
    return cv_pipe_writer_fed(&window->carrier.in.writer) +
           cv_pipe_writer_fed(&window->carrier.mate.writer);
}

static void end_feeding(struct cv_window *window)
{
    if (window->feeding != NULL)
        window->feeding->sent += fed_now(window);
    window->feeding = NULL;
}

static enum cleave_status give(struct cv_window *window, struct cv_lane *lane,
                               struct cleave_error *err)
{
    struct cv_slot *carrier = &window->carrier, *slot = lane->slot;

    lane->state = LANE_HELD;
    lane->place = window->given++;
    lane->number = (uint16_t)lane->place;
    lane->sent = 0;
    slot->start_s = cv_clock_s();
    window->feeding = lane;
    CV_TRY(put_piece(window, lane, err));
    if (!carrier->in.feeding && !carrier->mate.feeding)
        end_feeding(window);
    /* The process has ended. It was started for its first piece, which has failed then. */
    if (carrier->in.refused && lane->sent == 0 && lane->place > 0) {
        lane->state = LANE_WAITS;
        return CLEAVE_OK;
    }
    if (slot->timeout_s > 0)
        cv_poller_set(slot->poller, &slot->timer, cv_clock_s() + slot->timeout_s,
                      lane_timed_out, slot);
    return CLEAVE_OK;
}

/* The piece to be given next; NULL: none. Pieces that are given alone come first. */
static struct cv_lane *find_next(const struct cv_window *window)
{
    struct cv_lane *next = NULL;
    bool alone = false;

    for (uint32_t i = 0; i < window->count; i++) {
        struct cv_lane *lane = &window->lanes[i];

        alone = alone || (lane->state != LANE_IDLE && lane->alone);
        if (lane->state == LANE_WAITS &&
            (next == NULL || (lane->alone && !next->alone) ||
             (lane->alone == next->alone && lane->turn < next->turn)))
            next = lane;
    }
    return alone && (count_lanes(window, LANE_HELD) > 0 || next == NULL || !next->alone)
               ? NULL
               : next;
}

static enum cleave_status start_process(struct cv_window *window,
                                        const struct cv_lane *lane,
                                        struct cleave_error *err);

/* Give the process as many pieces as it may hold. */
static enum cleave_status push(struct cv_window *window, struct cleave_error *err)
{
    struct cv_slot *carrier = &window->carrier;
    struct cv_lane *next;

    while (window->state != WINDOW_ENDED && window->feeding == NULL &&
           (next = find_next(window)) != NULL) {
        if (carrier->process.pid <= 0)
            CV_TRY(start_process(window, next, err));
        if (!is_usable(window)) /* its end is pending, and another one follows */
            return CLEAVE_OK;
        CV_TRY(give(window, next, err));
    }
    return CLEAVE_OK;
}

static void push_or_break(struct cv_window *window)
{
    struct cleave_error err;

    if (push(window, &err) != CLEAVE_OK)
        cv_slot_broke(&window->carrier, &err);
}

/* --- the end of a piece ---------------------------------------------------------------- */

static void end_piece(struct cv_lane *lane, enum cv_slot_end end)
{
    struct cv_slot *slot = lane->slot;

    lane->state = LANE_IDLE;
    lane->alone = false;
    slot->persistent.given = false;
    slot->busy = false;
    cv_poller_cancel(slot->poller, &slot->timer);
    slot->events->ended(slot->context, slot, end);
}

/* Copy the end of standard error. */
static void copy_errors(struct cv_slot *slot, const struct cv_slot *carrier)
{
    memcpy(slot->error_lines.tail, carrier->error_lines.tail,
           sizeof slot->error_lines.tail);
}

/* For the user as if a command had ended. */
static void end_answered(struct cv_lane *lane)
{
    struct cv_slot *slot = lane->slot;
    const bool failed = lane->answer.kind != CV_ANSWER_BYTES;

    slot->process.exit_code = failed ? 1 : 0;
    if (lane->answer.kind == CV_ANSWER_LATER)
        slot->later_s = later_s(&lane->answer);
    else if (failed)
        slot->fault = "said that it failed";
    if (failed)
        copy_errors(slot, &window_of(slot)->carrier);
    end_piece(lane, failed ? CV_SLOT_FAILED : CV_SLOT_DONE);
}

/* Report the pieces that were answered and fed. */
static void check_over(struct cv_window *window)
{
    for (uint32_t i = 0; i < window->count; i++)
        if (window->lanes[i].state == LANE_ANSWERED &&
            &window->lanes[i] != window->feeding)
            end_answered(&window->lanes[i]);
}

static void all_fed(void *context, struct cv_pipe_feeder *feeder)
{
    struct cv_window *window = context;

    (void)feeder;
    if (window->carrier.in.feeding || window->carrier.mate.feeding)
        return;
    end_feeding(window);
    check_over(window);
    push_or_break(window);
}

/* --- reading --------------------------------------------------------------------------- */

/* A command that has never sent a length does not know the protocol, so the run fails at once. */
static enum cleave_status no_length(struct cv_window *window, struct cleave_error *err)
{
    char shown[64];

    end_process(window, "answered with an invalid length");
    return window->spoke
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "expected the length of an answer, got '%s': is '%s' made to "
                         "be persistent?",
                         cv_shown((const char *)window->head, CV_FRAME, shown,
                                  sizeof shown),
                         window->carrier.command->argv[0]);
}

/* The head of an answer, or of a part, is complete. */
static enum cleave_status begin_answer(struct cv_window *window, struct cleave_error *err)
{
    struct cv_answer_head answer;
    uint64_t length = cv_persistent_length(window->head);

    window->part =
        window->in_parts && length != UINT64_MAX && (length & CV_STEADY_PART) != 0;
    if (window->part)
        cv_persistent_length_put(window->head, length & ~CV_STEADY_PART);
    if (!cv_answer_head_read(window->head, &answer))
        return no_length(window, err);
    window->reading = find_answered(window, &answer);
    if (window->reading == NULL) {
        end_process(window, "answered a chunk that it does not hold");
        return CLEAVE_OK;
    }
    window->reading->answer = answer;
    window->left = answer.kind == CV_ANSWER_BYTES ? answer.value : 0;
    return CLEAVE_OK;
}

static void end_answer(struct cv_window *window)
{
    if (window->reading == NULL || window->nhead < CV_FRAME || window->left > 0)
        return;
    window->nhead = 0;
    if (window->part)
        return;
    window->reading->state = LANE_ANSWERED;
    window->reading = NULL;
    window->answers++;
    window->spoke = true;
    cv_poller_cancel(window->carrier.poller, &window->carrier.patience);
}

/* No answer is due. The only piece of a command was not answered properly. */
static void distrust_answer(struct cv_window *window)
{
    const bool lone = window->count == 1 && window->lanes[0].state == LANE_ANSWERED;

    if (lone)
        window->lanes[0].state = LANE_HELD;
    end_process(window, lone ? "wrote more than the length of its answer"
                             : "wrote something that it was not asked for");
}

static enum cleave_status take(struct cv_window *window, const char *bytes, size_t length,
                               struct cleave_error *err)
{
    size_t some;

    for (; length > 0 && window->carrier.kills == 0; bytes += some, length -= some) {
        if (window->reading != NULL && window->left > 0) {
            struct cv_chunk_output *store = window->reading->slot->store;

            some = length < window->left ? length : (size_t)window->left;
            /* The end of the last complete line is needed to send lines early. */
            CV_TRY((window->in_parts ? cv_chunk_output_write_lines
                                     : cv_chunk_output_write)(store, bytes, some, err));
            window->left -= some;
        } else if (count_lanes(window, LANE_HELD) == 0) {
            distrust_answer(window);
            return CLEAVE_OK;
        } else {
            some = CV_FRAME - window->nhead < length ? CV_FRAME - window->nhead : length;
            memcpy(window->head + window->nhead, bytes, some);
            window->nhead += some;
            if (window->nhead == CV_FRAME)
                CV_TRY(begin_answer(window, err));
        }
        end_answer(window);
    }
    return CLEAVE_OK;
}

/* Read once; *more: there may be more. */
static enum cleave_status read_some(struct cv_window *window, bool *more,
                                    struct cleave_error *err)
{
    struct cv_slot *carrier = &window->carrier;
    char bytes[COPY];
    ssize_t got;

    if (carrier->kills == 0 && window->reading != NULL && window->left >= COPY) {
        struct cv_chunk_output *store = window->reading->slot->store;
        const uint64_t before = cv_chunk_output_size(store);
        enum cv_chunk_output_state state;

        CV_TRY(cv_chunk_output_pump(store, carrier->out,
                                    window->left < TURN ? window->left : TURN, &state,
                                    err));
        window->left -= cv_chunk_output_size(store) - before;
        *more = state == CV_STORE_BUSY;
        got = state == CV_STORE_END ? 0 : 1;
        end_answer(window);
    } else {
        got = read(carrier->out, bytes, sizeof bytes);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read from a command: %s",
                           strerror(errno));
        *more = got > 0 || (got < 0 && errno == EINTR);
        /* Output of a process that is being killed is read, so that it can end, and dropped. */
        if (got > 0 && carrier->kills == 0)
            CV_TRY(take(window, bytes, (size_t)got, err));
    }
    if (got == 0) {
        cv_poller_remove(carrier->poller, &carrier->out_watch);
        cv_close(&carrier->out);
        if (window->state != WINDOW_LEAVES && !carrier->exited && carrier->kills == 0)
            cv_slot_kill_soon(carrier); /* no answer can follow */
    }
    return CLEAVE_OK;
}

static void answer_ready(void *context, unsigned events)
{
    struct cv_window *window = context;
    struct cv_slot *slot = window->lanes[0].slot;
    struct cleave_error err;
    bool more;

    (void)events;
    if (read_some(window, &more, &err) != CLEAVE_OK) {
        cv_slot_broke(&window->carrier, &err);
        return;
    }
    if (window->in_parts && slot->busy && slot->events->wrote != NULL)
        slot->events->wrote(slot->context, slot);
    check_over(window);
    push_or_break(window);
}

/* --- processes ------------------------------------------------------------------------- */

static void copy_end(struct cv_slot *slot, const struct cv_slot *carrier)
{
    slot->process.exit_code = carrier->process.exit_code;
    slot->process.signal = carrier->process.signal;
    slot->fault = carrier->fault;
    slot->process.usage = carrier->process.usage;
    slot->kills = carrier->kills;
    copy_errors(slot, carrier);
}

static void fail_piece(struct cv_lane *lane, const struct cv_slot *carrier)
{
    struct cv_slot *slot = lane->slot;

    copy_end(slot, carrier);
    if (slot->fault == NULL && slot->process.exit_code == 0)
        slot->fault = "exited before it answered";
    end_piece(lane, slot->stopping    ? CV_SLOT_STOPPED
                    : slot->timed_out ? CV_SLOT_TIMED_OUT
                                      : CV_SLOT_FAILED);
}

static enum cleave_status open_store(struct cv_slot *slot, struct cleave_error *err)
{
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    if (slot->sends)
        cv_chunk_output_use_blocks(slot->store);
    return CLEAVE_OK;
}

/* The next process gets the piece. */
static void wait_again(struct cv_lane *lane, bool alone)
{
    struct cleave_error err;

    lane->state = LANE_WAITS;
    lane->alone = lane->alone || alone;
    cv_poller_cancel(lane->slot->poller, &lane->slot->timer);
    if (open_store(lane->slot, &err) != CLEAVE_OK)
        cv_slot_broke(lane->slot, &err);
}

/* The process has ended: report its pieces, or let them wait for the next one. `innocent`: none of
 * them is the reason. */
static void settle_pieces(struct cv_window *window, bool innocent)
{
    struct cv_slot *carrier = &window->carrier;
    const uint32_t held = count_lanes(window, LANE_HELD);
    uint32_t regiven = 0;

    for (uint32_t i = 0; i < window->count; i++) {
        struct cv_lane *lane = &window->lanes[i];
        const bool ended =
            lane->state != LANE_IDLE && (lane->slot->stopping || lane->slot->timed_out);
        /* Bytes that are no answer may be due to an earlier piece. */
        const bool guilty = lane->state == LANE_HELD && held == 1 && !innocent &&
                            (carrier->fault == NULL || lane->alone);

        regiven += lane->state == LANE_HELD && !ended && !guilty && !innocent;
        if (ended || guilty)
            fail_piece(lane, carrier);
        else if (lane->state == LANE_HELD)
            wait_again(lane, !innocent);
    }
    if (regiven > 0 && carrier->events->regiven != NULL)
        carrier->events->regiven(carrier->context, carrier, regiven);
}

/* If a limit prevents a process, the pieces that wait are not begun. */
static void start_another(struct cv_window *window)
{
    struct cleave_error err;
    const enum cleave_status status = push(window, &err);

    if (status == CLEAVE_OK)
        return;
    if (status != CLEAVE_ERESOURCES) {
        cv_slot_broke(&window->carrier, &err);
        return;
    }
    for (uint32_t i = 0; i < window->count; i++) {
        struct cv_lane *lane = &window->lanes[i];

        if (lane->state != LANE_WAITS)
            continue;
        lane->slot->unbegun = true;
        cv_slot_note_unstarted(lane->slot, &err);
        lane->slot->process.exit_code = UNSTARTED;
        end_piece(lane, CV_SLOT_FAILED);
    }
}

static void process_ended(void *context, unsigned events)
{
    struct cv_window *window = context;
    struct cv_slot *carrier = &window->carrier;
    struct cleave_error err;
    enum cleave_status status = CLEAVE_OK;
    bool more = true, interrupted, cut_short;

    (void)events;
    carrier->exited = true;
    while (status == CLEAVE_OK && carrier->out >= 0 && more)
        status = read_some(window, &more, &err);
    if (carrier->out >= 0)
        cv_process_signal(&carrier->process, SIGKILL); /* children of the command */
    cv_slot_release(carrier);
    cv_process_reap(&carrier->process);
    cut_short = window->reading != NULL || window->nhead > 0;
    end_feeding(window);
    window->reading = NULL;
    window->nhead = 0;
    if (status != CLEAVE_OK) {
        cv_slot_broke(carrier, &err);
        return;
    }
    interrupted = window->state == WINDOW_INTERRUPTED;
    window->state = WINDOW_ENDED;
    check_over(window);
    if (count_lanes(window, LANE_HELD) == 0 && !interrupted)
        carrier->events->left(carrier->context, carrier);
    settle_pieces(window, interrupted || (carrier->process.exit_code == 0 &&
                                          carrier->fault == NULL && window->answers > 0 &&
                                          !cut_short));
    window->state = WINDOW_SERVES;
    carrier->kills = 0;
    start_another(window);
}

static void report_silent_command(void *context)
{
    struct cv_slot *carrier = context;

    carrier->events->silent(carrier->context, carrier);
}

static enum cleave_status launch(struct cv_window *window, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err)
{
    struct cv_slot *carrier = &window->carrier;

    CV_TRY(cv_slot_open_pipes(carrier, pipes, err));
    carrier->in.over = carrier->mate.over = all_fed;
    carrier->in.refused = carrier->mate.refused = false;
    if ((carrier->in.fd >= 0 && !cv_never_wait(carrier->in.fd)) ||
        (carrier->mate.fd >= 0 && !cv_never_wait(carrier->mate.fd)) ||
        !cv_never_wait(carrier->out))
        return cv_fail(err, CLEAVE_EENGINE, "cannot set up a pipe: %s", strerror(errno));
    CV_TRY(cv_slot_spawn(carrier, pipes, false, err));
    if (!window->spoke)
        cv_poller_set(carrier->poller, &carrier->patience, cv_clock_s() + PATIENCE_S,
                      report_silent_command, carrier);
    CV_TRY(cv_poller_add(carrier->poller, &carrier->out_watch, carrier->out, CV_READABLE,
                         answer_ready, window, err));
    return cv_poller_add(carrier->poller, &carrier->end_watch, carrier->process.pidfd,
                         CV_READABLE, process_ended, window, err);
}

/* Start a process for the piece, and for others like it. */
static enum cleave_status start_process(struct cv_window *window,
                                        const struct cv_lane *lane,
                                        struct cleave_error *err)
{
    struct cv_slot_pipes pipes = CV_SLOT_NO_PIPES;
    struct cv_slot *carrier = &window->carrier;
    const struct cv_slot *slot = lane->slot;
    enum cleave_status status;

    carrier->poller = slot->poller;
    carrier->outputs = slot->outputs;
    carrier->command = window->lanes[0].slot->command;
    carrier->timeout_s = slot->timeout_s;
    carrier->events = slot->events;
    carrier->context = slot->context;
    carrier->worker = window->lanes[0].slot->worker;
    carrier->listener = slot->listener;
    carrier->piece = slot->piece; /* whether it has mates */
    window->in_parts = slot->persistent.in_parts;
    window->given = window->answers = 0;
    window->nhead = 0;
    window->left = 0;
    window->part = false;
    status = launch(window, &pipes, err);
    cv_slot_close_pipes(&pipes);
    if (status != CLEAVE_OK)
        cv_slot_kill_now(carrier);
    return status;
}

/* --- the kind -------------------------------------------------------------------------- */

static void done_window(struct cv_slot *slot)
{
    struct cv_window *window = window_of(slot);
    struct cv_lane *lane = lane_of(slot);
    const bool held = lane->state == LANE_HELD || lane->state == LANE_ANSWERED;

    lane->state = LANE_IDLE;
    lane->alone = false;
    slot->busy = slot->persistent.given = false;
    cv_poller_cancel(slot->poller, &slot->timer);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    if (count_lanes(window, LANE_IDLE) == window->count) {
        cv_slot_kill_now(&window->carrier);
        if (window->state != WINDOW_ENDED)
            window->state = WINDOW_SERVES;
        window->carrier.kills = 0;
        window->feeding = window->reading = NULL;
    } else if (held) {
        if (window->feeding == lane) {
            cv_pipe_feeder_close(&window->carrier.in);
            cv_pipe_feeder_close(&window->carrier.mate);
            window->feeding = NULL;
        }
        window->reading = window->reading == lane ? NULL : window->reading;
        interrupt(window);
    }
}

static enum cleave_status start_window(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_window *window = window_of(slot);
    struct cv_lane *lane = lane_of(slot);
    enum cleave_status status = open_store(slot, err);

    slot->busy = true;
    slot->stopping = slot->timed_out = slot->unbegun = false;
    slot->kills = 0;
    slot->fault = NULL;
    slot->later_s = 0;
    slot->process = (struct cv_process){ .pidfd = -1 };
    slot->error_lines.tail[0] = '\0';
    slot->persistent.given = true;
    slot->persistent.leaving = false;
    slot->start_s = cv_clock_s();
    lane->state = LANE_WAITS;
    lane->alone = window->count == 1;
    lane->turn = ++window->turns;
    CV_THEN(status, push(window, err));
    if (status != CLEAVE_OK)
        cv_slot_done(slot);
    return status;
}

/* The command knows the length of the piece, so nothing can be taken back. */
static uint64_t fed_window(const struct cv_slot *slot)
{
    return slot->piece.body.end;
}

static uint64_t sent_window(const struct cv_slot *slot)
{
    const struct cv_window *window = window_of(slot);
    const struct cv_lane *lane = lane_of(slot);

    return lane->sent + (window->feeding == lane ? fed_now(window) : 0);
}

static void stop_window(struct cv_slot *slot)
{
    struct cv_window *window = window_of(slot);

    slot->stopping = slot->stopping || slot->busy;
    if (window->carrier.process.pid <= 0 || window->carrier.stopping)
        return;
    window->carrier.stopping = true;
    interrupt(window);
}

static bool all_leave(const struct cv_window *window)
{
    for (uint32_t i = 0; i < window->count; i++) {
        const struct cv_lane *lane = &window->lanes[i];

        /* The master asks no seat of a host to leave that never had a chunk. */
        if (lane->slot != NULL && lane->turn > 0 &&
            (lane->slot->busy || !lane->slot->persistent.leaving))
            return false;
    }
    return true;
}

static bool leave_window(struct cv_slot *slot)
{
    struct cv_window *window = window_of(slot);
    struct cv_slot *carrier = &window->carrier;

    if (carrier->process.pid <= 0)
        return true;
    slot->persistent.leaving = true;
    if (window->state == WINDOW_SERVES && all_leave(window)) {
        window->state = WINDOW_LEAVES;
        cv_pipe_feeder_close(&carrier->in);
        cv_pipe_feeder_close(&carrier->mate);
        if (carrier->kills == 0) {
            carrier->fault = NULL;
            cv_slot_limit(carrier);
        }
    }
    return false;
}

static void free_window(struct cv_slot *slot)
{
    struct cv_window *window = window_of(slot);

    lane_of(slot)->slot = NULL;
    slot->carrier = NULL;
    if (--window->users > 0)
        return;
    cv_slot_kill_now(&window->carrier);
    cv_error_lines_close(&window->carrier);
    free(window->lanes);
    free(window);
}

static const struct cv_slot_kind window_kind = {
    .start = start_window,
    .fed = fed_window,
    .sent = sent_window,
    .stop = stop_window,
    .leave = leave_window,
    .done = done_window,
    .free = free_window,
};

enum cleave_status cv_persistent_init(struct cv_slot *slot, struct cv_slot *first,
                                      uint32_t count, struct cleave_error *err)
{
    struct cv_window *window = first != NULL ? window_of(first) : NULL;

    if (window == NULL) {
        window = calloc(1, sizeof *window);
        if (window != NULL)
            window->lanes = calloc(count, sizeof *window->lanes);
        if (window == NULL || window->lanes == NULL) {
            free(window);
            return cv_fail_memory(err, "the chunks that a command holds");
        }
        cv_slot_init(&window->carrier);
        window->carrier.kind = &window_kind;
        window->carrier.poller = slot->poller;
        window->count = count;
    }
    slot->kind = &window_kind;
    slot->carrier = &window->carrier;
    window->lanes[window->users++].slot = slot;
    return CLEAVE_OK;
}

enum cleave_status cv_window_tell(struct cv_command *command, uint32_t count,
                                  struct cleave_error *err)
{
    char text[16];

    snprintf(text, sizeof text, "%u", count);
    return count > 0 ? cv_command_set(command, "CLEAVE_WINDOW", text, err) : CLEAVE_OK;
}
