/* packed_frame.c -- what a piece is that comes as it lies in a compressed file.
 * SPDX-License-Identifier: MIT */
#include "run/wire/packed_frame.h"

enum { BLOCK = 4 * 8, WORD = 8 };

static uint64_t word(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count > 0)
        value = value << 8 | bytes[--count];
    return value;
}

static void unword(uint64_t value, uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++, value >>= 8)
        bytes[i] = (uint8_t)value;
}

void cv_pack_packed(struct cv_packer *packer, const struct cv_remote_packed *packed)
{
    cv_pack_text(packer, packed->form);
    cv_pack_number(packer, packed->body.begin);
    cv_pack_number(packer, packed->body.end);
    cv_pack_number(packer, packed->in.begin);
    cv_pack_number(packer, packed->in.end);
    cv_pack_number(packer, packed->file);
    cv_pack_number(packer, packed->header);
    cv_pack_number(packer, packed->closing);
    cv_pack_number(packer, packed->out_end);
    cv_pack_number(packer, packed->nblocks);
    for (size_t i = 0; i < packed->nblocks; i++) {
        cv_pack_number(packer, packed->blocks[i].in);
        cv_pack_number(packer, packed->blocks[i].out);
        cv_pack_number(packer, word(packed->blocks[i].head, WORD));
        cv_pack_number(packer,
                       word(packed->blocks[i].head + WORD, CV_PACKED_HEAD - WORD));
    }
}

bool cv_unpack_packed(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_remote_packed *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };
    uint64_t closing;

    out->form = cv_unpack_text(&unpacker, arena);
    out->body.begin = cv_unpack_number(&unpacker);
    out->body.end = cv_unpack_number(&unpacker);
    out->in.begin = cv_unpack_number(&unpacker);
    out->in.end = cv_unpack_number(&unpacker);
    out->file = cv_unpack_number(&unpacker);
    out->header = cv_unpack_number(&unpacker);
    closing = cv_unpack_number(&unpacker);
    out->closing = closing < CV_CLOSINGS ? (enum cv_closing)closing : CV_CLOSING_NONE;
    out->out_end = cv_unpack_number(&unpacker);
    out->nblocks = cv_unpack_count(&unpacker, BLOCK);
    out->blocks = cv_array(arena, out->nblocks, sizeof *out->blocks);
    if (out->blocks == NULL)
        return false;
    for (size_t i = 0; i < out->nblocks; i++) {
        out->blocks[i].in = cv_unpack_number(&unpacker);
        out->blocks[i].out = cv_unpack_number(&unpacker);
        unword(cv_unpack_number(&unpacker), out->blocks[i].head, WORD);
        unword(cv_unpack_number(&unpacker), out->blocks[i].head + WORD,
               CV_PACKED_HEAD - WORD);
    }
    return cv_unpack_good(&unpacker) && closing < CV_CLOSINGS &&
           closing != CV_CLOSING_TEXT && out->body.begin < out->body.end &&
           out->body.end <= out->out_end && out->in.begin < out->in.end &&
           out->in.end <= INT64_MAX && out->out_end <= INT64_MAX;
}

void cv_pack_drawn(struct cv_packer *packer, const struct cv_remote_drawn *drawn)
{
    cv_pack_text(packer, drawn->line);
    cv_pack_text(packer, drawn->name);
    cv_pack_number(packer, drawn->size);
    cv_pack_number(packer, drawn->body.begin);
    cv_pack_number(packer, drawn->body.end);
    cv_pack_number(packer, drawn->closing);
}

bool cv_unpack_drawn(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_remote_drawn *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };
    uint64_t closing;

    out->line = cv_unpack_text(&unpacker, arena);
    out->name = cv_unpack_text(&unpacker, arena);
    out->size = cv_unpack_number(&unpacker);
    out->body.begin = cv_unpack_number(&unpacker);
    out->body.end = cv_unpack_number(&unpacker);
    closing = cv_unpack_number(&unpacker);
    out->closing = closing < CV_CLOSINGS ? (enum cv_closing)closing : CV_CLOSING_NONE;
    return cv_unpack_good(&unpacker) && closing < CV_CLOSINGS &&
           closing != CV_CLOSING_TEXT && out->body.begin <= out->body.end &&
           out->body.end <= out->size && out->size <= INT64_MAX;
}
