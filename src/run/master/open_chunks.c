/* open_chunks.c -- chunks that stay open: more is added to them, until they are closed.
 * SPDX-License-Identifier: MIT */
#include "run/master/open_chunks.h"

#include <math.h>

#include "base/fail.h"
#include "model/platform/at_once.h"
#include "run/hosts/hosts.h"
#include "run/master/resource_wait.h"
#include "run/slot/open_slot.h"

/* Nothing to read for so long is no part of its start. */
static const double WAITED_S = 0.1;

static void tell(struct cv_exec_run *run, const struct cv_attempt *attempt,
                 struct cleave_event event)
{
    event.worker = attempt->owner;
    event.chunk = attempt->chunk;
    cv_event_queue_push(&run->events, event);
}

/* --- its reader --------------------------------------------------------------------------- */

void cv_open_chunks_began(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const double now_s = cv_clock_s(), waited_s = attempt->bound_s - slot->start_s;
    /* Who had started before there was anything to read shows nothing. */
    const double at_once_s = cv_at_once_s(waited_s, INFINITY);
    const bool shows = now_s - attempt->bound_s > at_once_s || waited_s <= 0;
    const bool waited = !shows && waited_s >= WAITED_S;
    /* It has started meanwhile, as others have: only the rest is waiting. */
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
                                .units = (double)(slot->piece.end - slot->piece.begin),
                                .start_s = slot->open.spawn_s - run->events.began_s });
}

void cv_open_chunks_drained(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    cv_unread_input_read(&cv_attempt_of(slot)->unread, &run->slow, cv_clock_s());
    tell(context, cv_attempt_of(slot),
         (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                .units = (double)(slot->piece.end - slot->piece.begin) });
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

/* --- its end ------------------------------------------------------------------------------ */

void cv_open_chunks_over(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    if (attempt->due > 0)
        cv_order_queue_release(&run->queue, attempt->due);
    attempt->due = 0;
    attempt->opened = attempt->closes = false;
    cv_unread_input_end(&attempt->unread, &run->slow, attempt->slot.open.read_s,
                        cv_clock_s());
    attempt->unread = (struct cv_unread_input){ 0 };
    for (uint32_t n = cv_remote_forget_looks(&attempt->slot); n > 0; n--)
        tell_seen(run, attempt, &(struct cv_slot_seen){ .read = 0 });
}

/* It never had anything. */
static void drop(struct cv_exec_run *run, struct cv_attempt *attempt, bool lost)
{
    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    run->queue.lost += lost;
    tell(run, attempt,
         (struct cleave_event){ .kind = lost ? CLEAVE_LOST : CLEAVE_DONE,
                                .start_s = attempt->began_s - run->events.began_s });
}

bool cv_open_chunks_ended_empty(struct cv_exec_run *run, struct cv_attempt *attempt,
                                enum cv_slot_end end)
{
    if (!attempt->opened || !cv_attempt_is_empty(attempt))
        return false;
    if (attempt->slot.store != NULL)
        cv_chunk_output_drop(attempt->slot.store);
    attempt->slot.store = NULL;
    if (attempt->closes || end == CV_SLOT_LOST)
        drop(run, attempt, end == CV_SLOT_LOST);
    return true;
}

static void close_now(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    attempt->closes = true;
    if (attempt->due > 0)
        return;
    if (attempt->slot.busy)
        cv_slot_close_input(&attempt->slot);
    else
        drop(run, attempt, false);
}

/* --- its beginning ------------------------------------------------------------------------ */

/* Start its command. *out: whether it was; else there is no room for it, and what was told last is
 * not true yet: nothing else was. */
static enum cleave_status open_slot(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    const struct cv_piece *piece, bool *out,
                                    struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cleave_error why;
    enum cleave_status status = cv_resource_wait_look(run, slot, &why);

    *out = true;
    slot->small_write = run->small_write;
    if (status == CLEAVE_OK)
        status = cv_slot_open(slot, piece, &why);
    if (status == CLEAVE_OK) {
        cv_start_limiter_begun(&run->limiter);
        return CLEAVE_OK;
    }
    if (!cv_resource_wait_wait(run, slot, &why)) {
        if (err != NULL)
            *err = why;
        return status;
    }
    *out = false;
    cv_event_queue_remove(&run->events);
    return CLEAVE_OK;
}

enum cleave_status cv_open_chunks_begin(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    bool begun;

    attempt->unread = (struct cv_unread_input){ 0 };
    if (piece->end > piece->begin)
        cv_unread_input_give(&attempt->unread, piece->end - piece->begin, cv_clock_s());
    CV_TRY(open_slot(run, attempt, piece, &begun, err));
    if (!begun) {
        attempt->opened = attempt->closes = false;
        attempt->due = 0;
        run->queue.running--;
        return cv_order_queue_defer(&run->queue, attempt->owner, pending, piece, err);
    }
    if (attempt->closes)
        close_now(run, attempt);
    return CLEAVE_OK;
}

/* What should have become its command could not, and nothing of it was read: it is left again, and
 * as far as the policy knows it was taken back. */
enum cleave_status cv_open_chunks_start_failed(struct cv_exec_run *run,
                                               struct cv_attempt *attempt,
                                               struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    const struct cv_pending_order pending = { .chunk = attempt->chunk,
                                              .told = attempt->told };

    if (cv_attempt_is_empty(attempt) && !attempt->closes)
        return CLEAVE_OK; /* it is started when there is something to do */
    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    if (!cv_attempt_is_empty(attempt)) {
        CV_TRY(cv_source_put_back(run->queue.source, &piece, err));
        tell(run, attempt,
             (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                    .units = (double)(piece.end - piece.begin) });
    }
    cv_order_queue_complete_empty(&run->queue, attempt->owner, &pending);
    return CLEAVE_OK;
}

void cv_open_chunks_close(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);
    struct cv_pending_order *pending = cv_order_queue_open_order(&run->queue, worker);

    if (attempt != NULL)
        close_now(run, attempt);
    else if (pending != NULL)
        pending->close = true;
}

/* --- more for it -------------------------------------------------------------------------- */

struct cv_incoming cv_open_chunks_incoming(const struct cv_exec_run *run, uint64_t wanted)
{
    return (struct cv_incoming){ .ready = cv_source_ready(run->queue.source),
                                 .wanted = wanted,
                                 .start_s = cv_worker_pool_start_s(&run->pool),
                                 .speed_ups = cv_worker_pool_speed(&run->pool),
                                 .workers = run->pool.nworkers,
                                 .idle = run->queue.running == 0 };
}

/* Not all that was asked for has to be there: more of a stream can be added later. What was ordered before it
 * had ended may be more than all that is left. */
enum cleave_status cv_open_chunks_take(const struct cv_exec_run *run, uint64_t wanted,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err)
{
    struct cv_source *source = run->queue.source;
    const struct cv_incoming input = cv_open_chunks_incoming(run, wanted);
    const bool shared =
        cv_source_flows(source) || (isinf(run->queue.owed) && input.ready < wanted);
    const uint64_t part = shared ? cv_slow_stream_part(&input) : input.ready;

    return cv_source_take(source, input.ready > 0 && part < wanted ? part : wanted, state,
                          out, err);
}

/* In how long one that has nothing could begin with what comes; INFINITY: there is none. */
static double others_begin_in(const struct cv_exec_run *run)
{
    for (uint32_t w = 0; run->queue.growing > 1 && w < run->table.count; w++) {
        const struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, w);

        if (attempt != NULL && attempt->due > 0 && attempt->slot.busy &&
            cv_attempt_is_empty(attempt))
            return 0;
    }
    return run->queue.pending > 0 ? cv_worker_pool_start_s(&run->pool) : INFINITY;
}

/* A chunk of a stream that waits for more is at its end after so long, so that its output is seen, and
 * after as many starts: one more is nothing beside them. */
static const double LONG_S = 1, LONG_STARTS = 50;

/* What follows a chunk of a stream is its own, if nobody else could begin with it before it has done
 * what it has; and not for ever. */
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
    const double end_s = fmax(attempt->bound_s, attempt->began_s) +
                         fmax(LONG_S, LONG_STARTS * cv_worker_pool_start_s(&run->pool));

    if (rest_s > others_s) {
        *state = CV_TAKE_WAIT;
        return cv_slow_stream_wake(&run->slow, run->poller, now_s + rest_s - others_s,
                                   err);
    }
    CV_TRY(cv_source_take_behind(run->queue.source, &attempt->slot.piece, wanted, state,
                                 out, err));
    if (*state != CV_TAKE_WAIT || !flows)
        return CLEAVE_OK;
    if (now_s < end_s)
        return cv_slow_stream_wake(&run->slow, run->poller, end_s, err);
    *state = CV_TAKE_END;
    return CLEAVE_OK;
}

/* What can be added now. CV_TAKE_WAIT: it is not known yet. */
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
    /* A command that had nothing to do has ended: once it is gone, another is started. */
    if (slot->busy && !cv_slot_is_open(slot)) {
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
    const bool opens = !slot->busy;
    const struct cv_piece blank = slot->piece;
    struct cv_piece longer = slot->piece;
    enum cv_take state;
    bool begun = true;

    if (!slot->busy && !cv_worker_pool_there(&run->pool, slot->worker)) {
        drop(run, attempt, true); /* nobody is left who could do it */
        return CLEAVE_OK;
    }
    if (opens && !cv_slot_is_remote(slot) && cv_start_limiter_is_crowded(&run->limiter))
        return CLEAVE_OK;
    CV_TRY(find_more(run, attempt, &state, &longer, err));
    if (state == CV_TAKE_WAIT)
        return CLEAVE_OK;
    tell(run, attempt,
         (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                .units = (double)(longer.end - longer.begin - before) });
    if (state == CV_TAKE_PIECE && before == 0)
        attempt->bound_s = cv_clock_s();
    if (opens && state == CV_TAKE_PIECE) {
        attempt->began_s = attempt->runs_s = cv_clock_s();
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
    if (!opens && state == CV_TAKE_PIECE)
        CV_TRY(cv_slot_extend(slot, &longer, err));
    if (attempt->closes)
        close_now(run, attempt);
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
        return CLEAVE_OK; /* that it is done will be told */
    if (attempt == NULL) {
        pending->more = cv_order_queue_reserve(&run->queue, units);
        return CLEAVE_OK;
    }
    attempt->due = cv_order_queue_reserve(&run->queue, units);
    return grow_one(run, attempt, err);
}

/* --- all of them -------------------------------------------------------------------------- */

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

    if (attempt != NULL && !attempt->closes)
        close_now(run, attempt);
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

/* Let the command of an open chunk of the worker end, if it waits for an order; `travels`: on
 * another machine, else on this one. */
static void end_waiting(struct cv_exec_run *run, uint32_t worker, bool travels)
{
    struct cv_attempt *attempt = cv_attempt_table_find_open(&run->table, worker);

    if (attempt == NULL || !attempt->slot.busy || !cv_attempt_awaits_order(attempt) ||
        cv_slot_is_remote(&attempt->slot) != travels)
        return;
    if (cv_attempt_is_empty(attempt))
        cv_slot_stop(&attempt->slot);
    else
        close_now(run, attempt);
}

void cv_open_chunks_yield_slot(struct cv_exec_run *run, uint32_t worker)
{
    end_waiting(run, worker, true);
}

/* The next one that needs its processes and descriptors may be what the policy waits for. */
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

        for (uint32_t i = 0; i < places->nerrands; i++) {
            const bool waits = cv_attempt_awaits_order(&places->attempts[i]);

            any = any || waits;
            if (places->attempts[i].slot.busy && !waits)
                return false;
        }
    }
    return any;
}
