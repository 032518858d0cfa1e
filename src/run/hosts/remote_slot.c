/* remote_slot.c -- a slot of another machine. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_slot.h"

#include "base/fail.h"
#include "run/hosts/remote_host.h"
#include "run/hosts/remote_item.h"
#include "run/hosts/remote_open.h"
#include "run/hosts/remote_packed.h"
#include "run/slot/slot_kind.h"

static void send_word(struct cv_slot *slot, enum cv_frame_type type)
{
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number },
                 NULL, 0);
}

void cv_remote_drop_store(struct cv_slot *slot)
{
    cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

/* --- as a slot ---------------------------------------------------------------------------- */

enum cleave_status cv_remote_start(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote *remote = &slot->remote;

    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    cv_chunk_output_use_blocks(slot->store);
    if (slot->by_lines)
        CV_TRY(cv_line_output_begin(slot, err));
    else if (!slot->open.on || slot->open.bound)
        cv_ordered_output_offer(slot->store, slot->piece.begin, cv_send_want, slot);
    slot->busy = true;
    slot->start_s = cv_clock_s();
    slot->stopping = slot->timed_out = false;
    slot->fault = NULL;
    slot->process.exit_code = -1;
    slot->process.signal = 0;
    remote->sent = remote->acked = remote->sent_sum = remote->output_sum = 0;
    remote->heard = remote->early = 0;
    remote->dropped = remote->shown = remote->fed = remote->drained = 0;
    remote->last_sent = false;
    remote->looks = 0;
    remote->bound_s = remote->burst_s = 0;
    remote->announced = remote->arrived = remote->computed = remote->cutting = false;
    remote->has_left = remote->hashed = remote->wanted = false;
    remote->given = 0;
    cv_packed_begin(slot);
    cv_send_ask(slot);
    if (slot->open.on && remote->host->shares)
        cv_remote_open_announced(slot);
    cv_limit_set(slot);
    cv_limit_link(slot);
    return CLEAVE_OK;
}

static uint64_t fed_remote(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t body = piece->body.end - piece->body.begin;
    const uint64_t all = slot->remote.sent - slot->remote.dropped;
    const uint64_t sent = all > header ? all - header : 0;

    if (slot->remote.arrived || (slot->remote.host->shares && slot->remote.announced))
        return piece->body.end;
    if (slot->remote.packed.on)
        return cv_packed_fed(slot);
    return piece->body.begin + (sent < body ? sent : body);
}

/* What has not been sent is cut off here. */
static bool cut_remote(struct cv_slot *slot, const struct cv_piece *head)
{
    if (fed_remote(slot) > head->body.end || slot->remote.arrived ||
        (slot->remote.announced && !slot->remote.queued && !slot->open.on) ||
        (slot->remote.announced && slot->remote.host->shares))
        return false;
    slot->piece = *head;
    cv_packed_changed(slot);
    if (slot->open.on)
        cv_remote_open_shorter(slot);
    return true;
}

void cv_remote_forget(struct cv_slot *slot)
{
    cv_limit_over(slot);
    cv_item_forget(slot);
    if (!slot->busy)
        return;
    slot->busy = false;
    cv_remote_drop_store(slot);
    if (slot->remote.host->state != CV_HOST_READY)
        return;
    cv_send_over(slot);
    if (!slot->remote.announced)
        return;
    cv_host_owes(slot->remote.host, slot, true, slot->remote.cutting);
    send_word(slot, CV_FRAME_STOP);
}

void cv_remote_cut_answered(struct cv_slot *slot, bool done)
{
    if (!slot->remote.cutting)
        return;
    slot->remote.cutting = false;
    slot->events->cut_answered(slot->context, slot, done);
}

static void stop_remote(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    if (slot->remote.arrived) {
        send_word(slot, CV_FRAME_STOP);
        slot->remote.stopped_s = cv_clock_s();
        cv_limit_set(slot);
        return;
    }
    cv_remote_forget(slot);
    cv_remote_cut_answered(slot, false);
    slot->events->ended(slot->context, slot, CV_SLOT_STOPPED);
}

/* Only a command that stays has to be asked. */
static bool leave_remote(struct cv_slot *slot)
{
    struct cv_remote *remote = &slot->remote;
    struct cv_host_seat *seat = &remote->host->seats[remote->seat];

    if (slot->busy)
        return false;
    if (remote->host->state != CV_HOST_READY || remote->has_left || remote->number == 0 ||
        !remote->host->hosts->terms.persistent)
        return true;
    if (!seat->leaving) {
        send_word(slot, CV_FRAME_LEAVE);
        remote->stopped_s = cv_clock_s();
        seat->leaving = true;
        cv_limit_set(slot);
    }
    return false;
}

static const struct cv_slot_kind remote_kind = {
    .start = cv_remote_start,
    .fed = fed_remote,
    .cut = cut_remote,
    .stop = stop_remote,
    .leave = leave_remote,
    .done = cv_remote_forget,
    .is_open = cv_remote_is_open,
    .extend = cv_remote_extend,
    .shut = cv_remote_shut,
    .travels = true,
};

void cv_remote_init(struct cv_slot *slot, struct cv_host *host, uint32_t seat)
{
    slot->kind = &remote_kind;
    slot->remote = (struct cv_remote){ .host = host, .seat = seat };
    slot->remote.next_slot = host->first_slot;
    host->first_slot = slot;
}

bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    if (!slot->busy || slot->remote.cutting || slot->remote.computed ||
        head->closing != CV_CLOSING_NONE || /* that is behind what would be cut off */
        (!slot->remote.arrived && (!slot->open.on || !slot->remote.announced)))
        return false;
    cv_pack_number(&packer, head->mate_fd >= 0 ? head->mate.end - head->mate.begin : 0);
    if (packer.failed)
        return false;
    slot->remote.cutting = true;
    slot->remote.shorter = *head;
    if (slot->open.on) /* what is sent meanwhile would come behind the cut */
        cv_send_pause(slot);
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_CUT,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number,
                                          .value = head->body.end - head->body.begin },
                 packer.bytes, packer.length);
    cv_pack_done(&packer);
    return true;
}
