/* result_sink.h -- what happens to outputs of chunks. SPDX-License-Identifier: MIT
 *
 * Outputs are written; or folded by commands on this machine; or stay on the connected hosts,
 * are folded there, and what is left is fetched and folded here. For hosts the master only decides
 * the folds (engine/fold_plan.h). Partials are fetched while chunks are still handed out, so that
 * everything a lost host had can be computed again. */
#ifndef CV_RESULT_SINK_H
#define CV_RESULT_SINK_H
#include "run/fold/fold.h"
#include "run/master/attempts.h"
#include "run/master/order_queue.h"
#include "run/master/worker_pool.h"

struct cv_remote_fold;

/* `fold` is NULL if outputs are written. */
struct cv_result_sink {
    struct cv_ordered_output *outputs; /* borrowed, as the two below */
    const struct cv_attempt_table *table;
    const struct cv_worker_pool *pool;
    struct cv_remote_fold *kept; /* owned: outputs stay on hosts; NULL: none does */
    struct cv_fold *fold;        /* owned: folds on this machine */
    uint32_t nfolders;           /* workers that fold here */
    bool *folds_first; /* owned: for each worker: its next chunk waits for a fold */
};

/* Everything is borrowed. */
struct cv_result_sink_options {
    const struct cleave_execution *request;
    struct cv_poller *poller;
    struct cv_ordered_output *outputs; /* `separate` as cv_result_sink_separate returns */
    struct cv_worker_pool *pool;
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_fold_log *log;          /* folds that were made; NULL: not recorded */
    struct cv_start_limiter *limiter; /* starts of commands on this machine */
};

/* Open the requested kind; the worker pool is set up. */
enum cleave_status cv_result_sink_open(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);
/* Whether outputs are folded from host to host: nothing else needs them, and hosts can reach each
 * other. */
bool cv_result_sink_apart(const struct cleave_execution *request);
/* Number of commands that fold at a time; 0: no folds. */
uint32_t cv_result_sink_folders(const struct cv_worker_pool *pool,
                                const struct cleave_execution *request);
/* Whether each output has to be a separate file. */
bool cv_result_sink_separate(const struct cleave_execution *request);
/* Kills running folds; `results` may be NULL here and in the next. */
void cv_result_sink_free(struct cv_result_sink *results);
/* Folds that were started, and how many of them were retries. */
struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *results);
/* Estimated time that one more output takes where all are folded; 0: none, or unknown. */
double cv_result_sink_fold_s(const struct cv_result_sink *results);

/* Takes over `store`, the complete output of the piece. `maker` is its slot; NULL: an
 * earlier run. */
enum cleave_status cv_result_sink_add(struct cv_result_sink *results,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err);
/* No output will come for [begin, end). */
enum cleave_status cv_result_sink_skip(struct cv_result_sink *results, uint64_t begin,
                                       uint64_t end, struct cleave_error *err);

/* --- while chunks run --------------------------------------------------------------------- */

/* Whether the worker has to fold before its next chunk; the fold is started. */
enum cleave_status cv_result_sink_first(struct cv_result_sink *results, uint32_t worker,
                                        bool *out, struct cleave_error *err);
/* Let idle workers fold. */
enum cleave_status cv_result_sink_work(struct cv_result_sink *results,
                                       struct cleave_error *err);
/* Running folds that the end of a run has to wait for. */
uint32_t cv_result_sink_busy(const struct cv_result_sink *results);
/* Whether outputs are on the host. */
bool cv_result_sink_holds(const struct cv_result_sink *results,
                          const struct cv_host *host);
/* Stop running folds and start no others. */
void cv_result_sink_stop(struct cv_result_sink *results);
/* Handle losses. Fails after a fold has failed; *out_command: the command did. */
enum cleave_status cv_result_sink_status(struct cv_result_sink *results,
                                         bool *out_command, struct cleave_error *err);

/* --- while none runs ---------------------------------------------------------------------- */

/* Fold until there is memory for more outputs, or until the result is in the ordered
 * output. If *out_done is false, poll, check the status and call again. */
enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *results,
                                              bool *out_done, struct cleave_error *err);
enum cleave_status cv_result_sink_finish(struct cv_result_sink *results, bool *out_done,
                                         struct cleave_error *err);
/* Fails if the result does not cover `bytes` bytes of the input. */
enum cleave_status cv_result_sink_check(const struct cv_result_sink *results,
                                        uint64_t bytes, struct cleave_error *err);

#endif
