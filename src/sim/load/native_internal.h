/* native_internal.h -- what the parts of the built-in simulator share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_INTERNAL_H
#define CV_NATIVE_INTERNAL_H
#include "engine/engine.h"
#include "engine/simulated_command.h"
#include "sim/load/event_heap.h"

enum { NONE = UINT32_MAX };

/* Low bits of a heap key: what ended. */
enum { KIND_BITS = 3, PLACE_BITS = 25, TAG_BITS = KIND_BITS + PLACE_BITS };
enum {
    ENDS_TRANSFER,
    ENDS_COMPUTE,
    ENDS_SLEEP,
    ENDS_STREAM,
    ENDS_REPORT, /* says what an order came to at once */
    ENDS_PROCESS,
};

struct chunk {
    double units, start_s;
    uint64_t number;
    uint32_t worker, nth; /* the nth chunk of that worker */
    uint32_t next;        /* in the queue it waits in, or the free list      */
    bool back;            /* this is about its result                          */
    /* Where commands read as they are fed: */
    enum cleave_event_kind piece; /* units of an open chunk: what to tell when they are
                                     there; CLEAVE_START: it is a whole chunk          */
    double begin;                 /* where in the load the chunk begins                */
};

/* Chunks first come first served; the first is the one under way. */
struct queue {
    uint32_t first, last;
};

/* What a worker's command does. */
struct process {
    double begin, end; /* the range that the chunk has; equal: where is not decided yet */
    double given;      /* so far it has come over the link                             */
    double read;       /* so far it was read at `read_at_s`, which may be to come      */
    double read_at_s;
    double ready_s;    /* it has started up                                            */
    double end_read_s; /* closed: when it has read the end of its input                */
    double factor;     /* noise: it takes so many times as long                        */
    uint64_t key;      /* of its event                                                 */
    enum cleave_event_kind next; /* what that is                                        */
    bool opened; /* by CLEAVE_OPEN: it is told of                                */
    bool closed, started, drained; /* the last two: that has been told                  */
};

struct native_open {
    const struct cv_command_model *command; /* borrowed */
    struct process *processes;              /* owned: by worker                         */
    struct cv_simulated_input input;
    struct queue
        waiting; /* chunks that wait for their part of a stream                 */
    size_t nwaiting;
};

/* What is to be reported at once, in order. They are few. */
struct reports {
    struct cleave_event *items; /* owned */
    size_t first, count, room;
};

struct native {
    const struct cleave_platform *platform;
    const struct cleave_worker *workers;
    uint32_t nworkers, nqueues; /* nqueues: of transfers                            */
    uint32_t back_queue;        /* returns: one for all, or the first of one each   */
    bool queue_each;            /* one per worker and way                           */
    const struct cv_run *run;
    bool noisy, steady; /* steady: no worker has a profile                  */
    bool exact;         /* steady and not noisy: costs are as declared      */
    double now_s;
    uint64_t sequence, numbered;
    struct reports reports;
    struct cv_pending
        moving[2];             /* the end of the message at a shared port, for each way */
    struct cv_tournament ends; /* of computations, per worker; then of messages, per
                                    queue, where each worker has its own              */
    struct cv_event_heap heap; /* all else: sleeps, reports, commands that are fed   */
    struct queue *transfers;   /* owned: at the ports                              */
    struct queue *processors;  /* owned: computations, per worker                 */
    struct queue *finished;    /* owned: computed, not yet asked for, per worker  */
    uint32_t *nth;             /* owned: chunks ordered so far, per worker         */
    struct chunk *chunks;      /* owned: pool                                      */
    size_t nchunks, chunk_room;
    uint32_t free_chunk;
    struct native_open *open;      /* where commands read as they are fed, or NULL    */
    struct native_open *kept_open; /* owned, or NULL                                  */
};

static inline uint64_t next_key(struct native *native, unsigned kind, uint32_t place)
{
    return native->sequence++ << TAG_BITS | (uint64_t)place << KIND_BITS | kind;
}

static inline uint64_t end_at(struct native *native, double time_s, unsigned kind,
                              uint32_t place)
{
    const uint64_t key = next_key(native, kind, place);

    cv_event_heap_add(&native->heap, cv_pending_at(time_s, key));
    return key;
}

/* A computation ends then, and not when was thought before. */
static inline void compute_until(struct native *native, uint32_t worker, double time_s)
{
    cv_tournament_set(&native->ends, worker,
                      cv_pending_at(time_s, next_key(native, ENDS_COMPUTE, worker)));
}

/* When an activity that begins now ends. Noise stretches all of it; a profile slows the
 * part that depends on the size: native.c. */
double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s);

/* When a computation that begins now ends. */
static inline double cv_native_compute_end(const struct native *native,
                                           const struct chunk *chunk)
{
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    const double work_s = chunk->units / worker->speed_ups;

    if (!native->exact)
        return cv_native_end_of(native, chunk, CV_COMPUTE, worker->compute_latency_s,
                                work_s);
    return native->now_s + worker->compute_latency_s + work_s;
}

enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err);

/* A chunk of the pool. */
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

/* Recalls: native.c. Take units back from what a worker computes, and report how
 * many. */
enum cleave_status cv_native_recall(struct native *native,
                                    const struct cleave_order *order,
                                    struct cleave_error *err);
/* Say something at once: for so many there is room, or false when memory is short. */
void cv_native_report(struct native *native, const struct cleave_event *event);
bool cv_native_report_room(struct native *native, size_t count);
void cv_native_reported(struct native *native, struct cleave_event *out);

/* Where commands read as they are fed: native_open.c. A run begins; an order that is not to
 * send, wake or return; a chunk is sent, or its turn at the processor has come. */
enum cleave_status cv_native_open_begin(struct native *native, struct cleave_error *err);
void cv_native_open_done(struct native *native);
enum cleave_status cv_native_open_submit(struct native *native,
                                         const struct cleave_order *order,
                                         struct cleave_error *err);
void cv_native_open_send(struct native *native, uint32_t index);
void cv_native_open_start(struct native *native, uint32_t index);
/* A piece is there; so many units are done; the stream has ended. */
void cv_native_open_arrived(struct native *native, const struct chunk *piece,
                            struct cleave_event *out);
void cv_native_open_finished(struct native *native, double units);
void cv_native_open_ended(struct native *native, struct cleave_event *out);
/* Room for the events that the next order or event may lead to. Stale ones are dropped. */
enum cleave_status cv_native_open_room(struct native *native, struct cleave_error *err);
void cv_native_open_drop(struct native *native);
/* Its event has come. True: the chunk is done, else `out` says what there is to tell. */
bool cv_native_process_tell(struct native *native, uint32_t worker,
                            struct cleave_event *out);
/* Units that nobody was given or promised. */
double cv_native_left(const void *engine);

#endif
