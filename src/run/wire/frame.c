/* frame.c -- heads of frames, and what tells a whole one from a damaged one.
 * SPDX-License-Identifier: MIT */
#include "run/wire/frame.h"

#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/text.h"
#include "engine/mpi_bridge.h"

static const unsigned char magic[4] = { 'C', 'L', 'V', 'E' };

/* Where the parts of a head begin, after the magic. The checksum covers all before it. */
enum {
    VERSION_AT = 4,
    TYPE_AT = 5,
    FLAGS_AT = 6,
    LENGTH_AT = 8,
    PEER_AT = 12,
    CHUNK_AT = 16,
    VALUE_AT = 24,
    CHECKSUM_AT = 32,
};

/* The bridge between MPI ranks is not linked with this file, and finds its way by these. */
_Static_assert(CV_FRAME_HEAD == CHECKSUM_AT + 8, "a head ends with its checksum");
_Static_assert((int)CV_BRIDGE_HEAD == CV_FRAME_HEAD, "bytes before the payload");
_Static_assert((int)CV_BRIDGE_LENGTH_AT == LENGTH_AT, "where the length stands");
_Static_assert((int)CV_BRIDGE_PEER_AT == PEER_AT, "where the rank stands");
_Static_assert((int)CV_BRIDGE_MOST == CV_FRAME_MOST, "the longest payload");

static void put(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        out[i] = (unsigned char)(value & 0xFF);
}

static uint64_t get(const unsigned char *in, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | in[i];
    return value;
}

void cv_frame_encode(const struct cv_frame_head *head, unsigned char out[CV_FRAME_HEAD])
{
    memcpy(out, magic, sizeof magic);
    put(out + VERSION_AT, CV_FRAME_VERSION, 1);
    put(out + TYPE_AT, head->type, 1);
    put(out + FLAGS_AT, head->flags, 2);
    put(out + LENGTH_AT, head->length, 4);
    put(out + PEER_AT, head->peer, 4);
    put(out + CHUNK_AT, head->chunk, 8);
    put(out + VALUE_AT, head->value, 8);
    put(out + CHECKSUM_AT, head->checksum, 8);
}

enum cleave_status cv_frame_decode(const unsigned char in[CV_FRAME_HEAD],
                                   struct cv_frame_head *out, struct cleave_error *err)
{
    const uint64_t length = get(in + LENGTH_AT, 4);
    char shown[2 * CV_FRAME_HEAD];

    if (memcmp(in, magic, sizeof magic) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a frame of cleave, got '%s'",
                       cv_shown((const char *)in, CV_FRAME_HEAD, shown, sizeof shown));
    if (in[VERSION_AT] != CV_FRAME_VERSION)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected frames of version %d, got version %d: both sides need "
                       "the same cleave",
                       CV_FRAME_VERSION, in[VERSION_AT]);
    if (length > CV_FRAME_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a frame of at most %d bytes, got one of %llu",
                       CV_FRAME_MOST, (unsigned long long)length);
    *out = (struct cv_frame_head){ .type = in[TYPE_AT],
                                   .flags = (uint16_t)get(in + FLAGS_AT, 2),
                                   .length = (uint32_t)length,
                                   .peer = (uint32_t)get(in + PEER_AT, 4),
                                   .chunk = get(in + CHUNK_AT, 8),
                                   .value = get(in + VALUE_AT, 8),
                                   .checksum = get(in + CHECKSUM_AT, 8) };
    return CLEAVE_OK;
}

uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload)
{
    unsigned char bytes[CV_FRAME_HEAD];
    uint64_t seed;

    cv_frame_encode(head, bytes);
    seed = XXH3_64bits(bytes, CHECKSUM_AT);
    return head->length > 0 ? XXH3_64bits_withSeed(payload, head->length, seed) : seed;
}
