/* map_messages.c -- messages under way, with calls for those that have arrived.
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
#include "run/common/nosignal_thread.h"

/* MPI counts in int. */
static const size_t PIECE = (size_t)1 << 30;
/* Every MPI has tags up to 32767. */
enum { TAGS = 16384 };

void cv_map_requests_init(struct cv_map_requests *requests, MPI_Comm comm)
{
    *requests = (struct cv_map_requests){ .comm = comm };
}

void cv_map_requests_done(struct cv_map_requests *requests)
{
    free(requests->items);
    free(requests->requests);
    free(requests->statuses);
    free(requests->ready);
    *requests = (struct cv_map_requests){ 0 };
}

int cv_map_requests_tag(uint64_t id)
{
    return CV_MAIL_DATA + (int)(id % TAGS);
}

static enum cleave_status fail_mpi(const char *what, int code, struct cleave_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(code, text, &length);
    return cv_fail(err, CLEAVE_EENGINE, "MPI could not %s: %.400s", what, text);
}

static bool grow_array(struct cv_map_requests *requests)
{
    size_t room = requests->room, same;
    void *items =
        cv_grow(requests->items, &room, requests->count + 1, sizeof *requests->items);
    void *grown;

    if (items == NULL)
        return false;
    requests->items = items;
    grown = cv_grow(requests->requests, (same = requests->room, &same),
                    requests->count + 1, sizeof *requests->requests);
    if (grown == NULL)
        return false;
    requests->requests = grown;
    grown = cv_grow(requests->statuses, (same = requests->room, &same),
                    requests->count + 1, sizeof *requests->statuses);
    if (grown == NULL)
        return false;
    requests->statuses = grown;
    grown = cv_grow(requests->ready, (same = requests->room, &same), requests->count + 1,
                    sizeof *requests->ready);
    if (grown == NULL)
        return false;
    requests->ready = grown;
    requests->room = room;
    return true;
}

static int next_piece(const struct cv_map_requests *requests,
                      struct cv_map_requests_item *item, MPI_Request *request)
{
    const size_t rest = item->size - item->moved;
    const int n = (int)(rest < PIECE ? rest : PIECE);

    return item->in ? MPI_Irecv(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, requests->comm, request)
                    : MPI_Isend(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, requests->comm, request);
}

enum cleave_status cv_map_requests_begin(struct cv_map_requests *requests,
                                         struct cv_map_requests_item *item,
                                         struct cleave_error *err)
{
    int code;

    item->moved = 0;
    if (requests->count == requests->room && !grow_array(requests))
        return cv_fail_memory(err, "messages");
    code = next_piece(requests, item, &requests->requests[requests->count]);
    if (code != MPI_SUCCESS)
        return fail_mpi(item->in ? "receive" : "send", code, err);
    requests->items[requests->count++] = item;
    return CLEAVE_OK;
}

/* Close the gaps that items left which are done. */
static void close_gaps(struct cv_map_requests *requests)
{
    size_t kept = 0;

    for (size_t i = 0; i < requests->count; i++) {
        if (requests->items[i] == NULL)
            continue;
        requests->items[kept] = requests->items[i];
        requests->requests[kept++] = requests->requests[i];
    }
    requests->count = kept;
}

/* Make calls for what is done; *out_any: there was something. Fails when MPI does. */
static enum cleave_status map_requests_look(struct cv_map_requests *requests,
                                            bool *out_any, struct cleave_error *err)
{
    int n = 0;
    int code;

    *out_any = false;
    if (requests->count == 0)
        return CLEAVE_OK;
    code = MPI_Testsome((int)requests->count, requests->requests, &n, requests->ready,
                        requests->statuses);
    if (code != MPI_SUCCESS)
        return fail_mpi("move messages", code, err);
    if (n == MPI_UNDEFINED || n == 0)
        return CLEAVE_OK;
    *out_any = true;
    for (int i = 0; i < n; i++) {
        /* Calls may begin other items: those come behind, so the numbers hold. */
        const size_t at = (size_t)requests->ready[i];
        struct cv_map_requests_item *item = requests->items[at];
        const size_t rest = item->size - item->moved;
        const int from = requests->statuses[i].MPI_SOURCE;

        item->moved += rest < PIECE ? rest : PIECE;
        if (item->moved < item->size) {
            code = next_piece(requests, item, &requests->requests[at]);
            if (code != MPI_SUCCESS)
                return fail_mpi("move messages", code, err);
            continue;
        }
        requests->items[at] = NULL;
        item->done(item->context, item, from);
    }
    close_gaps(requests);
    return CLEAVE_OK;
}

/* --- callbacks in a thread of their own, one after the other ----------------------- */

/* Tasks in the order they came. */
struct line {
    struct cv_map_task *first, **last;
};

struct cv_map_tasks {
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given, ended; /* a task was handed over; one is done               */
    /* Under the lock: */
    struct line waiting, done;
    bool running, leaving;
};

static void put(struct line *line, struct cv_map_task *task)
{
    task->next = NULL;
    *line->last = task;
    line->last = &task->next;
}

static struct cv_map_task *get(struct line *line)
{
    struct cv_map_task *task = line->first;

    if (task == NULL)
        return NULL;
    line->first = task->next;
    if (line->first == NULL)
        line->last = &line->first;
    return task;
}

static void carry_out(struct cv_map_task *task)
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
        carry_out(task);
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
    /* Signals go to the threads of the program. */
    if (threaded)
        code = cv_nosignal_thread_create(&tasks->thread, NULL, work, tasks);
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
        carry_out(task);
    pthread_mutex_lock(&tasks->lock);
    put(tasks->threaded ? &tasks->waiting : &tasks->done, task);
    pthread_cond_signal(&tasks->given);
    pthread_mutex_unlock(&tasks->lock);
}

/* Call `done` for all tasks that are. How many. */
static unsigned map_tasks_fetch(struct cv_map_tasks *tasks)
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

/* Sleep, but not longer than until a task is done. */
static void map_tasks_nap(struct cv_map_tasks *tasks, const struct timespec *time)
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

/* --- buffers, callbacks and notes of a shared job ---------------------------------- */

/* While bytes are moving, MPI should be called often. */
static const long MOVING_NAP_NS = 50000;

/* --- buffers ------------------------------------------------------------------------------ */

__attribute__((visibility("default"))) void *
cleave_mpi_buffer_resize(struct cleave_mpi_buffer *buffer, size_t size)
{
    if (buffer->bytes == NULL || size > buffer->room) {
        const size_t half = buffer->room / 2;
        /* Who asks for a little more again and again should not have to pay for it. */
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

/* --- callbacks ---------------------------------------------------------------------------- */

/* A callback need not say more than that it failed. */
static enum cleave_status finish(enum cleave_status status, const char *name,
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

enum cleave_status cv_map_compute(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->compute(map->context, begin, end, input, out, err), "compute",
                  err);
}

enum cleave_status cv_map_combine(const struct cleave_mpi_map *map,
                                  const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->combine(map->context, left, right, out, err), "combine", err);
}

enum cleave_status cv_map_pack(const struct cleave_mpi_map *map, uint64_t begin,
                               uint64_t end, struct cleave_mpi_buffer *out,
                               struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->pack(map->context, begin, end, out, err), "pack", err);
}

enum cleave_status cv_map_collect(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->collect(map->context, begin, end, partial, err), "collect", err);
}

/* --- notes -------------------------------------------------------------------------------- */

struct letter {
    struct cv_map_requests_item item;
    struct cv_map_message note;
};

static void letter_sent(void *context, struct cv_map_requests_item *item, int from)
{
    (void)item;
    (void)from;
    free(context);
}

enum cleave_status cv_map_tell(struct cv_map_requests *requests, int rank,
                               const struct cv_map_message *note,
                               struct cleave_error *err)
{
    struct letter *letter = malloc(sizeof *letter);
    enum cleave_status status;

    if (letter == NULL)
        return cv_fail_memory(err, "messages");
    letter->note = *note;
    letter->item = (struct cv_map_requests_item){
        .done = letter_sent,
        .context = letter,
        .bytes = (unsigned char *)&letter->note,
        .size = note->status != CLEAVE_OK ? sizeof *note
                                          : offsetof(struct cv_map_message, text),
        .rank = rank,
        .tag = rank == 0 ? CV_MAIL_EVENT : CV_MAIL_ORDER,
    };
    status = cv_map_requests_begin(requests, &letter->item, err);
    if (status != CLEAVE_OK)
        free(letter);
    return status;
}

void cv_map_note_error(struct cv_map_message *note, const struct cleave_error *error)
{
    note->status = (uint32_t)error->status;
    snprintf(note->text, sizeof note->text, "%s", error->text);
}

enum cleave_status cv_map_error_of(const struct cv_map_message *note,
                                   struct cleave_error *err)
{
    if (note->status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, (enum cleave_status)note->status, "%.*s",
                   (int)sizeof note->text - 1, note->text);
}

enum cleave_status cv_map_progress(struct cv_map_requests *requests,
                                   struct cv_map_tasks *tasks, size_t silent,
                                   double *last_s, double until_s,
                                   struct cleave_error *err)
{
    struct timespec idle;
    double now_s, left_s;
    bool any;

    CV_TRY(map_requests_look(requests, &any, err));
    any |= map_tasks_fetch(tasks) > 0;
    now_s = cv_idle_wait_clock_s();
    if (any) {
        *last_s = now_s;
        return CLEAVE_OK;
    }
    idle = cv_idle_wait_for(now_s - *last_s);
    if (requests->count > silent && idle.tv_nsec > MOVING_NAP_NS)
        idle.tv_nsec = MOVING_NAP_NS;
    left_s = until_s - now_s;
    if (left_s < 1e-9 * (double)idle.tv_nsec)
        idle.tv_nsec = left_s > 0 ? (long)(1e9 * left_s) : 0;
    map_tasks_nap(tasks, &idle);
    return CLEAVE_OK;
}
