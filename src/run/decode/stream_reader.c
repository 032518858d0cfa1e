/* stream_reader.c -- an input that comes once, read ahead. SPDX-License-Identifier: MIT
 *
 * A ring: bytes up to `come` are there, behind them the thread that reads writes without the lock. */
#include "run/decode/stream_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/common/threads.h"

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
static uint64_t begin_of(const struct cv_stream_reader *reader)
{
    return reader->taken > KEPT ? reader->taken - KEPT : 0;
}

/* Where the next bytes go, or NULL: no more are wanted. */
static uint8_t *wait_for_room(struct cv_stream_reader *reader, size_t *room)
{
    uint8_t *to = NULL;

    pthread_mutex_lock(&reader->lock);
    while (reader->come - begin_of(reader) == reader->room && !reader->stopped)
        pthread_cond_wait(&reader->less, &reader->lock);
    if (!reader->stopped) {
        const size_t at = (size_t)(reader->come % reader->room);
        const size_t left = reader->room - (size_t)(reader->come - begin_of(reader));

        *room = left < reader->room - at ? left : reader->room - at;
        *room = *room < READ ? *room : READ;
        to = reader->ring + at;
    }
    pthread_mutex_unlock(&reader->lock);
    return to;
}

static void *read_all(void *context)
{
    struct cv_stream_reader *reader = context;
    ssize_t got = 1;
    uint8_t *to;
    size_t room;

    while (got > 0 && (to = wait_for_room(reader, &room)) != NULL) {
        do
            got = reader->input.read(reader->input.context, to, room);
        while (got < 0 && errno == EINTR);
        pthread_mutex_lock(&reader->lock);
        reader->error = got < 0 ? errno : 0;
        reader->whole = got <= 0;
        reader->come += got > 0 ? (uint64_t)got : 0;
        pthread_cond_signal(&reader->more);
        pthread_mutex_unlock(&reader->lock);
    }
    return NULL;
}

/* With the lock: bytes that are there, from `at` on. */
static void copy(const struct cv_stream_reader *reader, uint64_t at, void *to,
                 size_t length)
{
    const size_t begin = (size_t)(at % reader->room);
    const size_t first = length < reader->room - begin ? length : reader->room - begin;

    memcpy(to, reader->ring + begin, first);
    memcpy((uint8_t *)to + first, reader->ring, length - first);
}

ssize_t cv_stream_reader_read(void *context, void *to, size_t max)
{
    struct cv_stream_reader *reader = context;
    size_t some;
    int error;

    pthread_mutex_lock(&reader->lock);
    while (reader->taken == reader->come && !reader->whole)
        pthread_cond_wait(&reader->more, &reader->lock);
    error = reader->taken == reader->come ? reader->error : 0;
    some = (size_t)(reader->come - reader->taken);
    some = some < max ? some : max;
    copy(reader, reader->taken, to, some);
    reader->taken += some;
    pthread_cond_signal(&reader->less);
    pthread_mutex_unlock(&reader->lock);
    errno = error;
    return error != 0 ? -1 : (ssize_t)some;
}

size_t cv_stream_reader_look(struct cv_stream_reader *reader, uint64_t at, void *to,
                             size_t max)
{
    size_t some = 0;

    pthread_mutex_lock(&reader->lock);
    if (at >= begin_of(reader) && at < reader->come) {
        some = (size_t)(reader->come - at);
        some = some < max ? some : max;
        copy(reader, at, to, some);
    }
    pthread_mutex_unlock(&reader->lock);
    return some;
}

uint64_t cv_stream_reader_come(struct cv_stream_reader *reader, bool *whole)
{
    uint64_t come;

    pthread_mutex_lock(&reader->lock);
    come = reader->come;
    *whole = reader->whole;
    pthread_mutex_unlock(&reader->lock);
    return come;
}

void cv_stream_reader_free(struct cv_stream_reader *reader)
{
    if (reader == NULL)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->stopped = true;
    pthread_cond_signal(&reader->less);
    pthread_mutex_unlock(&reader->lock);
    if (reader->reading)
        pthread_join(reader->reader, NULL);
    pthread_cond_destroy(&reader->more);
    pthread_cond_destroy(&reader->less);
    pthread_mutex_destroy(&reader->lock);
    free(reader->ring);
    free(reader);
}

enum cleave_status cv_stream_reader_open(const struct cv_decoder_input *input,
                                         size_t room, struct cv_stream_reader **out,
                                         struct cleave_error *err)
{
    struct cv_stream_reader *reader = calloc(1, sizeof *reader);
    int error;

    if (reader == NULL)
        return cv_fail_memory(err, "a decoder");
    reader->input = *input;
    reader->room = room + KEPT;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->more, NULL);
    pthread_cond_init(&reader->less, NULL);
    reader->ring = malloc(reader->room);
    error = reader->ring == NULL
                ? ENOMEM
                : cv_nosignal_thread_create(&reader->reader, NULL, read_all, reader);
    reader->reading = error == 0;
    if (error == 0) {
        *out = reader;
        return CLEAVE_OK;
    }
    cv_stream_reader_free(reader);
    return error == ENOMEM
               ? cv_fail_memory(err, "a decoder")
               : cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that reads: %s",
                         strerror(error));
}
