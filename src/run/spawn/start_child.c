/* start_child.c -- a child that shares our memory until it is another program.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run/spawn/starter_internal.h"

#ifdef CV_KNOWN_MACHINE

enum {
    SIGNALS = 64,
    MASK_BYTES = SIGNALS / 8, /* as the kernel counts */
};

/* What the kernel knows of a signal: the handler comes first, 0 is the default. */
struct action {
    uintptr_t handler;
    uintptr_t rest[7];
};

/* Nothing of ours may run in the child; what is ignored stays so, as ever, but for the two
 * that cleave ignores for itself. */
static void forget_handlers(bool clean)
{
    const struct action standard = { .handler = 0 };

    if (clean) {
        cv_call(SYS_rt_sigaction, SIGPIPE, (long)&standard, 0, MASK_BYTES);
        cv_call(SYS_rt_sigaction, SIGXFSZ, (long)&standard, 0, MASK_BYTES);
        return;
    }
    for (long signal = 1; signal <= SIGNALS; signal++) {
        struct action now = { .handler = 0 };

        if (cv_call(SYS_rt_sigaction, signal, 0, (long)&now, MASK_BYTES) != 0)
            continue;
        if (now.handler > (uintptr_t)SIG_IGN || signal == SIGPIPE || signal == SIGXFSZ)
            cv_call(SYS_rt_sigaction, signal, (long)&standard, 0, MASK_BYTES);
    }
}

/* A group of its own is never the one that the terminal listens to. Who turned to it would be
 * stopped, and waited for for ever: so it may write there, and gets an error where it reads. */
static void leave_terminal(void)
{
    const struct action ignored = { .handler = (uintptr_t)SIG_IGN };

    cv_call(SYS_rt_sigaction, SIGTTIN, (long)&ignored, 0, MASK_BYTES);
    cv_call(SYS_rt_sigaction, SIGTTOU, (long)&ignored, 0, MASK_BYTES);
}

static long place_files(const int files[4])
{
    for (int i = 0; i < 4; i++) {
        long got = 0;

        if (files[i] == i) /* only that it stays open */
            got = cv_call(SYS_fcntl, i, F_SETFD, 0, 0);
        else if (files[i] >= 0)
            got = cv_call(SYS_dup3, files[i], i, 0, 0);
        if (got < 0)
            return got;
    }
    return 0;
}

/* What does not depend on the program. */
static long settle(const struct cv_start *start)
{
    const long got = cv_call(SYS_setpgid, 0, 0, 0, 0);

    forget_handlers(start->clean);
    leave_terminal();
    return got == 0 ? place_files(start->what.files) : got;
}

/* `got`: what came of all before. */
static int turn_into(struct cv_start *start, long got)
{
    const struct cv_starting *what = &start->what;

    if (got == 0 && what->cpus != NULL)
        got = cv_call(SYS_sched_setaffinity, 0, sizeof *what->cpus, (long)what->cpus, 0);
    if (got == 0)
        got = cv_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)what->mask, 0, MASK_BYTES);
    if (got == 0)
        got = cv_call(SYS_execve, (long)what->path, (long)what->argv,
                      (long)what->environment, 0);
    if (got == -ENOEXEC && what->script != NULL)
        got = cv_call(SYS_execve, (long)what->script[0], (long)what->script,
                      (long)what->environment, 0);
    atomic_store(&start->error, (int)-got);
    return 127; /* clone lets it end, and calls nothing but the kernel for it */
}

int cv_child_become(void *context)
{
    struct cv_start *start = context;

    return turn_into(start, settle(start));
}

/* Nobody would tell it anything if the parent were killed. */
static long end_with_parent(const struct cv_start *start)
{
    const long got = cv_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

    return got == 0 && cv_call(SYS_getppid, 0, 0, 0, 0) != start->starter->own ? -ESRCH
                                                                               : got;
}

/* All that would be closed when it becomes a program: ends of pipes of other commands, which would
 * wait for it. */
static long close_others(const struct cv_starter *starter)
{
    long got = 0;
    int from = 3;

    for (size_t i = 0; i < starter->nkept && got == 0; i++) {
        if (starter->kept[i] > from)
            got = cv_call(SYS_close_range, from, starter->kept[i] - 1, 0, 0);
        from = starter->kept[i] + 1;
    }
    return got == 0 ? cv_call(SYS_close_range, from, UINT32_MAX, 0, 0) : got;
}

int cv_child_wait_and_become(void *context)
{
    struct cv_start *start = context;
    long got = end_with_parent(start);

    if (got == 0)
        got = settle(start);
    if (got == 0)
        got = close_others(start->starter);
    if (got != 0) {
        atomic_store(&start->error, (int)-got);
        return 0;
    }
    atomic_store(&start->waits, true);
    while (atomic_load(&start->told) == 0)
        cv_call(SYS_futex, (long)&start->told, FUTEX_WAIT_PRIVATE, 0, 0);
    return turn_into(start, cv_call(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0));
}

#endif
