/* open_slot.c -- a command whose piece may grow. SPDX-License-Identifier: MIT */
#include "run/slot/open_slot.h"

#include <time.h>

#include "base/fail.h"
#include "run/slot/slot_kind.h"

/* --- its reader --------------------------------------------------------------------------- */

static void began(void *context)
{
    struct cv_slot *slot = context;

    slot->open.spawn_s = slot->start_s;
    slot->began(slot->context, slot);
}

static void broke(void *context, const struct cleave_error *err)
{
    struct cv_slot *slot = context;

    slot->broke(slot->context, err);
}

/* It waits for more no longer. */
static void end_wait(struct cv_slot *slot)
{
    if (slot->open.dry_s > 0)
        slot->open.idle_s += cv_clock_s() - slot->open.dry_s;
    slot->open.dry_s = 0;
}

/* Nothing of it is left to be read or, if not `read`, nobody who would: then the command does
 * without, and is waited for. */
static void run_dry(struct cv_slot *slot, bool read)
{
    if (!slot->open.more && read)
        slot->open.read_s = cv_clock_s();
    if (!slot->open.more || !read || slot->exited) {
        cv_pipe_feeder_close(&slot->in);
        slot->kind->check_over(slot);
        return;
    }
    slot->open.dry_s = cv_clock_s();
    slot->drained(slot->context, slot);
}

static void emptied(void *context, bool read)
{
    run_dry(context, read);
}

void cv_open_fed(struct cv_slot *slot, struct cv_pipe_feeder *feeder)
{
    struct cleave_error err;

    if (feeder == &slot->mate) {
        if (!slot->open.more || slot->exited || feeder->refused) {
            cv_pipe_feeder_close(feeder);
            slot->kind->check_over(slot);
        }
        return;
    }
    if (feeder->refused || slot->exited)
        run_dry(slot, false);
    else if (cv_read_monitor_wait(&feeder->drain, &err) != CLEAVE_OK)
        broke(slot, &err);
}

/* Its command has bytes to read from now on. */
static enum cleave_status listen(struct cv_slot *slot, struct cleave_error *err)
{
    CV_TRY(cv_slot_limit(slot, err));
    slot->in.drain = (struct cv_read_monitor){ .poller = slot->poller,
                                               .writer = &slot->in.writer,
                                               .began = began,
                                               .empty = emptied,
                                               .broke = broke,
                                               .context = slot };
    return cv_read_monitor_begin(&slot->in.drain, slot->start_s, err);
}

enum cleave_status cv_open_watch(struct cv_slot *slot, struct cleave_error *err)
{
    if (!slot->open.bound)
        return CLEAVE_OK;
    CV_TRY(listen(slot, err));
    return slot->in.feeding ? CLEAVE_OK : cv_read_monitor_wait(&slot->in.drain, err);
}

/* Whoever reads on in its place is given what there is, and no more. */
void cv_open_ended(struct cv_slot *slot)
{
    if (!slot->in.feeding)
        cv_pipe_feeder_close(&slot->in);
    if (!slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
}

bool cv_open_is_open(const struct cv_slot *slot)
{
    return slot->in.fd >= 0 && !slot->exited;
}

enum cleave_status cv_open_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err)
{
    struct cv_part parts[CV_SLOT_PARTS], mates[1];
    size_t count, nmates;

    slot->piece = *longer;
    count = cv_slot_parts(slot, parts);
    nmates = cv_slot_mate_parts(slot, mates);
    if (!slot->open.bound) {
        CV_TRY(listen(slot, err));
        cv_ordered_output_offer(slot->store, slot->piece.begin);
    }
    slot->open.bound = true;
    if (slot->mate.fd >= 0)
        CV_TRY(cv_pipe_feeder_grow(&slot->mate, mates, nmates, err));
    return cv_pipe_feeder_grow(&slot->in, parts, count, err);
}

void cv_open_shut(struct cv_slot *slot)
{
    if (!slot->open.bound) {
        slot->kind->stop(slot);
        return;
    }
    if (!slot->mate.feeding)
        cv_pipe_feeder_close(&slot->mate);
    if (slot->in.fd < 0)
        slot->kind->check_over(slot);
    else if (!slot->in.feeding && !slot->in.drain.waits)
        run_dry(slot, true);
}

/* --- what users call ---------------------------------------------------------------------- */

enum cleave_status cv_slot_open(struct cv_slot *slot, const struct cv_piece *piece,
                                struct cleave_error *err)
{
    slot->piece = *piece;
    slot->open = (struct cv_open_slot){ .on = true,
                                        .more = true,
                                        .bound = piece->body.end > piece->body.begin };
    return slot->kind->start(slot, err);
}

bool cv_slot_is_open(const struct cv_slot *slot)
{
    return slot->busy && slot->open.more && !slot->stopping && !slot->timed_out &&
           slot->kind->is_open(slot);
}

enum cleave_status cv_slot_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err)
{
    end_wait(slot);
    return slot->kind->extend(slot, longer, err);
}

void cv_slot_close_input(struct cv_slot *slot)
{
    if (!slot->busy || !slot->open.more)
        return;
    slot->open.more = false;
    end_wait(slot);
    slot->kind->shut(slot);
}

static double processor_time(const struct cv_slot *slot)
{
    struct timespec used;
    clockid_t clock;

    if (slot->process.pid <= 0 || slot->exited ||
        clock_getcpuclockid(slot->process.pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

struct cv_slot_seen cv_slot_look(const struct cv_slot *slot)
{
    struct cv_slot_seen seen = { .read = 0 };
    uint64_t unread;

    if (!slot->busy)
        return seen;
    cv_slot_hold(slot);
    seen.read = slot->kind->fed(slot) - slot->piece.body.begin;
    unread = slot->in.fd >= 0 ? cv_pipe_writer_unread(&slot->in.writer) : 0;
    cv_slot_go_on(slot);
    seen.read = seen.read > unread ? seen.read - unread : 0;
    seen.output = cv_slot_came(slot);
    seen.cpu_s = processor_time(slot);
    return seen;
}
