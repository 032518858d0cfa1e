/* backups.c -- backup copies for policies that do not order them. SPDX-License-Identifier: MIT
 *
 * When no load is left to be ordered, an idle worker also runs a chunk that it is
 * expected to end sooner than its present worker. The expected time of a chunk is its
 * units divided by the measured speed of its worker; a late chunk is expected to need as
 * much more time as it is late. If all chunks take the time c, a worker that hangs costs
 * 2 c: the chunk is c late, then the copy takes c. No rule that cannot foresee the end
 * has a better ratio (ski rental).
 *
 * The policy does not learn of copies: its CLEAVE_DONE names the worker that the chunk was
 * ordered for, and CLEAVE_DROPPED is hidden. The trace has the events of the engine. */
#include "engine/driver_loop.h"

#include <string.h>

#include "base/fail.h"

/* A copy costs a process, and a gain of less than this is not noticed. */
static const double NOTICED_S = 1;
/* SimGrid rounds times. */
static const double SLACK = 1e-9;

#define NOBODY UINT32_MAX

struct cv_backup_worker {
    uint32_t chunks; /* ordered and not over */
    int refused;     /* copies that it could not begin */
    double units, seconds;
    double done_s; /* end of the last chunk that it did */
    bool copies;   /* the worker runs a copy of a chunk */
    bool late;     /* ... after which another worker was first with one of its chunks */
};

struct cv_backup_chunk {
    uint64_t number;
    uint32_t owner, copier;
    bool copied;
    double units, since_s;
    double again_s; /* a copy was refused: not before */
};

enum cleave_status cv_backups_begin(struct cv_driver *driver, struct cleave_error *err)
{
    struct cv_backups *backups = &driver->backups;
    const struct cleave_view *view = &driver->view;
    const struct cleave_policy *policy = driver->planned->policy;

    *backups = (struct cv_backups){ .on = view->copies &&
                                          !(policy->orders_copies && view->opens),
                                    .chunks = backups->chunks,
                                    .room = backups->room,
                                    .wake_s = INFINITY };
    if (backups->on && !CV_NEW(&driver->arena, backups->workers, view->nworkers))
        return cv_fail_memory(err, "backup copies");
    return CLEAVE_OK;
}

void cv_backups_ordered(struct cv_backups *backups, uint32_t worker)
{
    if (backups->on)
        backups->workers[worker].chunks++;
}

/* --- events -------------------------------------------------------------------------- */

static struct cv_backup_chunk *find_chunk(struct cv_backups *backups, uint64_t number)
{
    for (size_t i = 0; i < backups->nchunks; i++)
        if (backups->chunks[i].number == number)
            return &backups->chunks[i];
    return NULL;
}

static void note_sent(struct cv_backups *backups, const struct cleave_event *event)
{
    if (!CV_ROOM(backups->chunks, &backups->room, backups->nchunks + 1)) {
        backups->out_of_memory = true;
        return;
    }
    backups->chunks[backups->nchunks++] =
        (struct cv_backup_chunk){ .number = event->chunk,
                                  .owner = event->worker,
                                  .copier = NOBODY,
                                  .units = event->units,
                                  .since_s = event->time_s };
}

/* When the owner began the chunk: it computes one after the other. */
static double begun_s(const struct cv_backups *backups,
                      const struct cv_backup_chunk *chunk)
{
    return fmax(chunk->since_s, backups->workers[chunk->owner].done_s);
}

static void note_done(struct cv_backups *backups, const struct cv_backup_chunk *chunk,
                      const struct cleave_event *event)
{
    struct cv_backup_worker *worker = &backups->workers[event->worker];
    const double seconds = event->time_s - begun_s(backups, chunk);

    backups->workers[chunk->owner].late = chunk->owner != event->worker;
    if (chunk->owner != event->worker || !(event->units > 0))
        return;
    backups->longest_s = fmax(backups->longest_s, seconds);
    worker->units += event->units;
    worker->seconds += seconds;
    worker->done_s = event->time_s;
}

static void note_over(struct cv_backups *backups, struct cleave_event *event)
{
    struct cv_backup_chunk *chunk = find_chunk(backups, event->chunk);
    struct cv_backup_worker *owner;

    if (chunk != NULL) {
        if (event->kind == CLEAVE_DONE)
            note_done(backups, chunk, event);
        event->worker = chunk->owner;
        if (chunk->copier != NOBODY)
            backups->workers[chunk->copier].copies = false;
        backups->nchunks--;
        memmove(chunk, chunk + 1,
                (size_t)(backups->chunks + backups->nchunks - chunk) * sizeof *chunk);
    }
    owner = &backups->workers[event->worker];
    owner->chunks -= owner->chunks > 0;
}

static void note_dropped(struct cv_backups *backups, const struct cleave_event *event)
{
    struct cv_backup_chunk *chunk = backups->chunks;
    const struct cv_backup_chunk *end = chunk + backups->nchunks;

    backups->hidden = true;
    while (chunk < end && chunk->copier != event->worker)
        chunk++;
    if (chunk == end)
        return;
    chunk->copier = NOBODY;
    backups->workers[event->worker].copies = false;
    if (event->units > 0)
        return;
    backups->workers[event->worker].refused++;
    chunk->copied = false;
    chunk->again_s = event->time_s + fmax(event->time_s - chunk->since_s, NOTICED_S);
}

void cv_backups_note(struct cv_backups *backups, struct cleave_event *event)
{
    backups->worker = event->worker;
    backups->hidden = false;
    switch (event->kind) {
    case CLEAVE_SENT:
        note_sent(backups, event);
        break;
    case CLEAVE_DONE:
    case CLEAVE_LOST:
        note_over(backups, event);
        break;
    case CLEAVE_DROPPED:
        note_dropped(backups, event);
        break;
    case CLEAVE_WAKE:
        /* If the policy has a wake of this worker as well, and both are due, it gets the
         * other one. */
        backups->hidden = event->worker == backups->waker &&
                          backups->wake_s <= event->time_s * (1 + SLACK);
        if (backups->hidden)
            backups->wake_s = INFINITY;
        break;
    default:
        break;
    }
}

/* --- orders -------------------------------------------------------------------------- */

/* The fastest idle worker that is not late. A refusal counts as half the speed. NOBODY: there is
 * none. */
static uint32_t find_idle(const struct cv_backups *backups, uint32_t nworkers)
{
    uint32_t best = NOBODY;
    double best_ups = 0;

    for (uint32_t w = 0; w < nworkers; w++) {
        const struct cv_backup_worker *at = &backups->workers[w];
        const double speed_ups =
            at->units > 0 ? ldexp(at->units / at->seconds, -at->refused) : 0;

        if (at->chunks == 0 && !at->late && !at->copies && speed_ups > best_ups) {
            best = w;
            best_ups = speed_ups;
        }
    }
    return best;
}

/* Whether the worker works on an older chunk that has no copy. */
static bool has_older(const struct cv_backups *backups,
                      const struct cv_backup_chunk *chunk)
{
    for (const struct cv_backup_chunk *at = backups->chunks; at < chunk; at++)
        if (at->owner == chunk->owner && !at->copied)
            return true;
    return false;
}

/* From when on `idle` is expected to end the chunk first. */
static double copy_at(const struct cv_backups *backups,
                      const struct cv_backup_chunk *chunk, uint32_t idle, double now_s)
{
    const struct cv_backup_worker *owner = &backups->workers[chunk->owner];
    const struct cv_backup_worker *copier = &backups->workers[idle];
    const double copy_s = chunk->units * copier->seconds / copier->units;
    const double end_s = begun_s(backups, chunk) +
                         (owner->units > 0 ? chunk->units * owner->seconds / owner->units
                                           : fmax(backups->longest_s, copy_s));

    if (owner->late)
        return chunk->since_s;
    return end_s - now_s > copy_s + NOTICED_S ? now_s : end_s + fmax(copy_s, NOTICED_S);
}

/* The chunk that is to be copied first, and when. An open chunk may still be extended. */
static struct cv_backup_chunk *find_late(const struct cv_driver *driver, uint32_t idle,
                                         double now_s, double *out_s)
{
    const struct cv_backups *backups = &driver->backups;
    struct cv_backup_chunk *late = NULL;

    *out_s = INFINITY;
    for (size_t i = 0; i < backups->nchunks; i++) {
        struct cv_backup_chunk *chunk = &backups->chunks[i];
        const double due_s = fmax(copy_at(backups, chunk, idle, now_s), chunk->again_s);

        if (chunk->copied || driver->open[chunk->owner].open || !(due_s < *out_s) ||
            has_older(backups, chunk))
            continue;
        *out_s = due_s;
        late = chunk;
    }
    return late;
}

bool cv_backups_next(struct cv_driver *driver, double now_s, struct cleave_order *out)
{
    struct cv_backups *backups = &driver->backups;
    struct cv_backup_chunk *late = NULL;
    uint32_t idle = NOBODY;
    double due_s = INFINITY;

    if (backups->nchunks > 0 && backups->all_ordered)
        idle = find_idle(backups, driver->view.nworkers);
    if (idle != NOBODY)
        late = find_late(driver, idle, now_s, &due_s);
    if (late == NULL)
        return false;
    if (due_s <= now_s * (1 + SLACK)) {
        late->copied = true;
        late->copier = idle;
        backups->workers[idle].copies = true;
        *out = (struct cleave_order){ .kind = CLEAVE_COPY,
                                      .worker = idle,
                                      .peer = late->owner };
        return true;
    }
    if (isfinite(backups->wake_s))
        return false;
    backups->waker = idle;
    backups->wake_s = due_s;
    *out =
        (struct cleave_order){ .kind = CLEAVE_WAKE_AT, .worker = idle, .time_s = due_s };
    return true;
}
