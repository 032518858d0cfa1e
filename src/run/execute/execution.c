/* execution.c -- the parts of a run: opened, planned, closed in reverse, resumed.
 * SPDX-License-Identifier: MIT */
#include "run/execute/execution.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/shell_word.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "model/platform/generate.h"
#include "policy/compound/registry.h"
#include "run/common/request_check.h"
#include "run/common/machine.h"
#include "run/decode/decoder.h"
#include "run/master/exec_run.h"
#include "run/master/run_policy.h"
#include "run/master/worker_setup.h"
#include "run/slot/slot.h"

/* --- resuming -------------------------------------------------------------------------- */

/* Changed chunks that are named; others are counted. */
enum { NAMED = 10 };

/* Open the journal for a new run or to resume one. */
static enum cleave_status resume_open(struct cv_order_queue *queue,
                                      const struct cleave_execution *request,
                                      const struct cv_splitter *splitter,
                                      struct cleave_error *err)
{
    struct cv_text command = { NULL, 0, 0, false };
    struct cv_journal_run run = { .splitter = cv_splitter_text(splitter),
                                  .header = request->input.header,
                                  .pairs = request->input.pairs != NULL,
                                  .persistent = request->persistent };
    enum cleave_status status;

    if (request->items.words != NULL)
        CV_TRY(cv_item_keys_new(&request->items, &queue->keys, err));
    cv_shell_words_add(&command, request->command);
    if (command.failed) {
        cv_text_done(&command);
        return cv_fail_memory(err, "the journal");
    }
    run.command = command.bytes;
    status = cv_journal_open(request->journal.path,
                             request->journal.resume      ? CV_JOURNAL_RESUME
                             : request->journal.overwrite ? CV_JOURNAL_OVERWRITE
                                                          : CV_JOURNAL_NEW,
                             &run, queue->source, &queue->journal, err);
    cv_text_done(&command);
    return status;
}

static enum cleave_status store_bytes(void *context, const void *bytes, size_t length,
                                      struct cleave_error *err)
{
    return cv_chunk_output_write(context, bytes, length, err);
}

/* The journal has outputs as their commands wrote them. */
static enum cleave_status format_output(const struct cv_exec_run *run,
                                        const struct cv_piece *piece,
                                        struct cv_chunk_output **store,
                                        struct cleave_error *err)
{
    const struct cv_slot slot = { .outputs = run->outputs,
                                  .items = &run->request->items,
                                  .piece = *piece };

    return run->queue.keys != NULL ? cv_item_output_format(&slot, store, err) : CLEAVE_OK;
}

/* *whole is false if the journal's copy is damaged: it is not used. */
static enum cleave_status use_old_output(struct cv_exec_run *run,
                                         const struct cv_piece *piece, uint64_t id,
                                         bool *whole, struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(run->outputs, &store, err));
    status = cv_journal_output(run->queue.journal, id, store_bytes, store, whole, err);
    if (status != CLEAVE_OK || !*whole) {
        cv_chunk_output_drop(store);
        return status;
    }
    status = format_output(run, piece, &store, err);
    if (status != CLEAVE_OK) {
        cv_chunk_output_drop(store);
        return status;
    }
    CV_TRY(cv_result_sink_add(run->results, store, piece, NULL, err));
    CV_TRY(cv_input_coverage_add(&run->queue.coverage, piece->begin, piece->end, err));
    CV_TRY(cv_exec_run_relieve(run, err));
    run->queue.resumed++;
    run->queue.resumed_units += (double)(piece->end - piece->begin);
    return cv_source_finish(run->queue.source, piece, err);
}

/* One line each for the number of changed and of damaged chunks. */
static void say_counts(const struct cv_exec_run *run, uint64_t changed)
{
    uint64_t of;
    const uint64_t damaged = cv_journal_damaged(run->queue.journal, &of);

    if (changed > NAMED)
        cv_note(run->request,
                "%" PRIu64 " more finished chunks have changed and are done again",
                changed - NAMED);
    if (damaged > 0)
        cv_note(run->request,
                "%s: the journal is damaged: %" PRIu64 " of its %" PRIu64
                " finished chunks %s not as written and %s done again",
                run->request->journal.path, damaged, of, damaged == 1 ? "is" : "are",
                damaged == 1 ? "is" : "are");
}

/* Use the output of a known piece if both are unchanged. */
static enum cleave_status use_known(struct cv_exec_run *run, enum cv_known state,
                                    const struct cv_piece *piece, uint64_t id,
                                    uint64_t *changed, struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    struct cleave_error note;
    bool same = false, whole = false;

    if (queue->keys != NULL) /* cv_journal_tell_items has reported it */
        same = state == CV_KNOWN_PIECE;
    else
        CV_TRY(cv_journal_confirm(queue->journal, queue->source, state, piece, id, &same,
                                  &note, err));
    if (same)
        CV_TRY(use_old_output(run, piece, id, &whole, err));
    else if (++*changed <= NAMED)
        cv_note(run->request, "%s", note.text);
    return whole || state != CV_KNOWN_PIECE
               ? CLEAVE_OK
               : cv_source_put_back(queue->source, piece, err);
}

static void input_ready(void *context, unsigned events)
{
    bool *ready = context;

    (void)events;
    *ready = true;
}

/* Handle signals and other events; `awaits`: until more of the stream has arrived. */
static enum cleave_status heed(struct cv_exec_run *run, bool awaits,
                               struct cleave_error *err)
{
    const int fd = awaits ? cv_source_poll_fd(run->queue.source) : -1;
    enum cleave_status status = CLEAVE_OK;
    bool ready = fd < 0;
    struct cv_watch watch = { 0 };

    if (fd >= 0)
        CV_TRY(cv_poller_add(run->poller, &watch, fd, CV_READABLE, input_ready, &ready,
                             err));
    do
        status = cv_poller_wait(run->poller, ready ? 0 : -1, err);
    while (status == CLEAVE_OK && !ready && run->stopped_by == 0);
    if (fd >= 0)
        cv_poller_remove(run->poller, &watch);
    if (status == CLEAVE_OK && run->stopped_by != 0)
        return cv_fail_stopped(err);
    return status;
}

enum cleave_status cv_resume_known(struct cv_exec_run *run, struct cleave_error *err)
{
    uint64_t changed = 0;

    if (!run->request->journal.resume)
        return CLEAVE_OK;
    if (run->queue.keys != NULL)
        CV_TRY(cv_journal_tell_items(run->queue.journal, run->queue.source,
                                     run->queue.keys, err));
    else
        CV_TRY(cv_journal_tell(run->queue.journal, run->queue.source, err));
    for (;;) {
        struct cv_piece piece;
        enum cv_known state;
        uint64_t id;

        CV_TRY(cv_source_known(run->queue.source, &state, &piece, &id, err));
        if (state == CV_KNOWN_END)
            break;
        CV_TRY(heed(run, state == CV_KNOWN_WAIT, err));
        if (state == CV_KNOWN_WAIT)
            CV_TRY(cv_source_pump(run->queue.source, err));
        else
            CV_TRY(use_known(run, state, &piece, id, &changed, err));
    }
    say_counts(run, changed);
    return CLEAVE_OK;
}

/* --- costs of workers in the journal --------------------------------------------------- */

/* Shorter start-up times are not printed. */
static const double WORTH_A_WORD_S = 0.1;

/* Print the slowest and the fastest worker. */
static void say_speeds(const struct cv_exec_run *run, const double *speeds)
{
    const struct cv_worker_pool *pool = &run->pool;
    uint32_t min = 0, max = 0;

    for (uint32_t w = 1; w < pool->nworkers; w++) {
        min = speeds[w] < speeds[min] ? w : min;
        max = speeds[w] > speeds[max] ? w : max;
    }
    cv_note(
        run->request,
        "by the journal %.64s is %.2g times as fast as %.64s: first shares go by that",
        pool->names[max], speeds[max] / speeds[min], pool->names[min]);
}

static void say_starts(const struct cv_exec_run *run, const double *start_s)
{
    double sum_s = 0;

    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        sum_s += start_s[w];
    if (sum_s >= WORTH_A_WORD_S * run->pool.nworkers)
        cv_note(run->request, "by the journal a command takes %.2g s to start",
                sum_s / run->pool.nworkers);
}

static void declare(const struct cv_exec_run *run, const struct cv_journal_costs *costs,
                    const struct cleave_worker *declared, struct cleave_worker *workers)
{
    for (uint32_t w = 0; w < run->pool.nworkers; w++) {
        workers[w] = declared[w];
        workers[w].speed_ups = costs->speed_ups[w];
        if (costs->starts_known)
            workers[w].compute_latency_s = costs->start_s[w];
    }
    if (costs->differ)
        say_speeds(run, costs->speed_ups);
    if (costs->starts_known)
        say_starts(run, costs->start_s);
}

/* If no costs were declared and the journal has the speed of every worker, use them:
 * *declared is in the arena, and a line is printed. */
static enum cleave_status resume_speeds(const struct cv_exec_run *run,
                                        struct cv_arena *arena,
                                        const struct cleave_worker **declared,
                                        struct cleave_error *err)
{
    const uint32_t n = run->pool.nworkers;
    struct cv_journal_costs costs = { 0 };
    struct cleave_worker *workers;

    if (!run->request->journal.resume || run->queue.resumed == 0 ||
        run->queue.keys != NULL)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < n; w++)
        if (!cv_is_nominal(&(*declared)[w]))
            return CLEAVE_OK; /* declared costs have priority */
    workers = cv_array(arena, n, sizeof *workers);
    costs.speed_ups = cv_array(arena, n, sizeof *costs.speed_ups);
    costs.start_s = cv_array(arena, n, sizeof *costs.start_s);
    if (workers == NULL || costs.speed_ups == NULL || costs.start_s == NULL)
        return cv_fail_memory(err, "the journal");
    CV_TRY(cv_journal_speeds(run->queue.journal, run->pool.names, n, &costs, err));
    if (!costs.known || !(costs.differ || costs.starts_known))
        return CLEAVE_OK;
    declare(run, &costs, *declared, workers);
    *declared = workers;
    return CLEAVE_OK;
}

#define CV_CODEC_WORD(name) ", " #name

/* --- request --------------------------------------------------------------------------- */

/* The part of the request that hosts need. */
static struct cv_host_terms host_terms(const struct cleave_execution *request)
{
    return (struct cv_host_terms){
        .job = { .command = request->command,
                 .environment = request->hosts.environment,
                 .directory = request->hosts.work_directory,
                 .persistent = request->persistent,
                 .items = request->items.words != NULL,
                 .cleanup = request->hosts.cleanup,
                 .hashes = request->journal.path != NULL,
                 .lines = request->output.lines,
                 .early = request->output.early,
                 .timeout_s = request->failures.timeout_s,
                 .memory = request->output.memory },
        .base_files = request->hosts.base_files,
        .shared_input = request->hosts.shared_input,
        .connect_timeout_s = request->hosts.connect_timeout_s,
        .silence_s = request->hosts.timeout_s,
        .notice_s = request->hosts.notice_s == 0 ? CLEAVE_HOST_NOTICE_S
                                                 : fmax(request->hosts.notice_s, 0),
        .note = request->listener.note,
        .note_context = request->listener.context,
    };
}

/* An item that was sent ahead would wait for a long item while other workers are idle:
 * hosts get one item at a time. */
static void fill_items_away(struct cleave_execution *filled)
{
    static const struct cleave_setting one[] = { { "prefetch", "1" } };

    if (filled->items.words == NULL || filled->items.sizes != NULL ||
        filled->items.max > 1 || filled->hosts.count == 0 || filled->policy.nsettings > 0)
        return;
    filled->policy.settings = one;
    filled->policy.nsettings = 1;
}

void cv_execution_prepare(struct cv_execution *execution, struct cleave_execution *filled)
{
    struct cv_exec_run *run = &execution->run;

    if (!(filled->hosts.connect_timeout_s > 0))
        filled->hosts.connect_timeout_s = CLEAVE_HOST_TIMEOUT_S;
    if (!(filled->hosts.timeout_s > 0))
        filled->hosts.timeout_s = CLEAVE_HOST_TIMEOUT_S;
    if (filled->items.words != NULL && filled->items.sizes == NULL &&
        filled->items.max <= 1 && !(filled->policy.block > 0))
        filled->policy.block = 1;
    fill_items_away(filled);
    run->limiter = (struct cv_start_limiter){ .delay_s = filled->workers.delay_s,
                                              .max_load = filled->workers.max_load,
                                              .min_memory = filled->workers.min_memory,
                                              .most_files = cv_start_limiter_files() };
    if (filled->items.sizes != NULL && filled->policy.name == NULL &&
        filled->policy.own == NULL)
        filled->policy.name = cv_policy_of_items()->name;
    cv_worker_setup_init(&execution->setup);
    cv_hosts_init(&run->pool.hosts);
    run->request = filled;
    cv_resource_wait_watch(run);
    run->queue.events = &run->events;
    run->pool.hosts.terms = host_terms(filled);
    run->pool.hosts.changed = cv_joining_workers_changed;
    run->pool.hosts.context = run;
    run->pool.hosts.stopped_by = &run->stopped_by;
}

/* --- opening ------------------------------------------------------------------------------ */

static void signalled(void *context, int signal)
{
    struct cv_execution *execution = context;

    if (signal == SIGHUP && execution->request->hosts.more != NULL)
        execution->run.rehost = true;
    else if (!cv_signal_is_ignored(signal)) {
        execution->run.stopped_by = signal;
        cv_poller_hold_signals(execution->run.poller);
    }
}

/* The largest piece of a stream is this fraction of the spool, so that every worker
 * can have one while another one waits. */
static unsigned shares_of(uint32_t workers)
{
    return workers + 1 + workers / 4;
}

/* Size of the spool of a stream, from the requested sizes; 0: default. */
static uint64_t hold_for(const struct cleave_execution *request)
{
    const double bytes =
        cv_run_policy_size(&request->policy) * shares_of(cv_worker_setup_count(request));

    return bytes > (double)CV_SOURCE_HOLD && bytes < 0x1p62 ? (uint64_t)ceil(bytes) : 0;
}

/* Items of a list that are read ahead for each worker; for commands with many items,
 * as many as one may have. */
enum { ITEMS_HELD = 8, MANY_HELD = 4096 };

/* Open the input, or the items. */
static enum cleave_status open_source(struct cv_execution *execution, bool raw,
                                      const struct cv_codec *codec,
                                      struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    struct cleave_error note;

    if (request->items.words != NULL)
        return cv_source_open_items(&request->items,
                                    (request->items.max > 1 ? MANY_HELD : ITEMS_HELD) *
                                        (uint64_t)(cv_worker_setup_count(request) +
                                                   ITEMS_HELD),
                                    execution->splitter, &execution->run.queue.source,
                                    err);
    CV_TRY(cv_source_open(request->input.files, request->input.count,
                          &(struct cv_source_options){
                              .splitter = execution->splitter,
                              .header = request->input.header,
                              .pairs = request->input.pairs,
                              .raw = raw,
                              .codec = codec,
                              .fetch = request->input.fetch,
                              .size = request->input.size,
                              .max_record = request->input.max_record > 0
                                                ? request->input.max_record
                                                : CLEAVE_MAX_RECORD,
                              .hold = hold_for(request),
                              .shares = shares_of(cv_worker_setup_count(request)),
                              .numbers = true },
                          &execution->run.queue.source, err));
    if (cv_source_lone(execution->run.queue.source, &note))
        cv_note(request, "%s", note.text);
    if (cv_source_unended(execution->run.queue.source, &note))
        cv_note(request, "%s", note.text);
    return cv_source_validate(execution->run.queue.source, err);
}

/* Parse input.decode: read as is, or the codec of all inputs. */
static enum cleave_status read_decode(const char *text, bool *raw,
                                      const struct cv_codec **codec,
                                      struct cleave_error *err)
{
    char shown[64];

    *raw = text != NULL && strcmp(text, "none") == 0;
    *codec = NULL;
    if (text == NULL || *raw || strcmp(text, "auto") == 0)
        return CLEAVE_OK;
    *codec = cv_codec_named(text);
    if (*codec != NULL)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "input.decode: expected auto, none" CV_CODEC_MAP(
                       CV_CODEC_WORD) ", got '%s'",
                   cv_shown(text, strlen(text), shown, sizeof shown));
}

/* Open the splitter of the input and that of output headers. */
static enum cleave_status open_splitters(struct cv_execution *execution,
                                         struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    const char *split = request->items.words != NULL   ? "fixed:1"
                        : request->input.split != NULL ? request->input.split
                                                       : "lines";

    CV_TRY(cv_splitter_parse(split, &execution->splitter, err));
    if (cv_splitter_has_tail(execution->splitter) && request->hosts.count > 0)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "input.split %s: cannot be combined with hosts.list: the end of the document "
            "is not sent (cleave split writes files for hosts)",
            split);
    CV_TRY(cv_splitter_set_records(execution->splitter, request->input.records, err));
    CV_TRY(cv_splitter_set_together(execution->splitter, request->input.together, err));
    if (request->input.header)
        CV_TRY(
            cv_splitter_set_header(execution->splitter, request->input.header_how, err));
    if (request->output.header == NULL)
        return CLEAVE_OK;
    if (request->reduce.command != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "output.header: cannot be combined with reduce.command, which "
                       "gets the headers of all outputs");
    CV_TRY(cv_splitter_parse(strncmp(split, "csv", 3) == 0 ? split : "lines",
                             &execution->outputs, err));
    return cv_splitter_set_header(execution->outputs, request->output.header, err);
}

/* A run without a guard is possible, but reported. */
static void guard_failed(void *context, const struct cleave_error *err)
{
    cv_note(context, "%s", err->text);
}

enum cleave_status cv_execution_open_base(struct cv_execution *execution,
                                          struct cleave_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
    const struct cleave_execution *request = execution->request;
    struct cv_exec_run *run = &execution->run;

    CV_TRY(cv_request_check(request, err));
    CV_TRY(open_splitters(execution, err));
    CV_TRY(cv_poller_new(&run->poller, err));
    CV_TRY(cv_poller_signals(run->poller, signals, 4, signalled, execution, err));
    run->pool.hosts.poller = run->poller;
    return request->workers.guard
               ? cv_poller_set_guard(run->poller, guard_failed, (void *)request, err)
               : CLEAVE_OK;
}

enum cleave_status cv_execution_open_input(struct cv_execution *execution,
                                           struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    struct cv_exec_run *run = &execution->run;
    const struct cv_codec *codec;
    bool raw;

    CV_TRY(read_decode(request->input.decode, &raw, &codec, err));
    CV_TRY(open_source(execution, raw, codec, err));
    CV_TRY(cv_ordered_output_new(
        &(struct cv_ordered_output_options){
            .sink = request->output.descriptor,
            .sink_name = request->output.name,
            .memory =
                request->output.memory > 0 ? request->output.memory : CV_GATHER_MEMORY,
            .directory = request->output.directory,
            .head = execution->outputs,
            .unordered = request->output.unordered ||
                         (request->output.lines && request->items.words != NULL),
            .lines = request->output.lines && request->items.words == NULL,
            .early = request->output.early,
            .separate = cv_result_sink_separate(request),
            .files = request->reduce.command != NULL || request->journal.path != NULL,
            .before = request->output.before,
            .context = request->output.context },
        &run->outputs, err));
    run->pool.hosts.source = run->queue.source;
    return cv_ordered_output_attach(run->outputs, run->poller, err);
}

enum cleave_status cv_execution_open_outlet(struct cv_execution *execution,
                                            struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    struct cv_exec_run *run = &execution->run;

    CV_TRY(cv_result_sink_open(
        &(struct cv_result_sink_options){
            .request = request,
            .poller = run->poller,
            .outputs = run->outputs,
            .pool = &run->pool,
            .queue = &run->queue,
            .table = &run->table,
            .log = request->listener.trace != NULL ? &run->folds : NULL,
            .limiter = &run->limiter },
        &run->results, err));
    return request->journal.path != NULL
               ? resume_open(&run->queue, request, execution->splitter, err)
               : CLEAVE_OK;
}

enum cleave_status cv_execution_name_signal(struct cv_exec_run *run,
                                            enum cleave_status status)
{
    if (status == CLEAVE_ESTOPPED && run->stopped_by == 0)
        (void)cv_poller_wait(run->poller, 0, NULL);
    return status;
}

enum cleave_status cv_execution_heed_signals(struct cv_exec_run *run,
                                             struct cleave_error *err)
{
    CV_TRY(cv_poller_wait(run->poller, 0, err));
    return run->stopped_by != 0 ? cv_fail_stopped(err) : CLEAVE_OK;
}

/* --- closing ------------------------------------------------------------------------------ */

void cv_execution_close_input(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;

    if (execution->is_planned)
        cv_planned_done(&execution->planned);
    execution->is_planned = false;
    cv_journal_close(run->queue.journal);
    cv_item_keys_free(run->queue.keys);
    cv_result_sink_free(run->results);
    if (run->outputs != NULL) {
        cv_ordered_output_detach(run->outputs);
        cv_ordered_output_free(run->outputs);
    }
    cv_input_coverage_done(&run->queue.coverage);
    cv_poison_tracker_done(&run->poison);
    cv_worker_health_close(&run->pool.health);
    cv_failure_notes_done(&run->failures);
    cv_fold_log_done(&run->folds);
}

void cv_execution_close(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;

    cv_execution_close_input(execution);
    cv_attempt_table_done(&run->table);
    cv_hosts_done(&run->pool.hosts);
    cv_source_free(run->queue.source);
    cv_poller_free(run->poller);
    cv_splitter_free(execution->splitter);
    cv_splitter_free(execution->outputs);
    cv_worker_setup_done(&execution->setup);
}

/* --- plan ------------------------------------------------------------------------------ */

/* Ratio of the fastest to the slowest worker to expect, on one machine and on several. */
static const double UNEQUAL_HERE = 4, UNEQUAL_AWAY = 30;
/* A pipe holds what the command reads in 10 ms (run/common/pipe_writer.h), and the
 * command buffers as much: for this long it may not read. Longer if commands share
 * cores. */
static const double BURST_S = 0.02;
/* A slow command is fed at most its share divided by this at a time, so that the rest
 * can be taken back and a command that works while it reads shows it early. */
static const double SIPS = 128;
enum { LEAST_SIP = 16 };
/* Relative variation of the time of chunks on an idle machine. */
static const double VARIES = 0.05;

/* Whether chunks may stay open with these workers. Everything given to a host is sent
 * to it. */
static bool may_open(const struct cv_execution *execution,
                     const struct cleave_policy *policy)
{
    const struct cleave_execution *request = execution->request;
    const struct cv_hosts *hosts = &execution->run.pool.hosts;

    if (hosts->count > 0 && (!policy->gets_losses || hosts->keeps || hosts->leads ||
                             request->input.pairs != NULL))
        return false;
    return cv_request_may_open(request, cv_worker_setup_count(request),
                               cv_splitter_frames(execution->splitter));
}

/* Costs of workers for the policy: as declared, else as the journal has them. */
static enum cleave_status plan_declare(struct cv_execution *execution,
                                       const struct cleave_policy *policy,
                                       struct cleave_error *err)
{
    if (execution->declared != NULL)
        return CLEAVE_OK;
    execution->declared = cleave_platform_workers(execution->setup.platform);
    if (execution->run.queue.journal == NULL || !policy->opens_chunks ||
        !may_open(execution, policy))
        return CLEAVE_OK;
    return resume_speeds(&execution->run, &execution->setup.arena, &execution->declared,
                         err);
}

/* Whether all these costs were measured. */
static bool is_measured(const struct cv_execution *execution)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(execution->setup.platform); w++)
        if (cv_is_nominal(&execution->declared[w]))
            return false;
    return true;
}

/* Commands per core of this machine. */
static double crowd_of(const struct cv_worker_pool *pool)
{
    uint32_t here = 0;

    for (uint32_t w = 0; w < pool->nworkers; w++)
        here += pool->host_of[w] == NULL && !pool->absent[w];
    return fmax(1, (double)here / cv_usable_cores());
}

/* Bytes in the pipe of a command of unknown speed: a page, or less if shares are
 * small. Hosts do not use small writes. */
static size_t ahead_of(const struct cv_worker_pool *pool, double total)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const double small_write = total / (SIPS * fmax(1, pool->nworkers));

    if (pool->hosts.count > 0 || !(small_write < (double)page))
        return page;
    return small_write > LEAST_SIP ? (size_t)small_write : LEAST_SIP;
}

/* The load and the transport, as the policy gets them. */
static struct cv_load describe(const struct cv_execution *execution,
                               const struct cleave_policy *policy, double total)
{
    const struct cleave_items *items = &execution->request->items;
    struct cv_load load = { .units = total,
                            .real = true,
                            .folders = cv_result_sink_folders(&execution->run.pool,
                                                              execution->request),
                            .folds_apart = cv_result_sink_apart(execution->request) };

    if (items->sizes != NULL) {
        load.sizes = items->sizes;
        load.nitems = items->count;
        load.measured = is_measured(execution);
        load.units = 0;
        for (uint64_t i = 0; i < items->count; i++)
            load.units += items->sizes[i];
        return load;
    }
    if (!policy->opens_chunks)
        return load;
    load.measured = is_measured(execution);
    load.unequal = execution->run.pool.hosts.count > 0 ? UNEQUAL_AWAY : UNEQUAL_HERE;
    load.hold = cv_source_hold(execution->run.queue.source);
    load.opens = policy->gets_losses && may_open(execution, policy);
    load.ahead = load.opens ? (double)ahead_of(&execution->run.pool, total) : 0;
    load.burst_s = load.opens ? BURST_S * crowd_of(&execution->run.pool) : 0;
    load.varies = load.opens ? VARIES : 0;
    return load;
}

enum cleave_status cv_execution_plan(struct cv_execution *execution, double total,
                                     struct cleave_error *err)
{
    const struct cleave_policy_options *options = &execution->request->policy;
    const struct cleave_setting *settings;
    const struct cleave_policy *policy;
    struct cv_load load;
    size_t nsettings;

    CV_TRY(cv_run_policy_find(options, &policy, err));
    CV_TRY(cv_run_policy_settings(options, &execution->setup.arena, &settings, &nsettings,
                                  err));
    execution->run.queue.gets_losses = policy->gets_losses;
    CV_TRY(plan_declare(execution, policy, err));
    load = describe(execution, policy, total);
    execution->run.small_write = (size_t)load.ahead;
    CV_TRY(cv_planned_init(&execution->planned, policy, settings, nsettings,
                           execution->setup.platform, execution->declared, &load, NULL,
                           err));
    execution->is_planned = true;
    return CLEAVE_OK;
}
