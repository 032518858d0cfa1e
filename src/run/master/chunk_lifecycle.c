/* chunk_lifecycle.c -- callbacks of slots: arrival and end of attempts.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Seconds this attempt kept its worker busy, without earlier attempts and idle time. */
static double busy_with(const struct cv_attempt *attempt, double now_s)
{
    const struct cv_remote_facts facts = cv_remote_facts(&attempt->slot);

    return cv_is_computed(&facts) ? facts.compute_s
                                  : now_s - attempt->runs_s - attempt->slot.open.idle_s;
}

static void count(struct cv_exec_run *run, const struct cv_attempt *attempt, double units,
                  double now_s)
{
    const struct cv_slot *slot = &attempt->slot;
    struct cv_worker_stats *worker = &run->pool.tallies[slot->worker];
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    const double busy_s = busy_with(attempt, now_s);

    worker->chunks++;
    cv_worker_pool_was_busy(&run->pool, slot->worker, units, busy_s);
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (cv_is_computed(&facts) && attempt->output > (double)facts.early)
        cv_time_fit_add(&worker->back, attempt->output - (double)facts.early,
                        now_s - facts.computed_s);
}

/* --- its end ------------------------------------------------------------------------------ */

/* Report CLEAVE_RETURNED for an output that came from a host; it was sent after the
 * end of the command. */
static void tell_returned(struct cv_exec_run *run, const struct cv_attempt *attempt,
                          double units)
{
    const struct cv_remote_facts facts = cv_remote_facts(&attempt->slot);

    if (cv_is_computed(&facts) && attempt->output > 0)
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_RETURNED,
                                                   .worker = attempt->chunk.owner,
                                                   .chunk = attempt->chunk.number,
                                                   .units = units,
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

/* Report the end to the policy, whether the command succeeded or not. */
static void tell_over(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cv_slot *slot = &attempt->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);

    if (attempt->chunk.reported == CV_UNREPORTED)
        return;
    tell_returned(run, attempt, units);
    cv_event_queue_push(&run->events,
                        (struct cleave_event){ .kind = CLEAVE_DONE,
                                               .worker = attempt->chunk.owner,
                                               .chunk = attempt->chunk.number,
                                               .units = units,
                                               .start_s = computed_from(run, attempt) -
                                                          run->events.began_s,
                                               .read_s = read_until(run, slot) });
}

static void chunk_over(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cv_piece *piece = &attempt->slot.piece;
    const double units = (double)(piece->end - piece->begin);

    count(run, attempt, units, cv_clock_s());
    cv_order_queue_complete(&run->queue, units);
    tell_over(run, attempt);
}

/* The new output must begin with the part already written, so the same piece is
 * retried, without the part that was not sent. For the policy the chunk has ended. */
static enum cleave_status requeue_partly_written(struct cv_exec_run *run,
                                                 struct cv_attempt *attempt,
                                                 struct cleave_error *err)
{
    run->queue.lost++;
    if (attempt->slot.open.on && attempt->chunk.reported != CV_UNREPORTED)
        CV_TRY(cv_recall_untransferred(run, attempt, err));
    tell_over(run, attempt);
    attempt->chunk.reported = CV_UNREPORTED;
    return cv_chunk_again(run, attempt, err);
}

/* Put the piece back, or queue it again. */
static enum cleave_status lose_chunk(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;

    if (cv_ordered_output_remembers(run->outputs, piece.begin))
        return requeue_partly_written(run, attempt, err);
    if (attempt->chunk.past.count > 0 ||
        attempt->chunk.runs_alone) { /* other domains will be tried */
        run->queue.lost++;
        return cv_chunk_again(run, attempt, err);
    }
    run->queue.running--;
    return cv_order_queue_requeue(&run->queue, &attempt->chunk, &piece, err);
}

/* Machines on which a chunk can run. */
static uint32_t machines(const struct cv_worker_pool *pool)
{
    uint32_t count = 0;

    for (size_t i = 0; i < pool->hosts.count; i++)
        count += pool->hosts.items[i]->was_ready;
    for (uint32_t w = 0; w < pool->nworkers; w++)
        if (pool->host_of[w] == NULL && !pool->absent[w])
            return count + 1;
    return count;
}

/* One of several chunks may have killed the host: retry this one while nothing else is
 * running. For the policy the chunk has ended. */
static enum cleave_status retry_alone(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    run->queue.lost++;
    tell_over(run, attempt);
    attempt->chunk.reported = CV_UNREPORTED;
    attempt->chunk.runs_alone = true;
    return cv_chunk_again(run, attempt, err);
}

/* The host was lost: put the chunk back, unless it is poison. */
static enum cleave_status chunk_lost(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     bool *out_given_up, struct cleave_error *err)
{
    const struct cv_slot *slot = &attempt->slot;
    const bool seen = cv_slot_passed(slot) > 0;
    uint32_t hosts = 0;
    bool alone;

    if (seen && !run->request->output.early) {
        *out_given_up = true;
        cv_attempt_report(run->request, run->pool.names[slot->worker], attempt,
                          CV_SLOT_LOST, true);
        return cv_chunk_output_truncated(run, attempt, err);
    }
    if (cv_remote_facts(slot).was_running)
        CV_TRY(cv_poison_tracker_lost(&run->poison, slot->piece.begin, slot->piece.end,
                                      cv_remote_host(slot), machines(&run->pool), &hosts,
                                      err));
    alone = hosts > 0 && !attempt->chunk.runs_alone && cv_remote_others_ran(slot) &&
            !run->pool.hosts.keeps;
    *out_given_up = hosts > 0 && !alone;
    if (seen && !*out_given_up)
        cv_chunk_keep_written_prefix(attempt);
    if (alone)
        return retry_alone(run, attempt, err);
    if (hosts == 0)
        return lose_chunk(run, attempt, err);
    cv_attempt_report(run->request, run->pool.names[slot->worker], attempt, CV_SLOT_LOST,
                      true);
    return cv_chunk_poisoned(run, attempt, hosts, err);
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
                                      .start_s = attempt->start_s };
    struct cv_taken taken;

    if (run->queue.keys != NULL) {
        chunk.begin = cv_item_keys_at(run->queue.keys, piece->begin);
        chunk.end = chunk.begin + 1;
        chunk.hash = attempt->content;
    } else if (!facts.hashed)
        CV_TRY(cv_source_hash(run->queue.source, piece, &chunk.hash, err));
    CV_TRY(cv_ordered_output_take(slot->store, &taken, err));
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
        cv_note_touched(run->request, touched);
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
    cv_order_queue_raise_size_limit(&run->queue,
                                    (double)(slot->piece.end - slot->piece.begin),
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
    return run->results->may_lose
               ? CLEAVE_OK
               : cv_source_finish(run->queue.source, &slot->piece, err);
}

static enum cleave_status chunk_failed(struct cv_exec_run *run,
                                       struct cv_attempt *attempt, enum cv_slot_end end,
                                       bool *out_over, struct cleave_error *err)
{
    const char *worker = run->pool.names[attempt->slot.worker];
    struct cv_failure_decision sentence;

    if (attempt->slot.open.on && end != CV_SLOT_STOPPED)
        CV_TRY(cv_recall_unread(run, attempt, err));
    CV_TRY(cv_chunk_decide_failure(run, attempt, end, &sentence, err));
    *out_over = sentence.verdict == CV_FAILURE_GIVE_UP;
    if (!*out_over) /* a chunk that is given up is counted at its end */
        cv_worker_pool_was_busy(&run->pool, attempt->slot.worker, 0,
                                busy_with(attempt, cv_clock_s()));
    cv_attempt_report(run->request, worker, attempt, end, *out_over);
    if (sentence.verdict == CV_FAILURE_BISECT) /* the halves are not reported */
        tell_over(run, attempt);
    if (sentence.verdict == CV_FAILURE_RETRY && attempt->slot.open.on) {
        /* The piece may be large and others retry it: the worker gets new work now. */
        tell_over(run, attempt);
        attempt->chunk.reported = CV_UNREPORTED;
    }
    return cv_chunk_failed(run, attempt, &sentence, err);
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
                                          enum cv_slot_end end)
{
    const struct cv_slot *slot = &attempt->slot;
    const bool empty = cv_attempt_is_open(attempt) && cv_attempt_is_empty(attempt);

    if (is_unstarted(slot))
        return empty ? CV_EVENT_EMPTY_UNSTARTED : CV_EVENT_UNSTARTED;
    if (empty)
        return end == CV_SLOT_LOST ? CV_EVENT_EMPTY_LOST : CV_EVENT_EMPTY_END;
    if (end == CV_SLOT_LOST)
        return CV_EVENT_LOST;
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

    cv_attempt_report(run->request, run->pool.names[attempt->slot.worker], attempt,
                      CV_SLOT_DONE, false);
    limit_all(run, cv_clock_s() - attempt->slot.start_s);
    status = accept_output(run, attempt, err);
    cv_chunk_succeeded(run);
    return status;
}

static enum cleave_status reject(struct cv_exec_run *run, struct cv_attempt *attempt,
                                 struct cleave_error *err)
{
    cv_attempt_report(run->request, run->pool.names[attempt->slot.worker], attempt,
                      CV_SLOT_FAILED, true);
    return cv_chunk_output_mismatch(run, attempt, err);
}

static enum cleave_status end_attempt(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      enum cv_attempt_action action, enum cv_slot_end end,
                                      struct cleave_error *err)
{
    enum cleave_status status;
    bool over = true;

    attempt->output = (double)cv_slot_came(&attempt->slot);
    if (end != CV_SLOT_DONE)
        attempt->slot.open.read_s = 0;
    status = action == CV_ACTION_ACCEPT   ? accept(run, attempt, err)
             : action == CV_ACTION_REJECT ? reject(run, attempt, err)
             : action == CV_ACTION_LOSE   ? chunk_lost(run, attempt, &over, err)
                                          : chunk_failed(run, attempt, end, &over, err);
    if (status == CLEAVE_OK && over)
        chunk_over(run, attempt);
    cv_open_chunks_over(run, attempt);
    return status;
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const enum cv_attempt_event event = classify_end(run, attempt, end);
    const enum cv_attempt_action action = cv_attempt_step(attempt, event);
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    cv_start_limiter_ended(&run->limiter);
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
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* --- messages of a slot --------------------------------------------------------------- */

/* Called for slots of hosts only: a local piece does not travel. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const double units = (double)(slot->piece.end - slot->piece.begin);
    const double from_s = sent_from(run, attempt);

    if (slot->open.on) /* an open chunk is sent as it grows */
        return;
    cv_time_fit_add(&run->pool.tallies[slot->worker].link, units, cv_clock_s() - from_s);
    if (attempt->chunk.reported != CV_REPORTED_ORDER)
        return;
    attempt->chunk.reported = CV_REPORTED_SENT;
    cv_event_queue_push(&run->events,
                        (struct cleave_event){ .kind = CLEAVE_SENT,
                                               .worker = attempt->chunk.owner,
                                               .chunk = attempt->chunk.number,
                                               .units = units,
                                               .start_s = from_s - run->events.began_s });
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

    cv_note_silent(run->request, run->pool.names[slot->worker]);
}

/* One note is enough. */
static void slot_held(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (!run->held)
        cv_note_held(run->request, run->pool.names[slot->worker]);
    run->held = true;
}

/* A persistent command has ended after its last chunk. */
static void slot_left(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_host *host = cv_remote_host(slot);

    if (slot->stopping || slot->process.exit_code == 0)
        return;
    run->queue.bad_ends++;
    if (host == NULL || cv_host_tells(host, CV_NOTE_LEFT))
        cv_note_bad_end(run->request, run->pool.names[slot->worker], slot);
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
