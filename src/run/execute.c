/* execute.c -- run a command over an input: the public call. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/driver.h"
#include "run/fold_local.h"
#include "run/local_engine.h"
#include "run/resume.h"
#include "run/usable_cores.h"

/* What local workers are thought to be before anything is measured. Policies that plan ahead
 * take all of them for equal. */
static const struct cleave_worker nominal = {
    .speed_ups = 1e8,
    .compute_latency_s = 1e-3,
    .bandwidth_ups = 1e12,
};

static const uint64_t MEMORY = (uint64_t)256 << 20;

/* All that a run needs; closed in reverse. */
struct execution {
    const struct cleave_execution *asked;
    struct cv_arena arena;
    struct cleave_platform *nominal;        /* owned, when no platform was given  */
    const struct cleave_platform *platform; /* that or the one given              */
    struct cv_splitter *splitter;           /* owned                              */
    struct cv_command *commands;            /* owned: per worker                  */
    const char *const **prefixes;           /* per worker: words, or NULL         */
    uint32_t ncommands;                     /* that are ready                     */
    struct cv_local local;                  /* its parts are owned                */
    struct cv_planned planned;
    bool is_planned;
    double began_s;
};

/* --- workers ------------------------------------------------------------------------------ */

static enum cleave_status choose_platform(struct execution *execution,
                                          struct cleave_error *err)
{
    uint32_t n = execution->asked->workers;
    struct cleave_worker *workers;

    if (execution->asked->platform != NULL) {
        execution->platform = execution->asked->platform;
        return CLEAVE_OK;
    }
    if (n == 0)
        n = cv_usable_cores();
    workers = cv_array(&execution->arena, n, sizeof *workers);
    if (workers == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < n; i++)
        workers[i] = nominal;
    CV_TRY(cleave_platform_new(CLEAVE_PORT_MULTI, workers, n, &execution->nominal, err));
    execution->platform = execution->nominal;
    return CLEAVE_OK;
}

/* The words of a worker's own prefix: "nice -n 19" becomes three. NULL: none. */
static enum cleave_status prefix_words(const char *text, struct cv_arena *arena,
                                       const char *const **out, struct cleave_error *err)
{
    char *copy, *rest, *word;
    const char **words;
    size_t count = 0;

    *out = NULL;
    if (text == NULL)
        return CLEAVE_OK;
    copy = cv_arena_text(arena, text);
    words = cv_array(arena, strlen(text) / 2 + 2, sizeof *words);
    if (copy == NULL || words == NULL)
        return cv_fail_memory(err, "the commands");
    for (word = strtok_r(copy, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    words[count] = NULL;
    *out = words;
    return CLEAVE_OK;
}

static enum cleave_status make_commands(struct execution *execution,
                                        struct cleave_error *err)
{
    const uint32_t n = cleave_platform_nworkers(execution->platform);
    const char **names = cv_array(&execution->arena, n, sizeof *names);

    execution->commands = calloc(n, sizeof *execution->commands);
    execution->prefixes = cv_array(&execution->arena, n, sizeof *execution->prefixes);
    execution->local.workers =
        cv_array(&execution->arena, n, sizeof *execution->local.workers);
    if (execution->commands == NULL || names == NULL || execution->prefixes == NULL ||
        execution->local.workers == NULL)
        return cv_fail_memory(err, "the commands");
    for (uint32_t w = 0; w < n; w++) {
        names[w] = cleave_platform_worker_name(execution->platform, w);
        CV_TRY(prefix_words(execution->asked->prefixes != NULL
                                ? execution->asked->prefixes[w]
                                : NULL,
                            &execution->arena, &execution->prefixes[w], err));
        CV_TRY(cv_command_init(&execution->commands[w], execution->prefixes[w],
                               execution->asked->command, err));
        execution->ncommands++;
        CV_TRY(cv_command_set(&execution->commands[w], "CLEAVE_WORKER", names[w], err));
    }
    execution->local.commands = execution->commands;
    execution->local.names = names;
    execution->local.nworkers = n;
    return CLEAVE_OK;
}

/* --- parts -------------------------------------------------------------------------------- */

static void signalled(void *context, int signal)
{
    struct execution *execution = context;

    execution->local.stopped_by = signal;
}

static enum cleave_status open_fold(struct execution *execution, struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;
    struct cv_local *local = &execution->local;

    if (asked->reduce == NULL)
        return CLEAVE_OK;
    return cv_fold_new(&(struct cv_fold_options){ .command = asked->reduce,
                                                  .commutative = asked->commutative,
                                                  .nworkers = local->nworkers,
                                                  .prefixes = execution->prefixes,
                                                  .names = local->names,
                                                  .retries = asked->retries,
                                                  .timeout_s = asked->timeout_s,
                                                  .poller = local->poller,
                                                  .gather = local->gather },
                       &local->fold, err);
}

static enum cleave_status open_parts(struct execution *execution,
                                     struct cleave_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    const struct cleave_execution *asked = execution->asked;
    struct cv_local *local = &execution->local;

    CV_TRY(cv_splitter_parse(asked->split != NULL ? asked->split : "lines",
                             &execution->splitter, err));
    CV_TRY(choose_platform(execution, err));
    CV_TRY(make_commands(execution, err));
    CV_TRY(cv_poller_new(&local->poller, err));
    CV_TRY(cv_poller_signals(local->poller, signals, 3, signalled, execution, err));
    CV_TRY(cv_source_open(asked->inputs, asked->ninputs,
                          &(struct cv_source_options){ .splitter = execution->splitter,
                                                       .header = asked->header,
                                                       .pairs = asked->pairs,
                                                       .shares = 2 * local->nworkers,
                                                       .numbers = true },
                          &local->source, err));
    CV_TRY(cv_gather_new(
        &(struct cv_gather_options){ .sink = asked->output,
                                     .sink_name = asked->output_name,
                                     .memory = asked->memory > 0 ? asked->memory : MEMORY,
                                     .directory = asked->directory,
                                     .unordered = asked->unordered,
                                     .separate = asked->reduce != NULL &&
                                                 cv_fold_takes_files(asked->reduce) },
        &local->gather, err));
    CV_TRY(cv_gather_attach(local->gather, local->poller, err));
    CV_TRY(open_fold(execution, err));
    return asked->journal != NULL ? cv_resume_open(local, execution->splitter, err)
                                  : CLEAVE_OK;
}

static enum cleave_status make_plan(struct execution *execution, double total,
                                    struct cleave_error *err)
{
    static const struct cleave_setting no_settings[1];
    const struct cleave_execution *asked = execution->asked;
    char block[32];
    const struct cleave_setting fixed[] = { { "chunk", block } };
    const struct cleave_policy *policy;
    const char *name = asked->policy != NULL ? asked->policy : "learn";

    if (asked->block > 0) {
        name = "self";
        snprintf(block, sizeof block, "%.17g", asked->block);
    }
    CV_TRY(cleave_policy_find(CLEAVE_TASK_LOAD, name, &policy, err));
    CV_TRY(cv_planned_init(&execution->planned, policy,
                           asked->block > 0          ? fixed
                           : asked->settings != NULL ? asked->settings
                                                     : no_settings,
                           asked->block > 0 ? 1 : asked->nsettings, execution->platform,
                           cleave_platform_workers(execution->platform),
                           &(struct cv_load){ .units = total }, NULL, err));
    execution->is_planned = true;
    return CLEAVE_OK;
}

/* --- the run ------------------------------------------------------------------------------ */

static enum cleave_status drive(struct execution *execution, struct cleave_error *err)
{
    struct cv_run run = { .platform = execution->platform };
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(cv_driver_open(&execution->planned, &cv_engine_local, execution->platform,
                          &execution->local, &driver, err));
    status = cv_driver_run(driver, &run, execution->asked->trace, &outcome, err);
    cv_driver_close(driver);
    return status;
}

/* Write what is still to be written. After a halt, what comes behind a chunk that was not
 * done never will be. */
static enum cleave_status flush(struct execution *execution, struct cleave_error *err)
{
    struct cv_local *local = &execution->local;
    enum cv_gather_state state;
    enum cleave_status status;
    int reason;

    for (;;) {
        status = cv_gather_pump(local->gather, 0, &state, err);
        (void)cv_gather_status(local->gather, &reason, NULL);
        local->output_closed = status != CLEAVE_OK && reason == EPIPE;
        if (status != CLEAVE_OK || state == CV_GATHER_IDLE)
            return status;
        if (local->stopped_by != 0)
            return cv_fail(err, CLEAVE_EENGINE, "stopped by a signal");
        CV_TRY(cv_poller_wait(local->poller, -1, err));
    }
}

/* A record that the end of the input cuts short is worth a word. */
static void note_torn(const struct execution *execution)
{
    struct cleave_error note, err;
    bool torn = false;

    if (execution->asked->note != NULL &&
        cv_source_torn(execution->local.source, &torn, &note, &err) == CLEAVE_OK && torn)
        execution->asked->note(execution->asked->context, note.text);
}

static enum cleave_status run_all(struct execution *execution, struct cleave_error *err)
{
    struct cv_local *local = &execution->local;
    enum cleave_status status = CLEAVE_OK;
    double left;

    if (local->journal != NULL)
        CV_TRY(cv_resume_known(local, err));
    left = cv_source_left(local->source);
    if (left > 0) {
        CV_TRY(make_plan(execution, left, err));
        status = drive(execution, err);
    }
    if (status == CLEAVE_OK)
        status = cv_local_fold_all(local, err);
    if (status == CLEAVE_OK || local->halted)
        status = flush(execution, status == CLEAVE_OK ? err : NULL) == CLEAVE_OK
                     ? status
                     : CLEAVE_EENGINE;
    if (status == CLEAVE_OK)
        note_torn(execution);
    return status;
}

/* --- what came of it ---------------------------------------------------------------------- */

static struct cleave_execution_result *sum_up(const struct execution *execution)
{
    const struct cv_local *local = &execution->local;
    struct cleave_execution_result *result = calloc(1, sizeof *result);
    double speed = 0;

    if (result == NULL)
        return NULL;
    result->workers = calloc(local->nworkers + 1u, sizeof *result->workers);
    if (result->workers == NULL) {
        free(result);
        return NULL;
    }
    result->seconds = cv_clock_s() - execution->began_s;
    result->chunks = local->chunks;
    result->retries = local->retries;
    result->failed = local->failed;
    result->resumed = local->resumed;
    result->stopped_by = local->stopped_by;
    result->halted = local->halted;
    result->output_closed = local->output_closed;
    result->bad_ends = local->bad_ends;
    result->reduce_failed = local->reduce_failed;
    if (local->fold != NULL) {
        const struct cv_fold_counts counts = cv_fold_counts(local->fold);

        result->folds = counts.calls;
        result->retries += counts.retries;
    }
    result->input_bytes = local->done;
    if (local->gather != NULL)
        result->output_bytes = (double)cv_gather_usage(local->gather).written;
    for (uint32_t w = 0; local->workers != NULL && w < local->nworkers; w++) {
        struct cleave_worker_result *worker = &result->workers[result->nworkers++];

        worker->name = strdup(local->names[w]);
        worker->chunks = local->workers[w].chunks;
        worker->units = local->workers[w].units;
        worker->busy_s = local->workers[w].busy_s;
        cv_local_fit(&local->workers[w], &worker->latency_s, &worker->speed_ups);
        if (worker->busy_s > 0)
            speed += worker->units / worker->busy_s;
    }
    if (speed > 0)
        result->bound_s = local->done / speed;
    return result;
}

void cleave_execution_free(struct cleave_execution_result *result)
{
    if (result == NULL)
        return;
    for (uint32_t w = 0; w < result->nworkers; w++)
        free((void *)(uintptr_t)result->workers[w].name);
    free(result->workers);
    free(result);
}

static void close_all(struct execution *execution)
{
    struct cv_local *local = &execution->local;

    if (execution->is_planned)
        cv_planned_done(&execution->planned);
    cv_journal_close(local->journal);
    cv_fold_free(local->fold);
    if (local->gather != NULL) {
        cv_gather_detach(local->gather);
        cv_gather_free(local->gather);
    }
    cv_source_free(local->source);
    cv_poller_free(local->poller);
    for (uint32_t w = 0; w < execution->ncommands; w++)
        cv_command_done(&execution->commands[w]);
    free(execution->commands);
    cv_splitter_free(execution->splitter);
    cleave_platform_free(execution->nominal);
    cv_arena_done(&execution->arena);
}

enum cleave_status cleave_execute(const struct cleave_execution *asked,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    struct execution execution = { .asked = asked, .began_s = cv_clock_s() };
    enum cleave_status status;

    *out = NULL;
    cv_arena_init(&execution.arena);
    execution.local.execution = asked;
    status = open_parts(&execution, err);
    if (status == CLEAVE_OK) {
        status = run_all(&execution, err);
        *out = sum_up(&execution);
        if (*out == NULL && status == CLEAVE_OK)
            status = cv_fail_memory(err, "the summary");
    }
    close_all(&execution);
    return status;
}
