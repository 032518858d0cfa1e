/* map_messages.h -- messages under way, with calls for those that have arrived.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MAP_MESSAGES_H
#define CV_MAP_MESSAGES_H
#include <cleave/error.h>
#include <cleave/mpi_map.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
    CV_MAIL_ORDER = 1, /* tags: from rank 0, ... */
    CV_MAIL_EVENT = 2, /* ... to rank 0          */
    CV_MAIL_DATA = 16, /* and for named bytes    */
};

/* Bytes of any length go in pieces of so many, one after the other; each end knows the
 * length beforehand. Their tag comes from a name that is used once. */
struct cv_map_requests_item {
    /* Called when all of it has been sent, or received; `from` is who sent it. */
    void (*done)(void *context, struct cv_map_requests_item *item, int from);
    void *context;
    unsigned char *bytes; /* borrowed                                                 */
    size_t size, moved;
    int rank, tag;
    bool in;
};

struct cv_map_requests {
    MPI_Comm comm;
    struct cv_map_requests_item *
        *items;            /* borrowed: under way                               */
    MPI_Request *requests; /* owned, all as long as `items`                     */
    MPI_Status *statuses;
    int *ready;
    size_t count, room;
    int code; /* of the MPI call that failed first                                    */
};

void cv_map_requests_init(struct cv_map_requests *requests, MPI_Comm comm);
void cv_map_requests_done(struct cv_map_requests *requests);
/* The tag for bytes with a name. */
int cv_map_requests_tag(uint64_t id);
/* Begin to send or receive; the item is the mail's until it is done. */
enum cleave_status cv_map_requests_begin(struct cv_map_requests *requests,
                                         struct cv_map_requests_item *item,
                                         struct cleave_error *err);

struct cv_map_tasks;

/* Embedded in what a task is about. */
struct cv_map_task {
    /* Called in the thread. */
    enum cleave_status (*run)(struct cv_map_task *task, struct cleave_error *err);
    /* Called by map_tasks_fetch. `err` is NULL if it went well, or was dropped. */
    void (*done)(struct cv_map_task *task, const struct cleave_error *err);
    double seconds; /* that it took                                                    */
    enum cleave_status status;
    struct cleave_error err;
    struct cv_map_task *next;
};

/* `threaded`: else tasks run when they are handed over. */
enum cleave_status cv_map_tasks_new(bool threaded, struct cv_map_tasks **out,
                                    struct cleave_error *err);
/* Waits for the task that runs; the others must have been fetched or dropped. */
void cv_map_tasks_free(struct cv_map_tasks *tasks);

void cv_map_tasks_add(struct cv_map_tasks *tasks, struct cv_map_task *task);
/* Those that have not begun count as done, without a word about them. */
void cv_map_tasks_drop(struct cv_map_tasks *tasks);
/* Whether there is any that has not been fetched. */
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

struct cv_map_message {
    uint32_t kind, peer, keep, status;
    uint64_t id, begin, end, bytes, left, right, moves;
    double seconds;
    char text[sizeof((struct cleave_error *)0)->text]; /* only sent with an error     */
};

/* Send a copy of a note. */
enum cleave_status cv_map_tell(struct cv_map_requests *requests, int rank,
                               const struct cv_map_message *note,
                               struct cleave_error *err);
/* A note that says what went wrong, and back. */
void cv_map_note_error(struct cv_map_message *note, const struct cleave_error *error);
enum cleave_status cv_map_error_of(const struct cv_map_message *note,
                                   struct cleave_error *err);

/* See what MPI and the tasks have done; nap when it is nothing. `silent` items of mail
 * are only there to listen. *last_s is when something happened last; no nap goes past
 * until_s. */
enum cleave_status cv_map_progress(struct cv_map_requests *requests,
                                   struct cv_map_tasks *tasks, size_t silent,
                                   double *last_s, double until_s,
                                   struct cleave_error *err);

/* Callbacks, with an error that is always set. */
enum cleave_status cv_map_compute(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
enum cleave_status cv_map_combine(const struct cleave_mpi_map *map,
                                  const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
enum cleave_status cv_map_pack(const struct cleave_mpi_map *map, uint64_t begin,
                               uint64_t end, struct cleave_mpi_buffer *out,
                               struct cleave_error *err);
enum cleave_status cv_map_collect(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err);
void cv_map_buffer_done(struct cleave_mpi_buffer *buffer);

/* The parts of the call: other ranks, rank 0, and rank 0 without others. */
enum cleave_status cv_map_work(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_error *err);
enum cleave_status cv_map_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_mpi_result *out,
                               struct cleave_error *err);

#endif
