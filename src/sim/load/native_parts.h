/* native_parts.h -- what the parts of the built-in simulator share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_PARTS_H
#define CV_NATIVE_PARTS_H
#include "engine/engine.h"
#include "sim/load/event_heap.h"

enum { NONE = UINT32_MAX };

/* Low bits of a heap key: what ended. */
enum { KIND_BITS = 3, PLACE_BITS = 25, TAG_BITS = KIND_BITS + PLACE_BITS };
enum { ENDS_TRANSFER, ENDS_COMPUTE, ENDS_SLEEP, ENDS_STREAM, ENDS_RECALL };

struct chunk {
    double units, start_s;
    uint64_t number;
    uint32_t worker, nth; /* the nth chunk of that worker */
    uint32_t next;        /* in the queue it waits in, or the free list      */
    bool back;            /* this is about its result                          */
};

/* Chunks first come first served; the first is the one under way. */
struct queue {
    uint32_t first, last;
};

/* Recalls to be reported, in order, and events that mean nothing any more. Both are few. */
struct recalls {
    struct cleave_event *reports; /* owned */
    size_t first_report, nreports, report_room;
    uint64_t *stale; /* owned: their keys */
    size_t nstale, stale_room;
};

struct native {
    const struct cleave_platform *platform;
    const struct cleave_worker *workers;
    uint32_t nworkers, nqueues; /* nqueues: of transfers                            */
    uint32_t back_queue;        /* returns: one for all, or the first of one each   */
    bool queue_each;            /* one per worker and way                           */
    const struct cv_run *run;
    bool noisy, steady; /* steady: no worker has a profile                  */
    double now_s;
    uint64_t sequence, numbered;
    struct recalls recalls;
    struct cv_event_heap heap;
    struct queue *transfers;  /* owned: at the ports                              */
    struct queue *processors; /* owned: computations, per worker                 */
    struct queue *finished;   /* owned: computed, not yet asked for, per worker  */
    uint32_t *nth;            /* owned: chunks ordered so far, per worker         */
    struct chunk *chunks;     /* owned: pool                                      */
    size_t nchunks, chunk_room;
    uint32_t free_chunk;
};

static inline uint64_t end_at(struct native *native, double time_s, unsigned kind,
                              uint32_t place)
{
    uint64_t key = native->sequence++ << TAG_BITS | (uint64_t)place << KIND_BITS | kind;

    cv_event_heap_add(&native->heap, cv_pending_at(time_s, key));
    return key;
}

/* When an activity that begins now ends. Noise stretches all of it; a profile slows the
 * part that depends on the size: native_times.c. */
double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s);

/* When a computation that begins now ends. */
static inline double cv_native_compute_end(const struct native *native,
                                           const struct chunk *chunk)
{
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    const double work_s = chunk->units / worker->speed_ups;

    if (native->noisy || !native->steady)
        return cv_native_end_of(native, chunk, CV_COMPUTE, worker->compute_latency_s,
                                work_s);
    return native->now_s + worker->compute_latency_s + work_s;
}

/* Recalls: native_recall.c. Take units back from what a worker computes; fill the event that
 * says how many; forget the events of computations that end earlier since. */
enum cleave_status cv_native_recall(struct native *native,
                                    const struct cleave_order *order,
                                    struct cleave_error *err);
void cv_native_recalled(struct native *native, struct cleave_event *out);
void cv_native_drop_stale(struct native *native);

#endif
