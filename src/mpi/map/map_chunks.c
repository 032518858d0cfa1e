/* map_chunks.c -- chunks on their way from rank 0 to the others.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_master.h"

static void remove_chunk(struct cv_map_chunk *chunk)
{
    struct cv_map_member *member = &chunk->master->members[chunk->worker];
    struct cv_map_chunk **at = &member->chunks;

    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    chunk->next = NULL;
    member->held--;
    chunk->master->running--;
}

/* The policy hears that the chunk is there. */
static void tell_sent(struct cv_map_chunk *chunk)
{
    struct cv_map_master *master = chunk->master;

    if (chunk->told)
        return;
    chunk->told = true;
    cv_map_event(master,
                 (struct cleave_event){ .kind = CLEAVE_SENT,
                                        .worker = chunk->worker,
                                        .chunk = chunk->number,
                                        .units = (double)(chunk->end - chunk->begin),
                                        .start_s = chunk->send_s });
}

/* --- sending ------------------------------------------------------------------------------ */

static void send_next(struct cv_map_master *master);

static void chunk_sent(void *context, struct cv_map_requests_item *item, int from)
{
    struct cv_map_chunk *chunk = context;
    struct cv_map_master *master = chunk->master;

    (void)item;
    (void)from;
    chunk->sending = false;
    master->port_busy = false;
    tell_sent(chunk);
    cv_map_buffer_done(&chunk->buffer);
    if (chunk->computed) /* its answer was faster than the word that it had been sent */
        cv_map_partial(master, chunk);
    send_next(master);
}

static enum cleave_status send_chunk(struct cv_map_chunk *chunk, struct cleave_error *err)
{
    struct cv_map_master *master = chunk->master;
    const int rank = (int)chunk->worker + 1;
    const struct cv_map_message note = { .kind = CV_MAP_CHUNK,
                                         .keep = master->plan != NULL,
                                         .id = chunk->id,
                                         .begin = chunk->begin,
                                         .end = chunk->end,
                                         .bytes = chunk->buffer.size };

    chunk->send_s = cv_idle_wait_clock_s() - master->began_s;
    CV_TRY(cv_map_tell(&master->requests, rank, &note, err));
    if (chunk->buffer.size == 0) {
        tell_sent(chunk);
        return CLEAVE_OK;
    }
    chunk->item = (struct cv_map_requests_item){ .done = chunk_sent,
                                                 .context = chunk,
                                                 .bytes = chunk->buffer.bytes,
                                                 .size = chunk->buffer.size,
                                                 .rank = rank,
                                                 .tag = cv_map_requests_tag(chunk->id) };
    chunk->sending = true;
    master->port_busy = true;
    master->counts.master_bytes += chunk->buffer.size;
    return cv_map_requests_begin(&master->requests, &chunk->item, err);
}

static void send_next(struct cv_map_master *master)
{
    while (master->queue != NULL && !(master->shares_port && master->port_busy)) {
        struct cv_map_chunk *chunk = master->queue;
        struct cleave_error err;

        master->queue = chunk->next_queued;
        if (master->queue == NULL)
            master->queue_end = &master->queue;
        if (!master->failed && send_chunk(chunk, &err) != CLEAVE_OK)
            cv_map_fail(master, &err);
    }
}

/* It is ready to be sent, when it is its turn. */
static void dispatch(struct cv_map_chunk *chunk)
{
    struct cv_map_master *master = chunk->master;

    chunk->next_queued = NULL;
    *master->queue_end = chunk;
    master->queue_end = &chunk->next_queued;
    send_next(master);
}

static enum cleave_status pack(struct cv_map_task *task, struct cleave_error *err)
{
    struct cv_map_chunk *chunk = (struct cv_map_chunk *)task; /* its first part */

    return cv_map_pack(chunk->master->map, chunk->begin, chunk->end, &chunk->buffer, err);
}

static void packed(struct cv_map_task *task, const struct cleave_error *error)
{
    struct cv_map_chunk *chunk = (struct cv_map_chunk *)task; /* its first part */

    if (error != NULL)
        cv_map_fail(chunk->master, error);
    else if (!chunk->master->failed)
        dispatch(chunk);
}

/* --- orders ------------------------------------------------------------------------------- */

/* Nothing is left for this order: others had it. */
static void tell_empty(struct cv_map_master *master, uint32_t worker, uint64_t number)
{
    const double now_s = cv_idle_wait_clock_s() - master->began_s;

    cv_map_event(master, (struct cleave_event){ .kind = CLEAVE_SENT,
                                                .worker = worker,
                                                .chunk = number,
                                                .start_s = now_s });
    cv_map_event(master, (struct cleave_event){ .kind = CLEAVE_DONE,
                                                .worker = worker,
                                                .chunk = number,
                                                .start_s = now_s });
}

static enum cleave_status begin_chunk(struct cv_map_master *master, uint32_t worker,
                                      uint64_t number, uint64_t end,
                                      struct cleave_error *err)
{
    struct cv_map_member *member = &master->members[worker];
    struct cv_map_chunk *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL)
        return cv_fail_memory(err, "a chunk");
    chunk->master = master;
    chunk->id = master->next_id++;
    chunk->number = number;
    chunk->worker = worker;
    chunk->begin = master->next_unit;
    chunk->end = master->next_unit = end;
    chunk->next = member->chunks;
    member->chunks = chunk;
    member->held++;
    master->running++;
    if (master->map->pack == NULL) {
        dispatch(chunk);
        return CLEAVE_OK;
    }
    chunk->task.run = pack;
    chunk->task.done = packed;
    cv_map_tasks_add(master->tasks, &chunk->task);
    return CLEAVE_OK;
}

/* Orders are real numbers and units are not: a chunk ends at the unit that is nearest to
 * the sum of all orders so far, so that the last one ends with the last unit. */
static uint64_t end_of(struct cv_map_master *master, double units)
{
    const uint64_t all = master->map->units;

    master->begun += units;
    return master->begun >= (double)all - 0.5 ? all
                                              : (uint64_t)llround(fmax(0, master->begun));
}

enum cleave_status cv_map_begin_all(struct cv_map_master *master,
                                    struct cleave_error *err)
{
    for (uint32_t w = 0; w < master->nworkers && !master->failed; w++) {
        struct cv_map_member *member = &master->members[w];

        while (member->first < member->nwants && member->held < CV_MAP_AHEAD) {
            const struct cv_map_pending_order want = member->wants[member->first++];
            const uint64_t end = end_of(master, want.units);

            if (end <= master->next_unit)
                tell_empty(master, w, want.number);
            else
                CV_TRY(begin_chunk(master, w, want.number, end, err));
        }
    }
    return CLEAVE_OK;
}

void cv_map_computed(struct cv_map_master *master, uint32_t worker,
                     const struct cv_map_message *note)
{
    struct cv_map_chunk *chunk = master->members[worker].chunks;
    const double now_s = cv_idle_wait_clock_s() - master->began_s;
    struct cleave_error err;

    while (chunk != NULL && chunk->id != note->id)
        chunk = chunk->next;
    if (master->failed && chunk == NULL)
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
    tell_sent(chunk);
    remove_chunk(chunk);
    chunk->computed = true;
    master->counts.chunks++;
    cv_map_event(master,
                 (struct cleave_event){ .kind = CLEAVE_DONE,
                                        .worker = worker,
                                        .chunk = chunk->number,
                                        .units = (double)(chunk->end - chunk->begin),
                                        .start_s = fmax(0, now_s - note->seconds) });
    chunk->bytes = note->bytes;
    if (!chunk->sending)
        cv_map_partial(master, chunk);
}
