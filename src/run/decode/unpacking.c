/* unpacking.c -- a thread that decodes an input into a pipe. SPDX-License-Identifier: MIT */
#include "run/decode/unpacking.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decoder.h"
#include "run/decode/pour.h"
#include "run/kit/process.h"

struct cv_unpacking {
    struct cv_decoder *decoder; /* owned                                             */
    struct cv_pipe pipe;        /* its end to write to is the thread's               */
    struct cv_pipe stop;        /* its end to write to is closed to stop the thread  */
    int in;                     /* borrowed                                          */
    char *first;                /* owned                                             */
    size_t nfirst, at;
    pthread_t thread;
    bool running;
    enum cleave_status status; /* of the thread, when it has ended                   */
    struct cleave_error err;
};

/* As read, but it ends when nobody wants it any more. */
static ssize_t read_more(void *context, void *to, size_t most)
{
    struct cv_unpacking *unpacking = context;
    struct pollfd fds[] = { { .fd = unpacking->in, .events = POLLIN },
                            { .fd = unpacking->stop.read, .events = POLLIN } };
    const size_t left = unpacking->nfirst - unpacking->at;

    if (left > 0) {
        const size_t some = left < most ? left : most;

        memcpy(to, unpacking->first + unpacking->at, some);
        unpacking->at += some;
        return (ssize_t)some;
    }
    if (poll(fds, 2, -1) < 0)
        return -1;
    if (fds[1].revents != 0) {
        errno = ECANCELED;
        return -1;
    }
    return read(unpacking->in, to, most);
}

static void *work(void *context)
{
    struct cv_unpacking *unpacking = context;
    const void *bytes;
    size_t length;

    do
        unpacking->status =
            cv_decoder_next(unpacking->decoder, &bytes, &length, &unpacking->err);
    while (unpacking->status == CLEAVE_OK && length > 0 &&
           cv_pour(unpacking->pipe.write, bytes, length));
    cv_close(&unpacking->pipe.write);
    return NULL;
}

enum cleave_status cv_unpacking_start(const struct cv_unpacking_options *options,
                                      struct cv_unpacking **out, struct cleave_error *err)
{
    struct cv_unpacking *unpacking = calloc(1, sizeof *unpacking);
    const struct cv_decoder_input input = { .read = read_more,
                                            .context = unpacking,
                                            .name = options->name };
    enum cleave_status status;

    if (unpacking == NULL)
        return cv_fail_memory(err, "a decoder");
    unpacking->pipe = unpacking->stop = (struct cv_pipe){ -1, -1 };
    unpacking->in = options->fd;
    unpacking->nfirst = options->nfirst;
    unpacking->first = malloc(options->nfirst + 1);
    if (unpacking->first == NULL)
        status = cv_fail_memory(err, "a decoder");
    else
        status = cv_decoder_open(options->codec, &input, &unpacking->decoder, err);
    if (status == CLEAVE_OK && options->nfirst > 0)
        memcpy(unpacking->first, options->first, options->nfirst);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&unpacking->pipe, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&unpacking->stop, err);
    if (status == CLEAVE_OK) {
        cv_pipe_widen(unpacking->pipe.write, CV_PIPE_WIDE);
        status = cv_pour_start(&unpacking->thread, work, unpacking, err);
        unpacking->running = status == CLEAVE_OK;
    }
    if (status == CLEAVE_OK)
        *out = unpacking;
    else
        cv_unpacking_free(unpacking);
    return status;
}

int cv_unpacking_fd(const struct cv_unpacking *unpacking)
{
    return unpacking->pipe.read;
}

static void join(struct cv_unpacking *unpacking)
{
    if (unpacking->running)
        pthread_join(unpacking->thread, NULL);
    unpacking->running = false;
}

enum cleave_status cv_unpacking_end(struct cv_unpacking *unpacking, bool *torn,
                                    struct cleave_error *err)
{
    join(unpacking);
    *torn = unpacking->status != CLEAVE_OK && cv_decoder_inside(unpacking->decoder);
    if (unpacking->status != CLEAVE_OK && err != NULL)
        *err = unpacking->err;
    return unpacking->status;
}

void cv_unpacking_free(struct cv_unpacking *unpacking)
{
    if (unpacking == NULL)
        return;
    cv_close(&unpacking->stop.write);
    cv_close(&unpacking->pipe.read);
    join(unpacking);
    cv_pipe_close(&unpacking->pipe);
    cv_pipe_close(&unpacking->stop);
    cv_decoder_free(unpacking->decoder);
    free(unpacking->first);
    free(unpacking);
}
