/* starter.c -- start processes without waiting until they have begun.
 * SPDX-License-Identifier: MIT */
#include "run/kit/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* --- calls of the kernel that leave errno alone ------------------------------------------- */

#if defined(__x86_64__) && defined(__LP64__) && !defined(SANITIZED)
#define KNOWN 1
static inline long call(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__) && !defined(SANITIZED)
#define KNOWN 1
static inline long call(long number, long a, long b, long c, long d)
{
    register long which __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;

    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth)
                     : "memory");
    return result;
}
#endif

#ifdef KNOWN

#ifndef SYS_clone3
#define SYS_clone3 435 /* on all machines */
#endif

/* What clone3 is told: the first version of it, which all kernels that have it know. */
struct clone_words {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

/* As clone of the C library, which clone3 has no function for: the child calls
 * enter(context) on its own stack, and ends with what that returns. */
static inline long call_clone3(const struct clone_words *words, int (*enter)(void *),
                               void *context)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "movq %[context], %%rdi\n\t"
                     "callq *%[enter]\n\t"
                     "movl %%eax, %%edi\n\t"
                     "movl %[end], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone3), "D"(words), "S"(sizeof *words),
                       [enter] "r"(enter), [context] "r"(context), [end] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
#else
    register long which __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)words;
    register long size __asm__("x1") = sizeof *words;

    __asm__ volatile(
        "svc 0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x0, %[context]\n\t"
        "blr %[enter]\n\t"
        "mov x8, %[end]\n\t"
        "svc 0\n"
        "1:"
        : "+r"(result)
        : "r"(which),
          "r"(size), [enter] "r"(enter), [context] "r"(context), [end] "i"(SYS_exit)
        : "memory");
#endif
    return result;
}

enum {
    STARTS = 64, /* that have not become a program at a time; then one is waited for */
    STACK =
        16 << 10, /* of a child                                                       */
    SIGNALS = 64,
    MASK_BYTES = SIGNALS / 8, /* as the kernel counts */
};

struct cv_start {
    struct cv_starting what;
    atomic_int
        shares; /* the child has our memory: the kernel makes it 0 when it has not */
    atomic_int
        error;   /* why it has not become the other program                         */
    bool clean;  /* the kernel has put handlers of signals back to their defaults    */
    pid_t pid;   /* of the last child; 0: it was asked what came of it              */
    char *stack; /* owned by the starter                                            */
};

struct cv_starter {
    struct cv_start starts[STARTS];
    char *stacks; /* owned */
    size_t next;  /* where to look for one that is free */
    bool refused; /* by the kernel, and so for good     */
    bool old;     /* it has no clone3                   */
};

/* --- the child ---------------------------------------------------------------------------- */

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
        call(SYS_rt_sigaction, SIGPIPE, (long)&standard, 0, MASK_BYTES);
        call(SYS_rt_sigaction, SIGXFSZ, (long)&standard, 0, MASK_BYTES);
        return;
    }
    for (long signal = 1; signal <= SIGNALS; signal++) {
        struct action now = { .handler = 0 };

        if (call(SYS_rt_sigaction, signal, 0, (long)&now, MASK_BYTES) != 0)
            continue;
        if (now.handler > (uintptr_t)SIG_IGN || signal == SIGPIPE || signal == SIGXFSZ)
            call(SYS_rt_sigaction, signal, (long)&standard, 0, MASK_BYTES);
    }
}

/* A group of its own is never the one that the terminal listens to. Who turned to it would be
 * stopped, and waited for for ever: so it may write there, and gets an error where it reads. */
static void leave_terminal(void)
{
    const struct action ignored = { .handler = (uintptr_t)SIG_IGN };

    call(SYS_rt_sigaction, SIGTTIN, (long)&ignored, 0, MASK_BYTES);
    call(SYS_rt_sigaction, SIGTTOU, (long)&ignored, 0, MASK_BYTES);
}

static long place_files(const int files[4])
{
    for (int i = 0; i < 4; i++) {
        long got = 0;

        if (files[i] == i) /* only that it stays open */
            got = call(SYS_fcntl, i, F_SETFD, 0, 0);
        else if (files[i] >= 0)
            got = call(SYS_dup3, files[i], i, 0, 0);
        if (got < 0)
            return got;
    }
    return 0;
}

static int become(void *context)
{
    struct cv_start *start = context;
    const struct cv_starting *what = &start->what;
    long got = call(SYS_setpgid, 0, 0, 0, 0);

    forget_handlers(start->clean);
    leave_terminal();
    if (got == 0 && what->cpus != NULL)
        got = call(SYS_sched_setaffinity, 0, sizeof *what->cpus, (long)what->cpus, 0);
    if (got == 0)
        got = place_files(what->files);
    if (got == 0)
        got = call(SYS_rt_sigprocmask, SIG_SETMASK, (long)what->mask, 0, MASK_BYTES);
    if (got == 0)
        got = call(SYS_execve, (long)what->path, (long)what->argv,
                   (long)what->environment, 0);
    if (got == -ENOEXEC && what->script != NULL)
        got = call(SYS_execve, (long)what->script[0], (long)what->script,
                   (long)what->environment, 0);
    atomic_store(&start->error, (int)-got);
    return 127; /* clone lets it end, and calls nothing but the kernel for it */
}

/* --- this process ------------------------------------------------------------------------- */

struct cv_starter *cv_starter_new(void)
{
    struct cv_starter *starter = calloc(1, sizeof *starter);

    if (starter == NULL)
        return NULL;
    starter->stacks = mmap(NULL, (size_t)STARTS * STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (starter->stacks == MAP_FAILED) {
        free(starter);
        return NULL;
    }
    for (size_t i = 0; i < STARTS; i++)
        starter->starts[i].stack = starter->stacks + i * STACK;
    return starter;
}

/* Until the child has memory of its own, or none. */
static void wait_for(struct cv_start *start)
{
    int shares;

    while ((shares = atomic_load(&start->shares)) != 0)
        syscall(SYS_futex, &start->shares, FUTEX_WAIT, shares, NULL, NULL, 0);
}

void cv_starter_free(struct cv_starter *starter)
{
    if (starter == NULL)
        return;
    for (size_t i = 0; i < STARTS; i++)
        wait_for(&starter->starts[i]);
    munmap(starter->stacks, (size_t)STARTS * STACK);
    free(starter);
}

static bool is_free(const struct cv_start *start)
{
    return atomic_load(&start->shares) == 0 &&
           (start->pid == 0 || atomic_load(&start->error) == 0);
}

/* One that is free, perhaps soon. NULL: all have failed, and nobody has asked why. */
static struct cv_start *find_free(struct cv_starter *starter)
{
    for (size_t i = 0; i < STARTS; i++) {
        const size_t at = (starter->next + i) % STARTS;

        if (is_free(&starter->starts[at])) {
            starter->next = at + 1;
            return &starter->starts[at];
        }
    }
    for (size_t i = 0; i < STARTS; i++) {
        wait_for(&starter->starts[i]);
        if (is_free(&starter->starts[i]))
            return &starter->starts[i];
    }
    return NULL;
}

/* Handlers are left out by the kernel. */
static pid_t begin_clean(struct cv_start *start)
{
    const uint64_t clear_handlers = UINT64_C(1) << 32;
    const struct clone_words words = {
        .flags = CLONE_VM | CLONE_CHILD_CLEARTID | clear_handlers,
        .child_tid = (uintptr_t)&start->shares,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)start->stack,
        .stack_size = STACK,
    };
    long got;

    start->clean = true;
    got = call_clone3(&words, become, start);
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
    pid = clone(become, start->stack + STACK, CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
                start, NULL, NULL, shares);
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

int cv_starter_start(struct cv_starter *starter, const struct cv_starting *what,
                     pid_t *out_pid, struct cv_start **out)
{
    struct cv_start *start = starter->refused ? NULL : find_free(starter);
    pid_t pid;

    if (start == NULL)
        return ENOSYS;
    start->what = *what;
    start->pid = 0;
    atomic_store(&start->error, 0);
    atomic_store(&start->shares, 1);
    pid = starter->old ? -1 : begin_clean(start);
    starter->old = starter->old || (pid < 0 && is_refusal(errno));
    if (starter->old)
        pid = begin(start);
    if (pid < 0) {
        atomic_store(&start->shares, 0);
        starter->refused = is_refusal(errno);
        return starter->refused ? ENOSYS : errno;
    }
    start->pid = pid;
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
    if (start->pid != pid)
        return 0;
    start->pid = 0;
    return atomic_load(&start->error);
}

#else /* another machine */

struct cv_starter *cv_starter_new(void)
{
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

#endif
