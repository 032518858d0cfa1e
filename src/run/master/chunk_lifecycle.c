/* chunk_lifecycle.c -- what a slot tells of its chunk, to the end. SPDX-License-Identifier: MIT */
#include "run/master/chunk_lifecycle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "run/master/attempt_report.h"
#include "run/master/chunk_failure.h"
#include "run/master/open_chunks.h"
#include "run/master/recall.h"
#include "run/master/resource_wait.h"
#include "run/slot/slot.h"

/* --- how long it took --------------------------------------------------------------------- */

/* When the last chunk of the same worker had arrived. */
static double last_arrived(const struct cv_exec_run *run,
                           const struct cv_attempt *attempt)
{
    const struct cv_worker_attempts *at = &run->table.items[attempt->slot.worker];
    double last_s = 0;

    for (uint32_t i = 0; i < at->nerrands; i++)
        last_s = fmax(last_s, at->attempts[i].slot.remote.arrived_s);
    return last_s;
}

/* A piece goes over the link when the one before has arrived, however early it was given
 * to it. */
static double sent_from(const struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    return fmax(attempt->slot.remote.granted_s, last_arrived(run, attempt));
}

/* When its command was started. What hosts say comes with more or less delay: not before
 * the last one of the same worker had ended. */
static double computed_from(const struct cv_exec_run *run,
                            const struct cv_attempt *attempt)
{
    const struct cv_worker_attempts *at = &run->table.items[attempt->slot.worker];
    const struct cv_remote *remote = &attempt->slot.remote;
    double from_s = remote->computed_s - remote->compute_s;

    if (!remote->computed)
        return attempt->began_s;
    for (uint32_t i = 0; i < at->nerrands; i++) {
        const double other_s = at->attempts[i].slot.remote.computed_s;

        if (&at->attempts[i] != attempt && other_s < remote->computed_s)
            from_s = fmax(from_s, other_s);
    }
    return from_s;
}

/* What this attempt took its worker. Those before it were others', and between them it waited. */
static double busy_with(const struct cv_attempt *attempt, double now_s)
{
    const struct cv_slot *slot = &attempt->slot;

    return slot->remote.computed ? slot->remote.compute_s
                                 : now_s - attempt->runs_s - slot->open.idle_s;
}

static void count(struct cv_exec_run *run, const struct cv_attempt *attempt, double units,
                  double now_s)
{
    const struct cv_slot *slot = &attempt->slot;
    struct cv_worker_stats *worker = &run->pool.tallies[slot->worker];
    const double busy_s = busy_with(attempt, now_s);

    worker->chunks++;
    cv_worker_pool_was_busy(&run->pool, slot->worker, units, busy_s);
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (slot->remote.computed && attempt->output > (double)slot->remote.early)
        cv_time_fit_add(&worker->back, attempt->output - (double)slot->remote.early,
                        now_s - slot->remote.computed_s);
}

/* --- its end ------------------------------------------------------------------------------ */

/* Its output is here, if that is not where it was made: it came from the end of the command
 * on. */
static void tell_returned(struct cv_exec_run *run, const struct cv_attempt *attempt,
                          double units)
{
    if (attempt->slot.remote.computed && attempt->output > 0)
        cv_event_queue_push(&run->events, (struct cleave_event){
                                              .kind = CLEAVE_RETURNED,
                                              .worker = attempt->owner,
                                              .chunk = attempt->chunk,
                                              .units = units,
                                              .start_s = attempt->slot.remote.computed_s -
                                                         run->events.began_s });
}

/* When its command had read all, if it has ended well; 0: that is not known. The way back of an
 * output is none of its work. */
static double read_until(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    const double back_s =
        slot->remote.computed ? cv_clock_s() - slot->remote.computed_s : 0;

    return slot->open.read_s > 0 ? slot->open.read_s + back_s - run->events.began_s : 0;
}

/* The policy hears of it, whether its command succeeded or not. */
static void tell_over(struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    const struct cv_slot *slot = &attempt->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);

    if (attempt->quiet)
        return;
    tell_returned(run, attempt, units);
    cv_event_queue_push(&run->events,
                        (struct cleave_event){ .kind = CLEAVE_DONE,
                                               .worker = attempt->owner,
                                               .chunk = attempt->chunk,
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

/* What was written of it is how its output begins: it is done again as it is, but for what was not
 * sent. As far as the policy knows, it is over. */
static enum cleave_status requeue_partly_written(struct cv_exec_run *run,
                                                 struct cv_attempt *attempt,
                                                 struct cleave_error *err)
{
    run->queue.lost++;
    if (attempt->opened && !attempt->quiet)
        CV_TRY(cv_recall_untransferred(run, attempt, err));
    tell_over(run, attempt);
    attempt->quiet = true;
    return cv_chunk_again(run, attempt, err);
}

/* It has come to nothing; its bytes are left again. */
static enum cleave_status lose_chunk(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    const struct cv_pending_order pending = { .chunk = attempt->chunk,
                                              .units = (double)(piece.end - piece.begin),
                                              .told = attempt->told,
                                              .quiet = attempt->quiet };

    if (cv_ordered_output_remembers(run->outputs, piece.begin))
        return requeue_partly_written(run, attempt, err);
    if (attempt->past.count > 0 || attempt->alone) { /* those who had it are waited for */
        run->queue.lost++;
        return cv_chunk_again(run, attempt, err);
    }
    run->queue.running--;
    return cv_order_queue_requeue(&run->queue, attempt->owner, &pending, &piece, err);
}

/* How many machines take part that a chunk could be lost with, or done by. */
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

/* Whether others were at work on the host that was lost with it. */
static bool host_ran_other_chunks(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote.host->first_slot;

    while (other != NULL && (other == slot || !other->remote.at_work))
        other = other->remote.next_slot;
    return other != NULL;
}

/* It may have been one of those: it is tried once more when nobody does anything else. As far
 * as the policy knows, it is over. */
static enum cleave_status retry_alone(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      struct cleave_error *err)
{
    run->queue.lost++;
    tell_over(run, attempt);
    attempt->quiet = attempt->alone = true;
    return cv_chunk_again(run, attempt, err);
}

/* Its host is gone: the chunk is left again, unless it has taken down others as well. */
static enum cleave_status chunk_lost(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     bool *out_given_up, struct cleave_error *err)
{
    const struct cv_slot *slot = &attempt->slot;
    const bool seen = cv_slot_passed(slot) > 0;
    uint32_t hosts = 0;
    bool login_stderr;

    if (seen && !run->request->output.early) {
        *out_given_up = true;
        cv_attempt_report(run->request, run->pool.names[slot->worker], attempt,
                          CV_SLOT_LOST, true);
        return cv_chunk_output_truncated(run, attempt, err);
    }
    if (slot->remote.at_work)
        CV_TRY(cv_poison_tracker_lost(&run->poison, slot->piece.begin, slot->piece.end,
                                      slot->remote.host, machines(&run->pool), &hosts,
                                      err));
    login_stderr = hosts > 0 && !attempt->alone && host_ran_other_chunks(slot) &&
                   !run->pool.hosts.keeps;
    *out_given_up = hosts > 0 && !login_stderr;
    if (seen && !*out_given_up)
        cv_chunk_keep_written_prefix(attempt);
    if (login_stderr)
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
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = piece->body.begin - piece->skip,
                                      .end = piece->body.end,
                                      .hash = slot->remote.hash,
                                      .seconds = cv_clock_s() - attempt->began_s,
                                      .start_s = attempt->start_s };
    struct cv_taken taken;

    if (run->queue.keys != NULL) {
        chunk.begin = cv_item_keys_at(run->queue.keys, piece->begin);
        chunk.end = chunk.begin + 1;
        chunk.hash = attempt->content;
    } else if (!slot->remote.hashed)
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
    cv_bisect_group_over(attempt->past.family, true, false);
    CV_TRY(cv_worker_health_note_success(
        &run->pool.health, cv_worker_pool_domain(&run->pool, slot->worker),
        attempt->past.family == NULL ? &attempt->past : &unknown, err));
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

    if (attempt->opened && end != CV_SLOT_STOPPED)
        CV_TRY(cv_recall_unread(run, attempt, err));
    CV_TRY(cv_chunk_decide_failure(run, attempt, end, &sentence, err));
    *out_over = sentence.verdict == CV_FAILURE_GIVE_UP;
    if (!*out_over) /* else it is counted with its chunk */
        cv_worker_pool_was_busy(&run->pool, attempt->slot.worker, 0,
                                busy_with(attempt, cv_clock_s()));
    cv_attempt_report(run->request, worker, attempt, end, *out_over);
    if (sentence.verdict == CV_FAILURE_BISECT) /* what comes of them is up to us */
        tell_over(run, attempt);
    if (sentence.verdict == CV_FAILURE_RETRY && attempt->opened) {
        /* It may be a large part of all, and others do it: its worker need not wait. */
        tell_over(run, attempt);
        attempt->quiet = true;
    }
    return cv_chunk_failed(run, attempt, &sentence, err);
}

/* One more has succeeded, in so many seconds: that limits all, also those that run. */
static void limit_all(struct cv_exec_run *run, double seconds)
{
    double limit_s;
    struct cleave_error err;

    if (!(run->request->failures.timeout_share > 0))
        return;
    cv_median_add(&run->taken, seconds);
    limit_s = run->request->failures.timeout_share * cv_median_get(&run->taken);
    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0; i < run->table.items[w].nerrands; i++)
            if (cv_slot_limit_to(&run->table.items[w].attempts[i].slot, limit_s, &err) !=
                CLEAVE_OK)
                cv_event_queue_fail(&run->events, &err);
}

/* What should have become its command could not. */
static void chunk_unstarted(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    struct cv_slot *slot = &attempt->slot;
    struct cleave_error err = { .status = CLEAVE_ERESOURCES };

    if (slot->unbegun)
        snprintf(err.text, sizeof err.text, "%s", slot->unstarted + strlen(CV_UNSTARTED));
    else
        cv_command_fail_start(slot->command, slot->process.start_error, &err);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    if (!attempt->opened && cv_chunk_put_off(run, attempt, &err))
        return;
    if (attempt->opened && cv_resource_wait_wait(run, slot, &err) &&
        cv_open_chunks_start_failed(run, attempt, &err) == CLEAVE_OK)
        return;
    cv_event_queue_fail(&run->events, &err);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const char *worker = run->pool.names[slot->worker];
    struct cleave_error err;
    enum cleave_status status;
    bool over = true;

    cv_start_limiter_ended(&run->limiter);
    if ((slot->unbegun || slot->process.start_error != 0) && !cv_slot_is_remote(slot)) {
        chunk_unstarted(run, attempt);
        return;
    }
    if (cv_open_chunks_ended_empty(run, attempt, end))
        return;
    /* The run is over. It may be this output that could not be kept to its end. */
    if (run->events.broken && end == CV_SLOT_DONE)
        return;
    attempt->output = (double)cv_slot_came(slot);
    if (end != CV_SLOT_DONE)
        slot->open.read_s = 0;
    if (end == CV_SLOT_DONE && slot->store != NULL &&
        !cv_ordered_output_repeats(slot->store, slot->piece.begin)) {
        cv_attempt_report(run->request, worker, attempt, CV_SLOT_FAILED, true);
        status = cv_chunk_output_mismatch(run, attempt, &err);
    } else if (end == CV_SLOT_DONE) {
        cv_attempt_report(run->request, worker, attempt, end, false);
        limit_all(run, cv_clock_s() - slot->start_s);
        status = accept_output(run, attempt, &err);
        cv_chunk_succeeded(run);
    } else if (end == CV_SLOT_LOST) {
        status = chunk_lost(run, attempt, &over, &err);
    } else {
        status = chunk_failed(run, attempt, end, &over, &err);
    }
    if (status == CLEAVE_OK && over)
        chunk_over(run, attempt);
    if (!slot->busy)
        cv_open_chunks_over(run, attempt);
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* Only of other machines: with slots of this one there is no way to go. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const double units = (double)(slot->piece.end - slot->piece.begin);
    const double from_s = sent_from(run, attempt);

    if (slot->open.on) /* it went as it was given */
        return;
    cv_time_fit_add(&run->pool.tallies[slot->worker].link, units, cv_clock_s() - from_s);
    if (attempt->told || attempt->quiet)
        return;
    attempt->told = true;
    cv_event_queue_push(&run->events,
                        (struct cleave_event){ .kind = CLEAVE_SENT,
                                               .worker = attempt->owner,
                                               .chunk = attempt->chunk,
                                               .units = units,
                                               .start_s = from_s - run->events.began_s });
}

static void slot_carried(void *context, struct cv_slot *slot, uint64_t bytes,
                         double time_s)
{
    struct cv_exec_run *run = context;

    cv_time_fit_add(&run->pool.tallies[slot->worker].link, (double)bytes, time_s);
}

/* A command that stays does not answer its first chunk. */
static void slot_silent(void *context, struct cv_slot *slot)
{
    const struct cv_exec_run *run = context;

    cv_note_silent(run->request, run->pool.names[slot->worker]);
}

/* Once is enough: it is the same with all chunks. */
static void slot_held(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (!run->held)
        cv_note_held(run->request, run->pool.names[slot->worker]);
    run->held = true;
}

/* A command that stayed has ended after a chunk: whether that was well. */
static void slot_left(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (slot->stopping || slot->process.exit_code == 0)
        return;
    run->queue.bad_ends++;
    if (slot->remote.host == NULL || cv_host_tells(slot->remote.host, CV_NOTE_LEFT))
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
