/* map_worker.c -- a rank that executes the orders of rank 0.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_messages.h"

struct job;

/* A partial on this rank. */
struct held {
    uint64_t id;
    struct cleave_mpi_buffer buffer;
    bool receiving;
    struct job *waits; /* borrowed: the job that needs it                              */
    struct cv_map_transfer transfer;
    struct held *next;
};

struct worker {
    const struct cleave_mpi_map *map;
    struct cv_map_requests requests;
    struct cv_map_tasks *tasks;
    struct cv_map_message message; /* the last order                                   */
    struct cv_map_transfer listen;
    struct held *held; /* owned                                                        */
    bool stopped, broken;
    struct cleave_error stop; /* sent by rank 0                                        */
    struct cleave_error err;  /* if broken                                             */
};

/* An order in progress. */
struct job {
    struct cv_map_task task;
    struct cv_map_transfer transfer; /* bytes that it receives or sends                */
    struct worker *worker;
    struct cv_map_message order;
    struct cleave_mpi_buffer input;
    struct held *left, *right, *out; /* owned                                          */
    unsigned missing;                /* transfers to wait for                          */
};

static void free_held(struct held *held)
{
    if (held == NULL)
        return;
    cv_map_buffer_done(&held->buffer);
    free(held);
}

static void free_job(struct job *job)
{
    if (job == NULL)
        return;
    cv_map_buffer_done(&job->input);
    free_held(job->left);
    free_held(job->right);
    free_held(job->out);
    free(job);
}

/* After this error the rank cannot continue with the others. */
static void break_off(struct worker *worker, const struct cleave_error *err)
{
    if (!worker->broken)
        worker->err = *err;
    worker->broken = true;
}

static void tell(struct worker *worker, const struct cv_map_message *message)
{
    struct cleave_error err;

    if (cv_map_tell(&worker->requests, 0, message, &err) != CLEAVE_OK)
        break_off(worker, &err);
}

static void tell_failure(struct worker *worker, const struct cleave_error *error)
{
    struct cv_map_message message = { .kind = CV_MAP_FAILED };

    cv_map_set_error(&message, error);
    tell(worker, &message);
}

/* --- partials ----------------------------------------------------------------------- */

static struct held *take_held(struct worker *worker, uint64_t id)
{
    for (struct held **at = &worker->held; *at != NULL; at = &(*at)->next) {
        struct held *held = *at;

        if (held->id == id) {
            *at = held->next;
            held->next = NULL;
            return held;
        }
    }
    return NULL;
}

static void keep(struct worker *worker, struct held *held, uint64_t id)
{
    held->id = id;
    held->next = worker->held;
    worker->held = held;
}

static void partial_sent(void *context)
{
    free_job(context);
}

/* Send the partial of a job, and free the job. */
static void send_partial(struct job *job, int rank)
{
    struct worker *worker = job->worker;
    struct cleave_error err;

    if (job->out->buffer.size > 0 &&
        cv_map_move(&worker->requests, &job->transfer, false, &job->out->buffer, rank,
                    job->order.id, partial_sent, job, &err) == CLEAVE_OK)
        return;
    if (job->out->buffer.size > 0)
        break_off(worker, &err);
    free_job(job);
}

/* --- jobs --------------------------------------------------------------------------- */

static enum cleave_status run_job(struct cv_map_task *task, struct cleave_error *err)
{
    struct job *job = (struct job *)task;
    const struct cleave_mpi_map *map = job->worker->map;

    if (job->order.kind == CV_MAP_FOLD) {
        if (map->combine == NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected 'combine' on all ranks, as rank 0 has it");
        return CV_MAP_CALL(map, combine, err, &job->left->buffer, &job->right->buffer,
                           &job->out->buffer);
    }
    if (map->compute == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected 'compute' on all ranks");
    return CV_MAP_CALL(map, compute, err, job->order.begin, job->order.end, &job->input,
                       &job->out->buffer);
}

static void job_done(struct cv_map_task *task, const struct cleave_error *error)
{
    struct job *job = (struct job *)task;
    struct worker *worker = job->worker;
    struct cv_map_message message = { .kind = job->order.kind == CV_MAP_FOLD
                                                  ? CV_MAP_FOLDED
                                                  : CV_MAP_COMPUTED,
                                      .id = job->order.id,
                                      .bytes = job->out->buffer.size,
                                      .seconds = task->seconds };

    if (error != NULL && !worker->stopped)
        tell_failure(worker, error);
    if (error != NULL || worker->stopped) {
        free_job(job);
        return;
    }
    tell(worker, &message);
    if (job->order.kind == CV_MAP_CHUNK && !job->order.keep) {
        send_partial(job, 0);
        return;
    }
    keep(worker, job->out, job->order.id);
    job->out = NULL;
    free_job(job);
}

/* One transfer less to wait for. */
static void begin_if_ready(struct job *job)
{
    if (--job->missing > 0)
        return;
    job->task.run = run_job;
    job->task.done = job_done;
    if (job->order.kind == CV_MAP_GIVE)
        send_partial(job, (int)job->order.peer);
    else if (job->worker->stopped)
        free_job(job);
    else
        cv_map_tasks_add(job->worker->tasks, &job->task);
}

static void bytes_received(void *context)
{
    begin_if_ready(context);
}

static void ahead_received(void *context)
{
    struct held *held = context;

    held->receiving = false;
    if (held->waits != NULL)
        begin_if_ready(held->waits);
}

/* The job waits if the partial is still being received. */
static void take_for(struct job *job, struct held *held)
{
    if (!held->receiving)
        return;
    held->waits = job;
    job->missing++;
}

/* Receive bytes for the job, then begin it. */
static enum cleave_status begin_after(struct job *job, struct cleave_mpi_buffer *buffer,
                                      int rank, uint64_t id, struct cleave_error *err)
{
    if (job->order.bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(buffer, (size_t)job->order.bytes) == NULL)
        return cv_fail_memory(err, "what comes from another rank");
    if (buffer->size == 0) {
        begin_if_ready(job);
        return CLEAVE_OK;
    }
    return cv_map_move(&job->worker->requests, &job->transfer, true, buffer, rank, id,
                       bytes_received, job, err);
}

/* --- orders ------------------------------------------------------------------------- */

static enum cleave_status begin_fold(struct job *job, struct cleave_error *err)
{
    struct worker *worker = job->worker;
    const struct cv_map_message *note = &job->order;
    struct held *comes = NULL, **place;

    if (note->peer != 0) {
        place = note->moves == note->left ? &job->left : &job->right;
        *place = comes = calloc(1, sizeof *comes);
        if (comes == NULL)
            return cv_fail_memory(err, "a partial result");
    }
    if (job->left == NULL)
        job->left = take_held(worker, note->left);
    if (job->right == NULL)
        job->right = take_held(worker, note->right);
    if (job->left == NULL || job->right == NULL)
        return cv_fail(err, CLEAVE_EENGINE, "a partial result is not where it should be");
    take_for(job, job->left);
    take_for(job, job->right);
    if (comes == NULL) {
        begin_if_ready(job);
        return CLEAVE_OK;
    }
    return begin_after(job, &comes->buffer, (int)note->peer, note->moves, err);
}

static enum cleave_status begin_job(struct worker *worker, struct cleave_error *err)
{
    struct job *job = calloc(1, sizeof *job);
    enum cleave_status status;

    if (job == NULL)
        return cv_fail_memory(err, "the orders of a rank");
    job->worker = worker;
    job->order = worker->message;
    job->missing = 1; /* for the order itself */
    if (job->order.kind == CV_MAP_GIVE) {
        job->out = take_held(worker, job->order.id);
        if (job->out != NULL) {
            take_for(job, job->out);
            begin_if_ready(job);
            return CLEAVE_OK;
        }
        free_job(job);
        return cv_fail(err, CLEAVE_EENGINE, "a partial result is not where it should be");
    }
    job->out = calloc(1, sizeof *job->out);
    if (job->out == NULL)
        status = cv_fail_memory(err, "a partial result");
    else if (job->order.kind == CV_MAP_FOLD)
        status = begin_fold(job, err);
    else
        status = begin_after(job, &job->input, 0, job->order.id, err);
    if (status != CLEAVE_OK)
        free_job(job);
    return status;
}

/* Receive a partial that was sent ahead. */
static enum cleave_status await(struct worker *worker, struct cleave_error *err)
{
    const struct cv_map_message *message = &worker->message;
    struct held *held = calloc(1, sizeof *held);

    if (held == NULL || message->bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(&held->buffer, (size_t)message->bytes) == NULL) {
        free_held(held);
        return cv_fail_memory(err, "what comes from another rank");
    }
    keep(worker, held, message->id);
    if (message->bytes == 0)
        return CLEAVE_OK;
    held->receiving = true;
    return cv_map_move(&worker->requests, &held->transfer, true, &held->buffer,
                       (int)message->peer, message->id, ahead_received, held, err);
}

static void order_received(void *context)
{
    struct worker *worker = context;
    struct cleave_error err;
    enum cleave_status status = CLEAVE_OK;

    if (worker->message.kind == CV_MAP_STOP) {
        worker->stopped = true;
        cv_map_get_error(&worker->message, &worker->stop);
        cv_map_tasks_drop(worker->tasks);
        return;
    }
    status = worker->message.kind == CV_MAP_AWAIT ? await(worker, &err)
                                                  : begin_job(worker, &err);
    if (status == CLEAVE_OK)
        status = cv_map_begin(&worker->requests, &worker->listen, &err);
    if (status != CLEAVE_OK)
        break_off(worker, &err);
}

/* Work until STOP; if `stopped`, until everything in progress has ended. */
static enum cleave_status settle(struct worker *worker, bool stopped,
                                 struct cleave_error *err)
{
    double last_s = cv_idle_wait_clock_s();

    while (stopped ? worker->requests.count > 0 || cv_map_tasks_any(worker->tasks)
                   : !worker->stopped) {
        CV_TRY(cv_map_progress(&worker->requests, worker->tasks, stopped ? 0 : 1, &last_s,
                               INFINITY, err));
        if (worker->broken) {
            *err = worker->err;
            return err->status;
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_map_work(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_error *err)
{
    struct worker worker = { .map = map, .tasks = tasks };
    const struct cv_map_message leave = { .kind = CV_MAP_LEFT };
    enum cleave_status status;

    worker.requests.comm = comm;
    status = cv_map_listen(&worker.requests, &worker.listen, &worker.message, 0,
                           order_received, &worker, err);
    if (status == CLEAVE_OK)
        status = settle(&worker, false, err);
    if (status == CLEAVE_OK)
        status = settle(&worker, true, err);
    if (status == CLEAVE_OK) {
        tell(&worker, &leave);
        status = settle(&worker, true, err);
    }
    if (status == CLEAVE_OK) {
        status = worker.stop.status;
        if (status != CLEAVE_OK)
            *err = worker.stop;
    } else {
        /* The other ranks wait for this one: the program must end them. */
        MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    }
    while (worker.held != NULL)
        free_held(take_held(&worker, worker.held->id));
    cv_map_requests_done(&worker.requests);
    return status;
}
