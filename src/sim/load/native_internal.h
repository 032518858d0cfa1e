/* native_internal.h -- state of the built-in simulator.
 * SPDX-License-Identifier: MIT */
#ifndef CV_NATIVE_INTERNAL_H
#define CV_NATIVE_INTERNAL_H
#include <math.h>
#include "engine/engine.h"
#include "engine/simulated_command.h"
#include "model/platform/noise.h"
#include "model/leaders/led_tree.h"
#include "sim/load/event_heap.h"

enum { NONE = UINT32_MAX };

/* Low bits of a heap key: the kind and place of an end. */
enum { KIND_BITS = 3, PLACE_BITS = 25, TAG_BITS = KIND_BITS + PLACE_BITS };
enum {
    ENDS_TRANSFER,
    ENDS_COMPUTE,
    ENDS_SLEEP,
    ENDS_STREAM,
    ENDS_REPORT, /* the result of an order, at once */
    ENDS_PROCESS,
    ENDS_WORKER, /* a worker that hangs is lost */
    ENDS_ANSWER,
};

struct chunk {
    double units, start_s;
    double end_s; /* end of the computation of a piece at a leader */
    uint64_t number;
    uint32_t worker, nth; /* the nth chunk of that worker */
    uint32_t load;        /* of several */
    uint32_t next;        /* in a queue, or the free list */
    bool back;            /* a result */
    bool silent;          /* its arrival was reported earlier, or is not reported */
    /* If commands read as they are fed: */
    /* a piece of an open chunk: its event; 0: a whole chunk */
    enum cleave_event_kind piece;
    uint32_t owner; /* the worker that events name; another worker may act for it */
    double begin;   /* place of the chunk in the load */
};

/* First come, first served; the first is running. */
struct queue {
    uint32_t first, last;
};

/* The command of a worker. */
struct process {
    double begin, end; /* range of the chunk; equal: not decided yet */
    double given;      /* end of the input that has arrived */
    double read;       /* position at `read_at_s`, which may be in the future */
    double read_at_s;
    double ready_s;                /* end of the start-up */
    double end_read_s;             /* closed: when the end of the input was read */
    double factor;                 /* noise on all durations */
    double weight;                 /* factor on the cost of an item */
    uint64_t key;                  /* key of its event */
    enum cleave_event_kind next;   /* kind of its event */
    bool opened;                   /* by CLEAVE_OPEN: its events are reported */
    bool closed, started, drained; /* started, drained: reported */
    bool copied;                   /* the chunk has or had a copy, or is one */
    bool awaited;                  /* a copy whose input has not arrived */
    uint32_t twin;                 /* worker with the same chunk, plus 1; 0: none */
};

/* Events to report, in order. */
struct reports {
    struct cleave_event *items; /* owned */
    size_t first, count, room;
};

/* When a worker computes and how fast: its profile and its standstills, as far as they
 * are known. */
struct timeline {
    struct cleave_step *steps; /* owned */
    size_t nsteps, room;
    uint32_t next;  /* step of the profile */
    double factor;  /* present factor of the profile */
    double until_s; /* steps are complete up to this time */
    struct cv_standstill still;
};

struct native_open {
    const struct cv_command_model *command; /* borrowed */
    struct process *processes;              /* owned: by worker                         */
    struct cv_simulated_input input;
    struct queue waiting; /* chunks that wait for a stream */
    size_t nwaiting;
    struct cv_record_law law; /* for items */
    struct timeline *times;   /* owned: by worker */
    bool stands_still;        /* some workers do, at `times` */
    bool *gone;               /* owned: by worker: it is lost */
    bool answered;            /* the event was held back before */
    bool failed;              /* too many standstills, or no memory for them */
    struct reports answers;   /* time_s is the time of arrival */
};

struct native {
    const struct cleave_platform *platform;
    const struct cleave_worker *workers;
    uint32_t nworkers, nqueues; /* nqueues: ports */
    uint32_t back_queue;        /* index of the first port of returns */
    bool queue_each;            /* one port per worker and way */
    const struct cv_run *run;
    bool noisy, steady; /* steady: no profiles */
    bool exact;         /* steady and not noisy */
    /* owned: the run of the leaders; tree.tree is NULL without leaders */
    struct cv_led_run tree;
    double now_s;
    uint64_t sequence, numbered;
    struct reports reports;
    struct cv_pending moving[2]; /* shared ports: end of the message of each way */
    /* computations by worker; then messages by port, if each worker has its own */
    struct cv_tournament ends;
    struct cv_event_heap heap; /* sleeps, reports, commands */
    struct queue *transfers;   /* owned: by port */
    struct queue *processors;  /* owned: by worker */
    struct queue *finished;    /* owned: by worker, computed and not asked for */
    uint32_t *nth;             /* owned: by worker, chunks ordered so far */
    struct chunk *chunks;      /* owned: pool                                      */
    size_t nchunks, chunk_room;
    uint32_t free_chunk;
    struct native_open *open;      /* if commands read as they are fed, or NULL */
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

static inline void compute_until(struct native *native, uint32_t worker, double time_s)
{
    cv_tournament_set(&native->ends, worker,
                      cv_pending_at(time_s, next_key(native, ENDS_COMPUTE, worker)));
}

/* End of an activity that begins now. Noise stretches all of it; a profile slows the
 * part that depends on the size. */
double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s);

/* A leader, whose pieces are cut as they arrive. */
static inline bool cv_native_leads(const struct native *native, uint32_t worker)
{
    return native->tree.tree != NULL && cv_led_leads(native->tree.tree, worker);
}

static inline double cv_native_compute_end(const struct native *native,
                                           const struct chunk *chunk)
{
    const struct cleave_worker *worker = &native->workers[chunk->worker];
    double work_s = chunk->units / worker->speed_ups;

    if (native->run->loads != NULL)
        work_s *= native->run->loads[chunk->load].compute[chunk->worker];
    if (cv_native_leads(native, chunk->worker))
        return fmax(native->now_s, chunk->end_s);
    if (!native->exact)
        return cv_native_end_of(native, chunk, CV_COMPUTE, worker->compute_latency_s,
                                work_s);
    return native->now_s + worker->compute_latency_s + work_s;
}

enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err);

static inline enum cleave_status take_chunk(struct native *native, uint32_t *out,
                                            struct cleave_error *err)
{
    if (native->free_chunk == NONE)
        return cv_native_new_chunk(native, out, err);
    *out = native->free_chunk;
    native->free_chunk = native->chunks[*out].next;
    return CLEAVE_OK;
}

/* True: the chunk is the first. */
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

/* Returns the next chunk, or NONE. */
static inline uint32_t dequeue(struct native *native, struct queue *queue)
{
    queue->first = native->chunks[queue->first].next;
    return queue->first;
}

/* CV_PENDING_NEVER: there is no message. */
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

    if (!plain && native->run->loads != NULL)
        work_s *= native->run->loads[chunk->load].transfer;
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

/* `plain`: there are no results in this run. */
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

/* The result of a computed chunk may be asked for, or the chunk is forgotten. */
static inline void finish(struct native *native, uint32_t index)
{
    if (native->run->result_ratio > 0)
        enqueue(native, &native->finished[native->chunks[index].owner], index);
    else
        forget(native, index);
}

/* A piece has arrived. A leader cuts it; noise stretches all its operations on the
 * piece. */
void cv_native_share(struct native *native, struct chunk *piece);
/* Take units back that a worker has not computed, and report how many. */
enum cleave_status cv_native_recall(struct native *native,
                                    const struct cleave_order *order,
                                    struct cleave_error *err);
/* Report an event at once; room for `count` of them must exist. False: no memory. */
void cv_native_report(struct native *native, const struct cleave_event *event);
bool cv_native_report_room(struct native *native, size_t count);
void cv_native_reported(struct native *native, struct cleave_event *out);

/* Conditions of a run (native_conditions.c). */
enum cleave_status cv_native_conditions_begin(struct native *native,
                                              struct cleave_error *err);
void cv_native_conditions_done(struct native *native);
/* Whether there are any. */
bool cv_native_is_rough(const struct native *native);
/* How fast a worker is, complete beyond `upto_s`. */
struct cleave_profile cv_native_profile(struct native *native, uint32_t worker,
                                        double upto_s);
/* Up to when it is complete. */
double cv_native_profile_until(const struct native *native, uint32_t worker);
/* When work that takes `work_s` at factor 1 ends. */
double cv_native_work_end(struct native *native, uint32_t worker, double begin_s,
                          double work_s);
/* The worker that is to get a chunk: never a lost worker. */
uint32_t cv_native_stand_in(const struct native *native, uint32_t worker);
/* Report an event that concerns a chunk. */
void cv_native_tell(struct native *native, const struct chunk *chunk,
                    enum cleave_event_kind kind, double units);
/* Report that nothing came of a chunk, and forget it. */
void cv_native_lose(struct native *native, uint32_t index);
/* End the first chunk of a worker, whose twin is done. */
void cv_native_drop(struct native *native, uint32_t worker);
/* Take the next answer that has arrived; its kind is CLEAVE_START if it is outdated. */
void cv_native_answer(struct native *native, struct cleave_event *out);
/* After an event: apply the consequences of conditions. It is held back if its kind
 * becomes CLEAVE_START. */
enum cleave_status cv_native_heed(struct native *native, struct cleave_event *out,
                                  struct cleave_error *err);

/* Commands that read as they are fed (native_open.c). */
enum cleave_status cv_native_open_begin(struct native *native, struct cleave_error *err);
void cv_native_open_done(struct native *native);
enum cleave_status cv_native_open_submit(struct native *native,
                                         const struct cleave_order *order,
                                         struct cleave_error *err);
void cv_native_open_send(struct native *native, uint32_t index);
void cv_native_open_start(struct native *native, uint32_t index);
void cv_native_open_arrived(struct native *native, const struct chunk *piece,
                            struct cleave_event *out);
void cv_native_open_finished(struct native *native, double units);
/* Chunks that wait get their part, first come, first served. */
void cv_native_open_serve(struct native *native);
void cv_native_open_ended(struct native *native, struct cleave_event *out);
/* Room for the events that an order or event may cause. Outdated ones are dropped. */
enum cleave_status cv_native_open_room(struct native *native, struct cleave_error *err);
void cv_native_open_drop(struct native *native);
/* Fill the event of a command. True: the chunk is done. */
bool cv_native_process_tell(struct native *native, uint32_t worker,
                            struct cleave_event *out);
/* Units that no worker was given or promised. */
double cv_native_left(const void *engine);

#endif
