/* map_lead.c -- rank 0 of a shared job: chunks, orders, partials and the engine.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/fail.h"
#include "engine/driver.h"
#include "engine/fold_plan.h"
#include "model/platform/generate.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_messages.h"
#include "mpi/map/map_units.h"
#include "policy/compound/registry.h"

/* Chunks of a worker that are sent or computed: the next one travels while the last one
 * is computed. */
enum { CHUNKS_AHEAD = 2 };
enum { COMBINED_AT_ONCE = 2 }; /* partials, by the callback */

struct master;

struct chunk {
    struct cv_map_task task; /* packing, then collecting: first                       */
    struct cv_map_transfer transfer;
    struct master *master;
    uint64_t id, number; /* number of the order, for the policy                       */
    uint64_t begin, end;
    uint32_t worker;
    double send_s;                   /* start of the transfer                         */
    struct cleave_mpi_buffer buffer; /* input, later the partial                      */
    bool sending, sent_reported, computed; /* sent_reported: CLEAVE_SENT              */
    uint64_t bytes;                        /* size of its partial, once computed      */
    struct chunk *next; /* in a list of its worker, or of returned chunks      */
    struct chunk *next_queued;
};

/* An order whose chunk has not been started. */
struct pending_order {
    uint64_t number;
    double units;
};

struct worker {
    struct pending_order *pending; /* owned; orders before `first` were started */
    size_t first, npending, pending_room;
    struct chunk *chunks; /* owned: sent or being computed                     */
    uint32_t nchunks;
    uint32_t folds; /* steps that it was ordered to take                              */
};

struct fold {
    struct cv_fold_step step;
    uint64_t id;
    double given_s; /* time of the order                                              */
    struct fold *next;
};

struct wake {
    double at_s;
    uint32_t worker;
};

struct master {
    const struct cleave_mpi_map *map;
    struct cv_map_link link;
    uint32_t nworkers;
    struct worker *workers;      /* owned                                           */
    bool *may;                   /* owned: per worker, for the plan                 */
    struct cleave_event *events; /* owned; first_event is the next for the policy   */
    size_t first_event, nevents, event_room;
    struct wake *wakes; /* owned                                               */
    size_t nwakes, wake_room;
    uint64_t next_unit, next_id, numbered;
    double ordered, started; /* units of all orders; of orders that were started      */
    double began_s;
    uint32_t running;             /* chunks that were started and are not computed    */
    struct cv_range_set computed; /* units of computed chunks                         */
    /* Over a shared port one chunk is sent at a time. */
    bool shares_port, port_busy;
    struct chunk *queue, **queue_end; /* chunks to be sent                     */
    /* Partials that stay with workers. */
    struct cv_fold_plan *plan; /* owned; NULL: partials are collected                 */
    struct fold *folds;        /* owned: running                                      */
    struct cv_fold_pace pace;  /* durations of folds                                  */
    double fold_s;             /* sum of folds, from the order to the end             */
    /* Partials that are collected, by begin. */
    struct chunk *returned;              /* owned                                     */
    uint64_t next_collected, collecting; /* collecting: chunks computed, not collected */
    struct cleave_mpi_buffer value;
    struct cv_map_transfer value_transfer;
    bool value_received;
    uint32_t left; /* workers that have left                                          */
    struct cleave_mpi_result counts;
};

/* The first error counts, and none after the end. */
static void fail(struct master *master, const struct cleave_error *err)
{
    if (!master->link.stopped)
        cv_map_link_fail(&master->link, err);
}

static bool is_over(const struct master *master)
{
    return master->link.failed || master->link.stopped;
}

/* Queue an event for the policy. Sets time_s and, except for DONE and SENT, start_s. */
static void queue_event(struct master *master, struct cleave_event event)
{
    if (master->first_event == master->nevents)
        master->first_event = master->nevents = 0;
    if (!CV_ROOM(master->events, &master->event_room, master->nevents + 1)) {
        struct cleave_error err;

        cv_fail_memory(&err, "the events of a run");
        fail(master, &err);
        return;
    }
    event.time_s = cv_idle_wait_clock_s() - master->began_s;
    if (event.kind != CLEAVE_DONE && event.kind != CLEAVE_SENT)
        event.start_s = event.time_s;
    master->events[master->nevents++] = event;
}

static void free_chunk(struct chunk *chunk)
{
    if (chunk == NULL)
        return;
    cv_map_buffer_done(&chunk->buffer);
    free(chunk);
}

/* --- collected ---------------------------------------------------------------------- */

static enum cleave_status collect(struct cv_map_task *task, struct cleave_error *err)
{
    const struct chunk *chunk = (const struct chunk *)task;

    return CV_MAP_CALL(chunk->master->map, collect, err, chunk->begin, chunk->end,
                       &chunk->buffer);
}

static void collected(struct cv_map_task *task, const struct cleave_error *error)
{
    struct chunk *chunk = (struct chunk *)task;
    struct master *master = chunk->master;

    master->collecting--;
    if (error != NULL)
        fail(master, error);
    free_chunk(chunk);
}

/* In the order of the units, unless `commutative`. */
static void collect_ready(struct master *master)
{
    while (
        master->returned != NULL && !is_over(master) &&
        (master->map->commutative || master->returned->begin == master->next_collected)) {
        struct chunk *chunk = master->returned;

        master->returned = chunk->next;
        master->next_collected = chunk->end;
        chunk->task.run = collect;
        chunk->task.done = collected;
        cv_map_tasks_add(master->link.tasks, &chunk->task);
    }
}

static void partial_received(void *context)
{
    struct chunk *chunk = context;
    struct master *master = chunk->master;
    struct chunk **at = &master->returned;

    while (*at != NULL && (*at)->begin < chunk->begin)
        at = &(*at)->next;
    chunk->next = *at;
    *at = chunk;
    collect_ready(master);
}

static void fetch(struct chunk *chunk)
{
    struct master *master = chunk->master;
    struct cleave_error err;

    master->collecting++;
    master->counts.master_bytes += chunk->bytes;
    if (chunk->bytes == 0) {
        partial_received(chunk);
    } else if (chunk->bytes > SIZE_MAX / 2 ||
               cleave_mpi_buffer_resize(&chunk->buffer, (size_t)chunk->bytes) == NULL) {
        cv_fail_memory(&err, "a partial result");
        fail(master, &err);
        free_chunk(chunk);
    } else if (!cv_map_move(&master->link, &chunk->transfer, true, &chunk->buffer,
                            (int)chunk->worker + 1, chunk->id, partial_received, chunk)) {
        free_chunk(chunk);
    }
}

/* Plan or fetch the partial of a computed chunk. Takes the chunk over. */
static void take_partial(struct master *master, struct chunk *chunk)
{
    struct cleave_error err;

    cv_map_buffer_done(&chunk->buffer);
    if (master->plan == NULL) {
        fetch(chunk);
        return;
    }
    if (cv_fold_plan_add(master->plan, chunk->id, chunk->begin, chunk->end, chunk->worker,
                         chunk->bytes, &err) != CLEAVE_OK)
        fail(master, &err);
    free_chunk(chunk);
}

/* --- combined ----------------------------------------------------------------------- */

static void order_give(struct master *master, const struct cv_fold_part *part,
                       uint32_t from, uint32_t to)
{
    const struct cv_map_message give = { .kind = CV_MAP_GIVE,
                                         .id = part->id,
                                         .peer = to + 1 };

    master->counts.peer_bytes += part->bytes;
    cv_map_tell(&master->link, (int)from + 1, &give);
}

static enum cleave_status order_step(struct master *master,
                                     const struct cv_fold_step *step,
                                     struct cleave_error *err)
{
    struct fold *fold = malloc(sizeof *fold);
    struct cv_map_message message = { .kind = CV_MAP_FOLD,
                                      .left = step->parts[0].id,
                                      .right = step->parts[1].id };

    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    *fold =
        (struct fold){ *step, master->next_id++, cv_idle_wait_clock_s(), master->folds };
    master->folds = fold;
    master->workers[step->at].folds++;
    message.id = fold->id;
    for (uint32_t i = 0; i < step->count; i++) {
        const struct cv_fold_part *part = &step->parts[i];
        const uint32_t from = part->ahead != CV_FOLD_NOBODY ? part->ahead : part->holder;

        if (from == step->at)
            continue;
        order_give(master, part, from, step->at);
        message.peer = from + 1;
        message.moves = part->id;
        message.bytes = part->bytes;
    }
    cv_map_tell(&master->link, (int)step->at + 1, &message);
    return CLEAVE_OK;
}

/* Partials that no step can take go to workers that will soon have combined. */
static void send_ahead(struct master *master, double *out_next_s)
{
    const double now_s = cv_idle_wait_clock_s();
    struct cv_fold_part part;

    for (const struct fold *fold = master->folds; fold != NULL; fold = fold->next) {
        const double near_s =
            cv_fold_pace_near_s(&master->pace, &fold->step, fold->given_s,
                                fold->step.parts[0].bytes);

        if (near_s > now_s) {
            *out_next_s = fmin(*out_next_s, near_s);
        } else if (cv_fold_plan_ahead(master->plan, &fold->step, master->may, 0, &part)) {
            const struct cv_map_message await = { .kind = CV_MAP_AWAIT,
                                                  .id = part.id,
                                                  .bytes = part.bytes,
                                                  .peer = part.holder + 1 };

            order_give(master, &part, part.holder, part.ahead);
            master->counts.ahead++;
            cv_map_tell(&master->link, (int)part.ahead + 1, &await);
        }
    }
}

/* Let idle workers combine, and send partials ahead to workers that will soon be idle.
 * Call it again at *out_next_s even if nothing happens. */
static enum cleave_status fold_go(struct master *master, double *out_next_s,
                                  struct cleave_error *err)
{
    /* The first fold is made at once: the policy needs its duration. */
    const bool unknown = master->counts.combinations == 0 && master->folds == NULL;
    const size_t limit = 32 + 4 * (size_t)master->nworkers;
    struct cv_fold_step step;
    bool now;

    *out_next_s = INFINITY;
    if (master->plan == NULL || is_over(master))
        return CLEAVE_OK;
    /* With many partials, workers combine before they compute more. */
    now = unknown || cv_fold_plan_count(master->plan) > limit;
    for (uint32_t w = 0; w < master->nworkers; w++) {
        const struct worker *worker = &master->workers[w];

        master->may[w] =
            worker->folds == 0 &&
            (now || (worker->nchunks == 0 && worker->first == worker->npending));
    }
    while (cv_fold_plan_next(master->plan, master->may, false, &step)) {
        master->may[step.at] = false;
        CV_TRY(order_step(master, &step, err));
        if (unknown)
            return CLEAVE_OK;
    }
    send_ahead(master, out_next_s);
    return CLEAVE_OK;
}

/* Seconds to combine one more partial, as measured. */
static double fold_one_s(const struct master *master)
{
    const double now_s = cv_idle_wait_clock_s();
    double one_s = master->counts.combinations > 0
                       ? master->fold_s / (double)master->counts.combinations
                       : 0;

    for (const struct fold *fold = master->folds; fold != NULL; fold = fold->next)
        one_s = fmax(one_s, now_s - fold->given_s);
    return one_s;
}

static void folded(struct master *master, const struct cv_map_message *message)
{
    for (struct fold **at = &master->folds; *at != NULL; at = &(*at)->next) {
        struct fold *fold = *at;
        const double took_s = cv_idle_wait_clock_s() - fold->given_s;

        if (fold->id != message->id)
            continue;
        *at = fold->next;
        master->workers[fold->step.at].folds--;
        master->counts.combinations++;
        master->fold_s += took_s;
        cv_fold_pace_saw(&master->pace, &fold->step, took_s, message->seconds);
        cv_fold_plan_done(master->plan, &fold->step, fold->id, message->bytes);
        free(fold);
        return;
    }
}

/* --- the end ------------------------------------------------------------------------ */

static void value_received(void *context)
{
    struct master *master = context;

    master->value_received = true;
}

/* The last partial is the result of all units. */
static enum cleave_status fetch_value(struct master *master, struct cleave_error *err)
{
    uint64_t id, bytes;
    uint32_t holder;
    struct cv_map_message give;

    if (!cv_fold_plan_last(master->plan, &id, &holder, &bytes))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the units");
    if (cv_fold_plan_covered(master->plan) != master->map->units)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "partial results of %llu units of %llu were combined: a defect of "
                       "cleave",
                       (unsigned long long)cv_fold_plan_covered(master->plan),
                       (unsigned long long)master->map->units);
    if (bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(&master->value, (size_t)bytes) == NULL)
        return cv_fail_memory(err, "the result");
    if (bytes == 0)
        return CLEAVE_OK;
    give = (struct cv_map_message){ .kind = CV_MAP_GIVE, .id = id, .peer = 0 };
    master->counts.master_bytes += bytes;
    cv_map_tell(&master->link, (int)holder + 1, &give);
    cv_map_move(&master->link, &master->value_transfer, true, &master->value,
                (int)holder + 1, id, value_received, master);
    while (!master->value_received)
        CV_TRY(cv_map_progress(&master->link, INFINITY, err));
    return CLEAVE_OK;
}

/* Combine or collect all partials, after all chunks. */
static enum cleave_status finish(struct master *master, struct cleave_error *err)
{
    if (master->plan == NULL) {
        while (master->collecting > 0)
            CV_TRY(cv_map_progress(&master->link, INFINITY, err));
        if (!master->map->commutative && master->next_collected != master->map->units)
            return cv_fail(err, CLEAVE_EACCOUNT,
                           "units %llu to %llu were computed and not collected: a defect "
                           "of cleave",
                           (unsigned long long)master->next_collected,
                           (unsigned long long)master->map->units);
        return CLEAVE_OK;
    }
    for (;;) {
        double next_s;

        CV_TRY(fold_go(master, &next_s, err));
        if (master->folds == NULL)
            return cv_fold_plan_count(master->plan) == 0 ? CLEAVE_OK
                                                         : fetch_value(master, err);
        CV_TRY(cv_map_progress(&master->link, next_s, err));
    }
}

/* --- sending chunks ----------------------------------------------------------------- */

static void remove_chunk(struct chunk *chunk)
{
    struct worker *worker = &chunk->master->workers[chunk->worker];
    struct chunk **at = &worker->chunks;

    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    chunk->next = NULL;
    worker->nchunks--;
    chunk->master->running--;
}

static void report_sent(struct chunk *chunk)
{
    struct master *master = chunk->master;

    if (chunk->sent_reported)
        return;
    chunk->sent_reported = true;
    queue_event(master,
                (struct cleave_event){ .kind = CLEAVE_SENT,
                                       .worker = chunk->worker,
                                       .chunk = chunk->number,
                                       .units = (double)(chunk->end - chunk->begin),
                                       .start_s = chunk->send_s });
}

static void send_next(struct master *master);

static void chunk_sent(void *context)
{
    struct chunk *chunk = context;
    struct master *master = chunk->master;

    chunk->sending = false;
    master->port_busy = false;
    report_sent(chunk);
    cv_map_buffer_done(&chunk->buffer);
    if (chunk->computed) /* the answer can arrive before the send completes */
        take_partial(master, chunk);
    send_next(master);
}

static void send_chunk(struct chunk *chunk)
{
    struct master *master = chunk->master;
    const int rank = (int)chunk->worker + 1;
    const struct cv_map_message message = { .kind = CV_MAP_CHUNK,
                                            .keep = master->plan != NULL,
                                            .id = chunk->id,
                                            .begin = chunk->begin,
                                            .end = chunk->end,
                                            .bytes = chunk->buffer.size };

    chunk->send_s = cv_idle_wait_clock_s() - master->began_s;
    cv_map_tell(&master->link, rank, &message);
    if (chunk->buffer.size == 0) {
        report_sent(chunk);
        return;
    }
    chunk->sending = true;
    master->port_busy = true;
    master->counts.master_bytes += chunk->buffer.size;
    cv_map_move(&master->link, &chunk->transfer, false, &chunk->buffer, rank, chunk->id,
                chunk_sent, chunk);
}

static void send_next(struct master *master)
{
    while (master->queue != NULL && !(master->shares_port && master->port_busy)) {
        struct chunk *chunk = master->queue;

        master->queue = chunk->next_queued;
        if (master->queue == NULL)
            master->queue_end = &master->queue;
        if (!is_over(master))
            send_chunk(chunk);
    }
}

static void enqueue(struct chunk *chunk)
{
    struct master *master = chunk->master;

    chunk->next_queued = NULL;
    *master->queue_end = chunk;
    master->queue_end = &chunk->next_queued;
    send_next(master);
}

static enum cleave_status pack(struct cv_map_task *task, struct cleave_error *err)
{
    struct chunk *chunk = (struct chunk *)task;

    return CV_MAP_CALL(chunk->master->map, pack, err, chunk->begin, chunk->end,
                       &chunk->buffer);
}

static void packed(struct cv_map_task *task, const struct cleave_error *error)
{
    struct chunk *chunk = (struct chunk *)task;

    if (error != NULL)
        fail(chunk->master, error);
    else if (!is_over(chunk->master))
        enqueue(chunk);
}

/* --- orders ------------------------------------------------------------------------- */

/* Other orders have taken all units. */
static void report_empty(struct master *master, uint32_t worker, uint64_t number)
{
    struct cleave_event event = { .kind = CLEAVE_SENT,
                                  .worker = worker,
                                  .chunk = number,
                                  .start_s = cv_idle_wait_clock_s() - master->began_s };

    queue_event(master, event);
    event.kind = CLEAVE_DONE;
    queue_event(master, event);
}

static enum cleave_status start_chunk(struct master *master, uint32_t worker,
                                      uint64_t number, uint64_t end,
                                      struct cleave_error *err)
{
    struct worker *of = &master->workers[worker];
    struct chunk *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL)
        return cv_fail_memory(err, "a chunk");
    *chunk = (struct chunk){ .task = { .run = pack, .done = packed },
                             .master = master,
                             .id = master->next_id++,
                             .number = number,
                             .worker = worker,
                             .begin = master->next_unit,
                             .end = end,
                             .next = of->chunks };
    master->next_unit = end;
    of->chunks = chunk;
    of->nchunks++;
    master->running++;
    if (master->map->pack == NULL)
        enqueue(chunk);
    else
        cv_map_tasks_add(master->link.tasks, &chunk->task);
    return CLEAVE_OK;
}

/* Orders are real numbers: a chunk ends at the unit nearest to the sum of all orders so
 * far, so that the last chunk ends with the last unit. */
static uint64_t end_of(struct master *master, double units)
{
    const uint64_t all = master->map->units;

    master->started += units;
    return master->started >= (double)all - 0.5
               ? all
               : (uint64_t)llround(fmax(0, master->started));
}

static enum cleave_status start_orders(struct master *master, struct cleave_error *err)
{
    for (uint32_t w = 0; w < master->nworkers && !is_over(master); w++) {
        struct worker *worker = &master->workers[w];

        while (worker->first < worker->npending && worker->nchunks < CHUNKS_AHEAD) {
            const struct pending_order order = worker->pending[worker->first++];
            const uint64_t end = end_of(master, order.units);

            if (end <= master->next_unit)
                report_empty(master, w, order.number);
            else
                CV_TRY(start_chunk(master, w, order.number, end, err));
        }
    }
    return CLEAVE_OK;
}

static void chunk_computed(struct master *master, uint32_t worker,
                           const struct cv_map_message *message)
{
    struct chunk *chunk = master->workers[worker].chunks;
    const double now_s = cv_idle_wait_clock_s() - master->began_s;
    struct cleave_error err;

    while (chunk != NULL && chunk->id != message->id)
        chunk = chunk->next;
    if (is_over(master) && chunk == NULL)
        return;
    if (chunk == NULL) {
        cv_fail(
            &err, CLEAVE_EACCOUNT,
            "rank %u has computed a chunk that it was not given, or for a second time",
            worker + 1);
        fail(master, &err);
        return;
    }
    if (cv_map_units_add(&master->computed, chunk->begin, chunk->end, &err) != CLEAVE_OK)
        fail(master, &err);
    report_sent(chunk);
    remove_chunk(chunk);
    chunk->computed = true;
    master->counts.chunks++;
    queue_event(master,
                (struct cleave_event){ .kind = CLEAVE_DONE,
                                       .worker = worker,
                                       .chunk = chunk->number,
                                       .units = (double)(chunk->end - chunk->begin),
                                       .start_s = fmax(0, now_s - message->seconds) });
    chunk->bytes = message->bytes;
    if (!chunk->sending)
        take_partial(master, chunk);
}

static void event_received(void *context)
{
    struct master *master = context;
    const struct cv_map_message message = master->link.message;
    const int from = master->link.source;
    struct cleave_error err;

    if (message.kind == CV_MAP_LEFT)
        master->left++;
    if (master->left < master->nworkers)
        cv_map_begin(&master->link, &master->link.listen);
    if (message.kind == CV_MAP_COMPUTED) {
        chunk_computed(master, (uint32_t)from - 1, &message);
    } else if (message.kind == CV_MAP_FOLDED) {
        folded(master, &message);
    } else if (message.kind == CV_MAP_FAILED) {
        cv_map_get_error(&message, &err);
        fail(master, &err);
    }
}

/* --- the engine --------------------------------------------------------------------- */

static enum cleave_status add_order(struct master *master,
                                    const struct cleave_order *order,
                                    struct cleave_error *err)
{
    struct worker *worker = &master->workers[order->worker];

    if (worker->first == worker->npending)
        worker->first = worker->npending = 0;
    if (!CV_ROOM(worker->pending, &worker->pending_room, worker->npending + 1))
        return cv_fail_memory(err, "the orders of a run");
    worker->pending[worker->npending++] =
        (struct pending_order){ master->numbered++, order->units };
    master->ordered += order->units;
    return CLEAVE_OK;
}

static enum cleave_status wake_at(struct master *master, const struct cleave_order *order,
                                  struct cleave_error *err)
{
    if (!CV_ROOM(master->wakes, &master->wake_room, master->nwakes + 1))
        return cv_fail_memory(err, "the times to wake at");
    master->wakes[master->nwakes++] =
        (struct wake){ master->began_s + order->time_s, order->worker };
    return CLEAVE_OK;
}

static enum cleave_status map_submit(void *instance, const struct cleave_order *order,
                                     struct cleave_error *err)
{
    struct master *master = instance;

    switch (order->kind) {
    case CLEAVE_SEND:
        return add_order(master, order, err);
    case CLEAVE_WAKE_AT:
        return wake_at(master, order, err);
    case CLEAVE_RECALL:
        /* Units cannot be taken back from a callback. */
        queue_event(master, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                   .worker = order->worker });
        return CLEAVE_OK;
    default:
        return cv_fail(err, CLEAVE_EENGINE,
                       "this engine can send and wake, nothing else");
    }
}

/* Queue CLEAVE_WAKE for all times that have passed. Returns the next time. */
static double report_wakes(struct master *master)
{
    const double now_s = cv_idle_wait_clock_s();
    double next_s = INFINITY;

    for (size_t i = 0; i < master->nwakes;) {
        const struct wake wake = master->wakes[i];

        if (wake.at_s > now_s) {
            next_s = fmin(next_s, wake.at_s);
            i++;
            continue;
        }
        master->wakes[i] = master->wakes[--master->nwakes];
        queue_event(master,
                    (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = wake.worker });
    }
    return next_s;
}

static bool has_pending(const struct master *master)
{
    for (uint32_t w = 0; w < master->nworkers; w++)
        if (master->workers[w].first < master->workers[w].npending)
            return true;
    return false;
}

static enum cleave_status map_wait(void *instance, struct cleave_event *out,
                                   bool *out_any, struct cleave_error *err)
{
    struct master *master = instance;

    *out_any = true;
    for (;;) {
        double wake_s, fold_s;

        CV_TRY(start_orders(master, err));
        wake_s = report_wakes(master);
        if (master->first_event < master->nevents) {
            *out = master->events[master->first_event++];
            out->more = master->first_event < master->nevents;
            if (out->kind == CLEAVE_DONE)
                out->fold_s = fold_one_s(master);
            return CLEAVE_OK;
        }
        /* Wakes do not matter if no units are left. */
        if (master->running == 0 && !has_pending(master) &&
            (master->nwakes == 0 || master->next_unit == master->map->units)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(fold_go(master, &fold_s, err));
        CV_TRY(cv_map_progress(&master->link, fmin(wake_s, fold_s), err));
    }
}

static enum cleave_status map_open(const struct cleave_platform *platform,
                                   const void *source, void **out,
                                   struct cleave_error *err)
{
    /* The driver passes it on as const. */
    union {
        const void *in;
        void *out;
    } master = { source };

    (void)platform;
    (void)err;
    *out = master.out;
    return CLEAVE_OK;
}

static enum cleave_status map_begin(void *instance, const struct cv_run *run,
                                    struct cleave_error *err)
{
    struct master *master = instance;

    (void)run;
    (void)err;
    master->began_s = master->link.last_s = cv_idle_wait_clock_s();
    return CLEAVE_OK;
}

static double map_left(const void *instance)
{
    const struct master *master = instance;

    return fmax(0, (double)master->map->units - master->ordered);
}

static void map_close(void *instance)
{
    (void)instance; /* cv_map_lead owns it */
}

static const struct cv_engine engine_map = {
    .name = "mpi",
    .summary = "shares a job among the ranks of an MPI program",
    .open = map_open,
    .begin = map_begin,
    .submit = map_submit,
    .wait = map_wait,
    .left = map_left,
    .close = map_close,
};

/* --- the run ------------------------------------------------------------------------ */

static enum cleave_status check(const struct master *master, struct cleave_error *err)
{
    const struct cleave_mpi_map *map = master->map;

    if (map->combine == NULL && map->collect == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'combine' or 'collect', got neither");
    if (map->units >= (uint64_t)1 << 53)
        return cv_fail(err, CLEAVE_EINPUT, "expected fewer than 2^53 units, got %llu",
                       (unsigned long long)map->units);
    if (map->platform != NULL &&
        cleave_platform_nworkers(map->platform) != master->nworkers)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a platform of %u workers, one per rank but the first, "
                       "got one of %u",
                       master->nworkers, cleave_platform_nworkers(map->platform));
    return CLEAVE_OK;
}

static enum cleave_status drive(struct master *master,
                                const struct cleave_platform *platform,
                                struct cleave_error *err)
{
    static const struct cleave_setting no_settings[1];
    const struct cleave_mpi_map *map = master->map;
    const struct cv_run run = { .platform = platform };
    const bool apart = master->plan != NULL;
    const struct cleave_policy *policy;
    struct cv_planned planned;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(
        cleave_policy_find(CLEAVE_TASK_LOAD,
                           map->policy != NULL ? map->policy : cv_policy_of_runs()->name,
                           &policy, err));
    CV_TRY(cv_planned_init(&planned, policy,
                           map->settings != NULL ? map->settings : no_settings,
                           map->settings != NULL ? map->nsettings : 0, platform,
                           cleave_platform_workers(platform),
                           &(struct cleave_view){ .units_total = (double)map->units,
                                                  .folders = apart ? master->nworkers : 0,
                                                  .folds_apart = apart },
                           NULL, NULL, err));
    status = cv_driver_run_once(&planned, &engine_map, master, &run, map->trace, &outcome,
                                err);
    cv_planned_done(&planned);
    return status;
}

static enum cleave_status run_load(struct master *master, struct cleave_error *err)
{
    const struct cleave_mpi_map *map = master->map;
    struct cleave_platform *made = NULL;
    const struct cleave_platform *platform = map->platform;
    enum cleave_status status;

    if (map->units == 0)
        return CLEAVE_OK;
    if (platform == NULL) {
        CV_TRY(cv_nominal_platform(CV_NOMINAL_CALL, NULL, master->nworkers, &made, err));
        platform = made;
    }
    master->shares_port = cleave_platform_port(platform) != CLEAVE_PORT_MULTI;
    status = drive(master, platform, err);
    cleave_platform_free(made);
    return status;
}

static enum cleave_status run(struct master *master, struct cleave_error *err)
{
    CV_TRY(check(master, err));
    master->workers = calloc(master->nworkers, sizeof *master->workers);
    master->may = calloc(master->nworkers, sizeof *master->may);
    if (master->workers == NULL || master->may == NULL)
        return cv_fail_memory(err, "the workers");
    if (master->map->combine != NULL)
        CV_TRY(cv_fold_plan_new(master->nworkers, master->map->commutative, false,
                                COMBINED_AT_ONCE, &master->plan, err));
    CV_TRY(run_load(master, err));
    if (!master->link.failed)
        CV_TRY(cv_map_units_check(&master->computed, master->map->units, err));
    return finish(master, err);
}

/* Send STOP, and wait until all workers have left. */
static enum cleave_status stop(struct master *master, enum cleave_status status,
                               const struct cleave_error *error, struct cleave_error *err)
{
    struct cv_map_message message = { .kind = CV_MAP_STOP };

    if (status != CLEAVE_OK) {
        cv_map_set_error(&message, error);
        message.status = (uint32_t)status;
    }
    master->link.stopped = true;
    master->link.failed = false;
    cv_map_tasks_drop(master->link.tasks);
    for (uint32_t w = 0; w < master->nworkers; w++)
        cv_map_tell(&master->link, (int)w + 1, &message);
    while (master->left < master->nworkers || master->link.count > 0 ||
           cv_map_tasks_any(master->link.tasks))
        CV_TRY(cv_map_progress(&master->link, INFINITY, err));
    return CLEAVE_OK;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk != NULL) {
        struct chunk *next = chunk->next;

        free_chunk(chunk);
        chunk = next;
    }
}

static void free_master(struct master *master)
{
    for (uint32_t w = 0; master->workers != NULL && w < master->nworkers; w++) {
        free_chunks(master->workers[w].chunks);
        free(master->workers[w].pending);
    }
    free_chunks(master->returned);
    while (master->folds != NULL) {
        struct fold *next = master->folds->next;

        free(master->folds);
        master->folds = next;
    }
    cv_fold_plan_free(master->plan);
    cv_range_set_done(&master->computed);
    cv_map_buffer_done(&master->value);
    free(master->workers);
    free(master->may);
    free(master->events);
    free(master->wakes);
    cv_map_link_done(&master->link);
}

enum cleave_status cv_map_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_mpi_result *out,
                               struct cleave_error *err)
{
    struct master master = { .map = map, .next_id = 1 };
    struct cleave_error end;
    enum cleave_status status;
    int size;

    MPI_Comm_size(comm, &size);
    master.nworkers = (uint32_t)size - 1;
    master.queue_end = &master.queue;
    master.began_s = cv_idle_wait_clock_s();
    cv_map_link_init(&master.link, comm, tasks, event_received, &master);
    if (master.link.failed) {
        *err = master.link.err;
        status = err->status;
    } else {
        status = run(&master, err);
        if (stop(&master, status, err, &end) != CLEAVE_OK) {
            *err = end;
            status = end.status;
            MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
        }
    }
    if (status == CLEAVE_OK) {
        *out = master.counts;
        out->value = master.value;
        master.value = (struct cleave_mpi_buffer){ 0 };
    }
    free_master(&master);
    return status;
}
