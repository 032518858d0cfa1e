/* execution_run.c -- a run: resumed, planned and driven until its outputs are written.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "run/common/machine.h"
#include "run/common/poller.h"
#include "run/common/request_check.h"
#include "run/execute/execution.h"
#include "run/input/source.h"
#include "run/master/exec_run.h"
#include "run/master/run_policy.h"
#include "run/master/worker_setup.h"
#include "run/slot/slot.h"

/* --- resuming -------------------------------------------------------------------------- */

/* Changed chunks that are named; others are counted. */
enum { NAMED = 10 };

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

/* The output is in the file that output.keep made of it, or else in the journal. */
static enum cleave_status find_old_output(struct cv_exec_run *run, uint64_t first_byte,
                                          uint64_t id, struct cv_chunk_output *store,
                                          bool *whole, struct cleave_error *err)
{
    const struct cleave_output *output = &run->request->output;
    int fd = output->find != NULL ? output->find(output->keep_context, first_byte) : -1;
    enum cleave_status status = CLEAVE_OK;
    struct cv_journal_chunk chunk;

    *whole = false;
    if (fd >= 0)
        status = cv_journal_output_is(run->queue.journal, id, fd, whole, &chunk, err);
    cv_close(&fd);
    if (status != CLEAVE_OK || !*whole)
        return status != CLEAVE_OK ? status
                                   : cv_journal_output(run->queue.journal, id,
                                                       store_bytes, store, whole, err);
    return cv_chunk_output_put_in_file(store, strdup(""), chunk.output_bytes,
                                       chunk.output_hash)
               ? CLEAVE_OK
               : cv_fail_memory(err, "an output");
}

/* *whole is false if the journal's copy is damaged: it is not used. */
static enum cleave_status use_old_output(struct cv_exec_run *run,
                                         const struct cv_piece *piece, uint64_t id,
                                         bool *whole, struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(run->outputs, &store, err));
    status = find_old_output(run, piece->begin, id, store, whole, err);
    if (*whole)
        CV_THEN(status, format_output(run, piece, &store, err));
    if (status != CLEAVE_OK || !*whole) {
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
                "%s: %s: %" PRIu64 " of its %" PRIu64
                " finished chunks %s not as written and %s done again",
                run->request->journal.path,
                run->request->output.find != NULL
                    ? "the journal or a file of an output was changed"
                    : "the journal is damaged",
                damaged, of, damaged == 1 ? "is" : "are", damaged == 1 ? "is" : "are");
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

static void more_arrived(void *context, unsigned events)
{
    bool *ready = context;

    (void)events;
    *ready = true;
}

enum cleave_status cv_execution_heed(struct cv_exec_run *run, bool awaits,
                                     struct cleave_error *err)
{
    const int fd = awaits ? cv_source_poll_fd(run->queue.source) : -1;
    enum cleave_status status = CLEAVE_OK;
    bool ready = fd < 0;
    struct cv_watch watch = { 0 };

    if (fd >= 0)
        CV_TRY(cv_poller_add(run->poller, &watch, fd, CV_READABLE, more_arrived, &ready,
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

/* Hand the outputs of an earlier run that are still valid to the ordered output. Changed
 * input is reported and done again. */
static enum cleave_status resume_known(struct cv_exec_run *run, struct cleave_error *err)
{
    uint64_t changed = 0;

    if (run->queue.journal == NULL || !run->request->journal.resume)
        return cv_source_start(run->queue.source, err);
    if (run->queue.keys != NULL)
        CV_TRY(cv_journal_tell_items(run->queue.journal, run->queue.source,
                                     run->queue.keys, err));
    else
        CV_TRY(cv_journal_tell(run->queue.journal, run->queue.source, err));
    CV_TRY(cv_source_start(run->queue.source, err));
    for (;;) {
        struct cv_piece piece;
        enum cv_known state;
        uint64_t id;

        CV_TRY(cv_source_known(run->queue.source, &state, &piece, &id, err));
        if (state == CV_KNOWN_END)
            break;
        CV_TRY(cv_execution_heed(run, state == CV_KNOWN_WAIT, err));
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

/* --- plan ------------------------------------------------------------------------------ */

/* Ratio of the fastest to the slowest worker to expect, unless they are alike. */
static const double UNEQUAL = 30;
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

    if (hosts->count > 0 && (!policy->gets_losses || cv_result_sink_apart(request) ||
                             hosts->leads || request->input.pairs != NULL))
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

/* Whether a chunk may be run twice: its output is collected, and not left on a host. */
static bool may_copy(const struct cleave_execution *request)
{
    const enum cleave_backups backups = request->policy.backups;

    return backups != CLEAVE_BACKUPS_OFF && request->window == 0 &&
           !request->output.lines && !request->output.direct &&
           !cv_result_sink_apart(request) &&
           (request->items.words == NULL || backups == CLEAVE_BACKUPS_ON);
}

static bool same_words(const char *const *a, const char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return *a == NULL && *b == NULL;
}

/* Workers of one machine that start the same command are alike. */
static enum cleave_status group_workers(struct cv_execution *execution,
                                        const uint32_t **out, struct cleave_error *err)
{
    const struct cv_worker_pool *pool = &execution->run.pool;
    const uint32_t n = cleave_platform_nworkers(execution->setup.platform);
    uint32_t *groups = cv_array(&execution->setup.arena, n, sizeof *groups);
    uint32_t *first = cv_array(&execution->setup.arena, n, sizeof *first);
    uint32_t ngroups = 0;

    if (groups == NULL || first == NULL)
        return cv_fail_memory(err, "the workers of a run");
    for (uint32_t w = 0; w < n; w++) {
        uint32_t g = 0;

        while (g < ngroups && (pool->host_of[w] != pool->host_of[first[g]] ||
                               !same_words(pool->prefixes[w], pool->prefixes[first[g]])))
            g++;
        if (g == ngroups)
            first[ngroups++] = w;
        groups[w] = g;
    }
    *out = groups;
    return CLEAVE_OK;
}

/* The load and the transport, as the policy gets them. */
static struct cleave_view describe(const struct cv_execution *execution,
                                   const struct cleave_policy *policy, double total)
{
    const struct cleave_items *items = &execution->request->items;
    struct cleave_view load = { .units_total = total,
                                .real = true,
                                .copies = may_copy(execution->request),
                                .folders = cv_result_sink_folders(&execution->run.pool,
                                                                  execution->request),
                                .folds_apart = cv_result_sink_apart(execution->request) };

    if (items->sizes != NULL) {
        load.sizes = items->sizes;
        load.nitems = items->count;
        load.measured = is_measured(execution);
        load.units_total = 0;
        for (uint64_t i = 0; i < items->count; i++)
            load.units_total += items->sizes[i];
        return load;
    }
    if (!policy->opens_chunks)
        return load;
    load.measured = is_measured(execution);
    load.unequal = UNEQUAL;
    load.hold = cv_source_is_weighed(execution->run.queue.source)
                    ? 0
                    : cv_source_hold(execution->run.queue.source);
    load.opens = policy->gets_losses && may_open(execution, policy);
    load.ahead = load.opens ? (double)ahead_of(&execution->run.pool, total) : 0;
    load.burst_s = load.opens ? BURST_S * crowd_of(&execution->run.pool) : 0;
    load.varies = load.opens ? VARIES : 0;
    return load;
}

/* Let the policy plan for `total` bytes. */
static enum cleave_status make_plan(struct cv_execution *execution, double total,
                                    struct cleave_error *err)
{
    const struct cleave_policy_options *options = &execution->request->policy;
    const struct cleave_setting *settings;
    const struct cleave_policy *policy;
    struct cleave_view load;
    size_t nsettings;

    CV_TRY(cv_run_policy_find(options, &policy, err));
    CV_TRY(cv_run_policy_settings(options, &execution->setup.arena, &settings, &nsettings,
                                  err));
    execution->run.queue.gets_losses = policy->gets_losses;
    CV_TRY(plan_declare(execution, policy, err));
    load = describe(execution, policy, total);
    if (policy->opens_chunks && load.sizes == NULL)
        CV_TRY(group_workers(execution, &load.groups, err));
    execution->run.small_write = (size_t)load.ahead;
    CV_TRY(cv_planned_init(&execution->planned, policy, settings, nsettings,
                           execution->setup.platform, execution->declared, &load, NULL,
                           NULL, err));
    execution->is_planned = true;
    return CLEAVE_OK;
}

/* --- short streams --------------------------------------------------------------------- */

/* The size of a stream is unknown, so the first command is given what a pipe holds. If
 * records are few and slow, such as 4,000 names in a pipe, that can be most of the
 * input. Such streams usually end at once, so wait for the end. */

/* Longer than a writer needs to exit after its last write, and too short to be
 * noticed. */
#define SOON_S 0.01

enum { MUCH = 256 * 1024 }; /* a stream with more bytes is not short */

struct wait {
    struct cv_exec_run *run;
    double until_s; /* 0: nothing has arrived */
};

static void input_ready(void *context, unsigned events)
{
    struct wait *wait = context;
    struct cleave_error err;

    (void)events;
    if (!(wait->until_s > 0))
        wait->until_s = cv_clock_s() + SOON_S;
    if (cv_source_pump(wait->run->queue.source, &err) != CLEAVE_OK)
        cv_event_queue_fail(&wait->run->events, &err);
}

/* Whether waiting is still useful. Signals and closed outputs are left to the run. A
 * compressed stream is read by its decoder. */
static bool may_be_short(struct wait *wait, int fd)
{
    struct cv_exec_run *run = wait->run;
    const struct cv_source *source = run->queue.source;

    return !run->events.broken && run->stopped_by == 0 &&
           cv_exec_run_written(run, NULL) == CLEAVE_OK && cv_source_wants(source) &&
           cv_source_poll_fd(source) == fd && cv_source_extent(source) < MUCH &&
           !(wait->until_s > 0 && cv_clock_s() >= wait->until_s);
}

/* Before the plan: wait for the first bytes of a stream, and a moment longer for its
 * end while it is small. Its size is then known like that of a file. This delays
 * nothing, because no command starts before input arrives. */
static enum cleave_status short_stream_await(struct cv_execution *execution,
                                             struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    const int fd = cv_source_poll_fd(run->queue.source);
    const double look_s = run->request->listener.progress != NULL ? CV_LOOK_S : -1;
    struct wait wait = { .run = run };
    struct cv_watch watch = { 0 };
    double shown_s = 0;
    const struct cleave_policy *policy;
    enum cleave_status status;

    CV_TRY(cv_run_policy_find(&execution->request->policy, &policy, err));
    /* Only if chunks are sized by the input and workers can be fed small pieces. */
    if (!policy->opens_chunks || run->pool.hosts.count > 0 ||
        execution->request->items.words != NULL || !cv_source_flows(run->queue.source))
        return CLEAVE_OK;
    run->events.began_s = execution->began_s;
    if (cv_source_extent(run->queue.source) > 0) /* the bytes that show the format */
        wait.until_s = cv_clock_s() + SOON_S;
    status = cv_poller_add(run->poller, &watch, fd, CV_READABLE, input_ready, &wait, err);
    while (status == CLEAVE_OK && may_be_short(&wait, fd)) {
        cv_progress_look(run, &shown_s);
        status = cv_poller_wait(run->poller,
                                wait.until_s > 0 ? fmax(0, wait.until_s - cv_clock_s())
                                                 : look_s,
                                err);
    }
    cv_poller_remove(run->poller, &watch);
    return status;
}

/* --- run ------------------------------------------------------------------------------- */

/* Take over the signal that stopped the worker setup or the run. Returns `status`. */
static enum cleave_status name_signal(struct cv_exec_run *run, enum cleave_status status)
{
    if (status == CLEAVE_ESTOPPED && run->stopped_by == 0)
        (void)cv_poller_wait(run->poller, 0, NULL);
    return status;
}

enum cleave_status cv_execution_opened(struct cv_exec_run *run, enum cleave_status status,
                                       struct cleave_error *err)
{
    CV_TRY(name_signal(run, status));
    CV_TRY(cv_poller_wait(run->poller, 0, err));
    return run->stopped_by != 0 ? cv_fail_stopped(err) : CLEAVE_OK;
}

static enum cleave_status drive(struct cv_execution *execution, struct cleave_error *err)
{
    struct cv_run run = { .platform = execution->setup.platform };
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(cv_driver_open(&execution->planned, &cv_engine_exec, execution->setup.platform,
                          &execution->run, &driver, err));
    status =
        cv_driver_run(driver, &run, execution->request->listener.trace, &outcome, err);
    cv_driver_close(driver);
    return name_signal(&execution->run, status);
}

/* Write the remaining outputs. After a halt, outputs after a missing chunk are not
 * written. */
static enum cleave_status flush(struct cv_execution *execution, struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cv_ordered_output_state state;

    for (;;) {
        const enum cleave_status status =
            cv_ordered_output_pump(run->outputs, 0, &state, err);

        CV_TRY(cv_exec_run_written(run, err));
        if (status != CLEAVE_OK || state == CV_GATHER_IDLE)
            return status;
        if (run->stopped_by != 0)
            return cv_fail_stopped(err);
        CV_TRY(cv_poller_wait(run->poller, -1, err));
    }
}

/* Items are independent: after a halt, outputs after missing ones are written. */
static enum cleave_status pass_over_left(struct cv_execution *execution,
                                         struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    struct cv_range_set left;
    struct cv_range range;
    enum cleave_status status;

    if (!run->halted || run->stopped_by != 0 || run->request->items.words == NULL ||
        run->request->reduce.command != NULL)
        return CLEAVE_OK;
    cv_range_set_init(&left);
    status = cv_input_coverage_left(&run->queue.coverage,
                                    cv_source_extent(run->queue.source), &left, err);
    for (uint64_t at = 0; status == CLEAVE_OK && cv_range_set_find(&left, at, &range);
         at = range.end)
        status = cv_result_sink_skip(run->results, range.begin, range.end, err);
    cv_range_set_done(&left);
    return status;
}

/* Report bytes that were processed twice, whatever else has failed. */
static void note_fault(const struct cv_execution *execution)
{
    const struct cv_order_queue *queue = &execution->run.queue;
    struct cleave_error err;

    if (cv_input_coverage_check(&queue->coverage, queue->source, false, &err) !=
        CLEAVE_OK)
        cv_note(execution->request, "%s", err.text);
}

/* A compressed file is damaged: process what precedes the damage. */
static bool begin_again(struct cv_execution *execution)
{
    struct cv_exec_run *run = &execution->run;
    struct cv_order_queue *queue = &run->queue;
    struct cv_range_set left;
    bool again = false;

    if (run->stopped_by != 0 || run->halted || run->pool.hosts.count > 0)
        return false;
    cv_range_set_init(&left);
    if (cv_input_coverage_left(&queue->coverage, cv_source_extent(queue->source), &left,
                               NULL) == CLEAVE_OK)
        again = cv_source_shorten(queue->source, &left);
    cv_range_set_done(&left);
    if (!again)
        return false;
    queue->pending = queue->growing = 0;
    queue->wanted = 0;
    queue->running = 0;
    run->events.broken = false;
    cv_planned_done(&execution->planned);
    execution->is_planned = false;
    return true;
}

static enum cleave_status drive_all(struct cv_execution *execution,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    double left;

    CV_TRY(short_stream_await(execution, err));
    left = cv_source_left(execution->run.queue.source);
    while (left > 0) {
        CV_TRY(make_plan(execution, left, err));
        status = drive(execution, err);
        if (status == CLEAVE_OK || !begin_again(execution))
            return status;
        left = cv_source_left(execution->run.queue.source);
    }
    return CLEAVE_OK;
}

static enum cleave_status run_all(struct cv_execution *execution,
                                  struct cleave_error *err)
{
    struct cv_exec_run *run = &execution->run;
    enum cleave_status status;

    CV_TRY(resume_known(run, err));
    status = drive_all(execution, err);
    CV_THEN(status, cv_exec_run_settle(run, err));
    if (status == CLEAVE_OK || run->halted) {
        struct cleave_error *told = status == CLEAVE_OK ? err : NULL;
        enum cleave_status written = pass_over_left(execution, told);

        CV_THEN(written, flush(execution, told));
        if (status == CLEAVE_OK) {
            CV_THEN(written, cv_ordered_output_end(run->outputs, err));
            CV_THEN(written, flush(execution, err));
            run->written = written == CLEAVE_OK;
        }
        status = written == CLEAVE_OK ? status : written;
    }
    if (status == CLEAVE_OK) {
        status = cv_exec_run_complete(run, err);
    } else {
        cv_ordered_output_write_rest(run->outputs);
        note_fault(execution);
    }
    /* An input that ends within a record is probably truncated, so the run fails although
     * everything was processed. */
    return status == CLEAVE_OK ? cv_source_check_end(run->queue.source, err) : status;
}

/* The status of a run that failed for several reasons is the first of these. */
enum cleave_status cv_execution_run(struct cv_execution *execution,
                                    struct cleave_error *err)
{
    const struct cv_exec_run *run = &execution->run;
    enum cleave_status status = run_all(execution, err);

    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    if (run->stopped_by != 0)
        status = CLEAVE_ESTOPPED;
    else if (run->output_closed)
        status = CLEAVE_ECLOSED;
    return cv_fail_as(err, status);
}
