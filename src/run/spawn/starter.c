/* starter.c -- processes that share the memory of this one until they run their program.
 * SPDX-License-Identifier: MIT
 *
 * A child runs on its own small stack and makes system calls by itself: errno and everything else
 * that the C library keeps per thread belong to the parent. The code of the child is in the
 * section "the child"; it must not call the C library. */
#include "run/spawn/starter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- system calls without errno ------------------------------------------------------ */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__LP64__) && !defined(SANITIZED)
#define KNOWN_MACHINE 1
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
#define KNOWN_MACHINE 1
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
#else /* cv_starter_new returns NULL */
#define KNOWN_MACHINE 0
static inline long call(long number, long a, long b, long c, long d)
{
    (void)number, (void)a, (void)b, (void)c, (void)d;
    return -ENOSYS;
}
#endif

#ifndef SYS_clone3
#define SYS_clone3 435 /* on all machines */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Arguments of clone3, first version, which all kernels with clone3 accept. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

/* The C library has no function for clone3. The child calls enter(context) on its stack and exits
 * with the result. */
static inline long call_clone3(const struct clone_arguments *arguments,
                               int (*enter)(void *), void *context)
{
#if !KNOWN_MACHINE
    const long result = -ENOSYS;

    (void)arguments, (void)enter, (void)context;
#elif defined(__x86_64__)
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
                     : "a"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments),
                       [enter] "r"(enter), [context] "r"(context), [end] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
#else
    register long which __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)arguments;
    register long size __asm__("x1") = sizeof *arguments;

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
    STARTS = 64, /* children without a program yet */
    STACK = 16 << 10,
    AHEAD = 16,      /* children that wait for a program */
    INHERITED = 8,   /* descriptors above 2 that commands inherit */
    ENDED = 8,       /* commands that must have ended before children are made ahead */
    CORES_TIMES = 2, /* with more commands per core, no core is idle */
    SIGNALS = 64,
    MASK_BYTES = SIGNALS / 8, /* bytes of a signal set of the kernel */
};

/* Two starts within this time are consecutive. */
static const double SOON_S = 0.05;

/* Standard error of a child made ahead. Both ends are owned; -1: none. */
struct error_pipe {
    int read, write;
};

struct cv_start {
    struct cv_starter *starter; /* borrowed */
    struct cv_start_request what;
    atomic_int shares; /* the child uses our memory; the kernel clears it afterwards */
    atomic_int error;  /* errno: the child could not run its program */
    bool handlers_cleared; /* the kernel reset the signal handlers of the child */
    pid_t pid;             /* pid of the last child; 0: cv_starter_over was called */
    char *stack;           /* borrowed: a part of starter->stacks */
    /* Children made ahead only. */
    int out; /* owned until it is taken: the end of the output pipe to read from */
    struct error_pipe errors;
    atomic_bool ready;
    atomic_int go;
};

struct cv_starter {
    struct cv_start starts[STARTS];
    char *stacks;   /* owned */
    size_t next;    /* where the search for a free start begins */
    bool refused;   /* the kernel refuses clone with these flags */
    bool no_clone3; /* the kernel refuses clone3 */
    struct cv_start *ahead[AHEAD];
    size_t nahead;
    struct error_pipe spare[AHEAD]; /* for children to come */
    size_t nspare;
    pid_t own_pid;
    unsigned cores;           /* that commands may use */
    int inherited[INHERITED]; /* descriptors above 2 without FD_CLOEXEC, sorted */
    size_t ninherited;
    bool listed;   /* `inherited` is known */
    bool wanted;   /* cv_starter_take was called */
    bool direct;   /* no more children are made ahead */
    size_t alive;  /* commands started and not reaped */
    size_t streak; /* consecutive starts so far */
    double last_s; /* when the last command was started */
};

/* --- the child ----------------------------------------------------------------------- */

/* struct sigaction of the kernel: the handler is first, and 0 is the default. */
struct action {
    uintptr_t handler;
    uintptr_t rest[7];
};

/* Handlers of the parent must not run in the child. Ignored signals stay ignored, except for the
 * two that cleave itself ignores. */
static void reset_handlers(bool cleared)
{
    const struct action standard = { .handler = 0 };

    if (cleared) {
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

/* The group of the child is never the foreground group of the terminal. With the defaults, a
 * command that uses the terminal would be stopped for ever; so it may write, and reads fail. */
static void ignore_terminal_stops(void)
{
    const struct action ignored = { .handler = (uintptr_t)SIG_IGN };

    call(SYS_rt_sigaction, SIGTTIN, (long)&ignored, 0, MASK_BYTES);
    call(SYS_rt_sigaction, SIGTTOU, (long)&ignored, 0, MASK_BYTES);
}

static long place_files(const int files[4])
{
    for (int i = 0; i < 4; i++) {
        long got = 0;

        if (files[i] == i) /* clear FD_CLOEXEC */
            got = call(SYS_fcntl, i, F_SETFD, 0, 0);
        else if (files[i] >= 0)
            got = call(SYS_dup3, files[i], i, 0, 0);
        if (got < 0)
            return got;
    }
    return 0;
}

/* Everything that does not depend on the program. */
static long prepare_child(const struct cv_start *start)
{
    const long got = call(SYS_setpgid, 0, 0, 0, 0);

    reset_handlers(start->handlers_cleared);
    ignore_terminal_stops();
    return got == 0 ? place_files(start->what.files) : got;
}

/* `got`: 0, or the negative errno of an earlier step. */
static int run_program(struct cv_start *start, long got)
{
    const struct cv_start_request *what = &start->what;

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
    return 127;
}

static int child_main(void *context)
{
    struct cv_start *start = context;

    return run_program(start, prepare_child(start));
}

/* A waiting child must not survive its parent. */
static long end_with_parent(const struct cv_start *start)
{
    const long got = call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

    return got == 0 && call(SYS_getppid, 0, 0, 0, 0) != start->starter->own_pid ? -ESRCH
                                                                                : got;
}

/* Close what exec would close: a waiting child would keep pipes of other commands open. */
static long close_others(const struct cv_starter *starter)
{
    long got = 0;
    int from = 3;

    for (size_t i = 0; i < starter->ninherited && got == 0; i++) {
        if (starter->inherited[i] > from)
            got = call(SYS_close_range, from, starter->inherited[i] - 1, 0, 0);
        from = starter->inherited[i] + 1;
    }
    return got == 0 ? call(SYS_close_range, from, UINT32_MAX, 0, 0) : got;
}

static int waiting_child_main(void *context)
{
    struct cv_start *start = context;
    long got = end_with_parent(start);

    if (got == 0)
        got = prepare_child(start);
    if (got == 0)
        got = close_others(start->starter);
    if (got != 0) {
        atomic_store(&start->error, (int)-got);
        return 0;
    }
    atomic_store(&start->ready, true);
    while (atomic_load(&start->go) == 0)
        call(SYS_futex, (long)&start->go, FUTEX_WAIT_PRIVATE, 0, 0);
    return run_program(start, call(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0));
}

/* --- starts -------------------------------------------------------------------------- */

struct cv_starter *cv_starter_new(unsigned cores)
{
    const char *plain = getenv("CLEAVE_PLAIN_START");
    const bool wanted = KNOWN_MACHINE && (plain == NULL || plain[0] == '\0');
    struct cv_starter *starter = wanted ? calloc(1, sizeof *starter) : NULL;

    if (starter == NULL)
        return NULL;
    starter->cores = cores;
    starter->stacks = mmap(NULL, (size_t)STARTS * STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (starter->stacks == MAP_FAILED) {
        free(starter);
        return NULL;
    }
    for (size_t i = 0; i < STARTS; i++)
        starter->starts[i] = (struct cv_start){ .starter = starter,
                                                .stack = starter->stacks + i * STACK,
                                                .out = -1,
                                                .errors = { -1, -1 } };
    return starter;
}

static void wait_until_unshared(struct cv_start *start)
{
    int shares;

    while ((shares = atomic_load(&start->shares)) != 0)
        syscall(SYS_futex, &start->shares, FUTEX_WAIT, shares, NULL, NULL, 0);
}

static void take_spare(struct cv_starter *starter, struct error_pipe *out)
{
    int ends[2] = { -1, -1 };

    if (starter->nspare > 0) {
        *out = starter->spare[--starter->nspare];
        return;
    }
    if (pipe2(ends, O_CLOEXEC) == 0)
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *out = (struct error_pipe){ ends[0], ends[1] };
}

static void close_errors(struct error_pipe *pipe)
{
    if (pipe->read >= 0)
        close(pipe->read);
    if (pipe->write >= 0)
        close(pipe->write);
    *pipe = (struct error_pipe){ -1, -1 };
}

static void leave_spare(struct cv_starter *starter, struct error_pipe *pipe)
{
    if (pipe->read < 0 || starter->nspare == AHEAD) {
        close_errors(pipe);
        return;
    }
    starter->spare[starter->nspare++] = *pipe;
    *pipe = (struct error_pipe){ -1, -1 };
}

void cv_starter_exchange_errors(struct cv_start *start, int *read, int *write)
{
    struct error_pipe theirs = { *read, *write };

    *read = start->errors.read;
    *write = start->errors.write;
    start->errors = (struct error_pipe){ -1, -1 };
    leave_spare(start->starter, &theirs);
}

/* Reap a child that was made ahead and has no program. */
static void reap(struct cv_start *start)
{
    leave_spare(start->starter, &start->errors);
    (void)TEMP_FAILURE_RETRY(waitpid(start->pid, NULL, 0));
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
    while (starter->nspare > 0)
        close_errors(&starter->spare[--starter->nspare]);
}

void cv_starter_free(struct cv_starter *starter)
{
    if (starter == NULL)
        return;
    leave_all(starter);
    for (size_t i = 0; i < STARTS; i++) {
        wait_until_unshared(&starter->starts[i]);
        close_errors(&starter->starts[i].errors);
    }
    munmap(starter->stacks, (size_t)STARTS * STACK);
    free(starter);
}

static bool is_free(const struct cv_start *start)
{
    return start->out < 0 && atomic_load(&start->shares) == 0 &&
           (start->pid == 0 || atomic_load(&start->error) == 0);
}

/* A free start; waits for one if necessary. NULL: all failed, and cv_starter_over was not called
 * for them yet. */
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
        wait_until_unshared(&starter->starts[i]);
        if (is_free(&starter->starts[i]))
            return &starter->starts[i];
    }
    return NULL;
}

/* The kernel resets the signal handlers of the child. -1 with errno: no child. */
static pid_t begin_clone3(struct cv_start *start, int (*enter)(void *))
{
    const uint64_t clear_handlers = UINT64_C(1) << 32;
    const struct clone_arguments arguments = {
        .flags = CLONE_VM | CLONE_CHILD_CLEARTID | clear_handlers,
        .child_tid = (uintptr_t)&start->shares,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)start->stack,
        .stack_size = STACK,
    };
    long got;

    start->handlers_cleared = true;
    got = call_clone3(&arguments, enter, start);
    errno = got < 0 ? (int)-got : errno;
    return got < 0 ? -1 : (pid_t)got;
}

/* All signals are blocked until the child has reset its handlers. */
static pid_t begin_clone(struct cv_start *start)
{
    /* The kernel clears an int, and atomic_int is one. */
    pid_t *const shares = (pid_t *)(void *)&start->shares;
    sigset_t all, before;
    pid_t pid;
    int error;

    start->handlers_cleared = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(child_main, start->stack + STACK,
                CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, start, NULL, NULL, shares);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* Whether the error concerns the system call, not this child. */
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

int cv_starter_start(struct cv_starter *starter, const struct cv_start_request *what,
                     pid_t *out_pid, struct cv_start **out)
{
    struct cv_start *start = starter->refused ? NULL : find_free(starter);
    pid_t pid;

    if (start == NULL)
        return ENOSYS;
    start->what = *what;
    clear(start);
    pid = starter->no_clone3 ? -1 : begin_clone3(start, child_main);
    starter->no_clone3 = starter->no_clone3 || (pid < 0 && is_refusal(errno));
    if (starter->no_clone3)
        pid = begin_clone(start);
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

/* A child that runs its program has made its group. */
void cv_starter_settle(const struct cv_start *start, pid_t pid)
{
    if (start->pid == pid && atomic_load(&start->shares) != 0)
        setpgid(pid, pid);
}

/* A start that was used again since belonged to a child that ran its program. */
int cv_starter_over(struct cv_start *start, pid_t pid)
{
    start->starter->alive--;
    if (start->pid != pid)
        return 0;
    start->pid = 0;
    return atomic_load(&start->error);
}

/* --- children made ahead ------------------------------------------------------------- */

/* Insert into the sorted list; false: it is full. */
static bool add_inherited(struct cv_starter *starter, int fd)
{
    size_t at = starter->ninherited;

    if (at == INHERITED)
        return false;
    for (; at > 0 && starter->inherited[at - 1] > fd; at--)
        starter->inherited[at] = starter->inherited[at - 1];
    starter->inherited[at] = fd;
    starter->ninherited++;
    return true;
}

/* False: the descriptors cannot be listed, or there are too many. */
static bool list_inherited(struct cv_starter *starter)
{
    DIR *directory = opendir("/proc/self/fd");
    bool ok = directory != NULL;
    struct dirent *entry;

    while (ok && (entry = readdir(directory)) != NULL) {
        const int fd = (int)strtol(entry->d_name, NULL, 10);
        const int flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            ok = add_inherited(starter, fd);
    }
    if (directory != NULL)
        closedir(directory);
    starter->listed = true;
    starter->own_pid = getpid();
    return ok;
}

static bool is_worth_it(const struct cv_starter *starter)
{
    return starter->wanted && !starter->direct && !starter->refused &&
           !starter->no_clone3 && starter->nahead < AHEAD &&
           starter->nahead < starter->alive &&
           starter->alive <= (size_t)CORES_TIMES * starter->cores &&
           starter->streak >= starter->alive + ENDED;
}

/* A child with the input `nothing` and a pipe for its output; NULL: a limit was reached. */
static struct cv_start *begin_ahead(struct cv_starter *starter, int nothing)
{
    struct cv_start *start = find_free(starter);
    int ends[2];

    if (start == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    if (start->errors.read < 0)
        take_spare(starter, &start->errors);
    start->what = (struct cv_start_request){ .files = { nothing, ends[1],
                                                        start->errors.write, -1 } };
    start->out = ends[0];
    atomic_store(&start->ready, false);
    atomic_store(&start->go, 0);
    clear(start);
    start->pid =
        ends[0] > 2 && ends[1] > 2 ? begin_clone3(start, waiting_child_main) : -1;
    close(ends[1]);
    if (start->pid > 0)
        return start;
    close(start->out);
    leave_spare(starter, &start->errors);
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
    if (!starter->listed && !list_inherited(starter)) {
        starter->direct = true;
        return false;
    }
    start = begin_ahead(starter, nothing);
    if (start == NULL) { /* leave processes and descriptors to commands */
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

/* Remove children that failed or were killed. */
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
    starter->wanted = true;
    if (starter->nahead > 0)
        drop_ended(starter);
    for (size_t i = 0; i < starter->nahead; i++) {
        struct cv_start *start = starter->ahead[i];

        if (!atomic_load(&start->ready))
            continue;
        starter->ahead[i] = starter->ahead[--starter->nahead];
        *out = start->out;
        start->out = -1;
        return start;
    }
    return NULL;
}

pid_t cv_starter_go(struct cv_start *start, const struct cv_start_request *what)
{
    start->what = *what;
    count_start(start->starter);
    atomic_store(&start->go, 1);
    syscall(SYS_futex, &start->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return start->pid;
}
