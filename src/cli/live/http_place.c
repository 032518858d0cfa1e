/* http_place.c -- where a page is served. SPDX-License-Identifier: MIT */
#include "cli/live/http_place.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"

enum { SHOWN = 64, QUEUE = 16 };

union place {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* A port is a number and nothing else. */
static bool read_port(const char *text, uint16_t *port)
{
    unsigned long value = 0;

    if (*text == '\0' || strlen(text) > 5)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned long)(*text - '0');
    }
    *port = (uint16_t)value;
    return value <= 65535;
}

/* Whether `text` begins with the name of this machine and a colon. */
static bool begins(const char **text, const char *name)
{
    const size_t length = strlen(name);

    if (strncmp(*text, name, length) != 0)
        return false;
    *text += length;
    return true;
}

static enum cleave_status read_place(const char *text, union place *place,
                                     struct cleave_error *err)
{
    const char *rest = text, *colon = strrchr(text, ':');
    const bool six = begins(&rest, "[::1]:");
    const bool ours = six || begins(&rest, "127.0.0.1:") || begins(&rest, "localhost:");
    char shown[SHOWN];
    uint16_t port;

    if (!read_port(rest, &port)) {
        cv_shown(text, strlen(text), shown, sizeof shown);
        if (!ours && colon != NULL && read_port(colon + 1, &port))
            return cv_fail(err, CLEAVE_EINPUT,
                           "--serve: only this machine is served: expected "
                           "127.0.0.1:%u, got '%s'; from another one: "
                           "ssh -L %u:127.0.0.1:%u HOST",
                           port, shown, port, port);
        return cv_fail(err, CLEAVE_EINPUT, "--serve: expected 127.0.0.1:PORT, got '%s'",
                       shown);
    }
    memset(place, 0, sizeof *place);
    if (six) {
        place->six.sin6_family = AF_INET6;
        place->six.sin6_addr = in6addr_loopback;
        place->six.sin6_port = htons(port);
    } else {
        place->four.sin_family = AF_INET;
        place->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place->four.sin_port = htons(port);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_http_listen(const char *text, int *out, char url[CV_HTTP_URL_ROOM],
                                  struct cleave_error *err)
{
    union place place;
    socklen_t length;
    char shown[SHOWN];
    int fd, error;
    bool six;

    CV_TRY(read_place(text, &place, err));
    six = place.any.sa_family == AF_INET6;
    length = six ? sizeof place.six : sizeof place.four;
    fd = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) != 0 ||
        bind(fd, &place.any, length) != 0 || listen(fd, QUEUE) != 0 ||
        getsockname(fd, &place.any, &length) != 0) {
        error = errno;
        if (fd >= 0)
            close(fd);
        return cv_fail(err, CLEAVE_EENGINE, "--serve: cannot listen at '%s': %s%s",
                       cv_shown(text, strlen(text), shown, sizeof shown), strerror(error),
                       error == EADDRINUSE ? "; 127.0.0.1:0 takes a port that is free"
                                           : "");
    }
    snprintf(url, CV_HTTP_URL_ROOM, "http://%s:%u/", six ? "[::1]" : "127.0.0.1",
             ntohs(six ? place.six.sin6_port : place.four.sin_port));
    *out = fd;
    return CLEAVE_OK;
}
