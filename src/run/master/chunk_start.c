/* chunk_start.c -- desks for workers, and the beginning of a chunk. SPDX-License-Identifier: MIT */
#include "run/master/chunk_start.h"

#include "run/hosts/hosts.h"
#include "run/master/chunk_failure.h"
#include "run/master/open_chunks.h"
#include "run/master/chunk_lifecycle.h"
#include "run/master/resource_wait.h"
#include "run/slot/persistent_slot.h"

/* Of a worker of another machine; and of one that is here: another one only while the first is
 * held up. */
enum { ERRANDS_AWAY = 3, ERRANDS_HERE = 2 };

/* Then nobody may wait for whoever reads the output, and one alone may write to it. */
static bool may_have_hosts(const struct cleave_execution *request)
{
    return request->hosts.count > 0 || request->hosts.join_path != NULL ||
           request->hosts.more != NULL;
}

static enum cleave_status set_up(struct cv_exec_run *run, uint32_t worker,
                                 struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_host *host = run->pool.host_of[worker];

    cv_slot_init(slot);
    slot->poller = run->poller;
    slot->outputs = run->outputs;
    slot->command = &run->pool.commands[worker];
    slot->timeout_s = run->request->failures.timeout_s;
    cv_chunks_listen(run, slot);
    slot->worker = worker;
    slot->items = run->request->items.words != NULL ? &run->request->items : NULL;
    slot->numbers = run->request->tell_records ? run->queue.source : NULL;
    slot->by_lines = run->request->output.lines &&
                     (slot->items != NULL || run->request->output.unordered);
    if (host == NULL && !run->request->persistent) {
        const char *const *prefix = run->pool.prefixes[worker];

        slot->base = slot->command;
        slot->direct = run->request->output.direct ? run->request->output.descriptor : 0;
        if (slot->by_lines && !may_have_hosts(run->request))
            slot->lines_to = run->request->output.descriptor;
        while (prefix != NULL && prefix[slot->nprefix] != NULL)
            slot->nprefix++;
    }
    if (host != NULL)
        return cv_remote_init(slot, host, worker - host->first, err);
    if (run->request->persistent)
        cv_persistent_init(slot);
    return CLEAVE_OK;
}

/* Slots whose commands have stayed since the input before; false: there are none. */
static bool seat_again(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_worker_attempts *places = &run->table.items[worker];
    struct cv_host *host = run->pool.host_of[worker];

    if (!run->stay || places->nerrands == 0 ||
        cv_remote_host(&places->attempts[0].slot) != host)
        return false;
    for (uint32_t i = 0; i < places->nerrands; i++) {
        struct cv_slot *slot = &places->attempts[i].slot;

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

    CV_TRY(cv_desk_room(places, away ? ERRANDS_AWAY : ERRANDS_HERE, err));
    places->max = away ? ERRANDS_AWAY : 1;
    for (uint32_t i = 0; i < places->nerrands; i++) {
        const enum cleave_status status =
            set_up(run, worker, &places->attempts[i].slot, err);

        if (status != CLEAVE_OK) {
            places->nerrands = i + 1; /* the others are not initialized */
            return status;
        }
    }
    return CLEAVE_OK;
}

static void tell_sent(struct cv_exec_run *run, struct cv_attempt *attempt,
                      const struct cv_piece *piece)
{
    attempt->told = true;
    cv_event_queue_push(&run->events, (struct cleave_event){
                                          .kind = CLEAVE_SENT,
                                          .worker = attempt->owner,
                                          .chunk = attempt->chunk,
                                          .units = (double)(piece->end - piece->begin) });
}

/* Start its command; a piece that does not travel is there. */
static enum cleave_status start(struct cv_exec_run *run, struct cv_attempt *attempt,
                                const struct cv_piece *piece, struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status;

    if (run->queue.keys != NULL)
        CV_TRY(
            cv_item_keys_content(run->queue.keys, piece->begin, &attempt->content, err));
    attempt->slot.piece = *piece;
    status = cv_resource_wait_look(run, &attempt->slot, &why);
    if (status == CLEAVE_OK)
        status = cv_slot_start(&attempt->slot, piece, &why);
    if (status == CLEAVE_ERESOURCES && cv_chunk_put_off(run, attempt, &why))
        return CLEAVE_OK;
    if (status != CLEAVE_OK && err != NULL)
        *err = why;
    CV_TRY(status);
    cv_start_limiter_begun(&run->limiter);
    if (!cv_slot_is_remote(&attempt->slot) && !attempt->told && !attempt->quiet)
        tell_sent(run, attempt, piece);
    return CLEAVE_OK;
}

enum cleave_status cv_chunks_begin(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   uint32_t owner, const struct cv_pending_order *pending,
                                   const struct cv_piece *piece, struct cleave_error *err)
{
    attempt->owner = owner;
    attempt->chunk = attempt->slot.number = pending->chunk;
    attempt->told = pending->told;
    attempt->quiet = pending->quiet;
    attempt->alone = false;
    attempt->number = 1;
    attempt->past = (struct cv_failure_history){ .count = 0 };
    attempt->began_s = attempt->runs_s = cv_clock_s();
    attempt->bound_s = attempt->start_s = 0;
    attempt->opened = pending->open;
    attempt->closes = pending->close;
    attempt->due = pending->more;
    run->queue.running++;
    if (pending->open) {
        tell_sent(run, attempt, piece);
        return cv_open_chunks_begin(run, attempt, pending, piece, err);
    }
    return start(run, attempt, piece, err);
}

enum cleave_status cv_chunks_begin_again(struct cv_exec_run *run,
                                         struct cv_attempt *attempt,
                                         const struct cv_retry *again,
                                         struct cleave_error *err)
{
    attempt->owner = again->owner;
    attempt->chunk = attempt->slot.number = again->chunk;
    attempt->told = again->told;
    attempt->quiet = again->quiet;
    attempt->alone = again->alone;
    attempt->number = again->attempt;
    attempt->began_s = again->began_s;
    attempt->runs_s = cv_clock_s();
    attempt->bound_s = attempt->start_s = 0;
    attempt->past = again->past;
    attempt->opened = attempt->closes = false; /* all of it is there */
    attempt->due = 0;
    return start(run, attempt, &again->piece, err);
}
