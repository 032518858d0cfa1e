/* packed_sink.c -- compress a stream into a file by several threads. SPDX-License-Identifier: MIT
 *
 * One thread reads parts from a pipe, gives them to a pool, and writes the results in order. */
#include "run/pieces/packed_sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/process.h"
#include "run/common/threads.h"

/* Bytes of all parts in flight, before and after compression. */
enum { FLIGHT = 256 << 20 };

struct packed_part {
    const struct cv_pack_format *format;
    bool raw;              /* is copied */
    size_t length, packed; /* bytes before and after; packed 0: failed */
    char *bytes, *room;    /* owned */
};

struct cv_packed_sink {
    const struct cv_pack_format *format;
    int fd;              /* borrowed */
    struct cv_pipe pipe; /* owned: `read` by the thread */
    pthread_t thread;
    struct cv_ordered_jobs *pool; /* owned */
    size_t max, flying;           /* parts in flight */
    bool raw;                     /* the stream is compressed already */
    bool is_empty;                /* the stream had no bytes */
    size_t parts;                 /* that were written */
    struct cv_packer table;
    enum cleave_status status;
    struct cleave_error err; /* error of the thread */
};

static void drop_part(void *job)
{
    struct packed_part *part = job;

    free(part->bytes);
    free(part->room);
    free(part);
}

/* A job of the pool. */
static bool pack_part(void *context, void *job)
{
    struct packed_part *part = job;
    const struct cv_pack_format *format = part->format;
    const size_t room = format->bound(format->part);
    void *state;

    (void)context;
    if (part->raw)
        return false;
    state = format->open != NULL ? format->open() : NULL;
    part->room = malloc(room);
    if (part->room != NULL && (format->open == NULL || state != NULL))
        part->packed = format->pack(state, part->bytes, part->length, part->room, room);
    if (state != NULL)
        format->close(state);
    return false;
}

static enum cleave_status put(struct cv_packed_sink *sink, const void *bytes,
                              size_t length, struct cleave_error *err)
{
    const int error = cv_write_all(sink->fd, bytes, length);

    return error == 0 ? CLEAVE_OK : cv_fail(err, CLEAVE_EENGINE, "%s", strerror(error));
}

/* Write the result of a part. */
static enum cleave_status put_part(struct cv_packed_sink *sink,
                                   const struct packed_part *part,
                                   struct cleave_error *err)
{
    if (part->raw)
        return put(sink, part->bytes, part->length, err);
    if (part->packed == 0)
        return cv_fail(err, CLEAVE_EENGINE, "it could not be compressed");
    if (sink->format->has_table)
        cv_pack_table_add(&sink->table, part->packed, part->length);
    sink->parts++;
    return put(sink, part->room, part->packed, err);
}

static enum cleave_status take_part(struct cv_packed_sink *sink, struct cleave_error *err)
{
    bool more;
    struct packed_part *part = cv_ordered_jobs_wait(sink->pool, &more);
    const enum cleave_status status = put_part(sink, part, err);

    drop_part(part);
    sink->flying--;
    return status;
}

/* The next part of the stream; *out is NULL at its end. */
static enum cleave_status read_part(struct cv_packed_sink *sink, struct packed_part **out,
                                    struct cleave_error *err)
{
    const size_t room = sink->format->part;
    struct packed_part *part = calloc(1, sizeof *part);
    ssize_t got = 1;

    *out = NULL;
    if (part == NULL || (part->bytes = malloc(room)) == NULL) {
        free(part);
        return cv_fail_memory(err, "a file that is compressed");
    }
    part->format = sink->format;
    while (part->length < room && got != 0) {
        got = read(sink->pipe.read, part->bytes + part->length, room - part->length);
        if (got < 0 && errno != EINTR) {
            drop_part(part);
            return cv_fail_errno(err, errno, "cannot read an output");
        }
        part->length += got > 0 ? (size_t)got : 0;
    }
    if (part->length > 0)
        *out = part;
    else
        drop_part(part);
    return CLEAVE_OK;
}

static enum cleave_status submit(struct cv_packed_sink *sink, struct packed_part *part,
                                 bool first, struct cleave_error *err)
{
    const size_t magic = strlen(sink->format->magic);

    if (first)
        sink->raw =
            part->length >= magic && memcmp(part->bytes, sink->format->magic, magic) == 0;
    part->raw = sink->raw;
    if (sink->flying == sink->max) {
        const enum cleave_status status = take_part(sink, err);

        if (status != CLEAVE_OK) {
            drop_part(part);
            return status;
        }
    }
    sink->flying++;
    cv_ordered_jobs_submit(sink->pool, part);
    return CLEAVE_OK;
}

static enum cleave_status pack_stream(struct cv_packed_sink *sink,
                                      struct cleave_error *err)
{
    struct packed_part *part;
    bool first = true;

    for (;; first = false) {
        CV_TRY(read_part(sink, &part, err));
        if (part == NULL)
            break;
        CV_TRY(submit(sink, part, first, err));
    }
    while (sink->flying > 0)
        CV_TRY(take_part(sink, err));
    sink->is_empty = first;
    return CLEAVE_OK;
}

static void *run_thread(void *context)
{
    struct cv_packed_sink *sink = context;

    sink->status = pack_stream(sink, &sink->err);
    cv_close(&sink->pipe.read);
    return NULL;
}

static void free_sink(struct cv_packed_sink *sink)
{
    if (sink->pool != NULL)
        cv_ordered_free(sink->pool);
    cv_pipe_close(&sink->pipe);
    cv_pack_done(&sink->table);
    free(sink);
}

static enum cleave_status start(struct cv_packed_sink *sink, unsigned threads,
                                struct cleave_error *err)
{
    const size_t fit = FLIGHT / (2 * sink->format->part);
    int error;

    sink->max = fit < 2 * (size_t)threads ? fit : 2 * (size_t)threads;
    CV_TRY(cv_ordered_start(&(struct cv_ordered_options){ .threads =
                                                              threads < sink->max
                                                                  ? threads
                                                                  : (unsigned)sink->max,
                                                          .max = sink->max,
                                                          .work = pack_part,
                                                          .drop = drop_part },
                            &sink->pool, err));
    CV_TRY(cv_pipe_open(&sink->pipe, err));
    cv_pipe_widen(sink->pipe.write, CV_PIPE_WIDE);
    error = cv_nosignal_thread_create(&sink->thread, run_thread, sink);
    return error == 0
               ? CLEAVE_OK
               : cv_fail_errno(err, error, "cannot start a thread that compresses");
}

/* The end of the file. An empty one is one empty part. */
static enum cleave_status put_end(struct cv_packed_sink *sink, struct cleave_error *err)
{
    const struct cv_pack_format *format = sink->format;

    if (sink->raw)
        return CLEAVE_OK;
    if (sink->is_empty && format->end == NULL) {
        struct packed_part part = { .format = format, .bytes = (char[]){ "" } };
        enum cleave_status status;

        pack_part(NULL, &part);
        status = put_part(sink, &part, err);
        free(part.room);
        return status;
    }
    if (format->end != NULL)
        return put(sink, format->end, format->end_bytes, err);
    if (!format->has_table || sink->parts < 2)
        return CLEAVE_OK;
    cv_pack_table_end(&sink->table, sink->parts);
    return sink->table.failed ? cv_fail_memory(err, "the table of a file")
                              : put(sink, sink->table.bytes, sink->table.length, err);
}

enum cleave_status cv_packed_sink_open(const struct cv_pack_format *format, int fd,
                                       unsigned threads, struct cv_packed_sink **out,
                                       int *out_descriptor, struct cleave_error *err)
{
    struct cv_packed_sink *sink = calloc(1, sizeof *sink);
    enum cleave_status status;

    if (sink == NULL)
        return cv_fail_memory(err, "a file that is compressed");
    sink->format = format;
    sink->fd = fd;
    sink->pipe = (struct cv_pipe){ -1, -1 };
    status = start(sink, threads > 0 ? threads : 1, err);
    if (status != CLEAVE_OK) {
        free_sink(sink);
        return status;
    }
    *out = sink;
    *out_descriptor = sink->pipe.write;
    return CLEAVE_OK;
}

enum cleave_status cv_packed_sink_close(struct cv_packed_sink *sink, bool whole,
                                        struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    cv_close(&sink->pipe.write);
    pthread_join(sink->thread, NULL);
    if (sink->status != CLEAVE_OK)
        status = cv_fail_again(err, &sink->err);
    else if (whole || !sink->is_empty)
        status = put_end(sink, err);
    free_sink(sink);
    return status;
}
