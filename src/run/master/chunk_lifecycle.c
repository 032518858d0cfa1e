/* chunk_lifecycle.c -- callbacks of slots: arrival and end of attempts.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/slot/slot.h"

/* --- how long it took --------------------------------------------------------------------- */

/* Arrival time of the last piece of the same worker. */
static double last_arrived(const struct cv_exec_run *run,
                           const struct cv_attempt *attempt)
{
    const struct cv_worker_attempts *at = &run->table.items[attempt->slot.worker];
    double last_s = 0;

    for (uint32_t i = 0; i < at->count; i++)
        last_s = fmax(last_s, cv_remote_facts(&at->items[i].slot).arrived_s);
    return last_s;
}

/* A piece uses the link only after the piece before it has arrived. */
static double sent_from(const struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    return fmax(cv_remote_facts(&attempt->slot).granted_s, last_arrived(run, attempt));
}

static void count(struct cv_exec_run *run, const struct cv_attempt *attempt, double now_s)
{
    const struct cv_slot *slot = &attempt->slot;
    struct cv_worker_stats *worker = &run->pool.tallies[slot->worker];
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    const double units = cv_attempt_units(attempt),
                 busy_s = cv_chunk_busy_s(attempt, now_s);

    worker->chunks++;
    worker->bytes += (double)(slot->piece.end - slot->piece.begin);
    cv_worker_pool_was_busy(&run->pool, slot->worker, units, busy_s);
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (cv_is_computed(&facts) && attempt->output > (double)facts.early)
        cv_time_fit_add(&worker->back, attempt->output - (double)facts.early,
                        now_s - facts.computed_s);
}

/* --- end ------------------------------------------------------------------------------- */

static void chunk_over(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    count(run, attempt, cv_clock_s());
    cv_order_queue_complete(&run->queue, &attempt->slot.piece);
    cv_chunk_tell_over(run, attempt);
}

static enum cleave_status keep_in_journal(struct cv_exec_run *run,
                                          const struct cv_attempt *attempt,
                                          struct cleave_error *err)
{
    const struct cv_slot *slot = &attempt->slot;
    const struct cv_piece *piece = &slot->piece;
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = piece->body.begin - piece->skip,
                                      .end = piece->body.end,
                                      .hash = facts.hash,
                                      .seconds = cv_clock_s() - attempt->chunk.began_s,
                                      .start_s = attempt->start_s,
                                      .outside = run->request->output.shared != NULL };
    const struct cv_stored_file *file = cv_chunk_output_file(slot->store);
    struct cv_taken taken = { .fd = -1 };

    if (run->queue.keys != NULL) {
        chunk.begin = cv_item_keys_at(run->queue.keys, piece->begin);
        chunk.end = chunk.begin + 1;
        chunk.hash = attempt->content;
    } else if (!facts.hashed)
        CV_TRY(cv_source_hash(run->queue.source, piece, &chunk.hash, err));
    if (file != NULL) {
        chunk.output_bytes = file->bytes;
        chunk.output_hash = file->hash;
    } else {
        CV_TRY(cv_ordered_output_take(slot->store, &taken, err));
    }
    strncpy(chunk.worker, run->pool.names[slot->worker], sizeof chunk.worker - 1);
    return cv_journal_add(run->queue.journal, &chunk, taken.fd, taken.begin, taken.end,
                          err);
}

static enum cleave_status accept_output(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        struct cleave_error *err)
{
    static const struct cv_failure_history unknown;
    struct cv_slot *slot = &attempt->slot;
    struct cv_chunk_output *store;
    const char *touched;

    CV_TRY(cv_source_check(run->queue.source, &slot->piece, err));
    touched = cv_source_was_modified(run->queue.source, &slot->piece);
    if (touched != NULL)
        cv_note(run->request,
                "%s: something of it was changed while it was in use, but neither "
                "its size nor its time: no harm if it was linked, moved or given "
                "other rights; if it was rewritten, the output is of both",
                touched);
    if (run->queue.journal != NULL)
        CV_TRY(keep_in_journal(run, attempt, err));
    CV_TRY(cv_item_output_format(slot, &slot->store, err));
    store = slot->store;
    slot->store = NULL;
    CV_TRY(cv_result_sink_add(run->results, store, &slot->piece, slot, err));
    CV_TRY(cv_input_coverage_add(&run->queue.coverage, slot->piece.begin, slot->piece.end,
                                 err));
    CV_TRY(
        cv_poison_tracker_clear(&run->poison, slot->piece.begin, slot->piece.end, err));
    cv_order_queue_raise_size_limit(&run->queue, cv_attempt_units(attempt),
                                    run->request->failures.retries > 0 ||
                                        run->request->failures.isolate);
    if (slot->piece.body.begin > 0)
        run->middle_succeeded = true;
    cv_bisect_group_over(attempt->chunk.past.family, true, false);
    cv_worker_health_note_success(&run->pool.health,
                                  cv_worker_pool_domain(&run->pool, slot->worker),
                                  attempt->chunk.past.family == NULL
                                      ? &attempt->chunk.past
                                      : &unknown);
    return attempt->twin != NULL ? CLEAVE_OK
                                 : cv_source_finish(run->queue.source, &slot->piece, err);
}

/* An item succeeded in `seconds`: apply the new median to the timeout of all,
 * including running ones. */
static void limit_all(struct cv_exec_run *run, double seconds)
{
    double limit_s;

    if (!(run->request->failures.timeout_share > 0))
        return;
    cv_median_add(&run->taken, seconds);
    limit_s = run->request->failures.timeout_share * cv_median_get(&run->taken);
    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0; i < run->table.items[w].count; i++)
            cv_slot_limit_to(&run->table.items[w].items[i].slot, limit_s);
}

/* --- the end of a command ------------------------------------------------------------- */

/* The process could not become the command, for lack of resources. */
static bool is_unstarted(const struct cv_slot *slot)
{
    return (slot->unbegun || slot->process.start_error != 0) && !cv_slot_is_remote(slot);
}

static enum cv_attempt_event classify_end(const struct cv_exec_run *run,
                                          const struct cv_attempt *attempt,
                                          enum cv_slot_end end, bool later)
{
    const struct cv_slot *slot = &attempt->slot;
    const bool empty = cv_attempt_is_open(attempt) && cv_attempt_is_empty(attempt);

    if (is_unstarted(slot))
        return empty ? CV_EVENT_EMPTY_UNSTARTED : CV_EVENT_UNSTARTED;
    if (empty)
        return end == CV_SLOT_LOST || later ? CV_EVENT_EMPTY_LOST : CV_EVENT_EMPTY_END;
    if (end == CV_SLOT_LOST)
        return CV_EVENT_LOST;
    if (later)
        return CV_EVENT_LATER;
    if (end != CV_SLOT_DONE)
        return CV_EVENT_FAILURE;
    if (run->events.broken) /* this output may be the one that could not be kept */
        return CV_EVENT_DISCARD;
    return slot->store == NULL ||
                   cv_ordered_output_repeats(slot->store, slot->piece.begin)
               ? CV_EVENT_SUCCESS
               : CV_EVENT_MISMATCH;
}

/* Whether the command was started with a piece. */
static bool had_piece(enum cv_attempt_event event)
{
    return event != CV_EVENT_EMPTY_END && event != CV_EVENT_EMPTY_LOST &&
           event != CV_EVENT_EMPTY_UNSTARTED && event != CV_EVENT_UNSTARTED;
}

static struct cleave_error start_error(const struct cv_slot *slot)
{
    struct cleave_error err = { .status = CLEAVE_ERESOURCES };

    if (slot->unbegun)
        snprintf(err.text, sizeof err.text, "%s", slot->unstarted + strlen(CV_UNSTARTED));
    else
        cv_command_fail_start(slot->command, slot->process.start_error, &err);
    return err;
}

static enum cleave_status retry_start(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    *err = start_error(&attempt->slot);
    return cv_chunk_put_off(run, attempt, err) ? CLEAVE_OK : err->status;
}

/* Wait for resources. A chunk without bytes is started again with its first bytes;
 * otherwise the piece is put back. */
static enum cleave_status wait_for_start(struct cv_exec_run *run,
                                         struct cv_attempt *attempt, bool put_back,
                                         struct cleave_error *err)
{
    *err = start_error(&attempt->slot);
    if (!cv_resource_wait_wait(run, &attempt->slot, err))
        return err->status;
    return put_back ? cv_open_chunks_put_back(run, attempt, err) : CLEAVE_OK;
}

static enum cleave_status accept(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 struct cleave_error *err)
{
    enum cleave_status status;

    cv_attempt_report(run, attempt, CV_SLOT_DONE, false);
    limit_all(run, cv_clock_s() - attempt->slot.start_s);
    status = accept_output(run, attempt, err);
    cv_chunk_succeeded(run);
    return status;
}

static enum cleave_status reject(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 struct cleave_error *err)
{
    cv_attempt_report(run, attempt, CV_SLOT_FAILED, true);
    return cv_chunk_output_mismatch(run, attempt, err);
}

static enum cleave_status end_attempt(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      enum cv_attempt_action action, enum cv_slot_end end,
                                      struct cleave_error *err)
{
    const bool postpones = action == CV_ACTION_POSTPONE;
    enum cleave_status status;
    bool over = !postpones;

    cv_worker_health_note_retried(&run->pool.health, &attempt->chunk.past);
    attempt->output =
        attempt->slot.store != NULL && cv_chunk_output_file(attempt->slot.store) != NULL
            ? 0
            : (double)cv_slot_came(&attempt->slot);
    if (end != CV_SLOT_DONE)
        attempt->slot.open.read_s = 0;
    status = action == CV_ACTION_ACCEPT   ? accept(run, attempt, err)
             : action == CV_ACTION_REJECT ? reject(run, attempt, err)
             : action == CV_ACTION_LOSE   ? cv_chunk_lost(run, attempt, &over, err)
             : postpones                  ? cv_chunk_postpone(run, attempt, err)
                         : cv_chunk_failed(run, attempt, end, &over, err);
    if (status == CLEAVE_OK && over)
        chunk_over(run, attempt);
    cv_open_chunks_over(run, attempt);
    return status;
}

/* --- two attempts of one chunk -------------------------------------------------------- */

/* Nothing comes of an attempt: another one counts, or still runs. */
static enum cleave_status drop_attempt(struct cv_exec_run *run,
                                       struct cv_attempt *attempt, enum cv_slot_end end,
                                       struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    const struct cv_piece piece = slot->piece;
    const bool has_piece = attempt->beaten;

    cv_attempt_step(attempt, CV_EVENT_DISCARD);
    attempt->beaten = true;
    cv_attempt_report(run, attempt, end, false);
    attempt->beaten = false;
    if (cv_slot_passed(slot) > 0) /* the other attempt has to repeat it */
        cv_streamed_output_remember(slot->store);
    else if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    cv_open_chunks_over(run, attempt);
    cv_chunk_tell_dropped(run, slot->worker, attempt);
    return has_piece ? cv_source_finish(run->queue.source, &piece, err) : CLEAVE_OK;
}

/* The end of an attempt that has, or had, a twin. *out_over: nothing comes of it. Else it
 * counts, and its twin, which end_beaten() ends, has the piece. */
static enum cleave_status end_twin(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   enum cv_slot_end end, bool success, bool *out_over,
                                   struct cleave_error *err)
{
    struct cv_attempt *twin = attempt->twin;

    *out_over = true;
    if (twin != NULL) {
        if (success)
            CV_TRY(cv_ordered_output_replace(attempt->slot.store, &twin->slot.store,
                                             &success, err));
        run->queue.running--;
        twin->twin = NULL;
        *out_over = !success;
        twin->beaten = success;
    }
    if (!*out_over)
        return CLEAVE_OK;
    attempt->twin = NULL;
    return drop_attempt(run, attempt, end, err);
}

/* A host that does not answer is not waited for. */
static enum cleave_status end_beaten(struct cv_exec_run *run, struct cv_attempt *winner,
                                     struct cleave_error *err)
{
    struct cv_attempt *beaten = winner->twin;

    winner->twin = NULL;
    if (!cv_slot_is_remote(&beaten->slot)) {
        cv_slot_stop(&beaten->slot);
        return CLEAVE_OK;
    }
    cv_slot_done(&beaten->slot);
    return drop_attempt(run, beaten, CV_SLOT_STOPPED, err);
}

/* Where the standard error of the command goes. */
static int open_errors(const struct cv_slot *slot)
{
    const struct cleave_items *items = slot->items;
    int to = -1;

    return items != NULL && items->errors != NULL &&
                   items->errors(items->context, slot->piece.begin, &to, NULL) ==
                       CLEAVE_OK
               ? to
               : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

/* The standard error of a backup is shown if it counts. */
static void end_errors(struct cv_slot *slot, bool counts)
{
    char bytes[4096];
    off_t at = 0;
    ssize_t got;
    int to;

    if (slot->errors <= 0)
        return;
    to = counts ? open_errors(slot) : -1;
    while (to >= 0 && (got = pread(slot->errors, bytes, sizeof bytes, at)) > 0) {
        const ssize_t put = write(to, bytes, (size_t)got);

        if (put < 0 && errno != EINTR &&
            (errno != EAGAIN ||
             poll(&(struct pollfd){ .fd = to, .events = POLLOUT }, 1, -1) < 0))
            break;
        cv_error_lines_keep(&slot->error_lines, bytes, put > 0 ? (size_t)put : 0);
        at += put > 0 ? put : 0;
    }
    cv_close(&to);
    cv_close(&slot->errors);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const bool later = cv_chunk_asks_later(run, slot, end);
    const enum cv_attempt_event event = classify_end(run, attempt, end, later);
    enum cv_attempt_action action;
    enum cleave_status status;
    bool over = false;
    struct cleave_error err;

    cv_start_limiter_ended(&run->limiter);
    status = cv_start_rates_answered(run, slot->worker, &slot->piece, &err);
    run->pool.tallies[slot->worker].ended_s = cv_clock_s();
    if (later)
        cv_chunk_rest(run, attempt);
    else if (end == CV_SLOT_DONE)
        cv_worker_health_answered(&run->pool.health, slot->worker);
    if (attempt->twin != NULL || attempt->beaten)
        CV_THEN(status,
                end_twin(run, attempt, end, event == CV_EVENT_SUCCESS, &over, &err));
    end_errors(slot, !over);
    if (over || status != CLEAVE_OK) {
        if (status != CLEAVE_OK)
            cv_event_queue_fail(&run->events, &err);
        return;
    }
    action = cv_attempt_step(attempt, event);
    if (!had_piece(event) && slot->store != NULL) {
        cv_chunk_output_drop(slot->store);
        slot->store = NULL;
    }
    switch (action) {
    case CV_ACTION_RETRY_START:
        status = retry_start(run, attempt, &err);
        break;
    case CV_ACTION_PUT_BACK:
        status = wait_for_start(run, attempt, true, &err);
        break;
    case CV_ACTION_DROP:
    case CV_ACTION_DROP_LOST:
        cv_open_chunks_drop(run, attempt, action == CV_ACTION_DROP_LOST);
        break;
    case CV_ACTION_NONE: /* dormant, or discarded */
        if (event == CV_EVENT_EMPTY_UNSTARTED)
            status = wait_for_start(run, attempt, false, &err);
        break;
    default:
        status = end_attempt(run, attempt, action, end, &err);
        break;
    }
    if (attempt->twin != NULL)
        CV_THEN(status, end_beaten(run, attempt, &err));
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* --- messages of a slot --------------------------------------------------------------- */

/* Called for slots of hosts only: a local piece does not travel. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const double units = cv_attempt_units(attempt), from_s = sent_from(run, attempt);

    if (slot->open.on) /* an open chunk is sent as it grows */
        return;
    cv_time_fit_add(&run->pool.tallies[slot->worker].link, units, cv_clock_s() - from_s);
    if (attempt->chunk.reported != CV_REPORTED_ORDER)
        return;
    attempt->chunk.reported = CV_REPORTED_SENT;
    cv_event_queue_report(&run->events, &attempt->chunk,
                          (struct cleave_event){ .kind = CLEAVE_SENT,
                                                 .units = units,
                                                 .start_s =
                                                     from_s - run->events.began_s });
}

static void slot_carried(void *context, struct cv_slot *slot, uint64_t bytes,
                         double time_s)
{
    struct cv_exec_run *run = context;

    cv_time_fit_add(&run->pool.tallies[slot->worker].link, (double)bytes, time_s);
}

/* A persistent command does not answer its first chunk. */
static void slot_silent(void *context, struct cv_slot *slot)
{
    const struct cv_exec_run *run = context;

    cv_note(run->request,
            "%s: no answer to the first chunk yet: is '%s' made to be persistent?",
            run->pool.names[slot->worker], run->request->command[0]);
}

/* One note is enough. */
static void slot_held(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (!run->held)
        cv_note(run->request,
                "%s: the command has ended, but its children hold its output or "
                "input; waiting for them (failures.timeout_s limits this)",
                run->pool.names[slot->worker]);
    run->held = true;
}

/* A persistent command has ended after its last chunk. */
static void slot_left(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_host *host = cv_remote_host(slot);
    char how[64];

    if (slot->stopping || slot->process.exit_code == 0)
        return;
    run->queue.bad_ends++;
    if (host != NULL && !cv_host_tells(host, CV_NOTE_LEFT))
        return;
    cv_slot_describe_end(slot, how, sizeof how);
    cv_note(run->request, "%s: the command %s after its last chunk",
            run->pool.names[slot->worker], how);
}

/* A persistent command has failed while it held several chunks. */
static void slot_regiven(void *context, struct cv_slot *slot, uint32_t count)
{
    struct cv_exec_run *run = context;
    char how[64];

    cv_slot_describe_end(slot, how, sizeof how);
    cv_note(run->request,
            "%s: the command %s while it held %u chunk%s; each is given again, alone",
            run->pool.names[slot->worker], how, count, count == 1 ? "" : "s");
}

static void storing_failed(void *context, const struct cleave_error *err)
{
    struct cv_exec_run *run = context;

    run->output_closed |= err->status == CLEAVE_ECLOSED;
    cv_event_queue_fail(&run->events, err);
}

void cv_chunks_listen(struct cv_exec_run *run, struct cv_slot *slot)
{
    static const struct cv_slot_events events = {
        .ended = slot_ended,
        .broke = storing_failed,
        .left = slot_left,
        .regiven = slot_regiven,
        .silent = slot_silent,
        .held = slot_held,
        .began = cv_open_chunks_began,
        .drained = cv_open_chunks_drained,
        .arrived = slot_arrived,
        .cut_answered = cv_recall_answered,
        .carried = slot_carried,
        .seen = cv_open_chunks_seen,
    };

    slot->events = &events;
    slot->context = run;
}
