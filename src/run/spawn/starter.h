/* starter.h -- start processes without waiting for them. SPDX-License-Identifier: MIT
 *
 * posix_spawn returns after the program was loaded and does more than is needed here: on 16 cores
 * one thread starts at most 6,500 commands per second with it. A child of a starter also shares
 * the memory of this process until it runs its program, but the parent does not wait: a start
 * costs this thread a seventh of the time, and other cores load the programs. A failed start is
 * known when the child has ended (cv_starter_over).
 *
 * The code makes system calls itself and exists for x86-64 and arm64. On other machines, if a sandbox
 * or an emulator refuses the calls, and if the variable CLEAVE_PLAIN_START is set, as for valgrind,
 * which ends a program that makes them, use posix_spawn. */
#ifndef CV_STARTER_H
#define CV_STARTER_H
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct cv_starter;
struct cv_start; /* one child */

/* The program of a child. All pointers are borrowed until the child has ended. */
struct cv_start_request {
    const char *path;
    char *const *argv;
    char *const *script; /* if `path` is not a program: a shell and its words; or NULL */
    char *const *environment;
    int files[4]; /* become descriptors 0 to 3; -1: unchanged */
    const sigset_t *mask;
    const cpu_set_t *cpus; /* NULL: the processors of this process */
};

/* `cores`: that commands may use. NULL: not available or not wanted here, or out of memory. */
struct cv_starter *cv_starter_new(unsigned cores);
/* Waits for children that do not run their program yet. May be NULL. */
void cv_starter_free(struct cv_starter *starter);

/* Start a child that leads its own process group, with SIGPIPE and SIGXFSZ at their defaults and
 * SIGTTIN and SIGTTOU ignored. Returns 0 or an errno; ENOSYS: use posix_spawn. */
int cv_starter_start(struct cv_starter *starter, const struct cv_start_request *what,
                     pid_t *out_pid, struct cv_start **out);
/* Make the process group of child `pid` if the child has not, so that a signal reaches it. */
void cv_starter_settle(const struct cv_start *start, pid_t pid);
/* Child `pid` has ended: 0 if it had run its program, else an errno. Call it once per child. */
int cv_starter_over(struct cv_start *start, pid_t pid);

/* If short commands follow each other, children are made ahead while the thread is idle. Each has
 * an empty input and pipes for its output and errors, and waits for its program. */

/* Make one child; `nothing` becomes its descriptor 0. False: enough exist, or it does not pay. */
bool cv_starter_prepare(struct cv_starter *starter, int nothing);
/* End all waiting children if none was needed for a while. Returns the seconds until the next
 * call is due; negative: no child waits. */
double cv_starter_rest(struct cv_starter *starter);
/* Take a waiting child and the end of its output pipe to read from. NULL: none is ready. */
struct cv_start *cv_starter_take(struct cv_starter *starter, int *out);
/* Give the child another pipe for a later one, and get the pipe that is its standard
 * error; -1: it has standard error of this process. */
void cv_starter_exchange_errors(struct cv_start *start, int *read, int *write);
/* Let a child that was taken run `what`, whose files are ignored. Returns its pid. */
pid_t cv_starter_go(struct cv_start *start, const struct cv_start_request *what);
/* End a child that was taken. */
void cv_starter_leave(struct cv_start *start);

#endif
