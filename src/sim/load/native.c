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
 * Events come in time order; of two at the same time, that of the activity which began
 * first, and of two that began at the same time, the one that was started first. */
#include "sim/load/native.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "sim/load/native_open.h"
#include "sim/load/native_queues.h"

static const struct cv_pending NEVER = { UINT64_MAX, UINT64_MAX };

static void native_close(void *engine)
{
    struct native *native = engine;

    if (native == NULL)
        return;
    cv_event_heap_done(&native->heap);
    cv_native_open_done(native);
    free(native->transfers);
    free(native->processors);
    free(native->finished);
    free(native->nth);
    free(native->chunks);
    free(native->recalls.reports);
    free(native->recalls.stale);
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
        native->finished == NULL ||
        !cv_event_heap_reserve(&native->heap,
                               (size_t)native->nqueues + native->nworkers + 1)) {
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
    native->now_s = 0;
    native->sequence = native->numbered = 0;
    native->recalls.first_report = native->recalls.nreports = 0;
    native->recalls.nstale = 0;
    cv_event_heap_clear(&native->heap);
    native->moving[0] = native->moving[1] = NEVER;
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
    return cv_native_open_begin(native, err);
}

static inline void begin_compute(struct native *native, uint32_t index)
{
    struct chunk *chunk = &native->chunks[index];

    if (native->open != NULL) {
        cv_native_open_start(native, index);
        return;
    }
    chunk->start_s = native->now_s;
    end_at(native, cv_native_compute_end(native, chunk), ENDS_COMPUTE, chunk->worker);
}

static enum cleave_status sleep_until(struct native *native, uint32_t about,
                                      double time_s, struct cleave_error *err)
{
    /* Queues of transfers and processors have their room; sleeps come on top. */
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + native->nqueues +
                                                  native->nworkers + 2))
        return cv_fail_memory(err, "the times to wake at");
    end_at(native, time_s, ENDS_SLEEP, about);
    return CLEAVE_OK;
}

/* The driver has made sure that the chunk is computed and not yet asked for. Policies ask
 * for the oldest as a rule, so it is found at once. */
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
    join_queue(native, native->back_queue + (native->queue_each ? order->worker : 0),
               index);
}

static enum cleave_status native_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct native *native = engine;
    uint32_t index = NONE;

    if (native->open != NULL)
        CV_TRY(cv_native_open_room(native, err));
    if (order->kind == CLEAVE_WAKE_AT)
        return sleep_until(native, order->worker, order->time_s, err);
    if (order->kind == CLEAVE_RETURN) {
        send_back(native, order);
        return CLEAVE_OK;
    }
    if (order->kind != CLEAVE_SEND)
        return native->open != NULL ? cv_native_open_submit(native, order, err)
                                    : cv_native_recall(native, order, err);
    CV_TRY(cv_native_new_chunk(native, &index, err));
    native->chunks[index].units = order->units;
    native->chunks[index].number = native->numbered++;
    native->chunks[index].worker = order->worker;
    native->chunks[index].nth =
        native->run->items ? (uint32_t)order->item : native->nth[order->worker]++;
    native->chunks[index].back = false;
    native->chunks[index].piece = CLEAVE_START;
    if (native->open != NULL)
        cv_native_open_send(native, index);
    else
        join_queue(native, native->queue_each ? order->worker : 0, index);
    return CLEAVE_OK;
}

static inline void report(const struct chunk *chunk, enum cleave_event_kind kind,
                          struct cleave_event *out)
{
    out->kind = kind;
    out->worker = chunk->worker;
    out->chunk = chunk->number;
    out->units = chunk->units;
    out->start_s = chunk->start_s;
}

static void end_transfer(struct native *native, uint32_t queue, struct cleave_event *out)
{
    uint32_t index = native->transfers[queue].first, next;

    next = dequeue(native, &native->transfers[queue]);
    if (native->chunks[index].back) {
        report(&native->chunks[index], CLEAVE_RETURNED, out);
        forget(native, index);
    } else if (native->chunks[index].piece != CLEAVE_START) {
        cv_native_open_arrived(native, &native->chunks[index], out);
        forget(native, index);
    } else {
        report(&native->chunks[index], CLEAVE_SENT, out);
        if (enqueue(native, &native->processors[out->worker], index))
            begin_compute(native, index);
    }
    if (next != NONE)
        begin_transfer(native, queue, next);
}

static void end_compute(struct native *native, uint32_t worker, struct cleave_event *out)
{
    uint32_t index = native->processors[worker].first, next;

    report(&native->chunks[index], CLEAVE_DONE, out);
    next = dequeue(native, &native->processors[worker]);
    finish(native, index);
    if (next != NONE)
        begin_compute(native, next);
}

/* The command of a worker has something to tell. */
static void hear_process(struct native *native, uint32_t worker, struct cleave_event *out)
{
    if (!cv_native_process_tell(native, worker, out))
        return;
    end_compute(native, worker, out);
    cv_native_open_finished(native, out->units);
}

/* What has to be before an event is taken: room for what follows from it, and that it is
 * not stale. */
static enum cleave_status look_ahead(struct native *native, struct cleave_event *out,
                                     struct cleave_error *err)
{
    if (native->recalls.nstale > 0)
        cv_native_drop_stale(native);
    if (native->open == NULL)
        return CLEAVE_OK;
    cv_native_open_drop(native);
    *out = (struct cleave_event){ .kind = CLEAVE_START };
    return cv_native_open_room(native, err);
}

/* Somebody has gone for good with something to do. */
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

    return cv_fail(err, CLEAVE_EINPUT,
                   "worker '%s' is away for good while it is sent or computes a chunk: "
                   "expected a policy that knows until when it is there, as umr-plus",
                   cleave_platform_worker_name(native->platform, worker));
}

/* The first of what is pending, in the heap, which is settled, or at the port. */
static inline const struct cv_pending *earliest(const struct native *native)
{
    const struct cv_pending *best = &native->heap.items[0];

    if (cv_pending_before(&native->moving[0], best))
        best = &native->moving[0];
    if (cv_pending_before(&native->moving[1], best))
        best = &native->moving[1];
    return best;
}

static inline struct cv_pending take_earliest(struct native *native,
                                              const struct cv_pending *best)
{
    const struct cv_pending first = *best;

    if (best == &native->heap.items[0])
        return cv_event_heap_take(&native->heap);
    native->moving[best - native->moving] = NEVER;
    return first;
}

static enum cleave_status native_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct native *native = engine;
    const struct cv_pending *best;
    struct cv_pending first;
    uint32_t place;

    CV_TRY(look_ahead(native, out, err));
    cv_event_heap_settle(&native->heap);
    best = earliest(native);
    *out_any = best->time_bits != NEVER.time_bits;
    if (!*out_any)
        return CLEAVE_OK;
    first = take_earliest(native, best);
    native->now_s = out->time_s = cv_pending_time(&first);
    if (!native->steady && isinf(native->now_s))
        return never_ends(native, &first, err);
    place = (uint32_t)(first.key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);
    switch (first.key & ((1u << KIND_BITS) - 1)) {
    case ENDS_TRANSFER:
        end_transfer(native, place, out);
        break;
    case ENDS_COMPUTE:
        end_compute(native, place, out);
        break;
    case ENDS_REPORT:
        cv_native_reported(native, out);
        break;
    case ENDS_PROCESS:
        hear_process(native, place, out);
        break;
    case ENDS_STREAM:
        if (native->open != NULL)
            cv_native_open_ended(native, out);
        else
            *out = (struct cleave_event){ .kind = CLEAVE_ENDED,
                                          .units = native->run->stream_rest,
                                          .start_s = native->now_s,
                                          .time_s = native->now_s };
        break;
    default:
        *out = (struct cleave_event){ .kind = CLEAVE_WAKE,
                                      .worker = place,
                                      .start_s = native->now_s,
                                      .time_s = native->now_s };
        break;
    }
    cv_event_heap_settle(&native->heap);
    if (native->recalls.nstale > 0)
        cv_native_drop_stale(native);
    if (native->open != NULL)
        cv_native_open_drop(native);
    out->more = earliest(native)->time_bits <= first.time_bits;
    return CLEAVE_OK;
}

const struct cv_engine cv_engine_native = {
    .name = "native",
    .summary =
        "built-in simulator: affine costs, one, duplex or multi port, noise, profiles",
    .open = native_open,
    .begin = native_begin,
    .submit = native_submit,
    .wait = native_wait,
    .close = native_close,
};

const struct cv_engine cv_engine_native_open = {
    .name = "native",
    .summary = "built-in simulator, where commands read as they are fed",
    .open = native_open,
    .begin = native_begin,
    .submit = native_submit,
    .wait = native_wait,
    .left = cv_native_left,
    .close = native_close,
};
