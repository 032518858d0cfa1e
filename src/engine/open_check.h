/* open_check.h -- which workers have an open chunk, and what it waits for.
 * SPDX-License-Identifier: MIT
 *
 * The driver's book about chunks that may be extended. It refuses to open a second chunk
 * for a worker that has one, and to extend or close what is not open. */
#ifndef CV_OPEN_CHECK_H
#define CV_OPEN_CHECK_H
#include <cleave/policy.h>
#include "base/arena.h"

struct cv_open_chunk {
    bool there; /* the worker has a chunk that was opened and has not ended          */
    bool open;  /* ... and not been closed                                           */
    double due; /* units that it was to be extended by, and nobody has said if it was */
    uint64_t sent; /* other chunks that it was sent and that have not ended           */
};

struct cv_open_check {
    struct cv_open_chunk *workers; /* in an arena                                     */
    uint32_t nworkers;
};

/* False when memory is short. */
bool cv_open_check_init(struct cv_open_check *check, struct cv_arena *arena,
                        uint32_t nworkers);
/* An order to send, open, extend, close or look: NULL if it may be carried out, which is noted;
 * else what is wrong with it (static). */
const char *cv_open_check_order(struct cv_open_check *check,
                                const struct cleave_order *order);
/* Any event. Returns the units that an order to extend asked for and did not get: they are
 * left again. */
double cv_open_check_note(struct cv_open_check *check, const struct cleave_event *event);
/* A worker whose chunk was never closed, or nworkers. */
uint32_t cv_open_check_left(const struct cv_open_check *check);

#endif
