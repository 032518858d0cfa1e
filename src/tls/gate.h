/* gate.h -- which connections may try a handshake, and when. SPDX-License-Identifier: MIT
 *
 * After a failed handshake, later connections from the same address wait for a second, so that
 * guesses cost little time here. At most CV_GATE_MAX connections are without a handshake: one
 * more drops the oldest of the address that has most of them. So silent connections keep
 * neither other addresses out, nor their own address for longer than it takes to connect. */
#ifndef CV_GATE_H
#define CV_GATE_H
#include <stddef.h>
#include <sys/socket.h>

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

#endif
