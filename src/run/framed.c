/* framed.c -- inputs that come in frames, as a command that stays gets them.
 * SPDX-License-Identifier: MIT */
#include "run/framed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/write_all.h"
#include "run/framed_lines.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/execute/series.h"
#include "run/output/ordered_output.h"
#include "run/slot/persistent_slot.h"

enum { COPY = 256 * 1024 }; /* bytes that are read at a time */

struct framed {
    int in, out;         /* borrowed                                          */
    int piece, answer;   /* owned: files without a name                       */
    char piece_name[40]; /* by which the first is opened again                */
    unsigned char head[CV_FRAME];
    size_t nhead;
    uint64_t left; /* bytes of the piece that have not come                   */
    bool ended;    /* there is no other                                       */
    bool in_parts; /* lines of an answer are passed on as they come           */
    struct cv_framed_lines lines;
    char *bytes; /* owned: COPY of them                                     */
    struct cleave_error err;
};

static bool is_there(const struct framed *framed)
{
    return framed->nhead == CV_FRAME && framed->left == 0;
}

static void has_ended(struct framed *framed)
{
    framed->ended = true;
    if (framed->nhead > 0)
        cv_fail(&framed->err, CLEAVE_EINPUT,
                "--framed: standard input ends inside of a frame");
}

static void take(struct framed *framed, const char *bytes, size_t length)
{
    int wrong;

    if (framed->nhead < CV_FRAME) {
        memcpy(framed->head + framed->nhead, bytes, length);
        framed->nhead += length;
        framed->left = framed->nhead == CV_FRAME ? cv_persistent_length(framed->head) : 0;
        return;
    }
    framed->left -= length;
    wrong = cv_write_all(framed->piece, bytes, length);
    if (wrong != 0)
        cv_fail(&framed->err, CLEAVE_EENGINE, "--framed: cannot keep a piece: %s",
                strerror(wrong));
}

static void input_ready(void *context, unsigned events)
{
    struct framed *framed = context;
    const size_t lacks = CV_FRAME - framed->nhead;
    const size_t pending = lacks > 0 ? lacks : framed->left < COPY ? framed->left : COPY;
    const ssize_t got = read(framed->in, framed->bytes, pending);

    (void)events;
    if (got > 0)
        take(framed, framed->bytes, (size_t)got);
    else if (got == 0)
        has_ended(framed);
    else if (errno != EAGAIN && errno != EINTR)
        cv_fail(&framed->err, CLEAVE_EENGINE, "--framed: cannot read: %s",
                strerror(errno));
}

/* A file from its beginning, without bytes. */
static enum cleave_status clear(int fd, struct cleave_error *err)
{
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EENGINE, "--framed: cannot keep a piece: %s",
                   strerror(errno));
}

static enum cleave_status next_piece(void *context, struct cv_poller *poller,
                                     const int *stopped_by, const char **out,
                                     struct cleave_error *err)
{
    struct framed *framed = context;
    struct cv_watch watch = { .fd = -1 };
    enum cleave_status status;

    *out = NULL;
    framed->nhead = 0;
    framed->left = 0;
    CV_TRY(clear(framed->piece, err));
    if (!framed->in_parts)
        CV_TRY(clear(framed->answer, err));
    status =
        cv_poller_add(poller, &watch, framed->in, CV_READABLE, input_ready, framed, err);
    while (status == CLEAVE_OK && !framed->ended && !is_there(framed) &&
           framed->err.status == CLEAVE_OK) {
        status = cv_poller_wait(poller, -1, err);
        if (status == CLEAVE_OK && *stopped_by != 0)
            status = cv_fail_stopped(err);
    }
    cv_poller_remove(poller, &watch);
    if (status == CLEAVE_OK && framed->err.status != CLEAVE_OK) {
        status = framed->err.status;
        if (err != NULL)
            *err = framed->err;
    }
    if (status == CLEAVE_OK && !framed->ended) {
        *out = framed->piece_name;
        if (framed->in_parts)
            status =
                cv_framed_lines_begin(&framed->lines, framed->answer, framed->out, err);
    }
    return status;
}

static enum cleave_status give_answer(void *context, bool failed,
                                      struct cleave_error *err)
{
    struct framed *framed = context;
    const off_t size =
        failed || framed->in_parts ? 0 : lseek(framed->answer, 0, SEEK_END);
    unsigned char head[CV_FRAME];
    int wrong = size < 0 ? errno : 0;

    if (framed->in_parts)
        wrong = cv_framed_lines_end(&framed->lines);

    cv_persistent_length_put(head, failed ? UINT64_MAX : (uint64_t)size);
    if (wrong == 0)
        wrong = cv_write_all(framed->out, head, sizeof head);
    if (wrong == 0)
        wrong = cv_copy_range(framed->answer, 0, (uint64_t)size, framed->out);
    return wrong == 0 ? CLEAVE_OK
                      : cv_fail(err, CLEAVE_ECLOSED, "--framed: cannot answer: %s",
                                strerror(wrong));
}

enum cleave_status cv_framed_serve(const struct cleave_execution *request, int in,
                                   int out, struct cleave_error *err)
{
    struct framed framed = { .in = in,
                             .out = out,
                             .piece = -1,
                             .answer = -1,
                             .in_parts = request->output.lines || request->output.early };
    const struct cv_ordered_output_options files = { .sink = -1,
                                                     .sink_name = "nowhere",
                                                     .memory = CV_GATHER_MEMORY,
                                                     .directory =
                                                         request->output.directory };
    struct cleave_execution execution = *request;
    struct cv_ordered_output *outputs = NULL;
    enum cleave_status status;

    framed.bytes = malloc(COPY);
    status = framed.bytes != NULL ? cv_ordered_output_new(&files, &outputs, err)
                                  : cv_fail_memory(err, "the pieces");
    if (status == CLEAVE_OK)
        status = cv_ordered_output_file(outputs, &framed.piece, err);
    if (status == CLEAVE_OK)
        status = cv_ordered_output_file(outputs, &framed.answer, err);
    if (status == CLEAVE_OK) {
        snprintf(framed.piece_name, sizeof framed.piece_name, "/proc/self/fd/%d",
                 framed.piece);
        execution.output.descriptor = framed.answer;
        status =
            cv_execute_series(&execution,
                              &(struct cv_series){ next_piece, give_answer, &framed },
                              err);
    }
    (void)cv_framed_lines_end(&framed.lines);
    cv_ordered_output_free(outputs);
    cv_close(&framed.piece);
    cv_close(&framed.answer);
    free(framed.bytes);
    return status;
}
