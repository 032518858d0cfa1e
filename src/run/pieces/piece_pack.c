/* piece_pack.c -- forms that files can be compressed to. SPDX-License-Identifier: MIT */
#include "run/pieces/piece_pack.h"

#include <bzlib.h>
#include <libdeflate.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

static void *open_nothing(void)
{
    static char nothing;

    return &nothing;
}

static void close_nothing(void *state)
{
    (void)state;
}

/* --- BGZF ----------------------------------------------------------------------------------- */

enum {
    GZIP_PART =
        0xff00, /* as bgzip has it: with all around it, a block has 64 KiB at most */
    GZIP_MOST = 0x10000,
    GZIP_HEAD = 18,
    GZIP_TAIL = 8,
    GZIP_LEVEL = 6,
};

/* A block of no bytes says that nothing is missing. */
static const char gzip_end[] =
    "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0"
    "\0\0\0";

static void *open_gzip(void)
{
    return libdeflate_alloc_compressor(GZIP_LEVEL);
}

static void close_gzip(void *state)
{
    libdeflate_free_compressor(state);
}

static size_t bound_gzip(size_t length)
{
    (void)length;
    return GZIP_MOST;
}

static void put_little(char *out, uint32_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (char)(number >> (8 * i) & 0xff);
}

static size_t pack_gzip(void *state, const char *bytes, size_t length, char *out,
                        size_t room)
{
    const size_t packed =
        libdeflate_deflate_compress(state, bytes, length, out + GZIP_HEAD,
                                    room - GZIP_HEAD - GZIP_TAIL);
    const size_t all = GZIP_HEAD + packed + GZIP_TAIL;

    if (packed == 0)
        return 0;
    memcpy(out, gzip_end, GZIP_HEAD);
    put_little(out + 16, (uint32_t)all - 1, 2);
    put_little(out + all - 8, libdeflate_crc32(0, bytes, length), 4);
    put_little(out + all - 4, (uint32_t)length, 4);
    return all;
}

/* --- zstd ----------------------------------------------------------------------------------- */

static void *open_zstd(void)
{
    return ZSTD_createCCtx();
}

static void close_zstd(void *state)
{
    ZSTD_freeCCtx(state);
}

static size_t pack_zstd(void *state, const char *bytes, size_t length, char *out,
                        size_t room)
{
    const size_t packed =
        ZSTD_compressCCtx(state, out, room, bytes, length, ZSTD_CLEVEL_DEFAULT);

    return ZSTD_isError(packed) ? 0 : packed;
}

/* The table of the seekable format, which 'cleave run' and others read instead of walking from
 * frame to frame: in a frame to be skipped, bytes of each frame before and after decoding. */
enum { TABLE_HEAD = 8, TABLE_FOOT = 9 };

static void note_zstd(struct cv_packer *table, size_t packed, size_t length)
{
    char row[8];

    if (table->length == 0)
        cv_pack_raw(table, "\x5e\x2a\x4d\x18....", TABLE_HEAD);
    put_little(row, (uint32_t)packed, 4);
    put_little(row + 4, (uint32_t)length, 4);
    cv_pack_raw(table, row, sizeof row);
}

static void tell_zstd(struct cv_packer *table, size_t parts)
{
    char foot[TABLE_FOOT] = { 0 };

    put_little(foot, (uint32_t)parts, 4);
    put_little(foot + 5, 0x8F92EAB1, 4);
    cv_pack_raw(table, foot, sizeof foot);
    if (!table->failed)
        put_little((char *)table->bytes + 4, (uint32_t)(table->length - TABLE_HEAD), 4);
}

/* --- xz ------------------------------------------------------------------------------------- */

static size_t bound_xz(size_t length)
{
    return lzma_stream_buffer_bound(length);
}

static size_t pack_xz(void *state, const char *bytes, size_t length, char *out,
                      size_t room)
{
    size_t packed = 0;

    (void)state;
    return lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, NULL,
                                   (const uint8_t *)bytes, length, (uint8_t *)out,
                                   &packed, room) == LZMA_OK
               ? packed
               : 0;
}

/* --- bzip2 ---------------------------------------------------------------------------------- */

static size_t bound_bzip2(size_t length)
{
    return length + length / 100 + 600;
}

static size_t pack_bzip2(void *state, const char *bytes, size_t length, char *out,
                         size_t room)
{
    unsigned packed = (unsigned)room;

    (void)state;
    return BZ2_bzBuffToBuffCompress(out, &packed, (char *)bytes, (unsigned)length, 9, 0,
                                    0) == BZ_OK
               ? packed
               : 0;
}

/* --- lz4 ------------------------------------------------------------------------------------ */

static LZ4F_preferences_t lz4_how(size_t length)
{
    return (LZ4F_preferences_t){ .frameInfo = { .blockSizeID = LZ4F_max4MB,
                                                .contentChecksumFlag =
                                                    LZ4F_contentChecksumEnabled,
                                                .contentSize = length } };
}

static size_t bound_lz4(size_t length)
{
    const LZ4F_preferences_t how = lz4_how(length);

    return LZ4F_compressFrameBound(length, &how);
}

static size_t pack_lz4(void *state, const char *bytes, size_t length, char *out,
                       size_t room)
{
    const LZ4F_preferences_t how = lz4_how(length);
    const size_t packed = LZ4F_compressFrame(out, room, bytes, length, &how);

    (void)state;
    return LZ4F_isError(packed) ? 0 : packed;
}

/* --- all of them ---------------------------------------------------------------------------- */

static const struct cv_pack_form forms[] = {
    { ".gz", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip, gzip_end,
      sizeof gzip_end, NULL, NULL },
    { ".bgz", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip, gzip_end,
      sizeof gzip_end, NULL, NULL },
    { ".zst", 4 << 20, open_zstd, close_zstd, ZSTD_compressBound, pack_zstd, NULL, 0,
      note_zstd, tell_zstd },
    { ".xz", 16 << 20, open_nothing, close_nothing, bound_xz, pack_xz, NULL, 0, NULL,
      NULL },
    { ".bz2", 4 << 20, open_nothing, close_nothing, bound_bzip2, pack_bzip2, NULL, 0,
      NULL, NULL },
    { ".lz4", 4 << 20, open_nothing, close_nothing, bound_lz4, pack_lz4, NULL, 0, NULL,
      NULL },
};

const struct cv_pack_form *cv_pack_form_of(const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t end = strlen(forms[i].ending);

        if (length > end && strcmp(name + length - end, forms[i].ending) == 0)
            return &forms[i];
    }
    return NULL;
}
