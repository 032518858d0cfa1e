/* test_tls.c -- handshakes with a key, the copy, and the limits for strangers. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "tls/tls.h"

static const struct cv_tls_key key = { "0123456789abcdef", 16 },
                               other = { "0123456789abcdeF", 16 };

struct pair {
    SSL_CTX *contexts[2];
    SSL *ssl[2];
};

static void set_up(struct pair *pair, const struct cv_tls_key *mine,
                   const struct cv_tls_key *theirs)
{
    struct cleave_error err;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cv_tls_context_new(i == 0, i == 0 ? mine : theirs,
                                            &pair->contexts[i], &err),
                         CLEAVE_OK);
        pair->ssl[i] = SSL_new(pair->contexts[i]);
        assert_int_equal(SSL_set_fd(pair->ssl[i], ends[i]), 1);
    }
}

/* The result of both sides, server first. */
static void shake(struct pair *pair, int out[2])
{
    short events;

    SSL_set_accept_state(pair->ssl[0]);
    SSL_set_connect_state(pair->ssl[1]);
    out[0] = out[1] = 0;
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < 2; i++)
            if (out[i] == 0)
                out[i] = cv_tls_handshake(pair->ssl[i], &events);
}

static void tear_down(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        cv_tls_drop(pair->ssl[i]);
        SSL_CTX_free(pair->contexts[i]);
    }
}

static void the_same_key_completes_a_handshake(void **state)
{
    struct pair pair;
    int done[2];

    (void)state;
    set_up(&pair, &key, &key);
    shake(&pair, done);
    assert_int_equal(done[0], 1);
    assert_int_equal(done[1], 1);
    assert_string_equal(SSL_get_version(pair.ssl[0]), "TLSv1.3");
    tear_down(&pair);
}

static void another_key_fails_on_both_sides(void **state)
{
    struct pair pair;
    int done[2];

    (void)state;
    set_up(&pair, &key, &other);
    shake(&pair, done);
    assert_int_equal(done[0], -1);
    assert_int_equal(done[1], -1);
    tear_down(&pair);
}

/* A server without the key but with a certificate. */
static void a_certificate_does_not_replace_the_key(void **state)
{
    EVP_PKEY *pair_of_keys = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *certificate = X509_new();
    struct pair pair;
    int done[2];

    (void)state;
    set_up(&pair, &key, &key);
    assert_int_equal(X509_set_version(certificate, 2), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 1000));
    assert_int_equal(X509_set_pubkey(certificate, pair_of_keys), 1);
    assert_true(X509_sign(certificate, pair_of_keys, EVP_sha256()) > 0);
    SSL_set_psk_find_session_callback(pair.ssl[0], NULL);
    assert_int_equal(SSL_use_certificate(pair.ssl[0], certificate), 1);
    assert_int_equal(SSL_use_PrivateKey(pair.ssl[0], pair_of_keys), 1);
    shake(&pair, done);
    assert_int_equal(done[1], -1);
    tear_down(&pair);
    X509_free(certificate);
    EVP_PKEY_free(pair_of_keys);
}

/* --- the copy ------------------------------------------------------------------------- */

struct side {
    struct cv_tls_end one, two;
};

static void *copy(void *context)
{
    const struct side *side = context;

    cv_tls_copy(side->one, side->two);
    return NULL;
}

enum { BYTES = 3000000 };

static void *write_all(void *context)
{
    const int fd = *(const int *)context;
    unsigned char *bytes = malloc(BYTES);
    size_t at = 0;

    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 31 % 251);
    while (at < BYTES) {
        const ssize_t put = write(fd, bytes + at, BYTES - at);

        assert_true(put > 0);
        at += (size_t)put;
    }
    shutdown(fd, SHUT_WR);
    free(bytes);
    return NULL;
}

static size_t read_all(int fd)
{
    unsigned char some[4096];
    size_t at = 0;
    ssize_t got;

    while ((got = read(fd, some, sizeof some)) > 0)
        for (ssize_t i = 0; i < got; i++, at++)
            assert_int_equal(some[i], at * 31 % 251);
    return at;
}

/* The copy has its state in static memory, as the program makes one per process: here the two
 * sides are two processes. */
static void bytes_of_both_directions_arrive_and_an_end_ends_one(void **state)
{
    int near[2], far[2], done[2];
    struct pair pair;
    pthread_t writer;
    pid_t child;

    (void)state;
    set_up(&pair, &key, &key);
    shake(&pair, done);
    assert_int_equal(done[0] + done[1], 2);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, near), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, far), 0);
    for (int i = 0; i < 2; i++) {
        child = fork();
        if (child == 0) {
            const int *ends = i == 0 ? near : far;
            struct side side = { { pair.ssl[i], -1, -1 },
                                 { .in = ends[0], .out = ends[0] } };

            close(near[1]);
            close(far[1]);
            close(SSL_get_fd(pair.ssl[1 - i]));
            (void)copy(&side);
            _exit(0);
        }
        assert_true(child > 0);
    }
    close(near[0]);
    close(far[0]);
    tear_down(&pair); /* so that a side sees the end of the other one */
    assert_int_equal(pthread_create(&writer, NULL, write_all, &near[1]), 0);
    /* This end comes first, and the other direction continues. */
    assert_int_equal(read_all(far[1]), BYTES);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_all, &far[1]), 0);
    assert_int_equal(read_all(near[1]), BYTES);
    assert_int_equal(pthread_join(writer, NULL), 0);
    close(near[1]);
    close(far[1]);
}

/* --- who may try ---------------------------------------------------------------------- */

static struct cv_gate_from from(uint32_t number)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(number) };

    return cv_gate_from((const struct sockaddr *)&address);
}

static void a_failed_handshake_delays_its_address_alone(void **state)
{
    struct cv_gate gate = { .failed[0].until_s = 0 };
    const struct cv_gate_from bad = from(1), good = from(2);

    (void)state;
    assert_true(cv_gate_begin_s(&gate, &bad, 10) == 10);
    cv_gate_failed(&gate, &bad, 10);
    assert_true(cv_gate_begin_s(&gate, &bad, 10.5) == 11);
    assert_true(cv_gate_begin_s(&gate, &good, 10.5) == 10.5);
    assert_true(cv_gate_begin_s(&gate, &bad, 11.5) == 11.5);
    /* Only the latest are remembered, each once. */
    for (int i = 0; i < 1000; i++)
        cv_gate_failed(&gate, &good, 12);
    cv_gate_failed(&gate, &bad, 12.2);
    for (uint32_t i = 3; i <= CV_GATE_MEMORY; i++)
        cv_gate_failed(&gate, &(struct cv_gate_from){ { (unsigned char)i } }, 12.5);
    assert_true(cv_gate_begin_s(&gate, &good, 12.5) == 13);
    cv_gate_failed(&gate, &(struct cv_gate_from){ { 200 } }, 12.5);
    assert_true(cv_gate_begin_s(&gate, &good, 12.5) == 12.5);
    assert_true(cv_gate_begin_s(&gate, &bad, 12.5) == 13.2);
}

static void ipv6_addresses_of_one_network_are_one(void **state)
{
    struct sockaddr_in6 a = { .sin6_family = AF_INET6 }, b = a;
    const struct cv_gate_from four = from(0x7f000001);
    struct cv_gate_from from_a, from_b;

    (void)state;
    memcpy(&a.sin6_addr, "\x20\x01\x0d\xb8\0\0\0\1\1\1\1\1\1\1\1\1", 16);
    memcpy(&b.sin6_addr, "\x20\x01\x0d\xb8\0\0\0\1\2\2\2\2\2\2\2\2", 16);
    from_a = cv_gate_from((const struct sockaddr *)&a);
    from_b = cv_gate_from((const struct sockaddr *)&b);
    assert_memory_equal(&from_a, &from_b, sizeof from_a);
    memcpy(&a.sin6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16);
    from_a = cv_gate_from((const struct sockaddr *)&a);
    assert_memory_equal(&from_a, &four, sizeof from_a);
}

static void the_address_with_most_connections_gives_way(void **state)
{
    struct cv_gate_from list[CV_GATE_MAX];

    (void)state;
    for (uint32_t i = 0; i < CV_GATE_MAX; i++)
        list[i] = from(i);
    assert_int_equal(cv_gate_victim(list, CV_GATE_MAX, sizeof *list), 0);
    list[70] = list[90] = from(7);
    assert_int_equal(cv_gate_victim(list, CV_GATE_MAX, sizeof *list), 7);
    list[7] = from(1000);
    assert_int_equal(cv_gate_victim(list, CV_GATE_MAX, sizeof *list), 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_key_completes_a_handshake),
        cmocka_unit_test(another_key_fails_on_both_sides),
        cmocka_unit_test(a_certificate_does_not_replace_the_key),
        cmocka_unit_test(bytes_of_both_directions_arrive_and_an_end_ends_one),
        cmocka_unit_test(a_failed_handshake_delays_its_address_alone),
        cmocka_unit_test(ipv6_addresses_of_one_network_are_one),
        cmocka_unit_test(the_address_with_most_connections_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
