/* process.c -- start commands, hear of their end, stop them with all they started.
 * SPDX-License-Identifier: MIT */
#include "run/common/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/cannot_run.h"

/* How long a result that somebody else is to take first is waited for: turns, and one of them. */
enum { TRACED_TURNS = 2000, TRACED_MS = 1 };

/* --- pipes -------------------------------------------------------------------------------- */

/* Limits, which let another one pass when something has ended; and a program that somebody writes
 * to, as a compiler does. */
static bool is_scarce(int error)
{
    return error == EAGAIN || error == EMFILE || error == ENFILE || error == ETXTBSY;
}

static enum cleave_status fail_pipe(int error, struct cleave_error *err)
{
    return cv_fail(err, is_scarce(error) ? CLEAVE_ERESOURCES : CLEAVE_EENGINE,
                   "cannot make a pipe: %s%s", strerror(error),
                   error == EMFILE ? " (ulimit -n says how many)" : "");
}

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err)
{
    int ends[2], error = 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail_pipe(errno, err);
    /* 0 to 2 are free if this process was started without them, but would be overwritten
     * in the order in which a child gets its own. */
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
    return fail_pipe(error, err);
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

void cv_pipe_widen(int fd, size_t bytes)
{
    (void)fcntl(fd, F_SETPIPE_SZ, (int)bytes);
}

bool cv_never_wait(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* --- processes ---------------------------------------------------------------------------- */

static int add_files(posix_spawn_file_actions_t *actions,
                     const struct cv_process_files *files)
{
    int error = files->in >= 0 ? posix_spawn_file_actions_adddup2(actions, files->in, 0)
                               : posix_spawn_file_actions_addopen(actions, 0, "/dev/null",
                                                                  O_RDONLY, 0);

    if (error == 0)
        error =
            files->out >= 0
                ? posix_spawn_file_actions_adddup2(actions, files->out, 1)
                : posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (error == 0 && files->errors >= 0)
        error = posix_spawn_file_actions_adddup2(actions, files->errors, 2);
    if (error == 0 && files->extra >= 0)
        error = posix_spawn_file_actions_adddup2(actions, files->extra, 3);
    return error;
}

static int set_attributes(posix_spawnattr_t *attributes, const sigset_t *mask)
{
    sigset_t none, defaults;
    int error;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ); /* which cleave ignores */
    error = posix_spawnattr_setpgroup(attributes, 0);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, mask != NULL ? mask : &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (error == 0)
        error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
                                                         POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF);
    return error;
}

static int spawn(pid_t *pid, const struct cv_command *command,
                 const struct cv_process_files *files, const sigset_t *mask)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    error = add_files(&actions, files);
    if (error == 0)
        error = set_attributes(&attributes, mask);
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

/* The same, away from the terminal as those of a starter: what is ignored stays so in a child. */
static int spawn_away(pid_t *pid, const struct cv_command *command,
                      const struct cv_process_files *files, const sigset_t *mask)
{
    const struct sigaction ignored = { .sa_handler = SIG_IGN };
    struct sigaction reads, writes;
    int error;

    if (sigaction(SIGTTIN, &ignored, &reads) != 0 ||
        sigaction(SIGTTOU, &ignored, &writes) != 0)
        return errno;
    error = spawn(pid, command, files, mask);
    (void)sigaction(SIGTTIN, &reads, NULL);
    (void)sigaction(SIGTTOU, &writes, NULL);
    return error;
}

enum cleave_status cv_process_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err)
{
    const enum cleave_status status =
        cv_cannot_start(command->argv[0], command->path, error, err);

    if (!is_scarce(error))
        return status;
    if (err != NULL)
        err->status = CLEAVE_ERESOURCES;
    return CLEAVE_ERESOURCES;
}

/* The same on the processors of the command: a child has those of the thread that starts
 * it. */
static int spawn_there(pid_t *pid, const struct cv_command *command,
                       const struct cv_process_files *files, const sigset_t *mask)
{
    cpu_set_t before;
    int error = 0;

    if (command->cpus == NULL)
        return spawn_away(pid, command, files, mask);
    if (sched_getaffinity(0, sizeof before, &before) != 0 ||
        sched_setaffinity(0, sizeof *command->cpus, command->cpus) != 0)
        return errno;
    error = spawn_away(pid, command, files, mask);
    (void)sched_setaffinity(0, sizeof before, &before);
    return error;
}

/* Without waiting, where that is possible. */
static int begin(struct cv_process *process, const struct cv_command *command,
                 const struct cv_process_files *files, const sigset_t *mask)
{
    static const sigset_t none;
    const struct cv_starting what = {
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
    return error == ENOSYS ? spawn_there(&process->pid, command, files, mask) : error;
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
        return cv_process_fail_start(command, error, err);
    }
    process->guard = files->guard;
    process->guarded = cv_guard_add(files->guard, process->pid);
    status = files->late ? CLEAVE_OK : cv_process_listen(process, err);
    if (status != CLEAVE_OK)
        cv_process_kill(process);
    if (status != CLEAVE_ERESOURCES)
        return status;
    /* It had begun: whoever waits for room and tries again would do it twice. */
    if (err != NULL)
        err->status = CLEAVE_EENGINE;
    return CLEAVE_EENGINE;
}

enum cleave_status cv_process_listen(struct cv_process *process, struct cleave_error *err)
{
    assert(process->pidfd < 0);
    return cv_process_end_open(&process->end, process->pid, &process->pidfd, err);
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

/* Who traces a process, as strace and debuggers do, is the first to take its result, and it is
 * there for us a moment after. Whether it has ended and that is so, and another turn is worth it. */
static bool is_traced(const struct cv_process *process, int *turns)
{
    struct pollfd end = { .fd = process->pidfd, .events = POLLIN };

    if (process->pidfd < 0 || *turns >= TRACED_TURNS || poll(&end, 1, 0) <= 0)
        return false;
    ++*turns;
    (void)poll(NULL, 0, TRACED_MS);
    return true;
}

/* One whose result somebody else took is gone, and nobody knows how. */
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
    process->failed =
        got == 0 && process->ended && (info.si_code != CLD_EXITED || info.si_status != 0);
    return process->ended;
}

bool cv_process_failed(struct cv_process *process)
{
    return process->pid > 0 && cv_process_is_over(process) && process->failed;
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
    /* Somebody else took the result if there is none: the process is gone anyway. */
    process->exit_code = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    process->signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (process->start != NULL)
        process->start_error = cv_starter_over(process->start, process->pid);
    process->start = NULL;
    process->pid = 0;
    cv_guard_remove(process->guard, process->guarded);
    process->guarded = 0;
    cv_process_end_close(&process->end);
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
