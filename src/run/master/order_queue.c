/* order_queue.c -- pending orders, counts of chunks, and events for the driver.
 * SPDX-License-Identifier: MIT */
#include "run/master/order_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "run/common/poller.h"

/* --- events ------------------------------------------------------------------------------- */

void cv_event_queue_done(struct cv_event_queue *events)
{
    free(events->events);
    events->events = NULL;
    events->first = events->count = events->room = 0;
}

void cv_event_queue_push(struct cv_event_queue *events, struct cleave_event event)
{
    if (events->first == events->count)
        events->first = events->count = 0;
    if (!CV_ROOM(events->events, &events->room, events->count + 1)) {
        cv_fail_memory(&events->err, "the events of a run");
        events->broken = true;
        return;
    }
    event.time_s = cv_clock_s() - events->began_s;
    if (event.kind != CLEAVE_DONE && !(event.start_s > 0))
        event.start_s = event.time_s;
    events->events[events->count++] = event;
}

void cv_event_queue_report(struct cv_event_queue *events, const struct cv_chunk *chunk,
                           struct cleave_event event)
{
    event.worker = chunk->owner;
    event.chunk = chunk->number;
    cv_event_queue_push(events, event);
}

void cv_event_queue_remove(struct cv_event_queue *events)
{
    if (events->count > events->first)
        events->count--;
}

void cv_event_queue_fail(struct cv_event_queue *events, const struct cleave_error *err)
{
    if (!events->broken)
        events->err = *err;
    events->broken = true;
}

bool cv_event_queue_pop(struct cv_event_queue *events, struct cleave_event *out)
{
    if (events->first == events->count)
        return false;
    *out = events->events[events->first++];
    out->more = events->first < events->count;
    return true;
}

enum cleave_status cv_event_queue_status(const struct cv_event_queue *events,
                                         struct cleave_error *err)
{
    if (!events->broken)
        return CLEAVE_OK;
    if (err != NULL)
        *err = events->err;
    return events->err.status == CLEAVE_OK ? CLEAVE_EENGINE : events->err.status;
}

/* --- pending orders and counts -------------------------------------------------------------- */

/* More bytes than any input has; sums are exact up to eight times this. */
static const double MOST_WANTED = 1ULL << 50;

/* Rounding error of a sum of orders, relative to the load. */
static const double SLACK = 1e-9;

/* Successes before the size limit is doubled for the first time. */
enum { FIRST_PATIENCE = 64 };

enum cleave_status cv_order_queue_open(struct cv_order_queue *queue, uint32_t nworkers,
                                       struct cleave_error *err)
{
    queue->wants = calloc(nworkers, sizeof *queue->wants);
    queue->wanting = calloc(nworkers / 64 + 1, sizeof *queue->wanting);
    if (queue->wants == NULL || queue->wanting == NULL)
        return cv_fail_memory(err, "the orders of a run");
    queue->nworkers = nworkers;
    queue->open = true;
    queue->request = 0;
    queue->all_asked = false;
    queue->owed = cv_source_left(queue->source);
    return CLEAVE_OK;
}

void cv_order_queue_close(struct cv_order_queue *queue)
{
    for (uint32_t w = 0; w < queue->nworkers; w++)
        free(queue->wants[w].items);
    free(queue->wants);
    free(queue->wanting);
    queue->wants = NULL;
    queue->wanting = NULL;
    queue->nworkers = 0;
    queue->open = false;
}

double cv_order_queue_unordered_bytes(const struct cv_order_queue *queue)
{
    const double left = cv_source_left(queue->source);

    /* Orders may exceed the input, and streams have no end. Below half a byte nothing
     * is left. */
    return left - queue->wanted >= cv_source_grain(queue->source) / 2
               ? left - queue->wanted
               : 0;
}

/* --- orders ------------------------------------------------------------------------------- */

/* Make room for one more order of the worker, which the caller adds. */
static enum cleave_status grow_array(struct cv_order_queue *queue, uint32_t worker,
                                     struct cleave_error *err)
{
    struct cv_pending_orders *wants = &queue->wants[worker];

    if (wants->first == wants->count)
        wants->first = wants->count = 0;
    if (!CV_ROOM(wants->items, &wants->room, wants->count + 1))
        return cv_fail_memory(err, "the orders of a run");
    queue->wanting[worker / 64] |= UINT64_C(1) << worker % 64;
    return CLEAVE_OK;
}

/* Whole bytes or grains keep sums exact. */
static double whole(const struct cv_order_queue *queue, double units)
{
    const double grain = cv_source_grain(queue->source), grains = units / grain;

    return grain * (grains < MOST_WANTED ? fmax(1, round(grains)) : MOST_WANTED);
}

static enum cleave_status add_want(struct cv_order_queue *queue, uint32_t worker,
                                   struct cv_pending_order pending,
                                   struct cleave_error *err)
{
    struct cv_pending_orders *wants = &queue->wants[worker];

    CV_TRY(grow_array(queue, worker, err));
    pending.chunk = queue->numbered++;
    wants->items[wants->count++] = pending;
    queue->pending++;
    queue->wanted += pending.units;
    return CLEAVE_OK;
}

/* Count the bytes of an order. */
static void note_asked(struct cv_order_queue *queue, double units)
{
    queue->request += units;
    queue->all_asked = queue->all_asked || !(cv_order_queue_unordered_bytes(queue) > 0);
}

enum cleave_status cv_order_queue_order(struct cv_order_queue *queue, uint32_t worker,
                                        enum cv_order_kind kind, double units,
                                        uint64_t item, struct cleave_error *err)
{
    const bool empty = kind == CV_ORDER_OPEN && !(units > 0);

    CV_TRY(add_want(queue, worker,
                    (struct cv_pending_order){ .kind = kind,
                                               .units = empty ? 0 : whole(queue, units),
                                               .item = item },
                    err));
    note_asked(queue, units);
    return CLEAVE_OK;
}

double cv_order_queue_reserve(struct cv_order_queue *queue, double units)
{
    const double wanted = whole(queue, units);

    queue->growing++;
    queue->wanted += wanted;
    note_asked(queue, units);
    return wanted;
}

void cv_order_queue_release(struct cv_order_queue *queue, double units)
{
    queue->growing--;
    queue->wanted -= units;
}

struct cv_pending_order *cv_order_queue_open_order(struct cv_order_queue *queue,
                                                   uint32_t worker)
{
    struct cv_pending_orders *wants = queue->open ? &queue->wants[worker] : NULL;

    for (size_t i = wants != NULL ? wants->first : 0; wants != NULL && i < wants->count;
         i++)
        if (wants->items[i].kind == CV_ORDER_OPEN)
            return &wants->items[i];
    return NULL;
}

bool cv_order_queue_has_remainder(const struct cv_order_queue *queue)
{
    const double all =
        isfinite(queue->owed) ? queue->owed : cv_source_units(queue->source);

    return !queue->gets_losses && queue->running == 0 && queue->pending == 0 &&
           cv_source_left(queue->source) > 0 &&
           (queue->all_asked || queue->request >= (1 - SLACK) * all);
}

enum cleave_status cv_order_queue_add_remainder(struct cv_order_queue *queue,
                                                uint32_t worker, double units,
                                                struct cleave_error *err)
{
    return add_want(queue, worker,
                    (struct cv_pending_order){ .units = whole(queue, units),
                                               .reported = CV_UNREPORTED },
                    err);
}

/* Order a chunk again, before all others. */
static enum cleave_status order_again(struct cv_order_queue *queue, uint32_t worker,
                                      const struct cv_pending_order *pending,
                                      struct cleave_error *err)
{
    struct cv_pending_orders *wants = &queue->wants[worker];

    CV_TRY(grow_array(queue, worker, err));
    memmove(&wants->items[wants->first + 1], &wants->items[wants->first],
            (wants->count - wants->first) * sizeof *wants->items);
    wants->items[wants->first] = *pending;
    wants->count++;
    queue->pending++;
    queue->wanted += pending->units;
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_defer(struct cv_order_queue *queue, uint32_t worker,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    const bool blank = piece->end == piece->begin;

    CV_TRY(blank ? CLEAVE_OK : cv_source_put_back(queue->source, piece, err));
    return order_again(queue, worker, pending, err);
}

const struct cv_pending_order *cv_order_queue_next(const struct cv_order_queue *queue,
                                                   uint32_t worker)
{
    const struct cv_pending_orders *wants = queue->open ? &queue->wants[worker] : NULL;

    return wants != NULL && wants->first < wants->count ? &wants->items[wants->first]
                                                        : NULL;
}

struct cv_pending_order cv_order_queue_take(struct cv_order_queue *queue, uint32_t worker)
{
    struct cv_pending_orders *wants = &queue->wants[worker];
    const struct cv_pending_order pending = wants->items[wants->first++];

    if (wants->first == wants->count)
        queue->wanting[worker / 64] &= ~(UINT64_C(1) << worker % 64);
    queue->wanted -= pending.units;
    queue->pending--;
    return pending;
}

uint32_t cv_order_queue_next_worker(const struct cv_order_queue *queue, uint32_t from)
{
    while (from < queue->nworkers) {
        const uint64_t bits = queue->wanting[from / 64] >> from % 64;

        if (bits != 0)
            return from + (uint32_t)__builtin_ctzll(bits);
        from = (from / 64 + 1) * 64;
    }
    return queue->nworkers;
}

void cv_order_queue_lower_size_limit(struct cv_order_queue *queue, double units)
{
    const double max = fmax(units / 2, queue->largest);

    if (!(units > queue->largest) || (queue->max > 0 && !(max < queue->max)))
        return;
    queue->max = max;
    queue->fits = 0;
    queue->patience = queue->patience > 0 ? 2 * queue->patience : FIRST_PATIENCE;
}

void cv_order_queue_raise_size_limit(struct cv_order_queue *queue, double units,
                                     bool may_fail)
{
    queue->largest = fmax(queue->largest, units);
    if (queue->max > 0) /* the chunk that was too large was done after all */
        queue->max = fmax(queue->max, units);
    if (!may_fail || !(queue->max > 0) || 2 * units < queue->max ||
        ++queue->fits < queue->patience)
        return;
    queue->fits = 0;
    queue->max *= 2;
}

double cv_order_queue_size(const struct cv_order_queue *queue,
                           const struct cv_pending_order *pending)
{
    return queue->max > 0 ? fmin(pending->units, queue->max) : pending->units;
}

double cv_order_queue_fit_size(const struct cv_order_queue *queue, uint64_t bytes,
                               double units)
{
    return queue->max > 0 ? fmin(units, fmax(0, queue->max - (double)bytes)) : units;
}

void cv_order_queue_complete_empty(struct cv_order_queue *queue, uint32_t worker,
                                   uint64_t chunk, enum cv_reported reported)
{
    const double now_s = cv_clock_s() - queue->events->began_s;

    if (reported == CV_UNREPORTED)
        return;
    if (reported == CV_REPORTED_ORDER)
        cv_event_queue_push(queue->events, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                                  .worker = worker,
                                                                  .chunk = chunk });
    cv_event_queue_push(queue->events, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                              .worker = worker,
                                                              .chunk = chunk,
                                                              .start_s = now_s });
}

/* --- losses ------------------------------------------------------------------------------- */

static void tell_lost(struct cv_order_queue *queue, uint32_t worker,
                      const struct cv_pending_order *pending)
{
    cv_event_queue_push(queue->events, (struct cleave_event){ .kind = CLEAVE_LOST,
                                                              .worker = worker,
                                                              .chunk = pending->chunk,
                                                              .units = pending->units });
}

void cv_order_queue_cancel_worker(struct cv_order_queue *queue, uint32_t worker)
{
    while (cv_order_queue_next(queue, worker) != NULL) {
        const struct cv_pending_order pending = cv_order_queue_take(queue, worker);

        if (pending.more > 0)
            cv_order_queue_release(queue, pending.more);
        tell_lost(queue, worker, &pending);
    }
}

enum cleave_status cv_order_queue_requeue(struct cv_order_queue *queue,
                                          const struct cv_chunk *chunk,
                                          const struct cv_piece *piece,
                                          struct cleave_error *err)
{
    const struct cv_pending_order pending = { .chunk = chunk->number,
                                              .units = piece->units,
                                              .reported = chunk->reported };

    CV_TRY(cv_source_put_back(queue->source, piece, err));
    if (!queue->gets_losses)
        return order_again(queue, chunk->owner, &pending, err);
    tell_lost(queue, chunk->owner, &pending);
    return CLEAVE_OK;
}

enum cleave_status cv_order_queue_check(const struct cv_order_queue *queue,
                                        struct cleave_error *err)
{
    if (queue->pending == 0 && queue->growing == 0 && queue->running == 0 &&
        !(fabs(queue->wanted) > 0))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EACCOUNT,
        "%zu orders for %.0f bytes were not begun and %u chunks did not end: a "
        "defect of cleave",
        queue->pending, queue->wanted, queue->running);
}

void cv_order_queue_complete(struct cv_order_queue *queue, const struct cv_piece *piece)
{
    queue->chunks++;
    queue->done += (double)(piece->end - piece->begin);
    queue->done_units += piece->units;
    queue->running--;
}
