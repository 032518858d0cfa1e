/* open_chunks.c -- open chunks: extended until they are closed, and recalled.
 * SPDX-License-Identifier: MIT
 *
 * An extension is what directly follows in the input, so that the chunk is one piece at
 * its end. If its command fails, the whole piece is retried and not extended again. Only
 * for slots that start a command for each chunk. */
#include "run/master/exec_run.h"

#include <math.h>
#include "base/fail.h"
#include "model/platform/at_once.h"
#include "run/hosts/hosts.h"
#include "run/slot/slot.h"

/* Seconds without input that do not count as start-up. */
static const double WAITED_S = 0.1;

static enum cleave_status part(struct cv_source *source, const struct cv_slot *slot,
                               double bytes, uint64_t from, struct cv_piece *head,
                               struct cv_piece *tail, struct cleave_error *err);

static enum cleave_status take_unsent(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      double bytes, struct cleave_error *err);

static void tell(struct cv_exec_run *run, const struct cv_attempt *attempt,
                 struct cleave_event event)
{
    cv_event_queue_report(&run->events, &attempt->chunk, event);
}

static void tell_recalled(struct cv_exec_run *run, const struct cv_attempt *attempt,
                          double units)
{
    tell(run, attempt, (struct cleave_event){ .kind = CLEAVE_RECALLED, .units = units });
}

/* --- reports of the command ------------------------------------------------------------ */

void cv_open_chunks_began(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const double now_s = cv_clock_s(), waited_s = attempt->bound_s - slot->start_s;
    /* A command that was started before its first input byte arrived gives no start-up
     * time. */
    const double at_once_s = cv_at_once_s(waited_s, INFINITY);
    const bool shows = now_s - attempt->bound_s > at_once_s || waited_s <= 0;
    const bool waited = !shows && waited_s >= WAITED_S;
    /* The command has probably started in the mean time of others; the rest was
     * waiting for input. */
    const double start_s = waited ? fmin(waited_s, cv_worker_pool_start_s(&run->pool))
                                  : now_s - slot->start_s;

    if (start_s > 0)
        cv_worker_pool_started(&run->pool, slot->worker, start_s);
    if (waited)
        slot->open.idle_s += waited_s - start_s;
    if (shows)
        attempt->start_s = now_s - slot->open.spawn_s;
    tell(run, attempt,
         (struct cleave_event){ .kind = CLEAVE_STARTED,
                                .units = cv_attempt_units(attempt),
                                .start_s = slot->open.spawn_s - run->events.began_s });
}

void cv_open_chunks_drained(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);

    cv_unread_input_read(&attempt->unread, &run->slow, cv_clock_s());
    tell(run, attempt,
         (struct cleave_event){
             .kind = CLEAVE_DRAINED,
             .units = cv_attempt_units(attempt),
             .output = cv_slot_is_remote(slot) ? 0 : (double)cv_slot_look(slot).output });
}

static void tell_seen(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cv_slot_seen *seen)
{
    tell(run, attempt,
         (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                .units = (double)seen->read,
                                .output = (double)seen->output,
                                .cpu_s = seen->cpu_s });
}

void cv_open_chunks_seen(void *context, struct cv_slot *slot,
                         const struct cv_slot_seen *seen)
{
    tell_seen(context, cv_attempt_of(slot), seen);
}

/* --- end ------------------------------------------------------------------------------- */

void cv_open_chunks_over(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    if (attempt->due > 0)
        cv_order_queue_release(&run->queue, attempt->due);
    attempt->due = 0;
    cv_unread_input_end(&attempt->unread, &run->slow, attempt->slot.open.read_s,
                        cv_clock_s());
    attempt->unread = (struct cv_unread_input){ 0 };
    for (uint32_t n = cv_remote_forget_looks(&attempt->slot); n > 0; n--)
        tell_seen(run, attempt, &(struct cv_slot_seen){ .read = 0 });
}

void cv_open_chunks_drop(struct cv_exec_run *run, struct cv_attempt *attempt, bool lost)
{
    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    run->queue.lost += lost;
    tell(run, attempt,
         (struct cleave_event){ .kind = lost ? CLEAVE_LOST : CLEAVE_DONE,
                                .start_s =
                                    attempt->chunk.began_s - run->events.began_s });
}

/* Carry out the reaction to a close or to the end of an extension. */
static void carry_out(struct cv_exec_run *run, struct cv_attempt *attempt,
                      enum cv_attempt_action action)
{
    if (action == CV_ACTION_CLOSE_INPUT)
        cv_slot_close_input(&attempt->slot);
    else if (action == CV_ACTION_DROP || action == CV_ACTION_DROP_LOST)
        cv_open_chunks_drop(run, attempt, action == CV_ACTION_DROP_LOST);
}

static void close_one(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    carry_out(run, attempt,
              cv_attempt_step(attempt,
                              attempt->due > 0 ? CV_EVENT_CLOSE_DUE : CV_EVENT_CLOSE));
}

/* --- start ----------------------------------------------------------------------------- */

/* Start the command of an open chunk. If there are too few processes or descriptors now, *out is
 * false, and the event that was pushed last, which reported the start, is removed. */
static enum cleave_status open_slot(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    const struct cv_piece *piece, bool *out,
                                    struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cleave_error why;
    enum cleave_status status = cv_resource_wait_look(run, slot, &why);

    cv_attempt_step(attempt, CV_EVENT_START);
    slot->small_write = run->small_write;
    if (status == CLEAVE_OK)
        status = cv_slot_open(slot, piece, &why);
    *out = status == CLEAVE_OK;
    if (*out) {
        cv_start_limiter_begun(&run->limiter);
        return CLEAVE_OK;
    }
    cv_attempt_step(attempt, CV_EVENT_NO_START);
    if (cv_resource_wait_wait(run, slot, &why)) {
        cv_event_queue_remove(&run->events);
        return CLEAVE_OK;
    }
    if (err != NULL)
        *err = why;
    return status;
}

enum cleave_status cv_open_chunks_begin(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    bool begun;

    cv_attempt_step(attempt, CV_EVENT_ORDER);
    attempt->slot.number = attempt->chunk.number;
    attempt->runs_s = attempt->chunk.began_s;
    attempt->bound_s = attempt->start_s = 0;
    attempt->due = pending->more;
    attempt->unread = (struct cv_unread_input){ 0 };
    if (piece->end > piece->begin)
        cv_unread_input_give(&attempt->unread, piece->end - piece->begin, cv_clock_s());
    CV_TRY(open_slot(run, attempt, piece, &begun, err));
    if (!begun) {
        cv_attempt_step(attempt, CV_EVENT_WITHDRAW);
        attempt->due = 0;
        run->queue.running--;
        return cv_order_queue_defer(&run->queue, attempt->chunk.owner, pending, piece,
                                    err);
    }
    if (pending->close)
        close_one(run, attempt);
    return CLEAVE_OK;
}

enum cleave_status cv_open_chunks_put_back(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;

    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    if (!cv_attempt_is_empty(attempt)) {
        CV_TRY(cv_source_put_back(run->queue.source, &piece, err));
        tell_recalled(run, attempt, cv_attempt_units(attempt));
    }
    cv_order_queue_complete_empty(&run->queue, attempt->chunk.owner,
                                  attempt->chunk.number, attempt->chunk.reported);
    return CLEAVE_OK;
}

void cv_open_chunks_close(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);
    struct cv_pending_order *pending = cv_order_queue_open_order(&run->queue, worker);

    if (attempt != NULL && !cv_attempt_is_closed(attempt))
        close_one(run, attempt);
    else if (attempt == NULL && pending != NULL)
        pending->close = true;
}

enum cleave_status cv_open_chunks_finish(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         struct cleave_error *err)
{
    if (!cv_slot_is_remote(&attempt->slot))
        CV_TRY(take_unsent(run, attempt, INFINITY, err));
    if (!cv_attempt_is_closed(attempt))
        close_one(run, attempt);
    return CLEAVE_OK;
}

/* --- extensions ------------------------------------------------------------------------ */

struct cv_incoming cv_open_chunks_incoming(const struct cv_exec_run *run, uint64_t wanted)
{
    return (struct cv_incoming){ .ready = cv_source_ready(run->queue.source),
                                 .wanted = wanted,
                                 .start_s = cv_worker_pool_start_s(&run->pool),
                                 .speed_ups = cv_worker_pool_speed(&run->pool),
                                 .workers = run->pool.nworkers,
                                 .idle = run->queue.running == 0 };
}

/* Whether the range of the input from `begin` could extend an open chunk. */
static bool could_extend(const struct cv_exec_run *run, uint64_t begin)
{
    for (uint32_t w = 0; w < run->table.count; w++) {
        const struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, w);

        if (attempt != NULL && !cv_attempt_is_closed(attempt) &&
            !cv_attempt_is_empty(attempt) &&
            cv_source_extends(run->queue.source, &attempt->slot.piece, begin))
            return true;
    }
    return false;
}

/* An equal share of the input until a command has read something, so that tests can grow. */
static uint64_t room_of(const struct cv_exec_run *run)
{
    uint32_t workers = 1;

    if (run->pool.all.starts > 0)
        return 0;
    for (uint32_t w = 1; w < run->pool.nworkers; w++)
        workers += cv_worker_pool_there(&run->pool, w);
    return cv_source_extent(run->queue.source) / workers;
}

/* Less than `wanted` is enough, because a stream can be added to later. Of a file, the largest
 * range is used: from its end if it could extend an open chunk, so that this chunk can grow. */
enum cleave_status cv_open_chunks_take(const struct cv_exec_run *run, uint64_t wanted,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err)
{
    struct cv_source *source = run->queue.source;
    const struct cv_incoming input = cv_open_chunks_incoming(run, wanted);
    const bool shared =
        cv_source_flows(source) || (isinf(run->queue.owed) && input.ready < wanted);
    const uint64_t part = shared ? cv_slow_stream_part(&input) : input.ready;
    uint64_t begin;

    if (cv_source_largest(source, &begin))
        return cv_source_take_largest(source, wanted, could_extend(run, begin),
                                      room_of(run), state, out, err);
    return cv_source_take(source, input.ready > 0 && part < wanted ? part : wanted, state,
                          out, err);
}

/* Seconds until another worker could begin with new input; INFINITY: none can. */
static double others_begin_in(const struct cv_exec_run *run)
{
    for (uint32_t w = 0; run->queue.growing > 1 && w < run->table.count; w++) {
        const struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, w);

        if (attempt != NULL && attempt->due > 0 && cv_attempt_is_running(attempt) &&
            cv_attempt_is_empty(attempt))
            return 0;
    }
    return run->queue.pending > 0 ? cv_worker_pool_start_s(&run->pool) : INFINITY;
}

/* Close the chunk of a slow stream after LONG_S, or LONG_STARTS mean starts, so that
 * its output is written. */
static const double LONG_S = 1, LONG_STARTS = 50;

/* Input that follows a chunk of a stream is added to it, unless another worker could
 * begin with it before this one has read what it has, or the chunk is old. */
static enum cleave_status find_behind(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      uint64_t wanted, enum cv_take *state,
                                      struct cv_piece *out, struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    const bool flows =
        cv_source_flows(run->queue.source) && !cv_slot_is_remote(&attempt->slot);
    const double rest_s =
        flows ? cv_unread_input_rest(&attempt->unread, &run->slow, now_s) : 0;
    const double others_s = rest_s > 0 ? others_begin_in(run) : INFINITY;
    const double end_s = fmax(attempt->bound_s, attempt->chunk.began_s) +
                         fmax(LONG_S, LONG_STARTS * cv_worker_pool_start_s(&run->pool));

    if (rest_s > others_s) {
        *state = CV_TAKE_WAIT;
        cv_slow_stream_wake(&run->slow, run->poller, now_s + rest_s - others_s);
        return CLEAVE_OK;
    }
    CV_TRY(cv_source_take_behind(run->queue.source, &attempt->slot.piece, wanted, state,
                                 out, err));
    if (*state != CV_TAKE_WAIT || !flows)
        return CLEAVE_OK;
    if (now_s < end_s)
        cv_slow_stream_wake(&run->slow, run->poller, end_s);
    else
        *state = CV_TAKE_END;
    return CLEAVE_OK;
}

/* Find the extension. CV_TAKE_WAIT: it is not known yet. */
static enum cleave_status find_more(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    enum cv_take *state, struct cv_piece *out,
                                    struct cleave_error *err)
{
    const struct cv_slot *slot = &attempt->slot;
    const uint64_t wanted =
        (uint64_t)cv_order_queue_fit_size(&run->queue,
                                          slot->piece.end - slot->piece.begin,
                                          attempt->due);

    *state = CV_TAKE_END;
    if (run->halted || run->stopping || wanted == 0 ||
        !cv_worker_pool_there(&run->pool, slot->worker))
        return CLEAVE_OK;
    if (cv_remote_facts(slot).cutting) {
        *state = CV_TAKE_WAIT;
        return CLEAVE_OK;
    }
    if (!cv_attempt_is_empty(attempt))
        return cv_slot_is_open(slot) ? find_behind(run, attempt, wanted, state, out, err)
                                     : CLEAVE_OK;
    /* The command ended without input; another one is started after it. */
    if (cv_attempt_is_running(attempt) && !cv_slot_is_open(slot)) {
        *state = CV_TAKE_WAIT;
        return CLEAVE_OK;
    }
    return cv_open_chunks_take(run, wanted, state, out, err);
}

static enum cleave_status grow_one(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    const uint64_t before = slot->piece.end - slot->piece.begin;
    const bool starts = !cv_attempt_is_running(attempt);
    const struct cv_piece blank = slot->piece;
    struct cv_piece longer = slot->piece;
    enum cv_take state;
    bool begun = true;

    if (starts && !cv_worker_pool_there(&run->pool, slot->worker)) {
        carry_out(run, attempt, cv_attempt_step(attempt, CV_EVENT_EMPTY_LOST));
        return CLEAVE_OK;
    }
    if (starts && !cv_slot_is_remote(slot) && cv_start_limiter_is_crowded(&run->limiter))
        return CLEAVE_OK;
    CV_TRY(find_more(run, attempt, &state, &longer, err));
    if (state == CV_TAKE_WAIT)
        return CLEAVE_OK;
    tell(run, attempt,
         (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                .units = (double)(longer.end - longer.begin - before) });
    if (state == CV_TAKE_PIECE && before == 0)
        attempt->bound_s = cv_clock_s();
    if (starts && state == CV_TAKE_PIECE) {
        attempt->chunk.began_s = attempt->runs_s = cv_clock_s();
        CV_TRY(open_slot(run, attempt, &longer, &begun, err));
    }
    if (!begun) {
        slot->piece = blank;
        return cv_source_put_back(run->queue.source, &longer, err);
    }
    cv_order_queue_release(&run->queue, attempt->due);
    attempt->due = 0;
    if (state == CV_TAKE_PIECE)
        cv_unread_input_give(&attempt->unread, longer.end - longer.begin - before,
                             cv_clock_s());
    if (!starts && state == CV_TAKE_PIECE)
        CV_TRY(cv_slot_extend(slot, &longer, err));
    carry_out(run, attempt, cv_attempt_step(attempt, CV_EVENT_SETTLE));
    return CLEAVE_OK;
}

enum cleave_status cv_open_chunks_grow(struct cv_exec_run *run, struct cleave_error *err)
{
    for (uint32_t w = 0; w < run->table.count; w++) {
        struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, w);

        if (attempt != NULL && attempt->due > 0)
            CV_TRY(grow_one(run, attempt, err));
    }
    return CLEAVE_OK;
}

enum cleave_status cv_open_chunks_extend(struct cv_exec_run *run, uint32_t worker,
                                         double units, struct cleave_error *err)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);
    struct cv_pending_order *pending = cv_order_queue_open_order(&run->queue, worker);

    if (attempt == NULL && pending == NULL)
        return CLEAVE_OK; /* CLEAVE_DONE will be reported */
    if (attempt == NULL) {
        pending->more = cv_order_queue_reserve(&run->queue, units);
        return CLEAVE_OK;
    }
    attempt->due = cv_order_queue_reserve(&run->queue, units);
    return grow_one(run, attempt, err);
}

/* --- all open chunks ------------------------------------------------------------------- */

void cv_open_chunks_look(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_attempt *attempt = cv_attempt_table_find_last(&run->table, worker);
    struct cv_slot_seen seen = { .read = 0 };

    if (attempt == NULL) {
        cv_event_queue_push(&run->events, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                                                 .worker = worker });
        return;
    }
    if (cv_slot_is_remote(&attempt->slot) && attempt->slot.open.on) {
        cv_remote_look(&attempt->slot);
        return;
    }
    if (!cv_slot_is_remote(&attempt->slot))
        seen = cv_slot_look(&attempt->slot);
    tell_seen(run, attempt, &seen);
}

void cv_open_chunks_end_one(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);

    if (attempt != NULL && !cv_attempt_is_closed(attempt))
        close_one(run, attempt);
}

void cv_open_chunks_end(struct cv_exec_run *run)
{
    for (uint32_t w = 0; w < run->table.count; w++)
        cv_open_chunks_end_one(run, w);
}

bool cv_open_chunks_awaits_order(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);

    return attempt != NULL && cv_attempt_awaits_order(attempt);
}

/* End the command of the open chunk if it waits for an order; `travels` chooses hosts
 * or this machine. */
static void end_waiting(struct cv_exec_run *run, uint32_t worker, bool travels)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);

    if (attempt == NULL || !cv_attempt_is_running(attempt) ||
        !cv_attempt_awaits_order(attempt) || cv_slot_is_remote(&attempt->slot) != travels)
        return;
    if (cv_attempt_is_empty(attempt))
        cv_slot_stop(&attempt->slot);
    else
        close_one(run, attempt);
}

void cv_open_chunks_yield_slot(struct cv_exec_run *run, uint32_t worker)
{
    end_waiting(run, worker, true);
}

/* The policy may wait for a command that needs these processes and descriptors. */
void cv_open_chunks_make_room(struct cv_exec_run *run)
{
    for (uint32_t w = 0; w < run->table.count; w++)
        end_waiting(run, w, false);
}

bool cv_open_chunks_wait(const struct cv_exec_run *run)
{
    bool any = false;

    for (uint32_t w = 0; w < run->table.count; w++) {
        const struct cv_worker_attempts *places = &run->table.items[w];

        for (uint32_t i = 0; i < places->count; i++) {
            const bool waits = cv_attempt_awaits_order(&places->items[i]);

            any = any || waits;
            if (cv_attempt_is_running(&places->items[i]) && !waits)
                return false;
        }
    }
    return any;
}

/* --- recalls --------------------------------------------------------------------------- */

/* Take back a whole piece that has not arrived, if more is wanted than the part that
 * was not sent. */
static enum cleave_status take_all(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    struct cv_worker_stats *tally = &run->pool.tallies[attempt->slot.worker];

    tally->taken_back_s = fmax(tally->taken_back_s, cv_remote_sending_s(&attempt->slot));
    cv_remote_forget(&attempt->slot);
    cv_attempt_step(attempt, CV_EVENT_TAKE_BACK);
    cv_worker_health_note_retried(&run->pool.health, &attempt->chunk.past);
    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    CV_TRY(cv_source_put_back(run->queue.source, &piece, err));
    tell_recalled(run, attempt, piece.units);
    cv_order_queue_complete_empty(&run->queue, attempt->chunk.owner,
                                  attempt->chunk.number, attempt->chunk.reported);
    return CLEAVE_OK;
}

/* Split the piece so that up to `bytes`, but not all, are in the tail. The tail
 * is empty if the command that reads the input cannot be started now. */
static enum cleave_status part(struct cv_source *source, const struct cv_slot *slot,
                               double bytes, uint64_t from, struct cv_piece *head,
                               struct cv_piece *tail, struct cleave_error *err)
{
    const struct cv_range body = slot->piece.body;
    const uint64_t min = from > body.begin ? from : body.begin + 1;
    const uint64_t max = (uint64_t)fmin(bytes, (double)(body.end - from));
    const uint64_t at = body.end - max > min ? body.end - max : min;

    const enum cleave_status status =
        cv_source_part(source, &slot->piece, at, head, tail, err);

    if (status != CLEAVE_ERESOURCES)
        return status;
    *head = *tail = slot->piece;
    tail->begin = tail->end;
    return CLEAVE_OK;
}

/* Take back bytes that were not fed, or not sent to a host. */
static enum cleave_status take_unsent(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      double bytes, struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cv_piece head, tail;
    enum cleave_status status;
    bool cut;
    double taken = 0;

    cv_slot_hold(slot); /* a thread may be feeding it */
    status = part(run->queue.source, slot, bytes, cv_slot_fed(slot), &head, &tail, err);
    cut = status == CLEAVE_OK && tail.end > tail.begin && cv_slot_cut(slot, &head);
    cv_slot_go_on(slot);
    CV_TRY(status);
    if (cut) {
        CV_TRY(cv_source_put_back(run->queue.source, &tail, err));
        taken = tail.units;
    }
    tell_recalled(run, attempt, taken);
    return CLEAVE_OK;
}

/* A command that did not read would have failed on any input: it keeps this many
 * bytes, so that small writes do not each become a failed chunk. */
enum { UNREAD = 4096 };

/* End of the input that the command was given, once its slot has ended. */
static uint64_t given_until(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t given = cv_remote_facts(slot).given;

    if (!cv_slot_is_remote(slot)) {
        const uint64_t at = cv_pipe_writer_at(&slot->in.writer, cv_slot_body(slot));
        const uint64_t min = piece->body.begin + UNREAD;

        return slot->open.spawn_s > 0 || at > min ? at : min;
    }
    /* A host that has not reported it may have fed everything. */
    return given > header ? piece->body.begin + given - header : piece->body.end;
}

/* Put back the bytes after `until`. */
static enum cleave_status put_back_from(struct cv_exec_run *run,
                                        struct cv_attempt *attempt, uint64_t until,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cv_piece head, tail;

    if (until >= slot->piece.body.end)
        return CLEAVE_OK;
    CV_TRY(part(run->queue.source, slot, (double)(slot->piece.body.end - until), until,
                &head, &tail, err));
    if (tail.end == tail.begin)
        return CLEAVE_OK;
    CV_TRY(cv_source_put_back(run->queue.source, &tail, err));
    slot->piece = head;
    tell_recalled(run, attempt, tail.units);
    return CLEAVE_OK;
}

enum cleave_status cv_recall_unread(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    struct cleave_error *err)
{
    return put_back_from(run, attempt, given_until(&attempt->slot), err);
}

enum cleave_status cv_recall_untransferred(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err)
{
    return put_back_from(run, attempt, cv_slot_fed(&attempt->slot), err);
}

void cv_recall_answered(void *context, struct cv_slot *slot, bool done)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const struct cv_piece tail = attempt->tail;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (!done && cv_slot_is_open(slot)) { /* more was fed meanwhile */
        status = take_unsent(run, attempt, (double)(tail.end - tail.begin), &err);
    } else {
        if (done)
            status = cv_source_put_back(run->queue.source, &tail, &err);
        tell_recalled(run, attempt, done ? tail.units : 0);
    }
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* Whether the command may have been given everything before the host's report arrives.
 * Taking it back would kill the command, and a persistent one is worth more. */
static bool may_be_given(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    const struct cv_remote_facts facts = cv_remote_facts(slot);

    return run->stay && cv_is_announced(&facts) &&
           cv_slot_fed(slot) >= slot->piece.body.end;
}

static enum cleave_status recall_remote(struct cv_exec_run *run,
                                        struct cv_attempt *attempt, double bytes,
                                        struct cleave_error *err)
{
    struct cv_source *source = run->queue.source;
    struct cv_slot *slot = &attempt->slot;
    const struct cv_range body = slot->piece.body;
    const uint64_t fed = cv_slot_fed(slot);
    const double all = (double)(body.end - body.begin);
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    struct cv_piece head, tail;

    if (!cv_has_arrived(&facts) && facts.bound_s <= 0 && !may_be_given(run, slot) &&
        cv_slot_passed(slot) == 0 &&
        (bytes >= all || (bytes > (double)(body.end - fed) && bytes > 0.5 * all)))
        return take_all(run, attempt, err);
    CV_TRY(part(source, slot, bytes, cv_remote_cut_from(slot), &head, &tail, err));
    if (tail.end > tail.begin &&
        (cv_has_arrived(&facts) || (slot->open.on && head.body.end < fed))) {
        attempt->tail = tail;
        if (cv_remote_ask_cut(slot, &head))
            return CLEAVE_OK; /* the host will answer */
    } else if (tail.end > tail.begin && cv_slot_cut(slot, &head)) {
        CV_TRY(cv_source_put_back(source, &tail, err));
        tell_recalled(run, attempt, tail.units);
        return CLEAVE_OK;
    }
    tell_recalled(run, attempt, 0);
    return CLEAVE_OK;
}

enum cleave_status cv_recall(struct cv_exec_run *run, uint32_t worker, double units,
                             struct cleave_error *err)
{
    struct cv_attempt *attempt = cv_attempt_table_find_last(&run->table, worker);
    double bytes;

    if (attempt == NULL) {
        cv_event_queue_push(&run->events, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                                 .worker = worker });
        return CLEAVE_OK;
    }
    bytes = (double)cv_source_tail(run->queue.source, &attempt->slot.piece, units);
    if (bytes >= 1 && attempt->twin == NULL)
        return cv_slot_is_remote(&attempt->slot) ? recall_remote(run, attempt, bytes, err)
                                                 : take_unsent(run, attempt, bytes, err);
    tell_recalled(run, attempt, 0);
    return CLEAVE_OK;
}
