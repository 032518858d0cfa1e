/* remote_frames.c -- what hosts say of their pieces and slots. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "run/hosts/remote_end.h"
#include "run/hosts/remote_host.h"
#include "run/hosts/remote_item.h"
#include "run/hosts/remote_open.h"
#include "run/hosts/remote_packed.h"
#include "run/hosts/remote_slot.h"
#include "run/slot/slot.h"

/* --- of pieces ---------------------------------------------------------------------------- */

static void take_got(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    const struct cv_remote *remote = &slot->remote;

    if (head->value > remote->sent || head->value < remote->acked ||
        (last && (remote->queued || head->value != remote->sent ||
                  (slot->open.on && !remote->last_sent)))) {
        cv_host_accuse(host, "GOT of %llu bytes where %llu were sent",
                       (unsigned long long)head->value, (unsigned long long)remote->sent);
        return;
    }
    if (last || head->value > remote->acked)
        host->progress_s = cv_clock_s();
    cv_send_got(slot, head->value);
    if (slot->open.on && remote->bound_s <= 0) {
        slot->remote.bound_s = cv_clock_s();
        cv_limit_set(slot);
    }
    if (!last && slot->open.on && !remote->queued && !remote->waiting &&
        head->value == remote->sent)
        cv_send_over(slot); /* others may use the port until there is more */
    if (!last)
        return;
    slot->remote.arrived = true;
    cv_send_over(slot);
    slot->events->arrived(slot->context, slot);
    slot->remote.arrived_s = cv_clock_s();
    cv_limit_set(slot);
}

/* Bytes of its output, or of what comes behind it. They are kept until its end has said that they
 * are all. */
static void take_output(struct cv_slot *slot, const struct cv_frame_head *head,
                        const unsigned char *payload)
{
    struct cleave_error err;

    slot->remote.output_sum = cv_frame_sum(slot->remote.output_sum, head);
    slot->remote.heard += head->length;
    if ((head->value != 0 && slot->items != NULL
             ? cv_item_take_back(slot, payload, head->length, &err)
             : cv_chunk_output_write(slot->store, payload, head->length, &err)) !=
        CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}

/* While its command runs. They are gone before it is compared what was sent and has come, so
 * each says how many there were before; and one that has been given nothing has nothing to
 * say. */
static void take_lines(struct cv_host *host, struct cv_slot *slot,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cleave_error err;

    if (!(host->hosts->terms.lines || slot->remote.wanted) ||
        (slot->open.on && !slot->open.bound)) {
        cv_host_accuse(host, "LINES that nobody asked for");
        return;
    }
    if (head->value != slot->remote.heard) {
        cv_host_accuse(host, "LINES behind %llu bytes where %llu have come",
                       (unsigned long long)head->value,
                       (unsigned long long)slot->remote.heard);
        return;
    }
    slot->remote.output_sum = cv_frame_sum(slot->remote.output_sum, head);
    slot->remote.heard += head->length;
    slot->remote.early += head->length;
    if ((slot->by_lines ? cv_line_output_take(slot, payload, head->length, &err)
                        : cv_chunk_output_write_lines(slot->store, payload, head->length,
                                                      &err)) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}

/* --- of slots rather than pieces ---------------------------------------------------------- */

/* Any slot that stands for the seat. */
static struct cv_slot *find_seat(const struct cv_host *host, uint32_t seat)
{
    struct cv_slot *slot = host->first_slot;

    while (slot != NULL && slot->remote.seat != seat)
        slot = slot->remote.next_slot;
    return slot;
}

static void take_left(struct cv_host *host, const struct cv_frame_head *head,
                      const unsigned char *payload)
{
    struct cv_slot *slot = find_seat(host, head->peer);
    struct cv_remote_end end;
    struct cv_arena arena;
    char fault[200];

    host->seats[head->peer].left++;
    cv_arena_init(&arena);
    if (!cv_unpack_end(payload, head->length, &arena, &end)) {
        cv_host_accuse(host, "LEFT that says what cannot be");
    } else if (slot != NULL) {
        struct cv_slot shown = *slot; /* it may have a piece already */

        cv_shown(end.fault, strlen(end.fault), fault, sizeof fault);
        shown.process.exit_code = (int)end.exit_code;
        shown.process.signal = (int)end.signal;
        shown.timed_out = (end.flags & CV_END_TIMED_OUT) != 0;
        shown.fault = fault[0] != '\0' ? fault : NULL;
        slot->events->left(slot->context, &shown);
    }
    cv_arena_done(&arena);
}

static void take_seat_word(struct cv_host *host, const struct cv_frame_head *head)
{
    struct cv_host_seat *seat = &host->seats[head->peer];
    struct cv_slot *slot = find_seat(host, head->peer);

    if (head->type == CV_FRAME_SILENT) {
        seat->silent++;
        if (slot != NULL && cv_host_tells(host, CV_NOTE_SILENT))
            slot->events->silent(slot->context, slot);
        return;
    }
    seat->leaving = false;
    for (; slot != NULL; slot = slot->remote.next_slot)
        if (slot->remote.seat == head->peer) {
            slot->remote.has_left = true;
            cv_limit_over(slot);
        }
}

/* --- all of it ---------------------------------------------------------------------------- */

static void take_cut_done(struct cv_slot *slot, const struct cv_frame_head *head)
{
    if (head->value != 0)
        slot->piece = slot->remote.shorter;
    if (head->value != 0 && slot->open.on)
        cv_packed_changed(slot);
    cv_remote_cut_answered(slot, head->value != 0);
    if (slot->busy && slot->open.on && !slot->remote.computed)
        cv_remote_open_cut(slot, head->value != 0);
}

void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload)
{
    if (head->type == CV_FRAME_NOTICE) {
        cv_host_notice(host);
    } else if (head->type == CV_FRAME_LEFT) {
        take_left(host, head, payload);
    } else if (head->type == CV_FRAME_SILENT || head->type == CV_FRAME_HAS_LEFT) {
        take_seat_word(host, head);
    } else if (slot == NULL) { /* it was given up, or is over */
        if (head->type == CV_FRAME_END || head->type == CV_FRAME_BACK)
            host->seats[head->peer].free_s = host->progress_s = cv_clock_s();
        cv_host_paid(host, head);
    } else if (head->type == CV_FRAME_GOT) {
        take_got(host, slot, head);
    } else if (head->type == CV_FRAME_COMPUTED) {
        slot->remote.computed = true;
        slot->remote.computed_s = host->seats[head->peer].free_s = cv_clock_s();
        host->progress_s = slot->remote.computed_s;
    } else if (head->type == CV_FRAME_OUTPUT) {
        host->progress_s = cv_clock_s();
        take_output(slot, head, payload);
    } else if (head->type == CV_FRAME_LINES) {
        host->progress_s = cv_clock_s();
        take_lines(host, slot, head, payload);
    } else if (head->type == CV_FRAME_END) {
        host->progress_s = cv_clock_s();
        cv_remote_take_end(host, slot, payload, head->length);
    } else if (head->type == CV_FRAME_BACK) {
        cv_remote_take_back(host, slot);
    } else if (head->type == CV_FRAME_CUT_DONE) {
        take_cut_done(slot, head);
    } else {
        cv_remote_open_frame(host, slot, head, payload);
    }
}
