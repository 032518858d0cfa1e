/* map_fold.c -- partials of a shared job: combined from rank to rank, or collected.
 * SPDX-License-Identifier: MIT */
#include "mpi/map/map_fold.h"

#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"

void cv_map_fail(struct cv_map_master *master, const struct cleave_error *err)
{
    if (!master->failed)
        master->err = *err;
    master->failed = true;
}

void cv_map_event(struct cv_map_master *master, struct cleave_event event)
{
    if (master->first_event == master->nevents)
        master->first_event = master->nevents = 0;
    if (!CV_ROOM(master->events, &master->event_room, master->nevents + 1)) {
        struct cleave_error err;

        cv_fail_memory(&err, "the events of a run");
        cv_map_fail(master, &err);
        return;
    }
    event.time_s = cv_idle_wait_clock_s() - master->began_s;
    if (event.kind != CLEAVE_DONE && event.kind != CLEAVE_SENT)
        event.start_s = event.time_s;
    master->events[master->nevents++] = event;
}

enum cleave_status cv_map_step(struct cv_map_master *master, double until_s,
                               struct cleave_error *err)
{
    CV_TRY(cv_map_progress(&master->requests, master->tasks, 1, &master->last_s, until_s,
                           err));
    if (!master->failed)
        return CLEAVE_OK;
    *err = master->err;
    return err->status;
}

void cv_map_chunk_free(struct cv_map_chunk *chunk)
{
    if (chunk == NULL)
        return;
    cv_map_buffer_done(&chunk->buffer);
    free(chunk);
}

/* --- collected ---------------------------------------------------------------------- */

static enum cleave_status collect(struct cv_map_task *task, struct cleave_error *err)
{
    const struct cv_map_chunk *chunk = (const struct cv_map_chunk *)task;

    return CV_MAP_CALL(chunk->master->map, collect, err, chunk->begin, chunk->end,
                       &chunk->buffer);
}

static void collected(struct cv_map_task *task, const struct cleave_error *error)
{
    struct cv_map_chunk *chunk = (struct cv_map_chunk *)task;
    struct cv_map_master *master = chunk->master;

    master->collecting--;
    if (error != NULL)
        cv_map_fail(master, error);
    cv_map_chunk_free(chunk);
}

/* In the order of the units, unless `commutative`. */
static void collect_ready(struct cv_map_master *master)
{
    while (
        master->returned != NULL && !master->failed &&
        (master->map->commutative || master->returned->begin == master->next_collected)) {
        struct cv_map_chunk *chunk = master->returned;

        master->returned = chunk->next;
        master->next_collected = chunk->end;
        chunk->task.run = collect;
        chunk->task.done = collected;
        cv_map_tasks_add(master->tasks, &chunk->task);
    }
}

static void partial_received(void *context)
{
    struct cv_map_chunk *chunk = context;
    struct cv_map_master *master = chunk->master;
    struct cv_map_chunk **at = &master->returned;

    while (*at != NULL && (*at)->begin < chunk->begin)
        at = &(*at)->next;
    chunk->next = *at;
    *at = chunk;
    collect_ready(master);
}

static enum cleave_status fetch(struct cv_map_chunk *chunk, struct cleave_error *err)
{
    struct cv_map_master *master = chunk->master;

    if (chunk->bytes > SIZE_MAX / 2 ||
        cleave_mpi_buffer_resize(&chunk->buffer, (size_t)chunk->bytes) == NULL)
        return cv_fail_memory(err, "a partial result");
    master->counts.master_bytes += chunk->bytes;
    return cv_map_move(&master->requests, &chunk->transfer, true, &chunk->buffer,
                       (int)chunk->worker + 1, chunk->id, partial_received, chunk, err);
}

void cv_map_partial(struct cv_map_master *master, struct cv_map_chunk *chunk)
{
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    cv_map_buffer_done(&chunk->buffer);
    if (master->plan != NULL) {
        status = cv_fold_plan_add(master->plan, chunk->id, chunk->begin, chunk->end,
                                  chunk->worker, chunk->bytes, &err);
        cv_map_chunk_free(chunk);
    } else {
        master->collecting++;
        if (chunk->bytes == 0) {
            partial_received(chunk);
            return;
        }
        status = fetch(chunk, &err);
        if (status != CLEAVE_OK)
            cv_map_chunk_free(chunk);
    }
    if (status != CLEAVE_OK)
        cv_map_fail(master, &err);
}

/* --- combined ----------------------------------------------------------------------- */

static enum cleave_status order_give(struct cv_map_master *master,
                                     const struct cv_fold_part *part, uint32_t from,
                                     uint32_t to, struct cleave_error *err)
{
    const struct cv_map_message give = { .kind = CV_MAP_GIVE,
                                         .id = part->id,
                                         .peer = to + 1 };

    master->counts.peer_bytes += part->bytes;
    return cv_map_tell(&master->requests, (int)from + 1, &give, err);
}

static enum cleave_status order_step(struct cv_map_master *master,
                                     const struct cv_fold_step *step,
                                     struct cleave_error *err)
{
    struct cv_map_fold *fold = malloc(sizeof *fold);
    struct cv_map_message message = { .kind = CV_MAP_FOLD,
                                      .left = step->parts[0].id,
                                      .right = step->parts[1].id };

    if (fold == NULL)
        return cv_fail_memory(err, "the reduction");
    *fold = (struct cv_map_fold){ *step, master->next_id++, cv_idle_wait_clock_s(),
                                  master->folds };
    master->folds = fold;
    master->workers[step->at].folds++;
    message.id = fold->id;
    for (uint32_t i = 0; i < step->count; i++) {
        const struct cv_fold_part *part = &step->parts[i];
        const uint32_t from = part->ahead != CV_FOLD_NOBODY ? part->ahead : part->holder;

        if (from == step->at)
            continue;
        CV_TRY(order_give(master, part, from, step->at, err));
        message.peer = from + 1;
        message.moves = part->id;
        message.bytes = part->bytes;
    }
    return cv_map_tell(&master->requests, (int)step->at + 1, &message, err);
}

/* Partials that no step can take go to workers that will soon have combined. */
static enum cleave_status send_ahead(struct cv_map_master *master, double *out_next_s,
                                     struct cleave_error *err)
{
    const double now_s = cv_idle_wait_clock_s();
    struct cv_fold_part part;

    for (const struct cv_map_fold *fold = master->folds; fold != NULL;
         fold = fold->next) {
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

            CV_TRY(order_give(master, &part, part.holder, part.ahead, err));
            master->counts.ahead++;
            CV_TRY(cv_map_tell(&master->requests, (int)part.ahead + 1, &await, err));
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_map_fold_go(struct cv_map_master *master, double *out_next_s,
                                  struct cleave_error *err)
{
    /* The first fold is made at once: the policy needs its duration. */
    const bool unknown = master->counts.combinations == 0 && master->folds == NULL;
    const size_t limit = 32 + 4 * (size_t)master->nworkers;
    struct cv_fold_step step;
    bool now;

    *out_next_s = INFINITY;
    if (master->plan == NULL || master->failed)
        return CLEAVE_OK;
    /* With many partials, workers combine before they compute more. */
    now = unknown || cv_fold_plan_count(master->plan) > limit;
    for (uint32_t w = 0; w < master->nworkers; w++) {
        const struct cv_map_worker *worker = &master->workers[w];

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
    return send_ahead(master, out_next_s, err);
}

double cv_map_fold_one_s(const struct cv_map_master *master)
{
    const double now_s = cv_idle_wait_clock_s();
    double one_s = master->counts.combinations > 0
                       ? master->fold_s / (double)master->counts.combinations
                       : 0;

    for (const struct cv_map_fold *fold = master->folds; fold != NULL; fold = fold->next)
        one_s = fmax(one_s, now_s - fold->given_s);
    return one_s;
}

void cv_map_folded(struct cv_map_master *master, const struct cv_map_message *message)
{
    for (struct cv_map_fold **at = &master->folds; *at != NULL; at = &(*at)->next) {
        struct cv_map_fold *fold = *at;
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
    struct cv_map_master *master = context;

    master->value_received = true;
}

/* The last partial is the result of all units. */
static enum cleave_status fetch_value(struct cv_map_master *master,
                                      struct cleave_error *err)
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
    CV_TRY(cv_map_tell(&master->requests, (int)holder + 1, &give, err));
    CV_TRY(cv_map_move(&master->requests, &master->value_transfer, true, &master->value,
                       (int)holder + 1, id, value_received, master, err));
    while (!master->value_received)
        CV_TRY(cv_map_step(master, INFINITY, err));
    return CLEAVE_OK;
}

enum cleave_status cv_map_finish(struct cv_map_master *master, struct cleave_error *err)
{
    if (master->plan == NULL) {
        while (master->collecting > 0)
            CV_TRY(cv_map_step(master, INFINITY, err));
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

        CV_TRY(cv_map_fold_go(master, &next_s, err));
        if (master->folds == NULL)
            return cv_fold_plan_count(master->plan) == 0 ? CLEAVE_OK
                                                         : fetch_value(master, err);
        CV_TRY(cv_map_step(master, next_s, err));
    }
}
