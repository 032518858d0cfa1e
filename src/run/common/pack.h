/* pack.h -- numbers and texts as bytes, for the payload of frames.
 * SPDX-License-Identifier: MIT
 *
 * Numbers have 8 bytes, the lowest first; a text is its length and its bytes. Whoever
 * reads asks once, at the end, whether all was there. */
#ifndef CV_PACK_H
#define CV_PACK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

struct cv_packer {
    unsigned char *bytes; /* owned */
    size_t length, room;
    bool failed; /* memory was short */
};

void cv_pack_done(struct cv_packer *packer);
void cv_pack_number(struct cv_packer *packer, uint64_t value);
void cv_pack_real(struct cv_packer *packer, double value);
/* The bytes alone, without their length. */
void cv_pack_raw(struct cv_packer *packer, const void *bytes, size_t length);
void cv_pack_text(struct cv_packer *packer, const char *text);

struct cv_unpacker {
    const unsigned char *bytes; /* borrowed */
    size_t left;
    bool failed; /* there was less than was asked for, or memory was short */
};

uint64_t cv_unpack_number(struct cv_unpacker *unpacker);
double cv_unpack_real(struct cv_unpacker *unpacker);
/* A copy in the arena; "" when there is none. */
const char *cv_unpack_text(struct cv_unpacker *unpacker, struct cv_arena *arena);
/* How many things of at least `least` bytes follow: no more than there can be. */
size_t cv_unpack_count(struct cv_unpacker *unpacker, size_t min);
/* All was there, and nothing is left. */
bool cv_unpack_good(const struct cv_unpacker *unpacker);

#endif
