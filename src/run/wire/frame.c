/* frame.c -- heads of frames, and what tells a whole one from a damaged one.
 * SPDX-License-Identifier: MIT */
#include "run/wire/frame.h"

#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/text.h"

static const unsigned char magic[4] = { 'C', 'L', 'V', 'E' };

/* Where the checksum begins: all before it is covered by it. */
enum { COVERED = CV_FRAME_HEAD - 8 };

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
    put(out + 4, CV_FRAME_VERSION, 1);
    put(out + 5, head->type, 1);
    put(out + 6, head->flags, 2);
    put(out + 8, head->length, 4);
    put(out + 12, head->peer, 4);
    put(out + 16, head->chunk, 8);
    put(out + 24, head->value, 8);
    put(out + COVERED, head->checksum, 8);
}

enum cleave_status cv_frame_decode(const unsigned char in[CV_FRAME_HEAD],
                                   struct cv_frame_head *out, struct cleave_error *err)
{
    const uint64_t length = get(in + 8, 4);
    char shown[2 * CV_FRAME_HEAD];

    if (memcmp(in, magic, sizeof magic) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected a frame of cleave, got '%s'",
                       cv_shown((const char *)in, CV_FRAME_HEAD, shown, sizeof shown));
    if (in[4] != CV_FRAME_VERSION)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected frames of version %d, got version %d: both sides need "
                       "the same cleave",
                       CV_FRAME_VERSION, in[4]);
    if (length > CV_FRAME_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a frame of at most %d bytes, got one of %llu",
                       CV_FRAME_MOST, (unsigned long long)length);
    *out = (struct cv_frame_head){ .type = in[5],
                                   .flags = (uint16_t)get(in + 6, 2),
                                   .length = (uint32_t)length,
                                   .peer = (uint32_t)get(in + 12, 4),
                                   .chunk = get(in + 16, 8),
                                   .value = get(in + 24, 8),
                                   .checksum = get(in + COVERED, 8) };
    return CLEAVE_OK;
}

uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload)
{
    unsigned char bytes[CV_FRAME_HEAD];
    uint64_t seed;

    cv_frame_encode(head, bytes);
    seed = XXH3_64bits(bytes, COVERED);
    return head->length > 0 ? XXH3_64bits_withSeed(payload, head->length, seed) : seed;
}
