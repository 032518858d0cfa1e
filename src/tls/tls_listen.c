/* tls_listen.c -- connections that have not shown the key yet. SPDX-License-Identifier: MIT */
#include "tls/tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fail.h"

enum { BACKLOG = 128 };

static const double HANDSHAKE_S = 10;
static const double REST_S = 1;
static const double PAUSE_S = 1; /* after a failed handshake */

/* --- which connections may try a handshake, and when ---------------------------------- */

static bool same(const struct cv_gate_from *a, const struct cv_gate_from *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

struct cv_gate_from cv_gate_from(const struct sockaddr *address)
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    struct cv_gate_from from = { { 0 } };

    if (address->sa_family == AF_INET) {
        memcpy(from.bytes, mapped, sizeof mapped);
        memcpy(from.bytes + sizeof mapped,
               &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        memcpy(from.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
        if (memcmp(from.bytes, mapped, sizeof mapped) != 0)
            memset(from.bytes + 8, 0, 8);
    }
    return from;
}

double cv_gate_begin_s(const struct cv_gate *gate, const struct cv_gate_from *from,
                       double now_s)
{
    double begin_s = now_s;

    for (size_t i = 0; i < CV_GATE_MEMORY; i++)
        if (gate->failed[i].until_s > begin_s && same(&gate->failed[i].from, from))
            begin_s = gate->failed[i].until_s;
    return begin_s;
}

void cv_gate_failed(struct cv_gate *gate, const struct cv_gate_from *from, double now_s)
{
    size_t at = 0;

    for (size_t i = 0; i < CV_GATE_MEMORY; i++)
        if (gate->failed[i].until_s < gate->failed[at].until_s)
            at = i;
    for (size_t i = 0; i < CV_GATE_MEMORY; i++)
        if (same(&gate->failed[i].from, from))
            at = i;
    gate->failed[at].from = *from;
    gate->failed[at].until_s = now_s + PAUSE_S;
}

static const struct cv_gate_from *nth(const struct cv_gate_from *first, size_t stride,
                                      size_t i)
{
    return (const struct cv_gate_from *)((const char *)first + i * stride);
}

size_t cv_gate_victim(const struct cv_gate_from *first, size_t count, size_t stride)
{
    size_t victim = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        size_t same_address = 0;

        for (size_t j = i; j < count; j++)
            same_address += same(nth(first, stride, i), nth(first, stride, j));
        if (same_address > most) {
            most = same_address;
            victim = i;
        }
    }
    return victim;
}

/* --- connections ---------------------------------------------------------------------- */

static int listen_at(const struct sockaddr *address, socklen_t size)
{
    const int on = 1;
    const int fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

static enum cleave_status listen_anywhere(struct cv_tls_listener *listener,
                                          struct cleave_error *err)
{
    const struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    const struct sockaddr_in four = { .sin_family = AF_INET };

    listener->fd = listen_at((const struct sockaddr *)&six, sizeof six);
    if (listener->fd < 0) /* no IPv6 here */
        listener->fd = listen_at((const struct sockaddr *)&four, sizeof four);
    return listener->fd >= 0 ? CLEAVE_OK
                             : cv_fail_errno(err, errno, "cannot listen for workers");
}

enum cleave_status cv_tls_listen(struct cv_tls_listener *listener,
                                 const struct cv_tls_address *address,
                                 struct cleave_error *err)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list;
    int code;

    listener->fd = -1;
    if (address == NULL)
        return listen_anywhere(listener, err);
    code = getaddrinfo(address->host, address->port, &hints, &list);
    if (code != 0)
        return cv_fail(err, CLEAVE_EINPUT, "cannot listen on %s: %s", address->host,
                       gai_strerror(code));
    for (const struct addrinfo *at = list; at != NULL && listener->fd < 0;
         at = at->ai_next)
        listener->fd = listen_at(at->ai_addr, at->ai_addrlen);
    code = errno;
    freeaddrinfo(list);
    return listener->fd >= 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT, "cannot listen on port %s of %s: %s",
                         address->port, address->host, strerror(code));
}

static void name_address(const struct sockaddr_storage *address, socklen_t size,
                         bool port, char *out, size_t room)
{
    char host[64] = "?", number[8] = "0";

    (void)getnameinfo((const struct sockaddr *)address, size, host, sizeof host, number,
                      sizeof number, NI_NUMERICHOST | NI_NUMERICSERV);
    if (!port)
        snprintf(out, room, "%s", host);
    else
        snprintf(out, room, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host,
                 number);
}

void cv_tls_listener_name(const struct cv_tls_listener *listener, char *out, size_t size)
{
    struct sockaddr_storage address = { 0 };
    socklen_t room = sizeof address;

    (void)getsockname(listener->fd, (struct sockaddr *)&address, &room);
    name_address(&address, room, true, out, size);
}

static void forget(struct cv_tls_listener *listener, size_t i)
{
    listener->npending--;
    memmove(&listener->pending[i], &listener->pending[i + 1],
            (listener->npending - i) * sizeof *listener->pending);
}

static void fail(struct cv_tls_listener *listener, size_t i)
{
    struct cv_tls_pending *pending = &listener->pending[i];

    if (listener->failed[0] == '\0')
        memcpy(listener->failed, pending->name, sizeof listener->failed);
    cv_gate_failed(&listener->gate, &pending->from, cv_tls_clock_s());
    cv_tls_drop(pending->ssl);
    forget(listener, i);
}

static void take(struct cv_tls_listener *listener)
{
    struct sockaddr_storage address = { 0 };
    socklen_t size = sizeof address;
    const int on = 1, fd = accept4(listener->fd, (struct sockaddr *)&address, &size,
                                   SOCK_CLOEXEC | SOCK_NONBLOCK);
    const double now_s = cv_tls_clock_s();
    struct cv_tls_pending *pending;

    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            listener->rest_s = now_s + REST_S;
        return;
    }
    if (listener->npending == CV_GATE_MAX)
        fail(listener, cv_gate_victim(&listener->pending[0].from, CV_GATE_MAX,
                                      sizeof *listener->pending));
    pending = &listener->pending[listener->npending];
    *pending = (struct cv_tls_pending){
        .ssl = SSL_new(listener->context),
        .from = cv_gate_from((const struct sockaddr *)&address),
        .events = POLLIN,
    };
    if (pending->ssl == NULL || SSL_set_fd(pending->ssl, fd) != 1) {
        SSL_free(pending->ssl);
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_set_accept_state(pending->ssl);
    name_address(&address, size, false, pending->name, sizeof pending->name);
    pending->begin_s = cv_gate_begin_s(&listener->gate, &pending->from, now_s);
    pending->end_s = pending->begin_s + HANDSHAKE_S;
    listener->npending++;
}

/* The first connection whose handshake is done, or NULL. */
static SSL *shake_all(struct cv_tls_listener *listener, double now_s, char name[64])
{
    for (size_t i = listener->npending; i-- > 0;) {
        struct cv_tls_pending *pending = &listener->pending[i];
        SSL *ssl = pending->ssl;
        const int done =
            pending->begin_s > now_s ? 0 : cv_tls_handshake(ssl, &pending->events);

        if (done < 0 || (done == 0 && pending->end_s <= now_s)) {
            fail(listener, i);
        } else if (done > 0) {
            memcpy(name, pending->name, sizeof pending->name);
            forget(listener, i);
            return ssl;
        }
    }
    return NULL;
}

static bool any_ready(const struct pollfd *waits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (waits[i].revents != 0)
            return true;
    return false;
}

SSL *cv_tls_listener_wait(struct cv_tls_listener *listener, struct pollfd *others,
                          size_t count, char name[64])
{
    const bool had_failed = listener->failed[0] != '\0';

    for (;;) {
        struct pollfd waits[CV_GATE_MAX + 1 + 4];
        const double now_s = cv_tls_clock_s();
        SSL *ssl = shake_all(listener, now_s, name);
        double until_s = -1;
        size_t n = 0;

        if (ssl != NULL || (!had_failed && listener->failed[0] != '\0'))
            return ssl;
        for (size_t i = 0; i < listener->npending; i++) {
            const struct cv_tls_pending *pending = &listener->pending[i];
            const bool early = pending->begin_s > now_s;
            const double next_s = early ? pending->begin_s : pending->end_s;

            until_s = until_s < 0 || next_s < until_s ? next_s : until_s;
            waits[n++] = (struct pollfd){ .fd = early ? -1 : SSL_get_fd(pending->ssl),
                                          .events = pending->events };
        }
        if (listener->rest_s > now_s)
            until_s =
                until_s < 0 || listener->rest_s < until_s ? listener->rest_s : until_s;
        waits[n++] = (struct pollfd){ .fd = listener->rest_s > now_s ? -1 : listener->fd,
                                      .events = POLLIN };
        memcpy(waits + n, others, count * sizeof *others);
        if (poll(waits, n + count, cv_tls_until_ms(until_s)) < 0)
            continue;
        memcpy(others, waits + n, count * sizeof *others);
        if (any_ready(others, count))
            return NULL;
        if (waits[n - 1].revents != 0)
            take(listener);
    }
}

void cv_tls_listener_close(struct cv_tls_listener *listener)
{
    while (listener->npending > 0)
        cv_tls_drop(listener->pending[--listener->npending].ssl);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}
