/* worker_serve.c -- the worker at the other end of a link. SPDX-License-Identifier: MIT */
#include "run/worker/worker_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/version.h>
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/machine.h"
#include "run/wire/connect_stderr.h"
#include "run/slot/persistent_slot.h"
#include "run/worker/worker_internal.h"

enum { FRAME_MOST = 256 * 1024, JOB_MOST = 64 << 20 };

/* Limits for the silence of the master before the job sets one, and for the last frame. */
static const double SILENCE_S = 60, LAST_WORDS_S = 1;

/* The place of the command of a slot: several slots may share one. */
static uint32_t command_of(const struct cv_worker *worker, uint32_t seat)
{
    return seat / (worker->job.window > 0 ? (uint32_t)worker->job.window : 1);
}

static enum cleave_status set_environment(struct cv_worker *worker, uint32_t seat,
                                          struct cleave_error *err)
{
    struct cv_command *command = &worker->commands[seat];
    const uint32_t gpus = worker->options->gpus;
    char slot[16], gpu[256];

    if (gpus > 0) {
        CV_TRY(cv_gpu_name(command_of(worker, seat) % gpus, gpu, sizeof gpu, err));
        CV_TRY(cv_command_set(command, "CUDA_VISIBLE_DEVICES", gpu, err));
    }
    snprintf(slot, sizeof slot, "%u", command_of(worker, seat) + 1);
    CV_TRY(cv_command_set(command, "CLEAVE_SLOT", slot, err));
    CV_TRY(cv_window_tell(command, (uint32_t)worker->job.window, err));
    CV_TRY(cv_command_set(command, "CLEAVE_WORKER", worker->job.names[seat], err));
    for (size_t i = 0; worker->job.environment[i] != NULL; i++) {
        const char *text = worker->job.environment[i], *sign = strchr(text, '=');
        char name[256];

        if (sign == NULL || sign == text || (size_t)(sign - text) >= sizeof name)
            return cv_fail(err, CLEAVE_EINPUT, "expected NAME=VALUE, got '%s'", text);
        snprintf(name, sizeof name, "%.*s", (int)(sign - text), text);
        CV_TRY(cv_command_set(command, name, sign + 1, err));
    }
    return CLEAVE_OK;
}

static bool find_files(struct cv_worker *worker, char *why, size_t size)
{
    const struct cv_remote_job *job = &worker->job;

    if (job->nfiles == 0)
        return false;
    worker->files = malloc((size_t)job->nfiles * sizeof *worker->files);
    for (uint64_t i = 0; worker->files != NULL && i < job->nfiles; i++) {
        worker->files[i] = open(job->files[i].path, O_RDONLY | O_CLOEXEC);
        if (worker->files[i] >= 0 &&
            cv_worker_same_file(worker->files[i], &job->files[i], why, size))
            continue;
        if (worker->files[i] < 0)
            snprintf(why, size, "%s: %s", job->files[i].path, strerror(errno));
        for (uint64_t k = 0; k <= i; k++)
            cv_close(&worker->files[k]);
        free(worker->files);
        worker->files = NULL;
    }
    return worker->files != NULL;
}

static enum cleave_status pin_commands(struct cv_worker *worker, uint32_t n,
                                       struct cleave_error *err)
{
    worker->pins = cv_array(&worker->arena, (size_t)n + 1, sizeof *worker->pins);
    return worker->pins != NULL
               ? cv_cpu_affinity_here(worker->options->pin, command_of(worker, n - 1) + 1,
                                      worker->pins, err)
               : cv_fail_memory(err, "the slots");
}

static enum cleave_status prepare(struct cv_worker *worker, bool *out_shared, char *why,
                                  size_t size, struct cleave_error *err)
{
    struct cv_remote_job *job = &worker->job;
    const char **command;
    uint32_t n = 0;

    if (!cv_unpack_job(worker->job_bytes.bytes, worker->job_bytes.length, &worker->arena,
                       job))
        return cv_fail(err, CLEAVE_EINPUT, "expected a job, got something else");
    if (worker->options->lead != NULL) {
        if (job->items || job->window > 0)
            return cv_fail(err, CLEAVE_EINPUT, "a worker that leads others does no %s",
                           job->items ? "items" : "windows of chunks");
        CV_TRY(worker->options->lead(worker->options->lead_words, job, &worker->arena,
                                     &command, err));
        job->command = command;
        job->timeout_s = 0; /* each command has its own limit */
    }
    while (job->names[n] != NULL)
        n++;
    if (n > CV_SEATS_MOST)
        return cv_fail(err, CLEAVE_EINPUT, "expected a job of at most %d slots, got %u",
                       (int)CV_SEATS_MOST, n);
    if (job->window > 0 && n % job->window != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected slots in groups of %llu, got %u of them",
                       (unsigned long long)job->window, n);
    /* Paths of the input are those of the master: look before the directory changes. */
    *out_shared = find_files(worker, why, size);
    if (job->store[0] != '\0')
        CV_TRY(cv_worker_store_check(worker, err));
    CV_TRY(cv_worker_enter(worker, err));
    CV_TRY(
        cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = -1,
                                                                   .sink_name = "nowhere",
                                                                   .memory = job->memory,
                                                                   .lines = job->lines },
                              &worker->outputs, err));
    worker->commands = calloc(n, sizeof *worker->commands);
    worker->seats = calloc(n, sizeof *worker->seats);
    worker->bytes = malloc(FRAME_MOST);
    if (worker->commands == NULL || worker->seats == NULL || worker->bytes == NULL)
        return cv_fail_memory(err, "the slots");
    if (worker->options->pin != CLEAVE_PIN_NONE)
        CV_TRY(pin_commands(worker, n, err));
    while (worker->nseats < n) {
        const uint32_t seat = worker->nseats++;

        CV_TRY(cv_worker_seat_init(worker, seat, err));
        CV_TRY(cv_command_init(&worker->commands[seat], NULL, job->command, err));
        if (worker->pins != NULL)
            worker->commands[seat].cpus = &worker->pins[command_of(worker, seat)];
        CV_TRY(set_environment(worker, seat, err));
    }
    cv_worker_watch_room(worker);
    worker->link.silence_s = job->silence_s;
    return CLEAVE_OK;
}

static void drop_tasks(struct cv_worker *worker, struct cv_tasks *tasks)
{
    while (tasks->first != NULL) {
        struct cv_task *task = tasks->first;

        cv_tasks_remove(tasks, task);
        task->running = false;
        (void)cv_worker_item_end(worker, task, NULL); /* nothing is returned */
        cv_task_free(task);
    }
}

static void release(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        cv_poller_cancel(worker->poller, &worker->seats[i].hold);
        cv_slot_free(&worker->seats[i].slot);
        cv_arena_done(&worker->seats[i].arena);
        drop_tasks(worker, &worker->seats[i].tasks);
        cv_command_done(&worker->commands[i]);
    }
    drop_tasks(worker, &worker->outgoing);
    cv_worker_store_done(worker);
    cv_worker_clean(worker);
    for (uint64_t i = 0; worker->files != NULL && i < worker->job.nfiles; i++)
        cv_close(&worker->files[i]);
    free(worker->files);
    free(worker->commands);
    free(worker->seats);
    free(worker->bytes);
    cv_content_hasher_free(worker->hasher);
    cv_ordered_output_free(worker->outputs);
    cv_pack_done(&worker->job_bytes);
    cv_arena_done(&worker->arena);
}

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
    (void)cv_link_send_packed(&worker->link,
                              &(struct cv_frame_head){ .type = CV_FRAME_HELLO,
                                                       .value = CV_HELLO_MARKS },
                              &packer);
}

static void take_hello(struct cv_worker *worker, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    char mark[CV_BEGIN_MARK_ROOM];
    struct cv_hello hello;
    struct cleave_error err;

    if (cv_hello_read(head, payload, "master", &worker->arena, &hello, &err) !=
        CLEAVE_OK) {
        cv_worker_fail(worker, &err);
    } else if (head->value != 0) { /* before commands can write to standard error */
        cv_begin_mark(head->value, mark);
        (void)cv_write_all(STDERR_FILENO, mark, strlen(mark));
    }
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
    CV_THEN(status, prepare(worker, &shared, why, sizeof why, &err));
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
    /* worker_fold.c knows the stages of these */
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
    else
        cv_worker_task_frame(worker, task, head, payload);
}

static void link_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker *worker = context;

    if (worker->ended)
        return;
    worker->ended = true;
    worker->err = *err;
    worker->refused = err->status == CLEAVE_EINPUT;
    if (err->status == CLEAVE_ECLOSED) /* the usual end */
        worker->err.status = CLEAVE_OK;
}

static void signalled(void *context, int number)
{
    struct cv_worker *worker = context;
    char name[CV_SIGNAL_ROOM];

    /* SIGUSR1 is Slurm's warning for a whole job: the master decides. */
    if (number == SIGUSR1 || cv_signal_is_ignored(number))
        return;
    if (number == SIGTERM && cv_worker_can_give_notice(worker)) {
        cv_worker_notice(worker);
        return;
    }
    worker->ended = true;
    cv_fail(&worker->err, CLEAVE_ESTOPPED, "stopped by %s", cv_signal_name(number, name));
}

/* A worker without a guard still works; the master passes the message on. */
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

/* Send HAS_LEFT for commands that have ended. */
static void check_leaving(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        struct cv_worker_slot *seat = &worker->seats[i];

        if (!seat->leaving || seat->slot.busy || seat->hold.is_set ||
            !cv_slot_release_command(&seat->slot))
            continue;
        seat->leaving = false;
        cv_worker_send(worker, CV_FRAME_HAS_LEFT, i, 0, 0);
    }
}

/* The link cannot be read any longer, but a frame can still be written. */
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
    struct cv_worker worker = {
        .options = options, .link.in = -1, .link.out = -1, .stored.fd = -1
    };
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
        status = cv_fail_again(err, &worker.err);
    }
    if (options->done != NULL)
        options->done(options->context, &worker);
    cv_link_close(&worker.link);
    release(&worker);
    cv_poller_free(worker.poller);
    return status;
}
