/* order_queue.h -- what is owed: orders that wait, chunks under way, and how many came to what.
 * SPDX-License-Identifier: MIT
 *
 * Every byte of the input is left in the source, wanted by an order, under way, or done
 * with. An order that comes to nothing gives back what it wanted, so that the policy hands
 * it out once more. The books know nothing of commands and machines. */
#ifndef CV_ORDER_QUEUE_H
#define CV_ORDER_QUEUE_H
#include "run/input/source.h"
#include "run/journal/journal.h"
#include "run/master/input_coverage.h"
#include "run/master/event_queue.h"

/* An order that has not been begun. */
struct cv_pending_order {
    uint64_t chunk;
    double units;
    bool told;  /* that it was sent: it was lost since */
    bool quiet; /* nobody ordered it, and so nobody is told                            */
    bool exact; /* it is for this item, and no other                                   */
    uint64_t item;
    bool open;  /* more may follow; `units` may be 0                                   */
    bool close; /* ... but for `more` units nothing will                               */
    double more;
};

/* Those of a worker, first come, first served. */
struct cv_pending_orders {
    struct cv_pending_order
        *items; /* owned: those from `first` on are to come                 */
    size_t first, count, room;
};

struct cv_order_queue {
    struct cv_source *source;   /* borrowed, as the three below                         */
    struct cv_journal *journal; /* NULL: none                                          */
    struct cv_item_keys *keys;  /* of items in it; NULL: it has none                    */
    struct cv_event_queue *events;
    bool gets_losses; /* the policy goes on by itself after a loss                    */
    bool gets_joins;  /* the policy is told of workers that are there (again)         */
    bool open;        /* chunks are handed out                                        */

    struct cv_pending_orders
        *wants;        /* owned: per worker                                       */
    uint64_t *wanting; /* owned: a bit for each worker, set if it has orders that wait */
    uint32_t nworkers;
    uint64_t numbered; /* chunks so far                                                */
    size_t pending;    /* orders that have not been begun                              */
    size_t growing;    /* chunks under way that are to be given more                   */
    double wanted;     /* units of both                                                */
    double request;    /* units of all orders there were, as they were asked for       */
    double owed;       /* units that there were to be ordered; INFINITY: a stream      */
    bool all_asked;    /* there was a moment when nothing was left to be ordered       */
    uint32_t running;  /* chunks under way                                             */

    uint64_t chunks, retries, failed, resumed, lost, parted;
    uint64_t unread; /* of `failed`: their commands are known to have read nothing     */
    double largest;  /* chunk that was done                                          */
    uint32_t fits;   /* chunks of nearly `most` that were done since it was found     */
    uint32_t patience; /* so many are to fit before a larger one is tried again        */
    double max;  /* bytes of a chunk from now on; 0: any number                     */
    double done; /* bytes                                                        */
    double resumed_units; /* bytes that an earlier run did                            */
    struct cv_input_coverage
        coverage;      /* which bytes, from the beginning to the end of the run  */
    uint32_t bad_ends; /* commands that stayed and did not end with status 0           */
};

/* Begin to hand out chunks; and end it: counts stay, orders do not. */
enum cleave_status cv_order_queue_open(struct cv_order_queue *queue, uint32_t nworkers,
                                       struct cleave_error *err);
void cv_order_queue_close(struct cv_order_queue *queue);

/* Bytes that nobody was asked to do. */
double cv_order_queue_unordered_bytes(const struct cv_order_queue *queue);

/* The worker is to do about so many bytes. */
enum cleave_status cv_order_queue_order(struct cv_order_queue *queue, uint32_t worker,
                                        double units, struct cleave_error *err);
/* The worker is to do this item. */
enum cleave_status cv_order_queue_order_item(struct cv_order_queue *queue,
                                             uint32_t worker, uint64_t item,
                                             struct cleave_error *err);
/* The same for a chunk to which more may be added; `units` may be 0. */
enum cleave_status cv_order_queue_order_open(struct cv_order_queue *queue,
                                             uint32_t worker, double units,
                                             struct cleave_error *err);
/* About so many bytes more are to be given to a chunk: returns how many, in whole bytes,
 * which are wanted until it is known what came of it. */
double cv_order_queue_reserve(struct cv_order_queue *queue, double units);
void cv_order_queue_release(struct cv_order_queue *queue, double units);
/* The order of an open chunk for a worker that has not been begun, or NULL. */
struct cv_pending_order *cv_order_queue_open_order(struct cv_order_queue *queue,
                                                   uint32_t worker);
/* Orders of the policy are for all there is, but pieces are not cut as it thought, since
 * records are not divisible and chunks were lost and done by others: what is left when
 * nothing is under way is up to us. */
bool cv_order_queue_has_remainder(const struct cv_order_queue *queue);
/* Order such a rest from a worker that is there. */
enum cleave_status cv_order_queue_add_remainder(struct cv_order_queue *queue,
                                                uint32_t worker, double units,
                                                struct cleave_error *err);
/* The next order of a worker, or NULL. Take it from the books: it is begun, or comes to
 * nothing. */
const struct cv_pending_order *cv_order_queue_next(const struct cv_order_queue *queue,
                                                   uint32_t worker);
struct cv_pending_order cv_order_queue_take(struct cv_order_queue *queue,
                                            uint32_t worker);
/* One that was taken cannot be begun now: it is the next one again, and the piece is left. */
enum cleave_status cv_order_queue_defer(struct cv_order_queue *queue, uint32_t worker,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* The first worker from `from` on that has an order, or nworkers: there are a thousand
 * workers, and this is asked for every event. */
uint32_t cv_order_queue_next_worker(const struct cv_order_queue *queue, uint32_t from);

/* A command was killed on so many bytes, for want of memory: from now on pieces have at most
 * half as many, or as many as have been done. */
void cv_order_queue_lower_size_limit(struct cv_order_queue *queue, double units);
/* So many were done. It may have been for another reason that more were not: where a chunk may fail,
 * as it is tried again, twice as many are tried after a while, and after twice as long a while each
 * time that they are too many again. */
void cv_order_queue_raise_size_limit(struct cv_order_queue *queue, double units,
                                     bool may_fail);
/* The bytes that the piece of an order is to have. */
double cv_order_queue_size(const struct cv_order_queue *queue,
                           const struct cv_pending_order *pending);

/* How many of `units` may be added to a piece that has so many bytes. */
double cv_order_queue_fit_size(const struct cv_order_queue *queue, uint64_t bytes,
                               double units);

/* Others had the records: nothing is left for this order, and it is done. */
void cv_order_queue_complete_empty(struct cv_order_queue *queue, uint32_t worker,
                                   const struct cv_pending_order *pending);
/* All orders of a worker that is not there come to nothing; the policy is told. */
void cv_order_queue_cancel_worker(struct cv_order_queue *queue, uint32_t worker);

/* The piece of an order is done, or was given up. */
void cv_order_queue_complete(struct cv_order_queue *queue, double units);
/* At the end of a run that succeeded: fails if what was ordered was neither begun nor
 * called off. */
enum cleave_status cv_order_queue_check(const struct cv_order_queue *queue,
                                        struct cleave_error *err);
/* What was made of it is lost. Its bytes are left again, and the policy is told; or it is
 * ordered once more, before all others, if the policy does not hear of it. */
enum cleave_status cv_order_queue_requeue(struct cv_order_queue *queue, uint32_t worker,
                                          const struct cv_pending_order *pending,
                                          const struct cv_piece *piece,
                                          struct cleave_error *err);

#endif
