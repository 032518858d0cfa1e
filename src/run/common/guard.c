/* guard.c -- see to it that commands end when this process is killed.
 * SPDX-License-Identifier: MIT */
#include "run/common/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

enum {
    GROUPS = 16384, /* a command and a reduction for each worker there can be, twice    */
    LOOKS = 50,     /* how often is looked whether all have ended politely              */
    LOOK_MS = 20,
    MOST_FILES = 1 << 20, /* that are closed one by one where that is the only way      */
};

struct cv_guard {
    atomic_int *groups; /* owned, shared with the other process: 0 or a group          */
    size_t next;        /* where to look for room                                      */
    int alive;          /* owned end of a pipe that nobody writes to                   */
    pid_t pid;
};

/* --- the other process -------------------------------------------------------------------- */

/* All but descriptor 0. */
static void close_files(void)
{
    struct rlimit max;
    int last = MOST_FILES;

#ifdef SYS_close_range
    if (syscall(SYS_close_range, 1U, ~0U, 0U) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &max) == 0 && max.rlim_cur < MOST_FILES)
        last = (int)max.rlim_cur;
    for (int fd = 1; fd < last; fd++)
        close(fd);
}

/* One that has just been started makes its group itself, a moment later. */
static bool reaches(int group, int signal)
{
    return kill(-group, signal) == 0 || (errno == ESRCH && kill(group, signal) == 0);
}

/* Send it to all groups; false: there is nobody left. */
static bool send(const atomic_int *groups, int signal)
{
    bool any = false;

    for (size_t i = 0; i < GROUPS; i++) {
        const int group = atomic_load(&groups[i]);

        if (group > 0 && reaches(group, signal))
            any = true;
    }
    return any;
}

/* Only what may be called in a child of a process with threads; it has one, and all
 * signals are blocked in it. */
static _Noreturn void run_guard(const atomic_int *groups, int alive)
{
    const struct timespec pause = { 0, 1000000L * LOOK_MS };
    char byte;

    setsid();
    prctl(PR_SET_NAME, "cleave-guard");
    if (dup2(alive, 0) != 0 || chdir("/") != 0)
        _exit(1);
    close_files();
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    if (send(groups, SIGTERM)) {
        send(groups, SIGCONT);
        for (int i = 0; i < LOOKS && send(groups, 0); i++)
            nanosleep(&pause, NULL);
        send(groups, SIGKILL);
    }
    _exit(0);
}

/* --- this process ------------------------------------------------------------------------- */

/* No handler of this process may run in the other one. */
static pid_t fork_guard(const atomic_int *groups, int alive)
{
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = _Fork();
    if (pid == 0)
        run_guard(groups, alive);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

enum cleave_status cv_guard_new(struct cv_guard **out, struct cleave_error *err)
{
    struct cv_guard *guard = calloc(1, sizeof *guard);

    if (guard == NULL)
        return cv_fail_memory(err, "a guard");
    guard->alive = -1;
    guard->groups = mmap(NULL, GROUPS * sizeof *guard->groups, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guard->groups == MAP_FAILED) {
        free(guard);
        return cv_fail_memory(err, "a guard");
    }
    *out = guard;
    return CLEAVE_OK;
}

enum cleave_status cv_guard_begin(struct cv_guard *guard, struct cleave_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot make a pipe: %s", strerror(errno));
    guard->alive = ends[1];
    guard->pid = fork_guard(guard->groups, ends[0]);
    close(ends[0]);
    if (guard->pid < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a process: %s",
                       strerror(errno));
    return CLEAVE_OK;
}

void cv_guard_free(struct cv_guard *guard)
{
    if (guard == NULL)
        return;
    if (guard->pid > 0) {
        kill(guard->pid, SIGKILL);
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (guard->alive >= 0)
        close(guard->alive);
    munmap(guard->groups, GROUPS * sizeof *guard->groups);
    free(guard);
}

size_t cv_guard_add(struct cv_guard *guard, pid_t group)
{
    for (size_t i = 0; guard != NULL && i < GROUPS; i++) {
        const size_t place = (guard->next + i) % GROUPS;

        if (atomic_load_explicit(&guard->groups[place], memory_order_relaxed) == 0) {
            atomic_store(&guard->groups[place], (int)group);
            guard->next = (place + 1) % GROUPS;
            return place + 1;
        }
    }
    return 0;
}

void cv_guard_remove(struct cv_guard *guard, size_t place)
{
    if (place == 0)
        return;
    atomic_store(&guard->groups[place - 1], 0);
    guard->next = place - 1;
}
