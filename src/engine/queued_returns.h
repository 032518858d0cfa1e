/* queued_returns.h -- results that wait for their turn. SPDX-License-Identifier: MIT
 *
 * On a master that handles one message at a time nothing ever waits for a result, but chunks
 * that come late make workers idle: sends may overtake returns that wait without making any
 * schedule longer (docs/theory/rounds.md). For policies that leave it open when results come
 * back, the driver keeps the orders to return them here, and gives the engine one at a time,
 * when no send waits or is under way.
 *
 * The other use of it is the scheme that was published for plans of several rounds: what a
 * worker has computed comes back right before its next chunk is sent. The next chunk is not
 * held up for what is still computed. */
#ifndef CV_QUEUED_RETURNS_H
#define CV_QUEUED_RETURNS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/policy.h>

struct cv_queued_returns {
    bool on;                    /* results are held in this run                  */
    bool before;                /* they go right before the next chunk; until all are
                                   sent, only then                               */
    bool under_way;             /* a return is                                   */
    uint64_t sends;             /* ordered and not there yet                     */
    struct cleave_order *items; /* owned: from `first` on, in the order asked for */
    size_t first, count, room;
};

/* A run begins. */
void cv_queued_returns_clear(struct cv_queued_returns *held, bool on, bool before);
void cv_queued_returns_done(struct cv_queued_returns *held);
/* A return was asked for; false when memory is short. */
bool cv_queued_returns_add(struct cv_queued_returns *held,
                           const struct cleave_order *order);
/* Something happened. */
void cv_queued_returns_note(struct cv_queued_returns *held,
                            const struct cleave_event *event);
/* The return whose turn has come; false: none. `all_sent`: no chunk will be sent any more. */
bool cv_queued_returns_next(struct cv_queued_returns *held, bool all_sent,
                            struct cleave_order *out);
/* The first return of a worker, which is about to be sent a chunk; false: none. */
bool cv_queued_returns_take(struct cv_queued_returns *held, uint32_t worker,
                            struct cleave_order *out);

#endif
