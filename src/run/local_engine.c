/* local_engine.c -- the engine that really does the work, on this machine.
 * SPDX-License-Identifier: MIT */
#include "run/local_engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/fold_local.h"
#include "run/local_failure.h"
#include "run/local_inner.h"
#include "run/steady_slot.h"

/* --- telling the driver ------------------------------------------------------------------ */

void cv_local_tell(struct cv_local_engine *engine, struct cleave_event event)
{
    if (engine->first_event == engine->nevents)
        engine->first_event = engine->nevents = 0;
    if (engine->nevents == engine->event_room) {
        struct cleave_event *grown = cv_grow(engine->events, &engine->event_room,
                                             engine->nevents + 1, sizeof *grown);

        if (grown == NULL) {
            cv_fail_memory(&engine->err, "the events of a run");
            engine->broken = true;
            return;
        }
        engine->events = grown;
    }
    event.time_s = cv_clock_s() - engine->began_s;
    if (event.kind != CLEAVE_DONE)
        event.start_s = event.time_s;
    engine->events[engine->nevents++] = event;
}

static void broke(void *context, const struct cleave_error *err)
{
    struct cv_local_engine *engine = context;

    if (!engine->broken)
        engine->err = *err;
    engine->broken = true;
}

/* --- chunks ------------------------------------------------------------------------------- */

/* The chunk is over: the policy hears of it, whether its command succeeded or not. */
void cv_local_chunk_over(struct cv_local_engine *engine, struct cv_local_slot *at)
{
    const struct cv_slot *slot = &at->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);
    struct cv_local_worker *worker = &engine->local->workers[slot->worker];
    const double now_s = cv_clock_s();

    worker->chunks++;
    worker->units += units;
    worker->busy_s += now_s - at->began_s;
    worker->units2 += units * units;
    worker->cross += units * (now_s - at->began_s);
    engine->local->chunks++;
    engine->local->done += units;
    engine->running--;
    cv_local_tell(engine,
                  (struct cleave_event){ .kind = CLEAVE_DONE,
                                         .worker = slot->worker,
                                         .chunk = at->chunk,
                                         .units = units,
                                         .start_s = at->began_s - engine->began_s });
}

void cv_local_fit(const struct cv_local_worker *worker, double *out_latency_s,
                  double *out_speed_ups)
{
    const double n = (double)worker->chunks;
    const double spread = n * worker->units2 - worker->units * worker->units;
    double slope = worker->units > 0 ? worker->busy_s / worker->units : 0;

    *out_latency_s = 0;
    *out_speed_ups = 0;
    if (!(slope > 0))
        return;
    /* Chunks of one size say nothing about the latency. */
    if (spread > 0.01 * worker->units * worker->units)
        slope = fmin(slope,
                     fmax(0.01 * slope,
                          (n * worker->cross - worker->units * worker->busy_s) / spread));
    *out_latency_s = fmax(0, (worker->busy_s - slope * worker->units) / n);
    *out_speed_ups = 1 / slope;
}

static enum cleave_status keep_in_journal(struct cv_local_engine *engine,
                                          const struct cv_local_slot *at,
                                          struct cleave_error *err)
{
    const struct cv_piece *piece = &at->slot.piece;
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = cv_piece_place(piece).begin,
                                      .end = cv_piece_place(piece).end,
                                      .seconds = cv_clock_s() - at->began_s };
    struct cv_taken taken;

    CV_TRY(cv_source_hash(engine->local->source, piece, &chunk.hash, err));
    CV_TRY(cv_gather_take(at->slot.store, &taken, err));
    strncpy(chunk.worker, engine->local->names[at->slot.worker], sizeof chunk.worker - 1);
    return cv_journal_add(engine->local->journal, &chunk, taken.fd, taken.begin,
                          taken.end, err);
}

static enum cleave_status accept_output(struct cv_local_engine *engine,
                                        struct cv_local_slot *at,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &at->slot;
    struct cv_store *store = slot->store;

    CV_TRY(cv_source_check(engine->local->source, &slot->piece, err));
    if (engine->local->journal != NULL)
        CV_TRY(keep_in_journal(engine, at, err));
    slot->store = NULL;
    CV_TRY(
        cv_local_output(engine->local, store, slot->piece.begin, slot->piece.end, err));
    return cv_source_finish(engine->local->source, &slot->piece, err);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_local_engine *engine = context;
    struct cv_local_slot *at = &engine->slots[slot->worker];
    struct cleave_error err;
    enum cleave_status status;

    cv_local_report(engine, at, end);
    if (end == CV_SLOT_DONE) {
        status = accept_output(engine, at, &err);
        if (status == CLEAVE_OK)
            cv_local_chunk_over(engine, at);
    } else {
        status = cv_local_failure(engine, at, end, &err);
    }
    if (status != CLEAVE_OK)
        broke(engine, &err);
}

/* More bytes than any input has; sums are exact up to eight times as many. */
static const double MOST_WANTED = 1ULL << 50;

/* --- orders ------------------------------------------------------------------------------- */

/* The next order of the worker, if it can be begun. */
static enum cleave_status begin_next(struct cv_local_engine *engine, uint32_t worker,
                                     struct cleave_error *err)
{
    struct cv_local_slot *at = &engine->slots[worker];
    struct cv_local_want *want = &at->wants[at->first];
    struct cv_piece piece;
    enum cv_take state;
    bool folds;

    if (at->slot.busy || at->first == at->nwants || engine->local->halted ||
        engine->stopping)
        return CLEAVE_OK;
    CV_TRY(cv_local_fold_first(engine, at, &folds, err));
    if (folds)
        return CLEAVE_OK;
    CV_TRY(cv_source_take(engine->local->source, (uint64_t)want->units, &state, &piece,
                          err));
    if (state == CV_TAKE_WAIT)
        return CLEAVE_OK; /* the stream will bring it */
    engine->wanted -= want->units;
    at->chunk = want->chunk;
    at->first++;
    if (state == CV_TAKE_END) {
        /* Others had the records: nothing is left for this chunk. */
        cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                     .worker = worker,
                                                     .chunk = at->chunk });
        cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                     .worker = worker,
                                                     .chunk = at->chunk });
        return begin_next(engine, worker, err);
    }
    at->attempt = 1;
    at->began_s = cv_clock_s();
    engine->running++;
    CV_TRY(cv_slot_start(&at->slot, &piece, err));
    cv_local_tell(engine,
                  (struct cleave_event){ .kind = CLEAVE_SENT,
                                         .worker = worker,
                                         .chunk = at->chunk,
                                         .units = (double)(piece.end - piece.begin) });
    return CLEAVE_OK;
}

static enum cleave_status begin_all(struct cv_local_engine *engine,
                                    struct cleave_error *err)
{
    for (uint32_t w = 0; w < engine->local->nworkers; w++)
        CV_TRY(begin_next(engine, w, err));
    return CLEAVE_OK;
}

static enum cleave_status want(struct cv_local_engine *engine, uint32_t worker,
                               double units, struct cleave_error *err)
{
    struct cv_local_slot *at = &engine->slots[worker];

    /* Whole bytes, so that the sum of the wishes is exact. */
    units = units < MOST_WANTED ? fmax(1, round(units)) : MOST_WANTED;
    if (at->first == at->nwants)
        at->first = at->nwants = 0;
    if (at->nwants == at->want_room) {
        struct cv_local_want *grown =
            cv_grow(at->wants, &at->want_room, at->nwants + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "the orders of a run");
        at->wants = grown;
    }
    at->wants[at->nwants++] = (struct cv_local_want){ engine->numbered++, units };
    engine->wanted += units;
    return begin_next(engine, worker, err);
}

/* Take back what has not been fed, from the end, up to so many bytes. */
static enum cleave_status recall(struct cv_local_engine *engine,
                                 const struct cleave_order *order,
                                 struct cleave_error *err)
{
    struct cv_local_slot *at = &engine->slots[order->worker];
    struct cleave_event event = { .kind = CLEAVE_RECALLED,
                                  .worker = order->worker,
                                  .chunk = at->chunk };
    struct cv_slot *slot = &at->slot;

    if (slot->busy && order->units >= 1) {
        const struct cv_range body = slot->piece.body;
        const uint64_t fed = cv_slot_fed(slot);
        const uint64_t most = (uint64_t)fmin(order->units, (double)(body.end - fed));
        struct cv_piece head, tail;

        CV_TRY(cv_source_part(engine->local->source, &slot->piece, body.end - most, &head,
                              &tail, err));
        if (tail.end > tail.begin && cv_slot_cut(slot, &head)) {
            CV_TRY(cv_source_put_back(engine->local->source, &tail, err));
            event.units = (double)(tail.end - tail.begin);
        }
    }
    cv_local_tell(engine, event);
    return CLEAVE_OK;
}

static void woken(void *context)
{
    struct cv_local_wake *wake = context;

    cv_local_tell(wake->engine,
                  (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = wake->worker });
    wake->set = false;
    wake->engine->sleeping--;
}

static enum cleave_status wake_at(struct cv_local_engine *engine,
                                  const struct cleave_order *order,
                                  struct cleave_error *err)
{
    struct cv_local_wake *wake = engine->wakes;

    while (wake != NULL && wake->set)
        wake = wake->next;
    if (wake == NULL) {
        wake = calloc(1, sizeof *wake);
        if (wake == NULL)
            return cv_fail_memory(err, "the times to wake at");
        wake->engine = engine;
        wake->next = engine->wakes;
        engine->wakes = wake;
    }
    wake->worker = order->worker;
    wake->set = true;
    engine->sleeping++;
    return cv_poller_set(engine->local->poller, &wake->timer,
                         engine->began_s + order->time_s, woken, wake, err);
}

static enum cleave_status local_submit(void *instance, const struct cleave_order *order,
                                       struct cleave_error *err)
{
    struct cv_local_engine *engine = instance;

    switch (order->kind) {
    case CLEAVE_SEND:
        return want(engine, order->worker, order->units, err);
    case CLEAVE_RECALL:
        return recall(engine, order, err);
    case CLEAVE_WAKE_AT:
        return wake_at(engine, order, err);
    default:
        return cv_fail(err, CLEAVE_EENGINE,
                       "this engine can send, recall and wake, nothing else");
    }
}

/* --- the stream --------------------------------------------------------------------------- */

static void input_ready(void *context, unsigned events)
{
    struct cv_local_engine *engine = context;
    struct cleave_error err;

    (void)events;
    if (cv_source_pump(engine->local->source, &err) != CLEAVE_OK)
        broke(engine, &err);
}

/* Listen to the stream only while it is wanted; say once that it has ended. */
static enum cleave_status attend_stream(struct cv_local_engine *engine,
                                        struct cleave_error *err)
{
    struct cv_local *local = engine->local;
    const int fd = cv_source_poll_fd(local->source);
    const bool wants = fd >= 0 && cv_source_wants(local->source);

    if (wants && !engine->listening)
        CV_TRY(cv_poller_add(local->poller, &engine->input, fd, CV_READABLE, input_ready,
                             engine, err));
    else if (!wants && engine->listening)
        cv_poller_remove(local->poller, &engine->input);
    engine->listening = wants;
    if (engine->open_ended && isfinite(cv_source_total(local->source))) {
        engine->open_ended = false;
        cv_local_tell(engine,
                      (struct cleave_event){ .kind = CLEAVE_ENDED,
                                             .units = cv_source_left(local->source) });
    }
    return CLEAVE_OK;
}

/* --- the engine --------------------------------------------------------------------------- */

static void local_close(void *instance)
{
    struct cv_local_engine *engine = instance;

    if (engine == NULL)
        return;
    for (uint32_t w = 0; engine->slots != NULL && w < engine->local->nworkers; w++) {
        cv_slot_done(&engine->slots[w].slot);
        free(engine->slots[w].wants);
    }
    if (engine->listening)
        cv_poller_remove(engine->local->poller, &engine->input);
    while (engine->wakes != NULL) {
        struct cv_local_wake *wake = engine->wakes;

        engine->wakes = wake->next;
        cv_poller_cancel(engine->local->poller, &wake->timer);
        free(wake);
    }
    free(engine->slots);
    free(engine->events);
    free(engine);
}

static enum cleave_status local_open(const struct cleave_platform *platform,
                                     const void *source, void **out,
                                     struct cleave_error *err)
{
    struct cv_local_engine *engine = calloc(1, sizeof *engine);
    /* The driver only passes it on; it is this engine's to change. */
    union {
        const void *in;
        struct cv_local *out;
    } local = { source };

    (void)platform;
    if (engine == NULL)
        return cv_fail_memory(err, "the engine");
    engine->local = local.out;
    engine->slots = calloc(engine->local->nworkers, sizeof *engine->slots);
    if (engine->slots == NULL) {
        local_close(engine);
        return cv_fail_memory(err, "the engine");
    }
    for (uint32_t w = 0; w < engine->local->nworkers; w++) {
        struct cv_slot *slot = &engine->slots[w].slot;

        cv_slot_init(slot);
        slot->poller = engine->local->poller;
        slot->gather = engine->local->gather;
        slot->command = &engine->local->commands[w];
        slot->timeout_s = engine->local->execution->timeout_s;
        if (engine->local->execution->persistent)
            cv_steady_init(slot);
        slot->left = cv_local_left;
        slot->silent = cv_local_silent;
        slot->ended = slot_ended;
        slot->broke = broke;
        slot->context = engine;
        slot->worker = w;
    }
    *out = engine;
    return CLEAVE_OK;
}

static enum cleave_status local_begin(void *instance, const struct cv_run *run,
                                      struct cleave_error *err)
{
    struct cv_local_engine *engine = instance;

    (void)run;
    engine->began_s = cv_clock_s();
    engine->open_ended = isinf(cv_source_total(engine->local->source));
    return attend_stream(engine, err);
}

/* Let commands that stay end; whether all have. */
static bool all_left(struct cv_local_engine *engine)
{
    bool left = true;

    for (uint32_t w = 0; w < engine->local->nworkers; w++)
        left &= cv_slot_leave(&engine->slots[w].slot);
    return left;
}

/* What stops a run before its end. */
static enum cleave_status check_stop(struct cv_local_engine *engine,
                                     struct cleave_error *err)
{
    struct cv_local *local = engine->local;
    int reason = 0;

    if (local->stopped_by != 0 && !engine->stopping) {
        engine->stopping = true;
        for (uint32_t w = 0; w < local->nworkers; w++)
            cv_slot_stop(&engine->slots[w].slot);
    }
    if (engine->stopping || local->halted)
        cv_local_fold_stop(local);
    CV_TRY(cv_local_fold_status(local, err));
    if (cv_gather_status(local->gather, &reason, err) != CLEAVE_OK) {
        local->output_closed = reason == EPIPE;
        return CLEAVE_EENGINE;
    }
    if (engine->broken) {
        *err = engine->err;
        return err->status == CLEAVE_OK ? CLEAVE_EENGINE : err->status;
    }
    if (engine->running == 0 && cv_local_folding(local) == 0 &&
        (engine->stopping || local->halted) && all_left(engine))
        return cv_fail(err, CLEAVE_EENGINE,
                       local->halted ? "halted after %llu failed chunks"
                                     : "stopped by a signal",
                       (unsigned long long)local->failed);
    return CLEAVE_OK;
}

static void show_progress(struct cv_local_engine *engine)
{
    const struct cv_local *local = engine->local;
    const struct cleave_execution *execution = local->execution;

    if (execution->progress != NULL)
        execution->progress(execution->context,
                            &(struct cleave_progress){
                                .elapsed_s = cv_clock_s() - engine->began_s,
                                .done = local->done,
                                .total = cv_source_total(local->source),
                                .chunks = local->chunks,
                                .failed = local->failed,
                                .busy = engine->running,
                                .workers = local->nworkers,
                            });
}

static enum cleave_status local_wait(void *instance, struct cleave_event *out,
                                     bool *out_any, struct cleave_error *err)
{
    struct cv_local_engine *engine = instance;

    *out_any = true;
    for (;;) {
        CV_TRY(begin_all(engine, err));
        CV_TRY(attend_stream(engine, err));
        CV_TRY(check_stop(engine, err));
        if (engine->first_event < engine->nevents) {
            *out = engine->events[engine->first_event++];
            out->more = engine->first_event < engine->nevents;
            return CLEAVE_OK;
        }
        /* Who sleeps with nothing left to do need not be waited for. */
        if (engine->running == 0 && !engine->open_ended &&
            (engine->sleeping == 0 || !(cv_source_left(engine->local->source) > 0)) &&
            cv_local_folding(engine->local) == 0 && all_left(engine)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_local_fold_idle(engine, err));
        show_progress(engine);
        CV_TRY(cv_poller_wait(engine->local->poller,
                              engine->local->execution->progress != NULL ? 0.2 : -1,
                              err));
    }
}

static double local_left(const void *instance)
{
    const struct cv_local_engine *engine = instance;
    const double left = cv_source_left(engine->local->source);

    /* Wishes may be for more than there is, and without end for a stream: what is left when
     * nothing waits is certain, whatever they add up to. */
    return left - engine->wanted >= 0.5 ? left - engine->wanted : 0;
}

const struct cv_engine cv_engine_local = {
    .name = "local",
    .summary = "runs commands on this machine",
    .open = local_open,
    .begin = local_begin,
    .submit = local_submit,
    .wait = local_wait,
    .left = local_left,
    .close = local_close,
};
