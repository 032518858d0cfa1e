/* exec_run.h -- the run itself: what was asked for, and its parts.
 * SPDX-License-Identifier: MIT
 *
 * Made by cleave_execute. Who works (worker_pool.h), what is owed (order_queue.h), what is under way
 * (attempts.h), where outputs go (result_sink.h) and what the driver is to be told (order_queue.h) know
 * nothing of it. */
#ifndef CV_EXEC_RUN_H
#define CV_EXEC_RUN_H
#include <cleave/execute.h>
#include "run/common/median.h"
#include "run/common/slow_stream.h"
#include "run/common/start_limiter.h"
#include "run/failures/retry_queue.h"
#include "run/fold/fold_log.h"
#include "run/master/attempts.h"
#include "engine/engine.h"
#include "run/master/order_queue.h"
#include "run/master/result_sink.h"
#include "run/master/worker_pool.h"

enum {
    CV_FAILURES_TOLD = 10, /* of each kind             */
    CV_FAILURE_KINDS = 8,  /* the last is for the rest */
    CV_FAILURE_TEXT = 160,
    CV_BAD_KEPT = 10000,
};

/* All zero at first. */
struct cv_failure_notes {
    struct {
        char how[CV_FAILURE_TEXT]; /* behind "the command" */
        uint64_t count;
    } kinds[CV_FAILURE_KINDS];
    size_t nkinds;
    /* What failed when it could not be parted any more; the first ones. */
    struct cv_bad_records {
        uint64_t begin, end, first, count; /* addresses; records of the file, from 1   */
    } * bad;                               /* owned */
    size_t nbad, bad_room;
};

struct cv_exec_run {
    const struct cleave_execution
        *request;             /* borrowed                                  */
    struct cv_poller *poller; /* owned by cleave_execute, as all below     */
    struct cv_ordered_output *outputs;
    struct cv_result_sink *results;
    struct cv_worker_pool pool;
    struct cv_order_queue queue;
    struct cv_poison_tracker poison;
    struct cv_attempt_table table;
    size_t
        small_write; /* of open chunks: what a command that is slow is fed at a time; 0: a page */
    bool stay; /* commands that stay do so when the input ends, for the next one        */
    struct cv_event_queue events;
    struct cv_median taken; /* by commands of items that succeeded                     */
    struct cv_start_limiter
        limiter; /* of this machine                                            */
    struct cv_slow_stream slow;
    struct cv_fold_log folds;
    struct cv_failure_notes failures;
    struct cv_bisect_groups families;
    uint64_t memory_kills; /* of all that runs here, when that was last asked          */
    struct cv_retry_queue agains;    /* what failed and is to be done again            */
    struct cv_candidate *candidates; /* room for all workers                           */
    /* What ends it early: */
    int stopped_by; /* a signal; 0: none                                               */
    bool stopping;  /* what is under way was asked to end for it                       */
    bool halted, output_closed;
    bool hopeless; /* halted, since nothing has succeeded but what begins a file       */
    /* Chunks that begin a file, and those that do not: where only the first succeed and only
     * the others fail, it is likely a header that these lack. */
    bool start_failed, middle_succeeded;
    bool reduce_failed; /* the command that reduces did, for good                      */
    bool rehost;        /* the hosts are to be asked for again                         */
    bool held;          /* it was said that children of a command hold it up           */
};

/* See to what stops a run before its end. Fails when it is to end now: what is under way
 * is asked to end first, and waited for. */
enum cleave_status cv_exec_run_check(struct cv_exec_run *run, struct cleave_error *err);

/* How writing went so far: CLEAVE_ECLOSED, and output_closed, if nobody reads any more. */
enum cleave_status cv_exec_run_written(struct cv_exec_run *run, struct cleave_error *err);

/* Whether commands that stay have ended, which they are let, or may stay. */
bool cv_exec_run_left(struct cv_exec_run *run);

/* While no chunk runs: fold until there is room for more outputs; or all, so that the
 * result is with the gather. */
enum cleave_status cv_exec_run_relieve(struct cv_exec_run *run, struct cleave_error *err);
enum cleave_status cv_exec_run_settle(struct cv_exec_run *run, struct cleave_error *err);
/* At the end of a run that succeeded: fails with CLEAVE_EACCOUNT if bytes of the input were
 * neither done nor failed, or twice, or if the output is not that of all of them. It would
 * be a mistake in here, and must not look like success. */
enum cleave_status cv_exec_run_complete(const struct cv_exec_run *run,
                                        struct cleave_error *err);

/* Seconds between two looks. */
#define CV_LOOK_S 0.1

/* Tell the listener, if there is one and the last look, *shown_s, is long ago. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s);

/* Let the gate of a run see what is under way, and say why commands wait. */
void cv_resource_wait_watch(struct cv_exec_run *run);

/* Whether there are descriptors for the command of a slot: CLEAVE_ERESOURCES if not. */
enum cleave_status cv_resource_wait_look(struct cv_exec_run *run,
                                         const struct cv_slot *slot,
                                         struct cleave_error *err);
/* It could not be started, as `why` says: whether it is to be started later, as there may be room
 * for it then. */
bool cv_resource_wait_wait(struct cv_exec_run *run, const struct cv_slot *slot,
                           const struct cleave_error *why);

/* --- chunk_orders.c ---------------------------------------------------------------------- */

/* The worker is to do about so many bytes; it begins if it can. */
enum cleave_status cv_orders_send(struct cv_exec_run *run, uint32_t worker, double units,
                                  struct cleave_error *err);
/* The worker is to do this item. */
enum cleave_status cv_orders_item(struct cv_exec_run *run, uint32_t worker, uint64_t item,
                                  struct cleave_error *err);
/* The same for a chunk to which more may be added; it may begin with nothing. */
enum cleave_status cv_orders_open(struct cv_exec_run *run, uint32_t worker, double units,
                                  struct cleave_error *err);
/* Begin what can be begun. */
enum cleave_status cv_orders_begin(struct cv_exec_run *run, struct cleave_error *err);
/* The policy has heard all there is: if nobody does anything now, try a chunk that is to be
 * tried alone. */
enum cleave_status cv_orders_alone(struct cv_exec_run *run, struct cleave_error *err);

/* Give a worker the desk it needs, on this machine or on another; the run may have had it
 * for a place of nobody. */
enum cleave_status cv_chunks_bind_slot(struct cv_exec_run *run, uint32_t worker,
                                       struct cleave_error *err);

/* --- open_chunks.c ----------------------------------------------------------------- */

/* Give the open chunk of the worker up to so many bytes more, as soon as they are there; the
 * driver is told how many it were. Nothing is told of a chunk that has ended meanwhile. */
enum cleave_status cv_open_chunks_extend(struct cv_exec_run *run, uint32_t worker,
                                         double units, struct cleave_error *err);
/* Begin it, perhaps long after it was ordered, and orders about it as well. It has been told, which
 * is taken back if there is no room for its command: then it is an order as before. */
enum cleave_status cv_open_chunks_begin(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* Carry out CV_ACTION_PUT_BACK: to the policy it is a recall of everything. */
enum cleave_status cv_open_chunks_put_back(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err);
/* Carry out CV_ACTION_DROP or CV_ACTION_DROP_LOST. */
void cv_open_chunks_drop(struct cv_exec_run *run, struct cv_attempt *attempt, bool lost);
/* Nothing more is added to it. */
void cv_open_chunks_close(struct cv_exec_run *run, uint32_t worker);
/* Tell how far a worker is with its chunk, open or not. */
void cv_open_chunks_look(struct cv_exec_run *run, uint32_t worker);

/* What there is for an open chunk that could begin with up to so many bytes. */
struct cv_incoming cv_open_chunks_incoming(const struct cv_exec_run *run,
                                           uint64_t wanted);
/* The first piece of an open chunk: as cv_source_take, but less will do. */
enum cleave_status cv_open_chunks_take(const struct cv_exec_run *run, uint64_t wanted,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err);
/* Add what has come since. */
enum cleave_status cv_open_chunks_grow(struct cv_exec_run *run, struct cleave_error *err);
/* The run is to end: close them all; its host is to go: close that of the worker. */
void cv_open_chunks_end(struct cv_exec_run *run);
void cv_open_chunks_end_one(struct cv_exec_run *run, uint32_t worker);
/* Whether the worker has an open chunk that waits for an order; who knows when it comes. */
bool cv_open_chunks_awaits_order(const struct cv_exec_run *run, uint32_t worker);
/* Something else is to be done by the worker that has such a chunk. Here, commands can run side
 * by side; on another machine one does after the other, so that one without bytes is started
 * again when it has some, and one that has some ends with them. */
void cv_open_chunks_yield_slot(struct cv_exec_run *run, uint32_t worker);
/* Let commands of this machine end that wait for an order. */
void cv_open_chunks_make_room(struct cv_exec_run *run);
/* Whether chunks are under way, and all of them wait for an order. */
bool cv_open_chunks_wait(const struct cv_exec_run *run);

/* The chunk has ended: forget what was to be added. */
void cv_open_chunks_over(struct cv_exec_run *run, struct cv_attempt *attempt);
/* Fit `began`, `drained` and `seen` of a slot, with the run as context. */
void cv_open_chunks_began(void *context, struct cv_slot *slot);
void cv_open_chunks_drained(void *context, struct cv_slot *slot);
void cv_open_chunks_seen(void *context, struct cv_slot *slot,
                         const struct cv_slot_seen *seen);

/* Take it from the end of what the worker has, up to so many bytes; the driver is told how
 * many it were. */
enum cleave_status cv_recall(struct cv_exec_run *run, uint32_t worker, double units,
                             struct cleave_error *err);
/* The command of an open piece has failed. What it had not been given is nobody's again: others
 * do not try it together with what may be the reason. */
enum cleave_status cv_recall_unread(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    struct cleave_error *err);
/* The same of one that was lost with its host, and what was not sent there. */
enum cleave_status cv_recall_untransferred(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err);
/* Fits `cut_answered` of a slot, with the run as context. */
void cv_recall_answered(void *context, struct cv_slot *slot, bool done);

/* --- chunk_lifecycle.c ------------------------------------------------------------- */

/* The run hears all that the slot has to tell. */
void cv_chunks_listen(struct cv_exec_run *run, struct cv_slot *slot);

/* --- chunk_failure.c --------------------------------------------------------------- */

/* Begin to count who fails. */
enum cleave_status cv_chunk_trust(struct cv_exec_run *run, struct cleave_error *err);

enum cv_failure_action {
    CV_FAILURE_REQUEUE, /* it was stopped                                               */
    CV_FAILURE_RETRY,   /* it is tried once more                                        */
    CV_FAILURE_BISECT,  /* it becomes two, each for itself                              */
    CV_FAILURE_GIVE_UP, /* it is given up                                               */
};

struct cv_failure_decision {
    enum cv_failure_action verdict;
    struct cv_piece head, tail; /* the halves                                          */
    bool single;                /* it is one record, as far as that was looked at      */
};

/* A command has failed, or was stopped: what becomes of its chunk. To be asked once. */
enum cleave_status cv_chunk_decide_failure(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           enum cv_slot_end end,
                                           struct cv_failure_decision *out,
                                           struct cleave_error *err);
/* Do so; a chunk that is over may halt the run, and the caller tells it. */
enum cleave_status cv_chunk_failed(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   const struct cv_failure_decision *sentence,
                                   struct cleave_error *err);
/* Put it among those that are to be done again, before all that is new. */
enum cleave_status cv_chunk_again(struct cv_exec_run *run,
                                  const struct cv_attempt *attempt,
                                  struct cleave_error *err);

/* It was lost with so many hosts, and is given up: the chunk is over. */
enum cleave_status cv_chunk_poisoned(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     uint32_t hosts, struct cleave_error *err);

/* It is to be done again after some of its output was written (`early`): that is kept, for another
 * one has to begin with it. */
void cv_chunk_keep_written_prefix(struct cv_attempt *attempt);
/* It was lost with its host, and lines of it have been written: it is given up, and is over. */
enum cleave_status cv_chunk_output_truncated(struct cv_exec_run *run,
                                             struct cv_attempt *attempt,
                                             struct cleave_error *err);

/* It was done again, and what was written of it before is not how its output begins: it is given
 * up, and is over. */
enum cleave_status cv_chunk_output_mismatch(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err);

/* One has not failed: perhaps that is all that was wanted. */
void cv_chunk_succeeded(struct cv_exec_run *run);

/* The command of a chunk could not be started, as `why` says: the chunk, which is whole, is tried
 * again, before anything new. false: that is of no use any more. */
bool cv_chunk_put_off(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cleave_error *why);

/* --- run_notes.c ---------------------------------------------------------------------- */

void cv_failure_notes_done(struct cv_failure_notes *notes);

/* The run is over: tell what was only counted. */
void cv_note_failures_end(const struct cv_failure_notes *notes,
                          const struct cleave_execution *request);

/* One attempt of the worker has ended, perhaps the last one; its output is with the slot. */
void cv_attempt_report(const struct cleave_execution *request, const char *worker,
                       const struct cv_attempt *attempt, enum cv_slot_end end,
                       bool given_up);

/* A command that stays does not answer its first chunk. */
void cv_note_silent(const struct cleave_execution *request, const char *worker);
/* A command has ended, but others hold its output. */
void cv_note_held(const struct cleave_execution *request, const char *worker);
/* That there is no room for another command, and why. */
void cv_note_crowded(const struct cleave_execution *request, const char *why);
/* Something of an input was changed, perhaps its bytes. */
void cv_note_touched(const struct cleave_execution *request, const char *name);
/* A command that stayed has ended after its last chunk, and not well. */
void cv_note_bad_end(const struct cleave_execution *request, const char *worker,
                     const struct cv_slot *slot);

void cv_note_rests(const struct cleave_execution *request,
                   const struct cv_worker_pool *pool);

/* Remember the records of a piece that is given up. */
enum cleave_status cv_note_bad(struct cv_failure_notes *notes, struct cv_source *source,
                               const struct cv_piece *piece, struct cleave_error *err);
/* A chunk is given up. */
void cv_note_failure(struct cv_failure_notes *notes,
                     const struct cleave_execution *request, struct cv_source *source,
                     const struct cv_attempt *attempt);
/* A party is left out, since others did what it failed with; at the end, who has rested. */
void cv_note_worker_excluded(const struct cleave_execution *request, const char *name,
                             const struct cv_health_record *standing);

/* --- exec_engine.c ----------------------------------------------------------------- */

/* Its `source` is a struct cv_exec_run, whose poller, gather, source and staff are there. */
extern const struct cv_engine cv_engine_exec;

#endif
