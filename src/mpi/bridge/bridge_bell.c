/* bridge_bell.c -- wake a rank of the same machine. SPDX-License-Identifier: MIT
 *
 * MPI has nothing to wait on, so who waits for a message looks for it again and again:
 * the more often, the sooner it is noticed, and the more is taken from the commands that
 * should have the cores. Where all ranks are on one machine a byte by a socket says that
 * it is time to look. Such a byte may be lost without harm: it only comes later then. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mpi/bridge/bridge_inner.h"

int cv_bell_open(struct cv_bell *out)
{
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t length = sizeof address;
    ssize_t n;

    memset(out, 0, sizeof *out);
    if (fd < 0)
        return -1;
    n = readlink("/proc/self/ns/net", out->space, sizeof out->space);
    /* Bound to no name, it gets one that nobody else has in this space of names. */
    if (n <= 0 || bind(fd, (struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        length - sizeof address.sun_family > sizeof out->name) {
        close(fd);
        memset(out, 0, sizeof *out);
        return -1;
    }
    out->length = (unsigned char)(length - sizeof address.sun_family);
    memcpy(out->name, address.sun_path, out->length);
    return fd;
}

bool cv_bell_reaches(const struct cv_bell *a, const struct cv_bell *b)
{
    return a->length > 0 && b->length > 0 &&
           memcmp(a->space, b->space, sizeof a->space) == 0;
}

void cv_bell_ring(int fd, const struct cv_bell *bell)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, bell->name, bell->length);
    (void)sendto(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(sizeof address.sun_family + bell->length));
}

bool cv_bell_heard(int fd)
{
    bool any = false;
    char byte;

    while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno == EINTR)
        any = true;
    return any;
}
