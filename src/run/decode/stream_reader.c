/* stream_reader.c -- an input that comes once, read ahead. SPDX-License-Identifier: MIT
 *
 * A ring: bytes up to `come` are there, behind them the thread that reads writes without the lock. */
#include "run/decode/stream_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/common/nosignal_thread.h"

enum {
    READ = 256 * 1024,
    KEPT =
        256 *
        1024, /* bytes that were taken, but may not be used yet, are still to be seen */
};

struct cv_stream_reader {
    struct cv_decoder_input input;
    pthread_t reader;
    bool reading;
    uint8_t *ring; /* owned; what is never written takes no memory */
    size_t room;
    pthread_mutex_t lock; /* for these */
    pthread_cond_t more, less;
    uint64_t taken, come;
    bool whole; /* there will be no more, */
    int error;  /* ... as reading failed; 0: it is the end */
    bool stopped;
};

/* With the lock: the first byte that is there. */
static uint64_t begin_of(const struct cv_stream_reader *reel)
{
    return reel->taken > KEPT ? reel->taken - KEPT : 0;
}

/* Where the next bytes go, or NULL: no more are wanted. */
static uint8_t *wait_for_room(struct cv_stream_reader *reel, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&reel->lock);
    while (reel->come - begin_of(reel) == reel->room && !reel->stopped)
        pthread_cond_wait(&reel->less, &reel->lock);
    if (!reel->stopped) {
        const size_t at = (size_t)(reel->come % reel->room);
        const size_t left = reel->room - (size_t)(reel->come - begin_of(reel));

        *room = left < reel->room - at ? left : reel->room - at;
        *room = *room < READ ? *room : READ;
        to = reel->ring + at;
    }
    pthread_mutex_unlock(&reel->lock);
    return to;
}

static void *read_all(void *context)
{
    struct cv_stream_reader *reel = context;
    ssize_t got = 1;
    uint8_t *to;
    size_t room;

    while (got > 0 && (to = wait_for_room(reel, &room)) != NULL) {
        do
            got = reel->input.read(reel->input.context, to, room);
        while (got < 0 && errno == EINTR);
        pthread_mutex_lock(&reel->lock);
        reel->error = got < 0 ? errno : 0;
        reel->whole = got <= 0;
        reel->come += got > 0 ? (uint64_t)got : 0;
        pthread_cond_signal(&reel->more);
        pthread_mutex_unlock(&reel->lock);
    }
    return NULL;
}

/* With the lock: bytes that are there, from `at` on. */
static void copy(const struct cv_stream_reader *reel, uint64_t at, void *to,
                 size_t length)
{
    const size_t begin = (size_t)(at % reel->room);
    const size_t first = length < reel->room - begin ? length : reel->room - begin;

    memcpy(to, reel->ring + begin, first);
    memcpy((uint8_t *)to + first, reel->ring, length - first);
}

ssize_t cv_stream_reader_read(void *context, void *to, size_t max)
{
    struct cv_stream_reader *reel = context;
    size_t some;
    int error;

    pthread_mutex_lock(&reel->lock);
    while (reel->taken == reel->come && !reel->whole)
        pthread_cond_wait(&reel->more, &reel->lock);
    error = reel->taken == reel->come ? reel->error : 0;
    some = (size_t)(reel->come - reel->taken);
    some = some < max ? some : max;
    copy(reel, reel->taken, to, some);
    reel->taken += some;
    pthread_cond_signal(&reel->less);
    pthread_mutex_unlock(&reel->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

size_t cv_stream_reader_look(struct cv_stream_reader *reel, uint64_t at, void *to,
                             size_t max)
{
    size_t some = 0;

    pthread_mutex_lock(&reel->lock);
    if (at >= begin_of(reel) && at < reel->come) {
        some = (size_t)(reel->come - at);
        some = some < max ? some : max;
        copy(reel, at, to, some);
    }
    pthread_mutex_unlock(&reel->lock);
    return some;
}

uint64_t cv_stream_reader_come(struct cv_stream_reader *reel, bool *whole)
{
    uint64_t come;

    pthread_mutex_lock(&reel->lock);
    come = reel->come;
    *whole = reel->whole;
    pthread_mutex_unlock(&reel->lock);
    return come;
}

void cv_stream_reader_free(struct cv_stream_reader *reel)
{
    if (reel == NULL)
        return;
    pthread_mutex_lock(&reel->lock);
    reel->stopped = true;
    pthread_cond_signal(&reel->less);
    pthread_mutex_unlock(&reel->lock);
    if (reel->reading)
        pthread_join(reel->reader, NULL);
    pthread_cond_destroy(&reel->more);
    pthread_cond_destroy(&reel->less);
    pthread_mutex_destroy(&reel->lock);
    free(reel->ring);
    free(reel);
}

enum cleave_status cv_stream_reader_open(const struct cv_decoder_input *input,
                                         size_t room, struct cv_stream_reader **out,
                                         struct cleave_error *err)
{
    struct cv_stream_reader *reel = calloc(1, sizeof *reel);
    int error;

    if (reel == NULL)
        return cv_fail_memory(err, "a decoder");
    reel->input = *input;
    reel->room = room + KEPT;
    pthread_mutex_init(&reel->lock, NULL);
    pthread_cond_init(&reel->more, NULL);
    pthread_cond_init(&reel->less, NULL);
    reel->ring = malloc(reel->room);
    error = reel->ring == NULL
                ? ENOMEM
                : cv_nosignal_thread_create(&reel->reader, NULL, read_all, reel);
    reel->reading = error == 0;
    if (error == 0) {
        *out = reel;
        return CLEAVE_OK;
    }
    cv_stream_reader_free(reel);
    return error == ENOMEM
               ? cv_fail_memory(err, "a decoder")
               : cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that reads: %s",
                         strerror(error));
}
