/* verb_worker.c -- cleave worker and cleave join. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/write_all.h"
#include "base/shell_word.h"
#include "cli/run/lead_command.h"
#include "cli/run/run_parts.h"
#include "run/common/piece_part.h"
#include "run/hosts/host_spec.h"
#include "run/hosts/joining.h"
#include "run/worker/worker_fold.h"

/* Set by 'cleave-tls relay'. */
#define CALL_VARIABLE "CLEAVE_CALL"

struct values {
    const char *hash;
    uint64_t gpus;
    const char *pin;
    int lead;
};

#define CV_VALUES struct values
/* clang-format off */
static const struct cv_option options[] = {
    CV_OPTION(0, "--hash", TEXT, "HASH", hash,
        "Serve only if this program has this hash (xxh128sum), which proves that the copy is "
        "complete."),
};

static const struct cv_option slot_options[] = {
    CV_OPTION(0, "--gpus", COUNT, "N", gpus,
        "Let the commands of each slot see one of N GPUs, in turn (CUDA_VISIBLE_DEVICES): "
        "gpus: of the platform file.", .min = 1, .max = 1024),
    CV_OPTION(0, "--pin", TEXT, "HOW", pin,
        "cores or nodes: keep the commands of each slot there, as --pin of 'cleave run' "
        "says."),
};

static const struct cv_option way_options[] = {
    CV_FLAG(0, "--lead", 1, lead,
        "Lead other workers: share each piece over the workers below this one (via: of the "
        "platform file), by 'cleave run --framed' with the words that follow, and the "
        "command of the job at the end."),
};
/* clang-format on */

/* The master takes this status for a missing program. */
_Static_assert((int)CV_EXIT_LACKS == (int)CLEAVE_HOST_LACKS, "one status, one meaning");

static int check_hash(const char *expected)
{
    struct cv_content_hasher *hasher = NULL;
    struct cv_content_hash hash;
    struct cleave_error err;
    char text[CV_CONTENT_HASH_TEXT];
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    bool good =
        size >= 0 && cv_content_hasher_new(&hasher, &err) == CLEAVE_OK &&
        cv_content_hasher_add(hasher, "cleave", fd, 0, (uint64_t)size, &err) == CLEAVE_OK;

    if (good) {
        hash = cv_content_hasher_finish(hasher);
        cv_content_hash_text(hash, text);
    }
    cv_content_hasher_free(hasher);
    if (fd >= 0)
        close(fd);
    if (!good)
        return cv_print_error(CV_EXIT_FAILED, "--hash: cannot read this program");
    if (strcmp(text, expected) != 0)
        return cv_print_error(CV_EXIT_LACKS,
                              "--hash: expected this program to have %s, it has %s: it "
                              "was damaged on its way",
                              expected, text);
    return CV_EXIT_DONE;
}

/* The link gets its own descriptors, so that nothing else is written to it. */
static bool take_link(struct cv_worker_options *serve)
{
    const int nothing = cv_dev_null_open(O_RDWR);

    serve->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    serve->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return nothing >= 0 && serve->in >= 0 && serve->out >= 0 &&
           dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
           (nothing <= STDERR_FILENO || close(nothing) == 0);
}

/* Connect to a master that wants to be called; false: use standard input and output. */
static bool take_call(struct cv_worker_options *serve, struct cv_process *link)
{
    static const char *const words[] = { "call", NULL };
    const int nothing = cv_dev_null_open(O_RDWR);
    struct cleave_error err;

    if (getenv(CALL_VARIABLE) != NULL &&
        cv_tls_connect_by(words, link, &serve->in, &err) != CLEAVE_OK)
        cv_print_note("worker: %s; bytes go through srun, which is slower", err.text);
    (void)unsetenv(CALL_VARIABLE); /* the key is not for commands */
    if (serve->in >= 0 && nothing >= 0) {
        serve->out = serve->in;
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
    }
    if (nothing > STDERR_FILENO)
        close(nothing);
    return serve->in >= 0;
}

/* cleave-tls ends when all has been sent. */
static void wait_for_link(struct cv_process *link)
{
    struct pollfd ended = { .fd = link->pidfd, .events = POLLIN };

    while (link->pid > 0 && !cv_process_reap(link))
        (void)poll(&ended, 1, -1);
}

/* Whether standard output is the terminal of `srun --unbuffered`, which is set to raw
 * mode. */
static bool is_of_srun(void)
{
    struct termios modes;

    if (getenv("SLURM_STEP_ID") == NULL || isatty(STDIN_FILENO) ||
        tcgetattr(STDOUT_FILENO, &modes) != 0)
        return false;
    cfmakeraw(&modes);
    return tcsetattr(STDOUT_FILENO, TCSANOW, &modes) == 0;
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    struct cv_worker_options serve = {
        .in = -1, .out = -1, .guard = true, .gpus = (uint32_t)values->gpus
    };
    struct cv_process link = { .pidfd = -1 };
    enum cleave_status served;
    struct cleave_error err;
    bool called;

    if (values->lead)
        cv_lead_by(&serve, call->operands);
    else if (call->noperands > 0)
        return cv_refuse("expected no operand, got '%s'", call->operands[0]);
    if (values->hash != NULL)
        CV_DO(check_hash(values->hash));
    CV_DO(cv_pin_read(values->pin, &serve.pin));
    called = take_call(&serve, &link);
    if (!called && (isatty(STDIN_FILENO) || (isatty(STDOUT_FILENO) && !is_of_srun())))
        return cv_refuse("a worker is started by 'cleave run --hosts', and speaks to "
                         "that: standard input and output must not be a terminal");
    if (!called && !take_link(&serve))
        return cv_print_error(CV_EXIT_FAILED, "cannot set up standard input and output");
    served = cv_worker_fold_serve(&serve, -1, &err);
    wait_for_link(&link);
    if (served == CLEAVE_OK)
        return CV_EXIT_DONE;
    return cv_print_error(err.status == CLEAVE_EINPUT || err.status == CLEAVE_EREFUSED
                              ? CV_EXIT_USAGE
                              : CV_EXIT_FAILED,
                          "worker: %s", err.text);
}

const struct cv_verb cv_verb_worker = {
    .name = "worker",
    .summary = "the other end of 'cleave run --hosts', started by it",
    .description =
        "Works for a 'cleave run' on another machine: reads a job and pieces of an input "
        "from standard input, runs the command on them, and sends their output to "
        "standard output, in frames. 'cleave run --hosts' starts it through ssh or "
        "another command that reaches the machine; it ends with its connection.",
    .operands = "[--lead -- OPTION...]",
    .max_operands = 1000,
    .command = true,
    .groups = CV_GROUPS(CV_GROUP("Checks", options), CV_GROUP("Slots", slot_options),
                        CV_GROUP("Ways", way_options)),
    .examples = "cleave worker </dev/null",
    .values_size = sizeof(struct values),
    .run = run,
};

enum { AT_A_TIME = 64 * 1024 };

static const double CONNECT_S = 60;

struct join_values {
    uint64_t slots;
    const char *ssh, *program, *key;
    double connect_timeout_s;
    int pump;
};

#undef CV_VALUES
#define CV_VALUES struct join_values
/* clang-format off */
static const struct cv_option join_options[] = {
    CV_OPTION('j', "--workers", COUNT, "N", slots,
        "How many commands run here at a time. Default: one for each core that this "
        "process may use.", .min = 1, .max = CV_HOST_SLOTS_MOST),
    CV_OPTION(0, "--ssh", TEXT, "WORDS", ssh,
        "How to reach the machine of the run, for instance 'ssh -F FILE'. Default: ssh, "
        "which never asks for a password here."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Where cleave is on that machine. Default: cleave, found in PATH there."),
    CV_OPTION(0, "--key", TEXT, "FILE", key,
        "The key of a run with --listen ADDRESS: connect there over TLS. Only you may read "
        "FILE."),
    CV_OPTION(0, "--connect-timeout", SECONDS, "TIME", connect_timeout_s,
        "With --key, try for this long to connect, as the run may begin later. Default 60 s."),
    CV_FLAG(0, "--pump", 1, pump,
        "Only connect standard input and output to the socket: what runs at the other "
        "end of ssh."),
};
/* clang-format on */

static void copy_all(int from, int to)
{
    static char bytes[AT_A_TIME];
    ssize_t got;

    while ((got = read(from, bytes, sizeof bytes)) > 0)
        if (cv_write_all(to, bytes, (size_t)got) != 0)
            return;
}

/* One process for each direction. */
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

/* The words of ssh; NULL: no memory. */
static const char *const *make_words(const struct join_values *join_values,
                                     const char *host, const char *path,
                                     struct cv_arena *arena)
{
    struct cv_words words = { .arena = arena };
    struct cv_text line = { NULL, 0, 0, false };

    cv_words_split(&words, join_values->ssh != NULL ? join_values->ssh : "ssh");
    cv_words_split(&words, "-T -o BatchMode=yes --");
    cv_words_add(&words, host);
    cv_text_add(&line, "exec %s join --pump -- ",
                join_values->program != NULL ? join_values->program : "cleave");
    cv_shell_word_add(&line, path);
    cv_words_take(&words, &line);
    return cv_words_done(&words);
}

/* *out is our end of the connection. */
static int start(const char *const *words, int *out, pid_t *pid)
{
    int ends[2], failed;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cv_print_error(CV_EXIT_FAILED, "cannot make a socket");
    failed = cv_start_program(words[0], words, ends[1], ends[1], -1, pid);
    close(ends[1]);
    if (failed == 0) {
        *out = ends[0];
        return CV_EXIT_DONE;
    }
    close(ends[0]);
    return cv_print_error(CV_EXIT_ENGINE, "cannot run '%s': %s", words[0],
                          strerror(failed));
}

/* `fd` is taken over. */
static enum cleave_status serve(const struct join_values *join_values, int fd,
                                bool by_login, struct cleave_error *err)
{
    struct cv_worker_options serving = { .in = fd,
                                         .out = fd,
                                         .by_login = by_login,
                                         .guard = true,
                                         .slots = (uint32_t)join_values->slots };

    return cv_worker_fold_serve(&serving, -1, err);
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
    int fd = -1, ended = 0;

    if (host[0] == '-' || host[0] == '\0')
        return cv_refuse("expected PATH or HOST:PATH, got '%s:%s'", host, path);
    words = make_words(call->values, host, path, call->arena);
    if (words == NULL)
        return cv_no_memory("the command");
    CV_DO(start(words, &fd, &pid));
    served = serve(call->values, fd, true, &err);
    /* ssh has printed why it failed. */
    if (waitpid(pid, &ended, 0) == pid && WIFEXITED(ended) && WEXITSTATUS(ended) != 0)
        return cv_print_error(CV_EXIT_ENGINE, "join: '%s' exited with status %d",
                              words[0], WEXITSTATUS(ended));
    return judge(served, &err);
}

static int serve_by_tls(const struct join_values *join_values, const char *address)
{
    struct cv_process link = { .pidfd = -1 };
    struct cleave_error err;
    enum cleave_status served;
    char timeout[32];
    const char *const words[] = { "connect", address, join_values->key, timeout, NULL };
    int fd = -1;

    snprintf(timeout, sizeof timeout, "%.3f",
             join_values->connect_timeout_s > 0 ? join_values->connect_timeout_s
                                                : CONNECT_S);
    if (cv_tls_connect_by(words, &link, &fd, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    served = serve(join_values, fd, false, &err);
    wait_for_link(&link);
    return judge(served, &err);
}

static int join_run(const struct cv_call *call)
{
    const struct join_values *join_values = call->values;
    const char *where = call->noperands > 0 ? call->operands[0] : "";
    const char *colon = strchr(where, ':'), *slash = strchr(where, '/');
    struct cleave_error err;
    int fd;

    if (where[0] == '\0')
        return cv_refuse(
            "expected the socket of a run, [HOST:]PATH, or ADDRESS and --key");
    if (join_values->key != NULL)
        return serve_by_tls(join_values, where);
    if (colon != NULL && colon[1] != '\0' &&
        colon[1 + strspn(colon + 1, "0123456789")] == '\0')
        return cv_refuse("%s: expected --key FILE with an address", where);
    if (colon != NULL && (slash == NULL || colon < slash) && !join_values->pump) {
        char *host = cv_need_text(call->arena, where, "the host");

        host[colon - where] = '\0';
        return serve_by_ssh(call, host, colon + 1);
    }
    if (cv_join_port_reach(where, &fd, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return join_values->pump ? pump(fd)
                             : judge(serve(join_values, fd, false, &err), &err);
}

const struct cv_verb cv_verb_join = {
    .name = "join",
    .summary = "work for a running 'cleave run'",
    .is_first = true,
    .description =
        "Joins a run that was started with --join-socket PATH, as one more machine with "
        "its slots, and ends with it. On the machine of the run, give PATH. From "
        "elsewhere, give HOST:PATH: ssh connects to that machine, where another 'cleave "
        "join' opens the socket, so that nothing listens on a network. For a run with "
        "--listen ADDRESS --key FILE, give ADDRESS and the same key. If a signal ends "
        "it, its unfinished work moves to other workers.",
    .operands = "[HOST:]PATH | ADDRESS --key FILE",
    .max_operands = 1,
    .groups = CV_GROUPS(CV_GROUP("Joining", join_options)),
    .examples = "cleave run -q -i examples/plan.c --join-socket run.socket -- wc -l",
    .values_size = sizeof(struct join_values),
    .run = join_run,
};

enum { KEY_BYTES = 32 };

static int make_key(char out[2 * KEY_BYTES + 2])
{
    unsigned char bytes[KEY_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return cv_print_error(CV_EXIT_ENGINE, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    strcpy(out + 2 * sizeof bytes, "\n");
    return CV_EXIT_DONE;
}

static int keygen_run(const struct cv_call *call)
{
    const char *path = call->noperands > 0 ? call->operands[0] : NULL;
    char key[2 * KEY_BYTES + 2];
    int fd, failed;

    CV_DO(make_key(key));
    if (path == NULL || strcmp(path, "-") == 0)
        return printf("%s", key) > 0 ? CV_EXIT_DONE : CV_EXIT_FAILED;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno == EEXIST ? cv_refuse("%s: exists; a key is not replaced", path)
                               : cv_print_error(CV_EXIT_USAGE, "%s: cannot make: %s",
                                                path, strerror(errno));
    failed = cv_write_all(fd, key, strlen(key));
    if (close(fd) != 0 && failed == 0)
        failed = errno;
    if (failed == 0)
        return CV_EXIT_DONE;
    (void)unlink(path);
    return cv_print_error(CV_EXIT_FAILED, "%s: cannot write: %s", path, strerror(failed));
}

const struct cv_verb cv_verb_keygen = {
    .name = "keygen",
    .summary = "make a key for 'cleave run --listen' and 'cleave join'",
    .description =
        "Writes a new random key of 256 bits, 64 hexadecimal digits, to FILE, which only "
        "you can read and which must not exist, or to standard output. A holder of the "
        "key "
        "can join a run that listens with it, get parts of its input and run its command "
        "on them: take it to other machines by ssh or a secret of your batch "
        "system, and use a new one for each run.",
    .operands = "[FILE]",
    .max_operands = 1,
    .examples = "cleave keygen",
    .run = keygen_run,
};
