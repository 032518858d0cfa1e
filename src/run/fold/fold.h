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
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/poller.h"
#include "run/common/start_limiter.h"
#include "run/output/ordered_output.h"
#include "run/slot/slot.h"

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

/* Whether it is one: it may have {1} and {2}, or none of them. */
enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err);
/* Whether it takes its partials as files {1} and {2}: then two at a time. */
bool cv_fold_takes_files(const char *command);

/* Who runs it; the first three are borrowed. */
struct cv_fold_call {
    const char *text;
    const char *const *prefix; /* words before it, ended by NULL; or NULL               */
    const char *worker;        /* a name                                                */
    struct cv_command command; /* owned while has_command                               */
    bool has_command;
};

/* Make it ready for any partials, if it takes them on standard input; cv_fold_call_start
 * does that, too. */
enum cleave_status cv_fold_call_prepare(struct cv_fold_call *call,
                                        struct cleave_error *err);
/* Start it in the slot on 2 to CV_FOLD_MOST partials; on two if it takes files. */
enum cleave_status cv_fold_call_start(struct cv_fold_call *call, struct cv_slot *slot,
                                      const struct cv_taken *partials, size_t count,
                                      struct cleave_error *err);
void cv_fold_call_done(struct cv_fold_call *call);

struct cleave_trace;
struct cv_fold_note;

/* A zeroed one is empty. */
struct cv_fold_log {
    struct cv_fold_note *notes; /* owned */
    size_t count, room;
    bool short_of_memory; /* some are missing */
};

/* Worker has folded so many partials into one, from start_s to end_s of the clock. `log` may
 * be NULL: nobody wants to know. */
void cv_fold_log_add(struct cv_fold_log *log, uint32_t worker, double start_s,
                     double end_s, size_t count);
/* Add them to a trace whose time 0 is began_s, behind all that it has. */
enum cleave_status cv_fold_log_write(const struct cv_fold_log *log, double began_s,
                                     struct cleave_trace *trace,
                                     struct cleave_error *err);
void cv_fold_log_done(struct cv_fold_log *log);

#endif
