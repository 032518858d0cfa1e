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

static struct cv_errand *errand_of(struct cv_slot *slot)
{
    return (struct cv_errand *)slot; /* it is its first member */
}

/* --- how long it took --------------------------------------------------------------------- */

/* When the last chunk of the same worker had arrived. */
static double last_arrived(const struct cv_real_engine *engine,
                           const struct cv_errand *errand)
{
    const struct cv_desk *at = &engine->desks[errand->slot.worker];
    double last_s = 0;

    for (uint32_t i = 0; i < at->nerrands; i++)
        last_s = fmax(last_s, at->errands[i].slot.remote.arrived_s);
    return last_s;
}

/* A piece goes over the link when the one before has arrived, however early it was given
 * to it. */
static double sent_from(const struct cv_real_engine *engine,
                        const struct cv_errand *errand)
{
    return fmax(errand->slot.remote.granted_s, last_arrived(engine, errand));
}

/* When its command was started. What hosts say comes with more or less delay: not before
 * the last one of the same worker had ended. */
static double computed_from(const struct cv_real_engine *engine,
                            const struct cv_errand *errand)
{
    const struct cv_desk *at = &engine->desks[errand->slot.worker];
    const struct cv_remote *remote = &errand->slot.remote;
    double from_s = remote->computed_s - remote->compute_s;

    if (remote->host == NULL || !remote->computed)
        return errand->began_s;
    for (uint32_t i = 0; i < at->nerrands; i++) {
        const double other_s = at->errands[i].slot.remote.computed_s;

        if (&at->errands[i] != errand && other_s < remote->computed_s)
            from_s = fmax(from_s, other_s);
    }
    return from_s;
}

static void count(struct cv_real_engine *engine, const struct cv_errand *errand,
                  double units, double now_s)
{
    const struct cv_slot *slot = &errand->slot;
    struct cv_tally *worker = &engine->local->workers[slot->worker];
    const double busy_s =
        slot->remote.computed ? slot->remote.compute_s : now_s - errand->began_s;

    worker->chunks++;
    worker->units += units;
    worker->busy_s += busy_s;
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (slot->remote.computed && errand->output > 0)
        cv_time_fit_add(&worker->back, errand->output, now_s - slot->remote.computed_s);
}

/* --- its end ------------------------------------------------------------------------------ */

/* Its output is here, if that is not where it was made: it came from the end of the command
 * on. */
static void tell_returned(struct cv_real_engine *engine, const struct cv_errand *errand,
                          double units)
{
    if (errand->slot.remote.computed && errand->output > 0)
        cv_local_tell(engine,
                      (struct cleave_event){ .kind = CLEAVE_RETURNED,
                                             .worker = errand->owner,
                                             .chunk = errand->chunk,
                                             .units = units,
                                             .start_s = errand->slot.remote.computed_s -
                                                        engine->began_s });
}

/* The policy hears of it, whether its command succeeded or not. */
void cv_local_chunk_over(struct cv_real_engine *engine, struct cv_errand *errand)
{
    const struct cv_slot *slot = &errand->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);

    count(engine, errand, units, cv_clock_s());
    engine->local->chunks++;
    engine->local->done += units;
    engine->running--;
    tell_returned(engine, errand, units);
    cv_local_tell(engine,
                  (struct cleave_event){ .kind = CLEAVE_DONE,
                                         .worker = errand->owner,
                                         .chunk = errand->chunk,
                                         .units = units,
                                         .start_s = computed_from(engine, errand) -
                                                    engine->began_s });
}

enum cleave_status cv_local_chunk_lost(struct cv_real_engine *engine,
                                       struct cv_errand *errand, struct cleave_error *err)
{
    const struct cv_piece piece = errand->slot.piece;
    const double units = (double)(piece.end - piece.begin);

    engine->running--;
    engine->local->lost++;
    CV_TRY(cv_source_put_back(engine->local->source, &piece, err));
    if (!engine->local->hears_losses)
        return cv_local_want_again(engine, errand->owner,
                                   &(struct cv_want){ errand->chunk, units,
                                                      errand->told },
                                   err);
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                 .worker = errand->owner,
                                                 .chunk = errand->chunk,
                                                 .units = units });
    return CLEAVE_OK;
}

static enum cleave_status keep_in_journal(struct cv_real_engine *engine,
                                          const struct cv_errand *errand,
                                          struct cleave_error *err)
{
    const struct cv_slot *slot = &errand->slot;
    const struct cv_piece *piece = &slot->piece;
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = piece->body.begin,
                                      .end = piece->body.end,
                                      .hash = slot->remote.hash,
                                      .seconds = cv_clock_s() - errand->began_s };
    struct cv_taken taken;

    if (slot->remote.host == NULL || !slot->remote.hashed)
        CV_TRY(cv_source_hash(engine->local->source, piece, &chunk.hash, err));
    CV_TRY(cv_gather_take(slot->store, &taken, err));
    strncpy(chunk.worker, engine->local->names[slot->worker], sizeof chunk.worker - 1);
    return cv_journal_add(engine->local->journal, &chunk, taken.fd, taken.begin,
                          taken.end, err);
}

static enum cleave_status accept_output(struct cv_real_engine *engine,
                                        struct cv_errand *errand,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &errand->slot;
    struct cv_store *store = slot->store;

    CV_TRY(cv_source_check(engine->local->source, &slot->piece, err));
    if (engine->local->journal != NULL)
        CV_TRY(keep_in_journal(engine, errand, err));
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
    struct cv_real_engine *engine = context;
    struct cv_errand *errand = errand_of(slot);
    struct cleave_error err;
    enum cleave_status status;

    errand->output = slot->store != NULL ? (double)cv_store_size(slot->store) : 0;
    if (end == CV_SLOT_DONE) {
        cv_local_report(engine, errand, end);
        status = accept_output(engine, errand, &err);
        if (status == CLEAVE_OK)
            cv_local_chunk_over(engine, errand);
    } else if (end == CV_SLOT_LOST) {
        status = cv_local_chunk_lost(engine, errand, &err);
    } else {
        cv_local_report(engine, errand, end);
        status = cv_local_failure(engine, errand, end, &err);
    }
    if (status != CLEAVE_OK)
        cv_local_broke(engine, &err);
}

/* Only of other machines: with slots of this one there is no way to go. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_real_engine *engine = context;
    struct cv_errand *errand = errand_of(slot);
    const double units = (double)(slot->piece.end - slot->piece.begin);
    const double from_s = sent_from(engine, errand);

    cv_time_fit_add(&engine->local->workers[slot->worker].link, units,
                    cv_clock_s() - from_s);
    if (errand->told)
        return;
    errand->told = true;
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                 .worker = errand->owner,
                                                 .chunk = errand->chunk,
                                                 .units = units,
                                                 .start_s = from_s - engine->began_s });
}

/* --- errands -------------------------------------------------------------------------------- */

bool cv_desk_busy(const struct cv_desk *at)
{
    for (uint32_t i = 0; i < at->nerrands; i++)
        if (at->errands[i].slot.busy)
            return true;
    return false;
}

void cv_desk_done(struct cv_desk *at)
{
    for (uint32_t i = 0; i < at->nerrands; i++)
        cv_slot_done(&at->errands[i].slot);
    free(at->errands);
    free(at->wants);
    at->errands = NULL;
    at->wants = NULL;
    at->nerrands = 0;
}

static void init_errand(struct cv_real_engine *engine, uint32_t worker,
                        struct cv_errand *errand)
{
    struct cv_local *local = engine->local;
    struct cv_host *host = local->host_of[worker];
    struct cv_slot *slot = &errand->slot;

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

enum cleave_status cv_desk_open(struct cv_real_engine *engine, uint32_t worker,
                                struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[worker];
    const uint32_t nerrands =
        engine->local->host_of[worker] != NULL ? CV_DESK_ERRANDS : 1;

    free(at->errands); /* of a place that nobody had */
    at->nerrands = 0;
    at->errands = calloc(nerrands, sizeof *at->errands);
    if (at->errands == NULL)
        return cv_fail_memory(err, "the workers");
    at->nerrands = nerrands;
    for (uint32_t i = 0; i < nerrands; i++)
        init_errand(engine, worker, &at->errands[i]);
    return CLEAVE_OK;
}
