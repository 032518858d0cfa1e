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

/* For commands that have so many cores. NULL where there is no such way, or no memory: use
 * posix_spawn. */
struct cv_starter *cv_starter_new(unsigned cores);
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

/* Where commands end soon after they were started, one after the other, children are made ahead
 * while there is nothing else to do. Each has its end of a pipe for its output, nothing to read,
 * and waits for what it is to become: then a start takes no more than to tell it. */

/* Make one; `nothing` becomes its descriptor 0. False: there are enough, or it is not worth it. */
bool cv_starter_prepare(struct cv_starter *starter, int nothing);
/* Let all end if nobody has needed one for a while. For how long none of them has to, in seconds;
 * negative: there are none. */
double cv_starter_rest(struct cv_starter *starter);
/* Take one that waits, and the end of the pipe that its output will come from. NULL: none does. */
struct cv_start *cv_starter_take(struct cv_starter *starter, int *out);
/* Let one that was taken become `what`, whose files stay aside: its pid, as from cv_starter_start. */
pid_t cv_starter_go(struct cv_start *start, const struct cv_starting *what);
/* Or let it end. */
void cv_starter_leave(struct cv_start *start);

#endif
