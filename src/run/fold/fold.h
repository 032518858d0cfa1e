/* fold.h -- fold partial results into one, by a command. SPDX-License-Identifier: MIT
 *
 * The rules are those of the dynamic reduction policies. Order kept (ordered-tree-dyn): a
 * partial is folded with those of neighbouring intervals of the input. Commutative
 * (tree-dyn): any that are ready are folded. The operator has to be associative; nothing
 * else is known of it.
 *
 * The command is run by the shell, with the words of the worker before it. It finds the
 * partials one behind the other on standard input, up to CV_FOLD_MOST of them; or, if it
 * says {1} and {2}, two files of these names. What it writes is the new partial. A partial
 * without bytes is one like any other. */
#ifndef CV_FOLD_H
#define CV_FOLD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/output/ordered_output.h"
#include "run/common/start_limiter.h"
#include "run/common/poller.h"

enum { CV_FOLD_MOST = 16 };

struct cv_fold;
struct cv_fold_log;

/* All is borrowed while the fold is in use. */
struct cv_fold_options {
    const char *command;
    bool commutative;
    uint32_t nworkers;
    const char *const *const *prefixes; /* per worker: words, ended by NULL; or NULL    */
    const char *const *names;           /* per worker                                   */
    uint32_t retries;                   /* how often a fold that failed is tried again  */
    double timeout_s;                   /* 0: none                                      */
    struct cv_poller *poller;
    struct cv_ordered_output
        *outputs;            /* `separate` if the command takes files                  */
    struct cv_fold_log *log; /* folds that were made; NULL: nobody wants to know       */
    struct cv_start_limiter
        *limiter; /* folds for which there is no room wait there; NULL: they fail */
};

enum cleave_status cv_fold_new(const struct cv_fold_options *options,
                               struct cv_fold **out, struct cleave_error *err);
/* Kills what is running. */
void cv_fold_free(struct cv_fold *fold);

/* The store is the result for [begin, end) of the input; it is the fold's from here on. */
enum cleave_status cv_fold_add(struct cv_fold *fold, struct cv_chunk_output *store,
                               uint64_t begin, uint64_t end, struct cleave_error *err);
/* There is no result for [begin, end): its neighbours are neighbours of each other. */
enum cleave_status cv_fold_skip(struct cv_fold *fold, uint64_t begin, uint64_t end,
                                struct cleave_error *err);

/* How many partials wait that could be folded now. */
size_t cv_fold_ready(const struct cv_fold *fold);
/* Whether so many do that workers should fold before they make more. */
bool cv_fold_crowded(const struct cv_fold *fold);
/* Whether a fold runs on the worker; how many do. */
bool cv_fold_busy(const struct cv_fold *fold, uint32_t worker);
uint32_t cv_fold_running(const struct cv_fold *fold);

/* Begin to fold on a worker where none runs, if there is something to fold, and room for its
 * command; it shares the partials with `among` - 1 others. */
enum cleave_status cv_fold_start(struct cv_fold *fold, uint32_t worker, uint32_t among,
                                 struct cleave_error *err);
/* Ask what runs to end; start nothing more. */
void cv_fold_stop(struct cv_fold *fold);
/* Fails, always in the same way, once a command has failed for good or its output could
 * not be kept. *out_command, if not NULL, says whether it was the command. */
enum cleave_status cv_fold_status(const struct cv_fold *fold, bool *out_command,
                                  struct cleave_error *err);

/* The result, when all has been added and nothing is ready or runs. *out is NULL if there
 * is none; else it is the caller's, to be finished or dropped. */
enum cleave_status cv_fold_result(struct cv_fold *fold, struct cv_chunk_output **out,
                                  struct cleave_error *err);

/* Bytes of the input that the result is of, with those that were skipped. */
uint64_t cv_fold_covered(const struct cv_fold *fold);

/* Commands that were started, how many of them because one before had failed, and how long
 * they took together. */
struct cv_fold_counts {
    uint64_t calls, retries;
    double seconds;
    uint64_t gone;   /* results less than before, by those that succeeded              */
    double waited_s; /* by the fold under way that has taken longest, for a result less */
};
/* What one result more takes, as far as can be told: no less than what is under way has
 * taken already. 0: nothing was folded. */
double cv_fold_one_s(struct cv_fold_counts counts);
struct cv_fold_counts cv_fold_counts(const struct cv_fold *fold);

#endif
