/* process.h -- start commands, hear of their end, stop them with all they started.
 * SPDX-License-Identifier: MIT
 *
 * A process leads a process group of its own, so that what it started can be stopped with
 * it. Its end shows as `pidfd` being readable. From then on until it is reaped its number
 * cannot belong to anybody else, so the order is: see the end, read its output to the end,
 * signal the group if it is to be stopped, reap. */
#ifndef CV_PROCESS_H
#define CV_PROCESS_H
#include <cleave/error.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "run/common/command.h"
#include "run/spawn/starter.h"

struct cv_process_end {
    pthread_t thread;
    bool threaded;
};

struct cv_guard;

/* A guard that has not begun: groups can be added already. */
enum cleave_status cv_guard_new(struct cv_guard **out, struct cleave_error *err);
/* Fork it; once. */
enum cleave_status cv_guard_begin(struct cv_guard *guard, struct cleave_error *err);
/* The guard goes; groups that it has are left alone. May be NULL. */
void cv_guard_free(struct cv_guard *guard);

/* End this group if this process is killed. Returns its place; 0: there is none, because
 * `guard` is NULL or has too many. */
size_t cv_guard_add(struct cv_guard *guard, pid_t group);
void cv_guard_remove(struct cv_guard *guard, size_t place);

/* --- pipes -------------------------------------------------------------------------------- */

/* Both ends are closed on exec; -1: closed. */
struct cv_pipe {
    int read, write;
};

enum { CV_PIPE_WIDE = 1 << 20 }; /* the most that everybody may have */

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err);
/* Close what is open of it. */
void cv_pipe_close(struct cv_pipe *pipe);
/* Close *fd if it is not -1 and make it -1. */
void cv_close(int *fd);
/* Ask for room for `bytes` in the pipe that `fd` is an end of. Not an error if refused. */
void cv_pipe_widen(int fd, size_t bytes);
/* Let nobody who uses `fd`, or what it was copied from, wait (O_NONBLOCK). False with errno: it cannot be told. */
bool cv_never_wait(int fd);

/* --- processes ---------------------------------------------------------------------------- */

/* What a process gets: borrowed descriptors, of which it has copies. -1 means /dev/null
 * for `in` and `out`, the stderr of this process for `errors`, none for `extra`. */
struct cv_process_files {
    int in, out, errors;
    int extra;              /* becomes descriptor 3                                   */
    struct cv_guard *guard; /* borrowed until it is reaped: ends it with us; or NULL  */
    struct cv_starter *starter; /* borrowed likewise: do not wait until it has begun;
                                   or NULL                                           */
    struct cv_start
        *ahead; /* a child of it that was taken, with its own in and out; or NULL */
    bool late;  /* its end is not listened for before cv_process_listen               */
};

struct cv_process {
    pid_t pid; /* also of the group; 0 when there is no process                 */
    int pidfd; /* owned; readable once the process has ended; -1: none          */
    struct cv_process_end end;
    struct cv_guard *guard; /* borrowed                                          */
    size_t guarded;         /* its place there                                   */
    struct cv_start *start; /* borrowed: how it was started; NULL: it has begun  */
    /* After cv_process_reap: */
    int exit_code;       /* of a process that exited, else -1                    */
    int signal;          /* that ended it, else 0                                */
    int start_error;     /* errno: the command could not be started; else 0      */
    bool ended, failed;  /* what cv_process_is_over has seen                      */
    struct rusage usage; /* of the process and the children that it waited for   */
};

/* Start the command with signal mask `mask` (NULL: empty) and SIGPIPE and SIGXFSZ at
 * their defaults, and those that a terminal stops others by ignored. With a starter, that it could not be started may only be known when it
 * is reaped. */
enum cleave_status cv_process_start(struct cv_process *process,
                                    const struct cv_command *command,
                                    const struct cv_process_files *files,
                                    const sigset_t *mask, struct cleave_error *err);
/* Open pidfd, of one that was started without. */
enum cleave_status cv_process_listen(struct cv_process *process,
                                     struct cleave_error *err);
/* Whether it has ended; it stays to be reaped. */
bool cv_process_is_over(struct cv_process *process);
/* Send a signal to the whole group; nothing happens if there is no process. A stopped
 * group is woken for SIGTERM, so that it can end. */
void cv_process_signal(const struct cv_process *process, int signal);
/* Whether it has ended, and not with status 0; it stays to be reaped. */
bool cv_process_failed(struct cv_process *process);
/* Take its result if it has ended, and close pidfd, which must not be watched any more.
 * False: still running, nothing has changed. */
bool cv_process_reap(struct cv_process *process);
/* Fill err with what is said about a command that could not be started: CLEAVE_EINPUT. */
enum cleave_status cv_process_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err);
/* Kill the group if there is still a process, wait for its end and reap it. */
void cv_process_kill(struct cv_process *process);

#endif
