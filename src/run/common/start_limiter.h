/* start_limiter.h -- when this machine may begin another command. SPDX-License-Identifier: MIT
 *
 * So long after the last one, while it is not too busy and has memory left. Whoever finds
 * it closed is woken when it is worth another look.
 *
 * What is under way makes room for other processes and open files when it ends. So whatever could
 * not be started for want of them (CLEAVE_ERESOURCES) is started a little later, be it a command on a
 * piece, one that stays or one that folds: nothing of it has been done, and that is no failure. */
#ifndef CV_START_LIMITER_H
#define CV_START_LIMITER_H
#include <stdint.h>
#include "run/common/poller.h"

/* What is under way on this machine, whose end makes room; what waits for somebody else, and so
 * does not end by itself; and of how many. */
struct cv_start_usage {
    uint32_t busy, held, workers;
};

/* All zero: it is always open. */
struct cv_start_limiter {
    double delay_s;      /* between two commands                                     */
    double max_load;     /* processes that run or want to, on average; 0: any number */
    uint64_t min_memory; /* bytes that nobody uses; 0: none need be                   */
    uint64_t most_files; /* descriptors of this process; 0: any number               */
    double next_s;       /* not before then                                          */
    double room_s;       /* nor before then: there was no room for another one       */
    double crowded_s;    /* since when there is none; 0: there was for the last one  */
    double closed_s;     /* since when load or memory forbid it; 0: they do not       */
    bool told;           /* why commands wait                                        */
    struct cv_timer timer;
    /* Who asks may be told; NULL: nothing is under way, nobody wants to know. */
    struct cv_start_usage (*look)(void *context);
    void (*tell)(void *context, const char *why);
    /* It is worth another look; NULL: whoever let the poller wait knows. */
    void (*opens)(void *context);
    void *context;
};

/* Whether a command may begin now; with `starts`, it takes a process that is not there yet. If
 * not, the poller will wake up. */
enum cleave_status cv_start_limiter_look(struct cv_start_limiter *limiter,
                                         struct cv_poller *poller, bool starts, bool *out,
                                         struct cleave_error *err);
/* One has begun. */
void cv_start_limiter_passed(struct cv_start_limiter *limiter);

/* Whether there are descriptors for another command, beside those that others need to go on
 * with: CLEAVE_ERESOURCES if not. */
enum cleave_status cv_start_limiter_room(const struct cv_start_limiter *limiter,
                                         struct cleave_error *err);
/* One could not begin, as `why` says, and is to be tried again: not at once. While others are
 * under way their end is waited for, else it is worth a few seconds. false: there has been no room
 * for longer, or that is not why. */
bool cv_start_limiter_wait(struct cv_start_limiter *limiter, struct cv_poller *poller,
                           const struct cleave_error *why);
/* Whether that was a moment ago, and nothing has ended since; and whether it has been so for many
 * moments. */
bool cv_start_limiter_is_crowded(const struct cv_start_limiter *limiter);
bool cv_start_limiter_is_stuck(const struct cv_start_limiter *limiter);
/* There was room for one; something has ended. */
void cv_start_limiter_begun(struct cv_start_limiter *limiter);
void cv_start_limiter_ended(struct cv_start_limiter *limiter);

/* What most_files is by the limits of this process. */
uint64_t cv_start_limiter_files(void);

#endif
