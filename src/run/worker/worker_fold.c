/* worker_fold.c -- a worker that keeps its outputs and folds them with those of others.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/fail.h"
#include "run/common/poller.h"
#include "run/fold/fold.h"
#include "run/fold/fold_command.h"
#include "run/wire/frame.h"
#include "run/wire/protocol.h"
#include "run/worker/worker_internal.h"
#include "run/worker/worker_partials.h"

struct cv_peer_port {
    struct cv_poller *poller; /* borrowed                                             */
    /* A frame has come; the payload is borrowed for the call. */
    void (*frame)(void *context, const struct cv_frame_head *head,
                  const unsigned char *payload);
    /* Make the next frame: head but for the checksum, and its payload. False: there is
     * none. */
    bool (*more)(void *context, struct cv_frame_head *head, unsigned char *payload);
    /* It cannot be used any more; called once. */
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;

    int fd; /* borrowed; -1: closed                                                   */
    struct cv_watch watch;
    unsigned char *in, *out; /* owned: a frame each                                   */
    size_t nin, nout, sent;
    bool writing;
};

/* What is to be folded: when all of it is here, and it is its turn. */
struct cv_fold_order {
    uint64_t id;
    uint64_t names[CV_FOLD_MOST];
    struct cv_worker_partial
        *held[CV_FOLD_MOST]; /* once it runs                                */
    size_t count;
    uint32_t attempt; /* from 1                                                        */
    bool off;         /* nobody wants it any more                                      */
    struct cv_fold_order *next;
};

struct cv_worker_fold {
    int peers;                /* borrowed                                              */
    struct cv_worker *worker; /* borrowed: from the time it is ready                   */
    struct cv_peer_port port;
    struct cv_worker_partials holding;
    struct cv_slot slot; /* that folds                                                 */
    struct cv_fold_call call;
    bool keeps, stopped;
    uint64_t base; /* of the names of outputs                                          */
    uint32_t retries;
    struct cv_fold_order
        *orders; /* owned, in order                                          */
    struct cv_fold_order
        *running;         /* owned                                                    */
    struct cv_timer beat; /* of what the master is told of it all                       */
    struct cv_timer again; /* until there may be room for its command                   */
    uint64_t livelock; /* bytes that came and went, and beats of the command         */
};

/* --- the folds that a worker was told to make, one after the other ----------------- */

static void beat(void *context);
static void folding_next(struct cv_worker_fold *fold);
static void folding_tell(struct cv_worker_fold *fold);
static void peer_port_close(struct cv_peer_port *port);

/* How often it was tried, and what there is to say. */
static void report(struct cv_worker_fold *fold, enum cv_frame_type type,
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
    folding_next(fold);
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
static void folding_next(struct cv_worker_fold *fold)
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
    folding_tell(fold);
}

/* There is something to make or to give: the master is told every second how it goes. */
static void folding_tell(struct cv_worker_fold *fold)
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
static void fold_done(struct cv_worker_fold *fold, struct cv_chunk_output *store)
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
        fold_done(fold, store);
        folding_next(fold);
        return;
    }
    cv_chunk_output_drop(store);
    if (end == CV_SLOT_STOPPED || order->off || fold->stopped) {
        end_order(fold);
        folding_next(fold);
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

/* The command that reduces; the text is borrowed. */
static enum cleave_status folding_begin(struct cv_worker_fold *fold, const char *text,
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

/* Nobody wants that one any more; nor any. */
static void folding_call_off(struct cv_worker_fold *fold, uint64_t id)
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

static void folding_stop(struct cv_worker_fold *fold)
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

/* Kills what is running. */
static void folding_done(struct cv_worker_fold *fold)
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

/* --- frames to and from other workers, over one socket ----------------------------- */

enum { ROOM = CV_FRAME_HEAD + CV_FRAME_MOST, TURNS = 8 };

static void break_port(struct cv_peer_port *port, const struct cleave_error *err)
{
    if (port->fd < 0)
        return;
    cv_poller_remove(port->poller, &port->watch);
    port->fd = -1;
    port->broke(port->context, err);
}

static void fail_system(struct cv_peer_port *port, const char *what)
{
    struct cleave_error err;

    cv_fail(&err, CLEAVE_EENGINE, "cannot %s other workers: %s", what, strerror(errno));
    break_port(port, &err);
}

static void set_events(struct cv_peer_port *port, bool writing)
{
    struct cleave_error err;

    if (port->fd < 0 || port->writing == writing)
        return;
    port->writing = writing;
    if (cv_poller_modify(port->poller, &port->watch,
                         CV_READABLE | (writing ? CV_WRITABLE : 0), &err) != CLEAVE_OK)
        break_port(port, &err);
}

/* --- out ---------------------------------------------------------------------------------- */

static bool make_frame(struct cv_peer_port *port)
{
    struct cv_frame_head head = { .type = 0 };

    if (!port->more(port->context, &head, port->out + CV_FRAME_HEAD))
        return false;
    head.checksum = cv_frame_checksum(&head, port->out + CV_FRAME_HEAD);
    cv_frame_encode(&head, port->out);
    port->nout = CV_FRAME_HEAD + head.length;
    port->sent = 0;
    return true;
}

static void write_some(struct cv_peer_port *port)
{
    for (int turn = 0; turn < TURNS && port->fd >= 0;) {
        ssize_t n;

        if (port->sent == port->nout) {
            turn++;
            if (!make_frame(port)) {
                set_events(port, false);
                return;
            }
        }
        n = send(port->fd, port->out + port->sent, port->nout - port->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            port->sent += (size_t)n;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            fail_system(port, "send to");
    }
}

/* There is something for `more` to make. */
static void peer_port_wake(struct cv_peer_port *port)
{
    set_events(port, true);
}

/* --- in ----------------------------------------------------------------------------------- */

/* How many bytes of the frame are missing; 0: it is whole, and this is its head. */
static enum cleave_status look(const struct cv_peer_port *port, size_t *out_missing,
                               struct cv_frame_head *head, struct cleave_error *err)
{
    *out_missing = CV_FRAME_HEAD - port->nin;
    if (port->nin < CV_FRAME_HEAD)
        return CLEAVE_OK;
    CV_TRY(cv_frame_decode(port->in, head, err));
    *out_missing = CV_FRAME_HEAD + head->length - port->nin;
    if (*out_missing > 0)
        return CLEAVE_OK;
    if (cv_frame_checksum(head, port->in + CV_FRAME_HEAD) != head->checksum)
        return cv_fail(err, CLEAVE_EINPUT, "a frame of another worker was damaged");
    return CLEAVE_OK;
}

/* Hand over the frame if it is whole; how many bytes are missing of it or the next one. */
static bool deliver(struct cv_peer_port *port, size_t *out_missing)
{
    struct cv_frame_head head;
    struct cleave_error err;

    if (look(port, out_missing, &head, &err) != CLEAVE_OK) {
        break_port(port, &err);
        return false;
    }
    if (*out_missing > 0)
        return true;
    port->nin = 0;
    *out_missing = CV_FRAME_HEAD;
    port->frame(port->context, &head, port->in + CV_FRAME_HEAD);
    return port->fd >= 0;
}

static void read_some(struct cv_peer_port *port)
{
    size_t missing;

    /* What has been read is always handed over: nobody would call again for it. */
    for (int turn = 0; deliver(port, &missing) && turn < TURNS; turn++) {
        const ssize_t n = recv(port->fd, port->in + port->nin, missing, MSG_DONTWAIT);
        struct cleave_error err;

        if (n > 0) {
            port->nin += (size_t)n;
        } else if (n == 0) {
            cv_fail(&err, CLEAVE_ECLOSED, "the other workers cannot be reached any more");
            break_port(port, &err);
            return;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            fail_system(port, "hear");
            return;
        }
    }
}

/* --- both --------------------------------------------------------------------------------- */

static void ready(void *context, unsigned events)
{
    struct cv_peer_port *port = context;

    if (events & CV_READABLE)
        read_some(port);
    if (port->fd >= 0 && port->writing && (events & CV_WRITABLE))
        write_some(port);
}

/* Callbacks and poller have been set. */
static enum cleave_status peer_port_open(struct cv_peer_port *port, int fd,
                                         struct cleave_error *err)
{
    port->fd = -1;
    port->nin = port->nout = port->sent = 0;
    port->writing = false;
    port->in = malloc(ROOM);
    port->out = malloc(ROOM);
    if (port->in == NULL || port->out == NULL) {
        peer_port_close(port);
        return cv_fail_memory(err, "frames");
    }
    CV_TRY(cv_poller_add(port->poller, &port->watch, fd, CV_READABLE, ready, port, err));
    port->fd = fd;
    return CLEAVE_OK;
}

static void peer_port_close(struct cv_peer_port *port)
{
    if (port->fd >= 0)
        cv_poller_remove(port->poller, &port->watch);
    port->fd = -1;
    free(port->in);
    free(port->out);
    port->in = port->out = NULL;
}

/* --- a worker that keeps its outputs and folds them with those of others ----------- */

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
        folding_next(fold);
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
        folding_next(fold);
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
    CV_TRY(folding_begin(fold, text, timeout_s, err));
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
    folding_next(fold);
    folding_tell(fold);
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
    peer_port_wake(&fold->port);
    folding_tell(fold);
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
        folding_call_off(fold, head->chunk);
    } else if (head->type == CV_FRAME_FORGET) {
        status = cv_holding_forget(&fold->holding, head->chunk, &err);
    } else if (head->type == CV_FRAME_FOLD_STOP) {
        folding_stop(fold);
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
    return peer_port_open(&fold->port, fold->peers, err);
}

/* Before the worker and its stores go. */
static void worker_done(void *context, struct cv_worker *worker)
{
    struct cv_worker_fold *fold = context;

    (void)worker;
    peer_port_close(&fold->port);
    folding_done(fold);
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
