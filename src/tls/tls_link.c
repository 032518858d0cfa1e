/* tls_link.c -- handshakes and the copy of bytes. SPDX-License-Identifier: MIT */
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/err.h>
#include "base/fail.h"

enum {
    BUFFER = 64 * 1024,
    TURNS = 16, /* reads and writes before the other direction gets a turn */
    WAITS = -1,
    BROKEN = -2,
};

static const double STEP_S = 10; /* limit for a TCP connection, and for a handshake */
static const double AGAIN_S = 0.5;
static const double END_S = 10; /* without a byte, after the end of one direction */

/* The only identity: each run has one key. */
static const unsigned char identity[] = "cleave";

/* TLS_AES_128_GCM_SHA256, which binds the key to SHA-256. */
static const unsigned char suite[2] = { 0x13, 0x01 };

static int key_place(void)
{
    static int place = -1;

    if (place < 0)
        place = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    return place;
}

/* The key as a session; NULL: no memory. */
static SSL_SESSION *make_session(SSL *ssl)
{
    const struct cv_tls_key *key = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_place());
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = SSL_SESSION_new();

    if (session != NULL && cipher != NULL &&
        SSL_SESSION_set1_master_key(session, key->bytes, key->length) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int find_session(SSL *ssl, const unsigned char *name, size_t length,
                        SSL_SESSION **out)
{
    const bool ours =
        length == sizeof identity - 1 && memcmp(name, identity, length) == 0;

    *out = ours ? make_session(ssl) : NULL;
    return !ours || *out != NULL;
}

static int use_session(SSL *ssl, const EVP_MD *hash, const unsigned char **out_name,
                       size_t *out_length, SSL_SESSION **out)
{
    (void)hash;
    *out_name = identity;
    *out_length = sizeof identity - 1;
    *out = make_session(ssl);
    return *out != NULL;
}

enum cleave_status cv_tls_context_new(bool server, const struct cv_tls_key *key,
                                      SSL_CTX **out, struct cleave_error *err)
{
    SSL_CTX *context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

    *out = context;
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:"
                                          "TLS_CHACHA20_POLY1305_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1 ||
        SSL_CTX_set_ex_data(context, key_place(), (void *)key) != 1) {
        SSL_CTX_free(context);
        return cv_fail(err, CLEAVE_EENGINE, "OpenSSL has no TLS 1.3 for cleave: %s",
                       ERR_reason_error_string(ERR_peek_last_error()));
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, BUFFER);
    if (server)
        SSL_CTX_set_psk_find_session_callback(context, find_session);
    else
        SSL_CTX_set_psk_use_session_callback(context, use_session);
    /* No certificate is trusted, so that only the key completes a handshake. */
    SSL_CTX_set_verify(context, server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    return CLEAVE_OK;
}

int cv_tls_handshake(SSL *ssl, short *out_events)
{
    int done, why;

    ERR_clear_error();
    done = SSL_do_handshake(ssl);
    if (done == 1)
        return SSL_session_reused(ssl) == 1 ? 1 : -1;
    why = SSL_get_error(ssl, done);
    *out_events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

void cv_tls_drop(SSL *ssl)
{
    if (ssl == NULL)
        return;
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/* --- connecting ----------------------------------------------------------------------- */

/* A handshake that the other side ends with an alert is one with another key. */
static enum cleave_status shake(SSL *ssl, struct cleave_error *err)
{
    short events;

    if (cv_tls_handshake(ssl, &events) > 0)
        return CLEAVE_OK;
    if (ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL &&
        ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET)
        return cv_fail(err, CLEAVE_EINPUT, "the run there has another key");
    return cv_fail(err, CLEAVE_ELOST, "no run answers there");
}

static enum cleave_status try_one(SSL_CTX *context, const struct addrinfo *to,
                                  double limit_s, SSL **out, struct cleave_error *err)
{
    const struct timeval limit = { .tv_sec = 1 + (time_t)limit_s };
    const int on = 1, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *out = NULL;
    if (fd >= 0) { /* connect() uses the limit as well */
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        cv_fail(err, CLEAVE_ELOST, "%s",
                strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
    else if ((*out = SSL_new(context)) == NULL || SSL_set_fd(*out, fd) != 1)
        cv_fail_memory(err, "a connection");
    else if (SSL_set_connect_state(*out), shake(*out, err) == CLEAVE_OK)
        return CLEAVE_OK;
    SSL_free(*out);
    if (fd >= 0)
        close(fd);
    return err->status;
}

static enum cleave_status try_all(SSL_CTX *context, const struct cv_tls_address *address,
                                  double limit_s, SSL **out, struct cleave_error *err)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list;
    const int code = getaddrinfo(address->host, address->port, &hints, &list);
    enum cleave_status status = CLEAVE_ELOST;

    if (code != 0)
        return cv_fail(err, CLEAVE_ELOST, "%s", gai_strerror(code));
    for (const struct addrinfo *to = list; to != NULL && status == CLEAVE_ELOST;
         to = to->ai_next)
        status = try_one(context, to, limit_s, out, err);
    freeaddrinfo(list);
    return status;
}

enum cleave_status cv_tls_connect(SSL_CTX *context, const struct cv_tls_address *address,
                                  double timeout_s, bool again, SSL **out,
                                  struct cleave_error *err)
{
    const double until_s = cv_tls_clock_s() + timeout_s;
    bool told = false;

    for (;;) {
        const double left_s = until_s - cv_tls_clock_s();
        const enum cleave_status status =
            try_all(context, address, left_s < STEP_S ? left_s : STEP_S, out, err);
        char why[sizeof err->text];

        if (status == CLEAVE_OK)
            return CLEAVE_OK;
        memcpy(why, err->text, sizeof why);
        cv_fail(err, status, "cannot join %s port %s: %.300s", address->host,
                address->port, why);
        if (!again || status != CLEAVE_ELOST || cv_tls_clock_s() + AGAIN_S >= until_s)
            return status;
        if (!told)
            (void)dprintf(STDERR_FILENO, "cleave: %s; tried again for %g s\n", err->text,
                          timeout_s);
        told = true;
        (void)poll(NULL, 0, (int)(1000 * AGAIN_S));
    }
}

/* --- the copy ------------------------------------------------------------------------- */

struct way {
    struct cv_tls_end *from, *to;
    size_t at, end; /* bytes [at, end) were read and not written */
    bool over;      /* nothing more will be read */
    bool done;      /* ... and the end was sent  */
    bool unread;    /* descriptors of `to` are closed: drop the rest */
    struct pollfd wait;
    unsigned char bytes[BUFFER];
};

/* The result of a call of SSL_read or SSL_write that did not succeed. */
static long explain(SSL *ssl, struct pollfd *wait)
{
    const int why = SSL_get_error(ssl, 0);

    *wait = (struct pollfd){ .fd = SSL_get_fd(ssl),
                             .events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN };
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return WAITS;
    return why == SSL_ERROR_ZERO_RETURN ? 0 : BROKEN;
}

/* Bytes that were moved; 0: the end. */
static long take(struct cv_tls_end *from, void *bytes, size_t room, struct pollfd *wait)
{
    size_t count, total = 0;
    ssize_t got;

    if (from->ssl != NULL) {
        ERR_clear_error();
        while (total < room && /* a record has at most 16 KiB */
               SSL_read_ex(from->ssl, (char *)bytes + total, room - total, &count) == 1)
            total += count;
        return total > 0 ? (long)total : explain(from->ssl, wait);
    }
    *wait = (struct pollfd){ .fd = from->in, .events = POLLIN };
    got = TEMP_FAILURE_RETRY(read(from->in, bytes, room));
    if (got < 0)
        return errno == EAGAIN ? WAITS : 0;
    return got;
}

/* A side that closed its descriptors may have written a reason before, which has to arrive: the
 * other direction continues. */
static long give(struct way *way, const void *bytes, size_t length, struct pollfd *wait)
{
    struct cv_tls_end *to = way->to;
    size_t count;
    ssize_t put;

    if (to->ssl != NULL) {
        ERR_clear_error();
        return SSL_write_ex(to->ssl, bytes, length, &count) == 1 ? (long)count
                                                                 : explain(to->ssl, wait);
    }
    *wait = (struct pollfd){ .fd = to->out, .events = POLLOUT };
    put =
        way->unread ? (ssize_t)length : TEMP_FAILURE_RETRY(write(to->out, bytes, length));
    if (put < 0 && errno == EAGAIN)
        return WAITS;
    way->unread = way->unread || put < 0;
    return put < 0 ? (long)length : put;
}

/* 1, or WAITS: the end of this direction could not be sent yet. */
static long end_way(struct way *way)
{
    if (way->to->ssl != NULL) {
        ERR_clear_error();
        if (SSL_shutdown(way->to->ssl) < 0 && explain(way->to->ssl, &way->wait) == WAITS)
            return WAITS;
    } else {
        (void)shutdown(way->to->out, SHUT_WR);
        if (way->to->out != way->to->in)
            close(way->to->out);
    }
    way->done = true;
    return 1;
}

/* Move bytes until one side has to wait. False: the end of the copy. */
static bool step(struct way *way)
{
    long count = 1;

    for (int turn = 0; !way->done && turn < TURNS && count > 0; turn++) {
        if (way->over) {
            count = end_way(way);
        } else if (way->at < way->end) {
            count = give(way, way->bytes + way->at, way->end - way->at, &way->wait);
            way->at += count > 0 ? (size_t)count : 0;
        } else {
            count = take(way->from, way->bytes, sizeof way->bytes, &way->wait);
            way->at = 0;
            way->end = count > 0 ? (size_t)count : 0;
        }
        if (count == 0) {
            way->over = true;
            count = 1;
        }
    }
    if (count > 0) /* another turn, after the other direction */
        way->wait.events = 0;
    return count != BROKEN;
}

static void never_wait(const struct cv_tls_end *end)
{
    const int fds[2] = { end->ssl != NULL ? SSL_get_fd(end->ssl) : end->in,
                         end->ssl != NULL ? SSL_get_fd(end->ssl) : end->out };

    for (int i = 0; i < 2; i++)
        (void)fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
}

void cv_tls_copy(struct cv_tls_end one, struct cv_tls_end other)
{
    static struct way ways[2];
    double until_s = -1;

    never_wait(&one);
    never_wait(&other);
    ways[0] = (struct way){ .from = &one, .to = &other };
    ways[1] = (struct way){ .from = &other, .to = &one };
    for (;;) {
        struct pollfd waits[2];
        nfds_t count = 0;
        bool again = false;

        if (!step(&ways[0]) || !step(&ways[1]) || (ways[0].done && ways[1].done))
            return;
        for (int i = 0; i < 2; i++) {
            again = again || (!ways[i].done && ways[i].wait.events == 0);
            if (!ways[i].done)
                waits[count++] = ways[i].wait;
        }
        if (until_s < 0 && count < 2)
            until_s = cv_tls_clock_s() + END_S;
        if (until_s >= 0 && cv_tls_clock_s() > until_s)
            return;
        if (poll(waits, count, again ? 0 : cv_tls_until_ms(until_s)) > 0)
            until_s = -1;
    }
}
