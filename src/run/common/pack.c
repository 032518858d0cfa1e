/* pack.c -- numbers and texts as bytes, for the payload of frames.
 * SPDX-License-Identifier: MIT */
#include "run/common/pack.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER = 8 };

void cv_pack_done(struct cv_packer *packer)
{
    free(packer->bytes);
    *packer = (struct cv_packer){ NULL, 0, 0, false };
}

static unsigned char *grow_array(struct cv_packer *packer, size_t length)
{
    packer->failed = packer->failed || length > SIZE_MAX - packer->length ||
                     !CV_ROOM(packer->bytes, &packer->room, packer->length + length);
    if (packer->failed)
        return NULL;
    packer->length += length;
    return packer->bytes + packer->length - length;
}

void cv_pack_number(struct cv_packer *packer, uint64_t value)
{
    unsigned char *out = grow_array(packer, NUMBER);

    for (int i = 0; out != NULL && i < NUMBER; i++, value >>= 8)
        out[i] = (unsigned char)(value & 0xFF);
}

void cv_pack_real(struct cv_packer *packer, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    cv_pack_number(packer, bits);
}

void cv_pack_raw(struct cv_packer *packer, const void *bytes, size_t length)
{
    unsigned char *out = length > 0 ? grow_array(packer, length) : NULL;

    if (out != NULL)
        memcpy(out, bytes, length);
}

void cv_pack_text(struct cv_packer *packer, const char *text)
{
    const size_t length = strlen(text);

    cv_pack_number(packer, length);
    cv_pack_raw(packer, text, length);
}

uint64_t cv_unpack_number(struct cv_unpacker *unpacker)
{
    uint64_t value = 0;

    if (unpacker->failed || unpacker->left < NUMBER) {
        unpacker->failed = true;
        return 0;
    }
    for (int i = NUMBER - 1; i >= 0; i--)
        value = value << 8 | unpacker->bytes[i];
    unpacker->bytes += NUMBER;
    unpacker->left -= NUMBER;
    return value;
}

double cv_unpack_real(struct cv_unpacker *unpacker)
{
    const uint64_t bits = cv_unpack_number(unpacker);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *cv_unpack_text(struct cv_unpacker *unpacker, struct cv_arena *arena)
{
    const uint64_t length = cv_unpack_number(unpacker);
    char *text;

    if (unpacker->failed || length > unpacker->left ||
        memchr(unpacker->bytes, '\0', (size_t)length) != NULL) {
        unpacker->failed = true;
        return "";
    }
    text = cv_array(arena, (size_t)length + 1, 1);
    if (text == NULL) {
        unpacker->failed = true;
        return "";
    }
    memcpy(text, unpacker->bytes, (size_t)length);
    unpacker->bytes += length;
    unpacker->left -= (size_t)length;
    return text;
}

size_t cv_unpack_count(struct cv_unpacker *unpacker, size_t min)
{
    const uint64_t count = cv_unpack_number(unpacker);

    if (unpacker->failed || count > unpacker->left / min) {
        unpacker->failed = true;
        return 0;
    }
    return (size_t)count;
}

bool cv_unpack_good(const struct cv_unpacker *unpacker)
{
    return !unpacker->failed && unpacker->left == 0;
}
