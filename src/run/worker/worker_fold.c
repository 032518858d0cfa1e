/* worker_fold.c -- a worker that keeps its outputs and folds them with those of other workers.
 * SPDX-License-Identifier: MIT
 *
 * Orders of the master are made one at a time, as soon as all their parts are here. Partial
 * results travel between workers in frames over one socket; the bridge at its other end
 * (engine/mpi_bridge.h) delivers a frame by the peer in its head. A worker without such a socket
 * folds what it has itself. */
#include "run/worker/worker_fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fail.h"
#include "engine/fold_plan.h"
#include "run/fold/fold.h"
#include "run/worker/worker_internal.h"

/* --- partial results: kept, received and sent ----------------------------------------- */

enum { FRAME = 256 * 1024 };

struct cv_worker_partial *cv_partials_find(const struct cv_worker_partials *partials,
                                           uint64_t id)
{
    struct cv_worker_partial *held = partials->held;

    while (held != NULL && (held->id != id || held->forgotten))
        held = held->next;
    return held;
}

static struct cv_worker_partial *add(struct cv_worker_partials *partials, uint64_t id,
                                     struct cv_chunk_output *store)
{
    struct cv_worker_partial *held = calloc(1, sizeof *held);

    if (held == NULL)
        return NULL;
    held->id = id;
    held->store = store;
    held->next = partials->held;
    partials->held = held;
    return held;
}

static enum cleave_status complete(struct cv_worker_partial *held,
                                   struct cleave_error *err)
{
    CV_TRY(cv_ordered_output_take(held->store, &held->taken, err));
    held->complete = true;
    return CLEAVE_OK;
}

enum cleave_status cv_partials_add(struct cv_worker_partials *partials, uint64_t id,
                                   struct cv_chunk_output *store,
                                   struct cleave_error *err)
{
    struct cv_worker_partial *held = add(partials, id, store);

    if (held == NULL) {
        cv_chunk_output_drop(store);
        return cv_fail_memory(err, "a partial result");
    }
    return complete(held, err);
}

static void drop_unused(struct cv_worker_partials *partials,
                        struct cv_worker_partial *held)
{
    struct cv_worker_partial **at = &partials->held;

    if (!held->forgotten || !held->complete || held->users > 0)
        return;
    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    cv_chunk_output_drop(held->store);
    free(held);
}

/* Drop bytes of a forgotten partial result, and its entry with the last of them. */
static bool refuse(struct cv_worker_partials *partials, uint64_t id, bool last)
{
    struct cv_worker_partial *held = partials->held;

    while (held != NULL && (held->id != id || !held->forgotten || held->complete))
        held = held->next;
    if (held == NULL)
        return false;
    held->complete = last;
    drop_unused(partials, held);
    return true;
}

enum cleave_status cv_partials_take(struct cv_worker_partials *partials,
                                    struct cv_ordered_output *outputs,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload, bool *out_complete,
                                    struct cleave_error *err)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cv_worker_partial *held;

    *out_complete = false;
    if (refuse(partials, head->chunk, last))
        return CLEAVE_OK;
    held = cv_partials_find(partials, head->chunk);
    if (head->type != CV_FRAME_PARTIAL || (held != NULL && held->complete))
        return cv_fail(err, CLEAVE_EINPUT,
                       "got a frame from another worker that is not expected");
    if (held == NULL) {
        struct cv_chunk_output *store;

        CV_TRY(cv_chunk_output_open(outputs, &store, err));
        held = add(partials, head->chunk, store);
        if (held == NULL) {
            cv_chunk_output_drop(store);
            return cv_fail_memory(err, "a partial result");
        }
    }
    if (head->value != cv_chunk_output_size(held->store))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%llu bytes of a partial result were sent before, and %llu came",
                       (unsigned long long)head->value,
                       (unsigned long long)cv_chunk_output_size(held->store));
    CV_TRY(cv_chunk_output_write(held->store, payload, head->length, err));
    *out_complete = last;
    return last ? complete(held, err) : CLEAVE_OK;
}

enum cleave_status cv_partials_forget(struct cv_worker_partials *partials, uint64_t id,
                                      struct cleave_error *err)
{
    struct cv_worker_partial *held = cv_partials_find(partials, id);

    if (held == NULL)
        held = add(partials, id, NULL);
    if (held == NULL)
        return cv_fail_memory(err, "a partial result");
    held->forgotten = true;
    if (!held->complete) {
        cv_chunk_output_drop(held->store);
        held->store = NULL;
    }
    drop_unused(partials, held);
    return CLEAVE_OK;
}

/* Remove a user. */
static void partials_release(struct cv_worker_partials *partials,
                             struct cv_worker_partial *held)
{
    held->users--;
    drop_unused(partials, held);
}

enum cleave_status cv_partials_send(struct cv_worker_partials *partials, uint64_t id,
                                    uint32_t peer, uint64_t name,
                                    struct cleave_error *err)
{
    struct cv_worker_partial *held = cv_partials_find(partials, id);
    struct cv_partial_out **line =
        peer == 0 ? &partials->for_master : &partials->for_peers;
    struct cv_partial_out *message;

    if (held == NULL || !held->complete)
        return cv_fail(err, CLEAVE_EINPUT,
                       "was asked for a partial result that is not here");
    message = calloc(1, sizeof *message);
    if (message == NULL)
        return cv_fail_memory(err, "a partial result");
    held->users++;
    *message = (struct cv_partial_out){
        .held = held, .peer = peer, .name = name, .at = held->taken.begin
    };
    while (*line != NULL)
        line = &(*line)->next;
    *line = message;
    return CLEAVE_OK;
}

enum cleave_status cv_partials_next(struct cv_worker_partials *partials, bool for_master,
                                    struct cv_frame_head *head, unsigned char *payload,
                                    bool *out_any, struct cleave_error *err)
{
    struct cv_partial_out **line =
        for_master ? &partials->for_master : &partials->for_peers;
    struct cv_partial_out *message = *line;
    const struct cv_taken *taken;
    uint64_t left, before;
    ssize_t got = 0;

    *out_any = message != NULL;
    if (message == NULL)
        return CLEAVE_OK;
    taken = &message->held->taken;
    left = taken->end - message->at;
    if (left > 0)
        got = pread(taken->fd, payload, (size_t)(left < FRAME ? left : FRAME),
                    (off_t)message->at);
    if (got < 0 || (got == 0 && left > 0))
        return cv_fail(err, CLEAVE_EENGINE, "cannot read a partial result again");
    before = message->at - taken->begin;
    message->at += (uint64_t)got;
    *head =
        (struct cv_frame_head){ .type = CV_FRAME_PARTIAL,
                                .flags = message->at == taken->end ? CV_FRAME_LAST : 0,
                                .length = (uint32_t)got,
                                .peer = message->peer,
                                .chunk = message->name,
                                .value = before };
    if (message->at == taken->end) {
        *line = message->next;
        partials_release(partials, message->held);
        free(message);
    }
    return CLEAVE_OK;
}

static void drop_messages(struct cv_partial_out **line)
{
    for (struct cv_partial_out *next; *line != NULL; *line = next) {
        next = (*line)->next;
        free(*line);
    }
}

void cv_partials_done(struct cv_worker_partials *partials)
{
    drop_messages(&partials->for_peers);
    drop_messages(&partials->for_master);
    for (struct cv_worker_partial *next; partials->held != NULL; partials->held = next) {
        next = partials->held->next;
        cv_chunk_output_drop(partials->held->store);
        free(partials->held);
    }
}

/* --- orders ------------------------------------------------------------------------------ */

enum {
    ROOM = CV_FRAME_HEAD + CV_FRAME_MOST,
    TURNS = 8, /* frames sent or received before other watches get a turn */
};

static const double BEAT_S = 1;

struct cv_fold_order {
    uint64_t id;
    uint64_t names[CV_FOLD_MOST];                 /* ids of its parts */
    struct cv_worker_partial *held[CV_FOLD_MOST]; /* the parts, while it runs */
    size_t count;
    uint32_t attempt; /* from 1 */
    bool off;         /* the master called it off */
    struct cv_fold_order *next;
};

struct cv_worker_fold {
    struct cv_worker *worker; /* borrowed: once it is ready */
    struct cv_worker_partials partials;
    bool stopped;  /* FOLD_STOP has arrived */
    uint64_t base; /* base of the ids of outputs */

    struct cv_slot slot;
    struct cv_fold_call call;
    uint32_t retries;
    struct cv_fold_order *orders, *running; /* owned */
    struct cv_timer beat;                   /* until the next HEADWAY */
    struct cv_timer again;                  /* until a process may be started */
    uint64_t
        progress; /* grows with bytes to and from peers, and while the command runs */

    int peers; /* borrowed; -1: closed */
    struct cv_watch watch;
    unsigned char *in, *out; /* owned: a frame each */
    size_t nin, nout, sent;
    bool writing;
};

static void start_order(struct cv_worker_fold *fold);
static void start_next(struct cv_worker_fold *fold);
static void beat(void *context);

/* FOLDED or FOLD_FAILED. */
static void report(struct cv_worker_fold *fold, enum cv_frame_type type, uint64_t bytes,
                   const char *text)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_number(&packer, fold->running->attempt);
    if (text != NULL)
        cv_pack_text(&packer, text);
    (void)cv_link_send_packed(&fold->worker->link,
                              &(struct cv_frame_head){ .type = (uint8_t)type,
                                                       .chunk = fold->running->id,
                                                       .value = bytes },
                              &packer);
}

/* The parts stay until FORGET. */
static void end_order(struct cv_worker_fold *fold)
{
    struct cv_fold_order *order = fold->running;

    fold->running = NULL;
    for (size_t i = 0; i < order->count; i++)
        partials_release(&fold->partials, order->held[i]);
    free(order);
}

/* The master will end the run, unless it has called the order off. */
static void give_up(struct cv_worker_fold *fold, const char *text)
{
    report(fold, CV_FRAME_FOLD_FAILED, 0, text);
    end_order(fold);
}

static void try_again(void *context)
{
    struct cv_worker_fold *fold = context;

    if (!fold->running->off && !fold->stopped) {
        start_order(fold);
        return;
    }
    end_order(fold);
    start_next(fold);
}

static bool put_off(struct cv_worker_fold *fold, const struct cleave_error *why)
{
    struct cv_worker *worker = fold->worker;

    if (!cv_start_limiter_wait(&worker->limiter, worker->poller, why))
        return false;
    cv_poller_set(worker->poller, &fold->again, worker->limiter.room_s, try_again, fold);
    return true;
}

static void start_order(struct cv_worker_fold *fold)
{
    const struct cv_fold_order *order = fold->running;
    struct cv_worker *worker = fold->worker;
    struct cleave_error err;
    enum cleave_status status = cv_start_limiter_room(&worker->limiter, &err);

    for (fold->call.count = 0; fold->call.count < order->count; fold->call.count++)
        fold->call.inputs[fold->call.count] = (struct cv_fold_input){
            .taken = order->held[fold->call.count]->taken,
            .folded = (order->names[fold->call.count] & CV_FOLD_RESULT) != 0
        };
    CV_THEN(status, cv_fold_call_start(&fold->call, &fold->slot, &err));
    worker->folding = status == CLEAVE_OK;
    if (status == CLEAVE_OK)
        cv_start_limiter_begun(&worker->limiter);
    else if (!put_off(fold, &err))
        give_up(fold, err.text);
}

/* Fills `held`. The id of the first part that is not here; 0: all are. */
static uint64_t find_missing(const struct cv_worker_fold *fold,
                             struct cv_fold_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        order->held[i] = cv_partials_find(&fold->partials, order->names[i]);
        if (order->held[i] == NULL || !order->held[i]->complete)
            return order->names[i];
    }
    return 0;
}

/* Start the first order whose parts are here, unless one runs. */
static void start_next(struct cv_worker_fold *fold)
{
    struct cv_fold_order **at = &fold->orders, *order;

    if (fold->running != NULL || fold->stopped)
        return;
    while (*at != NULL && find_missing(fold, *at) != 0)
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

/* Send HEADWAY every second while there is something to make or to give. */
static void set_beat(struct cv_worker_fold *fold)
{
    if (!fold->beat.is_set && (fold->running != NULL || fold->orders != NULL ||
                               fold->partials.for_peers != NULL))
        cv_poller_set(fold->worker->poller, &fold->beat, cv_clock_s() + BEAT_S, beat,
                      fold);
}

static void beat(void *context)
{
    struct cv_worker_fold *fold = context;
    const bool waits = fold->running == NULL && fold->orders != NULL;

    fold->progress += fold->running != NULL;
    cv_worker_send(fold->worker, CV_FRAME_HEADWAY, 0,
                   waits ? find_missing(fold, fold->orders) : 0, fold->progress);
    set_beat(fold);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_worker_fold *fold = context;
    struct cv_chunk_output *store = slot->store;
    struct cv_fold_order *order = fold->running;
    const uint64_t bytes = end == CV_SLOT_DONE ? cv_chunk_output_size(store) : 0;
    char how[64], text[100];
    struct cleave_error err;

    slot->store = NULL;
    fold->worker->folding = false;
    if (end != CV_SLOT_DONE)
        cv_chunk_output_drop(store);
    else if (cv_partials_add(&fold->partials, order->id, store, &err) == CLEAVE_OK)
        report(fold, CV_FRAME_FOLDED, bytes, NULL);
    else
        cv_worker_fail(fold->worker, &err);
    if (end == CV_SLOT_DONE || end == CV_SLOT_STOPPED || order->off || fold->stopped) {
        end_order(fold);
        start_next(fold);
    } else if (order->attempt <= fold->retries) {
        order->attempt++;
        start_order(fold);
    } else if (cv_fold_call_is_function(&fold->call)) {
        give_up(fold, fold->call.err.text);
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

/* --- the socket to peers ------------------------------------------------------------------ */

static void close_peers(struct cv_worker_fold *fold)
{
    if (fold->peers >= 0)
        cv_poller_remove(fold->worker->poller, &fold->watch);
    fold->peers = -1;
}

static void break_peers(struct cv_worker_fold *fold, const struct cleave_error *err)
{
    close_peers(fold);
    cv_worker_fail(fold->worker, err);
}

static void fail_system(struct cv_worker_fold *fold, const char *what)
{
    struct cleave_error err;

    cv_fail(&err, CLEAVE_EENGINE, "cannot %s other workers: %s", what, strerror(errno));
    break_peers(fold, &err);
}

static void set_writing(struct cv_worker_fold *fold, bool writing)
{
    struct cleave_error err;

    if (fold->peers < 0 || fold->writing == writing)
        return;
    fold->writing = writing;
    if (cv_poller_modify(fold->worker->poller, &fold->watch,
                         CV_READABLE | (writing ? CV_WRITABLE : 0), &err) != CLEAVE_OK)
        break_peers(fold, &err);
}

/* The next frame of a partial result for a peer or the master. False: there is none. */
static bool next_frame(struct cv_worker_fold *fold, bool for_master,
                       struct cv_frame_head *head, unsigned char *payload)
{
    struct cleave_error err;
    bool any;

    if (cv_partials_next(&fold->partials, for_master, head, payload, &any, &err) ==
        CLEAVE_OK)
        return any;
    cv_worker_fail(fold->worker, &err);
    return false;
}

static bool make_frame(struct cv_worker_fold *fold)
{
    struct cv_frame_head head = { .type = 0 };

    if (!next_frame(fold, false, &head, fold->out + CV_FRAME_HEAD))
        return false;
    fold->progress += 1 + (uint64_t)head.length;
    head.checksum = cv_frame_checksum(&head, fold->out + CV_FRAME_HEAD);
    cv_frame_encode(&head, fold->out);
    fold->nout = CV_FRAME_HEAD + head.length;
    fold->sent = 0;
    return true;
}

static void write_some(struct cv_worker_fold *fold)
{
    for (int turn = 0; turn < TURNS && fold->peers >= 0;) {
        ssize_t n;

        if (fold->sent == fold->nout) {
            turn++;
            if (!make_frame(fold)) {
                set_writing(fold, false);
                return;
            }
        }
        n = send(fold->peers, fold->out + fold->sent, fold->nout - fold->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            fold->sent += (size_t)n;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            fail_system(fold, "send to");
    }
}

static void take_partial(struct cv_worker_fold *fold, const struct cv_frame_head *head)
{
    struct cleave_error err;
    bool complete;

    fold->progress += 1 + (uint64_t)head->length;
    if (cv_partials_take(&fold->partials, fold->worker->outputs, head,
                         fold->in + CV_FRAME_HEAD, &complete, &err) != CLEAVE_OK)
        cv_worker_fail(fold->worker, &err);
    else if (complete)
        start_next(fold);
}

/* Take a complete frame. *out_missing: bytes that it or the next one lacks. */
static bool deliver(struct cv_worker_fold *fold, size_t *out_missing)
{
    struct cv_frame_head head = { .length = 0 };
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (fold->nin >= CV_FRAME_HEAD)
        status = cv_frame_decode(fold->in, &head, &err);
    *out_missing = CV_FRAME_HEAD + head.length - fold->nin;
    if (status == CLEAVE_OK && *out_missing > 0)
        return true;
    if (status == CLEAVE_OK &&
        cv_frame_checksum(&head, fold->in + CV_FRAME_HEAD) != head.checksum)
        status = cv_fail(&err, CLEAVE_EINPUT, "a frame of another worker was damaged");
    if (status != CLEAVE_OK) {
        break_peers(fold, &err);
        return false;
    }
    fold->nin = 0;
    *out_missing = CV_FRAME_HEAD;
    take_partial(fold, &head);
    return fold->peers >= 0;
}

static void read_some(struct cv_worker_fold *fold)
{
    size_t missing;

    /* Bytes that were read are always delivered: the poller does not report them again. */
    for (int turn = 0; deliver(fold, &missing) && turn < TURNS; turn++) {
        const ssize_t n = recv(fold->peers, fold->in + fold->nin, missing, MSG_DONTWAIT);
        struct cleave_error err;

        if (n > 0) {
            fold->nin += (size_t)n;
        } else if (n == 0) {
            cv_fail(&err, CLEAVE_ECLOSED, "the other workers can no longer be reached");
            break_peers(fold, &err);
            return;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            fail_system(fold, "hear");
            return;
        }
    }
}

static void peers_ready(void *context, unsigned events)
{
    struct cv_worker_fold *fold = context;

    if (events & CV_READABLE)
        read_some(fold);
    if (fold->peers >= 0 && fold->writing && (events & CV_WRITABLE))
        write_some(fold);
}

static const struct cv_slot_events slot_events = { .ended = slot_ended,
                                                   .broke = slot_broke };

/* --- frames of the master ----------------------------------------------------------------- */

/* The command gets the variables of the job. *out stays NULL if there are none. */
static enum cleave_status set_prefix(struct cv_worker *worker, const char *const **out,
                                     struct cleave_error *err)
{
    const char *const *environment = worker->job.environment;
    const char **words;
    size_t n = 0;

    while (environment[n] != NULL)
        n++;
    words = cv_array(&worker->arena, n + 2, sizeof *words);
    if (words == NULL)
        return cv_fail_memory(err, "the reduction");
    words[0] = "env";
    memcpy(words + 1, environment, (n + 1) * sizeof *words);
    if (n > 0)
        *out = words;
    return CLEAVE_OK;
}

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
    CV_TRY(set_prefix(worker, &fold->call.prefix, err));
    fold->call.text = text;
    fold->call.worker = worker->job.names[0];
    CV_TRY(cv_fold_call_init(&fold->call, err));
    if (!cv_ordered_output_expect_taking(worker->outputs, cv_fold_takes_files(text)))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the command that reduces before there are outputs");
    cv_slot_init(&fold->slot);
    fold->slot.poller = worker->poller;
    fold->slot.outputs = worker->outputs;
    fold->slot.timeout_s = timeout_s;
    fold->slot.events = &slot_events;
    fold->slot.context = fold;
    fold->retries = (uint32_t)retries;
    fold->base = head->value;
    worker->keeps = true;
    return CLEAVE_OK;
}

/* The order with this id, or the pointer after the last order. */
static struct cv_fold_order **find_order(struct cv_worker_fold *fold, uint64_t id)
{
    struct cv_fold_order **at = &fold->orders;

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static enum cleave_status take_fold(struct cv_worker_fold *fold,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    struct cv_fold_order **at = find_order(fold, head->chunk);
    struct cv_fold_order *order = calloc(1, sizeof *order);

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    order->id = head->chunk;
    order->count = cv_unpack_count(&unpacker, sizeof order->names[0]);
    for (size_t i = 0; i < order->count && i < CV_FOLD_MOST; i++)
        order->names[i] = cv_unpack_number(&unpacker);
    if (!cv_unpack_good(&unpacker) || order->count < 2 || order->count > CV_FOLD_MOST ||
        order->count > cv_fold_most(fold->call.text)) {
        free(order);
        return cv_fail(err, CLEAVE_EINPUT, "expected 2 to %d partial results to reduce",
                       (int)CV_FOLD_MOST);
    }
    if (*at != NULL || (fold->running != NULL && fold->running->id == order->id) ||
        cv_partials_find(&fold->partials, order->id) != NULL) {
        free(order);
        return cv_fail(err, CLEAVE_EINPUT, "got two orders to make a partial result");
    }
    *at = order;
    start_next(fold);
    set_beat(fold);
    return CLEAVE_OK;
}

static void take_fold_off(struct cv_worker_fold *fold, uint64_t id)
{
    struct cv_fold_order **at = find_order(fold, id), *order = *at;

    if (fold->running != NULL && fold->running->id == id) {
        fold->running->off = true;
        cv_slot_stop(&fold->slot);
    } else if (order != NULL) { /* else it was made: the master will decide */
        *at = order->next;
        free(order);
    }
}

static enum cleave_status take_give(struct cv_worker_fold *fold,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload,
                                    struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t name = cv_unpack_number(&unpacker);

    if (!cv_unpack_good(&unpacker))
        return cv_fail(err, CLEAVE_EINPUT, "expected the name of a partial result");
    CV_TRY(
        cv_partials_send(&fold->partials, head->chunk, (uint32_t)head->value, name, err));
    set_writing(fold, true);
    set_beat(fold);
    return CLEAVE_OK;
}

static void master_frame(void *context, struct cv_worker *worker,
                         const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_worker_fold *fold = context;
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (!cv_worker_admit(worker, worker->keeps ? CV_WORKER_FOLDS : CV_WORKER_NO_FOLD,
                         head))
        return;
    if (head->type == CV_FRAME_REDUCE) {
        status = take_reduce(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_GIVE) {
        status = take_give(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FETCH) {
        status = cv_partials_send(&fold->partials, head->chunk, 0, head->chunk, &err);
        cv_link_wake(&worker->link);
    } else if (head->type == CV_FRAME_FOLD) {
        status = take_fold(fold, head, payload, &err);
    } else if (head->type == CV_FRAME_FOLD_OFF) {
        take_fold_off(fold, head->chunk);
    } else if (head->type == CV_FRAME_FORGET) {
        status = cv_partials_forget(&fold->partials, head->chunk, &err);
    } else if (head->type == CV_FRAME_FOLD_STOP) {
        fold->stopped = true;
        if (fold->running != NULL)
            cv_slot_stop(&fold->slot);
    }
    if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
}

static bool keep_output(void *context, struct cv_worker *worker, uint64_t chunk,
                        struct cv_chunk_output *output)
{
    struct cv_worker_fold *fold = context;
    struct cleave_error err;

    if (!worker->keeps)
        return false;
    if (cv_partials_add(&fold->partials, fold->base + chunk, output, &err) != CLEAVE_OK)
        cv_worker_fail(worker, &err);
    else
        start_next(fold);
    return true;
}

static bool send_to_master(void *context, struct cv_worker *worker)
{
    struct cv_frame_head head;

    if (!next_frame(context, true, &head, worker->bytes))
        return false;
    cv_link_send(&worker->link, &head, worker->bytes, head.length);
    return true;
}

static enum cleave_status worker_ready(void *context, struct cv_worker *worker,
                                       struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    fold->worker = worker;
    if (fold->peers < 0)
        return CLEAVE_OK;
    fold->in = malloc(ROOM);
    fold->out = malloc(ROOM);
    if (fold->in == NULL || fold->out == NULL)
        return cv_fail_memory(err, "frames");
    return cv_poller_add(worker->poller, &fold->watch, fold->peers, CV_READABLE,
                         peers_ready, fold, err);
}

/* Before the worker and its stores are released. */
static void worker_done(void *context, struct cv_worker *worker)
{
    struct cv_worker_fold *fold = context;

    (void)worker;
    if (fold->worker != NULL) {
        close_peers(fold);
        cv_poller_cancel(fold->worker->poller, &fold->beat);
        cv_poller_cancel(fold->worker->poller, &fold->again);
    }
    free(fold->in);
    free(fold->out);
    fold->in = fold->out = NULL;
    if (fold->slot.poller != NULL)
        cv_slot_done(&fold->slot);
    cv_fold_call_done(&fold->call);
    for (struct cv_fold_order *next; fold->orders != NULL; fold->orders = next) {
        next = fold->orders->next;
        free(fold->orders);
    }
    free(fold->running);
    fold->running = NULL;
    cv_partials_done(&fold->partials);
}

enum cleave_status cv_worker_fold_new(int peers, struct cv_worker_fold **out,
                                      struct cleave_error *err)
{
    struct cv_worker_fold *fold = calloc(1, sizeof *fold);

    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    fold->peers = peers;
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
    options->more = send_to_master;
    options->context = fold;
}

enum cleave_status cv_worker_fold_serve(const struct cv_worker_options *options,
                                        int peers, struct cleave_error *err)
{
    struct cv_worker_options serving = *options;
    struct cv_worker_fold *fold;
    enum cleave_status status;

    CV_TRY(cv_worker_fold_new(peers, &fold, err));
    cv_worker_fold_attach(fold, &serving);
    status = cv_worker_serve(&serving, err);
    cv_worker_fold_free(fold);
    return status;
}
