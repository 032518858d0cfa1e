/* retry_queue.h -- pieces that are to be done again, before all that is new.
 * SPDX-License-Identifier: MIT
 *
 * They are taken from the source and under way, as far as others know, but nobody does
 * them at the moment. */
#ifndef CV_RETRY_QUEUE_H
#define CV_RETRY_QUEUE_H
#include "run/failures/failure_history.h"
#include "run/input/source.h"

struct cv_retry {
    struct cv_piece piece;
    struct cv_failure_history past;
    uint64_t chunk;
    uint32_t owner;
    uint32_t attempt; /* the next one, from 1                                          */
    double began_s;   /* its first attempt                                             */
    bool told, quiet;
    bool hurried; /* by whoever is free, be it the one that it failed with           */
    bool alone;   /* only when nobody does anything else                             */
};

/* All zero: none. */
struct cv_retry_queue {
    struct cv_retry *items; /* owned: the first is the next                            */
    size_t count, room;
};

void cv_retry_queue_done(struct cv_retry_queue *agains);
/* Before all others, or behind them. */
enum cleave_status cv_retry_queue_push(struct cv_retry_queue *agains,
                                       const struct cv_retry *again, bool first,
                                       struct cleave_error *err);
struct cv_retry cv_retry_queue_take(struct cv_retry_queue *agains, size_t index);
/* Whether one of them failed with this party. */
bool cv_retry_queue_has_failure_of(const struct cv_retry_queue *agains, uint32_t domain);

/* What is known of a party that could do it. */
enum cv_availability {
    CV_CAN_NOT,   /* it is not there                                                */
    CV_CAN_LATER, /* it is there, but busy                                          */
    CV_CAN_NOW,
};
struct cv_candidate {
    uint32_t domain;
    enum cv_availability can;
    bool proven;  /* it has succeeded before                                           */
    bool suspect; /* it waits for others to try what it failed with itself             */
};

/* Who is to do it: the index of a candidate, or SIZE_MAX for nobody as yet. First one that
 * it has not failed with and that is no suspect, then any that it has not failed with, then
 * any but the last one, then that. Whoever is better and only busy is waited for, unless it
 * is hurried. */
size_t cv_retry_queue_pick_worker(const struct cv_retry *again,
                                  const struct cv_candidate *among, size_t count);

#endif
