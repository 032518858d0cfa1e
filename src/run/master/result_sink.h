/* result_sink.h -- what happens to outputs of chunks. SPDX-License-Identifier: MIT
 *
 * There are three kinds: outputs are written (result_sink.c), folded by commands on this
 * machine (result_sink.c), or stay on the hosts that made them and are folded there
 * (result_sink_remote.c). The users of a sink do not depend on its kind. */
#ifndef CV_RESULT_SINK_H
#define CV_RESULT_SINK_H
#include "run/fold/fold.h"
#include "run/master/attempts.h"
#include "run/master/order_queue.h"
#include "run/master/worker_pool.h"

struct cv_result_sink;

/* A NULL function does nothing. */
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
    /* an output may be lost after it was added: the source has to keep its piece */
    bool may_lose;
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
/* Whether outputs stay on hosts and are folded there. */
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

/* Write outputs, in input order unless output.unordered is set. */
enum cleave_status cv_result_sink_plain(const struct cv_result_sink_options *options,
                                        struct cv_result_sink **out,
                                        struct cleave_error *err);

/* Outputs stay on the connected hosts and are folded there. The master only decides
 * the folds (engine/fold_plan.h); partials move between hosts, and the last one is
 * fetched while chunks are still handed out, so that everything a lost host had can be
 * computed again. */
enum cleave_status cv_result_sink_kept(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);
/* Whether this is possible: hosts can reach each other, and nothing else needs the
 * outputs. */
bool cv_result_sink_kept_possible(const struct cleave_execution *request);

#endif
