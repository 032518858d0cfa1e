/* tls_main.c -- cleave-tls: links of a run over TLS. SPDX-License-Identifier: MIT
 *
 *   cleave-tls listen ADDRESS KEY          descriptor 0: a socket for messages
 *   cleave-tls connect ADDRESS KEY TIME    descriptors 0 and 1: the bytes
 *   cleave-tls call                        the same, for the relay that $CLEAVE_CALL names
 *   cleave-tls relay COMMAND...            the same; COMMAND starts a worker that calls
 *
 * `listen` sends one message, `connect` and `call` write one byte when they are ready: '+'. If they
 * fail, '!' (wrong address or key) or '-' (other failures) and the reason. Later messages of `listen` are
 * '?' and a note, or '@' and the descriptor of a connection. The program ends with descriptor 0. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/write_all.h"
#include "tls/tls.h"

/* "PORT KEY", or "PORT KEY ADDRESS". The default address is that of srun. */
#define CALL_VARIABLE "CLEAVE_CALL"
#define CALL_FROM "SLURM_LAUNCH_NODE_IPADDR"

enum { CALL_KEY = 32, BY_SIGNAL = 128, CANNOT_RUN = 127 };

static const double CALL_S = 5;

static const struct cv_tls_end standard = { .in = STDIN_FILENO, .out = STDOUT_FILENO };

/* Batch systems send these signals to all processes of a job; the link is needed until the end. */
static const int ignored[] = { SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

static void handle_signals(void (*how)(int))
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        (void)signal(ignored[i], how);
}

static int report(int fd, const struct cleave_error *err)
{
    char text[sizeof err->text + 1];
    const int length = snprintf(text, sizeof text, "%c%s",
                                err->status == CLEAVE_EINPUT ? '!' : '-', err->text);

    (void)cv_write_all(fd, text, (size_t)length);
    return EXIT_FAILURE;
}

static int copy(SSL *ssl)
{
    cv_tls_copy(standard, (struct cv_tls_end){ ssl, -1, -1 });
    cv_tls_drop(ssl);
    return EXIT_SUCCESS;
}

static int connect_and_copy(const struct cv_tls_address *address,
                            const struct cv_tls_key *key, double timeout_s, bool again)
{
    struct cleave_error err;
    SSL_CTX *context;
    SSL *ssl;
    int status;

    if (cv_tls_context_new(false, key, &context, &err) != CLEAVE_OK)
        return report(STDOUT_FILENO, &err);
    if (cv_tls_connect(context, address, timeout_s, again, &ssl, &err) == CLEAVE_OK)
        status = cv_write_all(STDOUT_FILENO, "+", 1) == 0 ? copy(ssl) : EXIT_FAILURE;
    else
        status = report(STDOUT_FILENO, &err);
    SSL_CTX_free(context);
    return status;
}

static int run_connect(const char *where, const char *file, const char *timeout)
{
    struct cv_tls_address address;
    struct cv_tls_key key;
    struct cleave_error err;

    if (cv_tls_address_parse(where, &address, &err) != CLEAVE_OK ||
        cv_tls_key_read(file, &key, &err) != CLEAVE_OK)
        return report(STDOUT_FILENO, &err);
    return connect_and_copy(&address, &key, strtod(timeout, NULL), true);
}

static int run_call(void)
{
    const char *text = getenv(CALL_VARIABLE), *from = getenv(CALL_FROM);
    char digits[CALL_KEY + 1] = "";
    struct cv_tls_address address;
    struct cv_tls_key key;
    struct cleave_error err;
    const int found = sscanf(text != NULL ? text : "", "%5[0-9] %32[0-9a-f] %255s",
                             address.port, digits, address.host);

    if (found == 2 && from != NULL)
        snprintf(address.host, sizeof address.host, "%s", from);
    if (found < 2 || (found == 2 && from == NULL))
        cv_fail(&err, CLEAVE_EINPUT, "%s: expected 'PORT KEY ADDRESS'", CALL_VARIABLE);
    else if (cv_tls_key_parse(digits, CALL_VARIABLE, &key, &err) == CLEAVE_OK)
        return connect_and_copy(&address, &key, CALL_S, false);
    return report(STDOUT_FILENO, &err);
}

/* --- listening ------------------------------------------------------------------------ */

/* A message, and a descriptor unless it is -1. */
static bool tell(const char *text, int fd)
{
    char room[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec bytes = { .iov_base = (char *)text, .iov_len = strlen(text) };
    struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

    if (fd >= 0) {
        struct cmsghdr *head = (struct cmsghdr *)room;

        *head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS,
                                  .cmsg_len = CMSG_LEN(sizeof fd) };
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
        message.msg_control = room;
        message.msg_controllen = sizeof room;
    }
    return sendmsg(STDIN_FILENO, &message, MSG_NOSIGNAL) >= 0;
}

/* A process for each connection: none can harm another one. */
static void pass_on(struct cv_tls_listener *listener, SSL *ssl)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    if (fork() == 0) {
        cv_tls_listener_close(listener);
        close(STDIN_FILENO);
        close(ends[1]);
        cv_tls_copy((struct cv_tls_end){ .in = ends[0], .out = ends[0] },
                    (struct cv_tls_end){ ssl, -1, -1 });
        _exit(EXIT_SUCCESS);
    }
    close(ends[0]);
    (void)tell("@", ends[1]);
    close(ends[1]);
}

static void serve(struct cv_tls_listener *listener)
{
    char text[200], name[64];

    for (;;) {
        struct pollfd run = { .fd = STDIN_FILENO, .events = POLLIN };
        SSL *ssl = cv_tls_listener_wait(listener, &run, 1, name);

        if (run.revents != 0)
            return;
        if (ssl != NULL) {
            pass_on(listener, ssl);
            cv_tls_drop(ssl);
        } else {
            snprintf(text, sizeof text,
                     "?a connection from %s did not show the key; later ones are not "
                     "reported",
                     listener->failed);
            (void)tell(text, -1);
        }
    }
}

static int run_listen(const char *where, const char *file)
{
    static struct cv_tls_listener listener;
    struct cv_tls_address address;
    struct cv_tls_key key;
    struct cleave_error err;
    enum cleave_status status;
    char text[100] = "+";

    listener.fd = -1;
    (void)signal(SIGCHLD, SIG_IGN); /* children are not waited for */
    status = cv_tls_address_parse(where, &address, &err);
    CV_THEN(status, cv_tls_key_read(file, &key, &err));
    CV_THEN(status, cv_tls_context_new(true, &key, &listener.context, &err));
    CV_THEN(status, cv_tls_listen(&listener, &address, &err));
    if (status != CLEAVE_OK) {
        SSL_CTX_free(listener.context);
        return report(STDIN_FILENO, &err);
    }
    cv_tls_listener_name(&listener, text + 1, sizeof text - 1);
    if (tell(text, -1))
        serve(&listener);
    cv_tls_listener_close(&listener);
    SSL_CTX_free(listener.context);
    return EXIT_SUCCESS;
}

/* --- the relay ------------------------------------------------------------------------
 *
 * srun forwards standard input and output slowly: text line by line, 9 MB/s of short lines. So
 * the worker calls back; if it cannot, because of a firewall for example, they are used. */

struct relay {
    struct cv_tls_listener listener;
    int to[2], from[2]; /* standard input and output of the command */
    pid_t command;
};

/* Listen on any port, with a new key, and put both into the environment. */
static enum cleave_status expect_call(struct relay *relay, struct cv_tls_key *key,
                                      struct cleave_error *err)
{
    unsigned char bytes[CALL_KEY / 2];
    char digits[CALL_KEY + 1], name[80], text[100];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return cv_fail_errno(err, errno, "cannot make a key");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    CV_TRY(cv_tls_key_parse(digits, CALL_VARIABLE, key, err));
    CV_TRY(cv_tls_context_new(true, key, &relay->listener.context, err));
    CV_TRY(cv_tls_listen(&relay->listener, NULL, err));
    cv_tls_listener_name(&relay->listener, name, sizeof name);
    snprintf(text, sizeof text, "%s %s", strrchr(name, ':') + 1, digits);
    return setenv(CALL_VARIABLE, text, 1) == 0 ? CLEAVE_OK
                                               : cv_fail_memory(err, "the environment");
}

static enum cleave_status start(struct relay *relay, char **words,
                                struct cleave_error *err)
{
    const pid_t self = getpid();

    if (pipe(relay->to) != 0 || pipe(relay->from) != 0)
        return cv_fail_errno(err, errno, "cannot make pipes");
    relay->command = fork();
    if (relay->command < 0)
        return cv_fail_errno(err, errno, "cannot start a command");
    if (relay->command > 0)
        return CLEAVE_OK;
    /* The command must not outlive this process. A srun without its controller would, after
     * SIGTERM; the worker sees the end of its link and exits. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    handle_signals(SIG_DFL);
    if (getppid() == self && dup2(relay->to[0], STDIN_FILENO) >= 0 &&
        dup2(relay->from[1], STDOUT_FILENO) >= 0) {
        for (int i = 0; i < 2; i++) {
            close(relay->to[i]);
            close(relay->from[i]);
        }
        (void)execvp(words[0], words);
    }
    _exit(CANNOT_RUN);
}

/* Until the worker has called, or the command has written or ended. */
static void copy_relay(struct relay *relay)
{
    struct pollfd others[] = { { .fd = relay->from[0], .events = POLLIN },
                               { .fd = STDIN_FILENO, .events = 0 } };
    char name[64];
    SSL *ssl;

    do
        ssl = cv_tls_listener_wait(&relay->listener, others, 2, name);
    while (ssl == NULL && others[0].revents == 0 && others[1].revents == 0);
    cv_tls_listener_close(&relay->listener);
    if (ssl != NULL) {
        close(relay->to[1]);
        (void)copy(ssl);
    } else if (others[0].revents != 0) {
        cv_tls_copy(standard,
                    (struct cv_tls_end){ .in = relay->from[0], .out = relay->to[1] });
    } else { /* the run has ended */
        (void)kill(relay->command, SIGKILL);
    }
}

static int run_relay(char **words)
{
    static struct relay relay;
    static struct cv_tls_key key;
    struct cleave_error err;
    enum cleave_status status;
    int how = 0;

    relay.listener.fd = -1;
    status = expect_call(&relay, &key, &err);
    CV_THEN(status, start(&relay, words, &err));
    if (status != CLEAVE_OK) {
        (void)dprintf(STDERR_FILENO, "cleave: %s\n", err.text);
        return EXIT_FAILURE;
    }
    close(relay.to[0]);
    close(relay.from[1]);
    copy_relay(&relay);
    SSL_CTX_free(relay.listener.context);
    if (TEMP_FAILURE_RETRY(waitpid(relay.command, &how, 0)) < 0)
        return EXIT_FAILURE;
    return WIFSIGNALED(how) ? BY_SIGNAL + WTERMSIG(how) : WEXITSTATUS(how);
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";

    handle_signals(SIG_IGN);
    if (strcmp(mode, "listen") == 0 && count == 4)
        return run_listen(words[2], words[3]);
    if (strcmp(mode, "connect") == 0 && count == 5)
        return run_connect(words[2], words[3], words[4]);
    if (strcmp(mode, "call") == 0 && count == 2)
        return run_call();
    if (strcmp(mode, "relay") == 0 && count > 2)
        return run_relay(words + 2);
    (void)fputs("cleave-tls: started by 'cleave run' and 'cleave join'\n", stderr);
    return 2;
}
