/* decode_ahead.c -- a compressed input, decoded before its bytes are asked for.
 * SPDX-License-Identifier: MIT */
#include "run/decode/decode_ahead.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/threads.h"
#include "run/common/process.h"
#include "run/common/machine.h"
#include "run/decode/parallel_decode.h"

/* --- one decoder, run by the caller ------------------------------------------------------------ */

struct single {
    struct cv_ahead ahead;
    struct cv_decoder *decoder; /* owned */
};

static enum cleave_status next(struct cv_ahead *ahead, const void **bytes, size_t *length,
                               struct cleave_error *err)
{
    return cv_decoder_next(((struct single *)ahead)->decoder, bytes, length, err);
}

static bool inside(const struct cv_ahead *ahead)
{
    return cv_decoder_inside(((const struct single *)ahead)->decoder);
}

static uint64_t member(const struct cv_ahead *ahead)
{
    return cv_decoder_member(((const struct single *)ahead)->decoder);
}

static void free_single(struct cv_ahead *ahead)
{
    struct single *single = (struct single *)ahead;

    cv_decoder_free(single->decoder);
    free(single);
}

static enum cleave_status open_single(const struct cv_codec *codec,
                                      const struct cv_decoder_input *input,
                                      struct cv_ahead **out, struct cleave_error *err)
{
    struct single *single = calloc(1, sizeof *single);
    enum cleave_status status;

    if (single == NULL)
        return cv_fail_memory(err, "a decoder");
    single->ahead = (struct cv_ahead){ next, inside, member, free_single };
    status = cv_decoder_open(codec, input, &single->decoder, err);
    if (status == CLEAVE_OK)
        *out = &single->ahead;
    else
        free(single);
    return status;
}

enum cleave_status cv_ahead_open(const struct cv_codec *codec,
                                 const struct cv_decoder_input *input, unsigned threads,
                                 bool members, struct cv_ahead **out,
                                 struct cleave_error *err)
{
    const bool frames = codec == &cv_codec_bgzf || codec == &cv_codec_zstd;

    if (codec == &cv_codec_bzip2 || (frames && threads > 1))
        return cv_parallel_open(frames ? &cv_parallel_frames : &cv_parallel_bzip2, codec,
                                input, threads, members, out, err);
    return open_single(codec, input, out, err);
}

/* --- a thread that decodes into memory of its reader ------------------------------------------ */

enum {
    MAX_THREADS = 16,     /* each holds some megabytes                     */
    ROOM = 1 << 20,       /* bytes that are decoded ahead                  */
    FILE_STEP = ROOM / 2, /* bytes of a file for which its reader is woken */
};

struct cv_decode_thread {
    struct cv_handoff_buffer *buffer; /* owned */
    pthread_t thread;
    bool running;
    enum cleave_status status; /* when the thread has ended */
    struct cleave_error err;
    struct cv_ahead *ahead; /* owned                                      */
    struct cv_pipe stop;    /* closing its write end stops the thread     */
    int in;                 /* borrowed                                   */
    char *first;            /* owned                                      */
    size_t nfirst, at;
};

/* read(2) that the pipe `stop` interrupts. */
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
    const int error = cv_nosignal_thread_create(&decoding->thread, work, decoding);

    decoding->running = error == 0;
    return error == 0 ? CLEAVE_OK
                      : cv_fail_errno(err, error, "cannot start a thread that decodes");
}

static bool is_file(int fd)
{
    struct stat now;

    return fstat(fd, &now) == 0 && S_ISREG(now.st_mode);
}

enum cleave_status cv_decode_thread_start(const struct cv_decode_thread_options *options,
                                          struct cv_decode_thread **out,
                                          struct cleave_error *err)
{
    struct cv_decode_thread *decoding = calloc(1, sizeof *decoding);
    const struct cv_decoder_input input = { .read = read_more,
                                            .context = decoding,
                                            .name = options->name };
    const unsigned threads = options->cores > 0 ? options->cores : cv_usable_cores();
    enum cleave_status status;

    if (decoding == NULL)
        return cv_fail_memory(err, "a decoder");
    decoding->stop = (struct cv_pipe){ -1, -1 };
    decoding->in = options->fd;
    decoding->nfirst = options->nfirst;
    decoding->first = malloc(options->nfirst + 1);
    status = decoding->first == NULL ? cv_fail_memory(err, "a decoder")
                                     : cv_pipe_open(&decoding->stop, err);
    if (status == CLEAVE_OK && options->nfirst > 0)
        memcpy(decoding->first, options->first, options->nfirst);
    CV_THEN(status, cv_handoff_buffer_new(is_file(options->fd) ? FILE_STEP : 1,
                                          &decoding->buffer, err));
    CV_THEN(status, cv_ahead_open(options->codec, &input,
                                  threads < MAX_THREADS ? threads : MAX_THREADS, false,
                                  &decoding->ahead, err));
    CV_THEN(status, start(decoding, err));
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
    cv_handoff_buffer_lend(decoding->buffer, to, room < ROOM ? room : ROOM);
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
    *torn = decoding->status != CLEAVE_OK && decoding->ahead->inside(decoding->ahead);
    return decoding->status == CLEAVE_OK ? CLEAVE_OK : cv_fail_again(err, &decoding->err);
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
