/* execution.c -- the parts of a run: opened, and closed in reverse.
 * SPDX-License-Identifier: MIT */
#include "run/execute/execution.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/argument.h"
#include "base/fail.h"
#include "base/shell_word.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "policy/compound/registry.h"
#include "run/common/request_check.h"
#include "run/common/shell.h"
#include "run/decode/decoder.h"
#include "run/input/magic.h"
#include "run/input/record_weight.h"
#include "run/journal/command_files.h"
#include "run/split/format_choice.h"
#include "run/master/run_policy.h"

/* --- a request to stop runs, from any thread or signal handler ----------------------------- */

struct cleave_cancel {
    int fd; /* owned eventfd: readable once the request was made, and for ever */
    atomic_bool called; /* set by a call, for computations that do not poll */
};

enum cleave_status cleave_cancel_new(struct cleave_cancel **out, struct cleave_error *err)
{
    struct cleave_cancel *cancel;

    CV_EXPECT_POINTER(out, err, "out");
    cancel = calloc(1, sizeof *cancel);
    if (cancel == NULL)
        return cv_fail_memory(err, "a request to stop");
    cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancel->fd < 0) {
        const int error = errno;

        free(cancel);
        return cv_fail_errno(err, error, "cannot make an eventfd");
    }
    *out = cancel;
    return CLEAVE_OK;
}

void cleave_cancel_free(struct cleave_cancel *cancel)
{
    if (cancel == NULL)
        return;
    close(cancel->fd);
    free(cancel);
}

void cleave_cancel(struct cleave_cancel *cancel)
{
    const int before = errno;

    if (cancel == NULL)
        return;
    atomic_store(&cancel->called, true);
    (void)eventfd_write(cancel->fd, 1);
    errno = before;
}

/* --- the journal --------------------------------------------------------------------------- */

/* The files that the command names, for the journal. The journal compares files that are items
 * for each item. */
static enum cleave_status find_files(const struct cleave_execution *request, char **out,
                                     struct cleave_error *err)
{
    const struct cleave_items *items = &request->items;
    enum cleave_status status = CLEAVE_OK;
    char **words = NULL, **except = NULL;

    if (items->words == NULL || items->count == 0)
        return cv_command_files(request->command, NULL, out, err);
    CV_TRY(items->words(items->context, 0, 0, &words, err));
    if (items->files != NULL)
        status = items->files(items->context, 0, &except, err);
    CV_THEN(status, cv_command_files((const char *const *)words, except, out, err));
    free(words);
    free(except);
    return status;
}

/* Open the journal for a new run or to resume one. */
static enum cleave_status resume_open(struct cv_order_queue *queue,
                                      const struct cleave_execution *request,
                                      const struct cv_splitter *splitter, bool once,
                                      struct cleave_error *err)
{
    struct cv_text command = { NULL, 0, 0, false };
    struct cv_journal_run run = { .splitter = cv_splitter_text(splitter),
                                  .header = once ? CV_HEADER_ONCE
                                            : cv_splitter_is_headed(splitter)
                                                ? CV_HEADER
                                                : CV_NO_HEADER,
                                  .pairs = request->input.pairs != NULL,
                                  .persistent = request->persistent };
    enum cleave_status status;
    char *files = NULL, shown[100];
    const char *changed;

    if (request->items.words != NULL)
        CV_TRY(cv_item_keys_new(&request->items, &queue->keys, err));
    /* A line is the same line under another shell: cron has its own. */
    cv_shell_words_add(&command, (const char *const[]){
                                     cv_shell_noted(request->command[0]), NULL });
    if (request->command[1] != NULL) {
        cv_text_add(&command, " ");
        cv_shell_words_add(&command, request->command + 1);
    }
    status = command.failed ? cv_fail_memory(err, "the journal")
                            : find_files(request, &files, err);
    run.command = command.bytes;
    run.files = files;
    CV_THEN(status, cv_journal_open(request->journal.path,
                                    request->journal.resume      ? CV_JOURNAL_RESUME
                                    : request->journal.overwrite ? CV_JOURNAL_OVERWRITE
                                                                 : CV_JOURNAL_NEW,
                                    &run, queue->source, &queue->journal, err));
    cv_text_done(&command);
    free(files);
    CV_TRY(status);
    changed = cv_journal_changed(queue->journal);
    if (changed != NULL)
        cv_note(request,
                "'%s' was changed since the first run of this journal: finished chunks "
                "keep their output; journal.overwrite does all of it again",
                cv_shown(changed, strlen(changed), shown, sizeof shown));
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
                 .store = request->output.shared,
                 .persistent = request->persistent,
                 .window = request->window,
                 .items = request->items.words != NULL,
                 .cleanup = request->hosts.cleanup,
                 .hashes = request->journal.path != NULL,
                 .lines = request->output.lines,
                 .early = request->output.early,
                 .ok = request->failures.ok,
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

/* With a pull queue, work that is given ahead may wait for a long chunk while other workers
 * are idle. It is only worth that if it has to travel, and never for items, some of which
 * take long. */
static void fill_prefetch(struct cleave_execution *filled)
{
    static const struct cleave_setting one[] = { { "prefetch", "1" } };
    struct cleave_policy_options *policy = &filled->policy;
    const bool items = filled->items.words != NULL && filled->items.max <= 1;

    if (policy->name != NULL || policy->own != NULL || !(policy->block > 0) ||
        policy->nsettings > 0 || (!items && cv_may_have_hosts(filled)))
        return;
    policy->settings = one;
    policy->nsettings = 1;
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
    /* Rates and limits are for records. */
    if (filled->workers.nrates + filled->input.nlimits > 0 &&
        filled->items.words == NULL && filled->input.fetch == NULL &&
        filled->input.weight == NULL)
        filled->input.weight = "";
    fill_prefetch(filled);
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

/* The descriptor stays readable. */
static void cancelled(void *context, unsigned events)
{
    struct cv_execution *execution = context;

    (void)events;
    execution->run.stopped_by = CLEAVE_CANCELLED;
    (void)cv_poller_modify(execution->run.poller, &execution->cancelled, 0, NULL);
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

    if (request->input.weight != NULL)
        return 0; /* sizes are weights */
    return bytes > (double)CV_SOURCE_HOLD && bytes < 0x1p62 ? (uint64_t)ceil(bytes) : 0;
}

/* Items of a list that are read ahead for each worker; for commands with many items,
 * as many as one may have. */
enum { ITEMS_HELD = 8, MANY_HELD = 4096 };

/* Parse input.decode: read as is, or the codec of all inputs. */
static enum cleave_status read_decode(const char *text, bool *raw,
                                      const struct cv_codec **codec,
                                      struct cleave_error *err)
{
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
                   CV_SHOWN(text, 64));
}

static bool is_auto(const struct cleave_execution *request)
{
    return request->input.split != NULL && strcmp(request->input.split, "auto") == 0;
}

/* Report the format that was chosen, and what to say if it is another one. */
static enum cleave_status tell_choice(const struct cleave_execution *request,
                                      const struct cv_source *source,
                                      struct cleave_error *err)
{
    const struct cv_source_span span = cv_source_span_at(source, 0);
    bool header;
    const struct cv_format_choice *choice = cv_source_choice(source, &header);
    char text[300];

    for (size_t i = 0; choice->what != NULL && i < request->hosts.count; i++)
        if (request->hosts.list[i].leads)
            return cv_fail_at(
                err, CV_FILE(span.name),
                "host '%s' leads other hosts, so set the split: input.split %s%s%s",
                request->hosts.list[i].name, choice->split,
                header ? " and input.header " : "", header ? choice->header : "");
    if (request->listener.chose != NULL &&
        cv_format_tell(choice, header, span.name, text, sizeof text))
        request->listener.chose(request->listener.context, text);
    return CLEAVE_OK;
}

/* Open the input, or the items. */
static enum cleave_status open_source(struct cv_execution *execution,
                                      struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    const struct cv_codec *codec;
    struct cleave_error note;
    bool raw;

    CV_TRY(read_decode(request->input.decode, &raw, &codec, err));
    if (request->items.words != NULL)
        return cv_source_open_items(&request->items,
                                    (request->items.max > 1 ? MANY_HELD : ITEMS_HELD) *
                                        (uint64_t)(cv_worker_setup_count(request) +
                                                   ITEMS_HELD),
                                    execution->splitter, &execution->run.queue.source,
                                    err);
    CV_TRY(cv_source_open(
        request->input.files, request->input.count,
        &(struct cv_source_options){
            .splitter = execution->splitter,
            .choose = is_auto(request) ? execution->splitter : NULL,
            .waits = true,
            .no_header = request->input.no_header,
            .header = request->input.header,
            .pairs = request->input.pairs,
            .raw = raw,
            .codec = codec,
            .fetch = request->input.fetch,
            .size = request->input.size,
            .twice = request->input.weight != NULL &&
                     cv_weight_is_command(request->input.weight, request->input.split),
            .max_record = request->input.max_record > 0 ? request->input.max_record
                                                        : CLEAVE_MAX_RECORD,
            .hold = hold_for(request),
            .shares = shares_of(cv_worker_setup_count(request)),
            .numbers = true },
        &execution->run.queue.source, err));
    /* No command can start before. */
    while ((is_auto(request) || request->output.header_once) &&
           !cv_source_has_header(execution->run.queue.source)) {
        CV_TRY(cv_execution_heed(&execution->run, true, err));
        CV_TRY(cv_source_pump(execution->run.queue.source, err));
    }
    if (is_auto(request))
        CV_TRY(tell_choice(request, execution->run.queue.source, err));
    if (cv_source_lone(execution->run.queue.source, &note))
        cv_note(request, "%s", note.text);
    if (cv_source_unended(execution->run.queue.source, &note))
        cv_note(request, "%s", note.text);
    return cv_source_validate(execution->run.queue.source, err);
}

/* Open the splitter of the input and that of output headers. */
static enum cleave_status open_splitters(struct cv_execution *execution,
                                         struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    const char *split = request->items.words != NULL ? "fixed:1"
                        : request->input.split != NULL && !is_auto(request)
                            ? request->input.split
                            : "lines";

    CV_TRY(cv_splitter_parse(split, &execution->splitter, err));
    if (cv_splitter_has_tail(execution->splitter) && request->hosts.count > 0)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "input.split %s: cannot be combined with hosts.list: the end of the document "
            "is not sent (cleave split writes files for hosts)",
            split);
    /* Groups are taken in order; single records are chosen by their weights. */
    if (!request->input.exact || request->input.records > 1)
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
    if (request->handle_signals)
        CV_TRY(cv_poller_signals(run->poller, signals, 4, signalled, execution, err));
    if (request->cancel != NULL)
        CV_TRY(cv_poller_add_aside(run->poller, &execution->cancelled,
                                   request->cancel->fd, cancelled, execution, err));
    cv_signal_replace(request->handle_signals,
                      request->cancel != NULL ? &request->cancel->called : NULL);
    run->pool.hosts.poller = run->poller;
    return !request->workers.unguarded
               ? cv_poller_set_guard(run->poller, guard_failed, (void *)request, err)
               : CLEAVE_OK;
}

/* Outputs whose header is to be written once are written when they are complete. */
static enum cleave_status check_outputs(const struct cv_execution *execution,
                                        struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;

    if (request->reduce.command != NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "reduce.command: the input has a header: say input.header, so that "
            "every command gets it, or input.no_header, if it is a record");
    if (request->output.lines)
        return cv_fail(err, CLEAVE_EINPUT,
                       "output.lines: the header of outputs cannot be written once: say "
                       "input.no_header, or output.header 0, if each may have it");
    if (request->input.count > 1 && request->input.header_how == NULL &&
        !cv_format_has_names(execution->splitter, execution->head,
                             (size_t)execution->alone))
        return cv_fail(err, CLEAVE_EINPUT,
                       "the first record of several files has no names of columns: say "
                       "input.header, if it is a header, or input.no_header");
    return CLEAVE_OK;
}

static enum cleave_status open_input(struct cv_execution *execution,
                                     struct cleave_error *err)
{
    const struct cleave_execution *request = execution->request;
    struct cv_exec_run *run = &execution->run;

    CV_TRY(open_source(execution, err));
    execution->alone = 0;
    execution->head = NULL;
    if (request->output.header_once) {
        CV_TRY(cv_source_head_alone(run->queue.source, &execution->head,
                                    &execution->alone, err));
    }
    if (request->input.weight != NULL && request->items.words == NULL)
        CV_TRY(cv_source_weigh(run->queue.source, request->input.weight,
                               request->input.weight_default, request->output.unordered,
                               request->input.limits, request->input.nlimits, err));
    if (execution->head == NULL &&
        (request->reduce.command != NULL || request->output.lines))
        execution->alone = 0; /* each output is a file of a binary format */
    if (execution->alone > 0 && execution->head != NULL)
        CV_TRY(check_outputs(execution, err));
    CV_TRY(cv_ordered_output_new(
        &(struct cv_ordered_output_options){
            .sink = request->output.descriptor,
            .sink_name = request->output.name,
            .keep = request->output.keep,
            .keep_context = request->output.keep_context,
            .memory =
                request->output.memory > 0 ? request->output.memory : CV_GATHER_MEMORY,
            .directory = request->output.directory,
            .head = execution->outputs,
            .input_head = execution->head,
            .head_alone = execution->alone,
            .unordered = request->output.unordered ||
                         (request->output.lines && request->items.words != NULL),
            .lines = request->output.lines && request->items.words == NULL,
            .early = request->output.early && execution->alone == 0,
            .separate = cv_result_sink_separate(request),
            .files = request->reduce.command != NULL || request->journal.path != NULL ||
                     request->output.keep != NULL,
            .container = request->items.words == NULL ? cv_magic_container : NULL,
            .before = request->output.before,
            .context = request->output.context },
        &run->outputs, err));
    run->pool.hosts.source = run->queue.source;
    return cv_ordered_output_attach(run->outputs, run->poller, err);
}

static enum cleave_status open_outlet(struct cv_execution *execution,
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
               ? resume_open(&run->queue, request, execution->splitter,
                             execution->alone > 0, err)
               : CLEAVE_OK;
}

enum cleave_status cv_execution_open(struct cv_execution *execution, bool first,
                                     struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;

    CV_TRY(open_input(execution, err));
    if (first)
        CV_TRY(cv_worker_setup_connect(&execution->setup, &run->pool, execution->request,
                                       cv_splitter_frames(execution->splitter),
                                       &run->stopped_by, err));
    else
        CV_TRY(cv_worker_setup_refresh(&execution->setup, &run->pool, err));
    return open_outlet(execution, err);
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
    cv_start_rates_done(run);
    cv_key_limits_done(run);
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
    cv_signal_replace(true, NULL);
    cv_splitter_free(execution->splitter);
    cv_splitter_free(execution->outputs);
    cv_worker_setup_done(&execution->setup);
}
