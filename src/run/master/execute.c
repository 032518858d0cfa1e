/* execute.c -- run a command over an input: the public call. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "engine/driver.h"
#include "model/platform/nominal.h"
#include "policy/compound/registry.h"
#include "run/asked/asked_check.h"
#include "run/decode/decoder.h"
#include "run/kit/usable_cores.h"
#include "run/master/attempt_report.h"
#include "run/master/real_engine.h"
#include "run/master/comers.h"
#include "run/master/muster.h"
#include "run/master/resume.h"
#include "run/master/run_result.h"
#include "run/master/series.h"
#include "run/master/sharing.h"

/* Of workers that nothing is known of: how many times faster one may be than another, here
 * and on several machines. */
static const double UNEQUAL_HERE = 4, UNEQUAL_AWAY = 30;
/* A pipe holds what its command reads in 10 ms (run/kit/feed.h), and the command as much again:
 * for so long it reads nothing. Where cores are fewer than commands, all the longer. */
static const double BURST_S = 0.02;
/* By such a part chunks take more or less time, on a machine that has nothing else to do. */
static const double VARIES = 0.05;

#define CV_CODEC_WORD(upper, lower) ", " #lower

/* All that a run needs; closed in reverse. */
struct execution {
    const struct cleave_execution *asked;
    struct cv_muster muster;
    struct cv_splitter *splitter; /* owned               */
    struct cv_splitter *outputs;  /* owned: of a header that each output has, or NULL */
    struct cv_real_run run;       /* its parts are owned */
    const struct cleave_worker *declared; /* what the policy is told of workers       */
    struct cv_planned planned;
    bool is_planned;
    double began_s;
};

/* --- parts -------------------------------------------------------------------------------- */

static void signalled(void *context, int signal)
{
    struct execution *execution = context;

    if (signal == SIGHUP && execution->asked->hosts.more != NULL)
        execution->run.rehost = true;
    else if (!cv_signal_is_ignored(signal))
        execution->run.stopped_by = signal;
}

/* The largest piece of a stream is such a part of what is kept of it: while all workers
 * have one, another can wait for whoever is done first, and some more for many of them. */
static unsigned shares_of(uint32_t workers)
{
    return workers + 1 + workers / 4;
}

/* How much of a stream is kept: room for all that was asked for; 0: as usual. */
static uint64_t hold_for(const struct cleave_execution *asked)
{
    const double bytes =
        cv_sharing_size(&asked->sharing) * shares_of(cv_muster_count(asked));

    return bytes > (double)CV_SOURCE_HOLD && bytes < 0x1p62 ? (uint64_t)ceil(bytes) : 0;
}

/* Of items that come: so many wait for each worker, that nobody has to wait for the list; and
 * where a command does many of them, as many as it may. */
enum { ITEMS_HELD = 8, MANY_HELD = 4096 };

/* What is shared out: an input, or items. */
static enum cleave_status open_source(struct execution *execution, bool raw,
                                      const struct cv_codec *codec,
                                      struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;

    if (asked->items.words != NULL)
        return cv_source_open_items(&asked->items,
                                    (asked->items.most > 1 ? MANY_HELD : ITEMS_HELD) *
                                        (uint64_t)(cv_muster_count(asked) + ITEMS_HELD),
                                    execution->splitter, &execution->run.books.source,
                                    err);
    CV_TRY(cv_source_open(asked->input.files, asked->input.count,
                          &(struct cv_source_options){
                              .splitter = execution->splitter,
                              .header = asked->input.header,
                              .pairs = asked->input.pairs,
                              .raw = raw,
                              .codec = codec,
                              .fetch = asked->input.fetch,
                              .size = asked->input.size,
                              .max_record = asked->input.max_record > 0
                                                ? asked->input.max_record
                                                : CLEAVE_MAX_RECORD,
                              .hold = hold_for(asked),
                              .shares = shares_of(cv_muster_count(asked)),
                              .numbers = true },
                          &execution->run.books.source, err));
    return cv_source_vet(execution->run.books.source, err);
}

/* What to do about compressed and other binary inputs: whether to take them as they are,
 * or how all of them are to be decoded. */
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
                   "--decode: expected auto, none" CV_CODEC_MAP(
                       CV_CODEC_WORD) ", got '%s'",
                   cv_shown(text, strlen(text), shown, sizeof shown));
}

/* How the input is cut and, if outputs have headers, how these are told. */
static enum cleave_status open_splitters(struct execution *execution,
                                         struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;
    const char *split = asked->items.words != NULL   ? "fixed:1"
                        : asked->input.split != NULL ? asked->input.split
                                                     : "lines";

    CV_TRY(cv_splitter_parse(split, &execution->splitter, err));
    if (cv_splitter_has_tail(execution->splitter) && asked->hosts.count > 0)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--split %s: expected commands on this machine, got hosts: what "
            "closes a document is not sent (cleave split writes files for them)",
            split);
    CV_TRY(cv_splitter_set_records(execution->splitter, asked->input.records, err));
    CV_TRY(cv_splitter_set_together(execution->splitter, asked->input.together, err));
    if (asked->input.header)
        CV_TRY(cv_splitter_set_header(execution->splitter, asked->input.header_how, err));
    if (asked->output.header == NULL)
        return CLEAVE_OK;
    if (asked->reduce.command != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--header-out: with --reduce the headers of outputs are seen by "
                       "its command, which has to deal with them");
    CV_TRY(cv_splitter_parse(strncmp(split, "csv", 3) == 0 ? split : "lines",
                             &execution->outputs, err));
    return cv_splitter_set_header(execution->outputs, asked->output.header, err);
}

/* A run can do without a guard, but not without a word. */
static void guard_failed(void *context, const struct cleave_error *err)
{
    const struct cleave_listener *tell = context;
    struct cleave_error note;

    cv_fail(&note, CLEAVE_EENGINE, "commands will go on if this process is killed: %s",
            err->text);
    if (tell->note != NULL)
        tell->note(tell->context, note.text);
}

/* What does not depend on the input. */
static enum cleave_status open_base(struct execution *execution, struct cleave_error *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
    const struct cleave_execution *asked = execution->asked;
    struct cv_real_run *run = &execution->run;

    CV_TRY(cv_asked_check(asked, err));
    CV_TRY(open_splitters(execution, err));
    CV_TRY(cv_poller_new(&run->poller, err));
    CV_TRY(cv_poller_signals(run->poller, signals, 4, signalled, execution, err));
    run->staff.hosts.poller = run->poller;
    return asked->crew.guard
               ? cv_poller_set_guard(run->poller, guard_failed, (void *)&asked->tell, err)
               : CLEAVE_OK;
}

/* The input, and where outputs go. */
static enum cleave_status open_input(struct execution *execution,
                                     struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;
    struct cv_real_run *run = &execution->run;
    const struct cv_codec *codec;
    bool raw;

    CV_TRY(read_decode(asked->input.decode, &raw, &codec, err));
    CV_TRY(open_source(execution, raw, codec, err));
    CV_TRY(cv_gather_new(
        &(struct cv_gather_options){
            .sink = asked->output.descriptor,
            .sink_name = asked->output.name,
            .memory = asked->output.memory > 0 ? asked->output.memory : CV_GATHER_MEMORY,
            .directory = asked->output.directory,
            .head = execution->outputs,
            .unordered = asked->output.unordered ||
                         (asked->output.lines && asked->items.words != NULL),
            .lines = asked->output.lines && asked->items.words == NULL,
            .separate = cv_outlet_separate(asked),
            .files = asked->reduce.command != NULL || asked->journal.path != NULL },
        &run->gather, err));
    run->staff.hosts.source = run->books.source;
    return cv_gather_attach(run->gather, run->poller, err);
}

static enum cleave_status open_outlet(struct execution *execution,
                                      struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;
    struct cv_real_run *run = &execution->run;

    CV_TRY(cv_outlet_open(&(struct cv_outlet_options){ .asked = asked,
                                                       .poller = run->poller,
                                                       .gather = run->gather,
                                                       .staff = &run->staff,
                                                       .books = &run->books,
                                                       .desks = &run->desks,
                                                       .log = asked->tell.trace != NULL
                                                                  ? &run->folds
                                                                  : NULL },
                          &run->outlet, err));
    return asked->journal.path != NULL
               ? cv_resume_open(&run->books, asked, execution->splitter, err)
               : CLEAVE_OK;
}

static enum cleave_status open_parts(struct execution *execution,
                                     struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;

    CV_TRY(open_base(execution, err));
    CV_TRY(open_input(execution, err));
    CV_TRY(cv_muster_call(&execution->muster, &run->staff, execution->asked,
                          &run->stopped_by, err));
    return open_outlet(execution, err);
}

/* What has stopped the run, where that was seen by somebody who does not hear signals. */
static enum cleave_status name_signal(struct cv_real_run *run, enum cleave_status status)
{
    if (status == CLEAVE_ESTOPPED && run->stopped_by == 0)
        (void)cv_poller_wait(run->poller, 0, NULL);
    return status;
}

/* A signal that came while nobody waited for anything. */
static enum cleave_status heed_signals(struct cv_real_run *run, struct cleave_error *err)
{
    CV_TRY(cv_poller_wait(run->poller, 0, err));
    return run->stopped_by != 0 ? cv_fail_stopped(err) : CLEAVE_OK;
}

/* Whether chunks may stay open: commands are started for each. To other machines all that
 * is given is sent, and what they make of it comes back. */
static bool may_open(const struct execution *execution,
                     const struct cleave_policy *policy)
{
    const struct cleave_execution *asked = execution->asked;
    const struct cv_hosts *hosts = &execution->run.staff.hosts;

    /* A command may read its mates first, to their end, and of an open chunk there is none yet:
     * only who knows the command can tell. */
    if (asked->input.pairs != NULL && asked->sharing.own_policy == NULL)
        return false;
    /* What is fetched has an end from the start. */
    if (asked->input.fetch != NULL)
        return false;
    if (hosts->count > 0 && (!policy->hears_losses || hosts->keeps || hosts->leads ||
                             asked->input.pairs != NULL))
        return false;
    /* Neither can what frames a chunk be put behind it before it is known to be all. */
    return !asked->persistent && !asked->tell_records && asked->items.words == NULL &&
           !cv_splitter_frames(execution->splitter);
}

/* What the policy is told of workers: as declared or, if nobody has and it is of use to it, as
 * the journal has it. */
static enum cleave_status declare(struct execution *execution,
                                  const struct cleave_policy *policy,
                                  struct cleave_error *err)
{
    if (execution->declared != NULL)
        return CLEAVE_OK;
    execution->declared = cleave_platform_workers(execution->muster.platform);
    if (execution->run.books.journal == NULL || !policy->opens_chunks ||
        !may_open(execution, policy))
        return CLEAVE_OK;
    return cv_resume_speeds(&execution->run, &execution->muster.arena,
                            &execution->declared, err);
}

/* Whether all that is told of workers was measured. */
static bool is_measured(const struct execution *execution)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(execution->muster.platform); w++)
        if (cv_is_nominal(&execution->declared[w]))
            return false;
    return true;
}

/* So many commands have a core of this machine between them. */
static double crowd_of(const struct cv_staff *staff)
{
    uint32_t here = 0;

    for (uint32_t w = 0; w < staff->nworkers; w++)
        here += staff->host_of[w] == NULL && !staff->absent[w];
    return fmax(1, (double)here / cv_usable_cores());
}

/* What the policy is told of the load, and of how chunks get to those who do them. */
static struct cv_load describe(const struct execution *execution,
                               const struct cleave_policy *policy, double total)
{
    const struct cleave_items *items = &execution->asked->items;
    struct cv_load load = { .units = total,
                            .real = true,
                            .folders = cv_outlet_folders(&execution->run.staff,
                                                         execution->asked),
                            .folds_apart = cv_outlet_apart(execution->asked) };

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
    load.unequal = execution->run.staff.hosts.count > 0 ? UNEQUAL_AWAY : UNEQUAL_HERE;
    load.hold = cv_source_hold(execution->run.books.source);
    load.opens = policy->hears_losses && may_open(execution, policy);
    /* As much is in the pipe of a command that has not shown how fast it reads. */
    load.ahead = load.opens ? (double)sysconf(_SC_PAGESIZE) : 0;
    load.burst_s = load.opens ? BURST_S * crowd_of(&execution->run.staff) : 0;
    load.varies = load.opens ? VARIES : 0;
    return load;
}

static enum cleave_status make_plan(struct execution *execution, double total,
                                    struct cleave_error *err)
{
    const struct cleave_sharing *sharing = &execution->asked->sharing;
    const struct cleave_setting *settings;
    const struct cleave_policy *policy;
    struct cv_load load;
    size_t nsettings;

    CV_TRY(cv_sharing_policy(sharing, &policy, err));
    CV_TRY(cv_sharing_settings(sharing, &execution->muster.arena, &settings, &nsettings,
                               err));
    execution->run.books.hears_losses = policy->hears_losses;
    execution->run.books.hears_comers = policy->hears_losses || policy->takes_joiners;
    CV_TRY(declare(execution, policy, err));
    load = describe(execution, policy, total);
    CV_TRY(cv_planned_init(&execution->planned, policy, settings, nsettings,
                           execution->muster.platform, execution->declared, &load, NULL,
                           err));
    execution->is_planned = true;
    return CLEAVE_OK;
}

/* --- the run ------------------------------------------------------------------------------ */

static enum cleave_status drive(struct execution *execution, struct cleave_error *err)
{
    struct cv_run run = { .platform = execution->muster.platform };
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(cv_driver_open(&execution->planned, &cv_engine_real,
                          execution->muster.platform, &execution->run, &driver, err));
    status = cv_driver_run(driver, &run, execution->asked->tell.trace, &outcome, err);
    cv_driver_close(driver);
    return name_signal(&execution->run, status);
}

/* Write what is still to be written. After a halt, what comes behind a chunk that was not
 * done never will be. */
static enum cleave_status flush(struct execution *execution, struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;
    enum cv_gather_state state;

    for (;;) {
        const enum cleave_status status = cv_gather_pump(run->gather, 0, &state, err);

        CV_TRY(cv_real_run_written(run, err));
        if (status != CLEAVE_OK || state == CV_GATHER_IDLE)
            return status;
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
        CV_TRY(cv_poller_wait(run->poller, -1, err));
    }
}

/* Items do not hang together: after a halt, outputs behind those that are left are wanted all
 * the same. */
static enum cleave_status pass_over_left(struct execution *execution,
                                         struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;
    struct cv_range_set left;
    struct cv_range range;
    enum cleave_status status;

    if (!run->halted || run->stopped_by != 0 || run->asked->items.words == NULL ||
        run->asked->reduce.command != NULL)
        return CLEAVE_OK;
    cv_range_set_init(&left);
    status = cv_ledger_left(&run->books.ledger, cv_source_extent(run->books.source),
                            &left, err);
    for (uint64_t at = 0; status == CLEAVE_OK && cv_range_set_find(&left, at, &range);
         at = range.end)
        status = cv_outlet_skip(run->outlet, range.begin, range.end, err);
    cv_range_set_done(&left);
    return status;
}

/* A record that the end of the input cuts short: something is missing there, and though all
 * that came was done, the result is not that of whole records. */
static enum cleave_status check_torn(const struct execution *execution,
                                     struct cleave_error *err)
{
    struct cleave_error note;
    bool torn = false;

    CV_TRY(cv_source_torn(execution->run.books.source, &torn, &note, err));
    if (!torn)
        return CLEAVE_OK;
    if (err != NULL)
        *err = note;
    return note.status;
}

/* What was done twice is worth a word whatever else has failed. */
static void note_fault(const struct execution *execution)
{
    const struct cv_books *books = &execution->run.books;
    struct cleave_error err;

    if (execution->asked->tell.note != NULL &&
        cv_ledger_check(&books->ledger, books->source, false, &err) != CLEAVE_OK)
        execution->asked->tell.note(execution->asked->tell.context, err.text);
}

/* A file that is decoded is damaged: do what is left of all that is before. */
static bool begin_again(struct execution *execution)
{
    struct cv_real_run *run = &execution->run;
    struct cv_books *books = &run->books;
    struct cv_range_set left;
    bool again = false;

    if (run->stopped_by != 0 || run->halted || run->staff.hosts.count > 0)
        return false;
    cv_range_set_init(&left);
    if (cv_ledger_left(&books->ledger, cv_source_extent(books->source), &left, NULL) ==
        CLEAVE_OK)
        again = cv_source_shorten(books->source, &left);
    cv_range_set_done(&left);
    if (!again)
        return false;
    books->pending = books->growing = 0;
    books->wanted = 0;
    books->running = 0;
    run->news.broken = false;
    cv_planned_done(&execution->planned);
    execution->is_planned = false;
    return true;
}

static enum cleave_status drive_all(struct execution *execution, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    double left = cv_source_left(execution->run.books.source);

    while (left > 0) {
        CV_TRY(make_plan(execution, left, err));
        status = drive(execution, err);
        if (status == CLEAVE_OK || !begin_again(execution))
            return status;
        left = cv_source_left(execution->run.books.source);
    }
    return CLEAVE_OK;
}

static enum cleave_status run_all(struct execution *execution, struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;
    enum cleave_status status;

    if (run->books.journal != NULL)
        CV_TRY(cv_resume_known(run, err));
    status = drive_all(execution, err);
    if (status == CLEAVE_OK)
        status = cv_real_run_settle(run, err);
    if (status == CLEAVE_OK || run->halted) {
        struct cleave_error *told = status == CLEAVE_OK ? err : NULL;
        enum cleave_status written = pass_over_left(execution, told);

        if (written == CLEAVE_OK)
            written = flush(execution, told);
        status = written == CLEAVE_OK ? status : written;
    }
    if (status == CLEAVE_OK)
        status = cv_real_run_complete(run, err);
    else
        note_fault(execution);
    return status == CLEAVE_OK ? check_torn(execution, err) : status;
}

/* A run that failed for several reasons has one status: that of the first of these. */
static enum cleave_status name_failure(const struct cv_real_run *run,
                                       enum cleave_status status,
                                       struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    if (run->stopped_by != 0)
        status = CLEAVE_ESTOPPED;
    else if (run->output_closed)
        status = CLEAVE_ECLOSED;
    if (err != NULL)
        err->status = status;
    return status;
}

/* Folds are no affair of the policy's: they stand behind all else in the trace. */
static enum cleave_status note_folds(const struct cv_real_run *run,
                                     enum cleave_status status, struct cleave_error *err)
{
    struct cleave_error other;
    enum cleave_status written;

    if (run->folds.count == 0)
        return status;
    written =
        cv_fold_log_write(&run->folds, run->news.began_s, run->asked->tell.trace, &other);
    if (status != CLEAVE_OK || written == CLEAVE_OK)
        return status;
    if (err != NULL)
        *err = other;
    return written;
}

/* What belongs to an input: hosts, and the poller, stay. */
static void close_input(struct execution *execution)
{
    struct cv_real_run *run = &execution->run;

    if (execution->is_planned)
        cv_planned_done(&execution->planned);
    execution->is_planned = false;
    cv_journal_close(run->books.journal);
    cv_item_keys_free(run->books.keys);
    cv_outlet_free(run->outlet);
    if (run->gather != NULL) {
        cv_gather_detach(run->gather);
        cv_gather_free(run->gather);
    }
    cv_ledger_done(&run->books.ledger);
    cv_blame_done(&run->blame);
    cv_trust_close(&run->staff.trust);
    cv_failure_notes_done(&run->failures);
    cv_fold_log_done(&run->folds);
}

static void close_all(struct execution *execution)
{
    struct cv_real_run *run = &execution->run;

    close_input(execution);
    cv_desks_close(&run->desks);
    cv_hosts_done(&run->staff.hosts);
    cv_source_free(run->books.source);
    cv_poller_free(run->poller);
    cv_splitter_free(execution->splitter);
    cv_splitter_free(execution->outputs);
    cv_muster_done(&execution->muster);
}

/* What other machines have to know of what was asked. */
static struct cv_host_terms host_terms(const struct cleave_execution *asked)
{
    return (struct cv_host_terms){
        .command = asked->command,
        .environment = asked->hosts.environment,
        .work_directory = asked->hosts.work_directory,
        .persistent = asked->persistent,
        .items = asked->items.words != NULL,
        .cleanup = asked->hosts.cleanup,
        .base_files = asked->hosts.base_files,
        .hashes = asked->journal.path != NULL,
        .lines = asked->output.lines,
        .shared_input = asked->hosts.shared_input,
        .command_timeout_s = asked->failing.timeout_s,
        .connect_timeout_s = asked->hosts.connect_timeout_s,
        .silence_s = asked->hosts.timeout_s,
        .notice_s = asked->hosts.notice_s == 0 ? CLEAVE_HOST_NOTICE_S
                                               : fmax(asked->hosts.notice_s, 0),
        .memory = asked->output.memory,
        .note = asked->tell.note,
        .note_context = asked->tell.context,
    };
}

/* An item that was sent ahead waits for the one before it, however long that takes, while others
 * have nothing to do: on hosts, each is sent to one that is free. */
static void fill_items_away(struct cleave_execution *filled)
{
    static const struct cleave_setting one[] = { { "prefetch", "1" } };

    if (filled->items.words == NULL || filled->items.sizes != NULL ||
        filled->items.most > 1 || filled->hosts.count == 0 ||
        filled->sharing.nsettings > 0)
        return;
    filled->sharing.settings = one;
    filled->sharing.nsettings = 1;
}

/* Fill in what was left open, and make everything ready to be opened. */
static void prepare(struct execution *execution, struct cleave_execution *filled)
{
    struct cv_real_run *run = &execution->run;

    if (!(filled->hosts.connect_timeout_s > 0))
        filled->hosts.connect_timeout_s = CLEAVE_HOST_TIMEOUT_S;
    if (!(filled->hosts.timeout_s > 0))
        filled->hosts.timeout_s = CLEAVE_HOST_TIMEOUT_S;
    if (filled->items.words != NULL && filled->items.sizes == NULL &&
        filled->items.most <= 1 && !(filled->sharing.block > 0))
        filled->sharing.block = 1;
    fill_items_away(filled);
    run->gate = (struct cv_gate){ .delay_s = filled->crew.delay_s,
                                  .most_load = filled->crew.most_load,
                                  .least_memory = filled->crew.least_memory };
    if (filled->items.sizes != NULL && filled->sharing.policy == NULL &&
        filled->sharing.own_policy == NULL)
        filled->sharing.policy = cv_policy_of_items()->name;
    cv_muster_init(&execution->muster);
    cv_hosts_init(&run->staff.hosts);
    run->asked = filled;
    run->books.news = &run->news;
    run->staff.hosts.terms = host_terms(filled);
    run->staff.hosts.changed = cv_comers_changed;
    run->staff.hosts.context = run;
    run->staff.hosts.stopped_by = &run->stopped_by;
}

enum cleave_status cleave_execute(const struct cleave_execution *asked,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    struct cleave_execution filled = *asked;
    struct execution execution = { .asked = &filled, .began_s = cv_clock_s() };
    enum cleave_status status;

    *out = NULL;
    prepare(&execution, &filled);
    status = name_signal(&execution.run, open_parts(&execution, err));
    if (status == CLEAVE_OK)
        status = heed_signals(&execution.run, err);
    if (status != CLEAVE_OK && execution.run.stopped_by != 0) {
        status = cv_fail_stopped(err);
        *out = cv_run_sum_up_nothing(execution.run.stopped_by,
                                     cv_clock_s() - execution.began_s);
    } else if (status == CLEAVE_OK) {
        status = name_failure(&execution.run, run_all(&execution, err), err);
        status = note_folds(&execution.run, status, err);
        cv_note_failures_end(&execution.run.failures, &filled);
        cv_note_rests(&filled, &execution.run.staff);
        *out = cv_run_sum_up(&execution.run, &execution.muster,
                             cv_clock_s() - execution.began_s);
        if (*out == NULL && status == CLEAVE_OK)
            status = cv_fail_memory(err, "the summary");
    }
    close_all(&execution);
    return status;
}

/* --- several inputs ----------------------------------------------------------------------- */

/* As it was before the first input, but for who works and what links they have. */
static void forget_input(struct execution *execution)
{
    struct cv_real_run *run = &execution->run;
    const struct cv_real_run before = *run;

    close_input(execution);
    cv_source_free(run->books.source);
    *run = (struct cv_real_run){ .asked = before.asked,
                                 .poller = before.poller,
                                 .staff = before.staff,
                                 .desks = before.desks,
                                 .stay = before.stay,
                                 .gate = before.gate,
                                 .stopped_by = before.stopped_by };
    run->staff.trust = (struct cv_trust){ .count = 0 };
    execution->declared = NULL; /* who is there will have changed */
    run->staff.hosts.source = NULL;
    run->books.news = &run->news;
}

static enum cleave_status open_next(struct execution *execution, bool first,
                                    struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;

    CV_TRY(open_input(execution, err));
    if (first)
        CV_TRY(cv_muster_call(&execution->muster, &run->staff, execution->asked,
                              &run->stopped_by, err));
    else
        CV_TRY(cv_muster_refresh(&execution->muster, &run->staff, err));
    return open_outlet(execution, err);
}

/* One input, from when it is there until its output is. */
static enum cleave_status run_one(struct execution *execution, bool first,
                                  bool *out_failed, struct cleave_error *err)
{
    struct cv_real_run *run = &execution->run;
    enum cleave_status status = name_signal(run, open_next(execution, first, err));

    if (status == CLEAVE_OK)
        status = heed_signals(run, err);
    if (status == CLEAVE_OK)
        status = name_failure(run, run_all(execution, err), err);
    cv_note_failures_end(&run->failures, execution->asked);
    *out_failed = run->books.failed > 0;
    /* That its commands fail is no fault of this run. */
    if (run->halted && *out_failed && status == CLEAVE_EENGINE)
        status = CLEAVE_OK;
    forget_input(execution);
    return status;
}

/* There is no other input: let commands that stay end, as they do behind the last chunk. */
static enum cleave_status let_leave(struct cv_real_run *run, struct cleave_error *err)
{
    while (!cv_desks_left(&run->desks, false)) {
        CV_TRY(cv_poller_wait(run->poller, -1, err));
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_execute_series(const struct cleave_execution *asked,
                                     const struct cv_series *series,
                                     struct cleave_error *err)
{
    struct cleave_execution filled = *asked;
    struct execution execution = { .asked = &filled, .began_s = cv_clock_s() };
    struct cv_real_run *run = &execution.run;
    const char *path[] = { NULL };
    bool failed;
    enum cleave_status status;

    prepare(&execution, &filled);
    filled.input.files = path;
    filled.input.count = 1;
    run->stay = filled.persistent;
    status = open_base(&execution, err);
    for (bool first = true; status == CLEAVE_OK; first = false) {
        status =
            series->next(series->context, run->poller, &run->stopped_by, &path[0], err);
        if (status != CLEAVE_OK || path[0] == NULL)
            break;
        status = run_one(&execution, first, &failed, err);
        if (status == CLEAVE_OK)
            status = series->over(series->context, failed, err);
    }
    if (status == CLEAVE_OK)
        status = let_leave(run, err);
    close_all(&execution);
    return status;
}
