/* trickle.c -- how long a new command waits for more of a stream. SPDX-License-Identifier: MIT */
#include "run/kit/trickle.h"

/* Of all workers together: with many of them there are cores to start commands on. */
static const double LONGEST_S = 0.01;
enum { MUCH = 16 << 20 };

/* Only to wake up: whoever waits looks by himself. */
static void woken(void *context)
{
    (void)context;
}

enum cleave_status cv_trickle_look(struct cv_trickle *trickle, struct cv_poller *poller,
                                   uint64_t ready, uint64_t wanted, uint32_t workers,
                                   bool *out, struct cleave_error *err)
{
    const double now_s = cv_clock_s();

    *out = ready >= wanted || ready >= MUCH / workers ||
           (trickle->until_s > 0 && now_s >= trickle->until_s);
    if (*out) {
        trickle->until_s = 0;
        return CLEAVE_OK;
    }
    if (trickle->until_s > 0 || ready == 0)
        return CLEAVE_OK;
    trickle->until_s = now_s + LONGEST_S / workers;
    return cv_poller_set(poller, &trickle->timer, trickle->until_s, woken, trickle, err);
}
