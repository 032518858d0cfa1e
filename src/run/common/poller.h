/* poller.h -- wait for descriptors, timers and signals. SPDX-License-Identifier: MIT
 *
 * Watches and timers live in what uses them, so nothing is allocated per event. Callbacks
 * run inside cv_poller_wait and may add, change and remove any watch or timer, their own
 * as well, and free what holds it once it is removed. While a poller is open, SIGPIPE is
 * blocked in its thread: a broken pipe is an error of the call that met it. */
#ifndef CV_POLLER_H
#define CV_POLLER_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

/* A hang-up or an error counts as both; CV_OVER besides: there is nothing to read, and nothing
 * will be. */
enum { CV_READABLE = 1, CV_WRITABLE = 2, CV_OVER = 4 };

/* The fields are for the functions of this header; zero before the first use. */
struct cv_watch {
    int fd;
    unsigned events;
    void (*call)(void *context, unsigned events);
    void *context; /* borrowed */
    bool added;
    struct cv_watch *next, *previous; /* among those that are always ready */
    bool always;
};

struct cv_timer {
    double due_s;
    void (*call)(void *context);
    void *context; /* borrowed                       */
    size_t place;  /* in the heap, from 1; 0: not set */
};

struct cv_poller;
struct cv_guard;
struct cv_starter;

/* Seconds of a clock that only goes forward; its zero means nothing. */
double cv_clock_s(void);
/* Processor time that this thread has taken, in seconds. */
double cv_cpu_clock_s(void);

enum cleave_status cv_poller_new(struct cv_poller **out, struct cleave_error *err);
/* Puts the signal mask back. Watches that were left are forgotten, not closed. */
void cv_poller_free(struct cv_poller *poller);

/* Call `call` whenever `fd` is ready for one of `events` (0: only for a hang-up). What
 * cannot be waited for, as regular files, is always ready. The fields of `watch` are set
 * by the call. A descriptor must be removed before it is closed. */
enum cleave_status cv_poller_add(struct cv_poller *poller, struct cv_watch *watch, int fd,
                                 unsigned events,
                                 void (*call)(void *context, unsigned events),
                                 void *context, struct cleave_error *err);
enum cleave_status cv_poller_modify(struct cv_poller *poller, struct cv_watch *watch,
                                    unsigned events, struct cleave_error *err);
/* Does nothing if it is not there. No event that is under way reaches it any more. */
void cv_poller_remove(struct cv_poller *poller, struct cv_watch *watch);

/* Call `call` once at `due_s` of the clock above, or soon after. Setting a timer that is
 * set moves it. */
enum cleave_status cv_poller_set(struct cv_poller *poller, struct cv_timer *timer,
                                 double due_s, void (*call)(void *context), void *context,
                                 struct cleave_error *err);
void cv_poller_cancel(struct cv_poller *poller, struct cv_timer *timer);

/* Block these signals and call `call` with the number of each that arrives. Once per
 * poller. */
enum cleave_status cv_poller_signals(struct cv_poller *poller, const int *signals,
                                     size_t count,
                                     void (*call)(void *context, int signal),
                                     void *context, struct cleave_error *err);
/* They stay blocked when the poller is gone: whoever was stopped by one has things to put away,
 * and those who send it to all processes of a job send it more than once. */
void cv_poller_hold_signals(struct cv_poller *poller);
/* Have a guard for the commands that belong to what goes on here; once. It begins when
 * that has gone on for a moment, so that what is short costs nothing more; `failed` is
 * called with what that means if it cannot. */
enum cleave_status cv_poller_set_guard(struct cv_poller *poller,
                                       void (*failed)(void *context,
                                                      const struct cleave_error *err),
                                       void *context, struct cleave_error *err);
/* Instead of that: one that has begun, and outlives the poller. */
void cv_poller_lend_guard(struct cv_poller *poller, struct cv_guard *guard);
/* NULL: there is none. */
struct cv_guard *cv_poller_guard(const struct cv_poller *poller);
/* What commands that belong to what goes on here are started with; NULL: the usual way. */
struct cv_starter *cv_poller_starter(struct cv_poller *poller);
/* A descriptor from which nothing can be read, for all commands that have no input: borrowed. */
enum cleave_status cv_poller_null(struct cv_poller *poller, int *out,
                                  struct cleave_error *err);
/* The mask before the poller was made: what a command should start with. Borrowed. */
const sigset_t *cv_poller_old_mask(const struct cv_poller *poller);

/* Wait until something is ready, a timer is due or `timeout_s` has passed (negative: no
 * limit), and make the calls. Returns at once when there is neither watch nor timer and
 * no limit. */
enum cleave_status cv_poller_wait(struct cv_poller *poller, double timeout_s,
                                  struct cleave_error *err);

#endif
