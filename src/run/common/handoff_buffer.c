/* handoff_buffer.c -- bytes from one thread to another, which lends the memory. SPDX-License-Identifier: MIT
 *
 * Bytes are counted from the first one: [taken, come) are there, [come, lent) have room. The event says that there is
 * something to be taken, and is taken back when the last byte was.
 *
 * Nobody is woken with the lock held: on a machine with few cores it would run at once, in the place of who woke it, and
 * wait for the lock. So the event may come later than what it tells of was taken, which is seen then. Who
 * waits for room is not woken before there is half as much as was ever lent at once, or nothing else to be done. */
#include "run/common/handoff_buffer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"

struct cv_handoff_buffer {
    size_t min;
    int event;
    pthread_mutex_t lock; /* for these */
    pthread_cond_t more;
    uint8_t *at; /* borrowed: the place of byte `taken` */
    uint64_t taken, come, lent;
    size_t max;   /* that was lent at once                  */
    bool told;    /* the event says so, or will in a moment */
    bool waiting; /* for room                               */
    bool closed, stopped;
};

/* Without the lock: let it be readable. */
static void tell(const struct cv_handoff_buffer *buffer)
{
    const uint64_t count = 1;

    while (write(buffer->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

/* Whether there is enough to be woken for, or nothing can come before more is lent. */
static bool has_enough(const struct cv_handoff_buffer *buffer)
{
    const uint64_t there = buffer->come - buffer->taken;

    return buffer->closed || there >= buffer->min || buffer->come == buffer->lent;
}

/* Without the lock: let it not be readable, unless bytes have come meanwhile. */
static void take_back(struct cv_handoff_buffer *buffer)
{
    uint64_t count;

    while (read(buffer->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
    pthread_mutex_lock(&buffer->lock);
    buffer->told = has_enough(buffer);
    count = buffer->told;
    pthread_mutex_unlock(&buffer->lock);
    if (count > 0)
        tell(buffer);
}

enum cleave_status cv_handoff_buffer_new(size_t min, struct cv_handoff_buffer **out,
                                         struct cleave_error *err)
{
    struct cv_handoff_buffer *buffer = calloc(1, sizeof *buffer);
    enum cleave_status status;

    if (buffer == NULL)
        return cv_fail_memory(err, "a buffer");
    buffer->min = min;
    buffer->told = true; /* that nothing is lent */
    buffer->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&buffer->lock, NULL);
    pthread_cond_init(&buffer->more, NULL);
    if (buffer->event >= 0) {
        *out = buffer;
        return CLEAVE_OK;
    }
    status = cv_fail(err, CLEAVE_EENGINE, "cannot make an event: %s", strerror(errno));
    cv_handoff_buffer_free(buffer);
    return status;
}

void cv_handoff_buffer_free(struct cv_handoff_buffer *buffer)
{
    if (buffer == NULL)
        return;
    if (buffer->event >= 0)
        close(buffer->event);
    pthread_cond_destroy(&buffer->more);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

/* --- by who makes them ----------------------------------------------------------------------- */

uint8_t *cv_handoff_buffer_room(struct cv_handoff_buffer *buffer, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&buffer->lock);
    buffer->waiting = buffer->come == buffer->lent;
    while (buffer->waiting && !buffer->stopped)
        pthread_cond_wait(&buffer->more, &buffer->lock);
    if (!buffer->stopped) {
        to = buffer->at + (buffer->come - buffer->taken);
        *room = (size_t)(buffer->lent - buffer->come);
    }
    pthread_mutex_unlock(&buffer->lock);
    return to;
}

void cv_handoff_buffer_put(struct cv_handoff_buffer *buffer, size_t length)
{
    bool tells;

    pthread_mutex_lock(&buffer->lock);
    assert(length <= buffer->lent - buffer->come);
    buffer->come += length;
    tells = !buffer->told && has_enough(buffer);
    buffer->told = buffer->told || tells;
    pthread_mutex_unlock(&buffer->lock);
    if (tells)
        tell(buffer);
}

bool cv_handoff_buffer_write(struct cv_handoff_buffer *buffer, const void *bytes,
                             size_t length)
{
    const uint8_t *from = bytes;

    while (length > 0) {
        size_t some;
        uint8_t *to = cv_handoff_buffer_room(buffer, &some);

        if (to == NULL)
            return false;
        some = some < length ? some : length;
        if (to != from)
            memcpy(to, from, some);
        cv_handoff_buffer_put(buffer, some);
        from += some;
        length -= some;
    }
    return true;
}

uint8_t *cv_handoff_buffer_place(struct cv_handoff_buffer *buffer, uint64_t behind,
                                 size_t length)
{
    uint8_t *place = NULL;

    pthread_mutex_lock(&buffer->lock);
    if (buffer->lent - buffer->come >= behind + length)
        place = buffer->at + (buffer->come - buffer->taken) + behind;
    pthread_mutex_unlock(&buffer->lock);
    return place;
}

void cv_handoff_buffer_close(struct cv_handoff_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->closed = buffer->told = true;
    pthread_mutex_unlock(&buffer->lock);
    tell(buffer);
}

/* --- by who gets them ------------------------------------------------------------------------ */

int cv_handoff_buffer_fd(const struct cv_handoff_buffer *buffer)
{
    return buffer->event;
}

/* Whether who waits for room is to be woken: there is much, or nothing else to be done. */
static bool stops_waiting(struct cv_handoff_buffer *buffer)
{
    const uint64_t room = buffer->lent - buffer->come;

    if (!buffer->waiting || room == 0 ||
        (room < buffer->max / 2 && buffer->come > buffer->taken))
        return false;
    buffer->waiting = false;
    return true;
}

void cv_handoff_buffer_lend(struct cv_handoff_buffer *buffer, void *at, size_t room)
{
    bool wakes;

    pthread_mutex_lock(&buffer->lock);
    assert(buffer->taken + room >= buffer->lent); /* somebody may be writing to it */
    assert(at == buffer->at || buffer->taken == buffer->lent);
    buffer->at = at;
    buffer->lent = buffer->taken + room;
    buffer->max = room > buffer->max ? room : buffer->max;
    wakes = stops_waiting(buffer);
    pthread_mutex_unlock(&buffer->lock);
    if (wakes)
        pthread_cond_signal(&buffer->more);
}

ssize_t cv_handoff_buffer_take(struct cv_handoff_buffer *buffer, size_t max)
{
    bool closed, last, wakes;
    size_t some;

    pthread_mutex_lock(&buffer->lock);
    some = (size_t)(buffer->come - buffer->taken);
    some = some < max ? some : max;
    closed = buffer->closed;
    buffer->taken += some;
    buffer->at += some;
    last = buffer->taken == buffer->come && !closed;
    wakes = stops_waiting(buffer);
    pthread_mutex_unlock(&buffer->lock);
    if (wakes)
        pthread_cond_signal(&buffer->more);
    if (last)
        take_back(buffer);
    if (some > 0 || closed)
        return (ssize_t)some;
    errno = EAGAIN;
    return -1;
}

void cv_handoff_buffer_stop(struct cv_handoff_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->stopped = true;
    pthread_mutex_unlock(&buffer->lock);
    pthread_cond_signal(&buffer->more);
}
