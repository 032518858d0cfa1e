/* native_reduce.c -- the built-in simulator of reductions, as an engine.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/native_reduce.h"

#include <stdlib.h>
#include <cleave/policy.h>
#include "base/fail.h"
#include "model/reduce/reduce_costs.h"
#include "sim/load/event_heap.h"

#define CV_NO_SENDER UINT32_MAX
enum {
    CV_ENDS_TRANSFER,
    CV_ENDS_COMBINATION,
    CV_ENDS_SLEEP,
    CV_ENDS_WORK, /* of its own: the node has its partial */
    CV_ENDS_BITS = 2
};

/* Heap keys: the node where it ends, what ends, the sender. */
static inline uint64_t cv_reduce_key(uint32_t node, unsigned kind, uint32_t sender)
{
    return (uint64_t)node << 32 << CV_ENDS_BITS | (uint64_t)kind << 32 | sender;
}

/* First come first served; the first is the one under way. */
struct cv_sender_queue {
    uint32_t first, last;
};

struct cv_reduce_node {
    struct cv_sender_queue port, processor; /* of senders                             */
    uint32_t combinations;                  /* begun so far                           */
    uint32_t next;                          /* as a sender: behind it in a queue      */
    uint32_t target;                        /* as a sender                            */
    double start_s;                         /* as a sender: of what is under way      */
    bool ready;                             /* has its own partial                    */
};

struct cv_reduce_core {
    const struct cv_reduce_costs *costs; /* borrowed */
    uint32_t run;
    bool plain, serial, early; /* early: receives before its partial is ready */
    double now_s;
    struct cv_event_heap heap;
    struct cv_reduce_node *nodes; /* owned */
};

static inline bool cv_reduce_core_init(struct cv_reduce_core *core,
                                       const struct cv_reduce_costs *costs, bool plain)
{
    *core = (struct cv_reduce_core){ .costs = costs, .plain = plain };
    core->nodes = calloc(costs->nodes, sizeof *core->nodes);
    /* Each node receives one thing and combines one thing at a time, or is not ready. */
    return core->nodes != NULL &&
           cv_event_heap_reserve(&core->heap, 3 * (size_t)costs->nodes);
}

static inline void cv_reduce_core_done(struct cv_reduce_core *core)
{
    cv_event_heap_done(&core->heap);
    free(core->nodes);
    core->nodes = NULL;
}

/* ready_s: when each node has its partial, or NULL: from the beginning. */
static inline void cv_reduce_core_begin(struct cv_reduce_core *core, uint32_t run,
                                        const double *ready_s,
                                        enum cleave_ready_model model)
{
    const struct cv_reduce_node fresh = { { CV_NO_SENDER, CV_NO_SENDER },
                                          { CV_NO_SENDER, CV_NO_SENDER },
                                          0,
                                          CV_NO_SENDER,
                                          CV_NO_SENDER,
                                          0,
                                          ready_s == NULL };

    core->run = run;
    core->serial = ready_s != NULL && model == CLEAVE_READY_MERGE && !core->plain;
    core->early = ready_s != NULL && model == CLEAVE_READY_EARLY && !core->plain;
    core->now_s = 0;
    cv_event_heap_clear(&core->heap);
    for (uint32_t i = 0; i < core->costs->nodes; i++)
        core->nodes[i] = fresh;
    for (uint32_t i = 0; ready_s != NULL && i < core->costs->nodes; i++)
        cv_event_heap_add(&core->heap,
                          cv_pending_at(ready_s[i], cv_reduce_key(i, CV_ENDS_WORK, 0)));
}

static inline bool cv_sender_enqueue(struct cv_reduce_core *core,
                                     struct cv_sender_queue *queue, uint32_t sender)
{
    core->nodes[sender].next = CV_NO_SENDER;
    if (queue->first == CV_NO_SENDER) {
        queue->first = queue->last = sender;
        return true;
    }
    core->nodes[queue->last].next = sender;
    queue->last = sender;
    return false;
}

static inline uint32_t cv_sender_dequeue(struct cv_reduce_core *core,
                                         struct cv_sender_queue *queue)
{
    queue->first = core->nodes[queue->first].next;
    return queue->first;
}

static inline void cv_begin_transfer(struct cv_reduce_core *core, uint32_t sender)
{
    struct cv_reduce_node *from = &core->nodes[sender];
    struct cv_reduce_node *to = &core->nodes[from->target];
    double end_s =
        core->now_s + cv_transfer_cost(core->costs, core->run, sender, from->target);
    unsigned kind = CV_ENDS_TRANSFER;

    from->start_s = core->now_s;
    if (core->plain) {
        end_s +=
            cv_compute_cost(core->costs, core->run, from->target, to->combinations++);
        kind = CV_ENDS_COMBINATION;
    }
    cv_event_heap_add(&core->heap,
                      cv_pending_at(end_s, cv_reduce_key(from->target, kind, sender)));
}

static inline void cv_begin_combination(struct cv_reduce_core *core, uint32_t sender)
{
    uint32_t target = core->nodes[sender].target;
    double cost_s = cv_compute_cost(core->costs, core->run, target,
                                    core->nodes[target].combinations++);

    core->nodes[sender].start_s = core->now_s;
    cv_event_heap_add(&core->heap,
                      cv_pending_at(core->now_s + cost_s,
                                    cv_reduce_key(target, CV_ENDS_COMBINATION, sender)));
}

/* Whether a transfer to a node may begin, if its port is free. */
static inline bool cv_takes_part(const struct cv_reduce_core *core,
                                 const struct cv_reduce_node *node)
{
    return (node->ready || core->early) &&
           !(core->serial && node->processor.first != CV_NO_SENDER);
}

/* False when memory is short, which only sleeping can run into. */
static inline bool cv_reduce_core_submit(struct cv_reduce_core *core,
                                         const struct cleave_order *order)
{
    if (order->kind == CLEAVE_WAKE_AT) {
        if (!cv_event_heap_reserve(&core->heap,
                                   core->heap.count + 3 * (size_t)core->costs->nodes + 1))
            return false;
        cv_event_heap_add(&core->heap,
                          cv_pending_at(order->time_s,
                                        cv_reduce_key(order->worker, CV_ENDS_SLEEP, 0)));
        return true;
    }
    core->nodes[order->peer].target = order->worker;
    if (cv_sender_enqueue(core, &core->nodes[order->worker].port, order->peer) &&
        cv_takes_part(core, &core->nodes[order->worker]))
        cv_begin_transfer(core, order->peer);
    return true;
}

static inline void cv_end_transfer(struct cv_reduce_core *core, uint32_t node,
                                   uint32_t sender)
{
    struct cv_reduce_node *to = &core->nodes[node];
    uint32_t next = cv_sender_dequeue(core, &to->port);

    if (cv_sender_enqueue(core, &to->processor, sender) && to->ready)
        cv_begin_combination(core, sender);
    if (next != CV_NO_SENDER && !core->serial)
        cv_begin_transfer(core, next);
}

/* A node has its own partial: what waited for that begins. */
static inline void cv_end_work(struct cv_reduce_core *core, uint32_t node)
{
    struct cv_reduce_node *self = &core->nodes[node];

    self->ready = true;
    if (core->early && self->processor.first != CV_NO_SENDER)
        cv_begin_combination(core, self->processor.first);
    else if (!core->early && self->port.first != CV_NO_SENDER)
        cv_begin_transfer(core, self->port.first);
}

static inline void cv_end_combination(struct cv_reduce_core *core, uint32_t node)
{
    struct cv_reduce_node *to = &core->nodes[node];
    uint32_t next = cv_sender_dequeue(core, core->plain ? &to->port : &to->processor);

    if (core->serial && to->port.first != CV_NO_SENDER)
        cv_begin_transfer(core, to->port.first);
    if (next == CV_NO_SENDER)
        return;
    if (core->plain)
        cv_begin_transfer(core, next);
    else
        cv_begin_combination(core, next);
}

/* The next event; false when nothing is under way. */
static inline bool cv_reduce_core_wait(struct cv_reduce_core *core,
                                       struct cleave_event *out)
{
    struct cv_pending first;
    unsigned kind;

    if (cv_event_heap_empty(&core->heap))
        return false;
    first = cv_event_heap_take(&core->heap);
    kind = (unsigned)(first.key >> 32) & ((1u << CV_ENDS_BITS) - 1);
    core->now_s = out->time_s = out->start_s = cv_pending_time(&first);
    out->worker = (uint32_t)(first.key >> 32 >> CV_ENDS_BITS);
    out->peer = (uint32_t)first.key;
    if (kind == CV_ENDS_COMBINATION) {
        out->kind = CLEAVE_COMBINED;
        out->start_s = core->nodes[out->peer].start_s;
        cv_end_combination(core, out->worker);
    } else if (kind == CV_ENDS_TRANSFER) {
        out->kind = CLEAVE_ARRIVED;
        out->start_s = core->nodes[out->peer].start_s;
        cv_end_transfer(core, out->worker, out->peer);
    } else if (kind == CV_ENDS_WORK) {
        out->kind = CLEAVE_READY;
        out->peer = 0;
        cv_end_work(core, out->worker);
    } else {
        out->kind = CLEAVE_WAKE;
    }
    cv_event_heap_settle(&core->heap);
    out->more = core->heap.items[0].time_bits <= first.time_bits;
    return true;
}

static void reduce_close(void *engine)
{
    struct cv_reduce_core *core = engine;

    if (core == NULL)
        return;
    cv_reduce_core_done(core);
    free(core);
}

static enum cleave_status open_as(bool plain, const void *source, void **out,
                                  struct cleave_error *err)
{
    struct cv_reduce_core *core = calloc(1, sizeof *core);

    if (core == NULL || !cv_reduce_core_init(core, source, plain)) {
        reduce_close(core);
        return cv_fail_memory(err, "the simulator");
    }
    *out = core;
    return CLEAVE_OK;
}

static enum cleave_status reduce_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    (void)platform;
    return open_as(false, source, out, err);
}

static enum cleave_status plain_open(const struct cleave_platform *platform,
                                     const void *source, void **out,
                                     struct cleave_error *err)
{
    (void)platform;
    return open_as(true, source, out, err);
}

static enum cleave_status reduce_begin(void *engine, const struct cv_run *run,
                                       struct cleave_error *err)
{
    (void)err;
    cv_reduce_core_begin(engine, run->number, run->ready_s, run->ready_model);
    return CLEAVE_OK;
}

static enum cleave_status reduce_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    return cv_reduce_core_submit(engine, order)
               ? CLEAVE_OK
               : cv_fail_memory(err, "the times to wake at");
}

static enum cleave_status reduce_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    (void)err;
    *out_any = cv_reduce_core_wait(engine, out);
    return CLEAVE_OK;
}

static const struct cv_engine overlapping = {
    .name = "native",
    .summary = "built-in simulator of reductions",
    .open = reduce_open,
    .begin = reduce_begin,
    .submit = reduce_submit,
    .wait = reduce_wait,
    .close = reduce_close,
};

/* For policies that do not hear of arrivals: there a node does one thing at a time, so that
 * a transfer and the combination after it are one event. */
static const struct cv_engine plain = {
    .name = "native",
    .summary = "built-in simulator of reductions without overlap",
    .open = plain_open,
    .begin = reduce_begin,
    .submit = reduce_submit,
    .wait = reduce_wait,
    .close = reduce_close,
};

const struct cv_engine *cv_native_reduce_for(const struct cleave_policy *policy)
{
    return policy->gets_arrivals ? &overlapping : &plain;
}
