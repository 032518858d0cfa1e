/* remote_slot.c -- a slot of another machine. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_slot.h"

#include <stdio.h>

#include "base/fail.h"
#include "run/hosts/remote_host.h"
#include "run/slot/slot_kind.h"

static void send_word(struct cv_slot *slot, enum cv_frame_type type)
{
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number },
                 NULL, 0);
}

static void drop_store(struct cv_slot *slot)
{
    cv_store_drop(slot->store);
    slot->store = NULL;
}

/* --- as a slot ---------------------------------------------------------------------------- */

static enum cleave_status start_remote(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote *remote = &slot->remote;

    CV_TRY(cv_store_open(slot->gather, &slot->store, err));
    cv_store_use_blocks(slot->store);
    slot->busy = true;
    slot->start_s = cv_clock_s();
    slot->stopping = slot->timed_out = false;
    slot->fault = NULL;
    slot->process.exit_code = -1;
    slot->process.signal = 0;
    remote->number = remote->host->numbered++;
    remote->sent = remote->acked = 0;
    remote->announced = remote->arrived = remote->computed = remote->cutting = false;
    remote->leaving = remote->has_left = remote->hashed = false;
    cv_send_ask(slot);
    return CLEAVE_OK;
}

static uint64_t fed_remote(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t body = piece->body.end - piece->body.begin;
    const uint64_t sent = slot->remote.sent > header ? slot->remote.sent - header : 0;

    if (slot->remote.arrived || (slot->remote.host->shares && slot->remote.announced))
        return piece->body.end;
    return piece->body.begin + (sent < body ? sent : body);
}

/* What has not been sent is cut off here. */
static bool cut_remote(struct cv_slot *slot, const struct cv_piece *head)
{
    if (fed_remote(slot) > head->body.end || slot->remote.arrived ||
        (slot->remote.announced && !slot->remote.queued) ||
        (slot->remote.announced && slot->remote.host->shares))
        return false;
    slot->piece = *head;
    return true;
}

void cv_remote_forget(struct cv_slot *slot)
{
    if (!slot->busy)
        return;
    slot->busy = false;
    drop_store(slot);
    if (slot->remote.host->state != CV_HOST_READY)
        return;
    cv_send_over(slot);
    if (slot->remote.announced)
        send_word(slot, CV_FRAME_STOP);
}

static void stop_remote(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    if (slot->remote.arrived) {
        send_word(slot, CV_FRAME_STOP);
        return;
    }
    cv_remote_forget(slot);
    slot->ended(slot->context, slot, CV_SLOT_STOPPED);
}

/* Only a command that stays has to be asked. */
static bool leave_remote(struct cv_slot *slot)
{
    struct cv_remote *remote = &slot->remote;

    if (slot->busy)
        return false;
    if (remote->host->state != CV_HOST_READY || remote->has_left || remote->number == 0 ||
        !remote->host->hosts->terms.persistent)
        return true;
    if (!remote->leaving)
        send_word(slot, CV_FRAME_LEAVE);
    remote->leaving = true;
    return false;
}

static const struct cv_slot_kind remote_kind = {
    .start = start_remote,
    .fed = fed_remote,
    .cut = cut_remote,
    .stop = stop_remote,
    .leave = leave_remote,
    .done = cv_remote_forget,
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

    if (!slot->busy || slot->remote.cutting || !slot->remote.arrived ||
        slot->remote.computed)
        return false;
    cv_pack_number(&packer, head->mate_fd >= 0 ? head->mate.end - head->mate.begin : 0);
    if (packer.failed)
        return false;
    slot->remote.cutting = true;
    slot->remote.shorter = *head;
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_CUT,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number,
                                          .value = head->body.end - head->body.begin },
                 packer.bytes, packer.length);
    cv_pack_done(&packer);
    return true;
}

/* --- what is heard ------------------------------------------------------------------------ */

static struct cv_slot *find_slot(const struct cv_host *host,
                                 const struct cv_frame_head *head)
{
    struct cv_slot *slot = host->first_slot;

    while (slot != NULL && (!slot->busy || slot->remote.number != head->chunk ||
                            slot->remote.seat != head->peer))
        slot = slot->remote.next_slot;
    return slot;
}

static void answer_cut(struct cv_slot *slot, bool done)
{
    if (!slot->remote.cutting)
        return;
    slot->remote.cutting = false;
    slot->cut_answered(slot->context, slot, done);
}

static void nonsense(struct cv_host *host, const char *what)
{
    struct cleave_error err;

    cv_fail(&err, CLEAVE_EINPUT, "%s", what);
    cv_host_fail(host, &err);
}

static void take_end(struct cv_host *host, struct cv_slot *slot,
                     const unsigned char *payload, size_t length)
{
    struct cv_arena arena;
    struct cv_remote_end end;
    bool good;

    cv_arena_init(&arena);
    good = cv_unpack_end(payload, length, &arena, &end);
    if (good) {
        snprintf(host->fault, sizeof host->fault, "%s", end.fault);
        good = (end.flags &
                ~(uint64_t)(CV_END_TIMED_OUT | CV_END_STOPPED | CV_END_FAILED)) == 0 &&
               (end.flags != 0 ||
                ((host->hosts->keeps || end.output == cv_store_size(slot->store)) &&
                 slot->remote.arrived));
    }
    cv_arena_done(&arena);
    if (!good) {
        nonsense(host, "expected the end of a piece, got something else");
        return;
    }
    slot->process.exit_code = (int)end.exit_code;
    slot->process.signal = (int)end.signal;
    slot->timed_out = (end.flags & CV_END_TIMED_OUT) != 0;
    slot->fault = host->fault[0] != '\0' ? host->fault : NULL;
    slot->remote.compute_s = end.compute_s;
    slot->remote.kept = host->hosts->keeps ? end.output : 0;
    slot->remote.hash = end.hash;
    slot->remote.hashed = host->shares;
    if (!slot->remote.arrived)
        cv_send_over(slot);
    answer_cut(slot, false);
    slot->busy = false;
    slot->ended(slot->context, slot,
                (end.flags & CV_END_STOPPED) != 0     ? CV_SLOT_STOPPED
                : (end.flags & CV_END_TIMED_OUT) != 0 ? CV_SLOT_TIMED_OUT
                : (end.flags & CV_END_FAILED) != 0    ? CV_SLOT_FAILED
                                                      : CV_SLOT_DONE);
}

static void take_got(struct cv_slot *slot, const struct cv_frame_head *head)
{
    cv_send_got(slot, head->value);
    if ((head->flags & CV_FRAME_LAST) == 0 || slot->remote.arrived)
        return;
    slot->remote.arrived = true;
    cv_send_over(slot);
    slot->arrived(slot->context, slot);
    slot->remote.arrived_s = cv_clock_s();
}

/* About a slot of the host rather than a piece. */
static bool take_slot_word(struct cv_host *host, const struct cv_frame_head *head,
                           const unsigned char *payload)
{
    struct cv_slot *slot = host->first_slot;
    struct cv_remote_end end;
    struct cv_arena arena;

    if (head->type != CV_FRAME_LEFT && head->type != CV_FRAME_HAS_LEFT &&
        head->type != CV_FRAME_SILENT)
        return false;
    for (; slot != NULL; slot = slot->remote.next_slot)
        if (slot->remote.seat == head->peer) {
            if (head->type == CV_FRAME_HAS_LEFT)
                slot->remote.has_left = true;
            else
                break;
        }
    if (slot != NULL && head->type == CV_FRAME_SILENT)
        slot->silent(slot->context, slot);
    if (slot == NULL || head->type != CV_FRAME_LEFT)
        return true;
    cv_arena_init(&arena);
    if (cv_unpack_end(payload, head->length, &arena, &end)) {
        struct cv_slot shown = *slot; /* it may have a piece already */

        shown.process.exit_code = (int)end.exit_code;
        shown.process.signal = (int)end.signal;
        shown.timed_out = (end.flags & CV_END_TIMED_OUT) != 0;
        shown.fault = end.fault[0] != '\0' ? end.fault : NULL;
        slot->left(slot->context, &shown);
    }
    cv_arena_done(&arena);
    return true;
}

void cv_remote_frame(struct cv_host *host, const struct cv_frame_head *head,
                     const unsigned char *payload)
{
    struct cv_slot *slot;
    struct cleave_error err;

    if (take_slot_word(host, head, payload))
        return;
    slot = find_slot(host, head);
    if (head->type == CV_FRAME_GOT && slot != NULL) {
        take_got(slot, head);
    } else if (head->type == CV_FRAME_COMPUTED && slot != NULL) {
        slot->remote.computed = true;
        slot->remote.computed_s = cv_clock_s();
    } else if (head->type == CV_FRAME_OUTPUT && slot != NULL) {
        if (cv_store_write(slot->store, payload, head->length, &err) != CLEAVE_OK)
            slot->broke(slot->context, &err);
    } else if (head->type == CV_FRAME_END && slot != NULL) {
        take_end(host, slot, payload, head->length);
    } else if (head->type == CV_FRAME_CUT_DONE && slot != NULL) {
        if (head->value != 0)
            slot->piece = slot->remote.shorter;
        answer_cut(slot, head->value != 0);
    } else if (head->type < CV_FRAME_GOT || head->type > CV_FRAME_CUT_DONE) {
        nonsense(host, "got a frame that is not expected here");
    } /* else it is about a piece that was given up */
}

void cv_remote_lose(struct cv_host *host)
{
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote.next_slot) {
        slot->remote.leaving = slot->remote.has_left = false;
        if (!slot->busy)
            continue;
        cv_send_over(slot);
        drop_store(slot);
        answer_cut(slot, false);
        slot->busy = false;
        slot->fault = "was on a host that is gone";
        slot->ended(slot->context, slot, slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
    }
}
