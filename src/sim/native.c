/* native.c -- the built-in simulator: a master, links and workers.
 * SPDX-License-Identifier: MIT
 *
 * Two kinds of activity, transfer and computation. A transfer holds the master's port
 * and the worker's; a computation holds the worker's processor. Transfers wait in lanes,
 * first come first served: one lane for a master that sends one message at a time (port
 * one and duplex), one per worker for a multi-port master. Chunks wait at their worker
 * in the order of arrival.
 *
 * Events come in time order; of two at the same time, that of the activity which began
 * first, and of two that began at the same time, the one that was started first. */
#include "sim/native.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "model/profile.h"
#include "sim/event_heap.h"

enum { NONE = UINT32_MAX };

/* Low bits of a heap key: what ended. */
enum { KIND_BITS = 2, PLACE_BITS = 24, TAG_BITS = KIND_BITS + PLACE_BITS };
enum { ENDS_TRANSFER, ENDS_COMPUTE, ENDS_SLEEP };

struct chunk {
    double units, start_s;
    uint64_t number;
    uint32_t worker, nth; /* the nth chunk of that worker */
    uint32_t next;        /* in its lane, its worker's queue or the free list */
};

/* Chunks first come first served; the first is the one under way. */
struct queue {
    uint32_t first, last;
};

struct native {
    const struct cleave_platform *platform;
    const struct cleave_worker *workers;
    uint32_t nworkers, nlanes;
    const struct cv_run *run;
    bool noisy, steady; /* steady: no worker has a profile                  */
    double now_s;
    uint64_t sequence, numbered;
    struct cv_event_heap heap;
    struct queue *lanes;      /* owned: transfers                                 */
    struct queue *processors; /* owned: computations, per worker                 */
    uint32_t *nth;            /* owned: chunks ordered so far, per worker         */
    struct chunk *chunks;     /* owned: pool                                      */
    size_t nchunks, chunk_room;
    uint32_t free_chunk;
};

static void native_close(void *engine)
{
    struct native *native = engine;

    if (native == NULL)
        return;
    cv_event_heap_done(&native->heap);
    free(native->lanes);
    free(native->processors);
    free(native->nth);
    free(native->chunks);
    free(native);
}

static enum cleave_status native_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    struct native *native = calloc(1, sizeof *native);

    (void)source;
    if (native == NULL)
        return cv_fail_memory(err, "the simulator");
    native->platform = platform;
    native->workers = cleave_platform_workers(platform);
    native->nworkers = cleave_platform_nworkers(platform);
    native->nlanes =
        cleave_platform_port(platform) == CLEAVE_PORT_MULTI ? native->nworkers : 1;
    native->steady = true;
    for (uint32_t w = 0; w < native->nworkers && native->steady; w++) {
        uint32_t nsteps;

        native->steady = cleave_platform_profile(platform, w, &nsteps) == NULL;
    }
    native->lanes = calloc(native->nlanes, sizeof *native->lanes);
    native->processors = calloc(native->nworkers, sizeof *native->processors);
    native->nth = calloc(native->nworkers, sizeof *native->nth);
    if (native->lanes == NULL || native->processors == NULL || native->nth == NULL ||
        !cv_event_heap_reserve(&native->heap,
                               (size_t)native->nlanes + native->nworkers)) {
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

    (void)err;
    native->run = run;
    native->noisy = cv_noise_any(&run->noise);
    native->now_s = 0;
    native->sequence = native->numbered = 0;
    cv_event_heap_clear(&native->heap);
    native->nchunks = 0;
    native->free_chunk = NONE;
    for (uint32_t i = 0; i < native->nlanes; i++)
        native->lanes[i] = (struct queue){ NONE, NONE };
    for (uint32_t i = 0; i < native->nworkers; i++) {
        native->processors[i] = (struct queue){ NONE, NONE };
        native->nth[i] = 0;
    }
    return CLEAVE_OK;
}

/* Put a chunk last; true when it is also first, so that its turn has come. */
static inline bool enqueue(struct native *native, struct queue *queue, uint32_t index)
{
    native->chunks[index].next = NONE;
    if (queue->first == NONE) {
        queue->first = queue->last = index;
        return true;
    }
    native->chunks[queue->last].next = index;
    queue->last = index;
    return false;
}

/* Take the first chunk away; returns the one whose turn has come, or NONE. */
static inline uint32_t dequeue(struct native *native, struct queue *queue)
{
    queue->first = native->chunks[queue->first].next;
    return queue->first;
}

static inline void end_at(struct native *native, double time_s, unsigned kind,
                          uint32_t place)
{
    uint64_t key = native->sequence++ << TAG_BITS | (uint64_t)place << KIND_BITS | kind;

    cv_event_heap_add(&native->heap, cv_pending_at(time_s, key));
}

/* When an activity that begins now ends. Noise stretches all of it; a profile slows the
 * part that depends on the size. */
static double end_of(const struct native *native, const struct chunk *chunk,
                     bool is_compute, double latency_s, double work_s)
{
    double factor = 1;
    uint32_t nsteps;
    const struct cleave_step *steps;

    if (native->noisy)
        factor = cv_noise_factor(&native->run->noise, is_compute, chunk->worker,
                                 chunk->nth, chunk->number);
    if (native->steady)
        return native->now_s + factor * (latency_s + work_s);
    steps = cleave_platform_profile(native->platform, chunk->worker, &nsteps);
    return cv_profile_end(steps, nsteps, native->now_s + factor * latency_s,
                          factor * work_s);
}

static inline void begin_transfer(struct native *native, uint32_t lane, uint32_t index)
{
    struct chunk *chunk = &native->chunks[index];
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    double work_s = chunk->units / worker->bandwidth_ups;
    double end_s = native->now_s + (worker->latency_s + work_s);

    if (native->noisy || !native->steady)
        end_s = end_of(native, chunk, false, worker->latency_s, work_s);
    chunk->start_s = native->now_s;
    end_at(native, end_s, ENDS_TRANSFER, lane);
}

static inline void begin_compute(struct native *native, uint32_t index)
{
    struct chunk *chunk = &native->chunks[index];
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    double work_s = chunk->units / worker->speed_ups;
    double end_s = native->now_s + worker->compute_latency_s + work_s;

    if (native->noisy || !native->steady)
        end_s = end_of(native, chunk, true, worker->compute_latency_s, work_s);
    chunk->start_s = native->now_s;
    end_at(native, end_s, ENDS_COMPUTE, chunk->worker);
}

static enum cleave_status new_chunk(struct native *native, uint32_t *out,
                                    struct cleave_error *err)
{
    if (native->free_chunk != NONE) {
        *out = native->free_chunk;
        native->free_chunk = native->chunks[*out].next;
        return CLEAVE_OK;
    }
    if (native->nchunks == native->chunk_room) {
        struct chunk *grown = cv_grow(native->chunks, &native->chunk_room,
                                      native->nchunks + 1, sizeof *grown);

        if (grown == NULL || native->nchunks >= NONE)
            return cv_fail_memory(err, "the chunks under way");
        native->chunks = grown;
    }
    *out = (uint32_t)native->nchunks++;
    return CLEAVE_OK;
}

static enum cleave_status sleep_until(struct native *native, uint32_t about,
                                      double time_s, struct cleave_error *err)
{
    /* Lanes and processors have their room; sleeps come on top. */
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + native->nlanes +
                                                  native->nworkers + 1))
        return cv_fail_memory(err, "the times to wake at");
    end_at(native, time_s, ENDS_SLEEP, about);
    return CLEAVE_OK;
}

static enum cleave_status native_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct native *native = engine;
    uint32_t index = NONE, lane;

    if (order->kind == CLEAVE_WAKE_AT)
        return sleep_until(native, order->worker, order->time_s, err);
    CV_TRY(new_chunk(native, &index, err));
    native->chunks[index].units = order->units;
    native->chunks[index].number = native->numbered++;
    native->chunks[index].worker = order->worker;
    native->chunks[index].nth = native->nth[order->worker]++;
    lane = native->nlanes == 1 ? 0 : order->worker;
    if (enqueue(native, &native->lanes[lane], index))
        begin_transfer(native, lane, index);
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

static void end_transfer(struct native *native, uint32_t lane, struct cleave_event *out)
{
    uint32_t index = native->lanes[lane].first, next;

    report(&native->chunks[index], CLEAVE_SENT, out);
    next = dequeue(native, &native->lanes[lane]);
    if (enqueue(native, &native->processors[out->worker], index))
        begin_compute(native, index);
    if (next != NONE)
        begin_transfer(native, lane, next);
}

static void end_compute(struct native *native, uint32_t worker, struct cleave_event *out)
{
    uint32_t index = native->processors[worker].first, next;

    report(&native->chunks[index], CLEAVE_DONE, out);
    next = dequeue(native, &native->processors[worker]);
    native->chunks[index].next = native->free_chunk;
    native->free_chunk = index;
    if (next != NONE)
        begin_compute(native, next);
}

static enum cleave_status native_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct native *native = engine;
    struct cv_pending first;
    uint32_t place;

    (void)err;
    *out_any = !cv_event_heap_empty(&native->heap);
    if (!*out_any)
        return CLEAVE_OK;
    first = cv_event_heap_take(&native->heap);
    native->now_s = out->time_s = cv_pending_time(&first);
    place = (uint32_t)(first.key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);
    switch (first.key & ((1u << KIND_BITS) - 1)) {
    case ENDS_TRANSFER:
        end_transfer(native, place, out);
        break;
    case ENDS_COMPUTE:
        end_compute(native, place, out);
        break;
    default:
        *out = (struct cleave_event){ .kind = CLEAVE_WAKE,
                                      .worker = place,
                                      .start_s = native->now_s,
                                      .time_s = native->now_s };
        break;
    }
    cv_event_heap_settle(&native->heap);
    out->more = native->heap.items[0].time_bits <= first.time_bits;
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
