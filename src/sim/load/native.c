/* native.c -- the built-in simulator: a master, links and workers.
 * SPDX-License-Identifier: MIT
 *
 * Two kinds of activity, transfer and computation. A transfer holds the master's port
 * and the worker's; a computation holds the worker's processor. Transfers wait in queues,
 * first come first served: one queue for a master that handles one message at a time (port
 * one), one for each way (duplex), two per worker for a multi-port master. Chunks wait at
 * their worker in the order of arrival, and again, computed, until the policy asks for
 * their result.
 *
 * Events come in time order; if two have the same time, the event of the activity which
 * began first comes first, and if both began at the same time, the event of the activity
 * that was started first. */
#include "sim/load/native.h"

#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/fail.h"
#include "engine/driver_loop.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"
#include "sim/load/native_internal.h"

static void native_close(void *engine)
{
    struct native *native = engine;

    if (native == NULL)
        return;
    cv_event_heap_done(&native->heap);
    cv_tournament_done(&native->ends);
    if (native->kept_open != NULL)
        cv_native_conditions_done(native);
    cv_native_open_done(native);
    free(native->transfers);
    free(native->processors);
    free(native->finished);
    free(native->nth);
    free(native->chunks);
    free(native->reports.items);
    cv_led_run_done(&native->tree);
    free(native);
}

static enum cleave_status native_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    struct native *native = calloc(1, sizeof *native);
    const enum cleave_port port = cleave_platform_port(platform);

    (void)source;
    if (native == NULL)
        return cv_fail_memory(err, "the simulator");
    native->platform = platform;
    native->workers = cleave_platform_workers(platform);
    native->nworkers = cleave_platform_nworkers(platform);
    native->queue_each = port == CLEAVE_PORT_MULTI;
    native->back_queue = port == CLEAVE_PORT_ONE      ? 0
                         : port == CLEAVE_PORT_DUPLEX ? 1
                                                      : native->nworkers;
    native->nqueues = native->back_queue + (native->queue_each ? native->nworkers : 1);
    native->steady = true;
    for (uint32_t w = 0; w < native->nworkers && native->steady; w++) {
        uint32_t nsteps;

        native->steady = cleave_platform_profile(platform, w, &nsteps) == NULL;
    }
    native->transfers = calloc(native->nqueues, sizeof *native->transfers);
    native->processors = calloc(native->nworkers, sizeof *native->processors);
    native->finished = calloc(native->nworkers, sizeof *native->finished);
    native->nth = calloc(native->nworkers, sizeof *native->nth);
    if (native->transfers == NULL || native->processors == NULL || native->nth == NULL ||
        native->finished == NULL || !cv_event_heap_reserve(&native->heap, 2) ||
        (platform->tree != NULL &&
         !cv_led_run_init(&native->tree, platform->tree, native->nworkers)) ||
        !cv_tournament_init(&native->ends,
                            (size_t)native->nworkers +
                                (native->queue_each ? native->nqueues : 0))) {
        native_close(native);
        return cv_fail_memory(err, "the simulator");
    }
    *out = native;
    return CLEAVE_OK;
}

static enum cleave_status native_begin(void *engine, const struct cv_run *run,
                                       struct cleave_error *err)
{
    struct native *native = engine;

    native->run = run;
    native->noisy = cv_noise_any(&run->noise);
    native->exact = native->steady && !native->noisy;
    native->now_s = 0;
    if (native->tree.tree != NULL)
        cv_led_run_reset(&native->tree);
    native->sequence = native->numbered = 0;
    native->reports.first = native->reports.count = 0;
    cv_event_heap_clear(&native->heap);
    cv_tournament_clear(&native->ends);
    native->moving[0] = native->moving[1] = CV_PENDING_NEVER;
    native->nchunks = 0;
    native->free_chunk = NONE;
    for (uint32_t i = 0; i < native->nqueues; i++)
        native->transfers[i] = (struct queue){ NONE, NONE };
    for (uint32_t i = 0; i < native->nworkers; i++) {
        native->processors[i] = native->finished[i] = (struct queue){ NONE, NONE };
        native->nth[i] = 0;
    }
    if (run->stream_end_s > 0)
        end_at(native, run->stream_end_s, ENDS_STREAM, 0);
    CV_TRY(cv_native_open_begin(native, err));
    return native->open != NULL ? cv_native_conditions_begin(native, err) : CLEAVE_OK;
}

/* `plain`: no results and no commands that are fed. It is a constant in every call, so
 * that the compiler drops the rest. */
CV_IN_LOOP void begin_compute(struct native *native, uint32_t index, bool plain)
{
    struct chunk *chunk = &native->chunks[index];

    if (!plain && native->open != NULL) {
        cv_native_open_start(native, index);
        return;
    }
    chunk->start_s = native->now_s;
    compute_until(native, chunk->worker, cv_native_compute_end(native, chunk));
}

static enum cleave_status sleep_until(struct native *native, uint32_t about,
                                      double time_s, struct cleave_error *err)
{
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + 2))
        return cv_fail_memory(err, "the times to wake at");
    end_at(native, time_s, ENDS_SLEEP, about);
    return CLEAVE_OK;
}

/* The driver has checked that the chunk is computed and not asked for. Policies mostly
 * ask for the oldest, which is the first. */
static void send_back(struct native *native, const struct cleave_order *order)
{
    struct queue *finished = &native->finished[order->worker];
    uint32_t index = finished->first, before = NONE;

    while (native->chunks[index].number != order->chunk) {
        before = index;
        index = native->chunks[index].next;
    }
    if (before == NONE)
        finished->first = native->chunks[index].next;
    else
        native->chunks[before].next = native->chunks[index].next;
    if (finished->last == index)
        finished->last = before;
    native->chunks[index].back = true;
    join_queue(native,
               native->back_queue +
                   (native->queue_each ? native->chunks[index].worker : 0),
               index, false);
}

CV_IN_LOOP enum cleave_status submit(struct native *native,
                                     const struct cleave_order *order, bool plain,
                                     struct cleave_error *err)
{
    uint32_t index = NONE;

    if (!plain && native->open != NULL)
        CV_TRY(cv_native_open_room(native, err));
    if (order->kind == CLEAVE_WAKE_AT)
        return sleep_until(native, order->worker, order->time_s, err);
    if (!plain && order->kind == CLEAVE_RETURN) {
        send_back(native, order);
        return CLEAVE_OK;
    }
    if (order->kind != CLEAVE_SEND)
        return native->open != NULL ? cv_native_open_submit(native, order, err)
                                    : cv_native_recall(native, order, err);
    CV_TRY(take_chunk(native, &index, err));
    native->chunks[index].units = order->units;
    native->chunks[index].number = native->numbered++;
    native->chunks[index].worker = order->worker;
    native->chunks[index].nth = !plain && native->run->items
                                    ? (uint32_t)order->item
                                    : native->nth[order->worker]++;
    native->chunks[index].load = (uint32_t)order->item;
    native->chunks[index].back = false;
    native->chunks[index].piece = CLEAVE_START;
    native->chunks[index].owner = order->worker;
    native->chunks[index].silent = false;
    if (!plain && native->open != NULL)
        cv_native_open_send(native, index);
    else
        join_queue(native, native->queue_each ? order->worker : 0, index, plain);
    return CLEAVE_OK;
}

static inline void report(const struct chunk *chunk, enum cleave_event_kind kind,
                          struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->owner;
    out->chunk = chunk->number;
    out->units = chunk->units;
    out->start_s = chunk->start_s;
}

CV_IN_LOOP void end_transfer(struct native *native, uint32_t queue, bool plain,
                             struct cleave_event *out)
{
    uint32_t index = native->transfers[queue].first, next;

    next = dequeue(native, &native->transfers[queue]);
    if (!plain && native->chunks[index].back) {
        report(&native->chunks[index], CLEAVE_RETURNED, out);
        forget(native, index);
    } else if (!plain && native->chunks[index].piece != CLEAVE_START) {
        cv_native_open_arrived(native, &native->chunks[index], out);
        forget(native, index);
    } else {
        report(&native->chunks[index], CLEAVE_SENT, out);
        if (!plain && native->chunks[index].silent)
            out->kind = CLEAVE_START;
        if (native->tree.tree != NULL && native->open == NULL)
            cv_native_share(native, &native->chunks[index]);
        if (enqueue(native, &native->processors[native->chunks[index].worker], index))
            begin_compute(native, index, plain);
    }
    if (next != NONE)
        begin_transfer(native, queue, next, plain);
    else
        message_until(native, queue, CV_PENDING_NEVER);
}

CV_IN_LOOP void end_compute(struct native *native, uint32_t worker, bool plain,
                            struct cleave_event *out)
{
    uint32_t index = native->processors[worker].first, next;

    report(&native->chunks[index], CLEAVE_DONE, out);
    next = dequeue(native, &native->processors[worker]);
    if (plain)
        forget(native, index);
    else
        finish(native, index);
    if (next != NONE)
        begin_compute(native, next, plain);
    else
        cv_tournament_set(&native->ends, worker, CV_PENDING_NEVER);
}

static void hear_process(struct native *native, uint32_t worker, struct cleave_event *out)
{
    const uint32_t twin = native->open->processes[worker].twin;

    if (!cv_native_process_tell(native, worker, out))
        return;
    end_compute(native, worker, false, out);
    if (!(native->run->conditions.answers_s > 0))
        cv_native_open_finished(native, out->units);
    if (twin != 0)
        cv_native_drop(native, twin - 1);
}

/* Room for the events that the next one causes; outdated ones are dropped. */
static inline enum cleave_status
look_ahead(struct native *native, struct cleave_event *out, struct cleave_error *err)
{
    if (native->open == NULL)
        return CLEAVE_OK;
    cv_native_open_drop(native);
    *out = (struct cleave_event){ .kind = CLEAVE_START };
    return cv_native_open_room(native, err);
}

/* A worker left with something to do, or an end is too late for a double. */
static enum cleave_status never_ends(const struct native *native,
                                     const struct cv_pending *pending,
                                     struct cleave_error *err)
{
    const uint32_t place =
        (uint32_t)(pending->key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);
    const bool moves = (pending->key & ((1u << KIND_BITS) - 1)) == ENDS_TRANSFER;
    const uint32_t chunk =
        moves ? native->transfers[place].first : native->processors[place].first;
    const uint32_t worker = chunk != NONE ? native->chunks[chunk].worker : place;

    if (native->steady)
        return cv_fail(err, CLEAVE_EINPUT,
                       "what worker '%s' is sent takes longer than can be counted: "
                       "expected a smaller load, or a worker or link that is faster",
                       cleave_platform_worker_name(native->platform, worker));
    return cv_fail(err, CLEAVE_EINPUT,
                   "worker '%s' is absent for good while it is sent or computes a chunk: "
                   "expected a policy that knows its last moment, such as umr-plus",
                   cleave_platform_worker_name(native->platform, worker));
}

/* The heap is settled. */
static inline const struct cv_pending *earliest(const struct native *native, bool plain)
{
    const struct cv_pending *best = cv_tournament_first(&native->ends);

    if (cv_pending_before(&native->moving[0], best))
        best = &native->moving[0];
    if (!plain && cv_pending_before(&native->moving[1], best))
        best = &native->moving[1];
    if (native->heap.count > 0 && cv_pending_before(&native->heap.items[0], best))
        best = &native->heap.items[0];
    return best;
}

/* Whether another event has the same time. */
static inline bool is_more(const struct native *native, uint64_t time_bits, bool plain)
{
    return (cv_tournament_first(&native->ends)->time_bits <= time_bits) |
               (native->moving[0].time_bits <= time_bits) |
               (!plain && native->moving[1].time_bits <= time_bits) ||
           (native->heap.count > 0 && native->heap.items[0].time_bits <= time_bits);
}

/* Neither a transfer nor a computation. */
static void end_other(struct native *native, unsigned kind, uint32_t place,
                      struct cleave_event *out)
{
    cv_event_heap_take(&native->heap);
    if (kind == ENDS_REPORT) {
        cv_native_reported(native, out);
    } else if (kind == ENDS_PROCESS) {
        hear_process(native, place, out);
    } else if (kind == ENDS_STREAM && native->open != NULL) {
        cv_native_open_ended(native, out);
    } else if (kind == ENDS_ANSWER) {
        cv_native_answer(native, out);
    } else if (kind == ENDS_WORKER) {
        native->open->gone[place] = true;
    } else {
        const bool ends = kind == ENDS_STREAM;

        *out = (struct cleave_event){ .kind = ends ? CLEAVE_ENDED : CLEAVE_WAKE,
                                      .worker = ends ? 0 : place,
                                      .units = ends ? native->run->stream_rest : 0,
                                      .start_s = native->now_s,
                                      .time_s = native->now_s };
    }
}

CV_IN_LOOP enum cleave_status wait_next(struct native *native, struct cleave_event *out,
                                        bool *out_any, bool plain,
                                        struct cleave_error *err)
{
    const struct cv_pending *best;
    struct cv_pending first;
    unsigned kind;
    uint32_t place;

    if (!plain)
        CV_TRY(look_ahead(native, out, err));
    cv_event_heap_settle(&native->heap);
    best = earliest(native, plain);
    *out_any = best->time_bits != CV_PENDING_NEVER.time_bits;
    if (!*out_any)
        return CLEAVE_OK;
    first = *best;
    native->now_s = out->time_s = cv_pending_time(&first);
    if (!isfinite(native->now_s))
        return never_ends(native, &first, err);
    place = (uint32_t)(first.key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);
    kind = (unsigned)first.key & ((1u << KIND_BITS) - 1);
    if (kind == ENDS_TRANSFER)
        end_transfer(native, place, plain, out);
    else if (kind == ENDS_COMPUTE)
        end_compute(native, place, plain, out);
    else
        end_other(native, kind, place, out); /* removes it from the heap */
    cv_event_heap_settle(&native->heap);
    if (!plain && native->open != NULL)
        cv_native_open_drop(native);
    out->more = is_more(native, first.time_bits, plain);
    return CLEAVE_OK;
}

static enum cleave_status native_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    return submit(engine, order, false, err);
}

static enum cleave_status native_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    const struct native *native = engine;

    do {
        CV_TRY(wait_next(engine, out, out_any, false, err));
        if (*out_any && native->open != NULL && cv_native_is_rough(native))
            CV_TRY(cv_native_heed(engine, out, err));
    } while (*out_any && out->kind == CLEAVE_START);
    return CLEAVE_OK;
}

CV_IN_LOOP enum cleave_status submit_plain(void *engine, const struct cleave_order *order,
                                           struct cleave_error *err)
{
    return submit(engine, order, true, err);
}

CV_IN_LOOP enum cleave_status wait_plain(void *engine, struct cleave_event *out,
                                         bool *out_any, struct cleave_error *err)
{
    return wait_next(engine, out, out_any, true, err);
}

static enum cleave_status native_loop(struct cv_driver *driver,
                                      struct cv_outcome *outcome,
                                      struct cleave_error *err)
{
    static const struct cv_loop loop = { submit_plain, wait_plain, true };

    return cv_driver_loop(driver, NULL, &loop, outcome, err);
}

#define NATIVE                                                    \
    .name = "native", .open = native_open, .begin = native_begin, \
    .submit = native_submit, .wait = native_wait, .close = native_close

const struct cv_engine cv_engine_native = {
    NATIVE,
    .summary =
        "built-in simulator: affine costs, one, duplex or multi port, noise, profiles",
    .plain_loop = native_loop,
};

const struct cv_engine cv_engine_native_open = {
    NATIVE,
    .summary = "built-in simulator, where commands read as they are fed",
    .left = cv_native_left,
};
