/* byte_ring.c -- bytes from one thread to another, which waits for them by epoll. SPDX-License-Identifier: MIT
 *
 * A ring. Both copy without the lock: one behind `come`, the other from `taken` on. The event says that there is
 * something to be read, and is taken back when the last byte was.
 *
 * Nobody is woken with the lock held: on a machine with few cores it would run at once, in the place of who woke it, and
 * wait for the lock. So the event may come later than what it tells of was read, which is seen then. Who
 * waits for room is not woken before half of it is there. */
#include "run/kit/byte_ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"

struct cv_byte_ring {
    uint8_t *bytes; /* owned */
    size_t room, least;
    int event;
    pthread_mutex_t lock; /* for these */
    pthread_cond_t less;
    uint64_t taken, come;
    bool told;    /* the event says so, or will in a moment */
    bool waiting; /* for room                               */
    bool closed, stopped;
};

/* Without the lock: let it be readable. */
static void tell(const struct cv_byte_ring *ring)
{
    const uint64_t count = 1;

    while (write(ring->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

/* Without the lock: let it not be readable, unless bytes have come meanwhile. */
static void take_back(struct cv_byte_ring *ring)
{
    uint64_t count;

    while (read(ring->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
    pthread_mutex_lock(&ring->lock);
    ring->told = ring->come - ring->taken >= ring->least || ring->closed;
    count = ring->told;
    pthread_mutex_unlock(&ring->lock);
    if (count > 0)
        tell(ring);
}

enum cleave_status cv_byte_ring_new(size_t room, size_t least, struct cv_byte_ring **out,
                                    struct cleave_error *err)
{
    struct cv_byte_ring *ring = calloc(1, sizeof *ring);
    enum cleave_status status;

    if (ring == NULL)
        return cv_fail_memory(err, "a buffer");
    ring->room = room;
    ring->least = least;
    ring->bytes = malloc(room);
    ring->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->less, NULL);
    if (ring->bytes != NULL && ring->event >= 0) {
        *out = ring;
        return CLEAVE_OK;
    }
    status = ring->bytes == NULL ? cv_fail_memory(err, "a buffer")
                                 : cv_fail(err, CLEAVE_EENGINE,
                                           "cannot make an event: %s", strerror(errno));
    cv_byte_ring_free(ring);
    return status;
}

void cv_byte_ring_free(struct cv_byte_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->event >= 0)
        close(ring->event);
    pthread_cond_destroy(&ring->less);
    pthread_mutex_destroy(&ring->lock);
    free(ring->bytes);
    free(ring);
}

/* Where the next bytes go, up to the end of the ring, or NULL: no more are wanted. */
static uint8_t *wait_for_room(struct cv_byte_ring *ring, size_t *room)
{
    const size_t at = (size_t)(ring->come % ring->room);
    bool wanted;

    pthread_mutex_lock(&ring->lock);
    ring->waiting = ring->come - ring->taken == ring->room;
    while (ring->waiting && !ring->stopped)
        pthread_cond_wait(&ring->less, &ring->lock);
    *room = ring->room - (size_t)(ring->come - ring->taken);
    wanted = !ring->stopped;
    pthread_mutex_unlock(&ring->lock);
    *room = *room < ring->room - at ? *room : ring->room - at;
    return wanted ? ring->bytes + at : NULL;
}

bool cv_byte_ring_write(struct cv_byte_ring *ring, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    while (length > 0) {
        size_t some;
        uint8_t *to = wait_for_room(ring, &some);
        bool tells;

        if (to == NULL)
            return false;
        some = some < length ? some : length;
        memcpy(to, from, some);
        from += some;
        length -= some;
        pthread_mutex_lock(&ring->lock);
        ring->come += some;
        tells = !ring->told && ring->come - ring->taken >= ring->least;
        ring->told = ring->told || tells;
        pthread_mutex_unlock(&ring->lock);
        if (tells)
            tell(ring);
    }
    return true;
}

void cv_byte_ring_close(struct cv_byte_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = ring->told = true;
    pthread_mutex_unlock(&ring->lock);
    tell(ring);
}

int cv_byte_ring_fd(const struct cv_byte_ring *ring)
{
    return ring->event;
}

ssize_t cv_byte_ring_read(struct cv_byte_ring *ring, void *to, size_t most)
{
    const size_t at = (size_t)(ring->taken % ring->room);
    bool closed, last, wakes;
    size_t some;

    pthread_mutex_lock(&ring->lock);
    some = (size_t)(ring->come - ring->taken);
    closed = ring->closed;
    pthread_mutex_unlock(&ring->lock);
    if (some == 0 && !closed) {
        take_back(ring);
        errno = EAGAIN;
        return -1;
    }
    some = some < most ? some : most;
    some = some < ring->room - at ? some : ring->room - at;
    memcpy(to, ring->bytes + at, some);
    pthread_mutex_lock(&ring->lock);
    ring->taken += some;
    last = ring->taken == ring->come && !ring->closed;
    wakes = ring->waiting && ring->come - ring->taken <= ring->room / 2;
    ring->waiting = ring->waiting && !wakes;
    pthread_mutex_unlock(&ring->lock);
    if (wakes)
        pthread_cond_signal(&ring->less);
    if (last)
        take_back(ring);
    return (ssize_t)some;
}

void cv_byte_ring_stop(struct cv_byte_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->stopped = true;
    pthread_cond_signal(&ring->less);
    pthread_mutex_unlock(&ring->lock);
}
