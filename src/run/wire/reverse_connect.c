/* reverse_connect.c -- a worker that calls back over TCP. SPDX-License-Identifier: MIT */
#include "run/wire/reverse_connect.h"

#include <arpa/inet.h>
#include <errno.h>
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

/* Say the key, and hear that it is the right one. */
static bool authenticate(int fd, const struct call *call)
{
    char answer = 0;

    if (send(fd, call->key, CV_CALL_KEY, MSG_NOSIGNAL) != CV_CALL_KEY ||
        !wait_for(fd, POLLIN))
        return false;
    errno = ECONNREFUSED;
    return recv(fd, &answer, 1, 0) == 1 && answer == CV_CALL_TAKEN;
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

/* The address is in numbers: to look up names takes libraries, which a program that was linked
 * statically does not find. */
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
    const char *text = getenv(CV_CALL_VARIABLE);
    struct sockaddr_storage address;
    socklen_t size;
    struct call call;
    bool good;

    *out = -1;
    if (text == NULL)
        return CLEAVE_OK;
    good = read_call(text, &call) && read_address(&call, &address, &size);
    (void)unsetenv(CV_CALL_VARIABLE);
    if (!good)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s does not say whom to call, as 'PORT KEY ADDRESS'",
                       CV_CALL_VARIABLE);
    *out = call_one((const struct sockaddr *)&address, size, &call);
    if (*out >= 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_ELOST, "cannot call back to port %s of %s: %s", call.port,
                   call.host, strerror(errno));
}
