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
#include "run/decode/gzip_ahead.h"
#include "run/decode/parallel_decode.h"

/* --- one decoder, run by the caller ------------------------------------------------------------ */

struct single {
    struct cv_ahead ahead;
    struct cv_decoder *decoder;      /* owned                                          */
    struct cv_stream_reader *reader; /* owned: reads the input ahead; NULL: no thread  */
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
    cv_stream_reader_free(single->reader);
    free(single);
}

/* Takes over a state of the codec, which may be NULL (no memory), and the reader. */
static enum cleave_status open_single(const struct cv_codec *codec, void *state,
                                      const struct cv_decoder_input *input,
                                      struct cv_stream_reader *reader,
                                      struct cv_ahead **out, struct cleave_error *err)
{
    struct single *single = calloc(1, sizeof *single);
    struct cv_decoder *decoder = NULL;
    enum cleave_status status = cv_decoder_open_with(codec, state, input, &decoder, err);

    if (status == CLEAVE_OK && single != NULL) {
        *single =
            (struct single){ { next, inside, member, free_single }, decoder, reader };
        *out = &single->ahead;
        return CLEAVE_OK;
    }
    cv_decoder_free(decoder);
    cv_stream_reader_free(reader);
    free(single);
    return status != CLEAVE_OK ? status : cv_fail_memory(err, "a decoder");
}

/* --- the choice ----------------------------------------------------------------------------- */

/* gzip that is decoded ahead in pieces takes 1.5 times the processor time. On two cores, commands
 * and one decoder leave too little for that. */
enum cleave_status cv_ahead_open(const struct cv_codec *codec,
                                 const struct cv_decoder_input *input,
                                 const struct cv_ahead_options *options,
                                 struct cv_ahead **out, struct cleave_error *err)
{
    const bool frames =
        codec == &cv_codec_bgzf || codec == &cv_codec_zstd || codec == &cv_codec_lz4;
    const unsigned threads = options->threads;
    struct cv_gzip_ahead_options gzip = { .cores = threads, .buffer = input->buffer };
    struct cv_decoder_input once = *input;
    void *state = NULL;

    if (codec == &cv_codec_bzip2 || (frames && threads > 1))
        return cv_parallel_open(frames ? &cv_parallel_frames : &cv_parallel_bzip2, codec,
                                input, threads, options->members, out, err);
    if (codec == &cv_codec_gzip && !options->is_file && threads > 2 && input->offset == 0)
        gzip.reader = cv_stream_reader_open(input, cv_gzip_ahead_room(threads, 0));
    if (gzip.reader != NULL) { /* one large gzip that arrives once */
        once.read = cv_stream_reader_read;
        once.context = gzip.reader;
        return open_single(&cv_codec_gzip_ahead, cv_gzip_ahead_open(&gzip), &once,
                           gzip.reader, out, err);
    }
    if (codec == &cv_codec_gzip && options->is_file &&
        cv_gzip_ahead_pays(options->size, options->members ? threads : threads - 1)) {
        gzip.fd = options->fd;
        gzip.offset = options->offset;
        gzip.size = options->size;
        state = cv_gzip_ahead_open(&gzip);
    }
    return state != NULL ? open_single(&cv_codec_gzip_ahead, state, input, NULL, out, err)
                         : open_single(codec, codec->open(), input, NULL, out, err);
}

/* --- a thread that decodes into memory of its reader ------------------------------------------ */

enum {
    MAX_THREADS = 16,     /* each holds some megabytes                              */
    ROOM = 1 << 20,       /* bytes that are decoded ahead,                          */
    GZIP_ROOM = 32 << 20, /* if threads decode pieces of gzip                     */
    FILE_STEP = ROOM / 2, /* bytes of a file for which its reader is woken        */
};

struct cv_decode_thread {
    struct cv_handoff_buffer *buffer; /* owned */
    size_t room;                      /* bytes that are decoded ahead */
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

static void find_file(const struct cv_decode_thread_options *options,
                      struct cv_ahead_options *out)
{
    const off_t at = lseek(options->fd, 0, SEEK_CUR);
    struct stat now;

    out->is_file = at >= (off_t)options->nfirst && fstat(options->fd, &now) == 0 &&
                   S_ISREG(now.st_mode) && at <= now.st_size;
    if (!out->is_file)
        return;
    out->fd = options->fd;
    out->offset = (uint64_t)at - options->nfirst;
    out->size = (uint64_t)now.st_size - out->offset;
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
    struct cv_ahead_options ahead = { .threads =
                                          threads < MAX_THREADS ? threads : MAX_THREADS };
    enum cleave_status status;

    if (decoding == NULL)
        return cv_fail_memory(err, "a decoder");
    find_file(options, &ahead);
    decoding->stop = (struct cv_pipe){ -1, -1 };
    decoding->in = options->fd;
    decoding->nfirst = options->nfirst;
    decoding->first = malloc(options->nfirst + 1);
    decoding->room = options->codec == &cv_codec_gzip && threads > 2 ? GZIP_ROOM : ROOM;
    status = decoding->first == NULL ? cv_fail_memory(err, "a decoder")
                                     : cv_pipe_open(&decoding->stop, err);
    if (status == CLEAVE_OK && options->nfirst > 0)
        memcpy(decoding->first, options->first, options->nfirst);
    CV_THEN(status,
            cv_handoff_buffer_new(ahead.is_file ? FILE_STEP : 1, &decoding->buffer, err));
    input.buffer = decoding->buffer;
    CV_THEN(status, cv_ahead_open(options->codec, &input, &ahead, &decoding->ahead, err));
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
