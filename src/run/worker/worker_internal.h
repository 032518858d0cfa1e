/* worker_internal.h -- shared by the files of run/worker. SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_INTERNAL_H
#define CV_WORKER_INTERNAL_H
#include "run/common/start_limiter.h"
#include "run/output/ordered_output.h"
#include "run/slot/slot.h"
#include "run/wire/link.h"
#include "run/wire/protocol.h"
#include "run/worker/worker_serve.h"

struct cleave_items;
struct cv_arriving_input;
struct cv_fetched;

struct cv_task_item {
    struct cv_item_message message;
    struct cv_range bytes; /* range of the files, in `fd` */
    int fd;                /* borrowed from the spool of the task */
    int errors;            /* owned: standard error of the command; -1: none */
    bool placed;           /* the files have been written */
    bool bad, unseen;      /* a file changed while it was sent; is missing here */
};

/* A body that is decoded here, or fetched. */
struct cv_task_packed {
    struct cv_arriving_input *arriving; /* owned; NULL: it is fetched */
    struct cv_fetched *fetched;         /* owned; NULL: it is decoded */
    struct cv_range body, in;           /* as in the last frame */
    int file;               /* borrowed: of the job, to be read; -1: the bytes are sent */
    uint64_t header_length; /* bytes of a header that is sent; only with `file` */
    enum cv_closing closing;
    char *header; /* bytes of the header, once they are needed */
};

/* A piece, from its first byte to the last byte of its output. Pointers are owned; NULL: none. */
struct cv_task {
    uint64_t chunk;
    uint32_t seat;
    struct cv_remote_piece request;
    struct cv_chunk_output *spool, *mates, *output;
    struct cv_chunk_output *back; /* files of an item, sent after `output` */
    uint64_t bytes[CV_PARTS];     /* that have arrived, by part */
    struct cv_piece piece;        /* set once it is complete, or open */
    bool complete, running;
    bool behind;       /* `output` was `back` before */
    bool shown;        /* output is sent while the command runs */
    bool open;         /* the command does not wait for the rest of the piece ... */
    bool shut;         /* ... which has arrived */
    int file;          /* owned: bytes of an open piece that is not shared; -1 */
    uint64_t told_fed; /* bytes in the last FED or DRAINED */
    uint64_t freed;    /* bytes of `file` that were released */
    uint64_t lined;    /* bytes of output that were sent as LINES */
    struct cv_remote_end end;
    char fault[200];
    struct cv_arena arena;
    const char *const *told;       /* in the arena: variables NAME=VALUE, ended by NULL */
    struct cv_task_item *item;     /* in the arena */
    struct cv_task_packed *packed; /* in the arena */
    struct cv_task *next;
};

struct cv_tasks {
    struct cv_task *first, **last;
};

struct cv_worker_slot {
    struct cv_slot slot;
    struct cv_tasks tasks; /* the first one may be running */
    uint64_t cut_short;    /* 1 + the last open piece that ended before all had arrived */
    bool leaving;
    struct cv_timer hold;  /* until the end of the first task is reported */
    struct cv_arena arena; /* arena of the next piece */
    const char *const *told;
};

/* A file that did not exist before, to be cleaned up. */
struct cv_created_file {
    char *name; /* owned */
    bool base;  /* for all items */
};

/* The file of the output that is being stored (worker_output.c). */
struct cv_stored_output {
    char *path;                       /* owned: removed with it; NULL: none */
    int fd;                           /* owned */
    struct cv_content_hasher *hasher; /* owned; or NULL */
    uint64_t unsynced;                /* bytes written since the last wait for the disk */
};

struct cv_worker {
    const struct cv_worker_options *options;
    struct cv_poller *poller; /* owned */
    struct cv_link link;
    struct cv_ordered_output *outputs; /* owned; from the job on */
    struct cv_arena arena;
    struct cv_packer job_bytes;
    struct cv_remote_job job;
    struct cv_command *commands;  /* owned: one per seat */
    cpu_set_t *pins;              /* in the arena: one per seat; NULL: anywhere */
    struct cv_worker_slot *seats; /* owned */
    uint32_t nseats;
    struct cleave_items *items; /* in the arena: callbacks of slots; NULL: no items */
    struct cv_created_file *created; /* owned */
    size_t ncreated, created_room;
    char *own_folder; /* owned: made for this job; or NULL */
    int *files;       /* owned: those of the job, if all were found */
    struct cv_content_hasher *hasher;
    uint64_t next_chunk; /* numbers of pieces increase */
    struct cv_tasks outgoing;
    struct cv_stored_output stored; /* output of the first of them */
    unsigned char *bytes;           /* owned: for a frame of output */
    uint32_t turn;                  /* seat whose lines are sent next */
    bool lines_next;                /* send lines, not outputs */
    bool shows;                     /* a task is `shown` ... */
    struct cv_timer ripens;         /* ... and its output may be sent then */
    bool greeted, ready, ended, refused;
    bool noticed; /* SIGTERM was received, and NOTICE was sent */
    bool crowded; /* a task waits until another process can be started */
    bool keeps;   /* REDUCE has arrived: outputs stay here */
    bool folding; /* a command of worker_fold.c runs */
    struct cv_start_limiter limiter;
    struct cleave_error err;
};

/* --- worker_internal.c --- */

void cv_tasks_init(struct cv_tasks *tasks);
void cv_tasks_add(struct cv_tasks *tasks, struct cv_task *task);
void cv_tasks_remove(struct cv_tasks *tasks, struct cv_task *task);
void cv_task_free(struct cv_task *task);

/* End the worker, and send the reason to the master. */
void cv_worker_fail(struct cv_worker *worker, const struct cleave_error *err);
/* Send a frame without payload. */
void cv_worker_send(struct cv_worker *worker, enum cv_frame_type type, uint32_t seat,
                    uint64_t chunk, uint64_t value);

/* The stage of the object that a frame is about; not for frames of partial results. *out_task is
 * the task, or NULL if its slot does not have it. */
enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task);
/* False: the frame is not allowed in this stage, and the worker has ended. */
bool cv_worker_admit(struct cv_worker *worker, enum cv_worker_stage stage,
                     const struct cv_frame_head *head);

/* SIGTERM was received: tell the master, and return pieces that were not started. */
void cv_worker_notice(struct cv_worker *worker);
/* SIGTERM means a notice, and not the end. */
bool cv_worker_can_give_notice(const struct cv_worker *worker);
/* Return the pieces of the seat that were not started. */
void cv_worker_give_back(struct cv_worker *worker, struct cv_worker_slot *seat);

/* --- worker_packed.c --- */

/* PACKED or DRAWN for the task. */
enum cleave_status cv_worker_packed_learn(struct cv_worker *worker, struct cv_task *task,
                                          const struct cv_frame_head *head,
                                          const void *payload, struct cleave_error *err);
/* `length` more bytes of the body may arrive. */
bool cv_worker_packed_may_come(const struct cv_task *task, uint64_t length);
bool cv_worker_packed_complete(const struct cv_task *task);
/* The bytes are in `fd` from `at`: let the piece be the part that can be decoded by now. */
enum cleave_status cv_worker_packed_place(struct cv_task *task, int fd, uint64_t at,
                                          struct cleave_error *err);
/* Let the decoded body end after `body` bytes. */
void cv_worker_packed_cut(struct cv_task *task, uint64_t body);
/* The first byte of the file that is still needed after `fed` bytes have been fed. */
uint64_t cv_worker_packed_needs(const struct cv_task *task, uint64_t fed);
/* The task failed because its body could not be decoded or fetched. */
void cv_worker_packed_spoil(struct cv_task *task, const struct cleave_error *err);
/* The seat whose slot broke for that reason; NULL: none. */
struct cv_worker_slot *cv_worker_packed_spoiled(struct cv_worker *worker);

/* --- worker_item.c --- */

/* Let the slot run items. */
void cv_worker_item_seat(struct cv_worker *worker, struct cv_slot *slot);
/* The task is complete: read its message, and write the files for all items. */
enum cleave_status cv_worker_item_open(struct cv_worker *worker, struct cv_task *task,
                                       struct cleave_error *err);
/* The task is started: write its own files. */
enum cleave_status cv_worker_item_begin(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err);
/* The command has ended: keep the files to return, and clean up. */
enum cleave_status cv_worker_item_end(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err);
/* A file that was not sent does not exist here. */
bool cv_worker_item_unseen(const struct cv_task *task);
/* The file in `fd` is a regular file of this size, time and hash; if not, `why` says why. */
bool cv_worker_same_file(int fd, const struct cv_remote_file *file, char *why,
                         size_t size);
/* Change to the directory of the job, which is created for items. */
enum cleave_status cv_worker_enter(struct cv_worker *worker, struct cleave_error *err);
/* Remove files that were made for the job, if it asks for that. */
void cv_worker_clean(struct cv_worker *worker);

/* --- worker_output.c --- */

/* Send output and end of the task, which is taken; its input is released. */
void cv_worker_send_away(struct cv_worker *worker, struct cv_task *task);
void cv_worker_send_end(struct cv_worker *worker, const struct cv_task *task);
/* cv_link.more: send the next frame of an output, or write as much to its file. */
bool cv_worker_more(void *context);
/* Fails if this machine does not see the file of job.store, or cannot write next to it. */
enum cleave_status cv_worker_store_check(const struct cv_worker *worker,
                                         struct cleave_error *err);
void cv_worker_store_done(struct cv_worker *worker);
/* SHOW for the task. */
void cv_worker_show(struct cv_worker *worker, struct cv_task *task);
/* cv_slot.wrote. */
void cv_worker_wrote(void *context, struct cv_slot *slot);

/* --- worker_tasks.c --- */

enum cleave_status cv_worker_seat_init(struct cv_worker *worker, uint32_t index,
                                       struct cleave_error *err);
/* Limit the processes that are started. */
void cv_worker_watch_room(struct cv_worker *worker);
/* A frame that is allowed now, about a slot or a piece. The task is NULL if it has ended. */
void cv_worker_task_frame(struct cv_worker *worker, struct cv_task *task,
                          const struct cv_frame_head *head, const unsigned char *payload);

#endif
