/* resume.c -- begin where an earlier run ended. SPDX-License-Identifier: MIT */
#include "run/execute/resume.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/shell_word.h"
#include "model/platform/nominal.h"
#include "run/slot/slot.h"

/* Chunks that have changed are named up to here, then counted. */
enum { NAMED = 10 };

enum cleave_status cv_resume_open(struct cv_order_queue *queue,
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

/* The journal has outputs as they came from their commands. */
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

/* *whole is false if the journal has not kept it as it was: then nothing is used. */
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

static void say(const struct cleave_execution *request, const char *text)
{
    if (request->listener.note != NULL)
        request->listener.note(request->listener.context, text);
}

/* How many more have changed, and how many were damaged, in a line each. */
static void say_counts(const struct cv_exec_run *run, uint64_t changed)
{
    struct cleave_error note;
    uint64_t of;
    const uint64_t damaged = cv_journal_damaged(run->queue.journal, &of);

    if (changed > NAMED) {
        cv_fail(&note, CLEAVE_EINPUT,
                "%" PRIu64 " more finished chunks have changed and are done again",
                changed - NAMED);
        say(run->request, note.text);
    }
    if (damaged > 0) {
        cv_fail(&note, CLEAVE_EINPUT,
                "%s: the journal is damaged: %" PRIu64 " of its %" PRIu64
                " finished chunks %s not as written and %s done again",
                run->request->journal.path, damaged, of, damaged == 1 ? "is" : "are",
                damaged == 1 ? "is" : "are");
        say(run->request, note.text);
    }
}

/* Use what cv_source_known gave, if it and its output are what they were. */
static enum cleave_status use_known(struct cv_exec_run *run, enum cv_known state,
                                    const struct cv_piece *piece, uint64_t id,
                                    uint64_t *changed, struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    struct cleave_error note;
    bool same = false, whole = false;

    if (queue->keys != NULL) /* that was done by cv_journal_tell_items */
        same = state == CV_KNOWN_PIECE;
    else
        CV_TRY(cv_journal_confirm(queue->journal, queue->source, state, piece, id, &same,
                                  &note, err));
    if (same)
        CV_TRY(use_old_output(run, piece, id, &whole, err));
    else if (++*changed <= NAMED)
        say(run->request, note.text);
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

/* Whatever else happens meanwhile, signals above all; `awaits`: until there is more of the
 * stream. */
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

/* --- what it says of workers --------------------------------------------------------------- */

/* Starts that take less are not spoken of. */
static const double WORTH_A_WORD_S = 0.1;

/* The slowest and the fastest, in a line. */
static void say_speeds(const struct cv_exec_run *run, const double *speeds)
{
    const struct cv_worker_pool *pool = &run->pool;
    uint32_t min = 0, max = 0;
    char text[300];

    for (uint32_t w = 1; w < pool->nworkers; w++) {
        min = speeds[w] < speeds[min] ? w : min;
        max = speeds[w] > speeds[max] ? w : max;
    }
    snprintf(
        text, sizeof text,
        "by the journal %.64s is %.2g times as fast as %.64s: first shares go by that",
        pool->names[max], speeds[max] / speeds[min], pool->names[min]);
    say(run->request, text);
}

/* What a start takes, if that is worth a word. */
static void say_starts(const struct cv_exec_run *run, const double *start_s)
{
    double sum_s = 0;
    char text[120];

    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        sum_s += start_s[w];
    if (sum_s < WORTH_A_WORD_S * run->pool.nworkers)
        return;
    snprintf(text, sizeof text, "by the journal a command takes %.2g s to start",
             sum_s / run->pool.nworkers);
    say(run->request, text);
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

enum cleave_status cv_resume_speeds(const struct cv_exec_run *run, struct cv_arena *arena,
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
            return CLEAVE_OK; /* what was said counts more */
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
