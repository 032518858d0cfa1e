/* process.c -- pipes, processes, and a guard that ends them. SPDX-License-Identifier: MIT */
#include "run/common/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/threads.h"

/* --- pipes --------------------------------------------------------------------------- */

enum cleave_status cv_pipe_fail(int error, struct cleave_error *err)
{
    return cv_fail(err, cv_is_scarce(error) ? CLEAVE_ERESOURCES : CLEAVE_EENGINE,
                   "cannot make a pipe: %s%s", strerror(error),
                   error == EMFILE ? " (see: ulimit -n)" : "");
}

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err)
{
    int ends[2], error = 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return cv_pipe_fail(errno, err);
    /* Descriptors 0 to 2 are free if this process was started without them. A child would
     * overwrite them while it places its own. */
    for (int i = 0; i < 2; i++)
        if (ends[i] <= 2) {
            const int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);

            error = higher < 0 ? errno : error;
            close(ends[i]);
            ends[i] = higher;
        }
    *out = (struct cv_pipe){ ends[0], ends[1] };
    if (error == 0)
        return CLEAVE_OK;
    cv_pipe_close(out);
    return cv_pipe_fail(error, err);
}

void cv_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void cv_pipe_close(struct cv_pipe *pipe)
{
    cv_close(&pipe->read);
    cv_close(&pipe->write);
}

enum cleave_status cv_pipe_look(int fd, bool *readable, bool *end,
                                struct cleave_error *err)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    const long ready = TEMP_FAILURE_RETRY(poll(&wait, 1, 0));

    *readable = ready > 0 && (wait.revents & POLLIN) != 0;
    *end = ready > 0 && !*readable;
    return ready >= 0 ? CLEAVE_OK : cv_fail_errno(err, errno, "cannot read an output");
}

void cv_pipe_widen(int fd, size_t bytes)
{
    (void)fcntl(fd, F_SETPIPE_SZ, (int)bytes);
}

bool cv_never_wait(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* --- guard --------------------------------------------------------------------------- */

enum {
    GROUPS = 16384, /* two groups for each of the workers there can be, twice */
    LOOKS = 50,     /* at groups that were sent SIGTERM */
    LOOK_MS = 20,
    MOST_FILES = 1 << 20, /* closed one by one if close_range does not exist */
};

struct cv_guard {
    atomic_int *groups; /* owned, shared with the guard: 0 or a group */
    size_t next;        /* where the search for a free place begins */
    int alive;          /* owned: a pipe that is never written to */
    pid_t pid;
};

/* Close all but descriptor 0. */
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

/* False: no group is left. */
static bool send(const atomic_int *groups, int signal)
{
    bool any = false;

    for (size_t i = 0; i < GROUPS; i++) {
        const int group = atomic_load(&groups[i]);

        /* A process that was just started may not have made its group. */
        if (group > 0 &&
            (kill(-group, signal) == 0 || (errno == ESRCH && kill(group, signal) == 0)))
            any = true;
    }
    return any;
}

/* The process has one thread and may only call async-signal-safe functions. All signals are
 * blocked. */
static _Noreturn void run_guard(const atomic_int *groups, int alive)
{
    const struct timespec pause = { 0, 1000000L * LOOK_MS };
    char byte;

    setsid();
    prctl(PR_SET_NAME, "cleave-guard");
    if (dup2(alive, 0) != 0 || chdir("/") != 0)
        _exit(1);
    close_files();
    (void)TEMP_FAILURE_RETRY(read(0, &byte, 1));
    if (send(groups, SIGTERM)) {
        send(groups, SIGCONT);
        for (int i = 0; i < LOOKS && send(groups, 0); i++)
            nanosleep(&pause, NULL);
        send(groups, SIGKILL);
    }
    _exit(0);
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
    sigset_t all, before;
    struct cv_pipe pipe;

    CV_TRY(cv_pipe_open(&pipe, err));
    guard->alive = pipe.write;
    /* No handler of this process may run in the guard. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard->pid = _Fork();
    if (guard->pid == 0)
        run_guard(guard->groups, pipe.read);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe.read);
    if (guard->pid < 0)
        return cv_fail_errno(err, errno, "cannot start a process");
    return CLEAVE_OK;
}

void cv_guard_free(struct cv_guard *guard)
{
    if (guard == NULL)
        return;
    if (guard->pid > 0) {
        kill(guard->pid, SIGKILL);
        (void)TEMP_FAILURE_RETRY(waitpid(guard->pid, NULL, 0));
    }
    cv_close(&guard->alive);
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

struct waiter {
    pid_t pid;
    int done; /* owned: closed when the process has ended */
};

/* Does not reap the process. */
static void *wait_for(void *context)
{
    struct waiter *waiter = context;
    siginfo_t info;

    (void)TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)waiter->pid, &info, WEXITED | WNOWAIT));
    close(waiter->done);
    free(waiter);
    return NULL;
}

static enum cleave_status watch_by_thread(struct cv_process *process,
                                          struct cleave_error *err)
{
    struct waiter *waiter;
    struct cv_pipe pipe;
    int error;

    CV_TRY(cv_pipe_open(&pipe, err));
    waiter = malloc(sizeof *waiter);
    if (waiter != NULL)
        *waiter = (struct waiter){ process->pid, pipe.write };
    error = waiter == NULL
                ? ENOMEM
                : cv_nosignal_thread_create(&process->waiter, wait_for, waiter);
    process->has_waiter = error == 0;
    process->pidfd = pipe.read;
    if (error == 0)
        return CLEAVE_OK;
    free(waiter);
    cv_close(&pipe.write);
    cv_close(&process->pidfd);
    return cv_fail_errno(err, error, "cannot watch a process");
}

enum cleave_status cv_process_listen(struct cv_process *process, struct cleave_error *err)
{
    assert(process->pidfd < 0);
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd >= 0)
        return CLEAVE_OK;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        return cv_fail(err, errno == ENOMEM ? CLEAVE_EENGINE : CLEAVE_ERESOURCES,
                       "cannot watch a process: %s%s", strerror(errno),
                       errno == EMFILE ? " (see: ulimit -n)" : "");
    return watch_by_thread(process, err);
}

/* --- processes ----------------------------------------------------------------------- */

static int add_files(posix_spawn_file_actions_t *actions,
                     const struct cv_process_files *files)
{
    const int fds[] = { files->in, files->out, files->errors, files->extra };
    int error = 0;

    for (int i = 0; i < 4 && error == 0; i++)
        if (fds[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, fds[i], i);
        else if (i < 2)
            error = posix_spawn_file_actions_addopen(actions, i, "/dev/null",
                                                     i == 0 ? O_RDONLY : O_WRONLY, 0);
    return error;
}

static int spawn(pid_t *pid, const struct cv_command *command,
                 const struct cv_process_files *files, const sigset_t *mask)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int error;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ); /* ignored by cleave */
    /* These fail for bad arguments only. */
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, mask != NULL ? mask : &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                    POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_init(&actions);
    error = add_files(&actions, files);
    if (error == 0)
        error = posix_spawn(pid, command->path, &actions, &attributes, command->argv,
                            command->environment);
    if (error == ENOEXEC && !command->elf)
        error = posix_spawn(pid, command->script[0], &actions, &attributes,
                            command->script, command->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* The child inherits ignored signals and the affinity of this thread: away from the terminal, as
 * the children of a starter, and on the processors of the command. */
static int spawn_inheriting(pid_t *pid, const struct cv_command *command,
                            const struct cv_process_files *files, const sigset_t *mask)
{
    const struct sigaction ignored = { .sa_handler = SIG_IGN };
    struct sigaction reads, writes;
    cpu_set_t before;
    int error;

    if (command->cpus != NULL &&
        (sched_getaffinity(0, sizeof before, &before) != 0 ||
         sched_setaffinity(0, sizeof *command->cpus, command->cpus) != 0))
        return errno;
    (void)sigaction(SIGTTIN, &ignored, &reads);
    (void)sigaction(SIGTTOU, &ignored, &writes);
    error = spawn(pid, command, files, mask);
    (void)sigaction(SIGTTIN, &reads, NULL);
    (void)sigaction(SIGTTOU, &writes, NULL);
    if (command->cpus != NULL)
        (void)sched_setaffinity(0, sizeof before, &before);
    return error;
}

/* Start without waiting, if possible. */
static int begin(struct cv_process *process, const struct cv_command *command,
                 const struct cv_process_files *files, const sigset_t *mask)
{
    static const sigset_t none;
    const struct cv_start_request what = {
        .path = command->path,
        .argv = command->argv,
        .script = command->elf ? NULL : command->script,
        .environment = command->environment,
        .files = { files->in, files->out, files->errors, files->extra },
        .mask = mask != NULL ? mask : &none,
        .cpus = command->cpus,
    };
    int error = ENOSYS;

    if (files->ahead != NULL) {
        process->start = files->ahead;
        process->pid = cv_starter_go(files->ahead, &what);
        return 0;
    }
    if (files->starter != NULL && files->in >= 0 && files->out >= 0)
        error = cv_starter_start(files->starter, &what, &process->pid, &process->start);
    return error == ENOSYS ? spawn_inheriting(&process->pid, command, files, mask)
                           : error;
}

enum cleave_status cv_process_start(struct cv_process *process,
                                    const struct cv_command *command,
                                    const struct cv_process_files *files,
                                    const sigset_t *mask, struct cleave_error *err)
{
    enum cleave_status status;
    int error;

    *process = (struct cv_process){ .pidfd = -1, .exit_code = -1 };
    error = begin(process, command, files, mask);
    if (error != 0) {
        process->pid = 0;
        return cv_command_fail_start(command, error, err);
    }
    process->guard = files->guard;
    process->guarded = cv_guard_add(files->guard, process->pid);
    status = files->late ? CLEAVE_OK : cv_process_listen(process, err);
    if (status != CLEAVE_OK)
        cv_process_kill(process);
    /* The command has begun, so the caller must not try again. */
    return status == CLEAVE_ERESOURCES ? cv_fail_as(err, CLEAVE_EENGINE) : status;
}

void cv_process_signal(const struct cv_process *process, int signal)
{
    if (process->pid <= 0)
        return;
    if (process->start != NULL)
        cv_starter_settle(process->start, process->pid);
    kill(-process->pid, signal);
    if (signal == SIGTERM)
        kill(-process->pid, SIGCONT);
}

/* Turns, and milliseconds of a turn, to wait for a result that a debugger takes first. */
enum { TRACED_TURNS = 2000, TRACED_MS = 1 };

/* A debugger or strace takes the result of a process first. Whether the process has ended and its
 * result is worth another turn. */
static bool is_traced(const struct cv_process *process, int *turns)
{
    struct pollfd end = { .fd = process->pidfd, .events = POLLIN };

    if (process->pidfd < 0 || *turns >= TRACED_TURNS || poll(&end, 1, 0) <= 0)
        return false;
    ++*turns;
    (void)poll(NULL, 0, TRACED_MS);
    return true;
}

/* If another part of the program took the result, it is unknown. */
bool cv_process_is_over(struct cv_process *process)
{
    siginfo_t info = { 0 };
    int got, turns = 0;

    if (process->pid <= 0 || process->ended)
        return true;
    do
        got = waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    while ((got != 0 && errno == EINTR) ||
           (got == 0 && info.si_pid == 0 && is_traced(process, &turns)));
    process->ended = got != 0 || info.si_pid == process->pid;
    process->end_status = got != 0 || !process->ended  ? 0
                          : info.si_code == CLD_EXITED ? info.si_status
                                                       : -1;
    return process->ended;
}

bool cv_process_failed(struct cv_process *process, const struct cleave_statuses *ok)
{
    return process->pid > 0 && cv_process_is_over(process) &&
           !cv_status_is_ok(process->end_status, ok);
}

static bool reap(struct cv_process *process, int flags)
{
    int status = 0, turns = 0;
    pid_t got;

    do
        got = wait4(process->pid, &status, flags, &process->usage);
    while ((got < 0 && errno == EINTR) || (got == 0 && is_traced(process, &turns)));
    if (got == 0)
        return false;
    /* no result: another part of the program took it */
    process->exit_code = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    process->signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (process->start != NULL)
        process->start_error = cv_starter_over(process->start, process->pid);
    process->start = NULL;
    process->pid = 0;
    cv_guard_remove(process->guard, process->guarded);
    process->guarded = 0;
    if (process->has_waiter)
        pthread_join(process->waiter, NULL);
    process->has_waiter = false;
    cv_close(&process->pidfd);
    return true;
}

bool cv_process_reap(struct cv_process *process)
{
    assert(process->pid > 0);
    return reap(process, WNOHANG);
}

void cv_process_kill(struct cv_process *process)
{
    if (process->pid <= 0)
        return;
    cv_process_signal(process, SIGKILL);
    (void)reap(process, 0);
}
