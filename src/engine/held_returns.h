/* held_returns.h -- results that wait until no send does. SPDX-License-Identifier: MIT
 *
 * On a master that handles one message at a time nothing ever waits for a result, but chunks
 * that come late make workers idle: sends may overtake returns that wait without making any
 * schedule longer (docs/theory/rounds.md). For policies that leave it open when results come
 * back, the driver keeps the orders to return them here, and gives the engine one at a time,
 * when no send waits or is under way. */
#ifndef CV_HELD_RETURNS_H
#define CV_HELD_RETURNS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/policy.h>

struct cv_held_returns {
    bool on;                    /* sends overtake in this run                    */
    bool under_way;             /* a return is                                   */
    uint64_t sends;             /* ordered and not there yet                     */
    struct cleave_order *items; /* owned: from `first` on, in the order asked for */
    size_t first, count, room;
};

/* A run begins. */
void cv_held_returns_clear(struct cv_held_returns *held, bool on);
void cv_held_returns_done(struct cv_held_returns *held);
/* A return was asked for; false when memory is short. */
bool cv_held_returns_add(struct cv_held_returns *held, const struct cleave_order *order);
/* Something happened. */
void cv_held_returns_note(struct cv_held_returns *held, const struct cleave_event *event);
/* The return whose turn has come; false: none. */
bool cv_held_returns_next(struct cv_held_returns *held, struct cleave_order *out);

#endif
