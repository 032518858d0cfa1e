/* tls.h -- TLS 1.3 between two sides that have the same key. SPDX-License-Identifier: MIT
 *
 * The key is an external pre-shared key (RFC 8446, 4.2.11), with a Diffie-Hellman exchange: a
 * key that is stolen later does not open a recorded connection. There are no certificates:
 * without the key neither side completes a handshake. */
#ifndef CV_TLS_H
#define CV_TLS_H
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>
#include <openssl/ssl.h>
#include <cleave/error.h>

enum { CV_TLS_KEY_MIN = 16, CV_TLS_KEY_MAX = 64 }; /* bytes */

struct cv_tls_key {
    unsigned char bytes[CV_TLS_KEY_MAX];
    size_t length;
};

/* The key of a file with hexadecimal digits. EINPUT: others can read the file, or it has none. */
enum cleave_status cv_tls_key_read(const char *path, struct cv_tls_key *out,
                                   struct cleave_error *err);
/* `name` is for messages. */
enum cleave_status cv_tls_key_parse(const char *digits, const char *name,
                                    struct cv_tls_key *out, struct cleave_error *err);

struct cv_tls_address {
    char host[256], port[8];
};

/* HOST:PORT, [HOST]:PORT, or PORT of 127.0.0.1. */
enum cleave_status cv_tls_address_parse(const char *text, struct cv_tls_address *out,
                                        struct cleave_error *err);

/* Seconds of a monotonic clock. */
static inline double cv_tls_clock_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The timeout of poll(); until_s < 0: none. */
static inline int cv_tls_until_ms(double until_s)
{
    const double left_s = until_s - cv_tls_clock_s();

    return until_s < 0 ? -1 : left_s > 0 ? 1 + (int)(1000 * left_s) : 0;
}

/* --- one connection ------------------------------------------------------------------- */

/* One side of all connections with this key, which is borrowed. */
enum cleave_status cv_tls_context_new(bool server, const struct cv_tls_key *key,
                                      SSL_CTX **out, struct cleave_error *err);
/* Connect within `timeout_s`, if `again` with several tries, as the run may begin later, and do
 * the handshake. ELOST: not reached; EINPUT: the other side has another key. */
enum cleave_status cv_tls_connect(SSL_CTX *context, const struct cv_tls_address *address,
                                  double timeout_s, bool again, SSL **out,
                                  struct cleave_error *err);
/* One step of a handshake that does not wait. 1: done with this key; 0: wait for *out_events;
 * -1: failed. */
int cv_tls_handshake(SSL *ssl, short *out_events);
/* Close descriptor and connection, without a word to the other side. */
void cv_tls_drop(SSL *ssl);

/* One end of a copy: a connection, or descriptors, which may be one. */
struct cv_tls_end {
    SSL *ssl;    /* or NULL */
    int in, out; /* without ssl; `out` is closed at the end of its direction */
};

/* Copy in both directions until both have ended, or one has and the other rests. */
void cv_tls_copy(struct cv_tls_end one, struct cv_tls_end other);

/* --- which connections may try a handshake, and when ------------------------------------
 *
 * After a failed handshake, later connections from the same address wait for a second, so that
 * guesses cost little time here. At most CV_GATE_MAX connections are without a handshake: one
 * more drops the oldest of the address that has most of them. So silent connections keep
 * neither other addresses out, nor their own address for longer than it takes to connect. */

enum { CV_GATE_MAX = 128, CV_GATE_MEMORY = 64 };

/* An IPv4 address as IPv6, or the first 64 bits of an IPv6 address. */
struct cv_gate_from {
    unsigned char bytes[16];
};

struct cv_gate {
    struct {
        struct cv_gate_from from;
        double until_s;
    } failed[CV_GATE_MEMORY]; /* the latest */
};

struct cv_gate_from cv_gate_from(const struct sockaddr *address);
/* When a connection that was accepted at `now_s` may begin its handshake. */
double cv_gate_begin_s(const struct cv_gate *gate, const struct cv_gate_from *from,
                       double now_s);
void cv_gate_failed(struct cv_gate *gate, const struct cv_gate_from *from, double now_s);
/* The connection to drop, of `count` > 0 in the order of their age; `stride` bytes are between
 * their addresses. */
size_t cv_gate_victim(const struct cv_gate_from *first, size_t count, size_t stride);

/* --- many connections ----------------------------------------------------------------- */

struct cv_tls_pending {
    SSL *ssl;
    double begin_s, end_s; /* the handshake begins, and has to end */
    short events;
    struct cv_gate_from from;
    char name[64]; /* numeric address */
};

struct cv_tls_listener {
    SSL_CTX *context; /* borrowed */
    int fd;           /* owned */
    double rest_s;    /* accept nothing before: descriptors are short */
    struct cv_gate gate;
    size_t npending;
    struct cv_tls_pending pending[CV_GATE_MAX];
    char failed[64]; /* the address of the first failed handshake; "": none */
};

/* Listen there. A NULL address: any port of all addresses. */
enum cleave_status cv_tls_listen(struct cv_tls_listener *listener,
                                 const struct cv_tls_address *address,
                                 struct cleave_error *err);
/* The numeric address and port that it listens on, as HOST:PORT. */
void cv_tls_listener_name(const struct cv_tls_listener *listener, char *out, size_t size);
/* Wait for a completed handshake, which is returned with its address, or until one of `others`
 * is ready, or the first handshake has failed: NULL. */
SSL *cv_tls_listener_wait(struct cv_tls_listener *listener, struct pollfd *others,
                          size_t count, char name[64]);
void cv_tls_listener_close(struct cv_tls_listener *listener);

#endif
