/* unpacking.c -- a thread that decodes an input into a pipe. SPDX-License-Identifier: MIT */
#include "run/decode/unpacking.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/ahead.h"
#include "run/kit/flow.h"
#include "run/kit/usable_cores.h"

enum {
    MOST = 16,      /* threads: each holds some megabytes                */
    WIDE = 1 << 20, /* bytes of the pipe: the most for everybody         */
};

struct cv_unpacking {
    struct cv_flow flow;    /* first                                             */
    struct cv_ahead *ahead; /* owned                                             */
    struct cv_pipe stop;    /* its end to write to is closed to stop the thread  */
    int in;                 /* borrowed                                          */
    char *first;            /* owned                                             */
    size_t nfirst, at;
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

static enum cleave_status work(struct cv_flow *flow, struct cleave_error *err)
{
    struct cv_ahead *ahead = ((struct cv_unpacking *)flow)->ahead;
    const void *bytes;
    size_t length;

    do
        CV_TRY(ahead->next(ahead, &bytes, &length, err));
    while (length > 0 && cv_flow_write(flow, bytes, length));
    return CLEAVE_OK;
}

/* Where the input lies; false: it is no file that can be read at any place. */
static bool find_file(const struct cv_unpacking_options *options,
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

enum cleave_status cv_unpacking_start(const struct cv_unpacking_options *options,
                                      struct cv_unpacking **out, struct cleave_error *err)
{
    struct cv_unpacking *unpacking = calloc(1, sizeof *unpacking);
    const struct cv_decoder_input input = { .read = read_more,
                                            .context = unpacking,
                                            .name = options->name };
    const unsigned threads = options->cores > 0 ? options->cores : cv_usable_cores();
    struct cv_ahead_file file;
    enum cleave_status status;

    if (unpacking == NULL)
        return cv_fail_memory(err, "a decoder");
    unpacking->flow.pipe = unpacking->stop = (struct cv_pipe){ -1, -1 };
    unpacking->in = options->fd;
    unpacking->nfirst = options->nfirst;
    unpacking->first = malloc(options->nfirst + 1);
    if (unpacking->first == NULL)
        status = cv_fail_memory(err, "a decoder");
    else
        status = cv_pipe_open(&unpacking->stop, err);
    if (status == CLEAVE_OK && options->nfirst > 0)
        memcpy(unpacking->first, options->first, options->nfirst);
    if (status == CLEAVE_OK)
        status =
            cv_ahead_open_file(options->codec, &input,
                               find_file(options, &file) ? &file : NULL,
                               threads < MOST ? threads : MOST, &unpacking->ahead, err);
    if (status == CLEAVE_OK)
        status = cv_flow_start(&unpacking->flow, work, "decodes", err);
    if (status == CLEAVE_OK) /* all that is decoded goes through it */
        cv_pipe_widen(cv_flow_fd(&unpacking->flow), WIDE);
    if (status == CLEAVE_OK)
        *out = unpacking;
    else
        cv_unpacking_free(unpacking);
    return status;
}

int cv_unpacking_fd(const struct cv_unpacking *unpacking)
{
    return cv_flow_fd(&unpacking->flow);
}

enum cleave_status cv_unpacking_end(struct cv_unpacking *unpacking, bool *torn,
                                    struct cleave_error *err)
{
    const enum cleave_status status = cv_flow_end(&unpacking->flow, err);

    *torn = status != CLEAVE_OK && unpacking->ahead->inside(unpacking->ahead);
    return status;
}

void cv_unpacking_free(struct cv_unpacking *unpacking)
{
    if (unpacking == NULL)
        return;
    cv_close(&unpacking->stop.write);
    cv_flow_stop(&unpacking->flow);
    if (unpacking->ahead != NULL)
        unpacking->ahead->free(unpacking->ahead);
    cv_pipe_close(&unpacking->stop);
    free(unpacking->first);
    free(unpacking);
}
