/* chunk_failure.c -- what happens when a command fails, or there is no room for it.
 * SPDX-License-Identifier: MIT */
#include "run/master/chunk_failure.h"

#include <signal.h>

#include "base/fail.h"
#include "run/failures/memory_kill.h"
#include "run/master/attempt_report.h"
#include "run/master/resource_wait.h"
#include "run/failures/failed_input.h"
#include "run/slot/slot.h"

/* Whether commands fail on all that does not begin a file, and only on that. */
static bool fails_without_header(const struct cv_exec_run *run)
{
    return !run->request->input.header && run->request->items.words == NULL &&
           !run->start_failed && !run->middle_succeeded;
}

/* It would be the same with a million of them; all the more so if it cannot be for what is in them. */
static bool all_chunks_fail(const struct cv_exec_run *run)
{
    const struct cv_order_queue *queue = &run->queue;

    if (queue->resumed > 0)
        return false;
    if (!run->pool.health.anybody && queue->unread >= CLEAVE_ALL_FAIL_UNREAD_LIMIT)
        return true;
    return queue->failed >= CLEAVE_ALL_FAIL_LIMIT &&
           (!run->pool.health.anybody || fails_without_header(run));
}

/* Whether a command failed before it had read anything, as far as that is seen. */
static bool is_unread(const struct cv_attempt *attempt)
{
    return attempt->opened && !cv_slot_is_remote(&attempt->slot) &&
           !(attempt->slot.open.spawn_s > 0);
}

/* How many there are of what is counted, the one that has just ended among them. */
static double count_ends(const struct cv_exec_run *run, double over)
{
    switch (run->request->failures.halt_on) {
    case CLEAVE_HALT_ON_SUCCESSES:
        return over - (double)run->queue.failed;
    case CLEAVE_HALT_ON_ENDS:
        return over;
    default:
        return (double)run->queue.failed;
    }
}

static void halt_if_asked(struct cv_exec_run *run)
{
    const struct cleave_failure_options *failures = &run->request->failures;
    const double over = (double)run->queue.chunks + 1, count = count_ends(run, over);
    const bool many =
        (failures->halt_fails > 0 && count >= (double)failures->halt_fails) ||
        (failures->halt_share > 0 && over >= 3 && count >= failures->halt_share * over);

    if (failures->halt == CLEAVE_HALT_ALL_FAIL)
        run->halted = run->hopeless = all_chunks_fail(run);
    if (failures->halt < CLEAVE_HALT_SOON || !many)
        return;
    run->halted = true;
    if (failures->halt == CLEAVE_HALT_NOW)
        cv_desks_stop(&run->table);
}

void cv_chunk_succeeded(struct cv_exec_run *run)
{
    if (run->request->failures.halt_on != CLEAVE_HALT_ON_FAILURES)
        halt_if_asked(run);
}

static void drop_output(struct cv_attempt *attempt)
{
    if (attempt->slot.store != NULL)
        cv_chunk_output_drop(attempt->slot.store);
    attempt->slot.store = NULL;
}

/* What a command wrote before it failed is of no use with the outputs of other chunks. Of an
 * item it is all that there will be, as in a shell; and where lines are written as they come,
 * it should not depend on who was faster what becomes of the last of them. Nor of one of which
 * some was written already. */
static bool keeps_output(const struct cv_exec_run *run, const struct cv_attempt *attempt)
{
    return cv_slot_passed(&attempt->slot) > 0 ||
           (run->request->items.words != NULL && run->request->reduce.command == NULL) ||
           run->request->output.lines;
}

static enum cleave_status settle_output(struct cv_exec_run *run,
                                        struct cv_attempt *attempt,
                                        struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    struct cv_chunk_output *store;

    CV_TRY(cv_item_output_format(&attempt->slot, &attempt->slot.store, err));
    store = attempt->slot.store;
    if (store == NULL)
        return cv_result_sink_skip(run->results, piece.begin, piece.end, err);
    attempt->slot.store = NULL;
    return cv_result_sink_add(run->results, store, &piece, &attempt->slot, err);
}

/* All that is to be done about a chunk that failed for good. */
static enum cleave_status settle_failure(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    const struct cv_piece piece = attempt->slot.piece;

    if (run->request->failures.isolate)
        CV_TRY(cv_note_bad(&run->failures, queue->source, &piece, err));
    if (run->request->failures.directory != NULL)
        CV_TRY(cv_failed_input_keep(run->request->failures.directory,
                                    &run->request->input, &piece, err));
    if (attempt->past.family == NULL)
        cv_worker_health_confirm_failure(&run->pool.health, &attempt->past);
    halt_if_asked(run);
    CV_TRY(settle_output(run, attempt, err));
    CV_TRY(cv_input_coverage_fail(&queue->coverage, piece.begin, piece.end, err));
    CV_TRY(cv_source_finish(queue->source, &piece, err));
    return cv_poison_tracker_clear(&run->poison, piece.begin, piece.end, err);
}

/* Its bytes are settled; or else they are left, and it does not count. */
static enum cleave_status give_up(struct cv_exec_run *run, struct cv_attempt *attempt,
                                  struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;
    enum cleave_status status;

    queue->failed++;
    queue->unread += is_unread(attempt);
    if (attempt->slot.piece.body.begin == 0)
        run->start_failed = true;
    cv_note_failure(&run->failures, run->request, queue->source, attempt);
    status = settle_failure(run, attempt, err);
    if (status != CLEAVE_OK) {
        queue->failed--;
        queue->unread -= is_unread(attempt);
    }
    return status;
}

/* --- whose fault it is --------------------------------------------------------------------- */

/* How many parties serve that the piece has not failed with. */
static bool other_domain_available(const struct cv_exec_run *run,
                                   const struct cv_failure_history *past)
{
    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        if (cv_worker_pool_serves(&run->pool, w) &&
            !cv_failure_history_has(past, cv_worker_pool_domain(&run->pool, w)))
            return true;
    return false;
}

/* Whether others are to try it, beyond what was asked for: is it the chunk or the worker? */
static bool needs_cross_check(const struct cv_exec_run *run,
                              const struct cv_attempt *attempt, bool doubtful)
{
    const struct cleave_failure_options *failures = &run->request->failures;

    return doubtful && failures->retries == 0 && !failures->strict &&
           attempt->past.count < CV_HEALTH_CROSS_CHECKS &&
           other_domain_available(run, &attempt->past);
}

/* Part it, if it can be and that is of use. */
static enum cleave_status try_halves(struct cv_exec_run *run,
                                     const struct cv_attempt *attempt,
                                     struct cv_failure_decision *out,
                                     struct cleave_error *err)
{
    if (cv_bisect_group_hopeless(attempt->past.family))
        return CLEAVE_OK;
    CV_TRY(cv_piece_bisect(run->queue.source, &attempt->slot.piece, &out->head,
                           &out->tail, err));
    out->single = out->tail.end == out->tail.begin;
    if (!out->single)
        out->verdict = CV_FAILURE_BISECT;
    return CLEAVE_OK;
}

/* Whether it may have been killed for want of memory: by the system, as nobody else did, or as
 * a shell tells it, or something of it was. */
static bool lacked_memory(struct cv_exec_run *run, const struct cv_slot *slot,
                          enum cv_slot_end end)
{
    const uint64_t before = run->memory_kills;

    if (end != CV_SLOT_FAILED || slot->fault != NULL)
        return false;
    if (slot->remote.host == NULL)
        run->memory_kills = cv_memory_kills();
    return (slot->process.signal == SIGKILL && slot->kills == 0) ||
           slot->process.exit_code == 128 + SIGKILL || run->memory_kills > before;
}

/* Count it, and find out whose fault it may be. */
static bool count_failure(struct cv_exec_run *run, struct cv_attempt *attempt)
{
    const uint32_t domain = cv_worker_pool_domain(&run->pool, attempt->slot.worker);
    char how[sizeof run->pool.health.items->ways[0]];
    bool doubtful = false;
    uint8_t way = 0;

    run->pool.tallies[attempt->slot.worker].failures++;
    /* Parts of what failed are likely to fail: that says nothing of who had them. */
    if (attempt->past.family == NULL) {
        cv_slot_describe_end(&attempt->slot, how, sizeof how);
        doubtful = cv_worker_health_note_failure(&run->pool.health, domain, how, &way);
    }
    cv_failure_history_add(&attempt->past, domain, way);
    return doubtful;
}

enum cleave_status cv_chunk_decide_failure(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           enum cv_slot_end end,
                                           struct cv_failure_decision *out,
                                           struct cleave_error *err)
{
    const struct cleave_failure_options *failures = &run->request->failures;
    const struct cv_bisect_group *family = attempt->past.family;
    const bool may_try = attempt->number <= failures->retries;
    const struct cv_piece *piece = &attempt->slot.piece;
    bool doubtful, large;

    *out = (struct cv_failure_decision){ .verdict = CV_FAILURE_REQUEUE };
    if (end == CV_SLOT_STOPPED)
        return CLEAVE_OK;
    out->verdict = CV_FAILURE_GIVE_UP;
    doubtful = count_failure(run, attempt);
    large = lacked_memory(run, &attempt->slot, end);
    if (large)
        cv_order_queue_lower_size_limit(&run->queue, (double)(piece->end - piece->begin));
    if (run->halted || run->stopped_by != 0)
        return CLEAVE_OK;
    if (run->request->output.lines && cv_slot_passed(&attempt->slot) > 0)
        return CLEAVE_OK; /* another output would come behind what is written */
    if (large && (may_try || failures->isolate))
        CV_TRY(try_halves(run, attempt, out, err));
    if (out->verdict == CV_FAILURE_GIVE_UP && (family == NULL || !family->isolates) &&
        (may_try || needs_cross_check(run, attempt, doubtful))) {
        out->verdict = CV_FAILURE_RETRY;
    }
    if (out->verdict == CV_FAILURE_GIVE_UP && failures->isolate)
        CV_TRY(try_halves(run, attempt, out, err));
    if (out->verdict == CV_FAILURE_GIVE_UP && may_try)
        out->verdict = CV_FAILURE_RETRY;
    return CLEAVE_OK;
}

static void domain_backed_off(void *context, uint32_t domain)
{
    struct cv_exec_run *run = context;
    const struct cv_health_record *at = &run->pool.health.items[domain];

    if (at->out)
        cv_note_worker_excluded(run->request,
                                cv_worker_pool_domain_name(&run->pool, domain), at);
}

/* The policy may have given up a worker that is there again. */
static void domain_recovered(void *context, uint32_t domain)
{
    struct cv_exec_run *run = context;

    /* To others, to be woken means that a time has come that they asked for. */
    for (uint32_t w = domain;
         run->queue.open && run->queue.gets_joins && w < run->pool.nworkers &&
         cv_worker_pool_domain(&run->pool, w) == domain;
         w++)
        cv_event_queue_push(&run->events,
                            (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = w });
}

enum cleave_status cv_chunk_trust(struct cv_exec_run *run, struct cleave_error *err)
{
    struct cv_worker_health *health = &run->pool.health;

    health->rests = domain_backed_off;
    health->is_back = domain_recovered;
    health->context = run;
    run->memory_kills = cv_memory_kills();
    return cv_worker_health_open(health, run->pool.nworkers, run->poller, err);
}

/* --- what is done about it ----------------------------------------------------------------- */

static struct cv_retry to_do_again(const struct cv_attempt *attempt)
{
    return (struct cv_retry){ .piece = attempt->slot.piece,
                              .past = attempt->past,
                              .chunk = attempt->chunk,
                              .owner = attempt->owner,
                              .attempt = attempt->number,
                              .began_s = attempt->began_s,
                              .told = attempt->told,
                              .quiet = attempt->quiet,
                              .hurried = attempt->past.family != NULL,
                              .alone = attempt->alone };
}

enum cleave_status cv_chunk_again(struct cv_exec_run *run,
                                  const struct cv_attempt *attempt,
                                  struct cleave_error *err)
{
    const struct cv_retry again = to_do_again(attempt);

    return cv_retry_queue_push(&run->agains, &again, again.hurried, err);
}

/* Both are done before anything else, by whoever is free; nobody is told of them. */
static enum cleave_status do_halves(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    const struct cv_failure_decision *sentence,
                                    struct cleave_error *err)
{
    struct cv_retry half = to_do_again(attempt);

    if (attempt->past.family == NULL)
        cv_worker_health_confirm_failure(&run->pool.health, &attempt->past);
    CV_TRY(cv_bisect_group_split(&run->families, &half.past.family,
                                 run->request->failures.isolate, err));
    half.attempt = run->request->failures.isolate ? 1 : attempt->number + 1;
    half.quiet = half.hurried = true;
    half.began_s = cv_clock_s();
    run->queue.parted++;
    run->queue.running++;
    half.piece = sentence->tail;
    CV_TRY(cv_retry_queue_push(&run->agains, &half, true, err));
    half.piece = sentence->head;
    return cv_retry_queue_push(&run->agains, &half, true, err);
}

void cv_chunk_keep_written_prefix(struct cv_attempt *attempt)
{
    cv_streamed_output_remember(attempt->slot.store);
    attempt->slot.store = NULL;
}

/* What it wrote is not the output of the chunk; what has been seen of it is how that begins. */
static void set_output_aside(const struct cv_exec_run *run, struct cv_attempt *attempt,
                             enum cv_failure_action verdict)
{
    const bool seen = run->request->output.early && cv_slot_passed(&attempt->slot) > 0;

    if (verdict == CV_FAILURE_RETRY && seen) {
        cv_chunk_keep_written_prefix(attempt);
    } else if (verdict != CV_FAILURE_GIVE_UP || !keeps_output(run, attempt)) {
        drop_output(attempt);
    } else if (seen) {
        cv_chunk_output_keep_lines(attempt->slot.store);
    }
}

enum cleave_status cv_chunk_failed(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   const struct cv_failure_decision *sentence,
                                   struct cleave_error *err)
{
    struct cv_order_queue *queue = &run->queue;

    set_output_aside(run, attempt, sentence->verdict);
    switch (sentence->verdict) {
    case CV_FAILURE_REQUEUE:
        queue->running--;
        return cv_source_put_back(queue->source, &attempt->slot.piece, err);
    case CV_FAILURE_RETRY:
        attempt->number++;
        queue->retries++;
        return cv_chunk_again(run, attempt, err);
    case CV_FAILURE_BISECT:
        return do_halves(run, attempt, sentence, err);
    default:
        cv_bisect_group_over(attempt->past.family, false, sentence->single);
        return give_up(run, attempt, err);
    }
}

enum cleave_status cv_chunk_output_truncated(struct cv_exec_run *run,
                                             struct cv_attempt *attempt,
                                             struct cleave_error *err)
{
    attempt->slot.fault = "was lost with its host after lines of it had been written";
    return give_up(run, attempt, err);
}

enum cleave_status cv_chunk_output_mismatch(struct cv_exec_run *run,
                                            struct cv_attempt *attempt,
                                            struct cleave_error *err)
{
    drop_output(attempt);
    attempt->slot.fault =
        "gave another output than was written of it before (see --group)";
    return give_up(run, attempt, err);
}

enum cleave_status cv_chunk_poisoned(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     uint32_t hosts, struct cleave_error *err)
{
    static const char *const faults[] = { "was lost with its host",
                                          "was lost 3 times with the only host",
                                          "was lost 3 times, with both hosts",
                                          "was lost with 3 hosts" };

    if (cv_slot_passed(&attempt->slot) > 0)
        cv_chunk_output_keep_lines(attempt->slot.store);
    else
        drop_output(attempt);
    attempt->slot.fault = faults[hosts <= CV_BLAME_LOSSES ? hosts : CV_BLAME_LOSSES];
    return give_up(run, attempt, err);
}

/* --- no room for it ------------------------------------------------------------------------ */

bool cv_chunk_put_off(struct cv_exec_run *run, const struct cv_attempt *attempt,
                      const struct cleave_error *why)
{
    struct cleave_error ignored;

    return cv_resource_wait_wait(run, &attempt->slot, why) &&
           cv_chunk_again(run, attempt, &ignored) == CLEAVE_OK;
}
