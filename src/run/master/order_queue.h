/* order_queue.h -- pending orders, counts of chunks, and events for the driver.
 * SPDX-License-Identifier: MIT
 *
 * Every byte of the input is in the source, reserved by a pending order, running, or
 * settled. An order that is cancelled releases its bytes, so that the policy can hand
 * them out again. Nothing here depends on commands or machines. */
#ifndef CV_ORDER_QUEUE_H
#define CV_ORDER_QUEUE_H
#include <cleave/policy.h>
#include <stdbool.h>
#include <stddef.h>
#include "run/failures/retry_queue.h"
#include "run/input/source.h"
#include "run/journal/journal.h"
#include "run/master/input_coverage.h"

struct cv_event_queue {
    struct cleave_event *events; /* owned: from `first`, in order */
    size_t first, count, room;
    double began_s; /* time 0 of events, on the clock of the poller */
    bool broken;
    struct cleave_error err; /* set if broken */
};

void cv_event_queue_done(struct cv_event_queue *events);

/* Push an event. Its time is set here, and its start if it has none. */
void cv_event_queue_push(struct cv_event_queue *events, struct cleave_event event);
/* Push an event about a chunk. */
void cv_event_queue_report(struct cv_event_queue *events, const struct cv_chunk *chunk,
                           struct cleave_event event);
/* Remove the last event, which the driver has not popped yet. */
void cv_event_queue_remove(struct cv_event_queue *events);
/* Store an error that ends the run; the first one counts. */
void cv_event_queue_fail(struct cv_event_queue *events, const struct cleave_error *err);
/* Pop the next event; false: there is none. */
bool cv_event_queue_pop(struct cv_event_queue *events, struct cleave_event *out);
/* Fails after cv_event_queue_fail. */
enum cleave_status cv_event_queue_status(const struct cv_event_queue *events,
                                         struct cleave_error *err);

enum cv_order_kind {
    CV_ORDER_SEND,
    CV_ORDER_ITEM, /* one item, and no other                                            */
    CV_ORDER_OPEN, /* later orders may extend the chunk; `units` may be 0               */
};

struct cv_pending_order {
    enum cv_order_kind kind;
    uint64_t chunk;
    double units;
    enum cv_reported reported;
    uint64_t item;
    /* For an open chunk: bytes of an ordered extension, and whether it is the last one. */
    double more;
    bool close;
};

/* Orders of one worker, first in, first out. */
struct cv_pending_orders {
    struct cv_pending_order *items; /* owned: from `first` to `count` */
    size_t first, count, room;
};

struct cv_order_queue {
    struct cv_source *source;   /* borrowed, like the three below */
    struct cv_journal *journal; /* NULL: none                                          */
    /* keys of items in the journal; NULL: no items or no journal */
    struct cv_item_keys *keys;
    struct cv_event_queue *events;
    bool gets_losses; /* the policy reorders lost chunks itself */
    bool open;        /* between cv_order_queue_open and _close */

    struct cv_pending_orders *wants; /* owned: per worker */
    uint64_t *wanting; /* owned: one bit per worker, set if it has pending orders */
    uint32_t nworkers;
    uint64_t numbered; /* chunk numbers given so far */
    size_t pending;    /* pending orders */
    size_t growing;    /* chunks with an outstanding extension */
    double wanted;     /* bytes reserved by both */
    double request;    /* bytes of all orders so far, as ordered */
    double owed;       /* bytes to order when the queue was opened; INFINITY: a stream */
    bool all_asked;    /* at some time nothing was left to order */
    uint32_t running;  /* chunks that are running or queued for a retry */

    uint64_t chunks, retries, failed, resumed, lost, later, parted, backups;
    uint64_t later_in_a_row; /* of `later`, since the last success */
    uint64_t unread;         /* part of `failed`: the command read nothing */
    uint64_t given_back;     /* part of `lost`: by hosts that left in order */
    uint64_t unfit;          /* part of `failed`: no host could run the command */
    double largest;          /* size of the largest chunk that was done */
    uint32_t fits;     /* chunks of about `max` that were done since the limit was set */
    uint32_t patience; /* successes before the size limit is doubled */
    double max;        /* size limit of chunks in bytes; 0: none */
    double done;       /* bytes                                                        */
    double done_units; /* ... and units: their weight, if records are weighed */
    double resumed_units;              /* bytes that an earlier run did */
    struct cv_input_coverage coverage; /* covers the whole run */
    uint32_t bad_ends; /* persistent commands that did not end with status 0 */
};

/* Counts survive a close, orders do not. */
enum cleave_status cv_order_queue_open(struct cv_order_queue *queue, uint32_t nworkers,
                                       struct cleave_error *err);
void cv_order_queue_close(struct cv_order_queue *queue);

/* Bytes that no order has reserved. */
double cv_order_queue_unordered_bytes(const struct cv_order_queue *queue);

/* Order about `units` bytes; 0: only an open chunk may be empty. For CV_ORDER_ITEM `units` is 1. */
enum cleave_status cv_order_queue_order(struct cv_order_queue *queue, uint32_t worker,
                                        enum cv_order_kind kind, double units,
                                        uint64_t item, struct cleave_error *err);
/* Reserve about `units` bytes for an extension. Returns the number of bytes, which
 * stay reserved until cv_order_queue_release. */
double cv_order_queue_reserve(struct cv_order_queue *queue, double units);
void cv_order_queue_release(struct cv_order_queue *queue, double units);
/* The pending order of an open chunk of the worker, or NULL. */
struct cv_pending_order *cv_order_queue_open_order(struct cv_order_queue *queue,
                                                   uint32_t worker);
/* Pieces differ from orders, because records are not divisible and lost
 * chunks are done by others. Returns whether a policy that has ordered everything left
 * a remainder. */
bool cv_order_queue_has_remainder(const struct cv_order_queue *queue);
/* Order such a remainder. */
enum cleave_status cv_order_queue_add_remainder(struct cv_order_queue *queue,
                                                uint32_t worker, double units,
                                                struct cleave_error *err);
/* The next order of a worker, or NULL; take removes it. */
const struct cv_pending_order *cv_order_queue_next(const struct cv_order_queue *queue,
                                                   uint32_t worker);
struct cv_pending_order cv_order_queue_take(struct cv_order_queue *queue,
                                            uint32_t worker);
/* An order that was taken cannot begin now: make it the next one again and put its
 * piece back. */
enum cleave_status cv_order_queue_defer(struct cv_order_queue *queue, uint32_t worker,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* The first worker from `from` that has an order, or nworkers. Fast, because it is
 * called for every event and there may be a thousand workers. */
uint32_t cv_order_queue_next_worker(const struct cv_order_queue *queue, uint32_t from);

/* A command was killed for lack of memory on `units` bytes: limit pieces to half of
 * that, or to the largest size that succeeded. */
void cv_order_queue_lower_size_limit(struct cv_order_queue *queue, double units);
/* A chunk of `units` bytes succeeded. If chunks may fail (`may_fail`), the limit is
 * doubled after enough successes; the number of successes is doubled each time the
 * limit is lowered again. */
void cv_order_queue_raise_size_limit(struct cv_order_queue *queue, double units,
                                     bool may_fail);
/* Bytes for the piece of an order. */
double cv_order_queue_size(const struct cv_order_queue *queue,
                           const struct cv_pending_order *pending);

/* How many of `units` bytes may be added to a piece of `bytes`. */
double cv_order_queue_fit_size(const struct cv_order_queue *queue, uint64_t bytes,
                               double units);

/* Report a chunk as done that has no bytes, because others had the records. */
void cv_order_queue_complete_empty(struct cv_order_queue *queue, uint32_t worker,
                                   uint64_t chunk, enum cv_reported reported);
/* Cancel all orders of an absent worker, and report them as lost. */
void cv_order_queue_cancel_worker(struct cv_order_queue *queue, uint32_t worker);

/* A chunk was done or given up. */
void cv_order_queue_complete(struct cv_order_queue *queue, const struct cv_piece *piece);
/* At the end of a successful run: fails if an order was neither begun nor cancelled. */
enum cleave_status cv_order_queue_check(const struct cv_order_queue *queue,
                                        struct cleave_error *err);
/* The chunk was lost. Its piece returns to the source, and the loss is reported to the policy.
 * If the policy does not get losses, the chunk is ordered again, before all others. */
enum cleave_status cv_order_queue_requeue(struct cv_order_queue *queue,
                                          const struct cv_chunk *chunk,
                                          const struct cv_piece *piece,
                                          struct cleave_error *err);

#endif
