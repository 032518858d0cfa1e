/* chaos_run.c -- start a job, let the fault happen, and see everything end.
 * SPDX-License-Identifier: MIT
 *
 * This process adopts orphans of its children (PR_SET_CHILD_SUBREAPER), so that a run has
 * left nothing when there are no children. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "chaos/chaos.h"
#include "chaos/chaos_processes.h"

/* --- beginning ---------------------------------------------------------------------------- */

static int open_in(const struct trial *trial, const char *name, int flags)
{
    char path[2 * WORD];
    int fd;

    snprintf(path, sizeof path, "%s/%s", trial->folder, name);
    fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    return fd;
}

/* Feed a pipe, with a pause in the middle. */
static pid_t start_feeder(const struct trial *trial, int to)
{
    const struct bytes *input = &trial->job.input[0];
    const size_t half = input->length / 2;
    const pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (size_t done = 0; done < input->length;) {
        const size_t stop = done < half ? half : input->length;
        const ssize_t put = write(to, input->at + done, stop - done);

        if (put <= 0)
            break;
        done += (size_t)put;
        if (done == half && trial->job.feed_stall_us > 0)
            sleep_s(1e-6 * trial->job.feed_stall_us);
    }
    _exit(0);
}

/* A reader that reads a little and exits. */
static pid_t start_reader(struct trial *trial, int from)
{
    const size_t max = chance_below(&trial->chance, 3000);
    const pid_t pid = fork();
    char part[256];

    if (pid != 0)
        return pid;
    for (size_t got = 0; got < max;) {
        const ssize_t n = read(from, part, sizeof part);

        if (n <= 0)
            break;
        got += (size_t)n;
    }
    _exit(0);
}

struct ends {
    int in, out, err;
    pid_t feeder, reader;
};

static void open_ends(struct trial *trial, bool first, struct ends *ends)
{
    const struct job *job = &trial->job;
    char name[64];
    int both[2];

    *ends = (struct ends){ 0 };
    err_name(trial, first, name, sizeof name);
    ends->err = open_in(trial, name, O_WRONLY | O_CREAT | O_TRUNC);
    if (first && trial->reader_leaves) {
        if (pipe2(both, O_CLOEXEC) != 0)
            give_up("no pipe: %s", strerror(errno));
        ends->reader = start_reader(trial, both[0]);
        close(both[0]);
        ends->out = both[1];
    } else if (first && trial->full_output) {
        ends->out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    } else {
        ends->out =
            open_in(trial, job->to_file ? "json" : "out", O_WRONLY | O_CREAT | O_TRUNC);
    }
    if (job->from == FROM_PIPE) {
        if (pipe2(both, O_CLOEXEC) != 0)
            give_up("no pipe: %s", strerror(errno));
        ends->feeder = start_feeder(trial, both[1]);
        close(both[1]);
        ends->in = both[0];
    } else if (job->from == FROM_FILE_STDIN) {
        ends->in = open_in(trial, "in0", O_RDONLY);
    } else {
        ends->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
}

static void become(const struct trial *trial, bool first, const struct ends *ends,
                   char **words)
{
    char place[2 * WORD];

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* A process started in the background ignores it, and a run would inherit that. */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    dup2(ends->in, STDIN_FILENO);
    dup2(ends->out, STDOUT_FILENO);
    dup2(ends->err, STDERR_FILENO);
    snprintf(place, sizeof place, "%s/tmp", trial->folder);
    setenv("TMPDIR", place, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    if (first && trial->file_size > 0) {
        const struct rlimit limit = { trial->file_size, trial->file_size };

        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (words[0] != NULL && chdir(trial->folder) == 0)
        execvp(words[0], words);
    _exit(127);
}

static pid_t start(struct trial *trial, bool first, struct ends *ends)
{
    char *words[MOST_WORDS];
    struct bytes store = { 0 };
    pid_t master;

    job_words(trial, trial->round > 0, &store, words);
    if (setting.verbose) {
        for (size_t i = 0; words[i] != NULL; i++)
            printf("%s%s", i > 0 ? " " : "", words[i]);
        printf("\n");
        fflush(stdout);
    }
    open_ends(trial, first, ends);
    master = fork();
    if (master < 0)
        give_up("no process: %s", strerror(errno));
    if (master == 0)
        become(trial, first, ends, words);
    close(ends->in);
    close(ends->out);
    close(ends->err);
    bytes_free(&store);
    return master;
}

/* --- the fault ---------------------------------------------------------------------------- */

struct strike {
    double due_s, wake_s; /* 0: not yet, not at all */
    pid_t asleep;
};

static void change_input(const struct trial *trial)
{
    char path[2 * WORD];
    struct stat now;

    snprintf(path, sizeof path, "%s/in0", trial->folder);
    if (trial->cut_input && stat(path, &now) == 0 && truncate(path, now.st_size / 2) != 0)
        give_up("%s: %s", path, strerror(errno));
    if (trial->grow_input) {
        const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0 || write(fd, trial->job.input[0].at, 100) != 100)
            give_up("%s: %s", path, strerror(errno));
        close(fd);
    }
}

static void maybe_strike(struct trial *trial, pid_t master, struct strike *strike)
{
    char path[2 * WORD];
    struct stat calls;
    pid_t victim;

    if (strike->asleep != 0 && strike->wake_s > 0 && now_s() >= strike->wake_s) {
        kill(strike->asleep, SIGCONT);
        strike->asleep = 0;
    }
    if (!trial->strikes || trial->struck)
        return;
    snprintf(path, sizeof path, "%s/calls", trial->folder);
    if (strike->due_s == 0 && stat(path, &calls) == 0 && calls.st_size >= trial->after)
        strike->due_s = now_s() + trial->later_s;
    if (strike->due_s == 0 || now_s() < strike->due_s)
        return;
    victim = find_victim(trial, master);
    if (victim == 0)
        return;
    trial->struck = true;
    change_input(trial);
    if (trial->commands_first) {
        kill_commands(victim);
        sleep_s(1e-3 * (double)chance_below(&trial->chance, 20));
    }
    if (trial->sign != 0)
        kill(victim, trial->sign);
    if (trial->sign == SIGSTOP) {
        strike->asleep = victim;
        strike->wake_s = trial->wake_s > 0 ? now_s() + trial->wake_s : 0;
    }
}

/* --- the end ------------------------------------------------------------------------------ */

static void finish_helper(pid_t pid)
{
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* A successful command may leave processes: end them here. */
static void end_left_children(void)
{
    static struct process list[MOST_PROCESSES];
    const size_t count = descendants(list);

    for (size_t i = 0; i < count; i++)
        if (strstr(list[i].words, "habit=leave") != NULL)
            kill(list[i].pid, SIGKILL);
}

/* Until there are no children, or it has taken too long. */
static void await_all(struct trial *trial)
{
    static struct process list[MOST_PROCESSES];
    const double until_s = now_s() + setting.grace_s;
    pid_t gone;

    if (strstr(trial->job.work, "habit=leave") != NULL)
        end_left_children();
    while ((gone = waitpid(-1, NULL, WNOHANG)) >= 0 && now_s() < until_s)
        if (gone == 0)
            sleep_s(0.002);
    if (gone < 0)
        return;
    for (size_t count; (count = descendants(list)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            if (trial->left[0] == '\0' && list[i].state != 'Z')
                snprintf(trial->left, sizeof trial->left, "%c %.400s", list[i].state,
                         list[i].words);
            kill(list[i].pid, SIGKILL);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

/* The trial has taken too long. */
static void end_all(struct trial *trial)
{
    static struct process list[MOST_PROCESSES];
    const size_t count = descendants(list);

    trial->timed_out = true;
    for (size_t i = 0; i < count; i++) {
        const size_t at = strlen(trial->left);

        if (list[i].state != 'Z')
            snprintf(trial->left + at, sizeof trial->left - at, "%c %.100s; ",
                     list[i].state, list[i].words);
        kill(list[i].pid, SIGKILL);
    }
}

static void forget_calls(const struct trial *trial)
{
    char path[2 * WORD];

    snprintf(path, sizeof path, "%s/calls", trial->folder);
    unlink(path);
}

void run_job(struct trial *trial, bool first)
{
    struct strike strike = { 0 };
    struct ends ends;
    const double began_s = now_s();
    pid_t master;

    forget_calls(trial);
    master = start(trial, first, &ends);
    trial->timed_out = false;
    if (first)
        trial->struck = false;
    while (waitpid(master, &trial->status, WNOHANG) == 0) {
        if (first)
            maybe_strike(trial, master, &strike);
        if (!trial->timed_out && now_s() - began_s > setting.limit_s)
            end_all(trial);
        sleep_s(0.001);
    }
    if (strike.asleep != 0 && trial->wake_s > 0)
        kill(strike.asleep, SIGCONT);
    finish_helper(ends.feeder);
    finish_helper(ends.reader);
    await_all(trial);
    if (setting.verbose)
        printf("status %d, signal %d, %.3f s%s\n", WEXITSTATUS(trial->status),
               WIFSIGNALED(trial->status) ? WTERMSIG(trial->status) : 0,
               now_s() - began_s,
               trial->strikes && first && !trial->struck ? ", nobody was struck" : "");
}
