/* worker_fold.c -- a worker that keeps its outputs and folds them with those of others.
 * SPDX-License-Identifier: MIT */
#include "run/worker_fold.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "run/fold.h"
#include "run/fold_frames.h"
#include "run/peer_port.h"
#include "run/worker_held.h"
#include "run/worker_inner.h"

/* What is to be folded: when all of it is here, and it is its turn. */
struct order {
    uint64_t id;
    uint64_t names[CV_FOLD_MOST];
    struct cv_held *held[CV_FOLD_MOST]; /* once it runs                                */
    size_t count;
    uint32_t attempt; /* from 1                                                        */
    bool off;         /* nobody wants it any more                                      */
    struct order *next;
};

struct cv_worker_fold {
    int peers;                /* borrowed                                              */
    struct cv_worker *worker; /* borrowed: from the time it is ready                   */
    struct cv_peer_port port;
    struct cv_holding holding;
    struct cv_slot slot; /* that folds                                                 */
    struct cv_command command;
    bool keeps, has_command, stopped;
    uint64_t base; /* of the names of outputs                                          */
    uint32_t retries;
    struct order *orders;  /* owned, in order                                          */
    struct order *running; /* owned                                                    */
};

static void fold_next(struct cv_worker_fold *fold);

/* --- partials ----------------------------------------------------------------------------- */

static bool keep_output(void *context, struct cv_worker *worker, uint64_t chunk,
                        struct cv_store *output)
{
    struct cv_worker_fold *fold = context;
    struct cleave_error err;

    if (!fold->keeps)
        return false;
    if (cv_holding_add(&fold->holding, fold->base + chunk, output, &err) != CLEAVE_OK)
        cv_worker_fail(worker, &err);
    else
        fold_next(fold);
    return true;
}

static bool next_frame(struct cv_worker_fold *fold, bool for_master,
                       struct cv_frame_head *head, unsigned char *payload)
{
    struct cleave_error err;
    bool any;

    if (cv_holding_next(&fold->holding, for_master, head, payload, &any, &err) ==
        CLEAVE_OK)
        return any;
    cv_worker_fail(fold->worker, &err);
    return false;
}

static bool more_for_peers(void *context, struct cv_frame_head *head,
                           unsigned char *payload)
{
    return next_frame(context, false, head, payload);
}

static bool more_for_master(void *context, struct cv_worker *worker)
{
    struct cv_frame_head head;

    if (!next_frame(context, true, &head, worker->bytes))
        return false;
    cv_link_send(&worker->link, &head, worker->bytes, head.length);
    return true;
}

static void peer_frame(void *context, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_worker_fold *fold = context;
    struct cleave_error err;
    bool whole;

    if (cv_holding_take(&fold->holding, fold->worker->gather, head, payload, &whole,
                        &err) != CLEAVE_OK)
        cv_worker_fail(fold->worker, &err);
    else if (whole)
        fold_next(fold);
}

static void peers_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    cv_worker_fail(fold->worker, err);
}

/* --- folding ------------------------------------------------------------------------------ */

/* How often it was tried, and what there is to say. */
static void report(struct cv_worker_fold *fold, enum cv_fold_frame type,
                   const struct order *order, uint64_t bytes, const char *text)
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
    struct order *order = fold->running;

    fold->running = NULL;
    for (size_t i = 0; i < order->count; i++)
        cv_holding_release(&fold->holding, order->held[i]);
    free(order);
}

static enum cleave_status launch(struct cv_worker_fold *fold, struct cleave_error *err)
{
    const struct order *order = fold->running;
    struct cv_part parts[CV_FOLD_MOST];

    for (size_t i = 0; i < order->count; i++) {
        const struct cv_taken *taken = &order->held[i]->taken;

        parts[i] = (struct cv_part){ .fd = taken->fd,
                                     .begin = taken->begin,
                                     .end = taken->end,
                                     .name = "a partial result" };
    }
    return cv_slot_start_parts(&fold->slot, parts, order->count, err);
}

/* The master will end the run, unless it has called the order off. */
static void give_up(struct cv_worker_fold *fold, const char *text)
{
    report(fold, CV_FRAME_FOLD_FAILED, fold->running, 0, text);
    end_order(fold);
}

static void start_order(struct cv_worker_fold *fold)
{
    struct cleave_error err;

    if (launch(fold, &err) != CLEAVE_OK)
        give_up(fold, err.text);
}

static bool all_here(const struct cv_worker_fold *fold, struct order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        order->held[i] = cv_holding_find(&fold->holding, order->names[i]);
        if (order->held[i] == NULL || !order->held[i]->complete)
            return false;
    }
    return true;
}

/* The first order of which all is here. */
static void fold_next(struct cv_worker_fold *fold)
{
    struct order **at = &fold->orders, *order;

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

static void describe_end(const struct cv_slot *slot, enum cv_slot_end end, char *out,
                         size_t size)
{
    if (end == CV_SLOT_TIMED_OUT)
        snprintf(out, size, "the command that reduces took longer than %g s",
                 slot->timeout_s);
    else if (slot->process.signal != 0)
        snprintf(out, size, "the command that reduces was ended by signal %d",
                 slot->process.signal);
    else
        snprintf(out, size, "the command that reduces exited with status %d",
                 slot->process.exit_code);
}

/* The parts have become one, which lies here. */
static void accept(struct cv_worker_fold *fold, struct cv_store *store)
{
    const struct order *order = fold->running;
    const uint64_t bytes = cv_store_size(store);
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
    struct cv_store *store = slot->store;
    struct order *order = fold->running;
    char how[200];

    slot->store = NULL;
    if (end == CV_SLOT_DONE) {
        accept(fold, store);
        fold_next(fold);
        return;
    }
    cv_store_drop(store);
    if (end == CV_SLOT_STOPPED || order->off || fold->stopped) {
        end_order(fold);
        fold_next(fold);
    } else if (order->attempt <= fold->retries) {
        order->attempt++;
        start_order(fold);
    } else {
        describe_end(slot, end, how, sizeof how);
        give_up(fold, how);
    }
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    cv_worker_fail(fold->worker, err);
}

/* --- the master's words ------------------------------------------------------------------- */

static enum cleave_status take_reduce(struct cv_worker_fold *fold,
                                      const struct cv_frame_head *head,
                                      const unsigned char *payload,
                                      struct cleave_error *err)
{
    struct cv_worker *worker = fold->worker;
    struct cv_unpacker unpacker = { payload, head->length, false };
    const char *text = cv_unpack_text(&unpacker, &worker->arena);
    const uint64_t retries = cv_unpack_number(&unpacker);
    const double timeout_s = cv_unpack_real(&unpacker);
    const char *const words[] = { "/bin/sh", "-c", text, NULL };

    if (!cv_unpack_good(&unpacker) || fold->keeps)
        return cv_fail(err, CLEAVE_EINPUT, "expected a command that reduces");
    CV_TRY(cv_command_init(&fold->command, NULL, words, err));
    fold->has_command = true;
    CV_TRY(cv_command_set(&fold->command, "CLEAVE_WORKER", worker->job.names[0], err));
    cv_slot_init(&fold->slot);
    fold->slot.poller = worker->poller;
    fold->slot.gather = worker->gather;
    fold->slot.command = &fold->command;
    fold->slot.timeout_s = timeout_s;
    fold->slot.ended = slot_ended;
    fold->slot.broke = slot_broke;
    fold->slot.context = fold;
    fold->retries = (uint32_t)retries;
    fold->base = head->value;
    fold->keeps = true;
    return CLEAVE_OK;
}

static enum cleave_status take_fold(struct cv_worker_fold *fold,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    struct order **at = &fold->orders, *order = calloc(1, sizeof *order);

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    order->id = head->chunk;
    order->count = cv_unpack_count(&unpacker, sizeof order->names[0]);
    for (size_t i = 0; i < order->count && i < CV_FOLD_MOST; i++)
        order->names[i] = cv_unpack_number(&unpacker);
    if (!cv_unpack_good(&unpacker) || order->count < 2) {
        free(order);
        return cv_fail(err, CLEAVE_EINPUT, "expected 2 to %d partial results to reduce",
                       (int)CV_FOLD_MOST);
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = order;
    fold_next(fold);
    return CLEAVE_OK;
}

static void call_off(struct cv_worker_fold *fold, uint64_t id)
{
    struct order **at = &fold->orders, *order;

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

static enum cleave_status give(struct cv_worker_fold *fold,
                               const struct cv_frame_head *head,
                               const unsigned char *payload, struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t name = cv_unpack_number(&unpacker);

    if (!cv_unpack_good(&unpacker))
        return cv_fail(err, CLEAVE_EINPUT, "expected the name of a partial result");
    CV_TRY(
        cv_holding_send(&fold->holding, head->chunk, (uint32_t)head->value, name, err));
    cv_peer_port_wake(&fold->port);
    return CLEAVE_OK;
}

static void stop(struct cv_worker_fold *fold)
{
    fold->stopped = true;
    if (fold->running != NULL)
        cv_slot_stop(&fold->slot);
}

static void master_frame(void *context, struct cv_worker *worker,
                         const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_worker_fold *fold = context;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (head->type == CV_FRAME_REDUCE) {
        status = take_reduce(fold, head, payload, &err);
    } else if (!fold->keeps) {
        status = cv_fail(&err, CLEAVE_EINPUT,
                         "got a frame of type %d, which is not "
                         "expected here",
                         head->type);
    } else if (head->type == CV_FRAME_GIVE) {
        status = give(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FETCH) {
        status = cv_holding_send(&fold->holding, head->chunk, 0, head->chunk, &err);
        cv_link_wake(&worker->link);
    } else if (head->type == CV_FRAME_FOLD) {
        status = take_fold(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FOLD_OFF) {
        call_off(fold, head->chunk);
    } else if (head->type == CV_FRAME_FORGET) {
        status = cv_holding_forget(&fold->holding, head->chunk, &err);
    } else if (head->type == CV_FRAME_FOLD_STOP) {
        stop(fold);
    }
    if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}

/* --- the whole ---------------------------------------------------------------------------- */

static enum cleave_status worker_ready(void *context, struct cv_worker *worker,
                                       struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    fold->worker = worker;
    fold->port.poller = worker->poller;
    fold->port.frame = peer_frame;
    fold->port.more = more_for_peers;
    fold->port.broke = peers_broke;
    fold->port.context = fold;
    return cv_peer_port_open(&fold->port, fold->peers, err);
}

/* Before the worker and its stores go. */
static void worker_done(void *context, struct cv_worker *worker)
{
    struct cv_worker_fold *fold = context;

    (void)worker;
    cv_peer_port_close(&fold->port);
    if (fold->has_command) {
        cv_slot_done(&fold->slot);
        cv_command_done(&fold->command);
    }
    fold->has_command = fold->keeps = false;
    while (fold->orders != NULL) {
        struct order *order = fold->orders;

        fold->orders = order->next;
        free(order);
    }
    free(fold->running);
    fold->running = NULL;
    cv_holding_done(&fold->holding);
}

enum cleave_status cv_worker_fold_new(int peers, struct cv_worker_fold **out,
                                      struct cleave_error *err)
{
    struct cv_worker_fold *fold = calloc(1, sizeof *fold);

    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    fold->peers = peers;
    fold->port.fd = -1;
    *out = fold;
    return CLEAVE_OK;
}

void cv_worker_fold_free(struct cv_worker_fold *fold)
{
    free(fold);
}

void cv_worker_fold_attach(struct cv_worker_fold *fold, struct cv_worker_options *options)
{
    options->other = master_frame;
    options->ready = worker_ready;
    options->done = worker_done;
    options->keep = keep_output;
    options->more = more_for_master;
    options->context = fold;
}
