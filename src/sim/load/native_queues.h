/* native_queues.h -- chunks of the built-in simulator: the pool and the queues.
 * SPDX-License-Identifier: MIT
 *
 * Inline: these are the inner loop. */
#ifndef CV_NATIVE_QUEUES_H
#define CV_NATIVE_QUEUES_H
#include "sim/load/native_internal.h"

/* A chunk of the pool, native_times.c. */
enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err);

/* The same, inline where one is free. */
static inline enum cleave_status take_chunk(struct native *native, uint32_t *out,
                                            struct cleave_error *err)
{
    if (native->free_chunk == NONE)
        return cv_native_new_chunk(native, out, err);
    *out = native->free_chunk;
    native->free_chunk = native->chunks[*out].next;
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

/* The message at the head of a queue ends then, or CV_PENDING_NEVER: there is none. */
static inline void message_until(struct native *native, uint32_t queue,
                                 struct cv_pending end)
{
    if (native->queue_each)
        cv_tournament_set(&native->ends, (size_t)native->nworkers + queue, end);
    else
        native->moving[queue] = end;
}

static inline void begin_transfer(struct native *native, uint32_t queue, uint32_t index,
                                  bool plain)
{
    struct chunk *chunk = &native->chunks[index];
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    double latency_s = worker->latency_s, work_s = chunk->units / worker->bandwidth_ups;
    double end_s;

    if (!plain && chunk->back) {
        latency_s = worker->return_latency_s;
        work_s = chunk->units * native->run->result_ratio / worker->return_bandwidth_ups;
    }
    end_s = native->now_s + (latency_s + work_s);
    if (!native->exact)
        end_s = cv_native_end_of(native, chunk,
                                 !plain && chunk->back ? CV_RETURN : CV_TRANSFER,
                                 latency_s, work_s);
    chunk->start_s = native->now_s;
    message_until(native, queue,
                  cv_pending_at(end_s, next_key(native, ENDS_TRANSFER, queue)));
}

/* Wait for the port. `plain`: nothing comes back in this run. */
static inline void join_queue(struct native *native, uint32_t queue, uint32_t index,
                              bool plain)
{
    if (enqueue(native, &native->transfers[queue], index))
        begin_transfer(native, queue, index, plain);
}

static inline void forget(struct native *native, uint32_t index)
{
    native->chunks[index].next = native->free_chunk;
    native->free_chunk = index;
}

/* It is computed: its result may be asked for, or it is forgotten. */
static inline void finish(struct native *native, uint32_t index)
{
    if (native->run->result_ratio > 0)
        enqueue(native, &native->finished[native->chunks[index].worker], index);
    else
        forget(native, index);
}

#endif
