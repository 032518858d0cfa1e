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

/* All zero: nothing waits. */
struct cv_slow_stream {
    double since_s; /* something waits for more since then; 0: nothing does */
    struct cv_timer timer;
    double
        look_s; /* when open chunks are to be looked at again; 0: not                  */
    struct cv_timer looks;
    double bytes,
        work_s; /* what commands had in hand, and how long they took for it      */
};

/* What the command of an open chunk has read, and may still work on. All zero: nothing yet. */
struct cv_unread_input {
    double bytes;
    double since_s; /* it has read all it was given since then; 0: not yet    */
    double given;   /* what it was given since                                */
    double given_s;
};

/* What there is for a command that could begin while more is supply. */
struct cv_incoming {
    uint64_t ready;   /* bytes that are there                                 */
    uint64_t wanted;  /* ... and that the policy wants for it                 */
    double start_s;   /* what a start takes; 0: not known                     */
    double speed_ups; /* bytes that a command does in a second; 0: not known  */
    uint32_t workers;
    bool idle; /* nobody is at work                                           */
};

/* Whether it may begin. If not, the poller will wake up when it may. */
enum cleave_status cv_slow_stream_look(struct cv_slow_stream *slow,
                                       struct cv_poller *poller,
                                       const struct cv_incoming *input, bool *out,
                                       struct cleave_error *err);
/* How much of what is ready it may have: no more than its part, but as much as makes up for its start, and what is
 * done at once is not divided. */
uint64_t cv_slow_stream_part(const struct cv_incoming *input);
/* Let the poller wake up at that time, or before. */
enum cleave_status cv_slow_stream_wake(struct cv_slow_stream *slow,
                                       struct cv_poller *poller, double time_s,
                                       struct cleave_error *err);

/* It is given so many bytes; it has read them all; it has ended, after it had read its end at read_s. */
void cv_unread_input_give(struct cv_unread_input *unread, uint64_t bytes, double now_s);
void cv_unread_input_read(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                          double now_s);
void cv_unread_input_end(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                         double read_s, double now_s);
/* For how long it is likely to work on what it has read; 0: it is idle, or nothing is known. */
double cv_unread_input_rest(const struct cv_unread_input *unread,
                            const struct cv_slow_stream *slow, double now_s);

#endif
