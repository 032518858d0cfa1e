/* exec_run.h -- state of one run, and the functions that the files of this directory
 * share. SPDX-License-Identifier: MIT
 *
 * Its parts (worker_pool.h, order_queue.h, attempts.h, result_sink.h) do not depend on
 * it. */
#ifndef CV_EXEC_RUN_H
#define CV_EXEC_RUN_H
#include <cleave/execute.h>
#include "base/fail.h"
#include "run/common/time_fit.h"
#include "run/common/start_limiter.h"
#include "run/failures/retry_queue.h"
#include "run/fold/fold.h"
#include "run/master/attempts.h"
#include "engine/engine.h"
#include "engine/rate.h"
#include "run/master/order_queue.h"
#include "run/master/result_sink.h"
#include "run/master/worker_pool.h"

enum {
    CV_FAILURES_TOLD = 10, /* notes of each kind */
    CV_FAILURE_KINDS = 8,  /* the last one is for all others */
    CV_FAILURE_TEXT = 160,
    CV_BAD_KEPT = 10000,
};

/* All zero at first. */
struct cv_failure_notes {
    struct {
        char how[CV_FAILURE_TEXT]; /* how the command ended: "exited with status 1" */
        uint64_t count;
    } kinds[CV_FAILURE_KINDS];
    size_t nkinds;
    /* Records that failed and could not be split further; the first CV_BAD_KEPT. */
    struct cv_bad_records {
        /* addresses; number of the first record in its file, from 1 */
        uint64_t begin, end, first, count;
    } * bad; /* owned */
    size_t nbad, bad_room;
};

/* Keys of the items and records that commands have. All zero: nothing is running. */
struct cv_key_limits {
    uint64_t *item; /* owned: keys of an item, one for each limit */
    /* The running pieces, for which `uses` holds. */
    struct cv_range *pieces; /* owned */
    size_t npieces, room;
    /* A hash table of a power of two of slots, at most half of them used. */
    struct cv_key_use {
        uint64_t key; /* 0: the slot is free */
        uint32_t chunks;
        uint32_t last; /* index in `pieces` of the last chunk that was counted, from 1 */
    } * uses;          /* owned */
    size_t nslots, nkeys;
};

/* A group of workers that share a rate: how much they may start. */
struct cv_rate_group {
    struct cv_rate rate;
    bool by_weight;
    double least;   /* amount of the smallest piece */
    double started; /* sum of all starts */
    double units;   /* of these */
};

/* A worker of a group. */
struct cv_rate_member {
    struct cv_rate_group *group; /* NULL: the worker has no rate */
    bool waits;                  /* the worker rests until its group may start again */
    bool holds;                  /* `done` is kept back */
    struct cleave_event done;
};

/* All zero: no worker has a rate. */
struct cv_start_rates {
    struct cv_rate_group *groups; /* owned */
    size_t ngroups;
    struct cv_rate_member *members; /* owned: per worker; NULL: no worker has a rate */
    uint32_t held;                  /* events that are kept back */
};

struct cv_exec_run {
    const struct cleave_execution *request; /* borrowed */
    struct cv_poller *poller;               /* owned by cleave_execute, like all below */
    struct cv_ordered_output *outputs;
    struct cv_result_sink *results;
    struct cv_worker_pool pool;
    struct cv_order_queue queue;
    struct cv_poison_tracker poison;
    struct cv_attempt_table table;
    size_t small_write; /* bytes that a slow command is fed at a time; 0: a page */
    bool stay;          /* persistent commands stay for the next input */
    struct cv_event_queue events;
    struct cv_median taken;          /* seconds of items that succeeded */
    struct cv_start_limiter limiter; /* starts of commands on this machine */
    struct cv_start_rates rates;
    struct cv_key_limits limits;
    struct cv_slow_stream slow;
    struct cv_fold_log folds;
    struct cv_failure_notes failures;
    struct cv_bisect_group *families; /* owned: list */
    uint64_t memory_kills;            /* of this control group, at the last look */
    struct cv_retry_queue agains;     /* pieces to run again */
    struct cv_candidates candidates;  /* for `agains`; owned */
    /* Reasons to end early: */
    int stopped_by; /* signal number; 0: none */
    bool stopping;  /* running commands were asked to end */
    bool halted, output_closed;
    bool written; /* the output is complete in the sink */
    /* halted because every chunk, or every chunk but the first of a file, failed */
    bool hopeless;
    bool unfit; /* halted because no host can run the command */
    /* If only chunks at the start of a file succeed and only others fail, the command
     * probably needs the header. */
    bool start_failed, middle_succeeded;
    bool reduce_failed; /* the command of reduce.command failed permanently */
    bool rehost;        /* ask for the list of hosts again */
    bool held;          /* the note about children that hold a pipe was printed */
};

/* Check the reasons to end before the input is done. Fails when the run has to end
 * now, after running commands were stopped and have ended. */
enum cleave_status cv_exec_run_check(struct cv_exec_run *run, struct cleave_error *err);

/* Status of the output: CLEAVE_ECLOSED, with output_closed set, if its reader is gone. */
enum cleave_status cv_exec_run_written(struct cv_exec_run *run, struct cleave_error *err);

/* Whether persistent commands have ended, or may stay. */
bool cv_exec_run_left(struct cv_exec_run *run);

/* Without running chunks: fold until there is memory for more outputs, or until one
 * result is left. */
enum cleave_status cv_exec_run_relieve(struct cv_exec_run *run, struct cleave_error *err);
enum cleave_status cv_exec_run_settle(struct cv_exec_run *run, struct cleave_error *err);
/* At the end of a successful run: fails with CLEAVE_EACCOUNT if a byte of the input
 * was not processed exactly once, or if the output does not cover them. That would be
 * a defect of cleave. */
enum cleave_status cv_exec_run_complete(const struct cv_exec_run *run,
                                        struct cleave_error *err);

/* Whether other machines take part in the run, or may join it. */
bool cv_may_have_hosts(const struct cleave_execution *request);

/* Seconds between two reports of progress. */
#define CV_LOOK_S 0.1

/* Report progress to the listener if the last report, at *shown_s, is old enough. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s);

/* Let the start limiter see what is running, and print why commands wait. */
void cv_resource_wait_watch(struct cv_exec_run *run);

/* CLEAVE_ERESOURCES if there are too few descriptors for the command of the slot. */
enum cleave_status cv_resource_wait_look(struct cv_exec_run *run,
                                         const struct cv_slot *slot,
                                         struct cleave_error *err);
/* The command could not be started, for the reason `why`. Returns whether it can be
 * started later. */
bool cv_resource_wait_wait(struct cv_exec_run *run, const struct cv_slot *slot,
                           const struct cleave_error *why);

/* --- chunk_orders.c ---------------------------------------------------------------------- */

/* cv_order_queue_order, and begin the order at once if possible. */
enum cleave_status cv_orders_add(struct cv_exec_run *run, uint32_t worker,
                                 enum cv_order_kind kind, double units, uint64_t item,
                                 struct cleave_error *err);
/* Let `worker` run the chunk of `peer` as well. If that is not possible now, nothing
 * happens but CLEAVE_DROPPED. */
enum cleave_status cv_orders_copy(struct cv_exec_run *run, uint32_t worker, uint32_t peer,
                                  struct cleave_error *err);
/* Begin pending orders and retries as far as possible. */
enum cleave_status cv_orders_begin(struct cv_exec_run *run, struct cleave_error *err);
/* All events were delivered: if nothing is running, retry a chunk that has to run
 * alone. */
enum cleave_status cv_orders_alone(struct cv_exec_run *run, struct cleave_error *err);

/* Set up the attempts and slots of a worker, here or on a host that has joined. */
enum cleave_status cv_chunks_bind_slot(struct cv_exec_run *run, uint32_t worker,
                                       struct cleave_error *err);

/* --- open_chunks.c ----------------------------------------------------------------- */

/* Extend the open chunk of the worker by up to `units` bytes when they are available;
 * CLEAVE_EXTENDED reports how many. A chunk that has ended gets no event. */
enum cleave_status cv_open_chunks_extend(struct cv_exec_run *run, uint32_t worker,
                                         double units, struct cleave_error *err);
/* Begin an open chunk, and apply the orders that came before it was begun. CLEAVE_SENT
 * was pushed; it is removed if the command cannot be started now, and the chunk
 * becomes a pending order again. */
enum cleave_status cv_open_chunks_begin(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        const struct cv_pending_order *pending,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* Carry out CV_ACTION_PUT_BACK: the policy gets a recall of everything. */
enum cleave_status cv_open_chunks_put_back(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err);
/* Carry out CV_ACTION_DROP or CV_ACTION_DROP_LOST. */
void cv_open_chunks_drop(struct cv_exec_run *run, struct cv_attempt *attempt, bool lost);
/* No other order will extend the open chunk of the worker. */
void cv_open_chunks_close(struct cv_exec_run *run, uint32_t worker);
/* Take back what the command was not fed, and close the chunk. */
enum cleave_status cv_open_chunks_finish(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         struct cleave_error *err);
/* Report how much of its chunk the worker has read. */
void cv_open_chunks_look(struct cv_exec_run *run, uint32_t worker);

/* State of the input for an open chunk that wants up to `wanted` bytes. */
struct cv_incoming cv_open_chunks_incoming(const struct cv_exec_run *run,
                                           uint64_t wanted);
/* Take the first piece of an open chunk; unlike cv_source_take it may be shorter than
 * `wanted`. */
enum cleave_status cv_open_chunks_take(const struct cv_exec_run *run, uint64_t wanted,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err);
/* Add input that has arrived to the chunks that wait for an extension. */
enum cleave_status cv_open_chunks_grow(struct cv_exec_run *run, struct cleave_error *err);
/* Close all open chunks, or the one of a worker, because the run or its host is about
 * to end. */
void cv_open_chunks_end(struct cv_exec_run *run);
void cv_open_chunks_end_one(struct cv_exec_run *run, uint32_t worker);
/* Whether the worker has an open chunk that can do nothing before the next order. */
bool cv_open_chunks_awaits_order(const struct cv_exec_run *run, uint32_t worker);
/* Free the worker of such a chunk for other work. Commands of this machine can run
 * side by side. A host runs one after the other: an empty chunk becomes dormant,
 * another one is closed. */
void cv_open_chunks_yield_slot(struct cv_exec_run *run, uint32_t worker);
/* End commands of this machine that wait for an order, so that others can start. */
void cv_open_chunks_make_room(struct cv_exec_run *run);
/* Whether chunks are open and none of them can do anything before the next order. */
bool cv_open_chunks_wait(const struct cv_exec_run *run);

/* Release what an ended chunk had reserved. */
void cv_open_chunks_over(struct cv_exec_run *run, struct cv_attempt *attempt);
/* Callbacks of a slot; the context is the run. */
void cv_open_chunks_began(void *context, struct cv_slot *slot);
void cv_open_chunks_drained(void *context, struct cv_slot *slot);
void cv_open_chunks_seen(void *context, struct cv_slot *slot,
                         const struct cv_slot_seen *seen);

/* Take back up to `units` bytes from the end of the newest chunk of the worker;
 * CLEAVE_RECALLED reports how many. */
enum cleave_status cv_recall(struct cv_exec_run *run, uint32_t worker, double units,
                             struct cleave_error *err);
/* The command of an open chunk failed: put back what it was not given, so that a retry
 * does not include it. */
enum cleave_status cv_recall_unread(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    struct cleave_error *err);
/* The host of an open chunk was lost: put back what was not sent to it. */
enum cleave_status cv_recall_untransferred(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err);
/* Callback of a slot (`cut_answered`); the context is the run. */
void cv_recall_answered(void *context, struct cv_slot *slot, bool done);

/* --- chunk_lifecycle.c ------------------------------------------------------------- */

/* Set the callbacks of the slot. */
void cv_chunks_listen(struct cv_exec_run *run, struct cv_slot *slot);

/* --- chunk_failure.c --------------------------------------------------------------- */

/* Begin to track the health of workers. */
enum cleave_status cv_chunk_trust(struct cv_exec_run *run, struct cleave_error *err);

/* The command failed or was stopped: retry the chunk, split it, put it back or give it up;
 * *out_over: it was given up, and the caller reports its end. May halt the run. */
enum cleave_status cv_chunk_failed(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   enum cv_slot_end end, bool *out_over,
                                   struct cleave_error *err);
/* The host was lost: put the chunk back, unless it is poison. */
enum cleave_status cv_chunk_lost(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 bool *out_given_up, struct cleave_error *err);
/* Give up a chunk whose output does not begin with what was written before. */
enum cleave_status cv_chunk_output_mismatch(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err);
/* Whether the command asks to be run later (failures.later). */
bool cv_chunk_asks_later(const struct cv_exec_run *run, const struct cv_slot *slot,
                         enum cv_slot_end end);
/* Its worker rests. */
void cv_chunk_rest(struct cv_exec_run *run, const struct cv_attempt *attempt);
/* The chunk is left again. */
enum cleave_status cv_chunk_postpone(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     struct cleave_error *err);
/* Count a success: failures.halt_on may halt the run. */
void cv_chunk_succeeded(struct cv_exec_run *run);

/* The command of a complete piece could not be started, for the reason `why`: queue
 * the chunk again. Returns false if that cannot help. */
bool cv_chunk_put_off(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cleave_error *why);

/* --- run_notes.c ---------------------------------------------------------------------- */

void cv_failure_notes_done(struct cv_failure_notes *notes);

/* Remember the records of a piece that is given up. */
enum cleave_status cv_note_bad(struct cv_exec_run *run, const struct cv_piece *piece,
                               struct cleave_error *err);
void cv_note_failure(struct cv_exec_run *run, const struct cv_attempt *attempt);
/* At the end of a run: print the failures that were only counted, and the workers that had
 * been in back-off. */
void cv_note_failures_end(const struct cv_exec_run *run);
void cv_note_rests(const struct cv_exec_run *run);
/* Report the end of an attempt to the listener; its output is still with the slot. */
void cv_attempt_report(const struct cv_exec_run *run, const struct cv_attempt *attempt,
                       enum cv_slot_end end, bool given_up);
/* Report the end to the policy, whether the command succeeded or not. */
void cv_chunk_tell_over(struct cv_exec_run *run, const struct cv_attempt *attempt);
/* Report to the policy that nothing comes of an attempt; NULL: it was not begun. */
void cv_chunk_tell_dropped(struct cv_exec_run *run, uint32_t worker,
                           const struct cv_attempt *attempt);
/* Seconds this attempt kept its worker busy, without earlier attempts and idle time. */
double cv_chunk_busy_s(const struct cv_attempt *attempt, double now_s);
/* Print a line for the user, of at most 600 bytes. */
void cv_note(const struct cleave_execution *request, const char *format, ...)
    CV_PRINTF(2, 3);

/* --- key_limits.c ------------------------------------------------------------------------ */

enum cleave_status cv_key_limits_open(struct cv_exec_run *run, struct cleave_error *err);
void cv_key_limits_done(struct cv_exec_run *run);
/* Whether the limits of all keys allow the start of a piece. */
bool cv_key_limits_allow(struct cv_exec_run *run, uint64_t begin, uint64_t end);
/* The first item that was not taken and may start; false: there is none. */
bool cv_key_limits_find(struct cv_exec_run *run, uint64_t *out);
/* Let the taker of a chunk take records that may start. False: the run has to end. */
bool cv_key_limits_filter(struct cv_exec_run *run, struct cv_taker *taker);

/* --- start_rates.c ----------------------------------------------------------------------- */

/* Keeps the starts of an earlier input. */
enum cleave_status cv_start_rates_open(struct cv_exec_run *run, struct cleave_error *err);
void cv_start_rates_done(struct cv_exec_run *run);
/* Whether the worker may start a piece now. If not, it rests until it may, unless its command has not
 * answered its first chunk yet. NULL: any piece. */
bool cv_start_rates_allow(struct cv_exec_run *run, uint32_t worker,
                          const struct cv_piece *piece);
/* Whether the worker has a rate. */
bool cv_start_rates_limit(const struct cv_exec_run *run, uint32_t worker);
/* Fails if no rate ever allows the worker to start the piece. */
enum cleave_status cv_start_rates_fit(const struct cv_exec_run *run, uint32_t worker,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err);
/* What the worker may start now, shared with the idle workers of its group: records or items, or
 * by_weight weights. INFINITY: there is no such rate. */
double cv_start_rates_share(struct cv_exec_run *run, uint32_t worker, bool by_weight);
/* The worker has started a piece; it asked to be run later. */
enum cleave_status cv_start_rates_count(struct cv_exec_run *run, uint32_t worker,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);
/* A piece has ended. The first one of a persistent command counts again, since the command may have
 * loaded for a long time before it read the piece. */
enum cleave_status cv_start_rates_answered(struct cv_exec_run *run, uint32_t worker,
                                           const struct cv_piece *piece,
                                           struct cleave_error *err);
void cv_start_rates_lower(struct cv_exec_run *run, uint32_t worker,
                          const struct cv_piece *piece);
/* Keep CLEAVE_DONE back until the worker may start again, so that the policy does not order for a
 * worker that cannot start. False: it may, or nothing is left to be ordered. */
bool cv_start_rates_hold(struct cv_exec_run *run, const struct cleave_event *done);
/* Push events that are kept back although nothing is left to be ordered, or the run ends. */
void cv_start_rates_release(struct cv_exec_run *run);
/* The rest of a worker has ended. Returns whether it has to rest again. */
bool cv_start_rates_rested(struct cv_exec_run *run, uint32_t worker);

/* --- exec_engine.c ----------------------------------------------------------------- */

/* Its `source` is a struct cv_exec_run whose poller, outputs, source and worker pool
 * are set up. */
extern const struct cv_engine cv_engine_exec;

#endif
