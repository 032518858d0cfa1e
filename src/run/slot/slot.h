/* slot.h -- a command on a piece of the input. SPDX-License-Identifier: MIT
 *
 * A slot starts the command, feeds the piece to it, keeps its output and reports its end. The
 * user of the slot decides how to treat a failure. There are four kinds:
 *
 *   single       a command is started for each piece, which may grow (single_slot.c)
 *   persistent   one command processes many pieces, of one slot or of several (persistent_slot.h)
 *   function     a function runs in a thread instead of a command (thread_slot.c)
 *   remote       another machine runs the command (run/hosts/remote_slot.h)
 *
 * States of a slot of this machine:
 *
 *   idle         !busy                  cv_slot_start or cv_slot_open begins a piece
 *   running      busy, !exited          the command has the piece
 *   held         busy, exited           the command has ended, but its children use its pipes
 *   stopping     busy, kills > 0        signals were sent: by cv_slot_stop (stopping), after the time
 *                                       limit (timed_out), or to children of a failed command
 *
 * `ended` is called once per piece, with busy false. Then the slot is idle again, except that a
 * persistent command may still have to end (cv_slot_is_idle). */
#ifndef CV_SLOT_H
#define CV_SLOT_H
#include <pthread.h>
#include <stdatomic.h>
#include "run/output/ordered_output.h"
#include "run/common/pipe_feeder.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/input/source.h"

enum cv_slot_end {
    CV_SLOT_DONE,      /* success; all output is in `store` */
    CV_SLOT_FAILED,    /* another exit status, or a signal, or see `fault` */
    CV_SLOT_TIMED_OUT, /* stopped after timeout_s */
    CV_SLOT_STOPPED,   /* stopped by cv_slot_stop */
    CV_SLOT_LOST,      /* the connection to its machine was lost */
};

/* The beginning of the fault of a command that could not be started; the reason follows. */
#define CV_UNSTARTED "did not start: "

struct cleave_items;
struct cv_host;
struct cv_item_message_out;
struct cv_slot;
struct cv_slot_kind;

/* Progress of a command. */
struct cv_slot_seen {
    uint64_t read;   /* bytes of the body; after the end of the input, bytes fed */
    uint64_t output; /* bytes */
    double cpu_s;    /* CPU time without children; 0: unknown */
};

/* Calls to the user of a slot. */
struct cv_slot_events {
    void (*ended)(void *context, struct cv_slot *slot, enum cv_slot_end end);
    /* An error of cleave, not of the command. */
    void (*broke)(void *context, const struct cleave_error *err);
    /* A persistent command has ended without a piece; see `process` and `fault`. */
    void (*left)(void *context, struct cv_slot *slot);
    /* ... has failed while it held `count` pieces: each of them is given to another one alone.
     * See `process` and `fault`. May be NULL. */
    void (*regiven)(void *context, struct cv_slot *slot, uint32_t count);
    /* The first answer of a persistent command takes long: does it know the protocol? */
    void (*silent)(void *context, struct cv_slot *slot);
    /* The command succeeded, but its children have held its pipes for a while. May be NULL. */
    void (*held)(void *context, struct cv_slot *slot);
    /* Output has arrived. May be NULL. */
    void (*wrote)(void *context, struct cv_slot *slot);
    /* Open pieces: the command has begun to read; has read everything; more was fed (may be
     * NULL). */
    void (*began)(void *context, struct cv_slot *slot);
    void (*drained)(void *context, struct cv_slot *slot);
    void (*moved)(void *context, struct cv_slot *slot);
    /* Remote pieces: the piece has arrived; it was cut or not; `bytes` of an open piece were
     * moved in `time_s` (may be NULL); an answer to a question. */
    void (*arrived)(void *context, struct cv_slot *slot);
    void (*cut_answered)(void *context, struct cv_slot *slot, bool done);
    void (*carried)(void *context, struct cv_slot *slot, uint64_t bytes, double time_s);
    void (*seen)(void *context, struct cv_slot *slot, const struct cv_slot_seen *seen);
};

enum { CV_TOLD = 6 }; /* most variables */

/* The command of one piece. Its environment has CLEAVE_CHUNK, the number of the piece as in the
 * job log, and CLEAVE_SLOT, the place of its worker, both from 1; for a part of an input also
 * CLEAVE_BEGIN, CLEAVE_END and CLEAVE_INPUT, and on demand CLEAVE_RECORD, the number of its first
 * record. For an open piece some are unknown. The rest is borrowed from slot->base. */
struct cv_piece_command {
    struct cv_command command;
    char **words; /* owned: one block; NULL: not an item */
    size_t argv_room, script_room;
    size_t nkept;        /* variables of the environment that are not ours */
    char *told[CV_TOLD]; /* owned; they follow those */
    size_t ntold;
};

/* The words of the command for the items of a piece, by the worker in `place`, from 1. */
enum cleave_status cv_item_piece_words(const struct cleave_items *items,
                                       const struct cv_piece *piece, uint32_t place,
                                       char ***out, struct cleave_error *err);

enum { CV_FRAME = 8 }; /* bytes of a length, see persistent_slot.h */

struct cv_persistent {
    bool given;    /* the slot has a piece */
    bool leaving;  /* the command is to end */
    bool in_parts; /* answers may have several parts */
};

struct cv_remote;

/* A piece that may grow. Its input stays open when all of it was fed. The command may be started
 * before the piece is known. Bytes in the pipe cannot be taken back, so the pipe is narrow until
 * the command proves to be fast. */
struct cv_open_slot {
    bool on;        /* the piece was opened */
    bool more;      /* ... and not closed */
    bool bound;     /* the piece has bytes */
    double spawn_s; /* when the command was started, once it has begun to read */
    double read_s;  /* when the command had read everything to the end; 0: not yet */
    double dry_s;   /* since when it waits for more; 0: it does not */
    double idle_s;  /* how long it has waited for more in all */
};

/* Output by lines (line_output.c). */
struct cv_line_output {
    char *bytes; /* owned: the beginning of a line */
    size_t length, room;
    uint64_t written; /* bytes of its output */
    char *tag;        /* owned: is put before each line; or NULL */
};

/* Standard error of commands (error_lines.c). One pipe serves all commands of a slot, one after the
 * other; a process that outlives its command may go on writing. */
struct cv_error_lines {
    struct cv_pipe pipe; /* owned; -1: none */
    struct cv_watch watch;
    char *bytes; /* owned: not passed on yet */
    size_t length, room;
    char tail[1024]; /* what the command wrote last; ends with a zero byte */
};

/* Add to the tail. */
void cv_error_lines_keep(struct cv_error_lines *lines, const char *bytes, size_t length);
/* The whole lines in the tail; "" if there are none. */
const char *cv_error_lines_last(const struct cv_error_lines *lines);
/* The seconds of the last line if that is "Retry-After: SECONDS"; 0: it is not. */
double cv_error_lines_retry_after(const struct cv_error_lines *lines);

/* A function that writes an output. It returns whether it succeeded, soon after *stop. */
struct cv_slot_function {
    bool (*call)(void *context, int fd, const atomic_bool *stop);
    void *context;
    pthread_t thread;
    atomic_bool stop;
    int fd;         /* owned by the thread: the pipe to write to */
    bool succeeded; /* set when the thread has ended */
};

struct cv_slot {
    const struct cv_slot_kind *kind;

    /* Settings. Pointers are borrowed. */
    struct cv_poller *poller;
    struct cv_ordered_output *outputs;
    const struct cv_command *command;
    const struct cv_command *base;    /* commands of pieces are built from it; or NULL */
    const struct cleave_items *items; /* pieces are items; NULL: parts of an input */
    const char *const *told;   /* variables NAME=VALUE from another machine; or NULL */
    struct cv_source *numbers; /* numbers of records for CLEAVE_RECORD; or NULL */
    const struct cleave_statuses *ok; /* that are no failures, besides 0; or NULL */
    double timeout_s;                 /* 0: none */
    size_t small_write;               /* open pieces: of cv_pipe_writer_narrow */
    const struct cv_slot_events *events;
    void *context; /* for the events */
    uint32_t worker;
    int direct;   /* commands of items write to this descriptor themselves; 0: no */
    int lines_to; /* ... lines to this one; 0: to the ordered output */
    int errors; /* owned by the user: keeps standard error of a command; or not above 0 */
    bool by_lines; /* complete lines are written as they arrive, in any order */
    bool sends;    /* outputs are sent over a link */
    /* Gets lines of standard error. NULL: commands have that of this process. */
    const struct cleave_listener *listener;

    /* The piece. */
    bool busy;
    struct cv_piece piece;
    uint64_t number; /* number of the chunk, from 0 */
    double start_s;
    struct cv_chunk_output *store; /* owned until it is taken away */
    bool stopping, timed_out;      /* see the states above */
    bool exited;
    double later_s;      /* a persistent command wants the piece after this time; 0: no */
    bool unbegun;        /* a limit prevented the process of a persistent command */
    unsigned kills;      /* signals sent */
    const char *fault;   /* another failure, to follow "the command"; or NULL */
    char unstarted[256]; /* the fault of a command that could not be started */

    /* The command on this machine. */
    struct cv_process process;        /* owned */
    struct cv_piece_command tailored; /* owned */
    struct cv_pipe_feeder in, mate;   /* standard input, descriptor 3 */
    int out;                          /* owned: its output; -1: closed */
    struct cv_watch out_watch, end_watch;
    struct cv_timer timer;    /* until the next signal */
    struct cv_timer patience; /* until a look at its end, children or answer */
    struct cv_timer rest;     /* until its output is read again */

    struct cv_line_output lines;
    struct cv_error_lines error_lines;
    struct cv_open_slot open;
    struct cv_persistent persistent;
    struct cv_slot *
        carrier; /* owned by all slots of a persistent command: has its process; or NULL */
    struct cv_slot_function function;
    struct cv_remote *remote; /* owned: slot of another machine (run/hosts); or NULL */
};

void cv_slot_init(struct cv_slot *slot);
/* Start the command on a piece. Only if the slot is not busy. */
enum cleave_status cv_slot_start(struct cv_slot *slot, const struct cv_piece *piece,
                                 struct cleave_error *err);
/* Start a single slot on other bytes, at most CV_FEED_PARTS parts, which cannot be cut. */
enum cleave_status cv_slot_start_parts(struct cv_slot *slot, const struct cv_part *parts,
                                       size_t count, struct cleave_error *err);
/* Run a function in a thread. The slot is for functions only from now on. */
enum cleave_status cv_slot_start_function(struct cv_slot *slot,
                                          bool (*call)(void *context, int fd,
                                                       const atomic_bool *stop),
                                          void *context, struct cleave_error *err);
/* Bytes of the piece that a command is given, with header and mates. */
uint64_t cv_slot_whole(const struct cv_piece *piece);
/* Bytes that the command was given, with mates. */
uint64_t cv_slot_sent(const struct cv_slot *slot);
/* The index of the body among the parts of `in`. */
size_t cv_slot_body(const struct cv_slot *slot);
/* The offset in the file up to which the body was fed. */
uint64_t cv_slot_fed(const struct cv_slot *slot);
/* Between these calls threads feed nothing (pipe_writer.h). They nest. */
void cv_slot_hold(const struct cv_slot *slot);
void cv_slot_go_on(const struct cv_slot *slot);
/* Bytes of its output; bytes of them that were written already and cannot be taken back. */
uint64_t cv_slot_came(const struct cv_slot *slot);
uint64_t cv_slot_passed(const struct cv_slot *slot);
bool cv_slot_is_remote(const struct cv_slot *slot);
/* Whether the next piece needs a new process on this machine. */
bool cv_slot_starts(const struct cv_slot *slot);
/* Let the piece end as `head`, which begins as the piece does. False: more was fed. */
bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Set timeout_s, also for the running command; not on other machines. */
void cv_slot_limit_to(struct cv_slot *slot, double seconds);
/* Send SIGTERM and, after a second, SIGKILL. */
void cv_slot_stop(struct cv_slot *slot);
/* Let a persistent command end; only if the slot is not busy. False: wait and call it again. */
bool cv_slot_release_command(struct cv_slot *slot);
/* Whether it is not busy, and a persistent command, if there is one, can be given a piece. */
bool cv_slot_is_idle(const struct cv_slot *slot);
/* Kill the command. No event is reported. */
void cv_slot_done(struct cv_slot *slot);
/* cv_slot_done for a slot that will not be used again. */
void cv_slot_free(struct cv_slot *slot);

/* How the command failed, to follow "the command": "exited with status 3". */
void cv_slot_describe_end(const struct cv_slot *slot, char *out, size_t size);

/* Whether a shell, or the worker, reports that the command cannot be run. */
static inline bool cv_slot_was_not_run(const struct cv_slot *slot)
{
    enum { NO_PERMISSION = 126, NOT_FOUND = 127 };

    return slot->process.exit_code == NO_PERMISSION ||
           slot->process.exit_code == NOT_FOUND;
}

/* Start the command on a piece that may grow and may be empty (cv_source_blank). Not for
 * persistent slots. */
enum cleave_status cv_slot_open(struct cv_slot *slot, const struct cv_piece *piece,
                                struct cleave_error *err);
/* Whether it may grow: it was opened and not closed, and its command reads. */
bool cv_slot_is_open(const struct cv_slot *slot);
/* The piece is `longer` now, which begins as the piece does, or its first one. */
enum cleave_status cv_slot_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err);
/* The piece is complete: close the input. A command that was given nothing is stopped. */
void cv_slot_close_input(struct cv_slot *slot);
/* For busy slots of this machine. */
struct cv_slot_seen cv_slot_look(const struct cv_slot *slot);

enum cleave_status cv_line_output_begin(struct cv_slot *slot, struct cleave_error *err);
/* Write complete lines from the pipe of the command, and the rest at its end. CLEAVE_ECLOSED: the
 * reader has closed the sink. */
enum cleave_status cv_line_output_pump(struct cv_slot *slot, uint64_t max,
                                       enum cv_chunk_output_state *out,
                                       struct cleave_error *err);
/* Write complete lines of other bytes; write the rest. */
enum cleave_status cv_line_output_take(struct cv_slot *slot, const void *bytes,
                                       size_t length, struct cleave_error *err);
enum cleave_status cv_line_output_end(struct cv_slot *slot, struct cleave_error *err);
void cv_line_output_done(struct cv_line_output *lines);

/* The command of an item has ended: let the user of the items keep its output, or replace it, or
 * put a tag before each line. *store may be another output afterwards. */
enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err);

#endif
