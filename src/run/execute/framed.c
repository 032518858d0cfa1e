/* framed.c -- a run that reads its inputs in frames, as a persistent command does.
 * SPDX-License-Identifier: MIT
 *
 * Each input is a separate run of known size, which fails or succeeds alone. Workers and
 * links to hosts stay from one to the next. */
#include "run/execute/framed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/error.h>
#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/threads.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/execute/execution.h"
#include "run/master/exec_run.h"
#include "run/output/ordered_output.h"
#include "run/slot/persistent_slot.h"

/* A thread that passes lines of the answer on while they are written; all zero: none. */
struct cv_framed_lines {
    bool on;
    pthread_t thread;
    int from;  /* owned: read end of the pipe */
    int sink;  /* borrowed: descriptor that the run writes to */
    int out;   /* borrowed: parts are written here */
    int wrong; /* errno of the thread; 0: none */
};

/* --- answers in parts ------------------------------------------------------------------ */

enum { PART = 64 * 1024 };

/* After an error of `out` the thread still reads until the pipe is closed, so that the run can end. */
static void *pass_on(void *context)
{
    struct cv_framed_lines *lines = context;
    unsigned char part[CV_FRAME + PART];

    for (;;) {
        const ssize_t got = TEMP_FAILURE_RETRY(read(lines->from, part + CV_FRAME, PART));

        if (got <= 0)
            return NULL;
        if (lines->wrong != 0)
            continue;
        cv_persistent_length_put(part, (uint64_t)got | CV_STEADY_PART);
        lines->wrong = cv_write_all(lines->out, part, CV_FRAME + (size_t)got);
    }
}

/* Make the open descriptor `sink` the pipe that the thread reads. */
static enum cleave_status framed_lines_begin(struct cv_framed_lines *lines, int sink,
                                             int out, struct cleave_error *err)
{
    int ends[2], wrong;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return cv_fail_errno(err, errno, "command.framed: cannot make a pipe");
    *lines = (struct cv_framed_lines){ .from = ends[0], .sink = sink, .out = out };
    wrong = dup3(ends[1], sink, O_CLOEXEC) < 0
                ? errno
                : cv_nosignal_thread_create(&lines->thread, pass_on, lines);
    cv_close(&ends[1]);
    lines->on = wrong == 0;
    if (lines->on)
        return CLEAVE_OK;
    cv_close(&lines->from);
    return cv_fail_errno(err, wrong, "command.framed: cannot pass on lines");
}

/* Wait until everything written to the sink was passed on. Returns 0 or an errno. */
static int framed_lines_end(struct cv_framed_lines *lines)
{
    if (!lines->on)
        return 0;
    lines->on = false;
    /* Closes the only write end; the descriptor number stays open. */
    (void)dup3(lines->from, lines->sink, O_CLOEXEC);
    pthread_join(lines->thread, NULL);
    cv_close(&lines->from);
    return lines->wrong;
}

/* --- frames ---------------------------------------------------------------------------- */

enum { COPY = 256 * 1024 }; /* bytes read at a time */

struct framed {
    int in, out;         /* borrowed                                          */
    int piece, answer;   /* owned: unnamed files */
    char piece_name[40]; /* path of `piece` */
    unsigned char head[CV_FRAME];
    size_t nhead;
    uint64_t left; /* bytes of the piece that have not arrived */
    bool ended;    /* no other frame follows */
    bool in_parts; /* lines of an answer are passed on while it is made */
    struct cv_framed_lines lines;
    char *bytes; /* owned: COPY bytes */
    struct cleave_error err;
};

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
        cv_fail_errno(&framed->err, wrong, "command.framed: cannot keep a piece");
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
        framed->ended = true;
    else if (errno != EAGAIN && errno != EINTR)
        cv_fail_errno(&framed->err, errno, "command.framed: cannot read");
    if (got == 0 && framed->nhead > 0)
        cv_fail(&framed->err, CLEAVE_EINPUT,
                "command.framed: standard input ends inside of a frame");
}

/* Truncate the file and rewind. */
static enum cleave_status clear(int fd, struct cleave_error *err)
{
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return CLEAVE_OK;
    return cv_fail_errno(err, errno, "command.framed: cannot keep a piece");
}

static enum cleave_status next_piece(struct framed *framed, struct cv_poller *poller,
                                     const int *stopped_by, const char **out,
                                     struct cleave_error *err)
{
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
    while (status == CLEAVE_OK && !framed->ended && framed->err.status == CLEAVE_OK &&
           (framed->nhead < CV_FRAME || framed->left > 0)) {
        status = cv_poller_wait(poller, -1, err);
        if (status == CLEAVE_OK && *stopped_by != 0)
            status = cv_fail_stopped(err);
    }
    cv_poller_remove(poller, &watch);
    if (status == CLEAVE_OK && framed->err.status != CLEAVE_OK)
        status = cv_fail_again(err, &framed->err);
    if (status == CLEAVE_OK && !framed->ended) {
        *out = framed->piece_name;
        if (framed->in_parts)
            status = framed_lines_begin(&framed->lines, framed->answer, framed->out, err);
    }
    return status;
}

static enum cleave_status give_answer(struct framed *framed, bool failed,
                                      struct cleave_error *err)
{
    const off_t size =
        failed || framed->in_parts ? 0 : lseek(framed->answer, 0, SEEK_END);
    unsigned char head[CV_FRAME];
    int wrong = size < 0 ? errno : 0;

    if (framed->in_parts)
        wrong = framed_lines_end(&framed->lines);

    cv_persistent_length_put(head, failed ? UINT64_MAX : (uint64_t)size);
    if (wrong == 0)
        wrong = cv_write_all(framed->out, head, sizeof head);
    if (wrong == 0)
        wrong = cv_copy_range(framed->answer, 0, (uint64_t)size, framed->out);
    return wrong == 0 ? CLEAVE_OK
                      : cv_fail(err, CLEAVE_ECLOSED, "command.framed: cannot answer: %s",
                                strerror(wrong));
}

/* --- one input after the other --------------------------------------------------------- */

/* Reset the run to its state before the first input. Workers, links and persistent commands stay. */
static void forget_input(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;
    const struct cv_exec_run before = *run;

    cv_execution_close_input(execution);
    cv_source_free(run->queue.source);
    *run = (struct cv_exec_run){ .request = before.request,
                                 .poller = before.poller,
                                 .pool = before.pool,
                                 .table = before.table,
                                 .stay = before.stay,
                                 .limiter = before.limiter,
                                 .stopped_by = before.stopped_by };
    run->pool.health = (struct cv_worker_health){ .count = 0 };
    execution->declared = NULL; /* workers may differ for the next input */
    run->pool.hosts.source = NULL;
    run->queue.events = &run->events;
}

/* Run one input, until its output is written. */
static enum cleave_status run_one(struct cv_execution *execution, bool first,
                                  bool *out_failed, struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cleave_status status =
        cv_execution_opened(run, cv_execution_open(execution, first, err), err);

    CV_THEN(status, cv_execution_run(execution, err));
    cv_note_failures_end(run);
    *out_failed = run->queue.failed > 0;
    /* Failed commands are reported in the answer; the run continues. */
    if (run->halted && *out_failed && status == CLEAVE_EENGINE)
        status = CLEAVE_OK;
    forget_input(execution);
    return status;
}

/* After the last input: wait until persistent commands have ended. */
static enum cleave_status let_leave(struct cv_exec_run *run, struct cleave_error *err)
{
    while (!cv_attempt_table_drain(&run->table, false)) {
        CV_TRY(cv_poller_wait(run->poller, -1, err));
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}

/* Run one input after the other with the same workers. */
static enum cleave_status serve_all(struct framed *framed,
                                    const struct cleave_execution *request,
                                    struct cleave_error *err)
{
    struct cleave_execution filled = *request;
    struct cv_execution execution = { .request = &filled, .began_s = cv_clock_s() };
    struct cv_exec_run *run = &execution.run;
    const char *path[] = { "-" }; /* checked before the first one is there */
    bool failed;
    enum cleave_status status;

    cv_execution_prepare(&execution, &filled);
    filled.input.files = path;
    filled.input.count = 1;
    run->stay = filled.persistent;
    run->pool.hosts.many_inputs = true;
    status = cv_execution_open_base(&execution, err);
    for (bool first = true; status == CLEAVE_OK; first = false) {
        status = next_piece(framed, run->poller, &run->stopped_by, &path[0], err);
        if (status != CLEAVE_OK || path[0] == NULL)
            break;
        status = run_one(&execution, first, &failed, err);
        CV_THEN(status, give_answer(framed, failed, err));
    }
    CV_THEN(status, let_leave(run, err));
    cv_execution_close(&execution);
    return status;
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
    CV_THEN(status, cv_ordered_output_file(outputs, &framed.piece, err));
    CV_THEN(status, cv_ordered_output_file(outputs, &framed.answer, err));
    if (status == CLEAVE_OK) {
        snprintf(framed.piece_name, sizeof framed.piece_name, "/proc/self/fd/%d",
                 framed.piece);
        execution.output.descriptor = framed.answer;
        status = serve_all(&framed, &execution, err);
    }
    (void)framed_lines_end(&framed.lines);
    cv_ordered_output_free(outputs);
    cv_close(&framed.piece);
    cv_close(&framed.answer);
    free(framed.bytes);
    return status;
}
