/* execution.c -- the parts of a run: opened, and closed in reverse. SPDX-License-Identifier: MIT */
#include "run/execute/execution.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "policy/compound/registry.h"
#include "run/asked/asked_check.h"
#include "run/decode/decoder.h"
#include "run/master/comers.h"
#include "run/master/room.h"
#include "run/execute/resume.h"
#include "run/master/sharing.h"

#define CV_CODEC_WORD(upper, lower) ", " #lower

/* --- what was asked ------------------------------------------------------------------------ */

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
        .early = asked->output.early,
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

void cv_execution_prepare(struct cv_execution *execution, struct cleave_execution *filled)
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
                                  .least_memory = filled->crew.least_memory,
                                  .most_files = cv_gate_files() };
    if (filled->items.sizes != NULL && filled->sharing.policy == NULL &&
        filled->sharing.own_policy == NULL)
        filled->sharing.policy = cv_policy_of_items()->name;
    cv_muster_init(&execution->muster);
    cv_hosts_init(&run->staff.hosts);
    run->asked = filled;
    cv_room_watch(run);
    run->books.news = &run->news;
    run->staff.hosts.terms = host_terms(filled);
    run->staff.hosts.changed = cv_comers_changed;
    run->staff.hosts.context = run;
    run->staff.hosts.stopped_by = &run->stopped_by;
}

/* --- opening ------------------------------------------------------------------------------ */

static void signalled(void *context, int signal)
{
    struct cv_execution *execution = context;

    if (signal == SIGHUP && execution->asked->hosts.more != NULL)
        execution->run.rehost = true;
    else if (!cv_signal_is_ignored(signal)) {
        execution->run.stopped_by = signal;
        cv_poller_hold_signals(execution->run.poller);
    }
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
static enum cleave_status open_source(struct cv_execution *execution, bool raw,
                                      const struct cv_codec *codec,
                                      struct cleave_error *err)
{
    const struct cleave_execution *asked = execution->asked;
    struct cleave_error note;

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
    if (asked->tell.note != NULL && cv_source_lone(execution->run.books.source, &note))
        asked->tell.note(asked->tell.context, note.text);
    if (asked->tell.note != NULL && cv_source_unended(execution->run.books.source, &note))
        asked->tell.note(asked->tell.context, note.text);
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
static enum cleave_status open_splitters(struct cv_execution *execution,
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

    if (tell->note != NULL)
        tell->note(tell->context, err->text);
}

enum cleave_status cv_execution_open_base(struct cv_execution *execution,
                                          struct cleave_error *err)
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

enum cleave_status cv_execution_open_input(struct cv_execution *execution,
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
            .early = asked->output.early,
            .separate = cv_outlet_separate(asked),
            .files = asked->reduce.command != NULL || asked->journal.path != NULL,
            .before = asked->output.before,
            .context = asked->output.context },
        &run->gather, err));
    run->staff.hosts.source = run->books.source;
    return cv_gather_attach(run->gather, run->poller, err);
}

enum cleave_status cv_execution_open_outlet(struct cv_execution *execution,
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
                                                                  : NULL,
                                                       .gate = &run->gate },
                          &run->outlet, err));
    return asked->journal.path != NULL
               ? cv_resume_open(&run->books, asked, execution->splitter, err)
               : CLEAVE_OK;
}

enum cleave_status cv_execution_name_signal(struct cv_real_run *run,
                                            enum cleave_status status)
{
    if (status == CLEAVE_ESTOPPED && run->stopped_by == 0)
        (void)cv_poller_wait(run->poller, 0, NULL);
    return status;
}

enum cleave_status cv_execution_heed_signals(struct cv_real_run *run,
                                             struct cleave_error *err)
{
    CV_TRY(cv_poller_wait(run->poller, 0, err));
    return run->stopped_by != 0 ? cv_fail_stopped(err) : CLEAVE_OK;
}

/* --- closing ------------------------------------------------------------------------------ */

void cv_execution_close_input(struct cv_execution *execution)
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

void cv_execution_close(struct cv_execution *execution)
{
    struct cv_real_run *run = &execution->run;

    cv_execution_close_input(execution);
    cv_desks_close(&run->desks);
    cv_hosts_done(&run->staff.hosts);
    cv_source_free(run->books.source);
    cv_poller_free(run->poller);
    cv_splitter_free(execution->splitter);
    cv_splitter_free(execution->outputs);
    cv_muster_done(&execution->muster);
}
