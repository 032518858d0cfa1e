/* poller.h -- wait for descriptors, timers and signals. SPDX-License-Identifier: MIT
 *
 * Watches and timers are members of their users' structs, so events allocate nothing. Callbacks
 * run inside cv_poller_wait. They may add, change and remove any watch or timer, including their
 * own, and free the memory of a removed one. While a poller is open, SIGPIPE is blocked in its
 * thread: a broken pipe is an error of the call. */
#ifndef CV_POLLER_H
#define CV_POLLER_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

/* A hang-up or an error counts as readable and writable. CV_OVER, in addition: nothing is left to
 * read and all writers have closed. */
enum { CV_READABLE = 1, CV_WRITABLE = 2, CV_OVER = 4 };

/* The members are for the functions of this header; zero before the first use. */
struct cv_watch {
    int fd;
    unsigned events;
    void (*call)(void *context, unsigned events);
    void *context;      /* borrowed */
    bool added, always; /* always: epoll cannot watch it, it is always ready */
};

/* A node of a pairing heap: the timers below `child` are due later. */
struct cv_timer {
    double due_s;
    void (*call)(void *context);
    void *context; /* borrowed */
    bool is_set;
    struct cv_timer *child, *next, **link; /* link: the pointer to this timer */
};

struct cv_poller;
struct cv_guard;
struct cv_starter;

/* Seconds of a monotonic clock. */
double cv_clock_s(void);
/* Processor time of this thread in seconds. */
double cv_cpu_clock_s(void);

enum cleave_status cv_poller_new(struct cv_poller **out, struct cleave_error *err);
/* Restores the signal mask. Remaining watches are dropped; their descriptors stay open. */
void cv_poller_free(struct cv_poller *poller);

/* Call `call` whenever `fd` is ready for one of `events` (0: only for a hang-up). A regular file
 * is always ready. Remove the watch before the descriptor is closed. */
enum cleave_status cv_poller_add(struct cv_poller *poller, struct cv_watch *watch, int fd,
                                 unsigned events,
                                 void (*call)(void *context, unsigned events),
                                 void *context, struct cleave_error *err);
enum cleave_status cv_poller_modify(struct cv_poller *poller, struct cv_watch *watch,
                                    unsigned events, struct cleave_error *err);
/* Watch a descriptor for reading that alone is not a reason to wait. It is never
 * removed. */
enum cleave_status cv_poller_add_aside(struct cv_poller *poller, struct cv_watch *watch,
                                       int fd,
                                       void (*call)(void *context, unsigned events),
                                       void *context, struct cleave_error *err);
/* Pending events are dropped. Does nothing if the watch is not added. */
void cv_poller_remove(struct cv_poller *poller, struct cv_watch *watch);

/* Call `call` once at `due_s` of cv_clock_s, or soon after. A timer that is set is moved. */
void cv_poller_set(struct cv_poller *poller, struct cv_timer *timer, double due_s,
                   void (*call)(void *context), void *context);
void cv_poller_cancel(struct cv_poller *poller, struct cv_timer *timer);

/* Block these signals and call `call` for each that arrives. Once per poller. */
enum cleave_status cv_poller_signals(struct cv_poller *poller, const int *signals,
                                     size_t count,
                                     void (*call)(void *context, int signal),
                                     void *context, struct cleave_error *err);
/* Let the signals stay blocked after cv_poller_free: the program has to clean up, and batch
 * systems send a signal more than once. */
void cv_poller_hold_signals(struct cv_poller *poller);
/* Have a guard for the commands of this poller; once. It is forked after a moment, so that short
 * runs do not pay for it; `failed` is called if that fails. */
enum cleave_status cv_poller_set_guard(struct cv_poller *poller,
                                       void (*failed)(void *context,
                                                      const struct cleave_error *err),
                                       void *context, struct cleave_error *err);
/* Use a guard that is forked already and outlives the poller. */
void cv_poller_lend_guard(struct cv_poller *poller, struct cv_guard *guard);
/* May be NULL. */
struct cv_guard *cv_poller_guard(const struct cv_poller *poller);
/* The starter for commands of this poller; NULL: not available. */
struct cv_starter *cv_poller_starter(struct cv_poller *poller);
/* /dev/null as the input of commands without input. Borrowed. */
enum cleave_status cv_poller_null(struct cv_poller *poller, int *out,
                                  struct cleave_error *err);
/* The signal mask before cv_poller_new, for commands. Borrowed. */
const sigset_t *cv_poller_old_mask(const struct cv_poller *poller);

/* Wait for an event, a timer or `timeout_s` (negative: no limit), and call the callbacks. Returns
 * at once if there is no watch, no timer and no limit. */
enum cleave_status cv_poller_wait(struct cv_poller *poller, double timeout_s,
                                  struct cleave_error *err);

#endif
