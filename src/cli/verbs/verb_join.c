/* verb_join.c -- cleave join. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/shell_word.h"
#include "base/text.h"
#include "base/words.h"
#include "base/write_all.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"
#include "run/hosts/host_spec.h"
#include "run/hosts/joining.h"
#include "run/worker/worker_serve.h"

enum { AT_A_TIME = 64 * 1024 };

struct values {
    uint64_t slots;
    const char *ssh, *program;
    int pump;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--workers", .letter = 'j', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = offsetof(struct values, slots), .min = 1, .max = CV_HOST_SLOTS_MOST,
      .help = "How many commands run here at a time. Default: one for each core that this "
              "process may use." },
    { .name = "--ssh", .kind = CV_OPTION_TEXT, .argument = "WORDS",
      .offset = offsetof(struct values, ssh),
      .help = "How to reach the machine of the run, for instance 'ssh -F FILE'. Default: "
              "ssh, which never asks for a password here." },
    { .name = "--remote", .kind = CV_OPTION_TEXT, .argument = "PROGRAM",
      .offset = offsetof(struct values, program),
      .help = "Where cleave is on that machine. Default: cleave, found in PATH there." },
    { .name = "--pump", .value = 1, .offset = offsetof(struct values, pump),
      .help = "Only connect standard input and output to the socket: what runs at the other "
              "end of ssh." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Joining", options },
    { NULL, NULL },
};

/* --- at the end of ssh -------------------------------------------------------------------- */

static void copy_all(int from, int to)
{
    static char bytes[AT_A_TIME];
    ssize_t got;

    while ((got = read(from, bytes, sizeof bytes)) > 0)
        if (cv_write_all(to, bytes, (size_t)got) != 0)
            return;
}

/* A process for each way, so that neither waits for the other. */
static int pump(int fd)
{
    const pid_t child = fork();

    if (child < 0)
        return cv_print_error(CV_EXIT_FAILED, "cannot start a process");
    if (child == 0) {
        copy_all(STDIN_FILENO, fd);
        shutdown(fd, SHUT_WR);
        _exit(0);
    }
    copy_all(fd, STDOUT_FILENO);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return CV_EXIT_DONE;
}

/* --- by ssh ------------------------------------------------------------------------------- */

/* ssh and its words, and what runs there; NULL: there was no memory. */
static const char *const *make_words(const struct values *values, const char *host,
                                     const char *path, struct cv_arena *arena)
{
    struct cv_words words = { .arena = arena };
    struct cv_text line = { NULL, 0, 0, false };

    cv_words_split(&words, values->ssh != NULL ? values->ssh : "ssh");
    cv_words_split(&words, "-T -o BatchMode=yes --");
    cv_words_add(&words, host);
    cv_text_add(&line, "exec %s join --pump -- ",
                values->program != NULL ? values->program : "cleave");
    cv_shell_word_add(&line, path);
    cv_words_take(&words, &line);
    return cv_words_done(&words);
}

/* Start it; *out is the end that is ours. */
static int start(const char *const *words, int *out, pid_t *pid)
{
    int ends[2], failed;
    posix_spawn_file_actions_t actions;
    union {
        const char *const *in;
        char *const *out;
    } argv = { words };

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cv_print_error(CV_EXIT_FAILED, "cannot make a socket");
    failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        failed = failed != 0
                     ? failed
                     : posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        failed = failed != 0
                     ? failed
                     : posix_spawnp(pid, words[0], &actions, NULL, argv.out, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failed == 0) {
        *out = ends[0];
        return CV_EXIT_DONE;
    }
    close(ends[0]);
    return cv_print_error(CV_EXIT_ENGINE, "cannot run '%s': %s", words[0],
                          strerror(failed));
}

/* --- serving ------------------------------------------------------------------------------ */

/* Work until the run is over; `fd` is taken over. */
static enum cleave_status serve(const struct values *values, int fd, bool by_login,
                                struct cleave_error *err)
{
    struct cv_worker_options serving = { .in = fd,
                                         .out = fd,
                                         .by_login = by_login,
                                         .guard = true,
                                         .slots = (uint32_t)values->slots };

    return cv_worker_serve(&serving, err);
}

static int judge(enum cleave_status status, const struct cleave_error *err)
{
    return status == CLEAVE_OK ? CV_EXIT_DONE
                               : cv_print_error(CV_EXIT_FAILED, "join: %s", err->text);
}

static int serve_by_ssh(const struct cv_call *call, const char *host, const char *path)
{
    const char *const *words;
    struct cleave_error err;
    enum cleave_status served;
    pid_t pid = -1;
    int fd = -1, ended = 0, status;

    if (host[0] == '-' || host[0] == '\0')
        return cv_print_error(CV_EXIT_USAGE, "expected PATH or HOST:PATH, got '%s:%s'",
                              host, path);
    words = make_words(call->values, host, path, call->arena);
    if (words == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the command");
    status = start(words, &fd, &pid);
    if (status != CV_EXIT_DONE)
        return status;
    served = serve(call->values, fd, true, &err);
    /* Why there was no connection is for ssh to say. */
    if (waitpid(pid, &ended, 0) == pid && WIFEXITED(ended) && WEXITSTATUS(ended) != 0)
        return cv_print_error(CV_EXIT_ENGINE, "join: '%s' exited with status %d",
                              words[0], WEXITSTATUS(ended));
    return judge(served, &err);
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    const char *where = call->noperands > 0 ? call->operands[0] : "";
    const char *colon = strchr(where, ':'), *slash = strchr(where, '/');
    struct cleave_error err;
    int fd;

    if (where[0] == '\0')
        return cv_print_error(CV_EXIT_USAGE, "expected the socket of a run: [HOST:]PATH");
    if (colon != NULL && (slash == NULL || colon < slash) && !values->pump) {
        char *host = cv_arena_text(call->arena, where);

        if (host == NULL)
            return cv_print_error(CV_EXIT_FAILED, "out of memory for the host");
        host[colon - where] = '\0';
        return serve_by_ssh(call, host, colon + 1);
    }
    if (cv_join_port_reach(where, &fd, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return values->pump ? pump(fd) : judge(serve(values, fd, false, &err), &err);
}

const struct cv_verb cv_verb_join = {
    .name = "join",
    .summary = "work for a 'cleave run' that is under way",
    .description =
        "Joins a run that was started with --join-socket PATH, as one more machine "
        "with its slots, and ends with it. On the machine of the run PATH is all that "
        "is needed. From elsewhere it is HOST:PATH: ssh connects to that machine, "
        "where another 'cleave join' opens the socket, so that nothing listens on a "
        "network. What is not done when it is ended by a signal goes to others.",
    .operands = "[HOST:]PATH",
    .max_operands = 1,
    .groups = groups,
    .examples = "cleave run -q -i examples/plan.c --join-socket run.socket -- wc -l",
    .values_size = sizeof(struct values),
    .run = run,
};
