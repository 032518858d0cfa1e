/* byte_ring.c -- bytes from one thread to another, which waits for them by epoll. SPDX-License-Identifier: MIT
 *
 * A ring. Both copy without the lock: one behind `come`, the other from `taken` on. The event says that there is
 * something to be read, and is taken back when the last byte was. */
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
    size_t room;
    int event;
    pthread_mutex_t lock; /* for these */
    pthread_cond_t less;
    uint64_t taken, come;
    bool told; /* the event says so */
    bool closed, stopped;
};

/* With the lock: let it be readable, or not. */
static void tell(struct cv_byte_ring *ring, bool readable)
{
    uint64_t count = 1;

    if (ring->told == readable)
        return;
    ring->told = readable;
    if (readable)
        while (write(ring->event, &count, sizeof count) < 0 && errno == EINTR)
            continue;
    else
        while (read(ring->event, &count, sizeof count) < 0 && errno == EINTR)
            continue;
}

enum cleave_status cv_byte_ring_new(size_t room, struct cv_byte_ring **out,
                                    struct cleave_error *err)
{
    struct cv_byte_ring *ring = calloc(1, sizeof *ring);
    enum cleave_status status;

    if (ring == NULL)
        return cv_fail_memory(err, "a buffer");
    ring->room = room;
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
    while (ring->come - ring->taken == ring->room && !ring->stopped)
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

        if (to == NULL)
            return false;
        some = some < length ? some : length;
        memcpy(to, from, some);
        from += some;
        length -= some;
        pthread_mutex_lock(&ring->lock);
        ring->come += some;
        tell(ring, true);
        pthread_mutex_unlock(&ring->lock);
    }
    return true;
}

void cv_byte_ring_close(struct cv_byte_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = true;
    tell(ring, true);
    pthread_mutex_unlock(&ring->lock);
}

int cv_byte_ring_fd(const struct cv_byte_ring *ring)
{
    return ring->event;
}

ssize_t cv_byte_ring_read(struct cv_byte_ring *ring, void *to, size_t most)
{
    const size_t at = (size_t)(ring->taken % ring->room);
    size_t some;
    bool closed;

    pthread_mutex_lock(&ring->lock);
    some = (size_t)(ring->come - ring->taken);
    closed = ring->closed;
    pthread_mutex_unlock(&ring->lock);
    if (some == 0 && !closed) {
        errno = EAGAIN;
        return -1;
    }
    some = some < most ? some : most;
    some = some < ring->room - at ? some : ring->room - at;
    memcpy(to, ring->bytes + at, some);
    pthread_mutex_lock(&ring->lock);
    ring->taken += some;
    if (ring->taken == ring->come && !ring->closed)
        tell(ring, false);
    pthread_cond_signal(&ring->less);
    pthread_mutex_unlock(&ring->lock);
    return (ssize_t)some;
}

void cv_byte_ring_stop(struct cv_byte_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->stopped = true;
    pthread_cond_signal(&ring->less);
    pthread_mutex_unlock(&ring->lock);
}
