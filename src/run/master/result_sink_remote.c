/* result_sink_remote.c -- a result sink whose outputs stay on hosts and are folded
 * there. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <cleave/execute.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/fold/fold.h"
#include "run/master/remote_fold.h"

/* Partials per worker from which busy workers fold too: enough for a full call. FILES
 * is the limit in all if each partial has a descriptor, because one worker may have
 * them all. */
enum { CROWD = CV_FOLD_MOST, FILES = 256 };

_Static_assert((int)CV_FOLD_MOST <= (int)CV_FOLD_STEP_MOST,
               "a step has room for a full call");

static struct cv_remote_fold *kept_of(struct cv_result_sink *results)
{
    return (struct cv_remote_fold *)results; /* the sink is its first member */
}

/* --- partials ----------------------------------------------------------------------------- */

static enum cleave_status kept_add(struct cv_result_sink *results,
                                   struct cv_chunk_output *store,
                                   const struct cv_piece *piece,
                                   const struct cv_slot *maker, struct cleave_error *err)
{
    const struct cv_remote_facts facts = cv_remote_facts(maker);
    struct cv_remote_fold *kept = kept_of(results);

    cv_chunk_output_drop(store); /* the output is empty */
    if (!CV_ROOM(kept->pieces, &kept->piece_room, kept->npieces + 1))
        return cv_fail_memory(err, "partial results");
    kept->pieces[kept->npieces++] = *piece;
    return cv_fold_plan_add(kept->plan,
                            cv_remote_fold_base(&kept->orders, maker->worker) +
                                facts.number,
                            piece->begin, piece->end, maker->worker, facts.kept, err);
}

static enum cleave_status kept_skip(struct cv_result_sink *results, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    return cv_fold_plan_add(kept_of(results)->plan, 0, begin, end, CV_FOLD_NOBODY, 0,
                            err);
}

/* The output of a piece was lost with its host: redo the piece. */
static enum cleave_status do_again(void *context, uint64_t begin, uint64_t end,
                                   struct cleave_error *err)
{
    struct cv_remote_fold *kept = context;
    struct cv_order_queue *queue = kept->queue;
    const struct cv_chunk chunk = { .owner = kept->losing, .reported = CV_REPORTED_SENT };
    struct cv_piece piece;
    size_t i = 0;

    while (kept->pieces[i].begin != begin)
        i++;
    piece = kept->pieces[i];
    kept->pieces[i] = kept->pieces[--kept->npieces];
    if (!queue->open || !kept->results.may_lose)
        return cv_fail(err, CLEAVE_ELOST,
                       "the results of bytes %llu to %llu are lost with their host%s",
                       (unsigned long long)begin, (unsigned long long)end,
                       queue->open ? ", and a stream cannot be read again: a journal "
                                     "(journal.path) keeps results here"
                                   : "");
    queue->done -= (double)(end - begin);
    CV_TRY(cv_input_coverage_lose(&queue->coverage, begin, end, err));
    return cv_order_queue_requeue(queue, &chunk, &piece, err);
}

static enum cleave_status lose(struct cv_remote_fold *kept, uint32_t worker,
                               struct cleave_error *err)
{
    struct cv_remote_fold_order *order;
    struct cv_fold_part part;

    if (kept->came) /* the result is complete */
        return CLEAVE_OK;
    if (kept->fetching && kept->holder == worker) {
        cv_chunk_output_drop(kept->result);
        kept->result = NULL;
        kept->fetching = false;
        kept->orders.fetched = CV_FOLD_NOBODY;
    }
    while ((order = cv_remote_fold_order_take_of(&kept->orders, worker)) != NULL) {
        cv_fold_plan_undo(kept->plan, &order->step);
        cv_remote_fold_order_call_off(&kept->orders, order);
    }
    while (cv_fold_plan_lose_ahead(kept->plan, worker, &part))
        if (kept->there[part.ahead])
            cv_remote_fold_say(&kept->orders, part.ahead, CV_FRAME_FORGET, part.name);
    kept->losing = worker;
    return cv_fold_plan_lose(kept->plan, worker, do_again, kept, err);
}

static enum cleave_status kept_status(struct cv_result_sink *results, bool *out_command,
                                      struct cleave_error *err)
{
    struct cv_remote_fold *kept = kept_of(results);

    for (uint32_t w = 0; w < kept->pool->nworkers; w++) {
        if (!kept->there[w] || cv_worker_pool_there(kept->pool, w))
            continue;
        kept->there[w] = false;
        CV_TRY(lose(kept, w, err));
    }
    *out_command = kept->by_command;
    if (!kept->failed)
        return CLEAVE_OK;
    if (err != NULL)
        *err = kept->err;
    return kept->err.status;
}

/* --- folding ------------------------------------------------------------------------------ */

static bool idle(const struct cv_remote_fold *kept, uint32_t worker)
{
    return cv_order_queue_next(kept->queue, worker) == NULL &&
           !cv_attempt_table_is_busy(kept->table, worker);
}

/* Whether more partials will be made. */
static bool more_to_come(const struct cv_remote_fold *kept)
{
    return kept->orders.under_way != NULL || kept->queue->running > 0 ||
           kept->queue->pending > 0;
}

/* Wakes the poller, which asks for the next step. */
static void look_again(void *context)
{
    (void)context;
}

/* Move partials that cannot be folded now to workers that will soon be free. */
static enum cleave_status send_ahead(struct cv_remote_fold *kept,
                                     struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    double next_s = INFINITY;
    struct cv_fold_part part;

    for (const struct cv_remote_fold_order *order = kept->orders.under_way; order != NULL;
         order = order->next) {
        const double near_s =
            cv_fold_pace_near_s(&kept->pace, &order->step, order->given_s,
                                order->step.parts[0].bytes);

        if (near_s > now_s)
            next_s = fmin(next_s, near_s);
        else if (cv_fold_plan_ahead(kept->plan, &order->step, kept->may,
                                    cv_remote_fold_name(&kept->orders), &part))
            CV_TRY(cv_remote_fold_send_ahead(&kept->orders, &part, err));
    }
    if (!isinf(next_s))
        cv_poller_set(kept->pool->hosts.poller, &kept->near, next_s, look_again, kept);
    return CLEAVE_OK;
}

static enum cleave_status go_on(struct cv_remote_fold *kept, struct cleave_error *err)
{
    const uint32_t n = kept->pool->nworkers;
    /* Order the first fold at once, to measure it early. */
    const bool unknown = kept->counts.calls == 0 && kept->orders.under_way == NULL;
    const bool crowded = unknown || cv_fold_plan_ready(kept->plan) > kept->crowd;
    struct cv_fold_step step;

    if (kept->stopped || kept->failed)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < n; w++)
        kept->may[w] =
            kept->there[w] && kept->orders.busy[w] == 0 && (crowded || idle(kept, w));
    while (
        cv_fold_plan_next(kept->plan, kept->may, !unknown && more_to_come(kept), &step)) {
        kept->may[step.at] = false;
        CV_TRY(cv_remote_fold_order(&kept->orders, &step, err));
        if (unknown)
            return CLEAVE_OK;
    }
    return send_ahead(kept, err);
}

/* Fetch the last partial. */
static enum cleave_status fetch(struct cv_remote_fold *kept, struct cleave_error *err)
{
    if (!cv_fold_plan_last(kept->plan, &kept->result_id, &kept->holder,
                           &kept->result_bytes))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the input");
    CV_TRY(cv_chunk_output_open(kept->outputs, &kept->result, err));
    kept->fetching = true;
    cv_remote_fold_fetch(&kept->orders, kept->holder, kept->result_id);
    return CLEAVE_OK;
}

/* Whether one partial is left and no other will be made. It is fetched while chunks
 * can still be redone. */
static bool is_last(const struct cv_remote_fold *kept)
{
    return !kept->stopped && !kept->failed && !more_to_come(kept) &&
           !(cv_source_left(kept->queue->source) > 0) &&
           cv_fold_plan_count(kept->plan) == 1;
}

static enum cleave_status kept_work(struct cv_result_sink *results,
                                    struct cleave_error *err)
{
    struct cv_remote_fold *kept = kept_of(results);

    CV_TRY(go_on(kept, err));
    return is_last(kept) && !kept->fetching ? fetch(kept, err) : CLEAVE_OK;
}

/* Several partials have to be folded even if none is running; the last one is fetched. */
static uint32_t kept_busy(const struct cv_result_sink *results)
{
    const struct cv_remote_fold *kept = (const struct cv_remote_fold *)results;

    return kept->orders.under_way != NULL ||
           (!kept->stopped && !kept->failed && cv_fold_plan_count(kept->plan) > 1) ||
           (is_last(kept) && !kept->came);
}

static void kept_stop(struct cv_result_sink *results)
{
    struct cv_remote_fold *kept = kept_of(results);

    if (kept->stopped)
        return;
    kept->stopped = true;
    for (uint32_t w = 0; w < kept->pool->nworkers; w++)
        if (kept->there[w])
            cv_remote_fold_say(&kept->orders, w, CV_FRAME_FOLD_STOP, 0);
    /* Cancel running folds. */
    while (kept->orders.under_way != NULL) {
        struct cv_remote_fold_order *order =
            cv_remote_fold_order_take(&kept->orders, kept->orders.under_way->id);

        cv_fold_plan_undo(kept->plan, &order->step);
        cv_remote_fold_order_drop(&kept->orders, order);
    }
}

/* --- the end ------------------------------------------------------------------------------ */

static enum cleave_status kept_settle(struct cv_result_sink *results, bool *out_done,
                                      struct cleave_error *err)
{
    struct cv_remote_fold *kept = kept_of(results);
    struct cv_chunk_output *result;

    if (!kept->fetching) {
        CV_TRY(go_on(kept, err));
        *out_done = kept->orders.under_way == NULL && cv_fold_plan_count(kept->plan) == 0;
        if (kept->orders.under_way != NULL || *out_done)
            return CLEAVE_OK;
        CV_TRY(fetch(kept, err));
    }
    *out_done = kept->came;
    if (!kept->came)
        return CLEAVE_OK;
    if (cv_chunk_output_size(kept->result) != kept->result_bytes)
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected a result of %llu bytes, got one of %llu",
                       (unsigned long long)kept->result_bytes,
                       (unsigned long long)cv_chunk_output_size(kept->result));
    result = kept->result;
    kept->result = NULL;
    return cv_ordered_output_finish(kept->outputs, result, 0, 1, err);
}

static uint64_t kept_covered(const struct cv_result_sink *results)
{
    return cv_fold_plan_covered(((const struct cv_remote_fold *)results)->plan);
}

static struct cv_fold_counts kept_counts(const struct cv_result_sink *results)
{
    const struct cv_remote_fold *kept = (const struct cv_remote_fold *)results;
    struct cv_fold_counts counts = kept->counts;

    for (const struct cv_remote_fold_order *order = kept->orders.under_way; order != NULL;
         order = order->next)
        counts.waited_s = fmax(counts.waited_s,
                               (cv_clock_s() - order->given_s) / (order->step.count - 1));
    return counts;
}

static void kept_free(struct cv_result_sink *results)
{
    struct cv_remote_fold *kept = kept_of(results);

    if (kept->pool != NULL)
        cv_poller_cancel(kept->pool->hosts.poller, &kept->near);
    cv_remote_fold_orders_done(&kept->orders);
    cv_chunk_output_drop(kept->result);
    cv_fold_plan_free(kept->plan);
    free(kept->may);
    free(kept->there);
    free(kept->pieces);
    free(kept);
}

/* --- opening ------------------------------------------------------------------------------ */

static const struct cv_result_sink_kind kept_kind = {
    .add = kept_add,
    .skip = kept_skip,
    .work = kept_work,
    .busy = kept_busy,
    .stop = kept_stop,
    .status = kept_status,
    .settle = kept_settle,
    .counts = kept_counts,
    .covered = kept_covered,
    .free = kept_free,
};

bool cv_result_sink_kept_possible(const struct cleave_execution *request)
{
    return request->reduce.command != NULL && request->hosts.fold &&
           request->items.words == NULL && request->journal.path == NULL;
}

/* Set up the empty plan and tell the hosts. */
static enum cleave_status prepare(struct cv_remote_fold *kept,
                                  const struct cleave_execution *request,
                                  struct cleave_error *err)
{
    const uint32_t n = kept->pool->nworkers;
    const bool takes_files = cv_fold_takes_files(request->reduce.command);

    kept->crowd = (size_t)CROWD * n;
    if (takes_files && kept->crowd > FILES)
        kept->crowd = FILES;
    kept->may = calloc(n, sizeof *kept->may);
    kept->there = calloc(n, sizeof *kept->there);
    if (kept->may == NULL || kept->there == NULL)
        return cv_fail_memory(err, "the reduction");
    CV_TRY(cv_remote_fold_orders_init(&kept->orders, kept->pool, err));
    CV_TRY(cv_fold_plan_new(n, request->reduce.commutative,
                            takes_files ? 2 : CV_FOLD_MOST, &kept->plan, err));
    return cv_remote_fold_tell_hosts(&kept->orders, request, kept->there, err);
}

enum cleave_status cv_result_sink_kept(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err)
{
    struct cv_remote_fold *kept;
    enum cleave_status status;

    CV_TRY(cv_fold_check_command(options->request->reduce.command, err));
    kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return cv_fail_memory(err, "the reduction");
    kept->results.kind = &kept_kind;
    kept->pool = options->pool;
    kept->queue = options->queue;
    kept->table = options->table;
    kept->outputs = options->outputs;
    kept->log = options->log;
    kept->retries = options->request->failures.retries;
    /* A stream cannot be read again, and its memory is needed for new input. */
    kept->results.may_lose = cv_source_input(options->queue->source, 0).size >= 0;
    status = prepare(kept, options->request, err);
    if (status != CLEAVE_OK) {
        kept_free(&kept->results);
        return status;
    }
    kept->pool->hosts.keeps = true;
    kept->pool->hosts.other = cv_remote_fold_frame;
    kept->pool->hosts.other_context = kept;
    *out = &kept->results;
    return CLEAVE_OK;
}
