/* starter.c -- start processes without waiting until they have begun.
 * SPDX-License-Identifier: MIT */
#include "run/spawn/starter.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/spawn/starter_internal.h"

#ifdef CV_KNOWN_MACHINE

enum { STACK = 16 << 10 }; /* of a child */

struct cv_starter *cv_starter_new(unsigned cores)
{
    struct cv_starter *starter = calloc(1, sizeof *starter);

    if (starter == NULL)
        return NULL;
    starter->cores = cores;
    starter->stacks = mmap(NULL, (size_t)CV_STARTS * STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (starter->stacks == MAP_FAILED) {
        free(starter);
        return NULL;
    }
    for (size_t i = 0; i < CV_STARTS; i++)
        starter->starts[i] = (struct cv_start){ .starter = starter,
                                                .stack = starter->stacks + i * STACK,
                                                .out = -1 };
    return starter;
}

/* Until the child has memory of its own, or none. */
static void wait_for(struct cv_start *start)
{
    int shares;

    while ((shares = atomic_load(&start->shares)) != 0)
        syscall(SYS_futex, &start->shares, FUTEX_WAIT, shares, NULL, NULL, 0);
}

void cv_start_reap(struct cv_start *start)
{
    while (waitpid(start->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    start->pid = 0;
    if (start->out >= 0)
        close(start->out);
    start->out = -1;
}

void cv_starter_leave(struct cv_start *start)
{
    kill(start->pid, SIGKILL);
    cv_start_reap(start);
}

void cv_starter_leave_all(struct cv_starter *starter)
{
    for (size_t i = 0; i < starter->nahead; i++)
        kill(starter->ahead[i]->pid, SIGKILL);
    while (starter->nahead > 0)
        cv_start_reap(starter->ahead[--starter->nahead]);
}

void cv_starter_free(struct cv_starter *starter)
{
    if (starter == NULL)
        return;
    cv_starter_leave_all(starter);
    for (size_t i = 0; i < CV_STARTS; i++)
        wait_for(&starter->starts[i]);
    munmap(starter->stacks, (size_t)CV_STARTS * STACK);
    free(starter);
}

static bool is_free(const struct cv_start *start)
{
    return start->out < 0 && atomic_load(&start->shares) == 0 &&
           (start->pid == 0 || atomic_load(&start->error) == 0);
}

/* One that is free, perhaps soon. NULL: all have failed, and nobody has asked why. */
struct cv_start *cv_starter_find_free(struct cv_starter *starter)
{
    for (size_t i = 0; i < CV_STARTS; i++) {
        const size_t at = (starter->next + i) % CV_STARTS;

        if (is_free(&starter->starts[at])) {
            starter->next = at + 1;
            return &starter->starts[at];
        }
    }
    for (size_t i = 0; i < CV_STARTS; i++) {
        if (starter->starts[i].out >= 0) /* made ahead */
            continue;
        wait_for(&starter->starts[i]);
        if (is_free(&starter->starts[i]))
            return &starter->starts[i];
    }
    return NULL;
}

/* Handlers are left out by the kernel. */
pid_t cv_start_begin(struct cv_start *start, int (*enter)(void *))
{
    const uint64_t clear_handlers = UINT64_C(1) << 32;
    const struct cv_clone_words words = {
        .flags = CLONE_VM | CLONE_CHILD_CLEARTID | clear_handlers,
        .child_tid = (uintptr_t)&start->shares,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)start->stack,
        .stack_size = STACK,
    };
    long got;

    start->clean = true;
    got = cv_call_clone3(&words, enter, start);
    errno = got < 0 ? (int)-got : errno;
    return got < 0 ? -1 : (pid_t)got;
}

/* No handler of ours may run in the child, so that all signals wait. */
static pid_t begin(struct cv_start *start)
{
    /* What the kernel clears is an int, and so is this. */
    pid_t *const shares = (pid_t *)(void *)&start->shares;
    sigset_t all, before;
    pid_t pid;
    int error;

    start->clean = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(cv_child_become, start->stack + STACK,
                CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, start, NULL, NULL, shares);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* Of the way to start, not of this start. */
static bool is_refusal(int error)
{
    return error == EINVAL || error == ENOSYS || error == EPERM;
}

double cv_starter_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cv_starter_count(struct cv_starter *starter)
{
    const double start_s = cv_starter_now_s();

    starter->streak = start_s < starter->last_s + CV_SOON_S ? starter->streak + 1 : 1;
    starter->last_s = start_s;
    starter->alive++;
}

void cv_start_clear(struct cv_start *start)
{
    start->pid = 0;
    atomic_store(&start->error, 0);
    atomic_store(&start->shares, 1);
}

int cv_starter_start(struct cv_starter *starter, const struct cv_starting *what,
                     pid_t *out_pid, struct cv_start **out)
{
    struct cv_start *start = starter->refused ? NULL : cv_starter_find_free(starter);
    pid_t pid;

    if (start == NULL)
        return ENOSYS;
    start->what = *what;
    cv_start_clear(start);
    pid = starter->old ? -1 : cv_start_begin(start, cv_child_become);
    starter->old = starter->old || (pid < 0 && is_refusal(errno));
    if (starter->old)
        pid = begin(start);
    if (pid < 0) {
        atomic_store(&start->shares, 0);
        starter->refused = is_refusal(errno);
        return starter->refused ? ENOSYS : errno;
    }
    start->pid = pid;
    cv_starter_count(starter);
    *out_pid = pid;
    *out = start;
    return 0;
}

/* Whoever is first; one that has become the other program has done it. */
void cv_starter_settle(const struct cv_start *start, pid_t pid)
{
    if (start->pid == pid && atomic_load(&start->shares) != 0)
        setpgid(pid, pid);
}

/* If it was used again since, its child had become the other program. */
int cv_starter_over(struct cv_start *start, pid_t pid)
{
    start->starter->alive--;
    if (start->pid != pid)
        return 0;
    start->pid = 0;
    return atomic_load(&start->error);
}

#else /* another machine */

struct cv_starter *cv_starter_new(unsigned cores)
{
    (void)cores;
    return NULL;
}

void cv_starter_free(struct cv_starter *starter)
{
    (void)starter;
}

int cv_starter_start(struct cv_starter *starter, const struct cv_starting *what,
                     pid_t *out_pid, struct cv_start **out)
{
    (void)starter;
    (void)what;
    (void)out_pid;
    (void)out;
    return ENOSYS;
}

void cv_starter_settle(const struct cv_start *start, pid_t pid)
{
    (void)start;
    (void)pid;
}

int cv_starter_over(struct cv_start *start, pid_t pid)
{
    (void)start;
    (void)pid;
    return 0;
}

void cv_starter_leave(struct cv_start *start)
{
    (void)start;
}

#endif
