/* start_limiter.h -- when the next command may start: limits of the machine, slow streams.
 * SPDX-License-Identifier: MIT */
#ifndef CV_START_LIMITER_H
#define CV_START_LIMITER_H
#include <stdint.h>
#include "run/common/poller.h"

/* Commands of this machine that run, and that wait for another machine. */
struct cv_start_usage {
    uint32_t busy, held;
};

/* A minimum delay between starts, a maximum load, a minimum of free memory, and a pause after a
 * start that failed because of a limit of the system (CLEAVE_ERESOURCES: processes or open
 * files). Such a start is repeated later and does not count as a failure. All zero: no limit. */
struct cv_start_limiter {
    double delay_s;      /* between two starts */
    double max_load;     /* load average of the machine; 0: any */
    uint64_t min_memory; /* free bytes; 0: any */
    uint64_t most_files; /* descriptors of this process; 0: any */
    uint32_t workers;    /* commands that may run at a time */
    double next_s;       /* no start before this time */
    double room_s;       /* no new process before this time: the last one failed */
    double crowded_s;    /* starts fail since this time; 0: the last one did not */
    double closed_s;     /* load or memory prevent starts since this time; 0: neither */
    bool told;           /* `tell` was called */
    struct cv_timer timer;
    struct cv_start_usage (*look)(void *context);
    void (*tell)(void *context, const char *why); /* why commands wait; may be NULL */
    void (*opens)(void *context);                 /* try again; may be NULL */
    void *context;
};

/* Whether a command may start now; `starts`: it needs a new process. If not, the poller wakes up
 * for the next try. */
bool cv_start_limiter_look(struct cv_start_limiter *limiter, struct cv_poller *poller,
                           bool starts);
/* A command was started. */
void cv_start_limiter_passed(struct cv_start_limiter *limiter);

/* Whether there are enough descriptors for one more command; CLEAVE_ERESOURCES: no. */
enum cleave_status cv_start_limiter_room(const struct cv_start_limiter *limiter,
                                         struct cleave_error *err);
/* A start failed because of `why`. True: try again after a pause. False: no other command has run
 * for a few seconds, or `why` is not CLEAVE_ERESOURCES. */
bool cv_start_limiter_wait(struct cv_start_limiter *limiter, struct cv_poller *poller,
                           const struct cleave_error *why);
/* The pause after a failed start lasts. */
bool cv_start_limiter_is_crowded(const struct cv_start_limiter *limiter);
/* Starts have failed for many pauses, or for one if no command runs. */
bool cv_start_limiter_is_stuck(const struct cv_start_limiter *limiter);
/* A process was started; a command has ended. */
void cv_start_limiter_begun(struct cv_start_limiter *limiter);
void cv_start_limiter_ended(struct cv_start_limiter *limiter);
/* Whether twice the descriptors are available that the commands of this many workers
 * need. */
bool cv_start_limiter_has_spare_files(const struct cv_start_limiter *limiter,
                                      uint32_t workers);
/* The soft limit of this process for descriptors, for `most_files`; 0: none. */
uint64_t cv_start_limiter_files(void);

/* An input that arrives slowly. A start waits a few milliseconds for more bytes, or a tenth of a
 * second if the available bytes are less work than a start: starts take time from the program
 * that sends or decodes the input.
 *
 * A command gets its share of the available bytes, because records may take long. A command that
 * still works reads its next bytes late: from such delays, and from the time between the end of
 * the input and the exit, follows how long a command remains busy. All zero: nothing waits. */
struct cv_slow_stream {
    double since_s; /* a start waits for more bytes since this time; 0: none waits */
    struct cv_timer timer;
    double look_s; /* when open chunks are examined again; 0: not */
    struct cv_timer looks;
    double bytes, work_s; /* bytes that commands processed, and the time it took */
};

/* Bytes that the command of an open chunk has read and may be working on. */
struct cv_unread_input {
    double bytes;
    double since_s; /* the command has read everything since this time; 0: not yet */
    double given;   /* bytes that it was given since */
    double given_s;
};

/* Input that is available for a command that could start. */
struct cv_incoming {
    uint64_t ready;   /* bytes that have arrived */
    uint64_t wanted;  /* bytes of the order of the policy */
    double start_s;   /* duration of a start; 0: unknown */
    double speed_ups; /* bytes per second of a command; 0: unknown */
    uint32_t workers;
    bool idle; /* no command runs */
};

/* Whether a command may start. If not, the poller wakes up for the next try. */
bool cv_slow_stream_look(struct cv_slow_stream *slow, struct cv_poller *poller,
                         const struct cv_incoming *input);
/* How many of the available bytes the command gets: its share, but at least the work of a start
 * and of 20 ms. */
uint64_t cv_slow_stream_part(const struct cv_incoming *input);
/* Let the poller wake up at `time_s` at the latest. */
void cv_slow_stream_wake(struct cv_slow_stream *slow, struct cv_poller *poller,
                         double time_s);

/* The command was given bytes; has read all; has ended, and had read the end of its input at
 * read_s (0: it had not). */
void cv_unread_input_give(struct cv_unread_input *unread, uint64_t bytes, double now_s);
void cv_unread_input_read(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                          double now_s);
void cv_unread_input_end(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                         double read_s, double now_s);
/* The expected rest of the work on bytes that were read, in seconds; 0: none, or unknown. */
double cv_unread_input_rest(const struct cv_unread_input *unread,
                            const struct cv_slow_stream *slow, double now_s);

#endif
