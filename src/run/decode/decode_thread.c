/* decode_thread.c -- a thread that decodes an input for another. SPDX-License-Identifier: MIT */
#include "run/decode/decode_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decode_ahead.h"
#include "run/common/threads.h"
#include "run/common/process.h"
#include "run/common/machine.h"

enum {
    MOST = 16,       /* threads: each holds some megabytes                */
    ROOM = 1 << 20,  /* bytes that are decoded and not read, at most,     */
    WIDE = 32 << 20, /* ... of gzip by several threads: some of its pieces */
    MUCH = ROOM / 2, /* of a file, that they are read for: there is no end to them yet */
};

struct cv_decode_thread {
    struct cv_handoff_buffer
        *buffer; /* owned: what is decoded                             */
    size_t room; /* bytes that it may write ahead                      */
    pthread_t thread;
    bool running;
    enum cleave_status status; /* of the thread, when it has ended               */
    struct cleave_error err;
    struct cv_ahead *ahead; /* owned                                             */
    struct cv_pipe stop;    /* its end to write to is closed to stop the thread  */
    int in;                 /* borrowed                                          */
    char *first;            /* owned                                             */
    size_t nfirst, at;
};

/* As read, but it ends when nobody wants it any more. */
static ssize_t read_more(void *context, void *to, size_t max)
{
    struct cv_decode_thread *decoding = context;
    struct pollfd fds[] = { { .fd = decoding->in, .events = POLLIN },
                            { .fd = decoding->stop.read, .events = POLLIN } };
    const size_t left = decoding->nfirst - decoding->at;

    if (left > 0) {
        const size_t some = left < max ? left : max;

        memcpy(to, decoding->first + decoding->at, some);
        decoding->at += some;
        return (ssize_t)some;
    }
    if (poll(fds, 2, -1) < 0)
        return -1;
    if (fds[1].revents != 0) {
        errno = ECANCELED;
        return -1;
    }
    return read(decoding->in, to, max);
}

static void *work(void *context)
{
    struct cv_decode_thread *decoding = context;
    struct cv_ahead *ahead = decoding->ahead;
    const void *bytes;
    size_t length;

    do
        decoding->status = ahead->next(ahead, &bytes, &length, &decoding->err);
    while (decoding->status == CLEAVE_OK && length > 0 &&
           cv_handoff_buffer_write(decoding->buffer, bytes, length));
    cv_handoff_buffer_close(decoding->buffer);
    return NULL;
}

static enum cleave_status start(struct cv_decode_thread *decoding,
                                struct cleave_error *err)
{
    const int error = cv_nosignal_thread_create(&decoding->thread, NULL, work, decoding);

    decoding->running = error == 0;
    return error == 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot start a thread that decodes: %s",
                         strerror(error));
}

/* Where the input lies; false: it is no file that can be read at any place. */
static bool find_file(const struct cv_decode_thread_options *options,
                      struct cv_ahead_file *file)
{
    const off_t at = lseek(options->fd, 0, SEEK_CUR);
    struct stat now;

    if (at < (off_t)options->nfirst || fstat(options->fd, &now) != 0 ||
        !S_ISREG(now.st_mode) || at > now.st_size)
        return false;
    file->fd = options->fd;
    file->offset = (uint64_t)at - options->nfirst;
    file->size = (uint64_t)now.st_size - file->offset;
    return true;
}

enum cleave_status cv_decode_thread_start(const struct cv_decode_thread_options *options,
                                          struct cv_decode_thread **out,
                                          struct cleave_error *err)
{
    struct cv_decode_thread *decoding = calloc(1, sizeof *decoding);
    struct cv_decoder_input input = { .read = read_more,
                                      .context = decoding,
                                      .name = options->name };
    const unsigned threads = options->cores > 0 ? options->cores : cv_usable_cores();
    struct cv_ahead_file file;
    const bool is_file = find_file(options, &file);
    enum cleave_status status;

    if (decoding == NULL)
        return cv_fail_memory(err, "a decoder");
    decoding->stop = (struct cv_pipe){ -1, -1 };
    decoding->in = options->fd;
    decoding->nfirst = options->nfirst;
    decoding->first = malloc(options->nfirst + 1);
    if (decoding->first == NULL)
        status = cv_fail_memory(err, "a decoder");
    else
        status = cv_pipe_open(&decoding->stop, err);
    if (status == CLEAVE_OK && options->nfirst > 0)
        memcpy(decoding->first, options->first, options->nfirst);
    decoding->room = options->codec == &cv_codec_gzip && threads > 2 ? WIDE : ROOM;
    if (status == CLEAVE_OK)
        status = cv_handoff_buffer_new(is_file ? MUCH : 1, &decoding->buffer, err);
    input.buffer = decoding->buffer;
    if (status == CLEAVE_OK)
        status =
            cv_ahead_open_file(options->codec, &input, is_file ? &file : NULL,
                               threads < MOST ? threads : MOST, &decoding->ahead, err);
    if (status == CLEAVE_OK)
        status = start(decoding, err);
    if (status == CLEAVE_OK)
        *out = decoding;
    else
        cv_decode_thread_free(decoding);
    return status;
}

int cv_decode_thread_fd(const struct cv_decode_thread *decoding)
{
    return cv_handoff_buffer_fd(decoding->buffer);
}

ssize_t cv_decode_thread_read(struct cv_decode_thread *decoding, void *to, size_t room,
                              size_t max)
{
    cv_handoff_buffer_lend(decoding->buffer, to,
                           room < decoding->room ? room : decoding->room);
    return cv_handoff_buffer_take(decoding->buffer, max);
}

static void join(struct cv_decode_thread *decoding)
{
    if (decoding->running)
        pthread_join(decoding->thread, NULL);
    decoding->running = false;
}

enum cleave_status cv_decode_thread_end(struct cv_decode_thread *decoding, bool *torn,
                                        struct cleave_error *err)
{
    join(decoding);
    if (decoding->status != CLEAVE_OK && err != NULL)
        *err = decoding->err;
    *torn = decoding->status != CLEAVE_OK && decoding->ahead->inside(decoding->ahead);
    return decoding->status;
}

void cv_decode_thread_free(struct cv_decode_thread *decoding)
{
    if (decoding == NULL)
        return;
    cv_close(&decoding->stop.write);
    if (decoding->buffer != NULL)
        cv_handoff_buffer_stop(decoding->buffer);
    join(decoding);
    if (decoding->ahead != NULL)
        decoding->ahead->free(decoding->ahead);
    cv_handoff_buffer_free(decoding->buffer);
    cv_pipe_close(&decoding->stop);
    free(decoding->first);
    free(decoding);
}
