/* attempts.c -- chunks under way, and whose they are. SPDX-License-Identifier: MIT */
#include "run/master/attempts.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

enum cleave_status cv_desks_open(struct cv_attempt_table *table, uint32_t nworkers,
                                 struct cleave_error *err)
{
    table->items = calloc(nworkers, sizeof *table->items);
    if (table->items == NULL)
        return cv_fail_memory(err, "the engine");
    table->count = nworkers;
    return CLEAVE_OK;
}

void cv_desks_close(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++) {
        for (uint32_t i = 0; i < table->items[w].nerrands; i++)
            cv_slot_free(&table->items[w].attempts[i].slot);
        free(table->items[w].attempts);
    }
    free(table->items);
    table->items = NULL;
    table->count = 0;
}

enum cleave_status cv_desk_room(struct cv_worker_attempts *places, uint32_t nerrands,
                                struct cleave_error *err)
{
    for (uint32_t i = 0; i < places->nerrands; i++) /* of one that had the place before */
        cv_slot_free(&places->attempts[i].slot);
    free(places->attempts);
    places->nerrands = 0;
    places->attempts = calloc(nerrands, sizeof *places->attempts);
    if (places->attempts == NULL)
        return cv_fail_memory(err, "the workers");
    places->nerrands = nerrands;
    return CLEAVE_OK;
}

struct cv_attempt *cv_attempt_of(struct cv_slot *slot)
{
    return (struct cv_attempt *)slot; /* it is its first member */
}

bool cv_desks_busy(const struct cv_attempt_table *table, uint32_t worker)
{
    for (uint32_t i = 0; worker < table->count && i < table->items[worker].nerrands; i++)
        if (table->items[worker].attempts[i].slot.busy ||
            table->items[worker].attempts[i].opened)
            return true;
    return false;
}

struct cv_attempt *cv_attempt_table_find_open(const struct cv_attempt_table *table,
                                              uint32_t worker)
{
    const struct cv_worker_attempts *places = &table->items[worker];

    for (uint32_t i = 0; i < places->nerrands; i++)
        if (places->attempts[i].opened)
            return &places->attempts[i];
    return NULL;
}

bool cv_attempt_is_empty(const struct cv_attempt *attempt)
{
    return attempt->slot.piece.begin == attempt->slot.piece.end;
}

bool cv_attempt_awaits_order(const struct cv_attempt *attempt)
{
    const struct cv_slot *slot = &attempt->slot;
    const struct cv_remote_facts facts = cv_remote_facts(slot);

    return attempt->opened && !attempt->closes && !facts.cutting && facts.looks == 0 &&
           (cv_attempt_is_empty(attempt) || (slot->open.more && slot->open.dry_s > 0));
}

static bool is_under_way(const struct cv_attempt *attempt)
{
    return attempt->slot.busy || attempt->opened;
}

struct cv_attempt *cv_attempt_table_find_extra(const struct cv_attempt_table *table,
                                               uint32_t worker)
{
    const struct cv_worker_attempts *places = &table->items[worker];

    for (uint32_t i = 0; i < places->nerrands; i++)
        if (!is_under_way(&places->attempts[i]))
            return &places->attempts[i];
    return NULL;
}

struct cv_attempt *cv_desks_free(const struct cv_attempt_table *table, uint32_t worker)
{
    const struct cv_worker_attempts *places = &table->items[worker];
    uint32_t count = 0;

    for (uint32_t i = 0; i < places->nerrands; i++)
        count += is_under_way(&places->attempts[i]);
    return count < places->max ? cv_attempt_table_find_extra(table, worker) : NULL;
}

bool cv_attempt_table_has_failure_of(const struct cv_attempt_table *table,
                                     uint32_t domain)
{
    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].nerrands; i++)
            if (table->items[w].attempts[i].slot.busy &&
                cv_failure_history_doubts(&table->items[w].attempts[i].past, domain))
                return true;
    return false;
}

struct cv_attempt *cv_attempt_table_find_last(const struct cv_attempt_table *table,
                                              uint32_t worker)
{
    const struct cv_worker_attempts *places = &table->items[worker];
    struct cv_attempt *last = NULL;

    for (uint32_t i = 0; i < places->nerrands; i++)
        if (places->attempts[i].slot.busy && places->attempts[i].owner == worker &&
            !places->attempts[i].quiet &&
            (last == NULL || places->attempts[i].chunk > last->chunk))
            last = &places->attempts[i];
    return last;
}

/* What the worker does, by its rate so far, in the time since then. */
static double worth(const struct cv_time_fit *fit, double since_s, double now_s)
{
    double latency_s, rate_ups;

    cv_time_fit_line(fit, &latency_s, &rate_ups);
    return rate_ups * fmax(0, now_s - since_s - latency_s);
}

/* What has been fed but for what is in the pipe. When all of it was, the pipe is closed: then
 * what may be there goes by the rate. Of a command that stays nothing is known before its
 * answer. */
static double read_here(const struct cv_slot *slot, const struct cv_time_fit *fit,
                        double now_s)
{
    const struct cv_range body = slot->piece.body;
    double fed, unread;

    if (slot->persistent.given)
        return 0;
    cv_slot_hold(slot);
    fed = (double)(cv_slot_fed(slot) - body.begin);
    unread = slot->in.fd >= 0 ? (double)cv_pipe_writer_unread(&slot->in.writer)
                              : fmin(fed, (double)slot->in.writer.width.bytes);
    cv_slot_go_on(slot);
    if (slot->in.fd < 0)
        unread -= fmin(unread, worth(fit, fmax(slot->start_s, slot->in.fed_s), now_s));
    return fmax(0, fed - unread);
}

/* Of pieces that are there, a worker is at the one that came first. */
static double read_there(const struct cv_worker_attempts *places,
                         const struct cv_time_fit *fit, double now_s)
{
    const struct cv_attempt *first = NULL;
    double since_s = 0, arrived_s = 0;

    for (uint32_t i = 0; i < places->nerrands; i++) {
        const struct cv_remote_facts facts = cv_remote_facts(&places->attempts[i].slot);

        since_s = fmax(since_s, facts.computed_s);
        if (places->attempts[i].slot.busy && cv_has_arrived(&facts) &&
            !cv_is_computed(&facts) && (first == NULL || facts.arrived_s < arrived_s)) {
            first = &places->attempts[i];
            arrived_s = facts.arrived_s;
        }
    }
    if (first == NULL)
        return 0;
    since_s = fmax(since_s, arrived_s);
    return fmin((double)(first->slot.piece.end - first->slot.piece.begin),
                worth(fit, since_s, now_s));
}

double cv_desk_read(const struct cv_attempt_table *table,
                    const struct cv_worker_pool *pool, uint32_t worker, double now_s)
{
    const struct cv_worker_attempts *places = &table->items[worker];
    const struct cv_time_fit *fit = &pool->tallies[worker].compute;
    double sum = 0;

    if (pool->host_of[worker] != NULL)
        return read_there(places, fit, now_s);
    for (uint32_t i = 0; i < places->nerrands; i++)
        if (places->attempts[i].slot.busy)
            sum += read_here(&places->attempts[i].slot, fit, now_s);
    return sum;
}

double cv_desks_read(const struct cv_attempt_table *table,
                     const struct cv_worker_pool *pool, double now_s)
{
    double sum = 0;

    for (uint32_t w = 0; w < table->count; w++)
        sum += cv_desk_read(table, pool, w, now_s);
    return sum;
}

double cv_attempt_table_oldest_start_s(const struct cv_attempt_table *table,
                                       uint32_t worker)
{
    const struct cv_worker_attempts *places = &table->items[worker];
    double since_s = NAN;

    for (uint32_t i = 0; i < places->nerrands; i++)
        if (places->attempts[i].slot.busy && !(since_s <= places->attempts[i].began_s))
            since_s = places->attempts[i].began_s;
    return since_s;
}

void cv_desks_stop(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].nerrands; i++)
            cv_slot_stop(&table->items[w].attempts[i].slot);
}

bool cv_attempt_table_drain(struct cv_attempt_table *table, bool stay)
{
    bool left = true;

    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].nerrands; i++) {
            struct cv_slot *slot = &table->items[w].attempts[i].slot;

            left &= (stay && cv_slot_is_idle(slot)) || cv_slot_release_command(slot);
        }
    return left;
}

void cv_attempt_table_kill(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].nerrands; i++)
            if (!cv_slot_is_idle(&table->items[w].attempts[i].slot))
                cv_slot_done(&table->items[w].attempts[i].slot);
}
