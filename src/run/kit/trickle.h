/* trickle.h -- how long a new command waits for more of a stream. SPDX-License-Identifier: MIT
 *
 * What has come of a stream could be given to the next command at once; if more comes all the time, commands get
 * little each, and to start them takes processors from who decodes the stream or sends it. So a
 * command is not started for little while more comes: it waits for a few milliseconds at most, all workers
 * together. Nobody waits if nothing else is at work, or for what a command that runs can have. */
#ifndef CV_TRICKLE_H
#define CV_TRICKLE_H
#include <stdint.h>
#include "run/kit/poller.h"

/* All zero: nothing waits. */
struct cv_trickle {
    double until_s; /* 0: nothing waits */
    struct cv_timer timer;
};

/* Whether a command may begin with `ready` bytes, of those that the policy wants for it, while others of so many workers
 * are at work and more is coming. If not, the poller will wake up. */
enum cleave_status cv_trickle_look(struct cv_trickle *trickle, struct cv_poller *poller,
                                   uint64_t ready, uint64_t wanted, uint32_t workers,
                                   bool *out, struct cleave_error *err);

#endif
