/* reverse_connect.c -- a worker that connects back over TCP, and the relay that waits for it.
 * SPDX-License-Identifier: MIT */
#include "run/wire/reverse_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
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
#include "run/common/process.h"

/* "PORT KEY", or "PORT KEY ADDRESS". The default address is that of srun. */
#define CALL_VARIABLE "CLEAVE_CALL"
#define CALL_FROM "SLURM_LAUNCH_NODE_IPADDR"
#define CALL_TAKEN '+' /* the answer to the right key */

enum {
    CALL_KEY = 32,  /* characters                                  */
    CALL_MS = 5000, /* limit for the connection, and for the answer */
};

struct call {
    char port[8], key[CALL_KEY + 1], host[256];
};

static bool read_call(const char *text, struct call *out)
{
    const char *from = getenv(CALL_FROM);
    const int found =
        sscanf(text, "%7[0-9] %32[0-9a-f] %255s", out->port, out->key, out->host);

    if (found == 2 && from != NULL)
        snprintf(out->host, sizeof out->host, "%s", from);
    return (found == 3 || (found == 2 && from != NULL)) && strlen(out->key) == CALL_KEY;
}

static bool wait_for(int fd, short events)
{
    struct pollfd wait = { .fd = fd, .events = events };
    const long ready = TEMP_FAILURE_RETRY(poll(&wait, 1, CALL_MS));

    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0;
}

static bool connected(int fd, const struct sockaddr *address, socklen_t size)
{
    int trouble = 0;
    socklen_t room = sizeof trouble;

    if (connect(fd, address, size) == 0)
        return true;
    if (errno != EINPROGRESS || !wait_for(fd, POLLOUT) ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &trouble, &room) != 0)
        return false;
    errno = trouble;
    return trouble == 0;
}

static bool authenticate(int fd, const struct call *call)
{
    char answer = 0;

    if (send(fd, call->key, CALL_KEY, MSG_NOSIGNAL) != CALL_KEY || !wait_for(fd, POLLIN))
        return false;
    errno = ECONNREFUSED;
    return recv(fd, &answer, 1, 0) == 1 && answer == CALL_TAKEN;
}

static int call_one(const struct sockaddr *address, socklen_t size,
                    const struct call *call)
{
    const int on = 1;
    const int fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connected(fd, address, size) && authenticate(fd, call))
        return fd;
    close(fd);
    return -1;
}

/* A numeric address: name lookup needs libraries that a static program does not find. */
static bool read_address(const struct call *call, struct sockaddr_storage *out,
                         socklen_t *out_size)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    const in_port_t port = htons((in_port_t)strtoul(call->port, NULL, 10));

    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, call->host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        *out_size = sizeof *four;
        return true;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    *out_size = sizeof *six;
    return inet_pton(AF_INET6, call->host, &six->sin6_addr) == 1;
}

enum cleave_status cv_call_back(int *out, struct cleave_error *err)
{
    const char *text = getenv(CALL_VARIABLE);
    struct sockaddr_storage address;
    socklen_t size;
    struct call call;
    bool good;

    *out = -1;
    if (text == NULL)
        return CLEAVE_OK;
    good = read_call(text, &call) && read_address(&call, &address, &size);
    (void)unsetenv(CALL_VARIABLE);
    if (!good)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s does not say whom to call, as 'PORT KEY ADDRESS'",
                       CALL_VARIABLE);
    *out = call_one((const struct sockaddr *)&address, size, &call);
    if (*out >= 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_ELOST, "cannot call back to port %s of %s: %s", call.port,
                   call.host, strerror(errno));
}

/* --- the relay ---------------------------------------------------------------------- */

enum { BY_SIGNAL = 128, CANNOT_RUN = 127, MOST = 1 << 18 };

struct relay {
    int listener, caller;    /* owned; -1: closed                        */
    struct cv_pipe to, from; /* owned: standard input and output of the command */
    pid_t command;
    char key[CALL_KEY + 1];
};

static bool make_key(char out[CALL_KEY + 1])
{
    unsigned char bytes[CALL_KEY / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Listen on any port, and put it into the environment. IPv4 and IPv6 have the port at the same
 * place of an address. */
static enum cleave_status listen_for(struct relay *relay, struct cleave_error *err)
{
    struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
    struct sockaddr *address = (struct sockaddr *)&any;
    socklen_t size = sizeof any;
    char text[100];

    _Static_assert(offsetof(struct sockaddr_in6, sin6_port) ==
                       offsetof(struct sockaddr_in, sin_port),
                   "place of the port");
    for (int try = 0; try < 2 && relay->listener < 0; try++) {
        any.sin6_family = try == 0 ? AF_INET6 : AF_INET;
        relay->listener = socket(any.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (relay->listener >= 0 && bind(relay->listener, address, size) != 0)
            cv_close(&relay->listener);
    }
    if (relay->listener < 0 || listen(relay->listener, 4) != 0 ||
        getsockname(relay->listener, address, &size) != 0 || !make_key(relay->key))
        return cv_fail_errno(err, errno, "cannot listen for workers");
    snprintf(text, sizeof text, "%d %s", ntohs(any.sin6_port), relay->key);
    return setenv(CALL_VARIABLE, text, 1) == 0 ? CLEAVE_OK
                                               : cv_fail_memory(err, "the environment");
}

/* Accept a connection that sends the key; close others. */
static bool take_call(struct relay *relay)
{
    const struct timeval patience = { .tv_sec = CALL_MS / 1000 };
    const char taken = CALL_TAKEN;
    const int on = 1, fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    char said[CALL_KEY] = "";
    unsigned char wrong = 0;

    if (fd < 0)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    wrong = recv(fd, said, sizeof said, MSG_WAITALL) != (ssize_t)sizeof said;
    for (size_t i = 0; i < sizeof said; i++)
        wrong |= (unsigned char)(said[i] ^ relay->key[i]);
    if (wrong != 0 || send(fd, &taken, 1, MSG_NOSIGNAL) != 1) {
        close(fd);
        return false;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0 },
                     sizeof patience);
    relay->caller = fd;
    return true;
}

static enum cleave_status start(struct relay *relay, const char *const *words,
                                struct cleave_error *err)
{
    const pid_t self = getpid();

    CV_TRY(cv_pipe_open(&relay->to, err));
    CV_TRY(cv_pipe_open(&relay->from, err));
    relay->command = fork();
    if (relay->command < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start '%s': %s", words[0],
                       strerror(errno));
    if (relay->command > 0)
        return CLEAVE_OK;
    /* The command must not outlive this process. A srun without its controller would,
     * after SIGTERM; the worker sees the end of its link and exits. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (getppid() == self && dup2(relay->to.read, STDIN_FILENO) >= 0 &&
        dup2(relay->from.write, STDOUT_FILENO) >= 0)
        (void)execvp(words[0], (char *const *)words);
    _exit(CANNOT_RUN);
}

/* Wait for the connection of the worker, or for output or the end of the command.
 * False: `in` was closed before. */
static bool wait_for_worker(struct relay *relay, int in)
{
    for (;;) {
        struct pollfd waits[] = { { .fd = relay->listener, .events = POLLIN },
                                  { .fd = relay->from.read, .events = POLLIN },
                                  { .fd = in, .events = 0 } };

        if (poll(waits, 3, -1) < 0 && errno != EINTR)
            return false;
        if (waits[0].revents != 0 && take_call(relay))
            return true;
        if (waits[1].revents != 0)
            return true;
        if ((waits[2].revents & (POLLHUP | POLLERR)) != 0)
            return false;
    }
}

static int ended(pid_t command)
{
    int how = 0;

    if (TEMP_FAILURE_RETRY(waitpid(command, &how, 0)) < 0)
        return 1;
    return WIFSIGNALED(how) ? BY_SIGNAL + WTERMSIG(how) : WEXITSTATUS(how);
}

struct way {
    int from, to;
    bool shut; /* `to` is a socket whose other half stays open */
};

/* Not by splice: while splice waits for a socket it locks the pipe, and a master that
 * never blocks would block. */
static void *pass_on(void *context)
{
    const struct way *way = context;
    char *bytes = malloc(MOST);
    ssize_t got = bytes != NULL ? 1 : -1;

    while (got > 0) {
        got = TEMP_FAILURE_RETRY(read(way->from, bytes, MOST));
        if (got > 0 && cv_write_all(way->to, bytes, (size_t)got) != 0)
            got = 0;
    }
    free(bytes);
    if (way->shut)
        (void)shutdown(way->to, SHUT_WR);
    else
        close(way->to);
    return NULL;
}

/* The thread that copies `in` may block forever; it ends with the process. */
static enum cleave_status pass_both(struct relay *relay, int in, int out,
                                    struct cleave_error *err)
{
    static struct way there; /* the thread may outlive this call */
    const bool called = relay->caller >= 0;
    struct way back = { called ? relay->caller : relay->from.read, out, false };
    pthread_t thread;
    int code;

    if (called)
        cv_close(&relay->to.write);
    there = (struct way){ in, called ? relay->caller : relay->to.write, called };
    code = pthread_create(&thread, NULL, pass_on, &there);
    if (code != 0)
        return cv_fail_errno(err, code, "cannot start a thread");
    (void)pthread_detach(thread);
    (void)pass_on(&back);
    return CLEAVE_OK;
}

enum cleave_status cv_call_relay(const char *const *words, int in, int out,
                                 int *out_status, struct cleave_error *err)
{
    struct relay relay = {
        .listener = -1, .caller = -1, .to = { -1, -1 }, .from = { -1, -1 }
    };
    enum cleave_status status = listen_for(&relay, err);

    (void)signal(SIGPIPE, SIG_IGN);
    CV_THEN(status, start(&relay, words, err));
    cv_close(&relay.to.read);
    cv_close(&relay.from.write);
    if (status == CLEAVE_OK && wait_for_worker(&relay, in)) {
        cv_close(&relay.listener);
        status = pass_both(&relay, in, out, err);
    } else if (relay.command > 0) {
        (void)kill(relay.command, SIGKILL);
    }
    cv_close(&relay.listener);
    if (relay.command > 0)
        *out_status = ended(relay.command);
    return status;
}
