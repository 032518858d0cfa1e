/* worker_internal.h -- what the parts of a worker share. SPDX-License-Identifier: MIT */
#ifndef CV_WORKER_INTERNAL_H
#define CV_WORKER_INTERNAL_H
#include "run/output/ordered_output.h"
#include "run/common/start_limiter.h"
#include "run/wire/link.h"
#include "run/wire/protocol.h"
#include "run/slot/slot.h"
#include "run/worker/worker_serve.h"

struct cleave_items;
struct cv_arriving_input;
struct cv_fetched;

struct cv_task_item {
    struct cv_arena arena;
    struct cv_item_message message;
    struct cv_range
        bytes;   /* of the spool: those of the files                           */
    int fd;      /* borrowed: of the spool                                     */
    int errors;  /* owned: what it writes to standard error; -1                */
    bool placed; /* its files are in their places                              */
    bool bad, unseen;
};

/* All zero: none. */
struct cv_created_files {
    char **names; /* owned */
    size_t count, room;
};

struct cv_task_packed {
    struct cv_arriving_input
        *arriving; /* owned; NULL: it is fetched                             */
    struct cv_fetched *fetched; /* owned; NULL: it comes                                */
    struct cv_arena arena;      /* of texts of that                                     */
    struct cv_range body, in; /* as told last                                           */
    int file; /* borrowed: of the job, where it lies; -1: it comes                      */
    uint64_t
        header_length; /* ... with so many bytes before it that come                */
    enum cv_closing closing;
    char *header; /* owned: its bytes, once they are needed; NULL                       */
};

/* Variables that a command is told. */
struct cv_command_env {
    struct cv_arena arena;
    const char **list; /* ended by NULL */
};

/* A piece, from its first byte to the last one of its output. */
struct cv_task {
    uint64_t chunk;
    uint32_t seat;
    struct cv_remote_piece request;
    struct cv_chunk_output *spool, *mates,
        *output;              /* owned; NULL: none                       */
    uint64_t bytes[CV_PARTS]; /* that have come, by part                 */
    struct cv_piece piece;    /* once it is complete                     */
    bool complete, running, stopped;
    bool behind; /* what goes behind its output is in the place of that                */
    bool shown;  /* its output is sent as it comes                                      */
    bool open; /* more of it may come, and its command does not wait for that          */
    bool shut; /* ... no more                                                          */
    int file;  /* owned, if it is open and not shared: what came; -1                   */
    uint64_t told_fed,
        freed;      /* bytes of it that the master knows to have been fed; of the
                                 file that were given back                              */
    uint64_t lined; /* bytes of its output that were sent while its command ran        */
    struct cv_remote_end end;
    char fault[200];
    struct cv_command_env
        *told; /* owned: variables of its command; NULL: none                */
    struct cv_task_item
        *item; /* owned, of an item (worker_item.h); NULL: none          */
    struct cv_chunk_output
        *back; /* owned: what goes behind its output; NULL: nothing      */
    struct cv_task_packed
        *packed; /* owned: it is decoded here (worker_input.h); NULL: it is not    */
    struct cv_task *next;
};

/* Tasks one after the other. */
struct cv_tasks {
    struct cv_task *first, **last;
};

struct cv_worker_slot {
    struct cv_slot slot;
    struct cv_tasks tasks; /* the first one may be running                              */
    uint64_t
        cut_short; /* the last open piece that ended before all of it had come, + 1 */
    bool leaving;
    struct cv_command_env
        *told; /* owned: of the piece that is announced next; NULL: none      */
};

struct cv_worker {
    const struct cv_worker_options *options;
    struct cv_poller *poller; /* owned                                                  */
    struct cv_link link;
    struct cv_ordered_output
        *outputs; /* owned; there is one once the job is known              */
    struct cv_arena arena;
    struct cv_packer job_bytes;
    struct cv_remote_job job;
    bool stays; /* the command does; of a leader it does whatever the master knows     */
    struct cv_command *commands; /* owned: per seat                                     */
    cpu_set_t *pins;             /* of the arena: where they run; NULL: anywhere        */
    struct cv_worker_slot
        *seats; /* owned                                               */
    uint32_t nseats, ncommands;
    struct cleave_items *items; /* of the arena: what slots ask for; NULL: no items     */
    char **base;                /* owned: names of files for all items                 */
    size_t nbase, base_room;
    struct cv_created_files
        ours;         /* owned: files that were not here before, with --cleanup */
    char *own_folder; /* owned: made for this job; NULL: none                           */
    int *files; /* owned: those of the job, when all were found                         */
    struct cv_content_hasher *hasher;
    uint64_t next_chunk; /* pieces have higher numbers than those before                */
    struct cv_tasks outgoing;
    unsigned char *bytes; /* owned: a part of an output on its way                      */
    uint32_t turn;   /* of which seat lines are sent next                             */
    bool lines_next; /* rather than outputs                                           */
    bool shows;      /* the output of a piece was asked for as it comes               */
    struct cv_timer ripens; /* ... and may be sent                                      */
    bool greeted, ready, ended, refused;
    bool noticed; /* it has been told to end, and has told the master                  */
    bool crowded; /* a task waits until there is room for another process               */
    bool folding; /* a command runs that is no seat's                                   */
    struct cv_start_limiter limiter;
    struct cleave_error err;
};

/* worker_tasks.c: lists of tasks, and words to the master. */
void cv_tasks_init(struct cv_tasks *tasks);
void cv_tasks_add(struct cv_tasks *tasks, struct cv_task *task);
struct cv_task *cv_tasks_find(const struct cv_tasks *tasks, uint64_t chunk);
void cv_tasks_remove(struct cv_tasks *tasks, struct cv_task *task);
void cv_task_free(struct cv_task *task);

/* End the worker; what is wrong is said here and to the master. */
void cv_worker_fail(struct cv_worker *worker, const struct cleave_error *err);
void cv_worker_send(struct cv_worker *worker, enum cv_frame_type type, uint32_t seat,
                    uint64_t chunk, uint64_t value);
/* Tell the master that all bytes of it are here. */
void cv_worker_has_it(struct cv_worker *worker, const struct cv_task *task);

/* worker_serve.c: make ready for the job. *out_shared: whether its files are the same here,
 * else `why` says why not. */
enum cleave_status cv_worker_prepare(struct cv_worker *worker, bool *out_shared,
                                     char *why, size_t size, struct cleave_error *err);
void cv_worker_release(struct cv_worker *worker);

/* worker_serve.c: let the job be that of a run which shares each piece over others. */
enum cleave_status cv_worker_lead(struct cv_worker *worker, struct cleave_error *err);

/* worker_tasks.c: where the bytes of the piece are. */
enum cleave_status cv_worker_place(struct cv_worker *worker, struct cv_task *task,
                                   struct cleave_error *err);

void cv_told_free(struct cv_command_env *told);

/* worker_tasks.c: what is under way, for the gate of a worker. */
struct cv_start_usage cv_worker_crowd(void *worker);
/* Whether there is nothing yet that the command of a task could do. */
bool cv_task_is_blank(const struct cv_task *task);
/* There is no room for the command of a task, as `why` says: whether the task is to wait for some. */
bool cv_worker_put_off(struct cv_worker *worker, struct cv_task *task,
                       const struct cleave_error *why);

/* worker_tasks.c: pieces. The frames may come now (worker_serve.h); the task is the one that
 * they are about, NULL if it is over. */
void cv_worker_piece(struct cv_worker *worker, const struct cv_frame_head *head,
                     const unsigned char *payload);
/* Let the gate of a worker know what is under way, and who waits. */
void cv_worker_watch_room(struct cv_worker *worker);
void cv_worker_told(struct cv_worker *worker, const struct cv_frame_head *head,
                    const unsigned char *payload);
void cv_worker_data(struct cv_worker *worker, struct cv_task *task,
                    const struct cv_frame_head *head, const unsigned char *payload);
void cv_worker_cut(struct cv_worker *worker, struct cv_task *task,
                   const struct cv_frame_head *head, const unsigned char *payload);
void cv_worker_stop(struct cv_worker *worker, struct cv_task *task);
void cv_worker_packed(struct cv_worker *worker, struct cv_task *task,
                      const struct cv_frame_head *head, const unsigned char *payload);
void cv_worker_seat_init(struct cv_worker *worker, uint32_t index);

/* worker_input.c: pieces whose command is started before all of them has come. */
enum cleave_status cv_worker_open_piece(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err);
/* Keep bytes of it; and, when they have been counted, let its command have them. */
enum cleave_status cv_worker_open_keep(struct cv_task *task, uint64_t part,
                                       const void *bytes, size_t length,
                                       struct cleave_error *err);
enum cleave_status cv_worker_open_feed(struct cv_worker *worker, struct cv_task *task,
                                       bool last, struct cleave_error *err);
/* MORE and LOOK. */
void cv_worker_open_more(struct cv_worker *worker, struct cv_task *task,
                         const struct cv_frame_head *head, const unsigned char *payload);
void cv_worker_look(struct cv_worker *worker, const struct cv_task *task);
/* Fit those of a slot, with the worker as context. */
void cv_worker_began(void *context, struct cv_slot *slot);
void cv_worker_moved(void *context, struct cv_slot *slot);
void cv_worker_drained(void *context, struct cv_slot *slot);

/* worker_serve.c: it has been told to end (SIGTERM). Tell the master, and give back what has not
 * been begun. */
void cv_worker_notice(struct cv_worker *worker);
/* Whether that is what the signal means now; else it ends at once. */
bool cv_worker_can_give_notice(const struct cv_worker *worker);
/* The same of a seat that has got something since. */
void cv_worker_give_back(struct cv_worker *worker, struct cv_worker_slot *seat);
/* The command of the slot was ended by SIGTERM: perhaps so was this process, and hears it next. */
void cv_worker_heed_signal(struct cv_worker *worker, const struct cv_slot *slot);

/* worker_output.c: what becomes of those that have ended. */

/* Its output and how it ended go to the master, and the task with them; its input is not
 * needed any more. */
void cv_worker_send_away(struct cv_worker *worker, struct cv_task *task);
/* Only how it ended. */
void cv_worker_send_end(struct cv_worker *worker, const struct cv_task *task);
/* The next frame of an output; false: there is none. */
bool cv_worker_more(void *context);

/* worker_output.c: of those that have not. How many bytes of an output go into a frame. */
size_t cv_worker_frame_size(const struct cv_link *link);
/* The next lines of one; false: there are none. */
bool cv_worker_lines(struct cv_worker *worker);
/* The output of the task is wanted as it comes. */
void cv_worker_show(struct cv_worker *worker, struct cv_task *task);
/* Fits that of a slot, with the worker as context. */
void cv_worker_wrote(void *context, struct cv_slot *slot);

/* worker_item.c */
/* What the commands of items are made of: fill in the members of a slot. */
void cv_worker_item_seat(struct cv_worker *worker, struct cv_slot *slot);
/* All of its parcel is here: read what it says, and put the files for all items in their
 * places. */
enum cleave_status cv_worker_item_open(struct cv_worker *worker, struct cv_task *task,
                                       struct cleave_error *err);
/* Its turn has come: its own files. */
enum cleave_status cv_worker_item_begin(struct cv_worker *worker, struct cv_task *task,
                                        struct cleave_error *err);
/* Its command has ended: keep the files that go back, and remove what is to be removed. */
enum cleave_status cv_worker_item_end(struct cv_worker *worker, struct cv_task *task,
                                      struct cleave_error *err);
/* Whether a file that was not sent is not. */
bool cv_worker_item_unseen(const struct cv_task *task);
void cv_worker_item_free(struct cv_task *task);

/* Go to the folder of the job, which is made if need be; and, at the end, remove what was made
 * for the job, if that was asked for. */
enum cleave_status cv_worker_enter(struct cv_worker *worker, struct cleave_error *err);
void cv_worker_clean(struct cv_worker *worker);

/* worker_input.c */
/* What the payload of PACKED says of the task; fails if that cannot be. */
enum cleave_status cv_worker_packed_learn(struct cv_worker *worker, struct cv_task *task,
                                          const void *payload, size_t length,
                                          struct cleave_error *err);
/* The same of DRAWN. */
enum cleave_status cv_worker_drawn_learn(struct cv_worker *worker, struct cv_task *task,
                                         const void *payload, size_t length,
                                         struct cleave_error *err);
void cv_worker_packed_free(struct cv_task *task);

/* Of a task that is packed. Whether so many bytes more of its body can come; whether all have. */
bool cv_worker_packed_may_come(const struct cv_task *task, uint64_t length);
bool cv_worker_packed_complete(const struct cv_task *task);
/* Its bytes lie from `at` on: let its piece be what can be decoded of it, if that is any. */
enum cleave_status cv_worker_packed_place(struct cv_task *task, int fd, uint64_t at,
                                          struct cleave_error *err);
/* Its body has so many bytes, decoded, and no more. */
void cv_worker_packed_cut(struct cv_task *task, uint64_t body);
/* It could not be decoded. And the seat whose slot broke for that; NULL: none did. */
void cv_worker_packed_spoil(struct cv_task *task, const struct cleave_error *err);
struct cv_worker_slot *cv_worker_packed_spoiled(struct cv_worker *worker);

/* worker_serve.c */
/* Where things stand with what the frame is about, but for folds. *out_task: that piece, NULL
 * if it is not in its slot. */
enum cv_worker_stage cv_worker_stage(const struct cv_worker *worker,
                                     const struct cv_frame_head *head,
                                     struct cv_task **out_task);
/* Whether it may come now; if not, the worker has ended for it. */
bool cv_worker_admit(struct cv_worker *worker, enum cv_worker_stage stage,
                     const struct cv_frame_head *head);

#endif
