/* fold.h -- fold partial results into one, by a command or a named reduction. SPDX-License-Identifier: MIT
 *
 * Folds follow the dynamic reduction policies. In order (ordered-tree-dyn), a partial
 * is folded with partials of adjacent intervals of the input. Commutative (tree-dyn), any
 * partials that are ready are folded. The operator must be associative; it need not have an
 * identity.
 *
 * The command is run by the shell, after the prefix of the worker. It reads up to CV_FOLD_MOST
 * concatenated partials from standard input; or, if it has {1} and {2}, two files of these
 * names, and if it has the word {}, up to CV_FOLD_MOST files. Its output is the new partial, which
 * may be empty.
 *
 * A named reduction (named_reduction.h) keeps the order, runs in a thread unless it is a sort, and
 * has a last step, which is also taken if there is one output or none. */
#ifndef CV_FOLD_H
#define CV_FOLD_H
#include "base/text.h"
#include "run/common/start_limiter.h"
#include "run/fold/named_reduction.h"
#include "run/output/ordered_output.h"
#include "run/slot/slot.h"

enum { CV_FOLD_MOST = 16 };

struct cv_fold;
struct cv_fold_log;
struct cv_partial;

/* All is borrowed while the fold is in use. */
struct cv_fold_options {
    const char *command;
    bool commutative;
    uint32_t nworkers;
    const char *const *const *prefixes; /* words for each worker, and NULL; or NULL    */
    const char *const *names;           /* worker names                                */
    uint32_t retries;                   /* after a failed command                      */
    double timeout_s;                   /* 0: none                                     */
    struct cv_poller *poller;
    struct cv_ordered_output *outputs; /* `separate` if the command takes files        */
    struct cv_fold_log *log;           /* NULL: no log                                 */
    const struct cleave_listener *listener; /* gets lines of standard error; or NULL  */
    struct cv_start_limiter *limiter; /* delays commands while resources are short    */
};

enum cleave_status cv_fold_new(const struct cv_fold_options *options,
                               struct cv_fold **out, struct cleave_error *err);
/* Kills running commands. */
void cv_fold_free(struct cv_fold *fold);

/* Add an output, or the result of folds elsewhere. The store, which is complete, is taken over. */
enum cleave_status cv_fold_add(struct cv_fold *fold, struct cv_partial partial,
                               struct cleave_error *err);
/* There is no result for [begin, end): the intervals before and after it become adjacent. */
enum cleave_status cv_fold_skip(struct cv_fold *fold, uint64_t begin, uint64_t end,
                                struct cleave_error *err);

/* When none is ready or running: start the last step of a named reduction. *out_done: there is
 * none, or it is done. */
enum cleave_status cv_fold_close(struct cv_fold *fold, bool *out_done,
                                 struct cleave_error *err);

/* Number of partials that could be folded now. */
size_t cv_fold_ready(const struct cv_fold *fold);
/* Whether workers should fold before they make more partials. */
bool cv_fold_crowded(const struct cv_fold *fold);
/* Whether a worker folds; how many workers do. */
bool cv_fold_busy(const struct cv_fold *fold, uint32_t worker);
uint32_t cv_fold_running(const struct cv_fold *fold);

/* Start a command on an idle worker, if partials are ready and resources suffice. It takes its
 * share of the partials, which `among` workers are going to fold. */
enum cleave_status cv_fold_start(struct cv_fold *fold, uint32_t worker, uint32_t among,
                                 struct cleave_error *err);
/* Stop running commands, and start no more. */
void cv_fold_stop(struct cv_fold *fold);
/* The first failure, after the last retry of a command. *out_command, if not
 * NULL: the command has failed. */
enum cleave_status cv_fold_status(const struct cv_fold *fold, bool *out_command,
                                  struct cleave_error *err);

/* The result, after cv_fold_close. *out is NULL if there
 * is none; else the caller finishes or drops it. */
enum cleave_status cv_fold_result(struct cv_fold *fold, struct cv_chunk_output **out,
                                  struct cleave_error *err);
/* Input bytes of the result, and of intervals that were skipped. */
uint64_t cv_fold_covered(const struct cv_fold *fold);

struct cv_fold_counts {
    uint64_t calls, retries; /* commands that were started; those after a failure       */
    double seconds;          /* sum of all commands                                     */
    uint64_t gone;           /* partials that were folded into others                   */
    double waited_s; /* longest time of a running command, per partial it removes */
};
struct cv_fold_counts cv_fold_counts(const struct cv_fold *fold);
/* Estimated time to fold one more partial; at least waited_s, 0 if unknown. */
double cv_fold_one_s(struct cv_fold_counts counts);

/* --- the command ---------------------------------------------------------------------------- */

/* A command has both {1} and {2}, or {}, or none of them. */
enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err);
/* Whether it is a named reduction. */
bool cv_fold_is_named(const char *command);
/* Whether partials may be folded in any order: the request says so, or the named reduction has
 * the same result then. */
bool cv_fold_is_commutative(const char *command, bool requested);
/* Whether it takes partials as files, and how many partials it takes at a time. */
bool cv_fold_takes_files(const char *command);
size_t cv_fold_most(const char *command);

/* A partial that is folded. `folded`: the result of folds, not an output. */
struct cv_fold_input {
    struct cv_taken taken;
    bool folded;
};

struct cv_fold_call {
    const char *text;          /* borrowed, as the next two            */
    const char *const *prefix; /* words before it, and NULL; or NULL   */
    const char *worker;        /* name                                 */
    struct cv_command command; /* owned while has_command              */
    bool has_command;
    struct cv_named_reduction named;
    struct cv_text
        sort[2]; /* owned: commands of a named sort, for any and for sorted partials */
    /* The next call; the thread of a named reduction uses these while it runs. */
    struct cv_fold_input inputs[CV_FOLD_MOST];
    size_t count;
    bool last;               /* the last step of a named reduction */
    struct cleave_error err; /* why the thread failed              */
};

/* `call` has its borrowed members. */
enum cleave_status cv_fold_call_init(struct cv_fold_call *call, struct cleave_error *err);
/* A named reduction in a thread, and not a command. */
bool cv_fold_call_is_function(const struct cv_fold_call *call);
/* Start it in a slot on at most cv_fold_most inputs. */
enum cleave_status cv_fold_call_start(struct cv_fold_call *call, struct cv_slot *slot,
                                      struct cleave_error *err);
void cv_fold_call_done(struct cv_fold_call *call);

/* --- the log -------------------------------------------------------------------------------- */

struct cleave_trace;

/* Empty if all is zero. */
struct cv_fold_log {
    struct cv_fold_note *notes; /* owned */
    size_t count, room;
    bool short_of_memory; /* notes are missing */
};

/* Note that a worker has folded `count` partials from start_s to end_s. `log` may be NULL. */
void cv_fold_log_add(struct cv_fold_log *log, uint32_t worker, double start_s,
                     double end_s, size_t count);
/* Append the notes to a trace whose time 0 is began_s. */
enum cleave_status cv_fold_log_write(const struct cv_fold_log *log, double began_s,
                                     struct cleave_trace *trace,
                                     struct cleave_error *err);
void cv_fold_log_done(struct cv_fold_log *log);

/* --- partials that wait to be folded ---------------------------------------------------------
 *
 * A partial is the result for an interval of the input. In order: two can be folded if one
 * begins where the other ends; partials that are being folded are not in the set, so their
 * neighbours stay apart. Commutative: any two can be folded. */

struct cv_partial {
    uint64_t begin, end; /* in the input, begin < end; commutative: without meaning */
    uint64_t bytes;      /* size of the result                                      */
    struct cv_chunk_output *store; /* borrowed; NULL: there is no result        */
    uint64_t covers; /* input bytes of the result                               */
    bool folded;     /* the result is one of folds, not an output               */
};

/* Empty if all is zero but `commutative`. */
struct cv_fold_set {
    bool commutative;
    struct cv_partial *items; /* owned: by begin; commutative: by size                 */
    size_t count, capacity;
    size_t ready; /* partials that could be folded now: 0, or 2 and more              */
};

void cv_fold_set_done(struct cv_fold_set *set);

/* A partial without a result joins its neighbours. */
enum cleave_status cv_fold_set_add(struct cv_fold_set *set,
                                   const struct cv_partial *partial,
                                   struct cleave_error *err);
/* Take 2 to `max` partials that can be folded, in order; 0 if there are none. The smallest
 * adjacent ones are taken, so that large results are not folded again and again. */
size_t cv_fold_set_take(struct cv_fold_set *set, size_t max, struct cv_partial *out);
/* Take the only partial with a result; false if there is none, or more than one. */
bool cv_fold_set_last(struct cv_fold_set *set, struct cv_partial *out);
/* Take any partial; false if the set is empty. */
bool cv_fold_set_pop(struct cv_fold_set *set, struct cv_partial *out);

#endif
