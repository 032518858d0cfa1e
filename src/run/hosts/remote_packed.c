/* remote_packed.c -- pieces that are decoded by the machine that computes them.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/remote_packed.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/hosts/remote_host.h"
#include "run/input/source.h"
#include "run/wire/packed_frame.h"

static struct cv_source *source_of(const struct cv_slot *slot)
{
    return slot->remote.host->hosts->source;
}

static uint64_t header_of(const struct cv_slot *slot)
{
    return slot->piece.header.end - slot->piece.header.begin;
}

/* How far the file has been sent. */
static uint64_t sent_to(const struct cv_slot *slot)
{
    const uint64_t header = header_of(slot), sent = slot->remote.sent;

    return slot->remote.packed.in.begin + (sent > header ? sent - header : 0);
}

/* The bytes of the file that the host needs. Of one that it sees it has them all. */
static struct cv_range cover(const struct cv_slot *slot)
{
    return slot->remote.packed.seen ? cv_source_span(source_of(slot), &slot->piece)
                                    : cv_source_cover(source_of(slot), &slot->piece);
}

/* A command that stays is given what the master has decoded. What would not be less is sent as it is; of an
 * open piece that is not known yet. */
void cv_packed_begin(struct cv_slot *slot)
{
    const struct cv_host *host = slot->remote.host;
    const struct cv_piece *piece = &slot->piece;
    struct cv_remote_packing *packed = &slot->remote.packed;
    const char *name;
    uint64_t size;

    *packed = (struct cv_remote_packing){ .on = false };
    if (slot->items != NULL || host->shares || host->hosts->terms.persistent ||
        source_of(slot) == NULL || piece->body.begin == piece->body.end)
        return;
    packed->drawn =
        !slot->open.on && cv_source_fetches(source_of(slot), piece, &name, &size) != NULL;
    packed->on = packed->drawn;
    if (packed->drawn ||
        !(host->sees ? cv_source_unpacked : cv_source_packs)(source_of(slot), piece))
        return;
    packed->seen = host->sees;
    packed->in = cover(slot);
    packed->next = cv_source_first_block(source_of(slot), piece);
    packed->on = slot->open.on || packed->seen ||
                 packed->in.end - packed->in.begin < piece->body.end - piece->body.begin;
}

void cv_packed_changed(struct cv_slot *slot)
{
    struct cv_remote_packing *packed = &slot->remote.packed;
    const uint64_t sent = sent_to(slot);

    packed->told = false;
    if (!packed->on || packed->drawn)
        return;
    packed->in.end = cover(slot).end;
    if (packed->in.end < sent && !packed->seen)
        packed->in.end = sent;
}

static enum cleave_status send_told(struct cv_slot *slot, uint8_t type,
                                    struct cv_packer *packer, struct cleave_error *err)
{
    if (!packer->failed)
        cv_link_send(&slot->remote.host->link,
                     &(struct cv_frame_head){ .type = type,
                                              .peer = slot->remote.seat,
                                              .chunk = slot->remote.number },
                     packer->bytes, packer->length);
    cv_pack_done(packer);
    return packer->failed ? cv_fail_memory(err, "a frame") : CLEAVE_OK;
}

static enum cleave_status tell_drawn(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote_drawn told = { .body = slot->piece.body,
                                    .closing = slot->piece.closing };
    struct cv_packer packer = { NULL, 0, 0, false };

    told.line = cv_source_fetches(source_of(slot), &slot->piece, &told.name, &told.size);
    cv_pack_drawn(&packer, &told);
    slot->remote.packed.told = true;
    return send_told(slot, CV_FRAME_DRAWN, &packer, err);
}

/* Blocks that are not all of them may be told first, in frames that say of the end what they
 * know. */
enum cleave_status cv_packed_tell(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote_packing *packed = &slot->remote.packed;
    const struct cv_piece *piece = &slot->piece;
    struct cv_packed_block *blocks;
    enum cleave_status status = CLEAVE_OK;

    if (!packed->on || packed->told)
        return CLEAVE_OK;
    if (packed->drawn)
        return tell_drawn(slot, err);
    blocks = calloc(CV_PACKED_BLOCKS, sizeof *blocks);
    if (blocks == NULL)
        return cv_fail_memory(err, "a frame");
    while (status == CLEAVE_OK && !packed->told) {
        struct cv_remote_packed told = { .form = cv_source_form(source_of(slot), piece),
                                         .body = piece->body,
                                         .in = packed->in,
                                         .file = packed->seen ? piece->file + 1 : 0,
                                         .header = packed->seen ? header_of(slot) : 0,
                                         .closing = piece->closing,
                                         .blocks = blocks };
        struct cv_packer packer = { NULL, 0, 0, false };

        status =
            cv_source_blocks(source_of(slot), piece, packed->in.end, &packed->next,
                             blocks, CV_PACKED_BLOCKS, &told.nblocks, &told.out_end, err);
        packed->told = told.nblocks < CV_PACKED_BLOCKS;
        if (told.body.end > told.out_end) {
            told.body.end = told.out_end;
            told.closing = CV_CLOSING_NONE;
        }
        if (status == CLEAVE_OK) {
            cv_pack_packed(&packer, &told);
            status = send_told(slot, CV_FRAME_PACKED, &packer, err);
        }
    }
    free(blocks);
    return status;
}

uint64_t cv_packed_size(const struct cv_slot *slot)
{
    const struct cv_range in = slot->remote.packed.in;

    return header_of(slot) + (slot->remote.packed.seen ? 0 : in.end - in.begin);
}

ssize_t cv_packed_read(const struct cv_slot *slot, void *to, size_t max)
{
    const uint64_t at = sent_to(slot), left = slot->remote.packed.in.end - at;

    if (slot->remote.packed.seen || left == 0) /* of what is fetched there is no file */
        return 0;
    return pread(slot->piece.fd, to, left < max ? (size_t)left : max, (off_t)at);
}

uint64_t cv_packed_there(const struct cv_slot *slot)
{
    const struct cv_range body = slot->piece.body;
    const uint64_t header = header_of(slot);
    uint64_t whole;

    if (slot->remote.sent < header)
        return slot->remote.sent;
    if (slot->remote.sent >= cv_packed_size(slot))
        return cv_slot_whole(&slot->piece);
    whole = cv_source_unpacks(source_of(slot), &slot->piece, sent_to(slot));
    whole = whole < body.begin ? body.begin : whole > body.end ? body.end : whole;
    return header + (whole - body.begin);
}

uint64_t cv_packed_fed(const struct cv_slot *slot)
{
    const struct cv_range body = slot->piece.body;
    uint64_t touched;

    if (slot->remote.packed.seen) /* as far as it was told */
        return slot->open.on && slot->remote.announced ? body.end : body.begin;
    if (sent_to(slot) <= slot->remote.packed.in.begin)
        return body.begin;
    touched = cv_source_touches(source_of(slot), &slot->piece, sent_to(slot));
    return touched < body.begin ? body.begin : touched < body.end ? touched : body.end;
}

uint64_t cv_packed_units(const struct cv_slot *slot, uint64_t bytes)
{
    const struct cv_range in = slot->remote.packed.in, body = slot->piece.body;
    const double part = (double)bytes / (double)(in.end - in.begin);

    return !slot->remote.packed.on || slot->remote.packed.drawn ||
                   slot->remote.packed.seen
               ? bytes
               : (uint64_t)(part * (double)(body.end - body.begin));
}
