/* result_sink.h -- where the outputs of chunks go. SPDX-License-Identifier: MIT
 *
 * There are three kinds: outputs are written as they are (result_sink.c), folded by
 * commands on this machine (result_sink.c), or kept by the hosts that made them and folded
 * there (result_sink_remote.c). Nobody else knows which it is. */
#ifndef CV_RESULT_SINK_H
#define CV_RESULT_SINK_H
#include "run/fold/fold.h"
#include "run/master/attempts.h"
#include "run/master/order_queue.h"
#include "run/master/worker_pool.h"

struct cv_result_sink;

/* What is NULL does nothing, or has nothing to do. */
struct cv_result_sink_kind {
    enum cleave_status (*add)(struct cv_result_sink *results,
                              struct cv_chunk_output *store, const struct cv_piece *piece,
                              const struct cv_slot *maker, struct cleave_error *err);
    enum cleave_status (*skip)(struct cv_result_sink *results, uint64_t begin,
                               uint64_t end, struct cleave_error *err);
    enum cleave_status (*first)(struct cv_result_sink *results, uint32_t worker,
                                bool *out, struct cleave_error *err);
    enum cleave_status (*work)(struct cv_result_sink *results, struct cleave_error *err);
    uint32_t (*busy)(const struct cv_result_sink *results);
    void (*stop)(struct cv_result_sink *results);
    enum cleave_status (*status)(struct cv_result_sink *results, bool *out_command,
                                 struct cleave_error *err);
    enum cleave_status (*relieve)(struct cv_result_sink *results, bool *out_done,
                                  struct cleave_error *err);
    enum cleave_status (*settle)(struct cv_result_sink *results, bool *out_done,
                                 struct cleave_error *err);
    struct cv_fold_counts (*counts)(const struct cv_result_sink *results);
    uint64_t (*covered)(const struct cv_result_sink *results);
    void (*free)(struct cv_result_sink *results);
};

/* The first member of each kind's own struct. */
struct cv_result_sink {
    const struct cv_result_sink_kind *kind;
    bool may_lose; /* what was added, so that its piece has to be done again: the source
                    * must not forget it */
};

/* All is borrowed. */
struct cv_result_sink_options {
    const struct cleave_execution *request;
    struct cv_poller *poller;
    struct cv_ordered_output
        *outputs; /* `separate` if cv_result_sink_separate says so              */
    struct cv_worker_pool *pool;
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_fold_log *log; /* folds that were made; NULL: nobody wants to know        */
    struct cv_start_limiter
        *limiter; /* of this machine                                         */
};

/* Open the kind that was asked for; the staff is there (result_sink.c). */
enum cleave_status cv_result_sink_open(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);
/* Whether results are folded where they were made. */
bool cv_result_sink_apart(const struct cleave_execution *request);
/* How many commands fold at a time; 0: none does. */
uint32_t cv_result_sink_folders(const struct cv_worker_pool *pool,
                                const struct cleave_execution *request);
/* Whether each output has to be a file of its own. */
bool cv_result_sink_separate(const struct cleave_execution *request);
/* Kills what is running; may be NULL, as in the next. */
void cv_result_sink_free(struct cv_result_sink *results);
/* Commands that were started, and how many of them because one before had failed. */
struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *results);

/* The store is the whole output of the piece, and not the caller's any more. `maker` is
 * the slot that made it; NULL: an earlier run. */
enum cleave_status cv_result_sink_add(struct cv_result_sink *results,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err);
/* None will come for bytes [begin, end) of the input. */
enum cleave_status cv_result_sink_skip(struct cv_result_sink *results, uint64_t begin,
                                       uint64_t end, struct cleave_error *err);

/* --- while chunks run --------------------------------------------------------------------- */

/* Whether the worker has to fold before it begins its next chunk; it is let to. */
enum cleave_status cv_result_sink_first(struct cv_result_sink *results, uint32_t worker,
                                        bool *out, struct cleave_error *err);
/* Let all workers fold that have nothing else to do. */
enum cleave_status cv_result_sink_work(struct cv_result_sink *results,
                                       struct cleave_error *err);
/* How many commands fold that are waited for; 0: none. */
uint32_t cv_result_sink_busy(const struct cv_result_sink *results);
/* Ask what runs to end; start nothing more. */
void cv_result_sink_stop(struct cv_result_sink *results);
/* See to what was lost. Fails once folding has; *out_command says whether it was the
 * command. */
enum cleave_status cv_result_sink_status(struct cv_result_sink *results,
                                         bool *out_command, struct cleave_error *err);

/* --- while none runs ---------------------------------------------------------------------- */

/* Go on until there is room for more outputs; or until the result is with the gather. If
 * *out_done is false, let the poller wait, look at the status, and call again. */
enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *results,
                                              bool *out_done, struct cleave_error *err);
enum cleave_status cv_result_sink_finish(struct cv_result_sink *results, bool *out_done,
                                         struct cleave_error *err);
/* Once it is: fails if the result is not that of `bytes` bytes of the input. */
enum cleave_status cv_result_sink_check(const struct cv_result_sink *results,
                                        uint64_t bytes, struct cleave_error *err);

/* Outputs are written as they are, in the order of the input unless that was not asked
 * for. */
enum cleave_status cv_result_sink_plain(const struct cv_result_sink_options *options,
                                        struct cv_result_sink **out,
                                        struct cleave_error *err);

/* They stay with the hosts, which are ready, and are folded there.
 *
 * The master only decides who folds what (engine/fold_plan.h); partials go from host to
 * host, and the last one comes here, while chunks are still handed out: what is kept by a
 * host that is lost, be it the result, is computed again. */
enum cleave_status cv_result_sink_kept(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);
/* Whether they can: hosts must be able to reach each other, and nothing else must need the
 * outputs. */
bool cv_result_sink_kept_possible(const struct cleave_execution *request);

#endif
