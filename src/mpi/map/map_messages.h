/* map_messages.h -- messages, callbacks and their thread, on all ranks of a shared job.
 * SPDX-License-Identifier: MIT
 *
 * Rank 0 sends orders, other ranks answer with events. Bytes of input and of partials
 * follow with separate tags. Messages of a rank arrive in the order of sending, and a
 * rank posts the receive of bytes when the order arrives, so everything that was sent is
 * received, even if a job is stopped.
 *
 *     CHUNK    compute [begin, end); `bytes` of input follow. `keep`: the partial `id` stays
 *     GIVE     send the partial `id` to rank `peer` and forget it
 *     AWAIT    the partial `id`, of `bytes` bytes, comes from rank `peer` and stays; orders
 *              about it wait until it has arrived
 *     FOLD     combine `left` and `right` into `id`; if `peer` is not 0, the partial
 *              `moves`, of `bytes` bytes, comes from there
 *     STOP     the end, with or without an error
 *
 *     COMPUTED chunk `id` took `seconds`; unless it is kept, `bytes` follow
 *     FOLDED   `id` has been made in `seconds` and has `bytes`
 *     FAILED   the error of a callback
 *     LEFT     the answer to STOP: the last message of a rank */
#ifndef CV_MAP_MESSAGES_H
#define CV_MAP_MESSAGES_H
#include <cleave/error.h>
#include <cleave/mpi_map.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A transfer of bytes whose length both ranks know. */
struct cv_map_transfer {
    void (*done)(
        void *context); /* called when all bytes have been sent or received     */
    void *context;
    unsigned char *bytes; /* borrowed                                                 */
    size_t size, moved;
    int rank, tag;
    bool in;
};

struct cv_map_message {
    uint32_t kind, peer, keep, status;
    uint64_t id, begin, end, bytes, left, right, moves;
    double seconds;
    char text[sizeof((struct cleave_error *)0)->text]; /* sent with errors only       */
};

/* Messages and tasks of a rank. */
struct cv_map_link {
    MPI_Comm comm;
    struct cv_map_tasks *tasks;         /* borrowed                                   */
    struct cv_map_message message;      /* the last message received */
    struct cv_map_transfer listen;      /* receives it                                */
    struct cv_map_transfer **transfers; /* borrowed                                   */
    MPI_Request *requests;              /* owned, as the next two: one per transfer   */
    MPI_Status *statuses;
    int *ready;
    size_t count, room;
    int source;     /* sender of the message whose `done` is called                */
    bool listening; /* `listen` is in progress                                     */
    double last_s;  /* time of the last activity                                   */
    bool stopped;   /* the job ends: errors of callbacks do not count              */
    bool failed;    /* by the first error, of a transfer or reported               */
    struct cleave_error err;
};

/* Receive messages, one at a time: after `done`, call cv_map_begin(link, &link->listen). */
void cv_map_link_init(struct cv_map_link *link, MPI_Comm comm, struct cv_map_tasks *tasks,
                      void (*done)(void *context), void *context);
void cv_map_link_done(struct cv_map_link *link);
void cv_map_link_fail(struct cv_map_link *link, const struct cleave_error *err);
/* False: the link has failed. */
bool cv_map_begin(struct cv_map_link *link, struct cv_map_transfer *transfer);
/* Start to send or receive the bytes of the buffer that are named `id`: a number that is
 * used once. The transfer must stay in place until it is done. False: the link has
 * failed. */
bool cv_map_move(struct cv_map_link *link, struct cv_map_transfer *transfer, bool in,
                 const struct cleave_mpi_buffer *buffer, int rank, uint64_t id,
                 void (*done)(void *context), void *context);

struct cv_map_tasks;

/* A callback to run; first member of its user. */
struct cv_map_task {
    enum cleave_status (*run)(struct cv_map_task *task, struct cleave_error *err);
    /* Called by cv_map_progress. `err` is NULL for success and for dropped tasks. */
    void (*done)(struct cv_map_task *task, const struct cleave_error *err);
    double seconds; /* duration of `run`                                               */
    enum cleave_status status;
    struct cleave_error err;
    struct cv_map_task *next;
};

/* A thread that runs tasks one after the other; if not `threaded`, the caller runs
 * them. */
enum cleave_status cv_map_tasks_new(bool threaded, struct cv_map_tasks **out,
                                    struct cleave_error *err);
/* Waits for the running task; all others must be done or dropped. */
void cv_map_tasks_free(struct cv_map_tasks *tasks);
void cv_map_tasks_add(struct cv_map_tasks *tasks, struct cv_map_task *task);
/* Tasks that have not started count as done. */
void cv_map_tasks_drop(struct cv_map_tasks *tasks);
/* Whether there is a task whose `done` has not been called. */
bool cv_map_tasks_any(struct cv_map_tasks *tasks);

enum cv_map_kind {
    CV_MAP_CHUNK,
    CV_MAP_GIVE,
    CV_MAP_AWAIT,
    CV_MAP_FOLD,
    CV_MAP_STOP,
    CV_MAP_COMPUTED,
    CV_MAP_FOLDED,
    CV_MAP_FAILED,
    CV_MAP_LEFT,
};

/* Send a copy of a message. */
void cv_map_tell(struct cv_map_link *link, int rank,
                 const struct cv_map_message *message);
/* Errors as messages, and back. */
void cv_map_set_error(struct cv_map_message *message, const struct cleave_error *error);
enum cleave_status cv_map_get_error(const struct cv_map_message *message,
                                    struct cleave_error *err);

/* Call `done` of transfers and tasks; if there is none, sleep, but not beyond until_s.
 * Fails if the link has failed. */
enum cleave_status cv_map_progress(struct cv_map_link *link, double until_s,
                                   struct cleave_error *err);

/* Call a callback of the user; sets *err if it fails, which it may do without a text. */
#define CV_MAP_CALL(map, callback, err, ...) \
    ((err)->text[0] = '\0',                  \
     cv_map_called((map)->callback((map)->context, __VA_ARGS__, err), #callback, err))
enum cleave_status cv_map_called(enum cleave_status status, const char *name,
                                 struct cleave_error *err);
void cv_map_buffer_done(struct cleave_mpi_buffer *buffer);

/* The call on rank 0. */
enum cleave_status cv_map_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_mpi_result *out,
                               struct cleave_error *err);

#endif
