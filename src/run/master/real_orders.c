/* real_orders.c -- what the policy asks for. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/master/outlet_fold.h"
#include "run/master/real_run.h"
#include "run/hosts/remote_slot.h"

/* More bytes than any input has; sums are exact up to eight times as many. */
static const double MOST_WANTED = 1ULL << 50;

/* --- chunks ------------------------------------------------------------------------------- */

static struct cv_errand *free_errand(struct cv_desk *at)
{
    for (uint32_t i = 0; i < at->nerrands; i++)
        if (!at->errands[i].slot.busy)
            return &at->errands[i];
    return NULL;
}

/* Others had the records: nothing is left for this chunk. */
static void tell_empty(struct cv_real_engine *engine, uint32_t worker,
                       const struct cv_want *want)
{
    const double now_s = cv_clock_s() - engine->began_s;

    if (!want->told)
        cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                     .worker = worker,
                                                     .chunk = want->chunk });
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                 .worker = worker,
                                                 .chunk = want->chunk,
                                                 .start_s = now_s });
}

/* Begin the next order of `owner` on a errand. *began is false when the stream has to bring
 * it first. */
static enum cleave_status begin_one(struct cv_real_engine *engine, uint32_t owner,
                                    struct cv_errand *errand, bool *began,
                                    struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[owner];
    const struct cv_want want = at->wants[at->first];
    struct cv_piece piece;
    enum cv_take state;

    CV_TRY(
        cv_source_take(engine->local->source, (uint64_t)want.units, &state, &piece, err));
    *began = state != CV_TAKE_WAIT;
    if (state == CV_TAKE_WAIT)
        return CLEAVE_OK;
    engine->wanted -= want.units;
    engine->pending--;
    at->first++;
    if (state == CV_TAKE_END) {
        tell_empty(engine, owner, &want);
        return CLEAVE_OK;
    }
    errand->owner = owner;
    errand->chunk = want.chunk;
    errand->told = want.told;
    errand->attempt = 1;
    errand->began_s = cv_clock_s();
    engine->running++;
    CV_TRY(cv_slot_start(&errand->slot, &piece, err));
    if (errand->slot.remote.host != NULL || errand->told)
        return CLEAVE_OK;
    errand->told = true;
    cv_local_tell(engine,
                  (struct cleave_event){ .kind = CLEAVE_SENT,
                                         .worker = owner,
                                         .chunk = errand->chunk,
                                         .units = (double)(piece.end - piece.begin) });
    return CLEAVE_OK;
}

static bool may_begin(const struct cv_real_engine *engine, const struct cv_desk *at)
{
    return at->first < at->nwants && !engine->local->halted && !engine->stopping;
}

/* The orders of a worker that is there, as far as they can be begun. */
static enum cleave_status begin_next(struct cv_real_engine *engine, uint32_t worker,
                                     struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[worker];
    struct cv_errand *errand;
    bool began = true, folds;

    while (began && may_begin(engine, at) && (errand = free_errand(at)) != NULL) {
        CV_TRY(cv_local_fold_first(engine, worker, &folds, err));
        if (folds)
            return CLEAVE_OK;
        CV_TRY(begin_one(engine, worker, errand, &began, err));
    }
    return CLEAVE_OK;
}

/* Whether somebody works at all. */
static bool anybody(const struct cv_local *local)
{
    for (uint32_t w = 0; w < local->nworkers; w++)
        if (cv_local_there(local, w))
            return true;
    return false;
}

/* What was ordered for a worker that is not there comes to nothing. */
static void lose_orders(struct cv_real_engine *engine, uint32_t worker)
{
    struct cv_desk *at = &engine->desks[worker];

    for (; at->first < at->nwants; at->first++) {
        const struct cv_want *want = &at->wants[at->first];

        engine->wanted -= want->units;
        engine->pending--;
        cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                     .worker = worker,
                                                     .chunk = want->chunk,
                                                     .units = want->units });
    }
}

/* Or is done by somebody who has nothing else to do. */
static enum cleave_status stand_in(struct cv_real_engine *engine, uint32_t missing,
                                   struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[missing];
    bool began = true, folds;

    for (uint32_t w = 0; began && w < engine->local->nworkers && may_begin(engine, at);
         w++) {
        struct cv_desk *other = &engine->desks[w];

        if (!cv_local_there(engine->local, w) || cv_desk_busy(other) ||
            other->first < other->nwants)
            continue;
        CV_TRY(cv_local_fold_first(engine, w, &folds, err));
        if (!folds)
            CV_TRY(begin_one(engine, missing, &other->errands[0], &began, err));
    }
    return CLEAVE_OK;
}

enum cleave_status cv_real_begin_all(struct cv_real_engine *engine,
                                     struct cleave_error *err)
{
    const struct cv_local *local = engine->local;

    if (engine->pending == 0)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < local->nworkers; w++)
        if (cv_local_there(local, w))
            CV_TRY(begin_next(engine, w, err));
        else if (local->hears_losses &&
                 engine->desks[w].first < engine->desks[w].nwants && anybody(local))
            lose_orders(engine, w);
    for (uint32_t w = 0; !local->hears_losses && w < local->nworkers; w++)
        if (!cv_local_there(local, w))
            CV_TRY(stand_in(engine, w, err));
    return CLEAVE_OK;
}

static enum cleave_status make_room(struct cv_desk *at, struct cleave_error *err)
{
    struct cv_want *grown;

    if (at->first == at->nwants)
        at->first = at->nwants = 0;
    if (at->nwants < at->want_room)
        return CLEAVE_OK;
    grown = cv_grow(at->wants, &at->want_room, at->nwants + 1, sizeof *grown);
    if (grown == NULL)
        return cv_fail_memory(err, "the orders of a run");
    at->wants = grown;
    return CLEAVE_OK;
}

enum cleave_status cv_local_want_again(struct cv_real_engine *engine, uint32_t worker,
                                       const struct cv_want *want,
                                       struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[worker];

    CV_TRY(make_room(at, err));
    memmove(&at->wants[at->first + 1], &at->wants[at->first],
            (at->nwants - at->first) * sizeof *at->wants);
    at->wants[at->first] = *want;
    at->nwants++;
    engine->pending++;
    engine->wanted += want->units;
    return CLEAVE_OK;
}

static enum cleave_status want(struct cv_real_engine *engine, uint32_t worker,
                               double units, struct cleave_error *err)
{
    struct cv_desk *at = &engine->desks[worker];

    /* Whole bytes, so that the sum of the wishes is exact. */
    units = units < MOST_WANTED ? fmax(1, round(units)) : MOST_WANTED;
    CV_TRY(make_room(at, err));
    at->wants[at->nwants++] = (struct cv_want){ engine->numbered++, units, false };
    engine->pending++;
    engine->wanted += units;
    return cv_local_there(engine->local, worker) ? begin_next(engine, worker, err)
                                                 : CLEAVE_OK;
}

/* --- recalls ------------------------------------------------------------------------------ */

static void tell_recalled(struct cv_real_engine *engine, const struct cv_errand *errand,
                          double units)
{
    cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                 .worker = errand->owner,
                                                 .chunk = errand->chunk,
                                                 .units = units });
}

void cv_local_cut_answered(void *context, struct cv_slot *slot, bool done)
{
    struct cv_real_engine *engine = context;
    struct cv_errand *errand = (struct cv_errand *)slot;
    struct cleave_error err;

    if (done &&
        cv_source_put_back(engine->local->source, &errand->tail, &err) != CLEAVE_OK)
        cv_local_broke(engine, &err);
    tell_recalled(engine, errand,
                  done ? (double)(errand->tail.end - errand->tail.begin) : 0);
}

/* The one that would be last: who takes something back takes it from there. */
static struct cv_errand *last_errand(const struct cv_real_engine *engine, uint32_t worker)
{
    const struct cv_desk *at = &engine->desks[worker];
    struct cv_errand *last = NULL;

    for (uint32_t i = 0; i < at->nerrands; i++)
        if (at->errands[i].slot.busy && at->errands[i].owner == worker &&
            (last == NULL || at->errands[i].chunk > last->chunk))
            last = &at->errands[i];
    return last;
}

/* A piece that is still on its way, and of which more is wanted than has not been sent, is
 * taken back as a whole. */
static enum cleave_status take_all(struct cv_real_engine *engine,
                                   struct cv_errand *errand, struct cleave_error *err)
{
    const struct cv_piece piece = errand->slot.piece;
    const struct cv_want want = { errand->chunk, 0, errand->told };

    cv_remote_forget(&errand->slot);
    engine->local->workers[errand->slot.worker].taken_back++;
    engine->running--;
    CV_TRY(cv_source_put_back(engine->local->source, &piece, err));
    tell_recalled(engine, errand, (double)(piece.end - piece.begin));
    tell_empty(engine, errand->owner, &want);
    return CLEAVE_OK;
}

/* Part the piece so that up to `units` bytes are behind, but not all. */
static enum cleave_status part(struct cv_real_engine *engine, const struct cv_slot *slot,
                               double units, uint64_t from, struct cv_piece *head,
                               struct cv_piece *tail, struct cleave_error *err)
{
    const struct cv_range body = slot->piece.body;
    const uint64_t least = from > body.begin ? from : body.begin + 1;
    const uint64_t most = (uint64_t)fmin(units, (double)(body.end - from));
    const uint64_t at = body.end - most > least ? body.end - most : least;

    return cv_source_part(engine->local->source, &slot->piece, at, head, tail, err);
}

static enum cleave_status recall_remote(struct cv_real_engine *engine,
                                        struct cv_errand *errand, double units,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &errand->slot;
    const struct cv_range body = slot->piece.body;
    const uint64_t fed = cv_slot_fed(slot);
    struct cv_piece head, tail;

    if (!slot->remote.arrived && units > (double)(body.end - fed) &&
        units > 0.5 * (double)(body.end - body.begin))
        return take_all(engine, errand, err);
    CV_TRY(part(engine, slot, units, slot->remote.arrived ? body.begin : fed, &head,
                &tail, err));
    if (tail.end > tail.begin && slot->remote.arrived) {
        errand->tail = tail;
        if (cv_remote_ask_cut(slot, &head))
            return CLEAVE_OK; /* the answer will come */
    } else if (tail.end > tail.begin && cv_slot_cut(slot, &head)) {
        CV_TRY(cv_source_put_back(engine->local->source, &tail, err));
        tell_recalled(engine, errand, (double)(tail.end - tail.begin));
        return CLEAVE_OK;
    }
    tell_recalled(engine, errand, 0);
    return CLEAVE_OK;
}

/* Take back what has not been fed, from the end, up to so many bytes. */
static enum cleave_status recall(struct cv_real_engine *engine,
                                 const struct cleave_order *order,
                                 struct cleave_error *err)
{
    struct cv_errand *errand = last_errand(engine, order->worker);
    struct cv_piece head, tail;
    double units = 0;

    if (errand == NULL) {
        cv_local_tell(engine, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                     .worker = order->worker });
        return CLEAVE_OK;
    }
    if (order->units >= 1 && errand->slot.remote.host != NULL)
        return recall_remote(engine, errand, order->units, err);
    if (order->units >= 1) {
        CV_TRY(part(engine, &errand->slot, order->units, cv_slot_fed(&errand->slot),
                    &head, &tail, err));
        if (tail.end > tail.begin && cv_slot_cut(&errand->slot, &head)) {
            CV_TRY(cv_source_put_back(engine->local->source, &tail, err));
            units = (double)(tail.end - tail.begin);
        }
    }
    tell_recalled(engine, errand, units);
    return CLEAVE_OK;
}

/* --- waking ------------------------------------------------------------------------------- */

static void woken(void *context)
{
    struct cv_local_wake *wake = context;

    cv_local_tell(wake->engine,
                  (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = wake->worker });
    wake->set = false;
    wake->engine->sleeping--;
}

static enum cleave_status wake_at(struct cv_real_engine *engine,
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

enum cleave_status cv_real_submit(void *instance, const struct cleave_order *order,
                                  struct cleave_error *err)
{
    struct cv_real_engine *engine = instance;

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
