/* map_worker.c -- a rank that computes and combines as rank 0 orders.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_messages.h"

struct job;

/* A partial that lies here, or is on its way. */
struct held {
    uint64_t id;
    struct cleave_mpi_buffer buffer;
    bool coming;
    struct job *waits; /* borrowed: whose turn it is when it has come                  */
    struct cv_map_requests_item item;
    struct held *next;
};

struct worker {
    const struct cleave_mpi_map *map;
    struct cv_map_requests requests;
    struct cv_map_tasks *tasks;
    struct cv_map_message
        note; /* the next order                                         */
    struct cv_map_requests_item listen;
    struct held *held; /* owned                                                        */
    bool stopped, broken;
    struct cleave_error stop; /* what rank 0 says at the end                           */
    struct cleave_error err;  /* broken: what this rank met                            */
};

/* One order under way. */
struct job {
    struct cv_map_task task;
    struct cv_map_requests_item
        item; /* bytes that it waits for, or sends                     */
    struct worker *worker;
    struct cv_map_message note;
    struct cleave_mpi_buffer input;
    struct held *left, *right, *out; /* owned                                          */
    unsigned missing;                /* partials that are not here yet                 */
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

/* Something that leaves no way to go on together with the others. */
static void break_off(struct worker *worker, const struct cleave_error *err)
{
    if (!worker->broken)
        worker->err = *err;
    worker->broken = true;
}

static void tell(struct worker *worker, const struct cv_map_message *note)
{
    struct cleave_error err;

    if (cv_map_tell(&worker->requests, 0, note, &err) != CLEAVE_OK)
        break_off(worker, &err);
}

static void tell_failure(struct worker *worker, const struct cleave_error *error)
{
    struct cv_map_message note = { .kind = CV_MAP_FAILED };

    cv_map_note_error(&note, error);
    tell(worker, &note);
}

/* --- partials ----------------------------------------------------------------------------- */

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

static void partial_sent(void *context, struct cv_map_requests_item *item, int from)
{
    (void)item;
    (void)from;
    free_job(context);
}

/* Send the partial of a job, and be done with it. */
static void send_partial(struct job *job, int rank)
{
    struct worker *worker = job->worker;
    struct cleave_error err;

    job->item = (struct cv_map_requests_item){ .done = partial_sent,
                                               .context = job,
                                               .bytes = job->out->buffer.bytes,
                                               .size = job->out->buffer.size,
                                               .rank = rank,
                                               .tag = cv_map_requests_tag(job->note.id) };
    if (job->item.size > 0 &&
        cv_map_requests_begin(&worker->requests, &job->item, &err) == CLEAVE_OK)
        return;
    if (job->item.size > 0)
        break_off(worker, &err);
    free_job(job);
}

/* --- chunks and folds --------------------------------------------------------------------- */

static enum cleave_status run_job(struct cv_map_task *task, struct cleave_error *err)
{
    struct job *job = (struct job *)task; /* its first part */
    const struct cleave_mpi_map *map = job->worker->map;

    if (job->note.kind == CV_MAP_FOLD) {
        if (map->combine == NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected 'combine' on all ranks, as rank 0 has it");
        return cv_map_combine(map, &job->left->buffer, &job->right->buffer,
                              &job->out->buffer, err);
    }
    if (map->compute == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected 'compute' on all ranks");
    return cv_map_compute(map, job->note.begin, job->note.end, &job->input,
                          &job->out->buffer, err);
}

static void job_done(struct cv_map_task *task, const struct cleave_error *error)
{
    struct job *job = (struct job *)task; /* its first part */
    struct worker *worker = job->worker;
    struct cv_map_message note = { .kind = job->note.kind == CV_MAP_FOLD
                                               ? CV_MAP_FOLDED
                                               : CV_MAP_COMPUTED,
                                   .id = job->note.id,
                                   .bytes = job->out->buffer.size,
                                   .seconds = task->seconds };

    if (error != NULL && !worker->stopped)
        tell_failure(worker, error);
    if (error != NULL || worker->stopped) {
        free_job(job);
        return;
    }
    tell(worker, &note);
    if (job->note.kind == CV_MAP_CHUNK && !job->note.keep) {
        send_partial(job, 0);
        return;
    }
    keep(worker, job->out, job->note.id);
    job->out = NULL;
    free_job(job);
}

/* All that it waited for is there. */
static void begin_task(struct job *job)
{
    job->task.run = run_job;
    job->task.done = job_done;
    if (job->worker->stopped)
        free_job(job);
    else
        cv_map_tasks_add(job->worker->tasks, &job->task);
}

/* One thing less is missing. */
static void begin_if_all(struct job *job)
{
    if (--job->missing > 0)
        return;
    if (job->note.kind == CV_MAP_GIVE)
        send_partial(job, (int)job->note.peer);
    else
        begin_task(job);
}

static void bytes_came(void *context, struct cv_map_requests_item *item, int from)
{
    (void)item;
    (void)from;
    begin_if_all(context);
}

static void ahead_came(void *context, struct cv_map_requests_item *item, int from)
{
    struct held *held = context;

    (void)item;
    (void)from;
    held->coming = false;
    if (held->waits != NULL)
        begin_if_all(held->waits);
}

/* The job has this one, perhaps when it has come. */
static void take_for(struct job *job, struct held *held)
{
    if (held == NULL || !held->coming)
        return;
    held->waits = job;
    job->missing++;
}

/* Receive what the job needs, from `rank`, then do it. */
static enum cleave_status begin_after(struct job *job, struct cleave_mpi_buffer *buffer,
                                      int rank, uint64_t id, struct cleave_error *err)
{
    if (job->note.bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(buffer, (size_t)job->note.bytes) == NULL)
        return cv_fail_memory(err, "what comes from another rank");
    if (buffer->size == 0) {
        begin_if_all(job);
        return CLEAVE_OK;
    }
    job->item = (struct cv_map_requests_item){ .done = bytes_came,
                                               .context = job,
                                               .bytes = buffer->bytes,
                                               .size = buffer->size,
                                               .rank = rank,
                                               .tag = cv_map_requests_tag(id),
                                               .in = true };
    return cv_map_requests_begin(&job->worker->requests, &job->item, err);
}

/* --- orders ------------------------------------------------------------------------------- */

static enum cleave_status begin_fold(struct job *job, struct cleave_error *err)
{
    struct worker *worker = job->worker;
    const struct cv_map_message *note = &job->note;
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
        begin_if_all(job);
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
    job->note = worker->note;
    job->missing = 1; /* what the order itself is about */
    if (job->note.kind == CV_MAP_GIVE) {
        job->out = take_held(worker, job->note.id);
        if (job->out != NULL) {
            take_for(job, job->out);
            begin_if_all(job);
            return CLEAVE_OK;
        }
        free_job(job);
        return cv_fail(err, CLEAVE_EENGINE, "a partial result is not where it should be");
    }
    job->out = calloc(1, sizeof *job->out);
    if (job->out == NULL)
        status = cv_fail_memory(err, "a partial result");
    else if (job->note.kind == CV_MAP_FOLD)
        status = begin_fold(job, err);
    else
        status = begin_after(job, &job->input, 0, job->note.id, err);
    if (status != CLEAVE_OK)
        free_job(job);
    return status;
}

/* A partial comes ahead. */
static enum cleave_status await(struct worker *worker, struct cleave_error *err)
{
    const struct cv_map_message *note = &worker->note;
    struct held *held = calloc(1, sizeof *held);

    if (held == NULL || note->bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(&held->buffer, (size_t)note->bytes) == NULL) {
        free_held(held);
        return cv_fail_memory(err, "what comes from another rank");
    }
    keep(worker, held, note->id);
    if (note->bytes == 0)
        return CLEAVE_OK;
    held->coming = true;
    held->item = (struct cv_map_requests_item){ .done = ahead_came,
                                                .context = held,
                                                .bytes = held->buffer.bytes,
                                                .size = held->buffer.size,
                                                .rank = (int)note->peer,
                                                .tag = cv_map_requests_tag(note->id),
                                                .in = true };
    return cv_map_requests_begin(&worker->requests, &held->item, err);
}

static void order_came(void *context, struct cv_map_requests_item *item, int from)
{
    struct worker *worker = context;
    struct cleave_error err;
    enum cleave_status status = CLEAVE_OK;

    (void)from;
    if (worker->note.kind == CV_MAP_STOP) {
        worker->stopped = true;
        cv_map_error_of(&worker->note, &worker->stop);
        cv_map_tasks_drop(worker->tasks);
        return;
    }
    status =
        worker->note.kind == CV_MAP_AWAIT ? await(worker, &err) : begin_job(worker, &err);
    if (status == CLEAVE_OK)
        status = cv_map_requests_begin(&worker->requests, item, &err);
    if (status != CLEAVE_OK)
        break_off(worker, &err);
}

/* --- the whole ---------------------------------------------------------------------------- */

/* Until all that was begun is over. */
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

    cv_map_requests_init(&worker.requests, comm);
    worker.listen = (struct cv_map_requests_item){ .done = order_came,
                                                   .context = &worker,
                                                   .bytes = (unsigned char *)&worker.note,
                                                   .size = sizeof worker.note,
                                                   .rank = 0,
                                                   .tag = CV_MAIL_ORDER,
                                                   .in = true };
    status = cv_map_requests_begin(&worker.requests, &worker.listen, err);
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
        /* The others wait for this rank: it is for the program to end them. */
        MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    }
    while (worker.held != NULL)
        free_held(take_held(&worker, worker.held->id));
    cv_map_requests_done(&worker.requests);
    return status;
}
