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
static void tell(const struct cv_handoff_buffer *tray)
{
    const uint64_t count = 1;

    while (write(tray->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

/* Whether there is enough to be woken for, or nothing can come before more is lent. */
static bool has_enough(const struct cv_handoff_buffer *tray)
{
    const uint64_t there = tray->come - tray->taken;

    return tray->closed || there >= tray->min || tray->come == tray->lent;
}

/* Without the lock: let it not be readable, unless bytes have come meanwhile. */
static void take_back(struct cv_handoff_buffer *tray)
{
    uint64_t count;

    while (read(tray->event, &count, sizeof count) < 0 && errno == EINTR)
        continue;
    pthread_mutex_lock(&tray->lock);
    tray->told = has_enough(tray);
    count = tray->told;
    pthread_mutex_unlock(&tray->lock);
    if (count > 0)
        tell(tray);
}

enum cleave_status cv_handoff_buffer_new(size_t min, struct cv_handoff_buffer **out,
                                         struct cleave_error *err)
{
    struct cv_handoff_buffer *tray = calloc(1, sizeof *tray);
    enum cleave_status status;

    if (tray == NULL)
        return cv_fail_memory(err, "a buffer");
    tray->min = min;
    tray->told = true; /* that nothing is lent */
    tray->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&tray->lock, NULL);
    pthread_cond_init(&tray->more, NULL);
    if (tray->event >= 0) {
        *out = tray;
        return CLEAVE_OK;
    }
    status = cv_fail(err, CLEAVE_EENGINE, "cannot make an event: %s", strerror(errno));
    cv_handoff_buffer_free(tray);
    return status;
}

void cv_handoff_buffer_free(struct cv_handoff_buffer *tray)
{
    if (tray == NULL)
        return;
    if (tray->event >= 0)
        close(tray->event);
    pthread_cond_destroy(&tray->more);
    pthread_mutex_destroy(&tray->lock);
    free(tray);
}

/* --- by who makes them ----------------------------------------------------------------------- */

uint8_t *cv_handoff_buffer_room(struct cv_handoff_buffer *tray, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&tray->lock);
    tray->waiting = tray->come == tray->lent;
    while (tray->waiting && !tray->stopped)
        pthread_cond_wait(&tray->more, &tray->lock);
    if (!tray->stopped) {
        to = tray->at + (tray->come - tray->taken);
        *room = (size_t)(tray->lent - tray->come);
    }
    pthread_mutex_unlock(&tray->lock);
    return to;
}

void cv_handoff_buffer_put(struct cv_handoff_buffer *tray, size_t length)
{
    bool tells;

    pthread_mutex_lock(&tray->lock);
    assert(length <= tray->lent - tray->come);
    tray->come += length;
    tells = !tray->told && has_enough(tray);
    tray->told = tray->told || tells;
    pthread_mutex_unlock(&tray->lock);
    if (tells)
        tell(tray);
}

bool cv_handoff_buffer_write(struct cv_handoff_buffer *tray, const void *bytes,
                             size_t length)
{
    const uint8_t *from = bytes;

    while (length > 0) {
        size_t some;
        uint8_t *to = cv_handoff_buffer_room(tray, &some);

        if (to == NULL)
            return false;
        some = some < length ? some : length;
        if (to != from)
            memcpy(to, from, some);
        cv_handoff_buffer_put(tray, some);
        from += some;
        length -= some;
    }
    return true;
}

uint8_t *cv_handoff_buffer_place(struct cv_handoff_buffer *tray, uint64_t behind,
                                 size_t length)
{
    uint8_t *place = NULL;

    pthread_mutex_lock(&tray->lock);
    if (tray->lent - tray->come >= behind + length)
        place = tray->at + (tray->come - tray->taken) + behind;
    pthread_mutex_unlock(&tray->lock);
    return place;
}

void cv_handoff_buffer_close(struct cv_handoff_buffer *tray)
{
    pthread_mutex_lock(&tray->lock);
    tray->closed = tray->told = true;
    pthread_mutex_unlock(&tray->lock);
    tell(tray);
}

/* --- by who gets them ------------------------------------------------------------------------ */

int cv_handoff_buffer_fd(const struct cv_handoff_buffer *tray)
{
    return tray->event;
}

/* Whether who waits for room is to be woken: there is much, or nothing else to be done. */
static bool stops_waiting(struct cv_handoff_buffer *tray)
{
    const uint64_t room = tray->lent - tray->come;

    if (!tray->waiting || room == 0 || (room < tray->max / 2 && tray->come > tray->taken))
        return false;
    tray->waiting = false;
    return true;
}

void cv_handoff_buffer_lend(struct cv_handoff_buffer *tray, void *at, size_t room)
{
    bool wakes;

    pthread_mutex_lock(&tray->lock);
    assert(tray->taken + room >= tray->lent); /* somebody may be writing to it */
    assert(at == tray->at || tray->taken == tray->lent);
    tray->at = at;
    tray->lent = tray->taken + room;
    tray->max = room > tray->max ? room : tray->max;
    wakes = stops_waiting(tray);
    pthread_mutex_unlock(&tray->lock);
    if (wakes)
        pthread_cond_signal(&tray->more);
}

ssize_t cv_handoff_buffer_take(struct cv_handoff_buffer *tray, size_t max)
{
    bool closed, last, wakes;
    size_t some;

    pthread_mutex_lock(&tray->lock);
    some = (size_t)(tray->come - tray->taken);
    some = some < max ? some : max;
    closed = tray->closed;
    tray->taken += some;
    tray->at += some;
    last = tray->taken == tray->come && !closed;
    wakes = stops_waiting(tray);
    pthread_mutex_unlock(&tray->lock);
    if (wakes)
        pthread_cond_signal(&tray->more);
    if (last)
        take_back(tray);
    if (some > 0 || closed)
        return (ssize_t)some;
    errno = EAGAIN;
    return -1;
}

void cv_handoff_buffer_stop(struct cv_handoff_buffer *tray)
{
    pthread_mutex_lock(&tray->lock);
    tray->stopped = true;
    pthread_mutex_unlock(&tray->lock);
    pthread_cond_signal(&tray->more);
}
