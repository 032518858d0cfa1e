/* map_lead.c -- rank 0 of a shared job: chunks, orders and the engine.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/fail.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_fold.h"
#include "policy/compound/registry.h"

/* Chunks of a worker that are sent or computed: the next one travels while the last one
 * is computed. */
enum { CHUNKS_AHEAD = 2 };
enum { COMBINED_AT_ONCE = 2 }; /* partials, by the callback */

/* --- sending chunks ----------------------------------------------------------------- */

static void remove_chunk(struct cv_map_chunk *chunk)
{
    struct cv_map_worker *worker = &chunk->master->workers[chunk->worker];
    struct cv_map_chunk **at = &worker->chunks;

    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    chunk->next = NULL;
    worker->nchunks--;
    chunk->master->running--;
}

static void report_sent(struct cv_map_chunk *chunk)
{
    struct cv_map_master *master = chunk->master;

    if (chunk->sent_reported)
        return;
    chunk->sent_reported = true;
    cv_map_event(master,
                 (struct cleave_event){ .kind = CLEAVE_SENT,
                                        .worker = chunk->worker,
                                        .chunk = chunk->number,
                                        .units = (double)(chunk->end - chunk->begin),
                                        .start_s = chunk->send_s });
}

static void send_next(struct cv_map_master *master);

static void chunk_sent(void *context)
{
    struct cv_map_chunk *chunk = context;
    struct cv_map_master *master = chunk->master;

    chunk->sending = false;
    master->port_busy = false;
    report_sent(chunk);
    cv_map_buffer_done(&chunk->buffer);
    if (chunk->computed) /* the answer can arrive before the send completes */
        cv_map_partial(master, chunk);
    send_next(master);
}

static void send_chunk(struct cv_map_chunk *chunk)
{
    struct cv_map_master *master = chunk->master;
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

static void send_next(struct cv_map_master *master)
{
    while (master->queue != NULL && !(master->shares_port && master->port_busy)) {
        struct cv_map_chunk *chunk = master->queue;

        master->queue = chunk->next_queued;
        if (master->queue == NULL)
            master->queue_end = &master->queue;
        if (!cv_map_is_over(master))
            send_chunk(chunk);
    }
}

static void enqueue(struct cv_map_chunk *chunk)
{
    struct cv_map_master *master = chunk->master;

    chunk->next_queued = NULL;
    *master->queue_end = chunk;
    master->queue_end = &chunk->next_queued;
    send_next(master);
}

static enum cleave_status pack(struct cv_map_task *task, struct cleave_error *err)
{
    struct cv_map_chunk *chunk = (struct cv_map_chunk *)task;

    return CV_MAP_CALL(chunk->master->map, pack, err, chunk->begin, chunk->end,
                       &chunk->buffer);
}

static void packed(struct cv_map_task *task, const struct cleave_error *error)
{
    struct cv_map_chunk *chunk = (struct cv_map_chunk *)task;

    if (error != NULL)
        cv_map_fail(chunk->master, error);
    else if (!cv_map_is_over(chunk->master))
        enqueue(chunk);
}

/* --- orders ------------------------------------------------------------------------- */

/* Other orders have taken all units. */
static void report_empty(struct cv_map_master *master, uint32_t worker, uint64_t number)
{
    struct cleave_event event = { .kind = CLEAVE_SENT,
                                  .worker = worker,
                                  .chunk = number,
                                  .start_s = cv_idle_wait_clock_s() - master->began_s };

    cv_map_event(master, event);
    event.kind = CLEAVE_DONE;
    cv_map_event(master, event);
}

static enum cleave_status start_chunk(struct cv_map_master *master, uint32_t worker,
                                      uint64_t number, uint64_t end,
                                      struct cleave_error *err)
{
    struct cv_map_worker *of = &master->workers[worker];
    struct cv_map_chunk *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL)
        return cv_fail_memory(err, "a chunk");
    *chunk = (struct cv_map_chunk){ .task = { .run = pack, .done = packed },
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
static uint64_t end_of(struct cv_map_master *master, double units)
{
    const uint64_t all = master->map->units;

    master->started += units;
    return master->started >= (double)all - 0.5
               ? all
               : (uint64_t)llround(fmax(0, master->started));
}

static enum cleave_status start_orders(struct cv_map_master *master,
                                       struct cleave_error *err)
{
    for (uint32_t w = 0; w < master->nworkers && !cv_map_is_over(master); w++) {
        struct cv_map_worker *worker = &master->workers[w];

        while (worker->first < worker->npending && worker->nchunks < CHUNKS_AHEAD) {
            const struct cv_map_pending_order order = worker->pending[worker->first++];
            const uint64_t end = end_of(master, order.units);

            if (end <= master->next_unit)
                report_empty(master, w, order.number);
            else
                CV_TRY(start_chunk(master, w, order.number, end, err));
        }
    }
    return CLEAVE_OK;
}

static void chunk_computed(struct cv_map_master *master, uint32_t worker,
                           const struct cv_map_message *message)
{
    struct cv_map_chunk *chunk = master->workers[worker].chunks;
    const double now_s = cv_idle_wait_clock_s() - master->began_s;
    struct cleave_error err;

    while (chunk != NULL && chunk->id != message->id)
        chunk = chunk->next;
    if (cv_map_is_over(master) && chunk == NULL)
        return;
    if (chunk == NULL) {
        cv_fail(
            &err, CLEAVE_EACCOUNT,
            "rank %u has computed a chunk that it was not given, or for a second time",
            worker + 1);
        cv_map_fail(master, &err);
        return;
    }
    if (cv_map_units_add(&master->computed, chunk->begin, chunk->end, &err) != CLEAVE_OK)
        cv_map_fail(master, &err);
    report_sent(chunk);
    remove_chunk(chunk);
    chunk->computed = true;
    master->counts.chunks++;
    cv_map_event(master,
                 (struct cleave_event){ .kind = CLEAVE_DONE,
                                        .worker = worker,
                                        .chunk = chunk->number,
                                        .units = (double)(chunk->end - chunk->begin),
                                        .start_s = fmax(0, now_s - message->seconds) });
    chunk->bytes = message->bytes;
    if (!chunk->sending)
        cv_map_partial(master, chunk);
}

static void event_received(void *context)
{
    struct cv_map_master *master = context;
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
        cv_map_folded(master, &message);
    } else if (message.kind == CV_MAP_FAILED) {
        cv_map_get_error(&message, &err);
        cv_map_fail(master, &err);
    }
}

/* --- the engine --------------------------------------------------------------------- */

static enum cleave_status add_order(struct cv_map_master *master,
                                    const struct cleave_order *order,
                                    struct cleave_error *err)
{
    struct cv_map_worker *worker = &master->workers[order->worker];

    if (worker->first == worker->npending)
        worker->first = worker->npending = 0;
    if (!CV_ROOM(worker->pending, &worker->pending_room, worker->npending + 1))
        return cv_fail_memory(err, "the orders of a run");
    worker->pending[worker->npending++] =
        (struct cv_map_pending_order){ master->numbered++, order->units };
    master->ordered += order->units;
    return CLEAVE_OK;
}

static enum cleave_status wake_at(struct cv_map_master *master,
                                  const struct cleave_order *order,
                                  struct cleave_error *err)
{
    if (!CV_ROOM(master->wakes, &master->wake_room, master->nwakes + 1))
        return cv_fail_memory(err, "the times to wake at");
    master->wakes[master->nwakes++] =
        (struct cv_map_wake){ master->began_s + order->time_s, order->worker };
    return CLEAVE_OK;
}

static enum cleave_status map_submit(void *instance, const struct cleave_order *order,
                                     struct cleave_error *err)
{
    struct cv_map_master *master = instance;

    switch (order->kind) {
    case CLEAVE_SEND:
        return add_order(master, order, err);
    case CLEAVE_WAKE_AT:
        return wake_at(master, order, err);
    case CLEAVE_RECALL:
        /* Units cannot be taken back from a callback. */
        cv_map_event(master, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                    .worker = order->worker });
        return CLEAVE_OK;
    default:
        return cv_fail(err, CLEAVE_EENGINE,
                       "this engine can send and wake, nothing else");
    }
}

/* Queue CLEAVE_WAKE for all times that have passed. Returns the next time. */
static double report_wakes(struct cv_map_master *master)
{
    const double now_s = cv_idle_wait_clock_s();
    double next_s = INFINITY;

    for (size_t i = 0; i < master->nwakes;) {
        const struct cv_map_wake wake = master->wakes[i];

        if (wake.at_s > now_s) {
            next_s = fmin(next_s, wake.at_s);
            i++;
            continue;
        }
        master->wakes[i] = master->wakes[--master->nwakes];
        cv_map_event(master,
                     (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = wake.worker });
    }
    return next_s;
}

static bool has_pending(const struct cv_map_master *master)
{
    for (uint32_t w = 0; w < master->nworkers; w++)
        if (master->workers[w].first < master->workers[w].npending)
            return true;
    return false;
}

static enum cleave_status map_wait(void *instance, struct cleave_event *out,
                                   bool *out_any, struct cleave_error *err)
{
    struct cv_map_master *master = instance;

    *out_any = true;
    for (;;) {
        double wake_s, fold_s;

        CV_TRY(start_orders(master, err));
        wake_s = report_wakes(master);
        if (master->first_event < master->nevents) {
            *out = master->events[master->first_event++];
            out->more = master->first_event < master->nevents;
            if (out->kind == CLEAVE_DONE)
                out->fold_s = cv_map_fold_one_s(master);
            return CLEAVE_OK;
        }
        /* Wakes do not matter if no units are left. */
        if (master->running == 0 && !has_pending(master) &&
            (master->nwakes == 0 || master->next_unit == master->map->units)) {
            *out_any = false;
            return CLEAVE_OK;
        }
        CV_TRY(cv_map_fold_go(master, &fold_s, err));
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
    struct cv_map_master *master = instance;

    (void)run;
    (void)err;
    master->began_s = master->link.last_s = cv_idle_wait_clock_s();
    return CLEAVE_OK;
}

static double map_left(const void *instance)
{
    const struct cv_map_master *master = instance;

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

static enum cleave_status check(const struct cv_map_master *master,
                                struct cleave_error *err)
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

static enum cleave_status drive(struct cv_map_master *master,
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
                           &(struct cv_load){ .units = (double)map->units,
                                              .folders = apart ? master->nworkers : 0,
                                              .folds_apart = apart },
                           NULL, err));
    status = cv_driver_run_once(&planned, &engine_map, master, &run, map->trace, &outcome,
                                err);
    cv_planned_done(&planned);
    return status;
}

static enum cleave_status run_load(struct cv_map_master *master, struct cleave_error *err)
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

static enum cleave_status run(struct cv_map_master *master, struct cleave_error *err)
{
    CV_TRY(check(master, err));
    master->workers = calloc(master->nworkers, sizeof *master->workers);
    master->may = calloc(master->nworkers, sizeof *master->may);
    if (master->workers == NULL || master->may == NULL)
        return cv_fail_memory(err, "the workers");
    if (master->map->combine != NULL)
        CV_TRY(cv_fold_plan_new(master->nworkers, master->map->commutative,
                                COMBINED_AT_ONCE, &master->plan, err));
    CV_TRY(run_load(master, err));
    if (!master->link.failed)
        CV_TRY(cv_map_units_check(&master->computed, master->map->units, err));
    return cv_map_finish(master, err);
}

/* Send STOP, and wait until all workers have left. */
static enum cleave_status stop(struct cv_map_master *master, enum cleave_status status,
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

static void free_chunks(struct cv_map_chunk *chunk)
{
    while (chunk != NULL) {
        struct cv_map_chunk *next = chunk->next;

        cv_map_chunk_free(chunk);
        chunk = next;
    }
}

static void free_master(struct cv_map_master *master)
{
    for (uint32_t w = 0; master->workers != NULL && w < master->nworkers; w++) {
        free_chunks(master->workers[w].chunks);
        free(master->workers[w].pending);
    }
    free_chunks(master->returned);
    while (master->folds != NULL) {
        struct cv_map_fold *next = master->folds->next;

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
    struct cv_map_master master = { .map = map, .next_id = 1 };
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
