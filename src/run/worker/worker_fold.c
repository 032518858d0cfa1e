/* worker_fold.c -- a worker that keeps its outputs and folds them with those of others.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_fold.h"

#include <stdlib.h>

#include "base/fail.h"
#include "run/fold/fold_command.h"
#include "run/wire/protocol.h"
#include "run/worker/worker_folding.h"
#include "run/worker/worker_rules.h"

/* --- partials ----------------------------------------------------------------------------- */

static bool keep_output(void *context, struct cv_worker *worker, uint64_t chunk,
                        struct cv_chunk_output *output)
{
    struct cv_worker_fold *fold = context;
    struct cleave_error err;

    if (!fold->keeps)
        return false;
    if (cv_holding_add(&fold->holding, fold->base + chunk, output, &err) != CLEAVE_OK)
        cv_worker_fail(worker, &err);
    else
        cv_folding_next(fold);
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
    struct cv_worker_fold *fold = context;

    if (!next_frame(fold, false, head, payload))
        return false;
    fold->livelock += 1 + (uint64_t)head->length;
    return true;
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

    fold->livelock += 1 + (uint64_t)head->length;
    if (cv_holding_take(&fold->holding, fold->worker->outputs, head, payload, &whole,
                        &err) != CLEAVE_OK)
        cv_worker_fail(fold->worker, &err);
    else if (whole)
        cv_folding_next(fold);
}

static void peers_broke(void *context, const struct cleave_error *err)
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

    if (!cv_unpack_good(&unpacker))
        return cv_fail(err, CLEAVE_EINPUT, "expected a command that reduces");
    CV_TRY(cv_folding_begin(fold, text, timeout_s, err));
    fold->retries = (uint32_t)retries;
    fold->base = head->value;
    fold->keeps = true;
    return CLEAVE_OK;
}

/* Whether a partial of that name is here or is to be made. */
static bool is_known(const struct cv_worker_fold *fold, uint64_t id)
{
    const struct cv_fold_order *order = fold->orders;

    while (order != NULL && order->id != id)
        order = order->next;
    return order != NULL || (fold->running != NULL && fold->running->id == id) ||
           cv_holding_find(&fold->holding, id) != NULL;
}

static enum cleave_status take_fold(struct cv_worker_fold *fold,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    struct cv_fold_order **at = &fold->orders, *order = calloc(1, sizeof *order);

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    order->id = head->chunk;
    order->count = cv_unpack_count(&unpacker, sizeof order->names[0]);
    for (size_t i = 0; i < order->count && i < CV_FOLD_MOST; i++)
        order->names[i] = cv_unpack_number(&unpacker);
    if (!cv_unpack_good(&unpacker) || order->count < 2 || order->count > CV_FOLD_MOST ||
        (order->count > 2 && cv_fold_takes_files(fold->call.text))) {
        free(order);
        return cv_fail(err, CLEAVE_EINPUT, "expected 2 to %d partial results to reduce",
                       (int)CV_FOLD_MOST);
    }
    if (is_known(fold, order->id)) {
        free(order);
        return cv_fail(err, CLEAVE_EINPUT, "was told twice to make a partial result");
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = order;
    cv_folding_next(fold);
    cv_folding_tell(fold);
    return CLEAVE_OK;
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
    cv_folding_tell(fold);
    return CLEAVE_OK;
}

static void master_frame(void *context, struct cv_worker *worker,
                         const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_worker_fold *fold = context;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (!cv_worker_admit(worker, fold->keeps ? CV_WORKER_FOLDS : CV_WORKER_NO_FOLD, head))
        return;
    if (head->type == CV_FRAME_REDUCE) {
        status = take_reduce(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_GIVE) {
        status = give(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FETCH) {
        status = cv_holding_send(&fold->holding, head->chunk, 0, head->chunk, &err);
        cv_link_wake(&worker->link);
    } else if (head->type == CV_FRAME_FOLD) {
        status = take_fold(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FOLD_OFF) {
        cv_folding_call_off(fold, head->chunk);
    } else if (head->type == CV_FRAME_FORGET) {
        status = cv_holding_forget(&fold->holding, head->chunk, &err);
    } else if (head->type == CV_FRAME_FOLD_STOP) {
        cv_folding_stop(fold);
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
    cv_folding_done(fold);
    fold->keeps = false;
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
