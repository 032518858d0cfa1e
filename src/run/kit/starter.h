/* starter.h -- start processes without waiting until they have begun.
 * SPDX-License-Identifier: MIT
 *
 * posix_spawn returns when the program has been loaded, and does a good deal more than is
 * needed here: on a machine with 16 cores one thread could start no more than 6,500
 * commands a second by it. Here the child shares the memory of this process until it has
 * become the other program, as there, but nobody waits for that: it takes a seventh of the
 * time of this thread, and children become programs on other cores meanwhile.
 *
 * So a child has a stack of its own and calls nothing but the kernel: what the C library
 * keeps for a thread is not its own. That something went wrong is known when it has ended
 * (cv_starter_over). Only on machines whose kernel we know how to call; nowhere else, and
 * not where a sandbox or an emulator refuses. */
#ifndef CV_STARTER_H
#define CV_STARTER_H
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct cv_starter;
struct cv_start; /* one that is under way */

/* What a child becomes. All of it is borrowed until the child has ended. */
struct cv_starting {
    const char *path;
    char *const *argv;
    char *const *
        script; /* what to run if `path` is no program: a shell and its words; NULL: it is */
    char *const *environment;
    int files[4]; /* become descriptors 0 to 3; -1: left as it is                */
    const sigset_t
        *mask; /* of signals                                                  */
    const cpu_set_t
        *cpus; /* that it may run on; NULL: as this process                   */
};

/* NULL where there is no such way, or no memory: use posix_spawn. */
struct cv_starter *cv_starter_new(void);
/* Waits for children that have not begun. May be NULL. */
void cv_starter_free(struct cv_starter *starter);

/* Start a child that leads a group of its own, with SIGPIPE and SIGXFSZ at their defaults, and
 * SIGTTIN and SIGTTOU ignored.
 * 0, or an errno: ENOSYS if this is not the way. */
int cv_starter_start(struct cv_starter *starter, const struct cv_starting *what,
                     pid_t *out_pid, struct cv_start **out);
/* Child `pid` makes a group of its own as soon as it runs, which may be later than now: from
 * here on there is one, and a signal to it reaches the child. */
void cv_starter_settle(const struct cv_start *start, pid_t pid);
/* Child `pid` has ended: 0 if it had become the other program, else the errno of why not.
 * To be asked once for every child. */
int cv_starter_over(struct cv_start *start, pid_t pid);

#endif
