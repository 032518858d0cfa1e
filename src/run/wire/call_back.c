/* call_back.c -- a worker that calls back over TCP. SPDX-License-Identifier: MIT */
#include "run/wire/call_back.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"

/* What CLEAVE_CALL says. */
struct call {
    char port[8], key[CV_CALL_KEY + 1], host[256];
};

static bool read_call(const char *text, struct call *out)
{
    const char *from = getenv(CV_CALL_FROM);
    const int found =
        sscanf(text, "%7[0-9] %32[0-9a-f] %255s", out->port, out->key, out->host);

    if (found == 2 && from != NULL)
        snprintf(out->host, sizeof out->host, "%s", from);
    return (found == 3 || (found == 2 && from != NULL)) &&
           strlen(out->key) == CV_CALL_KEY;
}

/* Wait until a descriptor can be written to, or read from. */
static bool wait_for(int fd, short events)
{
    struct pollfd wait = { .fd = fd, .events = events };
    int ready;

    do
        ready = poll(&wait, 1, CV_CALL_MS);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0;
}

static bool connected(int fd, const struct addrinfo *address)
{
    int trouble = 0;
    socklen_t size = sizeof trouble;

    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS || !wait_for(fd, POLLOUT) ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &trouble, &size) != 0)
        return false;
    errno = trouble;
    return trouble == 0;
}

/* Say the key, and hear that it is the right one. */
static bool introduce(int fd, const struct call *call)
{
    char answer = 0;

    if (send(fd, call->key, CV_CALL_KEY, MSG_NOSIGNAL) != CV_CALL_KEY ||
        !wait_for(fd, POLLIN))
        return false;
    errno = ECONNREFUSED;
    return recv(fd, &answer, 1, 0) == 1 && answer == CV_CALL_TAKEN;
}

static int call_one(const struct addrinfo *address, const struct call *call)
{
    const int on = 1;
    const int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connected(fd, address) && introduce(fd, call))
        return fd;
    close(fd);
    return -1;
}

enum cleave_status cv_call_back(int *out, struct cleave_error *err)
{
    static const struct addrinfo kind = { .ai_socktype = SOCK_STREAM,
                                          .ai_flags = AI_NUMERICSERV };
    const char *text = getenv(CV_CALL_VARIABLE);
    struct addrinfo *addresses = NULL;
    struct call call;
    bool good;

    *out = -1;
    if (text == NULL)
        return CLEAVE_OK;
    good = read_call(text, &call);
    (void)unsetenv(CV_CALL_VARIABLE);
    if (!good)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s does not say whom to call, as 'PORT KEY HOST'",
                       CV_CALL_VARIABLE);
    errno = EHOSTUNREACH;
    if (getaddrinfo(call.host, call.port, &kind, &addresses) == 0)
        for (struct addrinfo *one = addresses; one != NULL && *out < 0;
             one = one->ai_next)
            *out = call_one(one, &call);
    if (*out < 0)
        cv_fail(err, CLEAVE_ELOST, "cannot call back to port %s of %s: %s", call.port,
                call.host, strerror(errno));
    if (addresses != NULL)
        freeaddrinfo(addresses);
    return *out >= 0 ? CLEAVE_OK : CLEAVE_ELOST;
}
