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
#include "run/slot/item_output.h"

/* --- how long it took --------------------------------------------------------------------- */

/* When the last chunk of the same worker had arrived. */
static double last_arrived(const struct cv_exec_run *run, const struct cv_attempt *errand)
{
    const struct cv_worker_attempts *at = &run->desks.items[errand->slot.worker];
    double last_s = 0;

    for (uint32_t i = 0; i < at->nerrands; i++)
        last_s = fmax(last_s, at->errands[i].slot.remote.arrived_s);
    return last_s;
}

/* A piece goes over the link when the one before has arrived, however early it was given
 * to it. */
static double sent_from(const struct cv_exec_run *run, const struct cv_attempt *errand)
{
    return fmax(errand->slot.remote.granted_s, last_arrived(run, errand));
}

/* When its command was started. What hosts say comes with more or less delay: not before
 * the last one of the same worker had ended. */
static double computed_from(const struct cv_exec_run *run,
                            const struct cv_attempt *errand)
{
    const struct cv_worker_attempts *at = &run->desks.items[errand->slot.worker];
    const struct cv_remote *remote = &errand->slot.remote;
    double from_s = remote->computed_s - remote->compute_s;

    if (!remote->computed)
        return errand->began_s;
    for (uint32_t i = 0; i < at->nerrands; i++) {
        const double other_s = at->errands[i].slot.remote.computed_s;

        if (&at->errands[i] != errand && other_s < remote->computed_s)
            from_s = fmax(from_s, other_s);
    }
    return from_s;
}

/* What this attempt took its worker. Those before it were others', and between them it waited. */
static double busy_with(const struct cv_attempt *errand, double now_s)
{
    const struct cv_slot *slot = &errand->slot;

    return slot->remote.computed ? slot->remote.compute_s
                                 : now_s - errand->runs_s - slot->open.idle_s;
}

static void count(struct cv_exec_run *run, const struct cv_attempt *errand, double units,
                  double now_s)
{
    const struct cv_slot *slot = &errand->slot;
    struct cv_worker_stats *worker = &run->staff.tallies[slot->worker];
    const double busy_s = busy_with(errand, now_s);

    worker->chunks++;
    cv_worker_pool_was_busy(&run->staff, slot->worker, units, busy_s);
    cv_time_fit_add(&worker->compute, units, busy_s);
    if (slot->remote.computed && errand->output > (double)slot->remote.early)
        cv_time_fit_add(&worker->back, errand->output - (double)slot->remote.early,
                        now_s - slot->remote.computed_s);
}

/* --- its end ------------------------------------------------------------------------------ */

/* Its output is here, if that is not where it was made: it came from the end of the command
 * on. */
static void tell_returned(struct cv_exec_run *run, const struct cv_attempt *errand,
                          double units)
{
    if (errand->slot.remote.computed && errand->output > 0)
        cv_event_queue_push(&run->news, (struct cleave_event){
                                            .kind = CLEAVE_RETURNED,
                                            .worker = errand->owner,
                                            .chunk = errand->chunk,
                                            .units = units,
                                            .start_s = errand->slot.remote.computed_s -
                                                       run->news.began_s });
}

/* When its command had read all, if it has ended well; 0: that is not known. The way back of an
 * output is none of its work. */
static double read_until(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    const double back_s =
        slot->remote.computed ? cv_clock_s() - slot->remote.computed_s : 0;

    return slot->open.read_s > 0 ? slot->open.read_s + back_s - run->news.began_s : 0;
}

/* The policy hears of it, whether its command succeeded or not. */
static void tell_over(struct cv_exec_run *run, const struct cv_attempt *errand)
{
    const struct cv_slot *slot = &errand->slot;
    const double units = (double)(slot->piece.end - slot->piece.begin);

    if (errand->quiet)
        return;
    tell_returned(run, errand, units);
    cv_event_queue_push(&run->news,
                        (struct cleave_event){ .kind = CLEAVE_DONE,
                                               .worker = errand->owner,
                                               .chunk = errand->chunk,
                                               .units = units,
                                               .start_s = computed_from(run, errand) -
                                                          run->news.began_s,
                                               .read_s = read_until(run, slot) });
}

static void chunk_over(struct cv_exec_run *run, const struct cv_attempt *errand)
{
    const struct cv_piece *piece = &errand->slot.piece;
    const double units = (double)(piece->end - piece->begin);

    count(run, errand, units, cv_clock_s());
    cv_order_queue_complete(&run->books, units);
    tell_over(run, errand);
}

/* What was written of it is how its output begins: it is done again as it is, but for what was not
 * sent. As far as the policy knows, it is over. */
static enum cleave_status requeue_partly_written(struct cv_exec_run *run,
                                                 struct cv_attempt *errand,
                                                 struct cleave_error *err)
{
    run->books.lost++;
    if (errand->opened && !errand->quiet)
        CV_TRY(cv_recall_untransferred(run, errand, err));
    tell_over(run, errand);
    errand->quiet = true;
    return cv_chunk_again(run, errand, err);
}

/* It has come to nothing; its bytes are left again. */
static enum cleave_status lose_chunk(struct cv_exec_run *run, struct cv_attempt *errand,
                                     struct cleave_error *err)
{
    const struct cv_piece piece = errand->slot.piece;
    const struct cv_pending_order want = { .chunk = errand->chunk,
                                           .units = (double)(piece.end - piece.begin),
                                           .told = errand->told,
                                           .quiet = errand->quiet };

    if (cv_ordered_output_remembers(run->gather, piece.begin))
        return requeue_partly_written(run, errand, err);
    if (errand->past.count > 0 || errand->alone) { /* those who had it are waited for */
        run->books.lost++;
        return cv_chunk_again(run, errand, err);
    }
    run->books.running--;
    return cv_order_queue_requeue(&run->books, errand->owner, &want, &piece, err);
}

/* How many machines take part that a chunk could be lost with, or done by. */
static uint32_t machines(const struct cv_worker_pool *staff)
{
    uint32_t count = 0;

    for (size_t i = 0; i < staff->hosts.count; i++)
        count += staff->hosts.items[i]->was_ready;
    for (uint32_t w = 0; w < staff->nworkers; w++)
        if (staff->host_of[w] == NULL && !staff->absent[w])
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
static enum cleave_status retry_alone(struct cv_exec_run *run, struct cv_attempt *errand,
                                      struct cleave_error *err)
{
    run->books.lost++;
    tell_over(run, errand);
    errand->quiet = errand->alone = true;
    return cv_chunk_again(run, errand, err);
}

/* Its host is gone: the chunk is left again, unless it has taken down others as well. */
static enum cleave_status chunk_lost(struct cv_exec_run *run, struct cv_attempt *errand,
                                     bool *out_given_up, struct cleave_error *err)
{
    const struct cv_slot *slot = &errand->slot;
    const bool seen = cv_slot_passed(slot) > 0;
    uint32_t hosts = 0;
    bool aside;

    if (seen && !run->request->output.early) {
        *out_given_up = true;
        cv_attempt_report(run->request, run->staff.names[slot->worker], errand,
                          CV_SLOT_LOST, true);
        return cv_chunk_output_truncated(run, errand, err);
    }
    if (slot->remote.at_work)
        CV_TRY(cv_poison_tracker_lost(&run->blame, slot->piece.begin, slot->piece.end,
                                      slot->remote.host, machines(&run->staff), &hosts,
                                      err));
    aside = hosts > 0 && !errand->alone && host_ran_other_chunks(slot) &&
            !run->staff.hosts.keeps;
    *out_given_up = hosts > 0 && !aside;
    if (seen && !*out_given_up)
        cv_chunk_keep_written_prefix(errand);
    if (aside)
        return retry_alone(run, errand, err);
    if (hosts == 0)
        return lose_chunk(run, errand, err);
    cv_attempt_report(run->request, run->staff.names[slot->worker], errand, CV_SLOT_LOST,
                      true);
    return cv_chunk_poisoned(run, errand, hosts, err);
}

static enum cleave_status keep_in_journal(struct cv_exec_run *run,
                                          const struct cv_attempt *errand,
                                          struct cleave_error *err)
{
    const struct cv_slot *slot = &errand->slot;
    const struct cv_piece *piece = &slot->piece;
    struct cv_journal_chunk chunk = { .file = piece->file,
                                      .begin = piece->body.begin - piece->skip,
                                      .end = piece->body.end,
                                      .hash = slot->remote.hash,
                                      .seconds = cv_clock_s() - errand->began_s,
                                      .start_s = errand->start_s };
    struct cv_taken taken;

    if (run->books.keys != NULL) {
        chunk.begin = cv_item_keys_at(run->books.keys, piece->begin);
        chunk.end = chunk.begin + 1;
        chunk.hash = errand->content;
    } else if (!slot->remote.hashed)
        CV_TRY(cv_source_hash(run->books.source, piece, &chunk.hash, err));
    CV_TRY(cv_ordered_output_take(slot->store, &taken, err));
    strncpy(chunk.worker, run->staff.names[slot->worker], sizeof chunk.worker - 1);
    return cv_journal_add(run->books.journal, &chunk, taken.fd, taken.begin, taken.end,
                          err);
}

static enum cleave_status accept_output(struct cv_exec_run *run,
                                        struct cv_attempt *errand,
                                        struct cleave_error *err)
{
    static const struct cv_failure_history unknown;
    struct cv_slot *slot = &errand->slot;
    struct cv_chunk_output *store;
    const char *touched;

    CV_TRY(cv_source_check(run->books.source, &slot->piece, err));
    touched = cv_source_was_modified(run->books.source, &slot->piece);
    if (touched != NULL)
        cv_note_touched(run->request, touched);
    if (run->books.journal != NULL)
        CV_TRY(keep_in_journal(run, errand, err));
    CV_TRY(cv_item_output_format(slot, &slot->store, err));
    store = slot->store;
    slot->store = NULL;
    CV_TRY(cv_result_sink_add(run->outlet, store, &slot->piece, slot, err));
    CV_TRY(cv_input_coverage_add(&run->books.ledger, slot->piece.begin, slot->piece.end,
                                 err));
    CV_TRY(cv_poison_tracker_clear(&run->blame, slot->piece.begin, slot->piece.end, err));
    cv_order_queue_raise_size_limit(&run->books,
                                    (double)(slot->piece.end - slot->piece.begin),
                                    run->request->failing.retries > 0 ||
                                        run->request->failing.isolate);
    if (slot->piece.body.begin > 0)
        run->middle_succeeded = true;
    cv_bisect_group_over(errand->past.family, true, false);
    CV_TRY(cv_worker_health_note_success(
        &run->staff.trust, cv_worker_pool_domain(&run->staff, slot->worker),
        errand->past.family == NULL ? &errand->past : &unknown, err));
    return run->outlet->may_lose ? CLEAVE_OK
                                 : cv_source_finish(run->books.source, &slot->piece, err);
}

static enum cleave_status chunk_failed(struct cv_exec_run *run, struct cv_attempt *errand,
                                       enum cv_slot_end end, bool *out_over,
                                       struct cleave_error *err)
{
    const char *worker = run->staff.names[errand->slot.worker];
    struct cv_failure_decision sentence;

    if (errand->opened && end != CV_SLOT_STOPPED)
        CV_TRY(cv_recall_unread(run, errand, err));
    CV_TRY(cv_chunk_decide_failure(run, errand, end, &sentence, err));
    *out_over = sentence.verdict == CV_FAILURE_GIVE_UP;
    if (!*out_over) /* else it is counted with its chunk */
        cv_worker_pool_was_busy(&run->staff, errand->slot.worker, 0,
                                busy_with(errand, cv_clock_s()));
    cv_attempt_report(run->request, worker, errand, end, *out_over);
    if (sentence.verdict == CV_FAILURE_BISECT) /* what comes of them is up to us */
        tell_over(run, errand);
    if (sentence.verdict == CV_FAILURE_RETRY && errand->opened) {
        /* It may be a large part of all, and others do it: its worker need not wait. */
        tell_over(run, errand);
        errand->quiet = true;
    }
    return cv_chunk_failed(run, errand, &sentence, err);
}

/* One more has succeeded, in so many seconds: that limits all, also those that run. */
static void limit_all(struct cv_exec_run *run, double seconds)
{
    double limit_s;
    struct cleave_error err;

    if (!(run->request->failing.timeout_share > 0))
        return;
    cv_median_add(&run->taken, seconds);
    limit_s = run->request->failing.timeout_share * cv_median_get(&run->taken);
    for (uint32_t w = 0; w < run->desks.count; w++)
        for (uint32_t i = 0; i < run->desks.items[w].nerrands; i++)
            if (cv_slot_limit_to(&run->desks.items[w].errands[i].slot, limit_s, &err) !=
                CLEAVE_OK)
                cv_event_queue_fail(&run->news, &err);
}

/* What should have become its command could not. */
static void chunk_unstarted(struct cv_exec_run *run, struct cv_attempt *errand)
{
    struct cv_slot *slot = &errand->slot;
    struct cleave_error err = { .status = CLEAVE_ERESOURCES };

    if (slot->unbegun)
        snprintf(err.text, sizeof err.text, "%s", slot->unstarted + strlen(CV_UNSTARTED));
    else
        cv_process_fail_start(slot->command, slot->process.start_error, &err);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    if (!errand->opened && cv_chunk_put_off(run, errand, &err))
        return;
    if (errand->opened && cv_resource_wait_wait(run, slot, &err) &&
        cv_open_chunks_start_failed(run, errand, &err) == CLEAVE_OK)
        return;
    cv_event_queue_fail(&run->news, &err);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *errand = cv_attempt_of(slot);
    const char *worker = run->staff.names[slot->worker];
    struct cleave_error err;
    enum cleave_status status;
    bool over = true;

    cv_start_limiter_ended(&run->gate);
    if ((slot->unbegun || slot->process.start_error != 0) && !cv_slot_is_remote(slot)) {
        chunk_unstarted(run, errand);
        return;
    }
    if (cv_open_chunks_ended_empty(run, errand, end))
        return;
    /* The run is over. It may be this output that could not be kept to its end. */
    if (run->news.broken && end == CV_SLOT_DONE)
        return;
    errand->output = (double)cv_slot_came(slot);
    if (end != CV_SLOT_DONE)
        slot->open.read_s = 0;
    if (end == CV_SLOT_DONE && slot->store != NULL &&
        !cv_ordered_output_repeats(slot->store, slot->piece.begin)) {
        cv_attempt_report(run->request, worker, errand, CV_SLOT_FAILED, true);
        status = cv_chunk_output_mismatch(run, errand, &err);
    } else if (end == CV_SLOT_DONE) {
        cv_attempt_report(run->request, worker, errand, end, false);
        limit_all(run, cv_clock_s() - slot->start_s);
        status = accept_output(run, errand, &err);
        cv_chunk_succeeded(run);
    } else if (end == CV_SLOT_LOST) {
        status = chunk_lost(run, errand, &over, &err);
    } else {
        status = chunk_failed(run, errand, end, &over, &err);
    }
    if (status == CLEAVE_OK && over)
        chunk_over(run, errand);
    if (!slot->busy)
        cv_open_chunks_over(run, errand);
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->news, &err);
}

/* Only of other machines: with slots of this one there is no way to go. */
static void slot_arrived(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *errand = cv_attempt_of(slot);
    const double units = (double)(slot->piece.end - slot->piece.begin);
    const double from_s = sent_from(run, errand);

    if (slot->open.on) /* it went as it was given */
        return;
    cv_time_fit_add(&run->staff.tallies[slot->worker].link, units, cv_clock_s() - from_s);
    if (errand->told || errand->quiet)
        return;
    errand->told = true;
    cv_event_queue_push(&run->news,
                        (struct cleave_event){ .kind = CLEAVE_SENT,
                                               .worker = errand->owner,
                                               .chunk = errand->chunk,
                                               .units = units,
                                               .start_s = from_s - run->news.began_s });
}

static void slot_carried(void *context, struct cv_slot *slot, uint64_t bytes,
                         double time_s)
{
    struct cv_exec_run *run = context;

    cv_time_fit_add(&run->staff.tallies[slot->worker].link, (double)bytes, time_s);
}

/* A command that stays does not answer its first chunk. */
static void slot_silent(void *context, struct cv_slot *slot)
{
    const struct cv_exec_run *run = context;

    cv_note_silent(run->request, run->staff.names[slot->worker]);
}

/* Once is enough: it is the same with all chunks. */
static void slot_held(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (!run->held)
        cv_note_held(run->request, run->staff.names[slot->worker]);
    run->held = true;
}

/* A command that stayed has ended after a chunk: whether that was well. */
static void slot_left(void *context, struct cv_slot *slot)
{
    struct cv_exec_run *run = context;

    if (slot->stopping || slot->process.exit_code == 0)
        return;
    run->books.bad_ends++;
    if (slot->remote.host == NULL || cv_host_tells(slot->remote.host, CV_NOTE_LEFT))
        cv_note_bad_end(run->request, run->staff.names[slot->worker], slot);
}

static void storing_failed(void *context, const struct cleave_error *err)
{
    struct cv_exec_run *run = context;

    run->output_closed |= err->status == CLEAVE_ECLOSED;
    cv_event_queue_fail(&run->news, err);
}

void cv_chunks_listen(struct cv_exec_run *run, struct cv_slot *slot)
{
    slot->left = slot_left;
    slot->silent = slot_silent;
    slot->held = slot_held;
    slot->ended = slot_ended;
    slot->arrived = slot_arrived;
    slot->cut_answered = cv_recall_answered;
    slot->began = cv_open_chunks_began;
    slot->drained = cv_open_chunks_drained;
    slot->seen = cv_open_chunks_seen;
    slot->carried = slot_carried;
    slot->broke = storing_failed;
    slot->context = run;
}
