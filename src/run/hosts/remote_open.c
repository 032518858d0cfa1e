/* remote_open.c -- open pieces of slots of other machines. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_open.h"

#include <math.h>

#include "run/hosts/remote_host.h"
#include "run/hosts/remote_packed.h"
#include "run/slot/open_slot.h"
#include "run/slot/slot_kind.h"
#include "run/wire/frame.h"

/* Bytes of the piece, as it is now, that the host has or is about to have. */
static uint64_t position(const struct cv_slot *slot)
{
    return slot->remote.host->shares ? slot->remote.shown
           : slot->remote.packed.on  ? cv_packed_there(slot)
                                     : slot->remote.sent - slot->remote.dropped;
}

uint64_t cv_remote_open_fed(const struct cv_slot *slot)
{
    const struct cv_range header = slot->piece.header, body = slot->piece.body;
    const uint64_t before = header.end - header.begin, all = body.end - body.begin;
    const uint64_t fed = slot->remote.fed > before ? slot->remote.fed - before : 0;

    return fed < all ? fed : all;
}

bool cv_remote_is_open(const struct cv_slot *slot)
{
    return !slot->remote.computed && !slot->remote.cutting &&
           slot->remote.host->state == CV_HOST_READY;
}

/* --- what is sent of it ------------------------------------------------------------------- */

/* That was all of it. */
static void send_last(struct cv_slot *slot)
{
    struct cv_remote *remote = &slot->remote;
    struct cv_frame_head head = { .type = CV_FRAME_DATA,
                                  .flags = CV_FRAME_LAST,
                                  .peer = remote->seat,
                                  .chunk = remote->number,
                                  .value = CV_PART_BODY };

    head.checksum = cv_frame_checksum(&head, "");
    remote->last_sent = true;
    remote->sent_sum = cv_frame_sum(remote->sent_sum, &head);
    cv_link_send_summed(&remote->host->link, &head, "");
}

/* The host reads it itself, and is told how far. */
static void note_shown(struct cv_slot *slot)
{
    slot->remote.shown = cv_slot_whole(&slot->piece);
    if (slot->remote.bound_s <= 0)
        slot->remote.bound_s = cv_clock_s();
}

static void show(struct cv_slot *slot)
{
    note_shown(slot);
    slot->remote.last_sent = !slot->open.more;
    cv_send_piece(slot, CV_FRAME_MORE, slot->open.more ? 0 : CV_FRAME_LAST);
}

/* What is left to be sent of it goes on, or the word that nothing is. */
static void go_on(struct cv_slot *slot)
{
    const struct cv_remote *remote = &slot->remote;
    const bool more = position(slot) < cv_slot_whole(&slot->piece);
    struct cleave_error err;

    if (remote->queued || remote->waiting || remote->cutting || remote->last_sent ||
        !remote->announced || !slot->open.bound)
        return;
    /* Of what the host has it may feed more, which makes room for the rest. */
    if (cv_packed_tell(slot, &err) != CLEAVE_OK) {
        slot->broke(slot->context, &err);
        return;
    }
    if (remote->packed.seen && remote->bound_s <= 0)
        slot->remote.bound_s = cv_clock_s();
    if (remote->host->shares) {
        if (more || !slot->open.more)
            show(slot);
    } else if (more && cv_send_has_room(slot)) {
        cv_send_ask(slot);
    } else if (!more && !slot->open.more) {
        send_last(slot);
    }
}

void cv_remote_open_announced(struct cv_slot *slot)
{
    if (slot->open.bound)
        note_shown(slot);
}

enum cleave_status cv_remote_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                    struct cleave_error *err)
{
    (void)err;
    slot->piece = *longer;
    if (!slot->open.bound) {
        cv_packed_begin(slot);
        if (!slot->by_lines)
            cv_ordered_output_offer_away(slot->store, slot->piece.begin, cv_send_want,
                                         slot);
    } else
        cv_packed_changed(slot);
    slot->open.bound = true;
    go_on(slot);
    return CLEAVE_OK;
}

void cv_remote_shut(struct cv_slot *slot)
{
    if (slot->open.bound)
        go_on(slot);
    else
        slot->kind->stop(slot);
}

/* --- less of it --------------------------------------------------------------------------- */

/* It is news only if nothing is on its way, or to be sent. */
static void check_dry(struct cv_slot *slot)
{
    const struct cv_remote *remote = &slot->remote;

    if (remote->drained == 0 || remote->drained < position(slot) ||
        position(slot) < cv_slot_whole(&slot->piece) || slot->open.dry_s > 0 ||
        !slot->open.more || slot->stopping)
        return;
    slot->open.dry_s = cv_clock_s();
    slot->drained(slot->context, slot);
}

void cv_remote_open_cut(struct cv_slot *slot, bool done)
{
    const uint64_t whole = cv_slot_whole(&slot->piece);

    if (done && slot->remote.host->shares)
        slot->remote.shown = whole;
    else if (done && !slot->remote.packed.on && position(slot) > whole)
        slot->remote.dropped = slot->remote.sent - whole;
    go_on(slot);
}

void cv_remote_open_shorter(struct cv_slot *slot)
{
    if (!slot->remote.announced || position(slot) < cv_slot_whole(&slot->piece))
        return;
    cv_send_pause(slot);
    go_on(slot);
    check_dry(slot);
}

/* --- what is heard of it ------------------------------------------------------------------ */

void cv_remote_look(struct cv_slot *slot)
{
    slot->remote.looks++;
    if (slot->remote.announced)
        cv_link_send(&slot->remote.host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_LOOK,
                                              .peer = slot->remote.seat,
                                              .chunk = slot->remote.number },
                     NULL, 0);
    else /* nobody has heard of it over there */
        slot->seen(slot->context, slot, &(struct cv_slot_seen){ .read = 0 });
}

static void take_started(struct cv_host *host, struct cv_slot *slot, uint64_t micros)
{
    if (slot->open.spawn_s > 0 || !slot->open.bound) {
        cv_host_accuse(host,
                       "STARTED of a command that had begun, or has nothing to read");
        return;
    }
    slot->open.spawn_s = fmax(slot->start_s, cv_clock_s() - 1e-6 * (double)micros);
    slot->began(slot->context, slot);
}

/* How much of it has been fed: no less than before, and no more than there is. */
static bool take_fed(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head)
{
    struct cv_remote *remote = &slot->remote;

    if (head->value > position(slot) || head->value < remote->fed) {
        cv_host_accuse(host, "%s of %llu bytes where %llu were sent",
                       head->type == CV_FRAME_FED ? "FED" : "DRAINED",
                       (unsigned long long)head->value,
                       (unsigned long long)position(slot));
        return false;
    }
    remote->fed = head->value;
    return true;
}

static void take_drained(struct cv_host *host, struct cv_slot *slot,
                         const struct cv_frame_head *head)
{
    if (slot->open.spawn_s <= 0) {
        cv_host_accuse(host, "DRAINED of a command that has not begun to read");
        return;
    }
    if (!take_fed(host, slot, head))
        return;
    slot->remote.drained = head->value;
    go_on(slot);
    check_dry(slot);
}

static void take_seen(struct cv_host *host, struct cv_slot *slot,
                      const unsigned char *payload, size_t length)
{
    struct cv_remote_seen seen;

    if (!cv_unpack_seen(payload, length, &seen) || slot->remote.looks == 0 ||
        seen.read > position(slot)) {
        cv_host_accuse(host, "SEEN that nobody asked for, or that cannot be");
        return;
    }
    slot->seen(slot->context, slot,
               &(struct cv_slot_seen){
                   .read = seen.read, .output = seen.output, .cpu_s = seen.cpu_s });
}

void cv_remote_open_frame(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_frame_head *head, const unsigned char *payload)
{
    host->progress_s = cv_clock_s();
    if (!slot->open.on) {
        cv_host_accuse(host, "%s of a piece that was not open",
                       cv_frame_name(head->type));
    } else if (head->type == CV_FRAME_STARTED) {
        take_started(host, slot, head->value);
    } else if (head->type == CV_FRAME_DRAINED) {
        take_drained(host, slot, head);
    } else if (head->type == CV_FRAME_SEEN) {
        take_seen(host, slot, payload, head->length);
    } else if (take_fed(host, slot, head)) {
        go_on(slot);
    }
}
