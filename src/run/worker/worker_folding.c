/* worker_folding.c -- the folds that a worker was told to make, one after the other.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "run/wire/protocol.h"
#include "run/worker/worker_folding.h"

/* How often it was tried, and what there is to say. */
static void report(struct cv_worker_fold *fold, enum cv_fold_frame type,
                   const struct cv_fold_order *order, uint64_t bytes, const char *text)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_number(&packer, order->attempt);
    if (text != NULL)
        cv_pack_text(&packer, text);
    if (!packer.failed)
        cv_link_send(&fold->worker->link,
                     &(struct cv_frame_head){
                         .type = (uint8_t)type, .chunk = order->id, .value = bytes },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* The parts stay until the master says that they are not needed any more. */
static void end_order(struct cv_worker_fold *fold)
{
    struct cv_fold_order *order = fold->running;

    fold->running = NULL;
    for (size_t i = 0; i < order->count; i++)
        cv_holding_release(&fold->holding, order->held[i]);
    free(order);
}

static enum cleave_status launch(struct cv_worker_fold *fold, struct cleave_error *err)
{
    const struct cv_fold_order *order = fold->running;
    struct cv_taken taken[CV_FOLD_MOST];

    for (size_t i = 0; i < order->count; i++)
        taken[i] = order->held[i]->taken;
    return cv_fold_call_start(&fold->call, &fold->slot, taken, order->count, err);
}

/* The master will end the run, unless it has called the order off. */
static void give_up(struct cv_worker_fold *fold, const char *text)
{
    report(fold, CV_FRAME_FOLD_FAILED, fold->running, 0, text);
    end_order(fold);
}

static void start_order(struct cv_worker_fold *fold);

/* There was no room for its command, and perhaps there is now. */
static void try_again(void *context)
{
    struct cv_worker_fold *fold = context;

    if (!fold->running->off && !fold->stopped) {
        start_order(fold);
        return;
    }
    end_order(fold);
    cv_folding_next(fold);
}

static bool put_off(struct cv_worker_fold *fold, const struct cleave_error *why)
{
    struct cv_worker *worker = fold->worker;

    return cv_start_limiter_wait(&worker->limiter, worker->poller, why) &&
           cv_poller_set(worker->poller, &fold->again, worker->limiter.room_s, try_again,
                         fold, NULL) == CLEAVE_OK;
}

static void start_order(struct cv_worker_fold *fold)
{
    struct cv_worker *worker = fold->worker;
    struct cleave_error err;
    enum cleave_status status = cv_start_limiter_room(&worker->limiter, &err);

    if (status == CLEAVE_OK)
        status = launch(fold, &err);
    worker->folding = status == CLEAVE_OK;
    if (status == CLEAVE_OK)
        cv_start_limiter_begun(&worker->limiter);
    else if (!put_off(fold, &err))
        give_up(fold, err.text);
}

static bool all_here(const struct cv_worker_fold *fold, struct cv_fold_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        order->held[i] = cv_holding_find(&fold->holding, order->names[i]);
        if (order->held[i] == NULL || !order->held[i]->complete)
            return false;
    }
    return true;
}

/* The first order of which all is here. */
void cv_folding_next(struct cv_worker_fold *fold)
{
    struct cv_fold_order **at = &fold->orders, *order;

    if (fold->running != NULL || fold->stopped)
        return;
    while (*at != NULL && !all_here(fold, *at))
        at = &(*at)->next;
    order = *at;
    if (order == NULL)
        return;
    *at = order->next;
    for (size_t i = 0; i < order->count; i++)
        order->held[i]->users++;
    order->attempt = 1;
    fold->running = order;
    start_order(fold);
}

/* --- what the master is told meanwhile ----------------------------------------------------- */

static const double BEAT_S = 1;

/* The name of what the first order waits for; 0: it waits for nothing, or there is none. */
static uint64_t awaited(const struct cv_worker_fold *fold)
{
    const struct cv_fold_order *order = fold->orders;

    for (size_t i = 0; fold->running == NULL && order != NULL && i < order->count; i++) {
        const struct cv_worker_partial *held =
            cv_holding_find(&fold->holding, order->names[i]);

        if (held == NULL || !held->complete)
            return order->names[i];
    }
    return 0;
}

static void beat(void *context)
{
    struct cv_worker_fold *fold = context;

    fold->livelock += fold->running != NULL;
    cv_link_send(&fold->worker->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_HEADWAY,
                                          .chunk = awaited(fold),
                                          .value = fold->livelock },
                 NULL, 0);
    cv_folding_tell(fold);
}

void cv_folding_tell(struct cv_worker_fold *fold)
{
    struct cv_worker *worker = fold->worker;
    struct cleave_error err;

    if (fold->beat.place != 0 || (fold->running == NULL && fold->orders == NULL &&
                                  fold->holding.for_peers == NULL))
        return;
    if (cv_poller_set(worker->poller, &fold->beat, cv_clock_s() + BEAT_S, beat, fold,
                      &err) != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}

/* --- what comes of them ------------------------------------------------------------------- */

/* The parts have become one, which lies here. */
static void accept(struct cv_worker_fold *fold, struct cv_chunk_output *store)
{
    const struct cv_fold_order *order = fold->running;
    const uint64_t bytes = cv_chunk_output_size(store);
    struct cleave_error err;

    if (cv_holding_add(&fold->holding, order->id, store, &err) != CLEAVE_OK) {
        cv_worker_fail(fold->worker, &err);
        return;
    }
    report(fold, CV_FRAME_FOLDED, order, bytes, NULL);
    end_order(fold);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_worker_fold *fold = context;
    struct cv_chunk_output *store = slot->store;
    struct cv_fold_order *order = fold->running;
    char how[64], text[100];

    slot->store = NULL;
    fold->worker->folding = false;
    if (end == CV_SLOT_DONE) {
        accept(fold, store);
        cv_folding_next(fold);
        return;
    }
    cv_chunk_output_drop(store);
    if (end == CV_SLOT_STOPPED || order->off || fold->stopped) {
        end_order(fold);
        cv_folding_next(fold);
    } else if (order->attempt <= fold->retries) {
        order->attempt++;
        start_order(fold);
    } else {
        cv_slot_describe_end(slot, how, sizeof how);
        snprintf(text, sizeof text, "the command that reduces %s", how);
        give_up(fold, text);
    }
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    cv_worker_fail(fold->worker, err);
}

enum cleave_status cv_folding_begin(struct cv_worker_fold *fold, const char *text,
                                    double timeout_s, struct cleave_error *err)
{
    struct cv_worker *worker = fold->worker;

    fold->call = (struct cv_fold_call){ .text = text, .worker = worker->job.names[0] };
    CV_TRY(cv_fold_call_prepare(&fold->call, err));
    cv_ordered_output_expect_taking(worker->outputs);
    if (cv_fold_takes_files(text) && !cv_ordered_output_separate(worker->outputs))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the command that reduces before there are outputs");
    cv_slot_init(&fold->slot);
    fold->slot.poller = worker->poller;
    fold->slot.outputs = worker->outputs;
    fold->slot.timeout_s = timeout_s;
    fold->slot.ended = slot_ended;
    fold->slot.broke = slot_broke;
    fold->slot.context = fold;
    return CLEAVE_OK;
}

void cv_folding_call_off(struct cv_worker_fold *fold, uint64_t id)
{
    struct cv_fold_order **at = &fold->orders, *order;

    if (fold->running != NULL && fold->running->id == id) {
        fold->running->off = true;
        cv_slot_stop(&fold->slot);
        return;
    }
    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    order = *at;
    if (order == NULL)
        return; /* it has been made: the master will hear it, and say what to do */
    *at = order->next;
    free(order);
}

void cv_folding_stop(struct cv_worker_fold *fold)
{
    fold->stopped = true;
    if (fold->running != NULL)
        cv_slot_stop(&fold->slot);
}

static void cancel_timers(struct cv_worker_fold *fold)
{
    cv_poller_cancel(fold->worker->poller, &fold->beat);
    cv_poller_cancel(fold->worker->poller, &fold->again);
}

void cv_folding_done(struct cv_worker_fold *fold)
{
    if (fold->worker != NULL)
        cancel_timers(fold);
    if (fold->slot.poller != NULL)
        cv_slot_done(&fold->slot);
    cv_fold_call_done(&fold->call);
    while (fold->orders != NULL) {
        struct cv_fold_order *order = fold->orders;

        fold->orders = order->next;
        free(order);
    }
    free(fold->running);
    fold->running = NULL;
}
