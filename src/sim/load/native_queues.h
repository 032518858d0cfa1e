/* native_queues.h -- chunks of the built-in simulator: the pool and the queues.
 * SPDX-License-Identifier: MIT
 *
 * Inline: these are the inner loop. */
#ifndef CV_NATIVE_QUEUES_H
#define CV_NATIVE_QUEUES_H
#include "sim/load/native_parts.h"

/* A chunk of the pool, native_times.c. */
enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err);

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

static inline void begin_transfer(struct native *native, uint32_t queue, uint32_t index)
{
    struct chunk *chunk = &native->chunks[index];
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    double latency_s = worker->latency_s, work_s = chunk->units / worker->bandwidth_ups;
    double end_s;

    if (chunk->back) {
        latency_s = worker->return_latency_s;
        work_s = chunk->units * native->run->result_ratio / worker->return_bandwidth_ups;
    }
    end_s = native->now_s + (latency_s + work_s);
    if (native->noisy || !native->steady)
        end_s = cv_native_end_of(native, chunk, chunk->back ? CV_RETURN : CV_TRANSFER,
                                 latency_s, work_s);
    chunk->start_s = native->now_s;
    if (native->queue_each)
        end_at(native, end_s, ENDS_TRANSFER, queue);
    else
        native->moving[queue] =
            cv_pending_at(end_s, next_key(native, ENDS_TRANSFER, queue));
}

/* Wait for the port. */
static inline void join_queue(struct native *native, uint32_t queue, uint32_t index)
{
    if (enqueue(native, &native->transfers[queue], index))
        begin_transfer(native, queue, index);
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
