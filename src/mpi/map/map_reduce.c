/* map_reduce.c -- cleave_mpi_map_reduce, on ranks other than 0 and on one rank alone.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_messages.h"

/* --- a rank that executes the orders of rank 0 ------------------------------------- */

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
    struct cv_map_link link;
    struct held *held;        /* owned                                                 */
    struct cleave_error stop; /* sent by rank 0                                        */
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

static void tell_failure(struct worker *worker, const struct cleave_error *error)
{
    struct cv_map_message message = { .kind = CV_MAP_FAILED };

    cv_map_set_error(&message, error);
    cv_map_tell(&worker->link, 0, &message);
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
    if (job->out->buffer.size == 0 ||
        !cv_map_move(&job->worker->link, &job->transfer, false, &job->out->buffer, rank,
                     job->order.id, partial_sent, job))
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

    if (error != NULL && !worker->link.stopped)
        tell_failure(worker, error);
    if (error != NULL || worker->link.stopped) {
        free_job(job);
        return;
    }
    cv_map_tell(&worker->link, 0, &message);
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
    else if (job->worker->link.stopped)
        free_job(job);
    else
        cv_map_tasks_add(job->worker->link.tasks, &job->task);
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
    return cv_map_move(&job->worker->link, &job->transfer, true, buffer, rank, id,
                       bytes_received, job)
               ? CLEAVE_OK
               : CLEAVE_EENGINE;
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
    job->order = worker->link.message;
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
    const struct cv_map_message *message = &worker->link.message;
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
    cv_map_move(&worker->link, &held->transfer, true, &held->buffer, (int)message->peer,
                message->id, ahead_received, held);
    return CLEAVE_OK;
}

static void order_received(void *context)
{
    struct worker *worker = context;
    struct cv_map_link *link = &worker->link;
    struct cleave_error err;

    if (link->message.kind == CV_MAP_STOP) {
        link->stopped = true;
        cv_map_get_error(&link->message, &worker->stop);
        cv_map_tasks_drop(link->tasks);
        return;
    }
    if ((link->message.kind == CV_MAP_AWAIT ? await(worker, &err)
                                            : begin_job(worker, &err)) == CLEAVE_OK)
        cv_map_begin(link, &link->listen);
    else
        cv_map_link_fail(link, &err);
}

/* Until everything in progress has ended. */
static enum cleave_status settle(struct cv_map_link *link, struct cleave_error *err)
{
    while (link->count > 0 || cv_map_tasks_any(link->tasks))
        CV_TRY(cv_map_progress(link, INFINITY, err));
    return CLEAVE_OK;
}

static enum cleave_status work(struct worker *worker, struct cleave_error *err)
{
    const struct cv_map_message leave = { .kind = CV_MAP_LEFT };

    while (!worker->link.stopped)
        CV_TRY(cv_map_progress(&worker->link, INFINITY, err));
    CV_TRY(settle(&worker->link, err));
    cv_map_tell(&worker->link, 0, &leave);
    return settle(&worker->link, err);
}

/* The call on other ranks than 0. */
static enum cleave_status work_for_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                                        struct cv_map_tasks *tasks,
                                        struct cleave_error *err)
{
    struct worker worker = { .map = map };
    enum cleave_status status;

    cv_map_link_init(&worker.link, comm, tasks, order_received, &worker);
    status = work(&worker, err);
    if (status != CLEAVE_OK) {
        /* The other ranks wait for this one: the program must end them. */
        MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    } else if (worker.stop.status != CLEAVE_OK) {
        *err = worker.stop;
        status = err->status;
    }
    while (worker.held != NULL)
        free_held(take_held(&worker, worker.held->id));
    cv_map_link_done(&worker.link);
    return status;
}

/* --- cleave_mpi_map_reduce, and its work on a communicator of one rank ------------- */

enum { CHUNKS = 64, LEVELS = 8 };

/* Partials of 2^level equal chunks, combined as in a binary counter: in order, and each
 * at most log2(chunks) times. */
struct counter {
    struct cleave_mpi_buffer levels[LEVELS];
    bool full[LEVELS];
};

static enum cleave_status combine(const struct cleave_mpi_map *map,
                                  struct cleave_mpi_buffer *left,
                                  struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_result *out, struct cleave_error *err)
{
    struct cleave_mpi_buffer made = { 0 };
    enum cleave_status status = CV_MAP_CALL(map, combine, err, left, right, &made);

    if (status != CLEAVE_OK) {
        cv_map_buffer_done(&made);
        return status;
    }
    out->combinations++;
    cv_map_buffer_done(left);
    cv_map_buffer_done(right);
    *right = made;
    return CLEAVE_OK;
}

/* Combine the partial with all full levels up to the first empty one. */
static enum cleave_status count(const struct cleave_mpi_map *map, struct counter *counter,
                                struct cleave_mpi_buffer *partial,
                                struct cleave_mpi_result *out, struct cleave_error *err)
{
    unsigned level = 0;

    for (; counter->full[level]; level++) {
        CV_TRY(combine(map, &counter->levels[level], partial, out, err));
        counter->full[level] = false;
    }
    counter->levels[level] = *partial;
    counter->full[level] = true;
    *partial = (struct cleave_mpi_buffer){ 0 };
    return CLEAVE_OK;
}

static enum cleave_status one_chunk(const struct cleave_mpi_map *map, uint64_t begin,
                                    uint64_t end, struct counter *counter,
                                    struct cleave_mpi_result *out,
                                    struct cleave_error *err)
{
    struct cleave_mpi_buffer input = { 0 }, partial = { 0 };
    enum cleave_status status = CLEAVE_OK;

    if (map->pack != NULL)
        status = CV_MAP_CALL(map, pack, err, begin, end, &input);
    if (status == CLEAVE_OK)
        status = CV_MAP_CALL(map, compute, err, begin, end, &input, &partial);
    cv_map_buffer_done(&input);
    if (status == CLEAVE_OK)
        status = map->combine != NULL
                     ? count(map, counter, &partial, out, err)
                     : CV_MAP_CALL(map, collect, err, begin, end, &partial);
    out->chunks += status == CLEAVE_OK;
    cv_map_buffer_done(&partial);
    return status;
}

static enum cleave_status sum_up(const struct cleave_mpi_map *map,
                                 struct counter *counter, struct cleave_mpi_result *out,
                                 struct cleave_error *err)
{
    bool any = false;

    for (unsigned level = 0; level < LEVELS; level++) {
        struct cleave_mpi_buffer *buffer = &counter->levels[level];

        if (!counter->full[level])
            continue;
        if (any)
            CV_TRY(combine(map, buffer, &out->value, out, err));
        else
            out->value = *buffer;
        any = true;
        *buffer = (struct cleave_mpi_buffer){ 0 };
    }
    return CLEAVE_OK;
}

static enum cleave_status map_alone(const struct cleave_mpi_map *map,
                                    struct cleave_mpi_result *out,
                                    struct cleave_error *err)
{
    struct cleave_mpi_result result = { 0 };
    struct counter counter = { 0 };
    enum cleave_status status = CLEAVE_OK;
    uint64_t size = map->units / CHUNKS + 1;

    if (map->compute == NULL || (map->combine == NULL && map->collect == NULL))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'compute', and 'combine' or 'collect'");
    for (uint64_t begin = 0; begin < map->units && status == CLEAVE_OK; begin += size)
        status =
            one_chunk(map, begin, map->units - begin < size ? map->units : begin + size,
                      &counter, &result, err);
    if (status == CLEAVE_OK)
        status = sum_up(map, &counter, &result, err);
    for (unsigned level = 0; level < LEVELS; level++)
        cv_map_buffer_done(&counter.levels[level]);
    if (status == CLEAVE_OK)
        *out = result;
    else
        cv_map_buffer_done(&result.value);
    return status;
}

/* --- share a divisible job among the ranks of an MPI program: the public call ------- */

static enum cleave_status run(const struct cleave_mpi_map *map, MPI_Comm comm,
                              struct cleave_mpi_result *out, struct cleave_error *err)
{
    struct cv_map_tasks *tasks;
    enum cleave_status status;
    int rank, size, level;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1)
        return map_alone(map, out, err);
    MPI_Query_thread(&level);
    CV_TRY(cv_map_tasks_new(level >= MPI_THREAD_FUNNELED, &tasks, err));
    status = rank == 0 ? cv_map_lead(map, comm, tasks, out, err)
                       : work_for_lead(map, comm, tasks, err);
    cv_map_tasks_free(tasks);
    return status;
}

__attribute__((visibility("default"))) enum cleave_status
cleave_mpi_map_reduce(const struct cleave_mpi_map *map, MPI_Comm comm,
                      struct cleave_mpi_result *out, struct cleave_error *err)
{
    const double began_s = cv_idle_wait_clock_s();
    struct cleave_error ignored;
    struct cleave_mpi_result result = { 0 };
    enum cleave_status status;
    MPI_Comm own;
    int inter;

    if (err == NULL)
        err = &ignored;
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return cv_fail(err, CLEAVE_EINPUT, "expected an intra-communicator");
    /* Separate messages from messages of the program. */
    if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS)
        return cv_fail(err, CLEAVE_EENGINE, "MPI could not duplicate the communicator");
    status = run(map, own, &result, err);
    MPI_Comm_free(&own);
    if (status != CLEAVE_OK)
        return status;
    result.seconds = cv_idle_wait_clock_s() - began_s;
    if (out != NULL)
        *out = result;
    else
        cv_map_buffer_done(&result.value);
    return CLEAVE_OK;
}

__attribute__((visibility("default"))) void
cleave_mpi_result_done(struct cleave_mpi_result *result)
{
    if (result != NULL)
        cv_map_buffer_done(&result->value);
}
