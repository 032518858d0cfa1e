/* attempts.h -- attempts of chunks, their states, and the workers that run them.
 * SPDX-License-Identifier: MIT
 *
 * An attempt is one execution of a chunk: a slot that runs the command on a piece, and the facts
 * that its end needs. A worker of this machine runs one at a time, and may run another
 * one while an open chunk waits for an order. A worker of another machine has several, so
 * that the next piece travels while the last one is computed. */
#ifndef CV_ATTEMPTS_H
#define CV_ATTEMPTS_H
#include "run/common/start_limiter.h"
#include "run/failures/retry_queue.h"
#include "run/master/worker_pool.h"
#include "run/slot/slot.h"

/* Later orders may extend an open chunk. docs/inside/chunk.md has the drawing. */
enum cv_attempt_state {
    CV_ATTEMPT_FREE,
    CV_ATTEMPT_RUNNING, /* the command has, or will be sent, all of its piece           */
    CV_ATTEMPT_DORMANT, /* open, without bytes and without a command                    */
    CV_ATTEMPT_OPEN,    /* open, with a command                                         */
    /* The chunk was closed while an ordered extension was outstanding: */
    CV_ATTEMPT_DORMANT_CLOSING,
    CV_ATTEMPT_CLOSING,
    CV_ATTEMPT_CLOSED, /* an open chunk whose command was given the end of its input    */
    CV_ATTEMPT_STATES,
};

enum cv_attempt_event {
    /* Orders and starts. A start is noted before it is tried. */
    CV_EVENT_BEGIN,    /* the command of a complete piece is started                   */
    CV_EVENT_ORDER,    /* the chunk is open from now on                                */
    CV_EVENT_START,    /* the command of an open chunk is started                      */
    CV_EVENT_NO_START, /* ... or could not be, for lack of processes or descriptors    */
    CV_EVENT_WITHDRAW, /* an open chunk without a command becomes a pending order again */
    CV_EVENT_SETTLE,   /* an extension was added, or there was nothing to add          */
    CV_EVENT_CLOSE,    /* no other order will extend it                                */
    CV_EVENT_CLOSE_DUE, /* the same while an extension is outstanding                   */
    CV_EVENT_TAKE_BACK, /* all of its piece is taken back before the command has any    */
    /* Ends of the command; those with EMPTY are ends of open chunks without bytes. */
    CV_EVENT_EMPTY_END,
    CV_EVENT_EMPTY_LOST,
    CV_EVENT_EMPTY_UNSTARTED,
    CV_EVENT_UNSTARTED, /* the process could not become the command, for lack of resources */
    CV_EVENT_SUCCESS,
    CV_EVENT_MISMATCH, /* ... but the output differs from lines written before */
    CV_EVENT_FAILURE,  /* the command failed, timed out or was stopped */
    CV_EVENT_LOST,     /* the host was lost                                             */
    CV_EVENT_LATER,    /* the command asked to be run later (failures.later)            */
    CV_EVENT_DISCARD,  /* the command succeeded after the run had failed */
    CV_ATTEMPT_EVENTS,
};

/* Reaction to an event. */
enum cv_attempt_action {
    CV_ACTION_NONE,
    CV_ACTION_CLOSE_INPUT, /* give the command the end of its input                     */
    CV_ACTION_DROP,        /* report an open chunk without bytes as done                */
    CV_ACTION_DROP_LOST,   /* ... or as lost                                            */
    CV_ACTION_RETRY_START, /* queue the complete piece for another start                */
    CV_ACTION_PUT_BACK,    /* return the piece of an open chunk to the source           */
    CV_ACTION_ACCEPT,
    CV_ACTION_REJECT, /* give the chunk up because of its output                        */
    CV_ACTION_FAIL,   /* decide about the failure */
    CV_ACTION_LOSE,   /* the chunk is left again, or is poison                          */
    CV_ACTION_POSTPONE, /* the chunk is left again                                      */
};

struct cv_attempt {
    struct cv_slot slot; /* first; slot.worker runs it                                  */
    enum cv_attempt_state state;
    struct cv_chunk chunk;
    double runs_s;  /* start of this attempt                                            */
    double bound_s; /* open chunks: when the command was given its first byte           */
    double start_s; /* seconds until the command read its first byte; 0: unknown        */
    double output;  /* bytes of its output, once the command has ended                  */
    double due;     /* bytes of the outstanding extension; 0: none is                   */
    struct cv_unread_input unread;  /* input that the command may still be working on */
    struct cv_content_hash content; /* files of a journaled item at its start */
    struct cv_piece tail;           /* being recalled, until the host answers           */
    struct cv_attempt *twin; /* runs the same chunk; NULL: none does                    */
    bool beaten; /* its twin was done first: nothing comes of it, but it has the piece  */
};

/* Note the event and return the reaction. The event must be possible in its state. */
enum cv_attempt_action cv_attempt_step(struct cv_attempt *attempt,
                                       enum cv_attempt_event event);
/* Whether the table has the event in this state. */
bool cv_attempt_can(enum cv_attempt_state state, enum cv_attempt_event event);

/* The attempts of one worker. */
struct cv_worker_attempts {
    struct cv_attempt *items; /* owned                                                  */
    uint32_t count;
    uint32_t max; /* in use at a time; one more while an open chunk awaits an order */
};

/* One for each worker; none before chunks are handed out. */
struct cv_attempt_table {
    struct cv_worker_attempts *items; /* owned                                          */
    uint32_t count;
};

enum cleave_status cv_attempt_table_init(struct cv_attempt_table *table,
                                         uint32_t nworkers, struct cleave_error *err);
/* Kills running commands. */
void cv_attempt_table_done(struct cv_attempt_table *table);
/* Give a worker without attempts in use `count` attempts, all zero. */
enum cleave_status cv_worker_attempts_set(struct cv_worker_attempts *worker,
                                          uint32_t count, struct cleave_error *err);

/* The attempt that the slot is part of. */
struct cv_attempt *cv_attempt_of(struct cv_slot *slot);
/* Whether later orders may extend the chunk, or its open input is being worked on. */
bool cv_attempt_is_open(const struct cv_attempt *attempt);
/* Whether CV_EVENT_CLOSE or CV_EVENT_CLOSE_DUE was noted. */
bool cv_attempt_is_closed(const struct cv_attempt *attempt);
/* Whether it has a command. */
bool cv_attempt_is_running(const struct cv_attempt *attempt);
/* Bytes of the piece. */
double cv_attempt_units(const struct cv_attempt *attempt);
/* Whether the piece has no bytes. */
bool cv_attempt_is_empty(const struct cv_attempt *attempt);
/* Whether an open chunk can do nothing before the next order, and no answer is expected. */
bool cv_attempt_awaits_order(const struct cv_attempt *attempt);

bool cv_attempt_table_is_busy(const struct cv_attempt_table *table, uint32_t worker);
/* The open attempt of the worker, or NULL. */
struct cv_attempt *cv_attempt_table_find_open(const struct cv_attempt_table *table,
                                              uint32_t worker);
/* A free attempt of the worker, or NULL; `extra` ignores the limit of attempts in use. */
struct cv_attempt *cv_attempt_table_find_free(const struct cv_attempt_table *table,
                                              uint32_t worker);
struct cv_attempt *cv_attempt_table_find_extra(const struct cv_attempt_table *table,
                                               uint32_t worker);
/* The newest chunk that the policy ordered for the worker and that it runs, or NULL. */
struct cv_attempt *cv_attempt_table_find_last(const struct cv_attempt_table *table,
                                              uint32_t worker);

/* Bytes of running attempts that their commands have read. On hosts, and for the last pipe
 * full elsewhere, this is estimated from the rate of the worker. */
double cv_attempt_table_read_bytes(const struct cv_attempt_table *table,
                                   const struct cv_worker_pool *pool, double now_s);
double cv_worker_read_bytes(const struct cv_attempt_table *table,
                            const struct cv_worker_pool *pool, uint32_t worker,
                            double now_s);
/* Start of the oldest running chunk of the worker; NAN: none is running. */
double cv_attempt_table_oldest_start_s(const struct cv_attempt_table *table,
                                       uint32_t worker);

/* Stop all running commands. */
void cv_attempt_table_stop(struct cv_attempt_table *table);
/* Let persistent commands end. Returns whether all have. With `stay`, idle ones may stay. */
bool cv_attempt_table_drain(struct cv_attempt_table *table, bool stay);
/* Kill running commands, except for idle persistent ones. */
void cv_attempt_table_kill(struct cv_attempt_table *table);

#endif
