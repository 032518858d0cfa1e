/* gate.c -- which connections may try a handshake, and when. SPDX-License-Identifier: MIT */
#include "tls/gate.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

static const double PAUSE_S = 1;

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
