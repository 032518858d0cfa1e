/* process.h -- pipes, processes, and a guard that ends them. SPDX-License-Identifier: MIT
 *
 * A process leads its own process group, so that its children can be stopped with it. `pidfd`
 * becomes readable when the process ends. Its number is not reused before it is reaped, so the
 * order is: notice the end, read the output to its end, signal the group if it is to be stopped,
 * reap. */
#ifndef CV_PROCESS_H
#define CV_PROCESS_H
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <cleave/error.h>
#include "run/common/command.h"
#include "run/spawn/starter.h"

/* Both ends are closed on exec; -1: closed. */
struct cv_pipe {
    int read, write;
};

enum { CV_PIPE_WIDE = 1 << 20 }; /* the largest size for users without privileges */

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err);
void cv_pipe_close(struct cv_pipe *pipe);
/* The failure to make a pipe, with an errno: CLEAVE_ERESOURCES for a limit of the system. */
enum cleave_status cv_pipe_fail(int error, struct cleave_error *err);
/* Close *fd if it is not -1 and set it to -1. */
void cv_close(int *fd);
/* Whether `fd` is readable, has ended (*end: nothing is left to read) or neither. Does not wait. */
enum cleave_status cv_pipe_look(int fd, bool *readable, bool *end,
                                struct cleave_error *err);
/* Set the capacity of a pipe. A refusal is ignored. */
void cv_pipe_widen(int fd, size_t bytes);
/* Set O_NONBLOCK for `fd` and its copies. False with errno. */
bool cv_never_wait(int fd);

/* A process that ends the commands if this process is killed. It finds their groups in shared
 * memory and waits for a pipe to close; then it sends SIGTERM and, after a second, SIGKILL. It
 * has its own session and none of the files of this process. The fork costs more the more memory
 * this process has; a start of a command only stores a number. */
struct cv_guard;

/* A guard that is not forked yet. Groups can be added. */
enum cleave_status cv_guard_new(struct cv_guard **out, struct cleave_error *err);
/* Fork the guard; once. */
enum cleave_status cv_guard_begin(struct cv_guard *guard, struct cleave_error *err);
/* The groups are left alone. May be NULL. */
void cv_guard_free(struct cv_guard *guard);
/* The place of the group, from 1; 0: `guard` is NULL or full. */
size_t cv_guard_add(struct cv_guard *guard, pid_t group);
void cv_guard_remove(struct cv_guard *guard, size_t place);

/* The descriptors are borrowed, and the process gets copies. -1: /dev/null for `in` and `out`,
 * the stderr of this process for `errors`, none for `extra`. */
struct cv_process_files {
    int in, out, errors;
    int extra;                  /* becomes descriptor 3 */
    struct cv_guard *guard;     /* borrowed until the process is reaped; or NULL */
    struct cv_starter *starter; /* as `guard`: start without waiting; or NULL */
    struct cv_start *ahead;     /* a child that was taken, with `in` and `out`; or NULL */
    bool late;                  /* open no pidfd before cv_process_listen */
};

struct cv_process {
    pid_t pid; /* also of the group; 0: no process */
    int pidfd; /* owned: readable once the process has ended; or -1 */
    pthread_t
        waiter; /* if has_waiter: waits for the process, as the system has no pidfd */
    struct cv_guard *guard; /* borrowed */
    size_t guarded;         /* place in the guard, from 1; 0: none */
    struct cv_start *start; /* borrowed from the starter; or NULL */
    /* After cv_process_reap: */
    int exit_code;   /* -1: it did not exit, or the status is unknown */
    int signal;      /* that ended it, else 0 */
    int start_error; /* errno: the command could not be started; else 0 */
    int end_status;  /* if `ended`: exit status; -1: none */
    bool ended;      /* the result of cv_process_is_over */
    bool has_waiter;
    struct rusage usage; /* the process and the children that it waited for */
};

/* Start the command with the signal mask (NULL: empty), SIGPIPE and SIGXFSZ at their defaults,
 * and SIGTTIN and SIGTTOU ignored. With a starter, a failure may only show when the process is
 * reaped. */
enum cleave_status cv_process_start(struct cv_process *process,
                                    const struct cv_command *command,
                                    const struct cv_process_files *files,
                                    const sigset_t *mask, struct cleave_error *err);
/* Open the pidfd of a process that was started with `late`. */
enum cleave_status cv_process_listen(struct cv_process *process,
                                     struct cleave_error *err);
/* Whether the process has ended. Does not reap it. */
bool cv_process_is_over(struct cv_process *process);
/* Signal the group of the process, if there is one. With SIGTERM a stopped group is continued. */
void cv_process_signal(const struct cv_process *process, int signal);
/* Whether the process has ended with a status other than 0 and the statuses in `ok` (or
 * NULL). Does not reap it. */
bool cv_process_failed(struct cv_process *process, const struct cleave_statuses *ok);
/* Take the result and close pidfd, which must not be watched. False: it still runs. */
bool cv_process_reap(struct cv_process *process);
/* Kill the group, wait for the process and reap it. Does nothing without a process. */
void cv_process_kill(struct cv_process *process);

#endif
