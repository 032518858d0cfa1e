/* chunk_orders.c -- begins orders and retries when their workers are free.
 * SPDX-License-Identifier: MIT */
#include "run/master/exec_run.h"

#include <math.h>
#include <sys/mman.h>
#include "base/fail.h"
#include "run/hosts/hosts.h"
#include "run/hosts/joining.h"
#include "run/slot/persistent_slot.h"

/* --- attempts of workers, and starts --------------------------------------------------- */

/* Attempts of a worker on a host, and of a local one, which uses the second while an
 * open chunk waits. */
enum { ATTEMPTS_AWAY = 3, ATTEMPTS_HERE = 2 };

bool cv_may_have_hosts(const struct cleave_execution *request)
{
    return request->hosts.count > 0 || cv_has_join_port(request) ||
           request->hosts.more != NULL;
}

/* The first slot that shares the command of the worker; NULL: that is its own slot. */
static struct cv_slot *first_of_window(const struct cv_exec_run *run, uint32_t worker)
{
    const uint32_t place = worker % cv_hosts_window(&run->pool.hosts);

    return place > 0 ? &run->table.items[worker - place].items[0].slot : NULL;
}

static enum cleave_status set_up(struct cv_exec_run *run, uint32_t worker,
                                 struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_host *host = run->pool.host_of[worker];

    cv_slot_init(slot);
    slot->poller = run->poller;
    slot->outputs = run->outputs;
    slot->listener =
        cv_start_limiter_has_spare_files(&run->limiter,
                                         run->pool.nworkers /
                                             cv_hosts_window(&run->pool.hosts))
            ? &run->request->listener
            : NULL;
    slot->command = &run->pool.commands[worker];
    slot->ok = &run->request->failures.ok;
    slot->timeout_s = run->request->failures.timeout_s;
    cv_chunks_listen(run, slot);
    slot->worker = worker;
    slot->items = run->request->items.words != NULL ? &run->request->items : NULL;
    slot->numbers = run->request->tell_records ? run->queue.source : NULL;
    slot->by_lines = run->request->output.lines &&
                     (slot->items != NULL || run->request->output.unordered);
    if (host == NULL && !run->request->persistent) {
        slot->base = slot->command;
        slot->direct = run->request->output.direct ? run->request->output.descriptor : 0;
        /* With hosts the master must not block on the reader of the output, and only one
         * process may write. */
        if (slot->by_lines && !cv_may_have_hosts(run->request))
            slot->lines_to = run->request->output.descriptor;
    }
    if (host != NULL)
        return cv_remote_init(slot, host, worker - host->first, err);
    return run->request->persistent
               ? cv_persistent_init(slot, first_of_window(run, worker),
                                    cv_hosts_window(&run->pool.hosts), err)
               : CLEAVE_OK;
}

/* Keep the slots of persistent commands that stayed after the last input; false: there
 * are none. */
static bool seat_again(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_worker_attempts *places = &run->table.items[worker];
    struct cv_host *host = run->pool.host_of[worker];

    if (!run->stay || places->count == 0 ||
        cv_remote_host(&places->items[0].slot) != host)
        return false;
    for (uint32_t i = 0; i < places->count; i++) {
        struct cv_slot *slot = &places->items[i].slot;

        slot->outputs = run->outputs;
        slot->numbers = run->request->tell_records ? run->queue.source : NULL;
    }
    return true;
}

enum cleave_status cv_chunks_bind_slot(struct cv_exec_run *run, uint32_t worker,
                                       struct cleave_error *err)
{
    struct cv_worker_attempts *places = &run->table.items[worker];
    const bool away = run->pool.host_of[worker] != NULL;

    if (seat_again(run, worker))
        return CLEAVE_OK;

    CV_TRY(cv_worker_attempts_set(places,
                                  away                       ? ATTEMPTS_AWAY
                                  : run->request->window > 0 ? 1
                                                             : ATTEMPTS_HERE,
                                  err));
    places->max =
        away && !cv_start_rates_limit(run, worker) && run->request->input.nlimits == 0
            ? ATTEMPTS_AWAY
            : 1;
    for (uint32_t i = 0; i < places->count; i++) {
        const enum cleave_status status =
            set_up(run, worker, &places->items[i].slot, err);

        if (status != CLEAVE_OK) {
            places->count = i + 1; /* later slots are not initialized */
            return status;
        }
    }
    return CLEAVE_OK;
}

static void tell_sent(struct cv_exec_run *run, struct cv_attempt *attempt,
                      const struct cv_piece *piece)
{
    attempt->chunk.reported = CV_REPORTED_SENT;
    cv_event_queue_report(&run->events, &attempt->chunk,
                          (struct cleave_event){ .kind = CLEAVE_SENT,
                                                 .units = piece->units });
}

/* Start the command of a complete piece. A piece that is not sent to a host has arrived. */
static enum cleave_status start(struct cv_exec_run *run, struct cv_attempt *attempt,
                                const struct cv_piece *piece, struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status;

    attempt->slot.number = attempt->chunk.number;
    attempt->runs_s = cv_clock_s();
    attempt->bound_s = attempt->start_s = attempt->due = 0;
    if (run->queue.keys != NULL)
        CV_TRY(
            cv_item_keys_content(run->queue.keys, piece->begin, &attempt->content, err));
    attempt->slot.piece = *piece;
    /* Only status 0 shows what the header of outputs is. */
    attempt->slot.ok =
        cv_source_is_head(run->queue.source, piece) ? NULL : &run->request->failures.ok;
    status = cv_resource_wait_look(run, &attempt->slot, &why);
    if (status == CLEAVE_OK) {
        cv_attempt_step(attempt, CV_EVENT_BEGIN);
        status = cv_slot_start(&attempt->slot, piece, &why);
        if (status != CLEAVE_OK)
            cv_attempt_step(attempt, CV_EVENT_NO_START);
    }
    if (status != CLEAVE_OK) {
        if (status == CLEAVE_ERESOURCES && cv_chunk_put_off(run, attempt, &why))
            return CLEAVE_OK;
        if (err != NULL)
            *err = why;
        return status;
    }
    cv_start_limiter_begun(&run->limiter);
    CV_TRY(cv_start_rates_count(run, attempt->slot.worker, piece, err));
    if (!cv_slot_is_remote(&attempt->slot) &&
        attempt->chunk.reported == CV_REPORTED_ORDER)
        tell_sent(run, attempt, piece);
    return CLEAVE_OK;
}

static enum cleave_status chunks_begin(struct cv_exec_run *run,
                                       struct cv_attempt *attempt, uint32_t owner,
                                       const struct cv_pending_order *pending,
                                       const struct cv_piece *piece,
                                       struct cleave_error *err)
{
    attempt->chunk = (struct cv_chunk){ .number = pending->chunk,
                                        .owner = owner,
                                        .attempt = 1,
                                        .began_s = cv_clock_s(),
                                        .reported = pending->reported };
    run->queue.running++;
    if (pending->kind != CV_ORDER_OPEN)
        return start(run, attempt, piece, err);
    tell_sent(run, attempt, piece);
    return cv_open_chunks_begin(run, attempt, pending, piece, err);
}

static enum cleave_status chunks_begin_again(struct cv_exec_run *run,
                                             struct cv_attempt *attempt,
                                             const struct cv_retry *again,
                                             struct cleave_error *err)
{
    attempt->chunk = again->chunk;
    return start(run, attempt, &again->piece, err);
}

/* --- begin an order -------------------------------------------------------------------- */

/* Units that the order may take on that worker; for items, at most those of one command. */
static double most_of(struct cv_exec_run *run, uint32_t worker,
                      const struct cv_pending_order *pending)
{
    const double wanted = cv_order_queue_size(&run->queue, pending);
    const double max = (double)run->request->items.max;

    if (run->request->input.exact)
        return 0; /* one group of records, with whatever weight */
    return max > 1 ? fmin(wanted, max)
                   : fmin(wanted, cv_start_rates_share(run, worker, true));
}

/* A heavy record is for workers that are at least this part as fast as the fastest one. */
static const double FAST = 0.5;

static double speed_of(const struct cv_worker_stats *worker)
{
    return worker->busy_s > 0 ? worker->units / worker->busy_s : 0;
}

static struct cv_taker find_taker(struct cv_exec_run *run, uint32_t worker)
{
    const double own = speed_of(&run->pool.tallies[worker]);
    const double most = cv_start_rates_share(run, worker, false);
    struct cv_taker taker = { .fast = own > 0 || run->pool.nworkers == 1,
                              .most = isfinite(most) ? (uint64_t)fmax(1, most) : 0 };

    if (!cv_source_is_weighed(run->queue.source))
        return taker;
    for (uint32_t w = 0; w < run->pool.first_spare; w++) {
        const bool faster = FAST * speed_of(&run->pool.tallies[w]) > own;

        taker.fast = taker.fast && !faster;
        taker.faster += own > 0 && faster && cv_attempt_table_is_busy(&run->table, w);
    }
    return taker;
}

/* Whether an open chunk may begin with the part of a stream that has arrived. */
static bool look_at_stream(struct cv_exec_run *run, uint64_t wanted)
{
    const struct cv_incoming input = cv_open_chunks_incoming(run, wanted);

    return !cv_source_flows(run->queue.source) ||
           cv_slow_stream_look(&run->slow, run->poller, &input);
}

/* With limits for keys an order waits if all items left wait for their keys. */
static enum cleave_status take_item(struct cv_exec_run *run,
                                    const struct cv_pending_order *pending,
                                    enum cv_take *state, struct cv_piece *out,
                                    struct cleave_error *err)
{
    struct cv_source *source = run->queue.source;
    uint64_t item = pending->item;
    const bool found = pending->kind == CV_ORDER_ITEM
                           ? cv_key_limits_allow(run, item, item + 1)
                           : cv_key_limits_find(run, &item);

    *state = cv_source_left(source) > 0 ? CV_TAKE_WAIT : CV_TAKE_END;
    return found ? cv_source_take_item(source, item, state, out, err) : CLEAVE_OK;
}

static enum cleave_status take_piece(struct cv_exec_run *run, uint32_t worker,
                                     const struct cv_pending_order *pending,
                                     enum cv_take *state, struct cv_piece *out,
                                     struct cleave_error *err)
{
    struct cv_taker taker = find_taker(run, worker);
    struct cv_source *source = run->queue.source;

    if (!cv_key_limits_filter(run, &taker)) {
        *state = CV_TAKE_WAIT;
        return CLEAVE_OK;
    }
    if (pending->kind == CV_ORDER_OPEN && pending->units > 0)
        return cv_open_chunks_take(run,
                                   (uint64_t)cv_order_queue_size(&run->queue, pending),
                                   state, out, err);
    if (pending->kind == CV_ORDER_ITEM || run->request->items.nlimits > 0)
        return take_item(run, pending, state, out, err);
    return pending->units > 0
               ? cv_source_take_units(source, most_of(run, worker, pending), &taker,
                                      state, out, err)
               : CLEAVE_OK;
}

/* Take the piece of an order, unless the rate of the worker or the limits of its keys do not allow it
 * now: a group may be larger than the part of it that may start. */
static enum cleave_status take_allowed(struct cv_exec_run *run, uint32_t worker,
                                       const struct cv_pending_order *pending,
                                       enum cv_take *state, struct cv_piece *out,
                                       struct cleave_error *err)
{
    CV_TRY(take_piece(run, worker, pending, state, out, err));
    if (*state != CV_TAKE_PIECE || out->begin == out->end)
        return CLEAVE_OK;
    CV_TRY(cv_start_rates_fit(run, worker, out, err));
    if (cv_key_limits_allow(run, out->begin, out->end) &&
        cv_start_rates_allow(run, worker, out))
        return CLEAVE_OK;
    *state = CV_TAKE_WAIT;
    return cv_source_put_back(run->queue.source, out, err);
}

/* Begin the next order of `owner`. *began is false if the input has not arrived, or if
 * the command that reads the input cannot be started now. */
static enum cleave_status begin_one(struct cv_exec_run *run, uint32_t owner,
                                    struct cv_attempt *attempt, bool *began,
                                    struct cleave_error *err)
{
    const uint32_t worker = attempt->slot.worker;
    struct cv_order_queue *queue = &run->queue;
    struct cv_pending_order pending = *cv_order_queue_next(queue, owner);
    struct cv_piece piece = cv_source_blank(queue->source);
    enum cv_take state = CV_TAKE_PIECE;
    struct cleave_error why;
    enum cleave_status status;

    *began = cv_start_rates_allow(run, worker, NULL);
    if (!*began)
        return CLEAVE_OK;
    if (pending.kind == CV_ORDER_OPEN && pending.units > 0)
        *began = look_at_stream(run, (uint64_t)cv_order_queue_size(queue, &pending));
    if (!*began)
        return CLEAVE_OK;
    status = take_allowed(run, worker, &pending, &state, &piece, &why);
    if (status == CLEAVE_ERESOURCES &&
        cv_start_limiter_wait(&run->limiter, run->poller, &why)) {
        *began = false;
        return CLEAVE_OK;
    }
    if (status != CLEAVE_OK && err != NULL)
        *err = why;
    CV_TRY(status);
    *began = state != CV_TAKE_WAIT;
    if (state == CV_TAKE_WAIT)
        return CLEAVE_OK;
    pending = cv_order_queue_take(queue, owner);
    if (state == CV_TAKE_PIECE)
        return chunks_begin(run, attempt, owner, &pending, &piece, err);
    if (pending.more > 0)
        cv_order_queue_release(queue, pending.more);
    cv_order_queue_complete_empty(queue, owner, pending.chunk, pending.reported);
    return CLEAVE_OK;
}

/* An open chunk does not begin beside a retry: a command without input could keep the slot
 * of the host for which the retry waits. */
static bool may_begin(const struct cv_exec_run *run, uint32_t worker)
{
    const struct cv_pending_order *next = cv_order_queue_next(&run->queue, worker);

    return next != NULL && !run->halted && !run->stopping &&
           (next->kind != CV_ORDER_OPEN ||
            !cv_attempt_table_is_busy(&run->table, worker));
}

/* --- retries --------------------------------------------------------------------------- */

/* Whether a suspect domain has to wait: for others to try what it failed with, or for
 * its one chunk. */
static bool has_to_wait(const struct cv_exec_run *run, uint32_t domain)
{
    const struct cv_worker_health *health = &run->pool.health;

    if (cv_worker_health_is_probing(health, domain))
        for (uint32_t w = domain;
             w < run->pool.nworkers && cv_worker_pool_domain(&run->pool, w) == domain;
             w++)
            if (cv_attempt_table_is_busy(&run->table, w))
                return true;
    return cv_worker_health_suspects(health, domain);
}

/* An attempt for a retry. A worker whose open chunk waits for an order can do it. */
static struct cv_attempt *find_attempt(const struct cv_exec_run *run, uint32_t worker)
{
    return cv_open_chunks_awaits_order(run, worker)
               ? cv_attempt_table_find_extra(&run->table, worker)
               : cv_attempt_table_find_free(&run->table, worker);
}

static enum cleave_status begin_again(struct cv_exec_run *run, uint32_t worker,
                                      const struct cv_retry *again,
                                      struct cleave_error *err)
{
    struct cv_attempt *attempt = find_attempt(run, worker);

    cv_open_chunks_yield_slot(run, worker);
    return chunks_begin_again(run, attempt, again, err);
}

/* Whether a worker could retry a piece now. */
static enum cleave_status find_availability(const struct cv_exec_run *run, uint32_t w,
                                            bool crowded, enum cv_availability *out,
                                            struct cleave_error *err)
{
    const struct cv_attempt *attempt = find_attempt(run, w);
    bool folds = false;

    *out = CV_CAN_NOT;
    if (!cv_worker_pool_serves(&run->pool, w))
        return CLEAVE_OK;
    if (attempt == NULL) {
        *out = CV_CAN_LATER;
        return CLEAVE_OK;
    }
    CV_TRY(cv_result_sink_first(run->results, w, &folds, err));
    *out =
        folds || (crowded && cv_slot_starts(&attempt->slot)) ? CV_CAN_LATER : CV_CAN_NOW;
    return CLEAVE_OK;
}

static enum cleave_status find_candidates(struct cv_exec_run *run,
                                          struct cleave_error *err)
{
    const bool crowded = cv_start_limiter_is_crowded(&run->limiter);

    run->candidates.count = 0;
    for (uint32_t w = 0; w < run->pool.nworkers; w++) {
        const uint32_t domain = cv_worker_pool_domain(&run->pool, w);
        struct cv_candidate at = { .domain = domain,
                                   .proven = run->pool.health.items[domain].proven,
                                   .suspect = has_to_wait(run, domain) };

        CV_TRY(find_availability(run, w, crowded, &at.can, err));
        cv_candidates_add(&run->candidates, at);
    }
    return CLEAVE_OK;
}

/* The run ends: put all retries back. */
static enum cleave_status leave_all(struct cv_exec_run *run, struct cleave_error *err)
{
    for (size_t i = 0; i < run->agains.count; i++) {
        run->queue.running--;
        CV_TRY(cv_source_put_back(run->queue.source, &run->agains.items[i].piece, err));
    }
    run->agains.count = 0;
    return CLEAVE_OK;
}

static enum cleave_status do_again(struct cv_exec_run *run, struct cleave_error *err)
{
    if (run->agains.count == 0)
        return CLEAVE_OK;
    if (run->halted || run->stopped_by != 0)
        return leave_all(run, err);
    CV_TRY(find_candidates(run, err));
    for (size_t i = 0;
         i < run->agains.count && !cv_candidates_all_busy(&run->candidates);) {
        const size_t w =
            run->agains.items[i].chunk.runs_alone
                ? SIZE_MAX
                : cv_candidates_pick(&run->candidates, &run->agains.items[i]);
        struct cv_retry again;

        if (w == SIZE_MAX) {
            i++;
            continue;
        }
        if (!cv_key_limits_allow(run, run->agains.items[i].piece.begin,
                                 run->agains.items[i].piece.end)) {
            i++;
            continue;
        }
        if (!cv_start_rates_allow(run, (uint32_t)w, &run->agains.items[i].piece)) {
            cv_candidates_take(&run->candidates, w);
            continue;
        }
        again = cv_retry_queue_take(&run->agains, i);
        CV_TRY(begin_again(run, (uint32_t)w, &again, err));
        if (cv_start_limiter_is_crowded(
                &run->limiter)) /* the retry was deferred, so all others are */
            CV_TRY(find_candidates(run, err));
        else if (find_attempt(run, (uint32_t)w) == NULL)
            cv_candidates_take(&run->candidates, w);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_orders_alone(struct cv_exec_run *run, struct cleave_error *err)
{
    struct cv_retry_queue *agains = &run->agains;
    struct cv_retry again;
    size_t i = 0, w;

    while (i < agains->count && !agains->items[i].chunk.runs_alone)
        i++;
    if (i == agains->count || run->queue.running != agains->count ||
        run->queue.pending > 0 || run->halted || run->stopped_by != 0)
        return CLEAVE_OK;
    CV_TRY(find_candidates(run, err));
    w = cv_candidates_pick(&run->candidates, &agains->items[i]);
    if (w == SIZE_MAX || !cv_start_rates_allow(run, (uint32_t)w, &agains->items[i].piece))
        return CLEAVE_OK;
    again = cv_retry_queue_take(agains, i);
    return begin_again(run, (uint32_t)w, &again, err);
}

/* --- orders -------------------------------------------------------------------------------- */

/* Begin as many orders of a present worker as possible. */
static enum cleave_status begin_next(struct cv_exec_run *run, uint32_t worker,
                                     struct cleave_error *err)
{
    struct cv_attempt *attempt;
    bool began = true, folds, open = true;

    while (began && may_begin(run, worker) &&
           !has_to_wait(run, cv_worker_pool_domain(&run->pool, worker)) &&
           (attempt = cv_attempt_table_find_free(&run->table, worker)) != NULL) {
        CV_TRY(cv_result_sink_first(run->results, worker, &folds, err));
        if (!folds && run->pool.host_of[worker] == NULL)
            open = cv_start_limiter_look(&run->limiter, run->poller,
                                         cv_slot_starts(&attempt->slot));
        if (folds || !open)
            return CLEAVE_OK;
        CV_TRY(begin_one(run, worker, attempt, &began, err));
        if (began)
            cv_start_limiter_passed(&run->limiter);
    }
    return CLEAVE_OK;
}

/* Idle workers do the orders of an absent one. `next` is the first worker that was not
 * tried. */
static enum cleave_status reassign_orders(struct cv_exec_run *run, uint32_t missing,
                                          uint32_t *next, struct cleave_error *err)
{
    bool began = true, folds;

    while (began && *next < run->pool.nworkers && may_begin(run, missing)) {
        const uint32_t w = (*next)++;

        if (!cv_worker_pool_serves(&run->pool, w) ||
            cv_attempt_table_is_busy(&run->table, w) ||
            cv_order_queue_next(&run->queue, w) != NULL ||
            has_to_wait(run, cv_worker_pool_domain(&run->pool, w)))
            continue;
        CV_TRY(cv_result_sink_first(run->results, w, &folds, err));
        if (!folds)
            CV_TRY(begin_one(run, missing, cv_attempt_table_find_free(&run->table, w),
                             &began, err));
    }
    return CLEAVE_OK;
}

/* Whether the policy can give orders of absent workers to others. While all workers rest, the
 * policy would give them to a resting one. */
static bool may_reassign(const struct cv_exec_run *run)
{
    for (uint32_t w = 0; w < run->pool.nworkers; w++)
        if (cv_worker_pool_serves(&run->pool, w))
            return true;
    return false;
}

enum cleave_status cv_orders_begin(struct cv_exec_run *run, struct cleave_error *err)
{
    const uint32_t n = run->pool.nworkers;
    uint32_t next = 0;
    bool cancels;

    if (run->queue.growing > 0)
        CV_TRY(cv_open_chunks_grow(run, err));
    if (cv_start_limiter_is_stuck(&run->limiter))
        cv_open_chunks_make_room(run);
    cv_worker_pool_end_backoff(&run->pool);
    CV_TRY(do_again(run, err));
    if (run->queue.pending == 0)
        return CLEAVE_OK;
    cancels = run->queue.gets_losses && may_reassign(run);
    for (uint32_t w = cv_order_queue_next_worker(&run->queue, 0); w < n;
         w = cv_order_queue_next_worker(&run->queue, w + 1)) {
        if (cv_worker_pool_serves(&run->pool, w))
            CV_TRY(begin_next(run, w, err));
        else if (cancels)
            cv_order_queue_cancel_worker(&run->queue, w);
    }
    for (uint32_t w = cv_order_queue_next_worker(&run->queue, 0);
         !run->queue.gets_losses && w < n;
         w = cv_order_queue_next_worker(&run->queue, w + 1))
        if (!cv_worker_pool_serves(&run->pool, w))
            CV_TRY(reassign_orders(run, w, &next, err));
    return CLEAVE_OK;
}

enum cleave_status cv_orders_add(struct cv_exec_run *run, uint32_t worker,
                                 enum cv_order_kind kind, double units, uint64_t item,
                                 struct cleave_error *err)
{
    CV_TRY(cv_order_queue_order(&run->queue, worker, kind, units, item, err));
    return cv_worker_pool_serves(&run->pool, worker) ? begin_next(run, worker, err)
                                                     : CLEAVE_OK;
}

/* --- copies ---------------------------------------------------------------------------- */

/* A chunk that has failed, or had a copy, is not copied. */
static bool may_copy(const struct cv_attempt *attempt)
{
    return cv_attempt_is_running(attempt) && !cv_attempt_is_empty(attempt) &&
           !attempt->beaten && attempt->due == 0 && !attempt->chunk.copied &&
           !cv_remote_facts(&attempt->slot).cutting && /* a host may hand back a part */
           attempt->chunk.attempt == 1 && attempt->chunk.past.count == 0 &&
           attempt->chunk.reported == CV_REPORTED_SENT;
}

/* The oldest chunk that was ordered for the worker and can be copied, or NULL. */
static struct cv_attempt *find_original(const struct cv_exec_run *run, uint32_t owner)
{
    struct cv_attempt *oldest = NULL;

    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0; i < run->table.items[w].count; i++) {
            struct cv_attempt *attempt = &run->table.items[w].items[i];

            if (attempt->chunk.owner == owner && may_copy(attempt) &&
                (oldest == NULL || attempt->chunk.number < oldest->chunk.number))
                oldest = attempt;
        }
    return oldest;
}

/* An attempt of a worker that could start the command of a piece now, or NULL. */
static struct cv_attempt *find_copier(struct cv_exec_run *run, uint32_t worker,
                                      const struct cv_piece *piece)
{
    struct cv_attempt *attempt = cv_attempt_table_find_free(&run->table, worker);
    struct cleave_error why;

    if (run->halted || run->stopping || attempt == NULL ||
        !cv_worker_pool_serves(&run->pool, worker) ||
        has_to_wait(run, cv_worker_pool_domain(&run->pool, worker)) ||
        cv_resource_wait_look(run, &attempt->slot, &why) != CLEAVE_OK ||
        !cv_key_limits_allow(run, piece->begin, piece->end) ||
        !cv_start_rates_allow(run, worker, piece) ||
        (run->pool.host_of[worker] == NULL &&
         !cv_start_limiter_look(&run->limiter, run->poller,
                                cv_slot_starts(&attempt->slot))))
        return NULL;
    return attempt;
}

static enum cleave_status start_copy(struct cv_exec_run *run, struct cv_attempt *attempt,
                                     const struct cv_attempt *original)
{
    struct cv_slot *slot = &attempt->slot;

    attempt->chunk = original->chunk;
    attempt->chunk.owner = slot->worker;
    attempt->chunk.began_s = attempt->runs_s = cv_clock_s();
    attempt->bound_s = attempt->start_s = attempt->due = 0;
    attempt->content = original->content;
    slot->number = attempt->chunk.number;
    if (!cv_slot_is_remote(slot) && !run->request->persistent)
        slot->errors = memfd_create("stderr", MFD_CLOEXEC);
    cv_attempt_step(attempt, CV_EVENT_BEGIN);
    return cv_slot_start(slot, &original->slot.piece, NULL);
}

enum cleave_status cv_orders_copy(struct cv_exec_run *run, uint32_t worker, uint32_t peer,
                                  struct cleave_error *err)
{
    struct cv_attempt *original = find_original(run, peer);
    struct cv_attempt *attempt =
        original != NULL ? find_copier(run, worker, &original->slot.piece) : NULL;

    if (attempt == NULL || original->slot.worker == worker) {
        cv_open_chunks_end_one(run, peer); /* it counts as closed */
        cv_chunk_tell_dropped(run, worker, NULL);
        return CLEAVE_OK;
    }
    if (cv_attempt_is_open(original))
        CV_TRY(cv_open_chunks_finish(run, original, err));
    original->chunk.copied = true;
    if (start_copy(run, attempt, original) != CLEAVE_OK) {
        cv_attempt_step(attempt, CV_EVENT_NO_START);
        cv_close(&attempt->slot.errors);
        cv_chunk_tell_dropped(run, worker, NULL);
        return CLEAVE_OK;
    }
    cv_start_limiter_begun(&run->limiter);
    cv_start_limiter_passed(&run->limiter);
    CV_TRY(cv_start_rates_count(run, worker, &original->slot.piece, err));
    attempt->twin = original;
    original->twin = attempt;
    run->queue.running++;
    run->queue.backups++;
    return CLEAVE_OK;
}
