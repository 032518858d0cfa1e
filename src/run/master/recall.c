/* recall.c -- take back what has not been fed. SPDX-License-Identifier: MIT */
#include "run/master/recall.h"

#include <math.h>

#include "base/fail.h"
#include "run/hosts/hosts.h"
#include "run/master/open_chunks.h"
#include "run/slot/open_slot.h"

static void tell_recalled(struct cv_exec_run *run, const struct cv_attempt *attempt,
                          double units)
{
    cv_event_queue_push(&run->events, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                             .worker = attempt->owner,
                                                             .chunk = attempt->chunk,
                                                             .units = units });
}

/* A piece of which nothing, or not all, is there, and more is wanted than has not been sent, is
 * taken back as a whole. */
static enum cleave_status take_all(struct cv_exec_run *run, struct cv_attempt *attempt,
                                   struct cleave_error *err)
{
    const struct cv_piece piece = attempt->slot.piece;
    const struct cv_pending_order pending = { .chunk = attempt->chunk,
                                              .told = attempt->told };
    struct cv_worker_stats *tally = &run->pool.tallies[attempt->slot.worker];

    tally->taken_back_s = fmax(tally->taken_back_s, cv_remote_sending_s(&attempt->slot));
    cv_remote_forget(&attempt->slot);
    cv_open_chunks_over(run, attempt);
    run->queue.running--;
    CV_TRY(cv_source_put_back(run->queue.source, &piece, err));
    tell_recalled(run, attempt, (double)(piece.end - piece.begin));
    cv_order_queue_complete_empty(&run->queue, attempt->owner, &pending);
    return CLEAVE_OK;
}

/* Part the piece so that up to `units` bytes are behind, but not all. Where there is no room for the command
 * by which the input is looked at, nothing can be taken back. */
static enum cleave_status part(struct cv_source *source, const struct cv_slot *slot,
                               double units, uint64_t from, struct cv_piece *head,
                               struct cv_piece *tail, struct cleave_error *err)
{
    const struct cv_range body = slot->piece.body;
    const uint64_t min = from > body.begin ? from : body.begin + 1;
    const uint64_t max = (uint64_t)fmin(units, (double)(body.end - from));
    const uint64_t at = body.end - max > min ? body.end - max : min;

    const enum cleave_status status =
        cv_source_part(source, &slot->piece, at, head, tail, err);

    if (status != CLEAVE_ERESOURCES)
        return status;
    *head = *tail = slot->piece;
    tail->begin = tail->end;
    return CLEAVE_OK;
}

/* Take back what was not fed or, of another machine, not sent of it, if that is anything. */
static enum cleave_status take_unsent(struct cv_exec_run *run, struct cv_attempt *attempt,
                                      double units, struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cv_piece head, tail;
    enum cleave_status status;
    bool cut;
    double taken = 0;

    cv_slot_hold(slot); /* a thread may be feeding it */
    status = part(run->queue.source, slot, units, cv_slot_fed(slot), &head, &tail, err);
    cut = status == CLEAVE_OK && tail.end > tail.begin && cv_slot_cut(slot, &head);
    cv_slot_go_on(slot);
    CV_TRY(status);
    if (cut) {
        CV_TRY(cv_source_put_back(run->queue.source, &tail, err));
        taken = (double)(tail.end - tail.begin);
    }
    tell_recalled(run, attempt, taken);
    return CLEAVE_OK;
}

/* One that never read would have failed on anything: as much as this is its own, however little it was
 * given at a time, or there would be a failure for each of these sips. */
enum { UNREAD = 4096 };

/* Up to where the command of a slot that is over had been given its piece. */
static uint64_t given_until(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t given = cv_remote_facts(slot).given;

    if (!cv_slot_is_remote(slot)) {
        const uint64_t at = cv_pipe_writer_at(&slot->in.writer, slot->body);
        const uint64_t min = piece->body.begin + UNREAD;

        return slot->open.spawn_s > 0 || at > min ? at : min;
    }
    /* Of one that has not said it, all may have been. */
    return given > header ? piece->body.begin + given - header : piece->body.end;
}

/* What is behind `until` is left again. */
static enum cleave_status put_back_from(struct cv_exec_run *run,
                                        struct cv_attempt *attempt, uint64_t until,
                                        struct cleave_error *err)
{
    struct cv_slot *slot = &attempt->slot;
    struct cv_piece head, tail;

    if (until >= slot->piece.body.end)
        return CLEAVE_OK;
    CV_TRY(part(run->queue.source, slot, (double)(slot->piece.body.end - until), until,
                &head, &tail, err));
    if (tail.end == tail.begin)
        return CLEAVE_OK;
    CV_TRY(cv_source_put_back(run->queue.source, &tail, err));
    slot->piece = head;
    tell_recalled(run, attempt, (double)(tail.end - tail.begin));
    return CLEAVE_OK;
}

enum cleave_status cv_recall_unread(struct cv_exec_run *run, struct cv_attempt *attempt,
                                    struct cleave_error *err)
{
    return put_back_from(run, attempt, given_until(&attempt->slot), err);
}

enum cleave_status cv_recall_untransferred(struct cv_exec_run *run,
                                           struct cv_attempt *attempt,
                                           struct cleave_error *err)
{
    return put_back_from(run, attempt, cv_slot_fed(&attempt->slot), err);
}

void cv_recall_answered(void *context, struct cv_slot *slot, bool done)
{
    struct cv_exec_run *run = context;
    struct cv_attempt *attempt = cv_attempt_of(slot);
    const struct cv_piece tail = attempt->tail;
    const double units = (double)(tail.end - tail.begin);
    enum cleave_status status = CLEAVE_OK;
    struct cleave_error err;

    if (!done && cv_slot_is_open(slot)) { /* it has been fed more meanwhile */
        status = take_unsent(run, attempt, units, &err);
    } else {
        if (done)
            status = cv_source_put_back(run->queue.source, &tail, &err);
        tell_recalled(run, attempt, done ? units : 0);
    }
    if (status != CLEAVE_OK)
        cv_event_queue_fail(&run->events, &err);
}

/* Whether its command may have been given all of it while the host's word is on its way: to
 * take it back would be to kill the command. One that stays for another input is worth more
 * than that. */
static bool may_be_given(const struct cv_exec_run *run, const struct cv_slot *slot)
{
    const struct cv_remote_facts facts = cv_remote_facts(slot);

    return run->stay && cv_is_announced(&facts) &&
           cv_slot_fed(slot) >= slot->piece.body.end;
}

static enum cleave_status recall_remote(struct cv_exec_run *run,
                                        struct cv_attempt *attempt, double units,
                                        struct cleave_error *err)
{
    struct cv_source *source = run->queue.source;
    struct cv_slot *slot = &attempt->slot;
    const struct cv_range body = slot->piece.body;
    const uint64_t fed = cv_slot_fed(slot);
    const double all = (double)(body.end - body.begin);
    const struct cv_remote_facts facts = cv_remote_facts(slot);
    struct cv_piece head, tail;

    if (!cv_has_arrived(&facts) && facts.bound_s <= 0 && !may_be_given(run, slot) &&
        cv_slot_passed(slot) == 0 &&
        (units >= all || (units > (double)(body.end - fed) && units > 0.5 * all)))
        return take_all(run, attempt, err);
    CV_TRY(part(source, slot, units, cv_remote_cut_from(slot), &head, &tail, err));
    if (tail.end > tail.begin &&
        (cv_has_arrived(&facts) || (slot->open.on && head.body.end < fed))) {
        attempt->tail = tail;
        if (cv_remote_ask_cut(slot, &head))
            return CLEAVE_OK; /* the answer will come */
    } else if (tail.end > tail.begin && cv_slot_cut(slot, &head)) {
        CV_TRY(cv_source_put_back(source, &tail, err));
        tell_recalled(run, attempt, (double)(tail.end - tail.begin));
        return CLEAVE_OK;
    }
    tell_recalled(run, attempt, 0);
    return CLEAVE_OK;
}

enum cleave_status cv_recall(struct cv_exec_run *run, uint32_t worker, double units,
                             struct cleave_error *err)
{
    struct cv_attempt *attempt = cv_attempt_table_find_last(&run->table, worker);

    if (attempt == NULL) {
        cv_event_queue_push(&run->events, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                                                 .worker = worker });
        return CLEAVE_OK;
    }
    if (units >= 1 && attempt->slot.piece.end > attempt->slot.piece.begin)
        return cv_slot_is_remote(&attempt->slot) ? recall_remote(run, attempt, units, err)
                                                 : take_unsent(run, attempt, units, err);
    tell_recalled(run, attempt, 0);
    return CLEAVE_OK;
}
