/* outlet_kept.c -- partial results that stay with the hosts and are folded there.
 * SPDX-License-Identifier: MIT */
#include "run/master/outlet_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "engine/fold_plan.h"
#include "run/fold/fold_command.h"
#include "run/master/kept_orders.h"

/* From this many partials per worker on that could be folded, those that are busy fold,
 * too: enough for a full call each. From FILES on in any case if each has a descriptor,
 * and one worker may have them all. */
enum { CROWD = CV_FOLD_MOST, FILES = 256 };

_Static_assert((int)CV_FOLD_MOST <= (int)CV_FOLD_STEP_MOST,
               "a step has room for a full call");

struct cv_kept {
    struct cv_real_run *run;
    struct cv_fold_plan *plan; /* owned                                                */
    struct cv_kept_orders orders;
    bool *may, *there;       /* owned: per worker                                    */
    struct cv_piece *pieces; /* owned: those whose outputs are kept, to be done again */
    size_t npieces, piece_room;
    size_t crowd;    /* partials from which on all fold                                */
    uint32_t losing; /* the worker that is being lost                                  */
    struct cv_store *result; /* owned while it comes                                   */
    uint64_t result_id;
    bool came, stopped, failed, by_command;
    struct cleave_error err; /* once failed                                            */
    struct cv_fold_counts counts;
};

bool cv_kept_possible(const struct cleave_execution *execution)
{
    return execution->reduce.command != NULL && execution->hosts.fold &&
           execution->journal.path == NULL;
}

static void fail(struct cv_kept *kept, const struct cleave_error *err)
{
    if (!kept->failed)
        kept->err = *err;
    kept->failed = true;
}

/* --- words from hosts --------------------------------------------------------------------- */

static void folded(struct cv_kept *kept, const struct cv_host *host,
                   const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t tries = cv_unpack_number(&unpacker);
    struct cv_kept_order *order = cv_kept_order_take(&kept->orders, head->chunk);

    if (order == NULL) { /* it was called off when a giver was lost */
        cv_kept_say(&kept->orders, host->first, CV_FRAME_FORGET, head->chunk, 0);
        return;
    }
    kept->counts.calls += tries;
    kept->counts.retries += tries > 0 ? tries - 1 : 0;
    cv_fold_plan_done(kept->plan, &order->step, order->id, head->value);
    cv_kept_order_end(&kept->orders, order);
}

static void fold_failed(struct cv_kept *kept, const struct cv_frame_head *head,
                        const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t tries = cv_unpack_number(&unpacker);
    struct cv_kept_order *order = cv_kept_order_take(&kept->orders, head->chunk);
    struct cleave_error err;
    struct cv_arena arena;

    if (order == NULL)
        return;
    kept->counts.calls += tries;
    kept->counts.retries += tries > 0 ? tries - 1 : 0;
    cv_fold_plan_undo(kept->plan, &order->step);
    cv_arena_init(&arena);
    cv_fail(&err, CLEAVE_EENGINE, "%s on %u partial results%s",
            cv_unpack_text(&unpacker, &arena), order->step.count,
            tries > 1 ? ", also when tried again" : "");
    cv_arena_done(&arena);
    kept->by_command |= !kept->failed;
    fail(kept, &err);
    free(order);
}

static void result_came(struct cv_kept *kept, const struct cv_frame_head *head,
                        const unsigned char *payload)
{
    struct cleave_error err;

    if (kept->result == NULL || head->chunk != kept->result_id || kept->came)
        return;
    if (cv_store_write(kept->result, payload, head->length, &err) != CLEAVE_OK)
        fail(kept, &err);
    kept->came = (head->flags & CV_FRAME_LAST) != 0;
}

static void host_frame(void *context, struct cv_host *host,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    const struct cv_real_run *run = context;
    struct cleave_error err;

    if (head->type == CV_FRAME_FOLDED) {
        folded(run->kept, host, head, payload);
    } else if (head->type == CV_FRAME_FOLD_FAILED) {
        fold_failed(run->kept, head, payload);
    } else if (head->type == CV_FRAME_PARTIAL) {
        result_came(run->kept, head, payload);
    } else {
        cv_fail(&err, CLEAVE_EINPUT, "got a frame that is not expected here");
        cv_host_fail(host, &err);
    }
}

/* --- partials ----------------------------------------------------------------------------- */

static bool is_stream(const struct cv_real_run *run)
{
    return cv_source_input(run->books.source, 0).size < 0;
}

enum cleave_status cv_kept_add(struct cv_kept *kept, const struct cv_slot *slot,
                               struct cleave_error *err)
{
    const struct cv_piece *piece = &slot->piece;

    if (kept->npieces == kept->piece_room) {
        struct cv_piece *grown =
            cv_grow(kept->pieces, &kept->piece_room, kept->npieces + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "partial results");
        kept->pieces = grown;
    }
    kept->pieces[kept->npieces++] = *piece;
    CV_TRY(
        cv_fold_plan_add(kept->plan,
                         cv_kept_base(&kept->orders, slot->worker) + slot->remote.number,
                         piece->begin, piece->end, slot->worker, slot->remote.kept, err));
    /* A stream cannot be read again, and its memory is wanted for more of it. */
    return is_stream(kept->run) ? cv_source_finish(kept->run->books.source, piece, err)
                                : CLEAVE_OK;
}

enum cleave_status cv_kept_skip(struct cv_kept *kept, uint64_t begin, uint64_t end,
                                struct cleave_error *err)
{
    return cv_fold_plan_add(kept->plan, 0, begin, end, CV_FOLD_NOBODY, 0, err);
}

/* The output of a piece has gone with its host: it is to be done again. */
static enum cleave_status do_again(void *context, uint64_t begin, uint64_t end,
                                   struct cleave_error *err)
{
    struct cv_kept *kept = context;
    struct cv_books *books = &kept->run->books;
    const struct cv_want again = { .units = (double)(end - begin), .told = true };
    struct cv_piece piece;
    size_t i = 0;

    while (kept->pieces[i].begin != begin)
        i++;
    piece = kept->pieces[i];
    kept->pieces[i] = kept->pieces[--kept->npieces];
    if (!books->open || is_stream(kept->run))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the results of bytes %llu to %llu are lost with their host%s",
                       (unsigned long long)begin, (unsigned long long)end,
                       books->open ? ", and a stream cannot be read again" : "");
    books->done -= again.units;
    return cv_books_lose(books, kept->losing, &again, &piece, err);
}

static enum cleave_status lose(struct cv_kept *kept, uint32_t worker,
                               struct cleave_error *err)
{
    struct cv_kept_order *order;

    while ((order = cv_kept_order_take_of(&kept->orders, worker)) != NULL) {
        cv_fold_plan_undo(kept->plan, &order->step);
        cv_kept_order_call_off(&kept->orders, order);
    }
    kept->losing = worker;
    return cv_fold_plan_lose(kept->plan, worker, do_again, kept, err);
}

enum cleave_status cv_kept_status(struct cv_kept *kept, bool *out_command,
                                  struct cleave_error *err)
{
    for (uint32_t w = 0; w < kept->run->staff.nworkers; w++) {
        if (!kept->there[w] || cv_staff_there(&kept->run->staff, w))
            continue;
        kept->there[w] = false;
        CV_TRY(lose(kept, w, err));
    }
    if (out_command != NULL)
        *out_command = kept->by_command;
    if (!kept->failed)
        return CLEAVE_OK;
    if (err != NULL)
        *err = kept->err;
    return kept->err.status;
}

/* --- folding ------------------------------------------------------------------------------ */

static bool idle(const struct cv_kept *kept, uint32_t worker)
{
    return cv_books_next(&kept->run->books, worker) == NULL &&
           !cv_desks_busy(&kept->run->desks, worker);
}

/* Whether more partials will come by themselves. */
static bool more_to_come(const struct cv_kept *kept)
{
    return kept->orders.under_way != NULL || kept->run->books.running > 0 ||
           kept->run->books.pending > 0;
}

enum cleave_status cv_kept_go(struct cv_kept *kept, struct cleave_error *err)
{
    const uint32_t n = kept->run->staff.nworkers;
    const bool crowded = cv_fold_plan_ready(kept->plan) > kept->crowd;
    struct cv_fold_step step;

    if (kept->stopped || kept->failed)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < n; w++)
        kept->may[w] =
            kept->there[w] && kept->orders.busy[w] == 0 && (crowded || idle(kept, w));
    while (cv_fold_plan_next(kept->plan, kept->may, more_to_come(kept), &step)) {
        kept->may[step.at] = false;
        CV_TRY(cv_kept_order(&kept->orders, &step, err));
    }
    return CLEAVE_OK;
}

bool cv_kept_unfinished(const struct cv_kept *kept)
{
    return kept->orders.under_way != NULL ||
           (!kept->stopped && !kept->failed && cv_fold_plan_count(kept->plan) > 1);
}

void cv_kept_stop(struct cv_kept *kept)
{
    if (kept->stopped)
        return;
    kept->stopped = true;
    for (uint32_t w = 0; w < kept->run->staff.nworkers; w++)
        if (kept->there[w])
            cv_kept_say(&kept->orders, w, CV_FRAME_FOLD_STOP, 0, 0);
    /* Nobody waits for what they were about to make. */
    while (kept->orders.under_way != NULL) {
        struct cv_kept_order *order =
            cv_kept_order_take(&kept->orders, kept->orders.under_way->id);

        cv_fold_plan_undo(kept->plan, &order->step);
        free(order);
    }
}

/* --- the end ------------------------------------------------------------------------------ */

static enum cleave_status check_stop(struct cv_kept *kept, struct cleave_error *err)
{
    struct cv_real_run *run = kept->run;
    int reason = 0;

    CV_TRY(cv_kept_status(kept, &run->reduce_failed, err));
    if (cv_gather_status(run->gather, &reason, err) != CLEAVE_OK) {
        run->output_closed = reason == EPIPE;
        return CLEAVE_EENGINE;
    }
    if (run->stopped_by == 0)
        return CLEAVE_OK;
    cv_kept_stop(kept);
    return cv_fail(err, CLEAVE_EENGINE, "stopped by a signal");
}

/* The last partial comes here. */
static enum cleave_status fetch(struct cv_kept *kept, struct cleave_error *err)
{
    uint64_t bytes;
    uint32_t holder;

    if (cv_fold_plan_count(kept->plan) == 0)
        return CLEAVE_OK;
    if (!cv_fold_plan_last(kept->plan, &kept->result_id, &holder, &bytes))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the input");
    CV_TRY(cv_store_open(kept->run->gather, &kept->result, err));
    cv_kept_say(&kept->orders, holder, CV_FRAME_FETCH, kept->result_id, 0);
    while (!kept->came) {
        CV_TRY(cv_poller_wait(kept->run->poller, -1, err));
        CV_TRY(check_stop(kept, err));
    }
    if (cv_store_size(kept->result) != bytes)
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected a result of %llu bytes, got one of %llu",
                       (unsigned long long)bytes,
                       (unsigned long long)cv_store_size(kept->result));
    return CLEAVE_OK;
}

enum cleave_status cv_kept_finish(struct cv_kept *kept, struct cleave_error *err)
{
    struct cv_store *result;

    for (;;) {
        CV_TRY(check_stop(kept, err));
        CV_TRY(cv_kept_go(kept, err));
        if (kept->orders.under_way == NULL)
            break;
        CV_TRY(cv_poller_wait(kept->run->poller, -1, err));
    }
    CV_TRY(fetch(kept, err));
    result = kept->result;
    kept->result = NULL;
    return result != NULL ? cv_gather_finish(kept->run->gather, result, 0, 1, err)
                          : CLEAVE_OK;
}

struct cv_fold_counts cv_kept_counts(const struct cv_kept *kept)
{
    return kept->counts;
}

enum cleave_status cv_kept_new(struct cv_real_run *run, struct cv_kept **out,
                               struct cleave_error *err)
{
    const uint32_t n = run->staff.nworkers;
    const bool takes_files = cv_fold_takes_files(run->asked->reduce.command);
    struct cv_kept *kept;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(cv_fold_check_command(run->asked->reduce.command, err));
    kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return cv_fail_memory(err, "the reduction");
    kept->run = run;
    kept->crowd = (size_t)CROWD * n;
    if (takes_files && kept->crowd > FILES)
        kept->crowd = FILES;
    kept->may = calloc(n, sizeof *kept->may);
    kept->there = calloc(n, sizeof *kept->there);
    if (kept->may == NULL || kept->there == NULL)
        status = cv_fail_memory(err, "the reduction");
    if (status == CLEAVE_OK)
        status = cv_kept_orders_init(&kept->orders, run, err);
    if (status == CLEAVE_OK)
        status = cv_fold_plan_new(n, run->asked->reduce.commutative,
                                  cv_fold_takes_files(run->asked->reduce.command)
                                      ? 2
                                      : CV_FOLD_MOST,
                                  &kept->plan, err);
    if (status == CLEAVE_OK)
        status = cv_kept_tell_hosts(&kept->orders, kept->there, err);
    if (status != CLEAVE_OK) {
        cv_kept_free(kept);
        return status;
    }
    run->staff.hosts.keeps = true;
    run->staff.hosts.other = host_frame;
    *out = kept;
    return CLEAVE_OK;
}

void cv_kept_free(struct cv_kept *kept)
{
    if (kept == NULL)
        return;
    cv_kept_orders_done(&kept->orders);
    cv_store_drop(kept->result);
    cv_fold_plan_free(kept->plan);
    free(kept->may);
    free(kept->there);
    free(kept->pieces);
    free(kept);
}
