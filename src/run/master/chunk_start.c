/* chunk_start.c -- desks for workers, and the beginning of a chunk. SPDX-License-Identifier: MIT */
#include "run/master/chunk_start.h"

#include "run/hosts/remote_slot.h"
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

static void set_up(struct cv_exec_run *run, uint32_t worker, struct cv_slot *slot)
{
    struct cv_host *host = run->staff.host_of[worker];

    cv_slot_init(slot);
    slot->poller = run->poller;
    slot->gather = run->gather;
    slot->command = &run->staff.commands[worker];
    slot->timeout_s = run->request->failing.timeout_s;
    cv_chunks_listen(run, slot);
    slot->worker = worker;
    slot->items = run->request->items.words != NULL ? &run->request->items : NULL;
    slot->numbers = run->request->tell_records ? run->books.source : NULL;
    slot->by_lines = run->request->output.lines &&
                     (slot->items != NULL || run->request->output.unordered);
    if (host == NULL && !run->request->persistent) {
        const char *const *prefix = run->staff.prefixes[worker];

        slot->base = slot->command;
        slot->direct = run->request->output.direct ? run->request->output.descriptor : 0;
        if (slot->by_lines && !may_have_hosts(run->request))
            slot->lines_to = run->request->output.descriptor;
        while (prefix != NULL && prefix[slot->nprefix] != NULL)
            slot->nprefix++;
    }
    if (host != NULL)
        cv_remote_init(slot, host, worker - host->first);
    else if (run->request->persistent)
        cv_persistent_init(slot);
}

/* Slots whose commands have stayed since the input before; false: there are none. */
static bool seat_again(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_worker_attempts *desk = &run->desks.items[worker];
    struct cv_host *host = run->staff.host_of[worker];

    if (!run->stay || desk->nerrands == 0 || desk->errands[0].slot.remote.host != host)
        return false;
    for (uint32_t i = 0; i < desk->nerrands; i++) {
        struct cv_slot *slot = &desk->errands[i].slot;

        slot->gather = run->gather;
        slot->numbers = run->request->tell_records ? run->books.source : NULL;
    }
    return true;
}

enum cleave_status cv_chunks_bind_slot(struct cv_exec_run *run, uint32_t worker,
                                       struct cleave_error *err)
{
    struct cv_worker_attempts *desk = &run->desks.items[worker];
    const bool away = run->staff.host_of[worker] != NULL;

    if (seat_again(run, worker))
        return CLEAVE_OK;

    CV_TRY(cv_desk_room(desk, away ? ERRANDS_AWAY : ERRANDS_HERE, err));
    desk->max = away ? ERRANDS_AWAY : 1;
    for (uint32_t i = 0; i < desk->nerrands; i++)
        set_up(run, worker, &desk->errands[i].slot);
    return CLEAVE_OK;
}

static void tell_sent(struct cv_exec_run *run, struct cv_attempt *errand,
                      const struct cv_piece *piece)
{
    errand->told = true;
    cv_event_queue_push(&run->news, (struct cleave_event){
                                        .kind = CLEAVE_SENT,
                                        .worker = errand->owner,
                                        .chunk = errand->chunk,
                                        .units = (double)(piece->end - piece->begin) });
}

/* Start its command; a piece that does not travel is there. */
static enum cleave_status start(struct cv_exec_run *run, struct cv_attempt *errand,
                                const struct cv_piece *piece, struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status;

    if (run->books.keys != NULL)
        CV_TRY(
            cv_item_keys_content(run->books.keys, piece->begin, &errand->content, err));
    errand->slot.piece = *piece;
    status = cv_resource_wait_look(run, &errand->slot, &why);
    if (status == CLEAVE_OK)
        status = cv_slot_start(&errand->slot, piece, &why);
    if (status == CLEAVE_ERESOURCES && cv_chunk_put_off(run, errand, &why))
        return CLEAVE_OK;
    if (status != CLEAVE_OK && err != NULL)
        *err = why;
    CV_TRY(status);
    cv_start_limiter_begun(&run->gate);
    if (!cv_slot_is_remote(&errand->slot) && !errand->told && !errand->quiet)
        tell_sent(run, errand, piece);
    return CLEAVE_OK;
}

enum cleave_status cv_chunks_begin(struct cv_exec_run *run, struct cv_attempt *errand,
                                   uint32_t owner, const struct cv_pending_order *want,
                                   const struct cv_piece *piece, struct cleave_error *err)
{
    errand->owner = owner;
    errand->chunk = errand->slot.number = want->chunk;
    errand->told = want->told;
    errand->quiet = want->quiet;
    errand->alone = false;
    errand->attempt = 1;
    errand->past = (struct cv_failure_history){ .count = 0 };
    errand->began_s = errand->runs_s = cv_clock_s();
    errand->bound_s = errand->start_s = 0;
    errand->opened = want->open;
    errand->closes = want->close;
    errand->due = want->more;
    run->books.running++;
    if (want->open) {
        tell_sent(run, errand, piece);
        return cv_open_chunks_begin(run, errand, want, piece, err);
    }
    return start(run, errand, piece, err);
}

enum cleave_status cv_chunks_begin_again(struct cv_exec_run *run,
                                         struct cv_attempt *errand,
                                         const struct cv_retry *again,
                                         struct cleave_error *err)
{
    errand->owner = again->owner;
    errand->chunk = errand->slot.number = again->chunk;
    errand->told = again->told;
    errand->quiet = again->quiet;
    errand->alone = again->alone;
    errand->attempt = again->attempt;
    errand->began_s = again->began_s;
    errand->runs_s = cv_clock_s();
    errand->bound_s = errand->start_s = 0;
    errand->past = again->past;
    errand->opened = errand->closes = false; /* all of it is there */
    errand->due = 0;
    return start(run, errand, &again->piece, err);
}
