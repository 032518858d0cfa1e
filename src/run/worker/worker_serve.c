/* worker_serve.c -- the worker at the other end of a link. SPDX-License-Identifier: MIT */
#include "run/worker/worker_serve.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cleave/version.h>

#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/usable_cores.h"
#include "run/wire/connect_stderr.h"
#include "run/worker/worker_rules.h"

enum { JOB_MOST = 64 << 20 };

/* Until the job says how long the master may be silent; and how long the last words may
 * take. */
static const double SILENCE_S = 60, LAST_WORDS_S = 1;

/* --- frames ------------------------------------------------------------------------------- */

static void send_hello(struct cv_worker *worker)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    const uint32_t slots = worker->options->slots;
    char host[256] = "";

    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        strcpy(host, "unknown");
    cv_pack_hello(&packer,
                  &(struct cv_hello){ .version = CLEAVE_VERSION,
                                      .host = host,
                                      .cores = slots > 0 ? slots : cv_usable_cores() });
    if (!packer.failed)
        cv_link_send(&worker->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_HELLO,
                                              .value = CV_HELLO_MARKS },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* Before anything that could be taken for a word of the login. Where it cannot be written, nothing else
 * can. */
static void write_mark(uint64_t key)
{
    char mark[CV_BEGIN_MARK_ROOM];

    cv_begin_mark(key, mark);
    (void)cv_write_all(STDERR_FILENO, mark, strlen(mark));
}

static void take_hello(struct cv_worker *worker, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_hello hello;
    struct cleave_error err;
    enum cleave_status status;

    if (cv_unpack_hello(payload, head->length, &worker->arena, &hello))
        status = cv_hello_check(&hello, "the master", &err);
    else
        status = cv_fail(&err, CLEAVE_EINPUT,
                         "expected the hello of a master, got something else");
    if (status != CLEAVE_OK)
        cv_worker_fail(worker, &err);
    else if (head->value != 0)
        write_mark(head->value);
    worker->greeted = true;
}

static void take_job(struct cv_worker *worker, const struct cv_frame_head *head,
                     const unsigned char *payload)
{
    const struct cv_worker_options *options = worker->options;
    struct cleave_error err;
    char why[600] = "";
    bool shared = false;
    enum cleave_status status = CLEAVE_OK;

    cv_pack_raw(&worker->job_bytes, payload, head->length);
    if (worker->job_bytes.failed || worker->job_bytes.length > JOB_MOST)
        status = cv_fail(&err, CLEAVE_EINPUT, "the job is too long");
    if (status == CLEAVE_OK && (head->flags & CV_FRAME_LAST) == 0)
        return;
    if (status == CLEAVE_OK)
        status = cv_worker_prepare(worker, &shared, why, sizeof why, &err);
    if (status == CLEAVE_OK && options->ready != NULL)
        status = options->ready(options->context, worker, &err);
    if (status != CLEAVE_OK) {
        cv_worker_fail(worker, &err);
        return;
    }
    worker->ready = true;
    cv_link_send(&worker->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_READY, .value = shared }, why,
                 strlen(why));
}

static void refused(struct cv_worker *worker, const struct cv_frame_head *head,
                    const unsigned char *payload)
{
    char why[200];

    worker->ended = true;
    cv_fail(&worker->err, CLEAVE_EREFUSED, "the master refused this worker: %s",
            cv_shown((const char *)payload, head->length, why, sizeof why));
}

static void take_frame(void *context, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct cv_worker *worker = context;
    const struct cv_worker_options *options = worker->options;
    struct cv_task *task;

    if (worker->ended)
        return;
    /* Who keeps partial results knows where these stand. */
    if (worker->ready && head->type >= CV_FRAME_OTHERS && options->other != NULL) {
        options->other(options->context, worker, head, payload);
        return;
    }
    if (!cv_worker_admit(worker, cv_worker_stage(worker, head, &task), head))
        return;
    if (head->type == CV_FRAME_REFUSED)
        refused(worker, head, payload);
    else if (head->type == CV_FRAME_HELLO)
        take_hello(worker, head, payload);
    else if (head->type == CV_FRAME_JOB)
        take_job(worker, head, payload);
    else if (head->type == CV_FRAME_PIECE)
        cv_worker_piece(worker, head, payload);
    else if (head->type == CV_FRAME_TOLD)
        cv_worker_told(worker, head, payload);
    else if ((head->type == CV_FRAME_PACKED || head->type == CV_FRAME_DRAWN) &&
             task != NULL)
        cv_worker_packed(worker, task, head, payload);
    else if (head->type == CV_FRAME_DATA && task != NULL)
        cv_worker_data(worker, task, head, payload);
    else if (head->type == CV_FRAME_MORE && task != NULL)
        cv_worker_open_more(worker, task, head, payload);
    else if (head->type == CV_FRAME_LOOK && task != NULL && task->open)
        cv_worker_look(worker, task);
    else if (head->type == CV_FRAME_SHOW && task != NULL)
        cv_worker_show(worker, task);
    else if (head->type == CV_FRAME_CUT)
        cv_worker_cut(worker, task, head, payload);
    else if (head->type == CV_FRAME_STOP && task != NULL)
        cv_worker_stop(worker, task);
    else if (head->type == CV_FRAME_LEAVE)
        worker->seats[head->peer].leaving = true;
}

/* --- the worker --------------------------------------------------------------------------- */

static void link_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker *worker = context;

    if (worker->ended)
        return;
    worker->ended = true;
    worker->err = *err;
    worker->refused = err->status == CLEAVE_EINPUT;
    if (err->status == CLEAVE_ECLOSED) /* that is how it ends */
        worker->err.status = CLEAVE_OK;
}

static void signalled(void *context, int number)
{
    struct cv_worker *worker = context;
    char name[CV_SIGNAL_ROOM];

    /* SIGUSR1 is Slurm's notice for a whole job: the master decides. */
    if (number == SIGUSR1 || cv_signal_is_ignored(number))
        return;
    if (number == SIGTERM && cv_worker_can_give_notice(worker)) {
        cv_worker_notice(worker);
        return;
    }
    worker->ended = true;
    cv_fail(&worker->err, CLEAVE_ESTOPPED, "stopped by %s", cv_signal_name(number, name));
}

/* As a run, it can do without a guard, but not without a word; the master passes that on. */
static void guard_failed(void *context, const struct cleave_error *err)
{
    (void)context;
    dprintf(STDERR_FILENO, "cleave: worker: %s\n", err->text);
}

static enum cleave_status begin(struct cv_worker *worker, struct cleave_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };

    CV_TRY(cv_poller_new(&worker->poller, err));
    CV_TRY(cv_poller_signals(worker->poller, signals, 4, signalled, worker, err));
    if (worker->options->guard)
        CV_TRY(cv_poller_set_guard(worker->poller, guard_failed, worker, err));
    else if (worker->options->lent != NULL)
        cv_poller_lend_guard(worker->poller, worker->options->lent);
    worker->link.poller = worker->poller;
    worker->link.frame = take_frame;
    worker->link.more = cv_worker_more;
    worker->link.broke = link_broke;
    worker->link.context = worker;
    worker->link.silence_s = SILENCE_S;
    worker->link.lenient = worker->options->by_login;
    if (worker->options->channel != NULL)
        CV_TRY(cv_link_open_channel(&worker->link, worker->options->channel, err));
    else
        CV_TRY(
            cv_link_open(&worker->link, worker->options->in, worker->options->out, err));
    send_hello(worker);
    return CLEAVE_OK;
}

/* Tell of commands that were to leave and have. */
static void check_leaving(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        struct cv_worker_slot *seat = &worker->seats[i];

        if (!seat->leaving || seat->slot.busy || !cv_slot_release_command(&seat->slot))
            continue;
        seat->leaving = false;
        cv_worker_send(worker, CV_FRAME_HAS_LEFT, i, 0, 0);
    }
}

/* Say what was wrong to whoever still listens: the reader of the link has given up, but a
 * frame can still be written. */
static void send_last_error(struct cv_worker *worker)
{
    const double until_s = cv_clock_s() + LAST_WORDS_S;

    if (worker->refused && (worker->link.out >= 0 || worker->link.channel != NULL)) {
        worker->link.broken = false;
        cv_link_send(&worker->link, &(struct cv_frame_head){ .type = CV_FRAME_REFUSED },
                     worker->err.text, strlen(worker->err.text));
    }
    while (!worker->link.broken && cv_link_pending(&worker->link) > 0 &&
           !worker->link.peer_closed && cv_clock_s() < until_s)
        if (cv_poller_wait(worker->poller, 0.1, NULL) != CLEAVE_OK)
            break;
}

enum cleave_status cv_worker_serve(const struct cv_worker_options *options,
                                   struct cleave_error *err)
{
    struct cv_worker worker = { .options = options, .link.in = -1, .link.out = -1 };
    enum cleave_status status;

    cv_arena_init(&worker.arena);
    cv_tasks_init(&worker.outgoing);
    status = begin(&worker, err);
    while (status == CLEAVE_OK && !worker.ended) {
        status = cv_poller_wait(worker.poller, -1, err);
        check_leaving(&worker);
    }
    if (status == CLEAVE_OK) {
        send_last_error(&worker);
        status = worker.err.status;
        if (status != CLEAVE_OK && err != NULL)
            *err = worker.err;
    }
    if (options->done != NULL)
        options->done(options->context, &worker);
    cv_link_close(&worker.link);
    cv_worker_release(&worker);
    cv_poller_free(worker.poller);
    return status;
}
