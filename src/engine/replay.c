/* replay.c -- run a policy against a recorded trace. SPDX-License-Identifier: MIT
 *
 * A trace may come from anywhere, and policies rely on consistent events: a chunk that is
 * done twice would be counted twice. So every event is checked against the orders first.
 */
#include "engine/replay.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

enum {
    SENT = 1 << 0,
    DONE = 1 << 1,
    RETURNED = 1 << 2,
    LOST = 1 << 3,
    STARTED = 1 << 4,
};

struct chunk {
    uint32_t worker;
    uint32_t copier; /* runs it as well; else the worker */
    unsigned seen;
};

enum stage { HELD, ORDERED, ARRIVED, COMBINED };

struct node {
    uint32_t receiver;
    enum stage stage;
};

/* A CLEAVE_WAKE_AT order that has not been answered. */
struct timer {
    uint32_t worker;
    double time_s;
};

struct replay {
    const struct cv_replay_source *source; /* borrowed */
    struct cleave_replayed found;
    size_t next;
    struct chunk *chunks; /* owned: as they were ordered              */
    size_t nchunks, room;
    struct node *nodes;   /* owned, for reductions; NULL before the first order */
    struct timer *timers; /* owned */
    size_t ntimers, timer_room;
};

/* --- orders --------------------------------------------------------------------------- */

static void tell(const struct replay *replay)
{
    if (replay->source->out != NULL)
        *replay->source->out = replay->found;
}

static bool same_order(const struct cleave_order *a, const struct cleave_order *b)
{
    return a->kind == b->kind && a->worker == b->worker && a->units == b->units &&
           a->time_s == b->time_s && a->peer == b->peer && a->chunk == b->chunk &&
           a->item == b->item;
}

/* The first difference: `recorded` or `now` may be missing. */
static enum cleave_status differ(struct replay *replay,
                                 const struct cleave_order *recorded,
                                 const struct cleave_order *now, struct cleave_error *err)
{
    struct cleave_replayed *found = &replay->found;

    found->entry = replay->next;
    found->has_recorded = recorded != NULL;
    found->has_now = now != NULL;
    if (recorded != NULL)
        found->recorded = *recorded;
    if (now != NULL)
        found->now = *now;
    tell(replay);
    return cv_fail(err, CLEAVE_EPOLICY,
                   "entry %zu of the trace: order %llu is not the one that was recorded",
                   replay->next, (unsigned long long)found->orders);
}

/* The oldest running chunk that `worker` copies, or has alone. */
static struct chunk *find_running(struct replay *replay, uint32_t worker, bool copies)
{
    for (size_t i = 0; i < replay->nchunks; i++) {
        struct chunk *chunk = &replay->chunks[i];

        if (chunk->copier == worker && (chunk->worker != worker) == copies &&
            (chunk->seen & (SENT | DONE | LOST)) == SENT)
            return chunk;
    }
    return NULL;
}

static enum cleave_status note_order(struct replay *replay,
                                     const struct cleave_order *order,
                                     struct cleave_error *err)
{
    if (order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN) {
        if (!CV_ROOM(replay->chunks, &replay->room, replay->nchunks + 1))
            return cv_fail_memory(err, "a replay");
        replay->chunks[replay->nchunks++] =
            (struct chunk){ .worker = order->worker, .copier = order->worker };
    } else if (order->kind == CLEAVE_COPY) {
        struct chunk *chunk = find_running(replay, order->peer, false);

        if (chunk != NULL)
            chunk->copier = order->worker;
    } else if (order->kind == CLEAVE_COMBINE) {
        if (replay->nodes == NULL)
            replay->nodes = calloc(replay->source->nworkers, sizeof *replay->nodes);
        if (replay->nodes == NULL)
            return cv_fail_memory(err, "a replay");
        replay->nodes[order->peer] = (struct node){ order->worker, ORDERED };
    } else if (order->kind == CLEAVE_WAKE_AT) {
        if (!CV_ROOM(replay->timers, &replay->timer_room, replay->ntimers + 1))
            return cv_fail_memory(err, "a replay");
        replay->timers[replay->ntimers++] =
            (struct timer){ order->worker, order->time_s };
    }
    return CLEAVE_OK;
}

static enum cleave_status replay_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *entry = NULL;

    if (replay->next < cleave_trace_count(replay->source->trace))
        entry = cleave_trace_at(replay->source->trace, replay->next);
    if (entry == NULL || !entry->is_order)
        return differ(replay, NULL, order, err);
    if (!same_order(&entry->as.order, order))
        return differ(replay, &entry->as.order, order, err);
    replay->next++;
    replay->found.orders++;
    return note_order(replay, order, err);
}

/* --- events --------------------------------------------------------------------------- */

static bool may_come_again(enum cleave_event_kind kind)
{
    return kind == CLEAVE_RECALLED || kind == CLEAVE_DRAINED || kind == CLEAVE_EXTENDED;
}

/* The reason why an event of a chunk is not possible, or NULL. */
static const char *find_chunk_fault(struct replay *replay,
                                    const struct cleave_event *event)
{
    struct chunk *chunk, *copied;
    unsigned step = event->kind == CLEAVE_SENT      ? SENT
                    : event->kind == CLEAVE_DONE    ? DONE
                    : event->kind == CLEAVE_LOST    ? LOST
                    : event->kind == CLEAVE_STARTED ? STARTED
                                                    : RETURNED;

    if ((event->kind == CLEAVE_RECALLED || event->kind == CLEAVE_PROGRESS) &&
        event->units == 0)
        return NULL; /* no chunk is concerned */
    if (event->chunk >= replay->nchunks)
        return "a chunk that was not ordered";
    chunk = &replay->chunks[event->chunk];
    copied = find_running(replay, event->worker, true);
    if (chunk->worker != event->worker && copied != NULL &&
        copied->worker == chunk->worker) { /* that one could not be copied, but this */
        copied->copier = copied->worker;
        chunk->copier = event->worker;
    }
    if (chunk->worker != event->worker && chunk->copier != event->worker)
        return "a chunk that another worker was to get";
    if (event->kind == CLEAVE_PROGRESS)
        return NULL; /* the chunk may be done at the same instant */
    if (may_come_again(event->kind))
        return (chunk->seen & (DONE | LOST)) == 0 ? NULL : "a chunk that was over before";
    if ((chunk->seen & (step | LOST)) != 0)
        return "a chunk that an earlier event named";
    chunk->seen |= step;
    return NULL;
}

static const char *find_pair_fault(struct replay *replay,
                                   const struct cleave_event *event)
{
    const enum stage stage = event->kind == CLEAVE_ARRIVED ? ARRIVED : COMBINED;
    struct node *node;

    if (replay->nodes == NULL || event->peer >= replay->source->nworkers)
        return "a partial that was not sent";
    node = &replay->nodes[event->peer];
    if (node->stage == HELD || node->receiver != event->worker)
        return "a partial that was not sent there";
    if (node->stage >= stage)
        return "a partial that an earlier event named";
    node->stage = stage;
    return NULL;
}

static const char *find_fault(struct replay *replay, const struct cleave_event *event)
{
    struct chunk *chunk;

    if (event->worker >= replay->source->nworkers)
        return "an absent worker";
    switch (event->kind) {
    case CLEAVE_START:
        return "a second start: it holds several runs";
    case CLEAVE_SENT:
    case CLEAVE_DONE:
    case CLEAVE_RETURNED:
    case CLEAVE_RECALLED:
    case CLEAVE_LOST:
    case CLEAVE_STARTED:
    case CLEAVE_DRAINED:
    case CLEAVE_EXTENDED:
    case CLEAVE_PROGRESS:
        return find_chunk_fault(replay, event);
    case CLEAVE_ARRIVED:
    case CLEAVE_COMBINED:
        return find_pair_fault(replay, event);
    case CLEAVE_DROPPED:
        chunk = event->units > 0 ? NULL : find_running(replay, event->worker, true);
        if (chunk != NULL) /* the copy was not begun */
            chunk->copier = chunk->worker;
        break;
    case CLEAVE_FOLDED: /* removed before */
    case CLEAVE_READY:
    case CLEAVE_WAKE:
    case CLEAVE_ENDED:
    case CLEAVE_CAME:
        break;
    }
    return NULL;
}

/* Whether a CLEAVE_WAKE event answers a CLEAVE_WAKE_AT order, which is then forgotten. */
static bool take_timer(struct replay *replay, const struct cleave_event *event)
{
    static const double SLACK = 1e-9; /* SimGrid rounds times */

    for (size_t i = 0; i < replay->ntimers; i++) {
        struct timer *timer = &replay->timers[i];

        if (timer->worker == event->worker &&
            timer->time_s <= event->time_s * (1 + SLACK)) {
            *timer = replay->timers[--replay->ntimers];
            return true;
        }
    }
    return false;
}

static enum cleave_status replay_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *entry;
    const char *fault;

    *out_any = replay->next < cleave_trace_count(replay->source->trace);
    if (!*out_any) {
        replay->found.same = true;
        tell(replay);
        return CLEAVE_OK;
    }
    entry = cleave_trace_at(replay->source->trace, replay->next);
    if (entry->is_order)
        return differ(replay, &entry->as.order, NULL, err);
    fault = find_fault(replay, &entry->as.event);
    if (fault != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "entry %zu of the trace has %s", replay->next,
                       fault);
    *out = entry->as.event;
    /* In traces up to version 0.2 a wake without an order says that a worker came. */
    if (out->kind == CLEAVE_WAKE && !take_timer(replay, out))
        out->kind = CLEAVE_CAME;
    replay->found.time_s = out->time_s;
    replay->next++;
    return CLEAVE_OK;
}

/* After an event: the units left that it recorded; after orders: the units left at the next event. */
static double replay_left(const void *engine)
{
    const struct replay *replay = engine;
    const struct cleave_trace *trace = replay->source->trace;
    const size_t count = cleave_trace_count(trace);
    const struct cleave_entry *entry = cleave_trace_at(trace, replay->next - 1);

    if (entry->is_order && replay->next == count)
        return 0; /* not used again */
    if (entry->is_order)
        entry = cleave_trace_at(trace, replay->next);
    return entry->knows_left ? entry->units_left : INFINITY;
}

/* --- the engine ----------------------------------------------------------------------- */

static enum cleave_status replay_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    struct replay *replay = calloc(1, sizeof *replay);

    (void)platform;
    if (replay == NULL)
        return cv_fail_memory(err, "a replay");
    replay->source = source;
    *out = replay;
    return CLEAVE_OK;
}

static enum cleave_status replay_begin(void *engine, const struct cv_run *run,
                                       struct cleave_error *err)
{
    struct replay *replay = engine;
    const struct cleave_entry *first;

    (void)run;
    if (cleave_trace_count(replay->source->trace) == 0)
        return cv_fail(err, CLEAVE_EINPUT, "the trace is empty");
    first = cleave_trace_at(replay->source->trace, 0);
    if (first->is_order || first->as.event.kind != CLEAVE_START)
        return cv_fail(err, CLEAVE_EINPUT, "the trace does not begin with a start");
    replay->next = 1; /* the driver makes the start itself */
    replay->nchunks = replay->ntimers = 0;
    free(replay->nodes);
    replay->nodes = NULL;
    replay->found = (struct cleave_replayed){ .same = false };
    tell(replay);
    return CLEAVE_OK;
}

static void replay_close(void *engine)
{
    struct replay *replay = engine;

    free(replay->chunks);
    free(replay->nodes);
    free(replay->timers);
    free(replay);
}

#define REPLAY                                                    \
    .name = "replay", .open = replay_open, .begin = replay_begin, \
    .submit = replay_submit, .wait = replay_wait, .close = replay_close

const struct cv_engine cv_engine_replay = {
    REPLAY,
    .summary = "repeats a recorded run and checks that the policy orders the same",
};

const struct cv_engine cv_engine_replay_real = {
    REPLAY,
    .summary = "repeats a recorded real run and checks that the policy orders the same",
    .left = replay_left,
};
