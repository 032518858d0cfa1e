/* run_notes.c -- reports of a run to its listener and policy: attempts, failures, progress.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/arena.h"
#include "base/fail.h"

void cv_note(const struct cleave_execution *request, const char *format, ...)
{
    char text[600];
    va_list words;

    if (request->listener.note == NULL)
        return;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    request->listener.note(request->listener.context, text);
}

/* --- failures ----------------------------------------------------------------------------- */

void cv_failure_notes_done(struct cv_failure_notes *notes)
{
    free(notes->bad);
    notes->bad = NULL;
    notes->nbad = notes->bad_room = 0;
}

enum cleave_status cv_note_bad(struct cv_exec_run *run, const struct cv_piece *piece,
                               struct cleave_error *err)
{
    struct cv_failure_notes *notes = &run->failures;
    struct cv_bad_records bad = { .begin = piece->begin, .end = piece->end };

    if (notes->nbad == CV_BAD_KEPT)
        return CLEAVE_OK;
    if (!CV_ROOM(notes->bad, &notes->bad_room, notes->nbad + 1))
        return cv_fail_memory(err, "records that failed");
    CV_TRY(cv_source_records(run->queue.source, piece, &bad.first, &bad.count, err));
    notes->bad[notes->nbad++] = bad;
    return CLEAVE_OK;
}

/* The number of failures of this kind, including this one. */
static uint64_t count_kind(struct cv_failure_notes *notes, const char *how)
{
    size_t kind = 0;

    while (kind < notes->nkinds && strcmp(notes->kinds[kind].how, how) != 0)
        kind++;
    if (kind == CV_FAILURE_KINDS) {
        kind = CV_FAILURE_KINDS - 1;
        snprintf(notes->kinds[kind].how, CV_FAILURE_TEXT, "failed in other ways");
    } else if (kind == notes->nkinds) {
        snprintf(notes->kinds[kind].how, CV_FAILURE_TEXT, "%s", how);
        notes->nkinds++;
    }
    return ++notes->kinds[kind].count;
}

/* The part of the input, or the item. */
static void name_piece(const struct cleave_execution *request, struct cv_source *source,
                       const struct cv_piece *piece, char *out, size_t size)
{
    const struct cleave_items *items = &request->items;
    uint64_t first = 0, count = 0;
    struct cleave_error ignored;
    char records[80] = "", name[300] = "";

    if (items->words != NULL) {
        const uint64_t end = piece->end;
        char to[40] = "";

        if (items->describe != NULL)
            items->describe(items->context, piece->begin, end - piece->begin, name,
                            sizeof name);
        if (end - piece->begin > 1)
            snprintf(to, sizeof to, " to %llu", (unsigned long long)end);
        snprintf(out, size, "item%s %llu%s%s%s%s", to[0] != '\0' ? "s" : "",
                 (unsigned long long)piece->begin + 1, to, name[0] != '\0' ? " (" : "",
                 name, name[0] != '\0' ? ")" : "");
        return;
    }
    if (cv_source_records(source, piece, &first, &count, &ignored) == CLEAVE_OK &&
        count > 0 && first > 0)
        snprintf(records, sizeof records, " (records %llu to %llu)",
                 (unsigned long long)first, (unsigned long long)(first + count - 1));
    snprintf(out, size, "%s: bytes %llu to %llu%s", piece->name,
             (unsigned long long)piece->body.begin, (unsigned long long)piece->body.end,
             records);
}

void cv_note_failure(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cleave_execution *request = run->request;
    char where[400], how[CV_FAILURE_TEXT];

    if (request->listener.note == NULL)
        return;
    cv_slot_describe_end(&attempt->slot, how, sizeof how);
    if (count_kind(&run->failures, how) > CV_FAILURES_TOLD)
        return;
    name_piece(request, run->queue.source, &attempt->slot.piece, where, sizeof where);
    cv_note(request, "%s: the command %s%s", where, how,
            request->failures.retries > 0 && attempt->chunk.attempt > 1
                ? ", also when tried again"
                : "");
}

void cv_note_failures_end(const struct cv_exec_run *run)
{
    for (size_t i = 0; i < run->failures.nkinds; i++) {
        const uint64_t count = run->failures.kinds[i].count;

        if (count > CV_FAILURES_TOLD)
            cv_note(run->request, "%llu more %s%s failed: the command %s",
                    (unsigned long long)(count - CV_FAILURES_TOLD),
                    run->request->items.words != NULL ? "item" : "chunk",
                    count - CV_FAILURES_TOLD == 1 ? "" : "s", run->failures.kinds[i].how);
    }
}

/* --- attempts and workers ------------------------------------------------------------------ */

void cv_attempt_report(const struct cv_exec_run *run, const struct cv_attempt *attempt,
                       enum cv_slot_end end, bool given_up)
{
    const struct cleave_execution *request = run->request;
    const struct cv_slot *slot = &attempt->slot;
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    const double seconds = cv_clock_s() - slot->start_s;
    const bool failed = end != CV_SLOT_DONE || given_up;
    struct timespec now;
    char how[CV_FAILURE_TEXT];

    if (request->listener.attempted == NULL)
        return;
    cv_slot_describe_end(slot, how, sizeof how);
    clock_gettime(CLOCK_REALTIME, &now);
    request->listener.attempted(
        request->listener.context,
        &(struct cleave_attempt){
            .worker = run->pool.names[slot->worker],
            .place = slot->worker + 1,
            .chunk = attempt->chunk.number,
            .attempt = attempt->chunk.attempt,
            .start_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - seconds,
            .seconds = seconds,
            .compute_s = cv_is_computed(&facts) ? facts.compute_s : seconds,
            .sent = cv_slot_sent(slot),
            .received = cv_slot_came(slot),
            .exit_code = slot->process.exit_code,
            .signal = attempt->beaten && slot->process.signal == 0 &&
                              slot->process.exit_code <= 0
                          ? SIGTERM
                          : slot->process.signal,
            .input = slot->piece.name,
            .begin = slot->piece.body.begin,
            .end = slot->piece.body.end,
            .timed_out = end == CV_SLOT_TIMED_OUT,
            .given_up = given_up,
            .dropped = attempt->beaten,
            .how = failed ? how : "",
            .errors = failed ? cv_error_lines_last(&slot->error_lines) : "",
        });
}

void cv_note_rests(const struct cv_exec_run *run)
{
    char reason[200];

    for (uint32_t p = 0; p < run->pool.health.count; p++) {
        const struct cv_health_record *at = &run->pool.health.items[p];

        if (at->rests == 0 || at->out)
            continue;
        cv_worker_health_reason(at, reason, sizeof reason);
        cv_note(run->request, "%.200s: was rested: %s",
                cv_worker_pool_domain_name(&run->pool, p), reason);
    }
}

/* --- ends of attempts, for the policy --------------------------------------------------------- */

/* Start time of the command. Messages of hosts are delayed: it is not before the end
 * of the worker's last command. */
static double computed_from(const struct cv_exec_run *run,
                            const struct cv_attempt *attempt)
{
    const struct cv_worker_attempts *at = &run->table.items[attempt->slot.worker];
    const struct cv_remote_facts facts = cv_remote_facts(&attempt->slot);
    double from_s = facts.computed_s - facts.compute_s;

    if (!cv_is_computed(&facts))
        return attempt->chunk.began_s;
    for (uint32_t i = 0; i < at->count; i++) {
        const double other_s = cv_remote_facts(&at->items[i].slot).computed_s;

        if (&at->items[i] != attempt && other_s < facts.computed_s)
            from_s = fmax(from_s, other_s);
    }
    return from_s;
}

double cv_chunk_busy_s(const struct cv_attempt *attempt, double now_s)
{
    const struct cv_remote_facts facts = cv_remote_facts(&attempt->slot);

    return cv_is_computed(&facts) ? facts.compute_s
                                  : now_s - attempt->runs_s - attempt->slot.open.idle_s;
}

/* Report CLEAVE_RETURNED for an output that came from a host; it was sent after the
 * end of the command. */
static void tell_returned(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cv_remote_facts facts = cv_remote_facts(&attempt->slot);

    if (cv_is_computed(&facts) && attempt->output > 0)
        cv_event_queue_report(&run->events, &attempt->chunk,
                              (struct cleave_event){ .kind = CLEAVE_RETURNED,
                                                     .units = cv_attempt_units(attempt),
                                                     .start_s = facts.computed_s -
                                                                run->events.began_s });
}

/* Time when the command had read all of its input, if it succeeded; 0: unknown. The
 * transfer of the output is not part of the work. */
static double read_until(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    const double back_s = cv_is_computed(&facts) ? cv_clock_s() - facts.computed_s : 0;

    return slot->open.read_s > 0 ? slot->open.read_s + back_s - run->events.began_s : 0;
}

void cv_chunk_tell_over(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cleave_event done = { .kind = CLEAVE_DONE,
                                       .worker = attempt->chunk.owner,
                                       .chunk = attempt->chunk.number,
                                       .units = cv_attempt_units(attempt),
                                       .start_s = computed_from(run, attempt) -
                                                  run->events.began_s,
                                       .read_s = read_until(run, &attempt->slot) };

    if (attempt->chunk.reported == CV_UNREPORTED)
        return;
    tell_returned(run, attempt);
    if (!cv_start_rates_hold(run, &done))
        cv_event_queue_push(&run->events, done);
}

void cv_chunk_tell_dropped(struct cv_exec_run *run, uint32_t worker,
                           const struct cv_attempt *attempt)
{
    struct cleave_event event = { .kind = CLEAVE_DROPPED, .worker = worker };

    if (attempt != NULL) {
        event.chunk = attempt->chunk.number;
        event.units = cv_attempt_units(attempt);
        event.start_s = computed_from(run, attempt) - run->events.began_s;
    }
    cv_event_queue_push(&run->events, event);
}

/* --- progress ----------------------------------------------------------------------------- */

/* Whether local commands have to wait for the start limiter. */
static bool held(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_start_limiter *limiter = &run->limiter;

    return run->pool.host_of[worker] == NULL && limiter->next_s > cv_clock_s() &&
           (limiter->delay_s > 0 || limiter->max_load > 0 || limiter->min_memory > 0);
}

static enum cleave_worker_state state_of(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_order_queue *queue = &run->queue;
    const bool ordered = cv_order_queue_next(queue, worker) != NULL;

    if (cv_attempt_table_is_busy(&run->table, worker))
        return CLEAVE_WORKER_BUSY;
    if (!cv_worker_pool_there(&run->pool, worker))
        return CLEAVE_WORKER_ABSENT;
    if (!cv_worker_pool_serves(&run->pool, worker))
        return CLEAVE_WORKER_RESTS;
    if (ordered && held(run, worker))
        return CLEAVE_WORKER_HELD;
    if (ordered || isinf(cv_source_total(queue->source)))
        return CLEAVE_WORKER_STARVES;
    return cv_order_queue_unordered_bytes(queue) > 0 ? CLEAVE_WORKER_UNASKED
                                                     : CLEAVE_WORKER_OVER;
}

static void look(const void *context, uint32_t worker, struct cleave_worker_progress *out)
{
    const struct cv_exec_run *run = context;
    const struct cv_worker_stats *tally = &run->pool.tallies[worker];

    if (worker >= run->table.count) { /* no chunk was handed out yet */
        *out = (struct cleave_worker_progress){ .name = run->pool.names[worker],
                                                .state = CLEAVE_WORKER_STARVES,
                                                .since_s = NAN };
        return;
    }
    *out = (struct cleave_worker_progress){
        .name = run->pool.names[worker],
        .state = state_of(run, worker),
        .chunks = tally->chunks,
        .failures = tally->failures,
        .units = tally->bytes,
        .busy_s = tally->busy_s,
        .read = cv_worker_read_bytes(&run->table, &run->pool, worker, cv_clock_s()),
        .since_s =
            cv_attempt_table_oldest_start_s(&run->table, worker) - run->events.began_s,
    };
}

/* Reading the state of all pipes costs more than a wake-up, so reports have a minimum
 * distance. */
void cv_progress_look(const struct cv_exec_run *run, double *shown_s)
{
    const struct cleave_execution *request = run->request;
    const struct cv_order_queue *queue = &run->queue;
    const double now_s = cv_clock_s();
    uint32_t busy = 0;

    if (request->listener.progress == NULL || now_s < *shown_s + CV_LOOK_S)
        return;
    *shown_s = now_s;
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        busy += cv_attempt_table_is_busy(&run->table, w);
    request->listener.progress(
        request->listener.context,
        &(struct cleave_progress){
            .elapsed_s = now_s - run->events.began_s,
            .done = queue->done,
            .read = cv_attempt_table_read_bytes(&run->table, &run->pool, now_s),
            .total = cv_source_total(queue->source) - queue->resumed_units,
            .chunks = queue->chunks,
            .failed = queue->failed,
            .busy = busy,
            .workers = run->pool.first_spare,
            .look = look,
            .run = run,
        });
}
