/* map_messages.c -- messages, callbacks and their thread, on all ranks of a shared job.
 * SPDX-License-Identifier: MIT */
#include "mpi/map/map_messages.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "run/common/threads.h"

static const size_t PIECE = (size_t)1 << 30; /* MPI counts in int */
/* Tags. Every MPI has tags up to 32767. */
enum { TAG_ORDER = 1, TAG_EVENT = 2, TAG_DATA = 16, DATA_TAGS = 16384 };

void cv_map_link_done(struct cv_map_link *link)
{
    free(link->transfers);
    free(link->requests);
    free(link->statuses);
    free(link->ready);
    *link = (struct cv_map_link){ 0 };
}

void cv_map_link_fail(struct cv_map_link *link, const struct cleave_error *err)
{
    if (!link->failed)
        link->err = *err;
    link->failed = true;
}

static bool fail_memory(struct cv_map_link *link)
{
    struct cleave_error err;

    cv_fail_memory(&err, "messages");
    cv_map_link_fail(link, &err);
    return false;
}

static bool fail_mpi(struct cv_map_link *link, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    struct cleave_error err;
    int length = 0;

    MPI_Error_string(code, text, &length);
    cv_fail(&err, CLEAVE_EENGINE, "MPI could not %s: %.400s", what, text);
    cv_map_link_fail(link, &err);
    return false;
}

static bool grow_arrays(struct cv_map_link *link)
{
    const size_t n = link->count + 1, old = link->room;
    size_t room[4] = { old, old, old, old };

    if (!CV_ROOM(link->transfers, &room[0], n) || !CV_ROOM(link->requests, &room[1], n) ||
        !CV_ROOM(link->statuses, &room[2], n) || !CV_ROOM(link->ready, &room[3], n))
        return false;
    link->room = room[0];
    return true;
}

static int next_piece(const struct cv_map_link *link, struct cv_map_transfer *transfer,
                      MPI_Request *request)
{
    const size_t rest = transfer->size - transfer->moved;
    const int n = (int)(rest < PIECE ? rest : PIECE);

    return transfer->in ? MPI_Irecv(transfer->bytes + transfer->moved, n, MPI_BYTE,
                                    transfer->rank, transfer->tag, link->comm, request)
                        : MPI_Isend(transfer->bytes + transfer->moved, n, MPI_BYTE,
                                    transfer->rank, transfer->tag, link->comm, request);
}

bool cv_map_begin(struct cv_map_link *link, struct cv_map_transfer *transfer)
{
    int code;

    transfer->moved = 0;
    if (link->count == link->room && !grow_arrays(link))
        return fail_memory(link);
    code = next_piece(link, transfer, &link->requests[link->count]);
    if (code != MPI_SUCCESS)
        return fail_mpi(link, transfer->in ? "receive" : "send", code);
    link->transfers[link->count++] = transfer;
    link->listening |= transfer == &link->listen;
    return true;
}

bool cv_map_move(struct cv_map_link *link, struct cv_map_transfer *transfer, bool in,
                 const struct cleave_mpi_buffer *buffer, int rank, uint64_t id,
                 void (*done)(void *context), void *context)
{
    *transfer = (struct cv_map_transfer){ .done = done,
                                          .context = context,
                                          .bytes = buffer->bytes,
                                          .size = buffer->size,
                                          .rank = rank,
                                          .tag = TAG_DATA + (int)(id % DATA_TAGS),
                                          .in = in };
    return cv_map_begin(link, transfer);
}

static void remove_done(struct cv_map_link *link)
{
    size_t kept = 0;

    for (size_t i = 0; i < link->count; i++) {
        if (link->transfers[i] == NULL)
            continue;
        link->transfers[kept] = link->transfers[i];
        link->requests[kept++] = link->requests[i];
    }
    link->count = kept;
}

/* Continue or complete all transfers that MPI is done with. False: there was none. */
static bool test_transfers(struct cv_map_link *link)
{
    int n = 0, code;
    bool any;

    if (link->count == 0)
        return false;
    code =
        MPI_Testsome((int)link->count, link->requests, &n, link->ready, link->statuses);
    any = code == MPI_SUCCESS && n != MPI_UNDEFINED && n > 0;
    for (int i = 0; i < n && any && code == MPI_SUCCESS; i++) {
        /* `done` may append transfers, which does not change the indices of others. */
        const size_t at = (size_t)link->ready[i];
        struct cv_map_transfer *transfer = link->transfers[at];
        const size_t rest = transfer->size - transfer->moved;

        transfer->moved += rest < PIECE ? rest : PIECE;
        if (transfer->moved < transfer->size) {
            code = next_piece(link, transfer, &link->requests[at]);
            continue;
        }
        link->transfers[at] = NULL;
        link->listening &= transfer != &link->listen;
        link->source = link->statuses[i].MPI_SOURCE;
        transfer->done(transfer->context);
    }
    if (code != MPI_SUCCESS)
        fail_mpi(link, "move messages", code);
    remove_done(link);
    return any;
}

/* --- the thread of callbacks -------------------------------------------------------- */

struct queue {
    struct cv_map_task *first, **last;
};

struct cv_map_tasks {
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given, ended; /* a task was added; a task is done                  */
    /* Under the lock: */
    struct queue waiting, done;
    bool running, leaving;
};

static void put(struct queue *queue, struct cv_map_task *task)
{
    task->next = NULL;
    *queue->last = task;
    queue->last = &task->next;
}

static struct cv_map_task *get(struct queue *queue)
{
    struct cv_map_task *task = queue->first;

    if (task == NULL)
        return NULL;
    queue->first = task->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return task;
}

static void run_task(struct cv_map_task *task)
{
    const double began_s = cv_idle_wait_clock_s();

    task->err = (struct cleave_error){ 0 };
    task->status = task->run(task, &task->err);
    task->seconds = cv_idle_wait_clock_s() - began_s;
}

static void *work(void *context)
{
    struct cv_map_tasks *tasks = context;

    pthread_mutex_lock(&tasks->lock);
    for (;;) {
        struct cv_map_task *task;

        while (tasks->waiting.first == NULL && !tasks->leaving)
            pthread_cond_wait(&tasks->given, &tasks->lock);
        task = get(&tasks->waiting);
        if (task == NULL)
            break;
        tasks->running = true;
        pthread_mutex_unlock(&tasks->lock);
        run_task(task);
        pthread_mutex_lock(&tasks->lock);
        tasks->running = false;
        put(&tasks->done, task);
        pthread_cond_signal(&tasks->ended);
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

enum cleave_status cv_map_tasks_new(bool threaded, struct cv_map_tasks **out,
                                    struct cleave_error *err)
{
    struct cv_map_tasks *tasks = calloc(1, sizeof *tasks);
    pthread_condattr_t clock;
    int code = 0;

    if (tasks == NULL)
        return cv_fail_memory(err, "the tasks of a rank");
    tasks->threaded = threaded;
    tasks->waiting.last = &tasks->waiting.first;
    tasks->done.last = &tasks->done.first;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->given, NULL);
    pthread_cond_init(&tasks->ended, &clock);
    pthread_condattr_destroy(&clock);
    if (threaded)
        code = cv_nosignal_thread_create(&tasks->thread, work, tasks);
    if (code != 0) {
        tasks->threaded = false;
        cv_map_tasks_free(tasks);
        return cv_fail(err, CLEAVE_EENGINE, "cannot start a thread: %s", strerror(code));
    }
    *out = tasks;
    return CLEAVE_OK;
}

void cv_map_tasks_free(struct cv_map_tasks *tasks)
{
    if (tasks == NULL)
        return;
    if (tasks->threaded) {
        pthread_mutex_lock(&tasks->lock);
        tasks->leaving = true;
        pthread_cond_signal(&tasks->given);
        pthread_mutex_unlock(&tasks->lock);
        pthread_join(tasks->thread, NULL);
    }
    pthread_mutex_destroy(&tasks->lock);
    pthread_cond_destroy(&tasks->given);
    pthread_cond_destroy(&tasks->ended);
    free(tasks);
}

void cv_map_tasks_add(struct cv_map_tasks *tasks, struct cv_map_task *task)
{
    if (!tasks->threaded)
        run_task(task);
    pthread_mutex_lock(&tasks->lock);
    put(tasks->threaded ? &tasks->waiting : &tasks->done, task);
    pthread_cond_signal(&tasks->given);
    pthread_mutex_unlock(&tasks->lock);
}

/* Call `done` for tasks that have run. Returns their number. */
static unsigned complete_tasks(struct cv_map_tasks *tasks)
{
    unsigned count = 0;

    for (;; count++) {
        struct cv_map_task *task;

        pthread_mutex_lock(&tasks->lock);
        task = get(&tasks->done);
        pthread_mutex_unlock(&tasks->lock);
        if (task == NULL)
            return count;
        task->done(task, task->status != CLEAVE_OK ? &task->err : NULL);
    }
}

void cv_map_tasks_drop(struct cv_map_tasks *tasks)
{
    struct cv_map_task *task;

    pthread_mutex_lock(&tasks->lock);
    while ((task = get(&tasks->waiting)) != NULL) {
        task->status = CLEAVE_OK;
        task->seconds = 0;
        put(&tasks->done, task);
    }
    pthread_mutex_unlock(&tasks->lock);
}

bool cv_map_tasks_any(struct cv_map_tasks *tasks)
{
    bool any;

    pthread_mutex_lock(&tasks->lock);
    any = tasks->running || tasks->waiting.first != NULL || tasks->done.first != NULL;
    pthread_mutex_unlock(&tasks->lock);
    return any;
}

/* Sleep until a task is done, but not longer than `time`. */
static void wait_for_task(struct cv_map_tasks *tasks, const struct timespec *time)
{
    struct timespec until;

    if (time->tv_sec == 0 && time->tv_nsec == 0) {
        sched_yield();
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += time->tv_sec;
    until.tv_nsec += time->tv_nsec;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&tasks->lock);
    while (tasks->done.first == NULL &&
           pthread_cond_timedwait(&tasks->ended, &tasks->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&tasks->lock);
}

/* --- buffers, callbacks and messages ------------------------------------------------ */

/* While bytes are moving, MPI must be called often. */
static const long MOVING_NAP_NS = 50000;

__attribute__((visibility("default"))) void *
cleave_mpi_buffer_resize(struct cleave_mpi_buffer *buffer, size_t size)
{
    if (buffer->bytes == NULL || size > buffer->room) {
        const size_t half = buffer->room / 2;
        /* Repeated small increases must not be expensive. */
        size_t room = size > buffer->room + half || half > SIZE_MAX - buffer->room
                          ? size
                          : buffer->room + half;
        void *bytes;

        room = room > 0 ? room : 1;
        bytes = realloc(buffer->bytes, room);
        if (bytes == NULL)
            return NULL;
        buffer->bytes = bytes;
        buffer->room = room;
    }
    buffer->size = size;
    return buffer->bytes;
}

void cv_map_buffer_done(struct cleave_mpi_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct cleave_mpi_buffer){ 0 };
}

enum cleave_status cv_map_called(enum cleave_status status, const char *name,
                                 struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return status;
    if (err->text[0] == '\0')
        return cv_fail(err, status, "the callback '%s' failed: %s", name,
                       cleave_status_text(status));
    err->status = status;
    return status;
}

void cv_map_link_init(struct cv_map_link *link, MPI_Comm comm, struct cv_map_tasks *tasks,
                      void (*done)(void *context), void *context)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    *link = (struct cv_map_link){ .comm = comm,
                                  .tasks = tasks,
                                  .last_s = cv_idle_wait_clock_s(),
                                  .listen = { .done = done,
                                              .context = context,
                                              .bytes = (unsigned char *)&link->message,
                                              .size = sizeof link->message,
                                              .rank = rank == 0 ? MPI_ANY_SOURCE : 0,
                                              .tag = rank == 0 ? TAG_EVENT : TAG_ORDER,
                                              .in = true } };
    cv_map_begin(link, &link->listen);
}

struct letter {
    struct cv_map_transfer transfer;
    struct cv_map_message message;
};

void cv_map_tell(struct cv_map_link *link, int rank, const struct cv_map_message *message)
{
    struct letter *letter = malloc(sizeof *letter);

    if (letter == NULL) {
        fail_memory(link);
        return;
    }
    letter->message = *message;
    letter->transfer = (struct cv_map_transfer){
        .done = free,
        .context = letter,
        .bytes = (unsigned char *)&letter->message,
        .size = message->status != CLEAVE_OK ? sizeof *message
                                             : offsetof(struct cv_map_message, text),
        .rank = rank,
        .tag = rank == 0 ? TAG_EVENT : TAG_ORDER,
    };
    if (!cv_map_begin(link, &letter->transfer))
        free(letter);
}

void cv_map_set_error(struct cv_map_message *message, const struct cleave_error *error)
{
    message->status = (uint32_t)error->status;
    snprintf(message->text, sizeof message->text, "%s", error->text);
}

enum cleave_status cv_map_get_error(const struct cv_map_message *message,
                                    struct cleave_error *err)
{
    if (message->status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, (enum cleave_status)message->status, "%.*s",
                   (int)sizeof message->text - 1, message->text);
}

enum cleave_status cv_map_progress(struct cv_map_link *link, double until_s,
                                   struct cleave_error *err)
{
    bool any = !link->failed && test_transfers(link);
    struct timespec idle;
    double now_s, left_s;

    any |= complete_tasks(link->tasks) > 0;
    if (link->failed) {
        *err = link->err;
        return err->status;
    }
    now_s = cv_idle_wait_clock_s();
    if (any) {
        link->last_s = now_s;
        return CLEAVE_OK;
    }
    idle = cv_idle_wait_for(now_s - link->last_s);
    if (link->count > link->listening && idle.tv_nsec > MOVING_NAP_NS)
        idle.tv_nsec = MOVING_NAP_NS;
    left_s = until_s - now_s;
    if (left_s < 1e-9 * (double)idle.tv_nsec)
        idle.tv_nsec = left_s > 0 ? (long)(1e9 * left_s) : 0;
    wait_for_task(link->tasks, &idle);
    return CLEAVE_OK;
}
