/* real_chunks.c -- a chunk, from its beginning to its end. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/master/outlet_fold.h"
#include "run/master/outlet_kept.h"
#include "run/master/chunk_failure.h"
#include "run/master/real_run.h"
#include "run/hosts/remote_slot.h"
#include "run/slot/steady_slot.h"

static struct cv_local_lane *lane_of(struct cv_slot *slot)
{
    return (struct cv_local_lane *)slot; /* it is its first member */
}

/* --- how long it took --------------------------------------------------------------------- */

/* When the last chunk of the same worker had arrived. */
static double last_arrived(const struct cv_local_engine *engine,
                           const struct cv_local_lane *lane)
{
    const struct cv_local_slot *at = &engine->slots[lane->slot.worker];
    double last_s = 0;

    for (uint32_t i = 0; i < at->nlanes; i++)
        last_s = fmax(last_s, at->lanes[i].slot.remote.arrived_s);
    return last_s;
}

/* A piece goes over the link when the one before has arrived, however early it was given
 * to it. */
static double sent_from(const struct cv_local_engine *engine,
                        const struct cv_local_lane *lane)
{
    return fmax(lane->slot.remote.granted_s, last_arrived(engine, lane));
}

/* When its command was started. What hosts say comes with more or less delay: not before
 * the last one of the same worker had ended. */
static double computed_from(const struct cv_local_engine *engine,
                            const struct cv_local_lane *lane)
{
    const struct cv_local_slot *at = &engine->slots[lane->slot.worker];
    const struct cv_remote *remote = &lane->slot.remote;
    double from_s = remote->computed_s - remote->compute_s;

    if (remote->host == NULL || !remote->computed)
        return lane->began_s;
    for (uint32_t i = 0; i < at->nlanes; i++) {
        const double other_s = at->lanes[i].slot.remote.computed_s;

        if (&at->lanes[i] != lane && other_s < remote->computed_s)
            from_s = fmax(from_s, other_s);
    }
    return from_s;
}

static void count(struct cv_local_engine *engine, const struct cv_local_lane *lane,
                  double units, double now_s)
{
    const struct cv_slot *slot = &lane->slot;
    struct cv_local_worker *worker = &engine->local->workers[slot->worker];
    const double busy_s =
        slot->remote.computed ? slot->remote.compute_s : now_s - lane->began_s;

    worker->chunks++;
    worker->units += units;
    worker->busy_s += busy_s;
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (slot->remote.computed && lane->output > 0)
        cv_time_fit_add(&worker->back, lane->output, now_s - slot->remote.computed_s);
}

/* --- its end ------------------------------------------------------------------------------ */

/* Its output is here, if that is not where it was made: it came from the end of the command
 * on. */
static void tell_returned(struct cv_local_engine *engine,
                          const struct cv_local_lane *lane, double units)
{
    if (lane->slot.remote.computed && lane->output > 0)
        cv_local_tell(engine,
                      (struct cleave_event){ .kind = CLEAVE_RETURNED,
                                             .worker = lane->owner,
                                             .chunk = lane->chunk,
                                             .units = units,
                                             .start_s = lane->slot.remote.computed_s -
                                                        engine->began_s });
}

/* The policy hears of it, whether its command succeeded or not. */
void cv_local_chunk_over(struct cv_local_engine *engine, struct cv_local_lane *lane)
{
    const struct cv_slot *slot = &lane->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);

    count(engine, lane, units, cv_clock_s());
    engine->local->chunks++;
    engine->local->done += units;
    engine->running--;
    tell_returned(engine, lane, units);
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                 .worker = lane->owner,
                                                 .chunk = lane->chunk,
                                                 .units = units,
                                                 .start_s = computed_from(engine, lane) -
                                                            engine->began_s });
}

enum cleave_status cv_local_chunk_lost(struct cv_local_engine *engine,
                                       struct cv_local_lane *lane,
                                       struct cleave_error *err)
{
    const struct cv_piece piece = lane->slot.piece;
    const double units = (double)(piece.end - piece.begin);

    engine->running--;
    engine->local->lost++;
    CV_TRY(cv_source_put_back(engine->local->source, &piece, err));
    if (!engine->local->hears_losses)
        return cv_local_want_again(engine, lane->owner,
                                   &(struct cv_local_want){ lane->chunk, units,
                                                            lane->told },
                                   err);
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                 .worker = lane->owner,
                                                 .chunk = lane->chunk,
                                                 .units = units });
    return CLEAVE_OK;
}

static enum cleave_status keep_in_journal(struct cv_local_engine *engine,
                                          const struct cv_local_lane *lane,
                                          struct cleave_error *err)
{
    const struct cv_slot *slot = &lane->slot;
    const struct cv_piece *piece = &slot->piece;
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = piece->body.begin,
                                      .end = piece->body.end,
                                      .hash = slot->remote.hash,
                                      .seconds = cv_clock_s() - lane->began_s };
    struct cv_taken taken;

    if (slot->remote.host == NULL || !slot->remote.hashed)
        CV_TRY(cv_source_hash(engine->local->source, piece, &chunk.hash, err));
    CV_TRY(cv_gather_take(slot->store, &taken, err));
    strncpy(chunk.worker, engine->local->names[slot->worker], sizeof chunk.worker - 1);
    return cv_journal_add(engine->local->journal, &chunk, taken.fd, taken.begin,
                          taken.end, err);
}

static enum cleave_status accept_output(struct cv_local_engine *engine,
                                        struct cv_local_lane *lane,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &lane->slot;
    struct cv_store *store = slot->store;

    CV_TRY(cv_source_check(engine->local->source, &slot->piece, err));
    if (engine->local->journal != NULL)
        CV_TRY(keep_in_journal(engine, lane, err));
    slot->store = NULL;
    if (engine->local->kept != NULL) {
        cv_store_drop(store);
        return cv_kept_add(engine->local->kept, slot, err);
    }
    CV_TRY(
        cv_local_output(engine->local, store, slot->piece.begin, slot->piece.end, err));
    return cv_source_finish(engine->local->source, &slot->piece, err);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_local_engine *engine = context;
    struct cv_local_lane *lane = lane_of(slot);
    struct cleave_error err;
    enum cleave_status status;

    lane->output = slot->store != NULL ? (double)cv_store_size(slot->store) : 0;
    if (end == CV_SLOT_DONE) {
        cv_local_report(engine, lane, end);
        status = accept_output(engine, lane, &err);
        if (status == CLEAVE_OK)
            cv_local_chunk_over(engine, lane);
    } else if (end == CV_SLOT_LOST) {
        status = cv_local_chunk_lost(engine, lane, &err);
    } else {
        cv_local_report(engine, lane, end);
        status = cv_local_failure(engine, lane, end, &err);
    }
    if (status != CLEAVE_OK)
        cv_local_broke(engine, &err);
}

/* Only of other machines: with slots of this one there is no way to go. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_local_engine *engine = context;
    struct cv_local_lane *lane = lane_of(slot);
    const double units = (double)(slot->piece.end - slot->piece.begin);
    const double from_s = sent_from(engine, lane);

    cv_time_fit_add(&engine->local->workers[slot->worker].link, units,
                    cv_clock_s() - from_s);
    if (lane->told)
        return;
    lane->told = true;
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                 .worker = lane->owner,
                                                 .chunk = lane->chunk,
                                                 .units = units,
                                                 .start_s = from_s - engine->began_s });
}

/* --- lanes -------------------------------------------------------------------------------- */

bool cv_local_busy(const struct cv_local_slot *at)
{
    for (uint32_t i = 0; i < at->nlanes; i++)
        if (at->lanes[i].slot.busy)
            return true;
    return false;
}

void cv_local_slot_done(struct cv_local_slot *at)
{
    for (uint32_t i = 0; i < at->nlanes; i++)
        cv_slot_done(&at->lanes[i].slot);
    free(at->lanes);
    free(at->wants);
    at->lanes = NULL;
    at->wants = NULL;
    at->nlanes = 0;
}

static void init_lane(struct cv_local_engine *engine, uint32_t worker,
                      struct cv_local_lane *lane)
{
    struct cv_local *local = engine->local;
    struct cv_host *host = local->host_of[worker];
    struct cv_slot *slot = &lane->slot;

    cv_slot_init(slot);
    slot->poller = local->poller;
    slot->gather = local->gather;
    slot->command = &local->commands[worker];
    slot->timeout_s = local->execution->failing.timeout_s;
    slot->left = cv_local_left;
    slot->silent = cv_local_silent;
    slot->ended = slot_ended;
    slot->arrived = slot_arrived;
    slot->cut_answered = cv_local_cut_answered;
    slot->broke = cv_local_broke;
    slot->context = engine;
    slot->worker = worker;
    if (host != NULL)
        cv_remote_init(slot, host, worker - host->first);
    else if (local->execution->persistent)
        cv_steady_init(slot);
}

enum cleave_status cv_local_slot_init(struct cv_local_engine *engine, uint32_t worker,
                                      struct cleave_error *err)
{
    struct cv_local_slot *at = &engine->slots[worker];
    const uint32_t nlanes = engine->local->host_of[worker] != NULL ? CV_LOCAL_LANES : 1;

    free(at->lanes); /* of a place that nobody had */
    at->nlanes = 0;
    at->lanes = calloc(nlanes, sizeof *at->lanes);
    if (at->lanes == NULL)
        return cv_fail_memory(err, "the workers");
    at->nlanes = nlanes;
    for (uint32_t i = 0; i < nlanes; i++)
        init_lane(engine, worker, &at->lanes[i]);
    return CLEAVE_OK;
}
