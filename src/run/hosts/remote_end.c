/* remote_end.c -- how a piece on another machine ends. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_end.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "run/hosts/remote_host.h"
#include "run/hosts/remote_item.h"
#include "run/hosts/remote_slot.h"
#include "run/input/source_packed.h"
#include "run/slot/slot.h"

/* Whether it is about all that was sent and all that has come, and says what can be; if not,
 * the host is closed for it. */
static bool check_end(struct cv_host *host, const struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    const struct cv_remote *remote = &slot->remote;
    const uint64_t whole =
        remote->packed.on ? cv_slot_whole(&slot->piece) : cv_remote_whole(slot);
    /* Its command has ended before it had all of it; that is for it to decide. */
    const bool cut_short = slot->open.on && !remote->arrived;

    if (!remote->computed && (end->flags & CV_END_STOPPED) != 0)
        return true;
    if (!remote->computed)
        cv_host_accuse(host, "END of a command that has not ended");
    else if (!(cut_short && end->come < remote->sent) &&
             (end->come != remote->sent || end->come_sum != remote->sent_sum))
        cv_host_accuse(host,
                       "%llu bytes of a piece were sent there, and %llu%s have come",
                       (unsigned long long)remote->sent, (unsigned long long)end->come,
                       end->come == remote->sent ? " others" : "");
    else if (cut_short ? end->given > whole : end->given != whole)
        cv_host_accuse(host, "a piece has %llu bytes, and its command was given %llu",
                       (unsigned long long)whole, (unsigned long long)end->given);
    else if (!host->hosts->keeps &&
             (end->output != remote->heard || end->output_sum != remote->output_sum))
        cv_host_accuse(host, "%llu bytes of an output were sent, and %llu%s have come",
                       (unsigned long long)end->output, (unsigned long long)remote->heard,
                       end->output == remote->heard ? " others" : "");
    else
        return true;
    return false;
}

/* It does not see a file: that one and all after it are sent. */
static void send_again(struct cv_host *host, struct cv_slot *slot)
{
    struct cleave_error err;

    if (!host->blind)
        cv_hosts_note(host->hosts,
                      "%s: does not see the files of items, which are sent: %s",
                      host->name, host->fault);
    host->blind = true;
    host->based = false;
    cv_limit_over(slot);
    cv_item_forget(slot);
    cv_remote_drop_store(slot);
    if (slot->stopping) {
        slot->busy = false;
        slot->events->ended(slot->context, slot, CV_SLOT_STOPPED);
    } else if (cv_remote_start(slot, &err) != CLEAVE_OK) {
        slot->events->broke(slot->context, &err);
    }
}

/* How it ended, with its files here. */
static enum cv_slot_end judge_end(struct cv_host *host, struct cv_slot *slot,
                                  uint64_t flags)
{
    if ((flags & CV_END_STOPPED) != 0)
        return CV_SLOT_STOPPED;
    if ((flags & CV_END_TIMED_OUT) != 0)
        return CV_SLOT_TIMED_OUT;
    return flags != 0 || (slot->items != NULL && host->fault[0] != '\0') ? CV_SLOT_FAILED
                                                                         : CV_SLOT_DONE;
}

/* What has come of a piece that is lost: nothing, or, where some has been written, its lines; where
 * it was kept, whoever has it done again needs it as it is. */
static void lose_output(struct cv_slot *slot)
{
    if (cv_slot_passed(slot) == 0)
        cv_remote_drop_store(slot);
    else if (slot->remote.host->hosts->terms.lines)
        cv_chunk_output_keep_lines(slot->store);
}

/* It goes to others, and nobody is to blame. */
static void give_back(struct cv_slot *slot)
{
    slot->remote.at_work = false;
    lose_output(slot);
    slot->fault = "was given back";
    slot->events->ended(slot->context, slot,
                        slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
}

/* It has not been begun, and will not be. */
void cv_remote_take_back(struct cv_host *host, struct cv_slot *slot)
{
    if (!host->noticed) {
        cv_host_accuse(host, "BACK of a host that stays");
        return;
    }
    cv_host_owes(host, slot, false, slot->remote.cutting);
    cv_remote_cut_answered(slot, false);
    cv_item_forget(slot);
    slot->busy = false;
    cv_limit_over(slot);
    give_back(slot);
}

/* What came when its command had ended follows the lines that came before. */
static enum cleave_status write_rest(struct cv_slot *slot, struct cleave_error *err)
{
    unsigned char room[16 * 1024];
    size_t length = 1;

    while (length > 0) {
        const void *bytes = NULL;

        CV_TRY(
            cv_chunk_output_read(slot->store, room, sizeof room, &bytes, &length, err));
        CV_TRY(cv_line_output_take(slot, bytes, length, err));
    }
    return cv_line_output_end(slot, err);
}

static void apply_end(struct cv_host *host, struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    enum cv_slot_end how;
    struct cleave_error err;

    cv_shown(end->fault, strlen(end->fault), host->fault, sizeof host->fault);
    slot->process.exit_code = (int)end->exit_code;
    slot->process.signal = (int)end->signal;
    slot->timed_out = (end->flags & CV_END_TIMED_OUT) != 0;
    if ((end->flags & CV_END_UNSEEN) != 0) {
        send_again(host, slot);
        return;
    }
    if (slot->items != NULL &&
        !cv_item_unpack(slot, end->flags == 0, host->fault, sizeof host->fault)) {
        cv_host_accuse(host, "files that were not asked for, or not all of them");
        return;
    }
    cv_item_forget(slot);
    slot->fault = host->fault[0] != '\0' ? host->fault : NULL;
    slot->remote.compute_s = fmin(end->compute_s, cv_clock_s() - slot->start_s);
    slot->remote.kept = host->hosts->keeps ? end->output : 0;
    slot->remote.hash = end->hash;
    /* A command may end before all of an open piece was there. */
    slot->remote.given = end->given;
    slot->remote.hashed = (host->shares || slot->remote.packed.on) &&
                          end->given == cv_slot_whole(&slot->piece);
    if (slot->open.on && end->after_s > 0)
        slot->open.read_s = fmax(slot->start_s, slot->remote.computed_s - end->after_s);
    cv_host_owes(host, slot, false, slot->remote.cutting);
    cv_remote_cut_answered(slot, false);
    if (slot->by_lines && (end->flags & CV_END_STOPPED) == 0 &&
        write_rest(slot, &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
    slot->busy = false;
    if (!slot->remote.arrived) /* it was open, and some of it may be on its way */
        cv_send_over(slot);
    cv_limit_over(slot);
    if ((end->flags & CV_END_STOPPED) == 0)
        host->tries = 0; /* it is of use */
    how = judge_end(host, slot, end->flags);
    if (how == CV_SLOT_FAILED && host->noticed)
        give_back(slot); /* what has ended the host may have ended its command, too */
    else
        slot->events->ended(slot->context, slot, how);
}

/* The file is damaged, if it cannot be decoded here either: that ends the run as if it were a command of
 * this machine. Else it is the host who cannot. False: it has been told. */
static bool judge_spoiled(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_remote_end *end)
{
    char shown[160];
    struct cleave_error err;

    if (cv_source_try(host->hosts->source, &slot->piece, &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
    else
        cv_host_accuse(host, "a chunk that can be decoded here cannot be there: %s",
                       cv_shown(end->fault, strlen(end->fault), shown, sizeof shown));
    return false;
}

void cv_remote_take_end(struct cv_host *host, struct cv_slot *slot,
                        const unsigned char *payload, size_t length)
{
    struct cv_arena arena;
    struct cv_remote_end end;

    cv_arena_init(&arena);
    if (!cv_unpack_end(payload, length, &arena, &end) ||
        ((end.flags & CV_END_UNSEEN) != 0 && !cv_item_is_shared(slot)) ||
        ((end.flags & CV_END_SPOILED) != 0 &&
         (!slot->remote.packed.on || slot->remote.packed.drawn)))
        cv_host_accuse(host, "END that says what cannot be");
    else if (check_end(host, slot, &end) &&
             ((end.flags & CV_END_SPOILED) == 0 || slot->stopping ||
              judge_spoiled(host, slot, &end)))
        apply_end(host, slot, &end);
    cv_arena_done(&arena);
}

/* --- the host is gone --------------------------------------------------------------------- */

/* Whether its piece has a command, or waits for its turn to have one. */
static bool is_there(const struct cv_slot *slot)
{
    return slot->busy && !slot->remote.computed &&
           (slot->remote.arrived || (slot->open.on && slot->remote.announced));
}

/* Whether the command of its piece is running: there is one for each seat, and the pieces
 * behind it wait for it. */
static bool is_at_work(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote.host->first_slot;

    if (!is_there(slot))
        return false;
    for (; other != NULL; other = other->remote.next_slot)
        if (is_there(other) && other->remote.seat == slot->remote.seat &&
            other->remote.number < slot->remote.number)
            return false;
    return true;
}

void cv_remote_lose(struct cv_host *host)
{
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote.next_slot)
        slot->remote.at_work = !host->leaving && !host->stuck && is_at_work(slot);
    host->nowed = 0;
    memset(host->seats, 0, host->slots * sizeof *host->seats);
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote.next_slot) {
        slot->remote.has_left = false;
        cv_limit_over(slot);
        if (!slot->busy)
            continue;
        cv_send_over(slot);
        lose_output(slot);
        cv_remote_cut_answered(slot, false);
        slot->busy = false;
        cv_item_forget(slot);
        slot->fault = "was on a host that is gone";
        slot->events->ended(slot->context, slot,
                            slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
    }
}
