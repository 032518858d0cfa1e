/* native_reduce.c -- the built-in simulator of reductions, as an engine.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/native_reduce.h"

#include <stdlib.h>
#include <cleave/policy.h>
#include "base/fail.h"
#include "model/reduce/reduce_costs.h"
#include "sim/load/event_heap.h"

enum { NO_SENDER = UINT32_MAX };
enum {
    ENDS_TRANSFER,
    ENDS_COMBINATION,
    ENDS_SLEEP,
    ENDS_WORK, /* the node has its own partial */
    ENDS_BITS = 2
};

/* Heap keys: the node where it ends, what ends, the sender. */
static uint64_t key_of(uint32_t node, unsigned kind, uint32_t sender)
{
    return (uint64_t)node << 32 << ENDS_BITS | (uint64_t)kind << 32 | sender;
}

/* First come, first served; the first is running. */
struct queue {
    uint32_t first, last;
};

struct node {
    struct queue port, processor; /* queues of senders */
    uint32_t combinations;        /* begun so far */
    uint32_t next, target;        /* as a sender: next in a queue; receiver */
    double start_s;               /* as a sender: begin of its running operation */
    bool ready;                   /* has its own partial */
};

struct core {
    const struct cv_reduce_costs *costs; /* borrowed */
    uint32_t run;
    bool plain, serial, early; /* early: receives before its partial is ready */
    double now_s;
    struct cv_event_heap heap;
    struct node *nodes; /* owned */
};

static bool enqueue(struct core *core, struct queue *queue, uint32_t sender)
{
    core->nodes[sender].next = NO_SENDER;
    if (queue->first == NO_SENDER) {
        queue->first = queue->last = sender;
        return true;
    }
    core->nodes[queue->last].next = sender;
    queue->last = sender;
    return false;
}

static uint32_t dequeue(struct core *core, struct queue *queue)
{
    queue->first = core->nodes[queue->first].next;
    return queue->first;
}

static void begin_transfer(struct core *core, uint32_t sender)
{
    struct node *from = &core->nodes[sender];
    struct node *to = &core->nodes[from->target];
    double end_s =
        core->now_s + cv_transfer_cost(core->costs, core->run, sender, from->target);
    unsigned kind = ENDS_TRANSFER;

    from->start_s = core->now_s;
    if (core->plain) {
        end_s +=
            cv_compute_cost(core->costs, core->run, from->target, to->combinations++);
        kind = ENDS_COMBINATION;
    }
    cv_event_heap_add(&core->heap,
                      cv_pending_at(end_s, key_of(from->target, kind, sender)));
}

static void begin_combination(struct core *core, uint32_t sender)
{
    uint32_t target = core->nodes[sender].target;
    double cost_s = cv_compute_cost(core->costs, core->run, target,
                                    core->nodes[target].combinations++);

    core->nodes[sender].start_s = core->now_s;
    cv_event_heap_add(&core->heap,
                      cv_pending_at(core->now_s + cost_s,
                                    key_of(target, ENDS_COMBINATION, sender)));
}

/* Whether a transfer to a node may begin, if its port is free. */
static bool takes_part(const struct core *core, const struct node *node)
{
    return (node->ready || core->early) &&
           !(core->serial && node->processor.first != NO_SENDER);
}

static void end_transfer(struct core *core, uint32_t node, uint32_t sender)
{
    struct node *to = &core->nodes[node];
    uint32_t next = dequeue(core, &to->port);

    if (enqueue(core, &to->processor, sender) && to->ready)
        begin_combination(core, sender);
    if (next != NO_SENDER && !core->serial)
        begin_transfer(core, next);
}

/* A node has its own partial: what waited for that begins. */
static void end_work(struct core *core, uint32_t node)
{
    struct node *self = &core->nodes[node];

    self->ready = true;
    if (core->early && self->processor.first != NO_SENDER)
        begin_combination(core, self->processor.first);
    else if (!core->early && self->port.first != NO_SENDER)
        begin_transfer(core, self->port.first);
}

static void end_combination(struct core *core, uint32_t node)
{
    struct node *to = &core->nodes[node];
    uint32_t next = dequeue(core, core->plain ? &to->port : &to->processor);

    if (core->serial && to->port.first != NO_SENDER)
        begin_transfer(core, to->port.first);
    if (next == NO_SENDER)
        return;
    if (core->plain)
        begin_transfer(core, next);
    else
        begin_combination(core, next);
}

static void reduce_close(void *engine)
{
    struct core *core = engine;

    if (core == NULL)
        return;
    cv_event_heap_done(&core->heap);
    free(core->nodes);
    free(core);
}

static enum cleave_status open_as(bool plain, const void *source, void **out,
                                  struct cleave_error *err)
{
    struct core *core = calloc(1, sizeof *core);

    if (core != NULL) {
        core->costs = source;
        core->plain = plain;
        core->nodes = calloc(core->costs->nodes, sizeof *core->nodes);
    }
    /* Each node receives one thing and combines one thing at a time, or is not ready. */
    if (core == NULL || core->nodes == NULL ||
        !cv_event_heap_reserve(&core->heap, 3 * (size_t)core->costs->nodes)) {
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
    struct core *core = engine;
    const double *ready_s = run->ready_s;
    const struct node fresh = { .port = { NO_SENDER, NO_SENDER },
                                .processor = { NO_SENDER, NO_SENDER },
                                .next = NO_SENDER,
                                .target = NO_SENDER,
                                .ready = ready_s == NULL };

    (void)err;
    core->run = run->number;
    core->serial =
        ready_s != NULL && run->ready_model == CLEAVE_READY_MERGE && !core->plain;
    core->early =
        ready_s != NULL && run->ready_model == CLEAVE_READY_EARLY && !core->plain;
    core->now_s = 0;
    cv_event_heap_clear(&core->heap);
    for (uint32_t i = 0; i < core->costs->nodes; i++)
        core->nodes[i] = fresh;
    for (uint32_t i = 0; ready_s != NULL && i < core->costs->nodes; i++)
        cv_event_heap_add(&core->heap,
                          cv_pending_at(ready_s[i], key_of(i, ENDS_WORK, 0)));
    return CLEAVE_OK;
}

static enum cleave_status reduce_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct core *core = engine;

    if (order->kind == CLEAVE_WAKE_AT) {
        if (!cv_event_heap_reserve(&core->heap,
                                   core->heap.count + 3 * (size_t)core->costs->nodes + 1))
            return cv_fail_memory(err, "the times to wake at");
        cv_event_heap_add(&core->heap,
                          cv_pending_at(order->time_s,
                                        key_of(order->worker, ENDS_SLEEP, 0)));
        return CLEAVE_OK;
    }
    core->nodes[order->peer].target = order->worker;
    if (enqueue(core, &core->nodes[order->worker].port, order->peer) &&
        takes_part(core, &core->nodes[order->worker]))
        begin_transfer(core, order->peer);
    return CLEAVE_OK;
}

static enum cleave_status reduce_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct core *core = engine;
    struct cv_pending first;
    unsigned kind;

    (void)err;
    *out_any = !cv_event_heap_empty(&core->heap);
    if (!*out_any)
        return CLEAVE_OK;
    first = cv_event_heap_take(&core->heap);
    kind = (unsigned)(first.key >> 32) & ((1u << ENDS_BITS) - 1);
    core->now_s = out->time_s = out->start_s = cv_pending_time(&first);
    out->worker = (uint32_t)(first.key >> 32 >> ENDS_BITS);
    out->peer = (uint32_t)first.key;
    if (kind == ENDS_COMBINATION) {
        out->kind = CLEAVE_COMBINED;
        out->start_s = core->nodes[out->peer].start_s;
        end_combination(core, out->worker);
    } else if (kind == ENDS_TRANSFER) {
        out->kind = CLEAVE_ARRIVED;
        out->start_s = core->nodes[out->peer].start_s;
        end_transfer(core, out->worker, out->peer);
    } else if (kind == ENDS_WORK) {
        out->kind = CLEAVE_READY;
        out->peer = 0;
        end_work(core, out->worker);
    } else {
        out->kind = CLEAVE_WAKE;
    }
    cv_event_heap_settle(&core->heap);
    out->more = core->heap.items[0].time_bits <= first.time_bits;
    return CLEAVE_OK;
}

#define NATIVE                                                        \
    .name = "native", .begin = reduce_begin, .submit = reduce_submit, \
    .wait = reduce_wait, .close = reduce_close

static const struct cv_engine overlapping = {
    NATIVE,
    .summary = "built-in simulator of reductions",
    .open = reduce_open,
};

/* For policies that get no arrivals: a node does one thing at a time, so that a transfer and
 * its combination are one event. */
static const struct cv_engine plain = {
    NATIVE,
    .summary = "built-in simulator of reductions without overlap",
    .open = plain_open,
};

const struct cv_engine *cv_native_reduce_for(const struct cleave_policy *policy)
{
    return policy->gets_arrivals ? &overlapping : &plain;
}
