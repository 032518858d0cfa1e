/* attempts.c -- attempts of chunks, their states, and the workers that run them.
 * SPDX-License-Identifier: MIT */
#include "run/master/attempts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

/* --- states --------------------------------------------------------------------------- */

struct transition {
    bool possible;
    enum cv_attempt_state next;
    enum cv_attempt_action action;
};

#define GO(state, todo)                            \
    {                                              \
        true, CV_ATTEMPT_##state, CV_ACTION_##todo \
    }

/* Ends of a command that had a piece. */
#define ENDS                                                                    \
    [CV_EVENT_SUCCESS] = GO(FREE, ACCEPT), [CV_EVENT_FAILURE] = GO(FREE, FAIL), \
    [CV_EVENT_LOST] = GO(FREE, LOSE), [CV_EVENT_LATER] = GO(FREE, POSTPONE),    \
    [CV_EVENT_DISCARD] = GO(FREE, NONE), [CV_EVENT_TAKE_BACK] = GO(FREE, NONE)

/* clang-format off */
static const struct transition transitions[CV_ATTEMPT_STATES][CV_ATTEMPT_EVENTS] = {
    [CV_ATTEMPT_FREE] = {
        [CV_EVENT_BEGIN] = GO(RUNNING, NONE),
        [CV_EVENT_ORDER] = GO(DORMANT, NONE),
    },
    [CV_ATTEMPT_RUNNING] = {
        ENDS,
        [CV_EVENT_MISMATCH] = GO(FREE, REJECT), /* it repeats a chunk as a complete piece */
        [CV_EVENT_NO_START] = GO(FREE, RETRY_START),
        [CV_EVENT_UNSTARTED] = GO(FREE, RETRY_START),
    },
    [CV_ATTEMPT_DORMANT] = {
        [CV_EVENT_START] = GO(OPEN, NONE),
        [CV_EVENT_WITHDRAW] = GO(FREE, NONE),
        [CV_EVENT_SETTLE] = GO(DORMANT, NONE),
        [CV_EVENT_CLOSE] = GO(FREE, DROP),
        [CV_EVENT_CLOSE_DUE] = GO(DORMANT_CLOSING, NONE),
        [CV_EVENT_EMPTY_LOST] = GO(FREE, DROP_LOST),
    },
    [CV_ATTEMPT_OPEN] = {
        ENDS,
        [CV_EVENT_NO_START] = GO(DORMANT, NONE),
        [CV_EVENT_SETTLE] = GO(OPEN, NONE),
        [CV_EVENT_CLOSE] = GO(CLOSED, CLOSE_INPUT),
        [CV_EVENT_CLOSE_DUE] = GO(CLOSING, NONE),
        [CV_EVENT_EMPTY_END] = GO(DORMANT, NONE),
        [CV_EVENT_EMPTY_LOST] = GO(FREE, DROP_LOST),
        [CV_EVENT_EMPTY_UNSTARTED] = GO(DORMANT, NONE),
        [CV_EVENT_UNSTARTED] = GO(FREE, PUT_BACK),
    },
    [CV_ATTEMPT_DORMANT_CLOSING] = {
        [CV_EVENT_START] = GO(CLOSING, NONE),
        [CV_EVENT_SETTLE] = GO(FREE, DROP),
        [CV_EVENT_EMPTY_LOST] = GO(FREE, DROP_LOST),
    },
    [CV_ATTEMPT_CLOSING] = {
        ENDS,
        [CV_EVENT_NO_START] = GO(DORMANT_CLOSING, NONE),
        [CV_EVENT_SETTLE] = GO(CLOSED, CLOSE_INPUT),
        [CV_EVENT_EMPTY_END] = GO(FREE, DROP),
        [CV_EVENT_EMPTY_LOST] = GO(FREE, DROP_LOST),
        [CV_EVENT_EMPTY_UNSTARTED] = GO(FREE, PUT_BACK),
        [CV_EVENT_UNSTARTED] = GO(FREE, PUT_BACK),
    },
    [CV_ATTEMPT_CLOSED] = {
        ENDS,
        [CV_EVENT_SETTLE] = GO(CLOSED, NONE), /* ordered before the policy knew */
        [CV_EVENT_EMPTY_END] = GO(FREE, DROP),
        [CV_EVENT_EMPTY_LOST] = GO(FREE, DROP_LOST),
        [CV_EVENT_EMPTY_UNSTARTED] = GO(FREE, PUT_BACK),
        [CV_EVENT_UNSTARTED] = GO(FREE, PUT_BACK),
    },
};
/* clang-format on */

bool cv_attempt_can(enum cv_attempt_state state, enum cv_attempt_event event)
{
    return transitions[state][event].possible;
}

enum cv_attempt_action cv_attempt_step(struct cv_attempt *attempt,
                                       enum cv_attempt_event event)
{
    const struct transition *row = &transitions[attempt->state][event];

    assert(row->possible);
    attempt->state = row->next;
    return row->action;
}

struct cv_attempt *cv_attempt_of(struct cv_slot *slot)
{
    return (struct cv_attempt *)slot; /* the slot is its first member */
}

bool cv_attempt_is_open(const struct cv_attempt *attempt)
{
    return attempt->state != CV_ATTEMPT_FREE && attempt->state != CV_ATTEMPT_RUNNING;
}

bool cv_attempt_is_closed(const struct cv_attempt *attempt)
{
    return attempt->state == CV_ATTEMPT_CLOSING ||
           attempt->state == CV_ATTEMPT_DORMANT_CLOSING ||
           attempt->state == CV_ATTEMPT_CLOSED;
}

bool cv_attempt_is_running(const struct cv_attempt *attempt)
{
    return attempt->state != CV_ATTEMPT_FREE && attempt->state != CV_ATTEMPT_DORMANT &&
           attempt->state != CV_ATTEMPT_DORMANT_CLOSING;
}

double cv_attempt_units(const struct cv_attempt *attempt)
{
    return (double)(attempt->slot.piece.end - attempt->slot.piece.begin);
}

bool cv_attempt_is_empty(const struct cv_attempt *attempt)
{
    return attempt->slot.piece.begin == attempt->slot.piece.end;
}

bool cv_attempt_awaits_order(const struct cv_attempt *attempt)
{
    const struct cv_slot *slot = &attempt->slot;
    const struct cv_remote_facts facts = cv_remote_facts(slot);

    return (attempt->state == CV_ATTEMPT_OPEN || attempt->state == CV_ATTEMPT_DORMANT) &&
           !facts.cutting && facts.looks == 0 &&
           (cv_attempt_is_empty(attempt) || (slot->open.more && slot->open.dry_s > 0));
}

/* --- the attempts of all workers ------------------------------------------------------ */

enum cleave_status cv_attempt_table_init(struct cv_attempt_table *table,
                                         uint32_t nworkers, struct cleave_error *err)
{
    table->items = calloc(nworkers, sizeof *table->items);
    if (table->items == NULL)
        return cv_fail_memory(err, "the engine");
    table->count = nworkers;
    return CLEAVE_OK;
}

static void free_attempts(struct cv_worker_attempts *worker)
{
    for (uint32_t i = 0; i < worker->count; i++)
        cv_slot_free(&worker->items[i].slot);
    free(worker->items);
    *worker = (struct cv_worker_attempts){ .max = worker->max };
}

void cv_attempt_table_done(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++)
        free_attempts(&table->items[w]);
    free(table->items);
    *table = (struct cv_attempt_table){ .count = 0 };
}

enum cleave_status cv_worker_attempts_set(struct cv_worker_attempts *worker,
                                          uint32_t count, struct cleave_error *err)
{
    free_attempts(worker); /* of an earlier worker with this number */
    worker->items = calloc(count, sizeof *worker->items);
    if (worker->items == NULL)
        return cv_fail_memory(err, "the workers");
    worker->count = count;
    return CLEAVE_OK;
}

bool cv_attempt_table_is_busy(const struct cv_attempt_table *table, uint32_t worker)
{
    for (uint32_t i = 0; worker < table->count && i < table->items[worker].count; i++)
        if (table->items[worker].items[i].state != CV_ATTEMPT_FREE)
            return true;
    return false;
}

struct cv_attempt *cv_attempt_table_find_open(const struct cv_attempt_table *table,
                                              uint32_t worker)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];

    for (uint32_t i = 0; i < of_worker->count; i++)
        if (cv_attempt_is_open(&of_worker->items[i]) && !of_worker->items[i].beaten)
            return &of_worker->items[i];
    return NULL;
}

struct cv_attempt *cv_attempt_table_find_extra(const struct cv_attempt_table *table,
                                               uint32_t worker)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];

    for (uint32_t i = 0; i < of_worker->count; i++)
        if (of_worker->items[i].state == CV_ATTEMPT_FREE)
            return &of_worker->items[i];
    return NULL;
}

struct cv_attempt *cv_attempt_table_find_free(const struct cv_attempt_table *table,
                                              uint32_t worker)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];
    uint32_t used = 0;

    for (uint32_t i = 0; i < of_worker->count; i++)
        used += of_worker->items[i].state != CV_ATTEMPT_FREE;
    return used < of_worker->max ? cv_attempt_table_find_extra(table, worker) : NULL;
}

struct cv_attempt *cv_attempt_table_find_last(const struct cv_attempt_table *table,
                                              uint32_t worker)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];
    struct cv_attempt *last = NULL;

    for (uint32_t i = 0; i < of_worker->count; i++) {
        struct cv_attempt *attempt = &of_worker->items[i];

        if (cv_attempt_is_running(attempt) && attempt->chunk.owner == worker &&
            !attempt->beaten && attempt->chunk.reported != CV_UNREPORTED &&
            (last == NULL || attempt->chunk.number > last->chunk.number))
            last = attempt;
    }
    return last;
}

/* --- progress ------------------------------------------------------------------------- */

/* Units that the worker processes, at its rate so far, since `since_s`. */
static double processed_since(const struct cv_time_fit *fit, double since_s, double now_s)
{
    double latency_s, rate_ups;

    cv_time_fit_line(fit, &latency_s, &rate_ups);
    return rate_ups * fmax(0, now_s - since_s - latency_s);
}

/* Bytes that the command has read: those fed, without those in the pipe. After the end
 * was fed, the rest of the pipe is estimated from the rate. A persistent command shows
 * nothing before its answer. */
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
        unread -= fmin(unread,
                       processed_since(fit, fmax(slot->start_s, slot->in.fed_s), now_s));
    return fmax(0, fed - unread);
}

/* A host works on the piece that arrived first. */
static double read_there(const struct cv_worker_attempts *of_worker,
                         const struct cv_time_fit *fit, double now_s)
{
    const struct cv_attempt *first = NULL;
    double since_s = 0, arrived_s = 0;

    for (uint32_t i = 0; i < of_worker->count; i++) {
        const struct cv_remote_facts facts = cv_remote_facts(&of_worker->items[i].slot);

        since_s = fmax(since_s, facts.computed_s);
        if (cv_attempt_is_running(&of_worker->items[i]) && cv_has_arrived(&facts) &&
            !cv_is_computed(&facts) && (first == NULL || facts.arrived_s < arrived_s)) {
            first = &of_worker->items[i];
            arrived_s = facts.arrived_s;
        }
    }
    if (first == NULL)
        return 0;
    since_s = fmax(since_s, arrived_s);
    return fmin((double)(first->slot.piece.end - first->slot.piece.begin),
                processed_since(fit, since_s, now_s));
}

double cv_worker_read_bytes(const struct cv_attempt_table *table,
                            const struct cv_worker_pool *pool, uint32_t worker,
                            double now_s)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];
    const struct cv_time_fit *fit = &pool->tallies[worker].compute;
    double sum = 0;

    if (pool->host_of[worker] != NULL)
        return read_there(of_worker, fit, now_s);
    for (uint32_t i = 0; i < of_worker->count; i++)
        if (cv_attempt_is_running(&of_worker->items[i]))
            sum += read_here(&of_worker->items[i].slot, fit, now_s);
    return sum;
}

double cv_attempt_table_read_bytes(const struct cv_attempt_table *table,
                                   const struct cv_worker_pool *pool, double now_s)
{
    double sum = 0;

    for (uint32_t w = 0; w < table->count; w++)
        sum += cv_worker_read_bytes(table, pool, w, now_s);
    return sum;
}

double cv_attempt_table_oldest_start_s(const struct cv_attempt_table *table,
                                       uint32_t worker)
{
    const struct cv_worker_attempts *of_worker = &table->items[worker];
    double since_s = NAN;

    for (uint32_t i = 0; i < of_worker->count; i++)
        if (cv_attempt_is_running(&of_worker->items[i]) &&
            !(since_s <= of_worker->items[i].chunk.began_s))
            since_s = of_worker->items[i].chunk.began_s;
    return since_s;
}

/* --- the end -------------------------------------------------------------------------- */

void cv_attempt_table_stop(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].count; i++)
            cv_slot_stop(&table->items[w].items[i].slot);
}

bool cv_attempt_table_drain(struct cv_attempt_table *table, bool stay)
{
    bool left = true;

    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].count; i++) {
            struct cv_slot *slot = &table->items[w].items[i].slot;

            left &= (stay && cv_slot_is_idle(slot)) || cv_slot_release_command(slot);
        }
    return left;
}

void cv_attempt_table_kill(struct cv_attempt_table *table)
{
    for (uint32_t w = 0; w < table->count; w++)
        for (uint32_t i = 0; i < table->items[w].count; i++) {
            struct cv_attempt *attempt = &table->items[w].items[i];

            attempt->state = CV_ATTEMPT_FREE;
            if (!cv_slot_is_idle(&attempt->slot))
                cv_slot_done(&attempt->slot);
        }
}
