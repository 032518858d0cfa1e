/* starter.c -- start processes without waiting until they have begun.
 * SPDX-License-Identifier: MIT */
#include "run/kit/starter.h"

#include <dirent.h>
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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/kit/usable_cores.h"

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
#ifndef SYS_close_range
#define SYS_close_range 436
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
    AHEAD = 16, /* children that are made ahead, at a time                            */
    ENDED = 8,  /* commands that have to end before, each start soon after the last   */
    CORES_TIMES = 2, /* with more commands for each core, cores are never idle anyway  */
    KEPT = 8, /* descriptors above 2 that commands inherit, at most, if there are any */
};

static const double SOON_S = 0.05;

struct cv_start {
    struct cv_starter *starter; /* whose it is */
    struct cv_starting what;
    atomic_int
        shares; /* the child has our memory: the kernel makes it 0 when it has not */
    atomic_int
        error;   /* why it has not become the other program                         */
    bool clean;  /* the kernel has put handlers of signals back to their defaults    */
    pid_t pid;   /* of the last child; 0: it was asked what came of it              */
    char *stack; /* owned by the starter                                            */
    /* Of one that is made ahead: */
    int out; /* owned: where its output will come, until it is taken                */
    atomic_bool waits; /* all is well so far                                        */
    atomic_int told;
};

struct cv_starter {
    struct cv_start starts[STARTS];
    char *stacks;                  /* owned */
    size_t next;                   /* where to look for one that is free */
    bool refused;                  /* by the kernel, and so for good     */
    bool old;                      /* it has no clone3                   */
    struct cv_start *ahead[AHEAD]; /* children that were made ahead                 */
    size_t nahead;
    pid_t own;      /* of this process                                              */
    size_t most;    /* commands at a time; if there are more, processors are busy   */
    int kept[KEPT]; /* descriptors above 2 that commands inherit, in order          */
    size_t nkept;
    bool listed;   /* those are known                                               */
    bool asked;    /* there is somebody who takes them                              */
    bool direct;   /* no children are made ahead                                    */
    size_t alive;  /* children that have begun and have not been reaped             */
    size_t streak; /* starts so far, each soon after the one before                 */
    double last_s; /* when the last one was                                         */
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

/* What does not depend on the program. */
static long settle(const struct cv_start *start)
{
    const long got = call(SYS_setpgid, 0, 0, 0, 0);

    forget_handlers(start->clean);
    leave_terminal();
    return got == 0 ? place_files(start->what.files) : got;
}

/* `got`: what came of all before. */
static int turn_into(struct cv_start *start, long got)
{
    const struct cv_starting *what = &start->what;

    if (got == 0 && what->cpus != NULL)
        got = call(SYS_sched_setaffinity, 0, sizeof *what->cpus, (long)what->cpus, 0);
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

static int become(void *context)
{
    struct cv_start *start = context;

    return turn_into(start, settle(start));
}

/* Nobody would tell it anything if the parent were killed. */
static long end_with_parent(const struct cv_start *start)
{
    const long got = call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

    return got == 0 && call(SYS_getppid, 0, 0, 0, 0) != start->starter->own ? -ESRCH
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
            got = call(SYS_close_range, from, starter->kept[i] - 1, 0, 0);
        from = starter->kept[i] + 1;
    }
    return got == 0 ? call(SYS_close_range, from, UINT32_MAX, 0, 0) : got;
}

static int wait_and_become(void *context)
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
        call(SYS_futex, (long)&start->told, FUTEX_WAIT_PRIVATE, 0, 0);
    return turn_into(start, call(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0));
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

/* The end of one that was made ahead and has not become anything. */
static void reap(struct cv_start *start)
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
    reap(start);
}

static void leave_all(struct cv_starter *starter)
{
    for (size_t i = 0; i < starter->nahead; i++)
        kill(starter->ahead[i]->pid, SIGKILL);
    while (starter->nahead > 0)
        reap(starter->ahead[--starter->nahead]);
}

void cv_starter_free(struct cv_starter *starter)
{
    if (starter == NULL)
        return;
    leave_all(starter);
    for (size_t i = 0; i < STARTS; i++)
        wait_for(&starter->starts[i]);
    munmap(starter->stacks, (size_t)STARTS * STACK);
    free(starter);
}

static bool is_free(const struct cv_start *start)
{
    return start->out < 0 && atomic_load(&start->shares) == 0 &&
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
        if (starter->starts[i].out >= 0) /* made ahead */
            continue;
        wait_for(&starter->starts[i]);
        if (is_free(&starter->starts[i]))
            return &starter->starts[i];
    }
    return NULL;
}

/* Handlers are left out by the kernel. */
static pid_t begin_clean(struct cv_start *start, int (*enter)(void *))
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
    got = call_clone3(&words, enter, start);
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

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void count_start(struct cv_starter *starter)
{
    const double start_s = now_s();

    starter->streak = start_s < starter->last_s + SOON_S ? starter->streak + 1 : 1;
    starter->last_s = start_s;
    starter->alive++;
}

static void clear(struct cv_start *start)
{
    start->pid = 0;
    atomic_store(&start->error, 0);
    atomic_store(&start->shares, 1);
}

int cv_starter_start(struct cv_starter *starter, const struct cv_starting *what,
                     pid_t *out_pid, struct cv_start **out)
{
    struct cv_start *start = starter->refused ? NULL : find_free(starter);
    pid_t pid;

    if (start == NULL)
        return ENOSYS;
    start->what = *what;
    clear(start);
    pid = starter->old ? -1 : begin_clean(start, become);
    starter->old = starter->old || (pid < 0 && is_refusal(errno));
    if (starter->old)
        pid = begin(start);
    if (pid < 0) {
        atomic_store(&start->shares, 0);
        starter->refused = is_refusal(errno);
        return starter->refused ? ENOSYS : errno;
    }
    start->pid = pid;
    count_start(starter);
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

/* --- children that are made ahead ---------------------------------------------------------- */

/* Put it where it belongs in the list; false: there are too many. */
static bool keep(struct cv_starter *starter, int fd)
{
    size_t at = starter->nkept;

    if (at == KEPT)
        return false;
    for (; at > 0 && starter->kept[at - 1] > fd; at--)
        starter->kept[at] = starter->kept[at - 1];
    starter->kept[at] = fd;
    starter->nkept++;
    return true;
}

/* Find the descriptors that commands inherit. False: they cannot be told. */
static bool list_kept(struct cv_starter *starter)
{
    DIR *folder = opendir("/proc/self/fd");
    bool ok = folder != NULL;
    struct dirent *entry;

    while (ok && (entry = readdir(folder)) != NULL) {
        const int fd = (int)strtol(entry->d_name, NULL, 10);
        const int flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            ok = keep(starter, fd);
    }
    if (folder != NULL)
        closedir(folder);
    starter->listed = true;
    starter->own = getpid();
    starter->most = (size_t)CORES_TIMES * cv_usable_cores();
    return ok;
}

static bool is_worth_it(const struct cv_starter *starter)
{
    return starter->asked && !starter->direct && !starter->refused && !starter->old &&
           starter->nahead < AHEAD && starter->nahead < starter->alive &&
           (!starter->listed || starter->alive <= starter->most) &&
           starter->streak >= starter->alive + ENDED;
}

/* A child with nothing to read and a pipe for its output. NULL: there is no room for it. */
static struct cv_start *begin_ahead(struct cv_starter *starter, int nothing)
{
    struct cv_start *start = find_free(starter);
    int ends[2];

    if (start == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    start->what = (struct cv_starting){ .files = { nothing, ends[1], -1, -1 } };
    start->out = ends[0];
    atomic_store(&start->waits, false);
    atomic_store(&start->told, 0);
    clear(start);
    start->pid = ends[0] > 2 && ends[1] > 2 ? begin_clean(start, wait_and_become) : -1;
    close(ends[1]);
    if (start->pid > 0)
        return start;
    close(start->out);
    start->out = -1;
    start->pid = 0;
    atomic_store(&start->shares, 0);
    return NULL;
}

bool cv_starter_prepare(struct cv_starter *starter, int nothing)
{
    struct cv_start *start;

    if (!is_worth_it(starter))
        return false;
    if (!starter->listed && !list_kept(starter)) {
        starter->direct = true;
        return false;
    }
    start = begin_ahead(starter, nothing);
    if (start == NULL) { /* what there is room for is for commands */
        starter->direct = true;
        leave_all(starter);
        return false;
    }
    starter->ahead[starter->nahead++] = start;
    return true;
}

double cv_starter_rest(struct cv_starter *starter)
{
    if (starter->nahead == 0)
        return -1;
    if (now_s() < starter->last_s + SOON_S)
        return SOON_S;
    leave_all(starter);
    starter->streak = 0;
    return -1;
}

/* Those that came to nothing, or were killed. */
static void drop_ended(struct cv_starter *starter)
{
    size_t left = 0;

    for (size_t i = 0; i < starter->nahead; i++) {
        struct cv_start *start = starter->ahead[i];

        if (atomic_load(&start->shares) != 0) {
            starter->ahead[left++] = start;
            continue;
        }
        starter->direct = starter->direct || atomic_load(&start->error) != 0;
        reap(start);
    }
    starter->nahead = left;
}

struct cv_start *cv_starter_take(struct cv_starter *starter, int *out)
{
    starter->asked = true;
    if (starter->nahead > 0)
        drop_ended(starter);
    for (size_t i = 0; i < starter->nahead; i++) {
        struct cv_start *start = starter->ahead[i];

        if (!atomic_load(&start->waits))
            continue;
        starter->ahead[i] = starter->ahead[--starter->nahead];
        *out = start->out;
        start->out = -1;
        return start;
    }
    return NULL;
}

pid_t cv_starter_go(struct cv_start *start, const struct cv_starting *what)
{
    start->what = *what;
    count_start(start->starter);
    atomic_store(&start->told, 1);
    syscall(SYS_futex, &start->told, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return start->pid;
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

bool cv_starter_prepare(struct cv_starter *starter, int nothing)
{
    (void)starter;
    (void)nothing;
    return false;
}

double cv_starter_rest(struct cv_starter *starter)
{
    (void)starter;
    return -1;
}

struct cv_start *cv_starter_take(struct cv_starter *starter, int *out)
{
    (void)starter;
    (void)out;
    return NULL;
}

pid_t cv_starter_go(struct cv_start *start, const struct cv_starting *what)
{
    (void)start;
    (void)what;
    return -1;
}

void cv_starter_leave(struct cv_start *start)
{
    (void)start;
}

#endif
