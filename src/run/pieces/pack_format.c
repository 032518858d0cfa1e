/* pack_format.c -- compressed formats that are written. SPDX-License-Identifier: MIT */
#include "run/pieces/pack_format.h"

#include <bzlib.h>
#include <libdeflate.h>
#include <lz4frame.h>
#include <lzma.h>
#include <string.h>
#include <zstd.h>
#include "base/fail.h"
#include "base/file_target.h"
#include "run/common/transfer.h"

/* --- BGZF ----------------------------------------------------------------------------------- */

enum {
    GZIP_PART = 0xff00, /* as bgzip: a block has at most 64 KiB */
    GZIP_MAX = 0x10000,
    GZIP_HEAD = 18,
    GZIP_TAIL = 8,
    GZIP_LEVEL = 6,
};

/* The EOF block. */
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
    return GZIP_MAX;
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
    cv_put_little_endian(out + 16, all - 1, 2);
    cv_put_little_endian(out + all - 8, libdeflate_crc32(0, bytes, length), 4);
    cv_put_little_endian(out + all - 4, length, 4);
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

/* The table of the seekable format, in a skippable frame. */
enum { TABLE_HEAD = 8, TABLE_FOOT = 9 };

void cv_pack_table_add(struct cv_packer *table, size_t packed, size_t length)
{
    char row[8];

    if (table->length == 0)
        cv_pack_raw(table, "\x5e\x2a\x4d\x18....", TABLE_HEAD);
    cv_put_little_endian(row, packed, 4);
    cv_put_little_endian(row + 4, length, 4);
    cv_pack_raw(table, row, sizeof row);
}

void cv_pack_table_end(struct cv_packer *table, size_t parts)
{
    char foot[TABLE_FOOT] = { 0 };

    cv_put_little_endian(foot, parts, 4);
    cv_put_little_endian(foot + 5, 0x8F92EAB1, 4);
    cv_pack_raw(table, foot, sizeof foot);
    if (!table->failed)
        cv_put_little_endian(table->bytes + 4, table->length - TABLE_HEAD, 4);
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

static const struct cv_pack_format formats[] = {
    { ".gz", "\x1f\x8b", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip,
      gzip_end, sizeof gzip_end, false },
    { ".bgz", "\x1f\x8b", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip,
      gzip_end, sizeof gzip_end, false },
    { ".zst", "\x28\xb5\x2f\xfd", 4 << 20, open_zstd, close_zstd, ZSTD_compressBound,
      pack_zstd, NULL, 0, true },
    { ".xz",
      "\xfd"
      "7zXZ",
      16 << 20, NULL, NULL, bound_xz, pack_xz, NULL, 0, false },
    { ".bz2", "BZh", 4 << 20, NULL, NULL, bound_bzip2, pack_bzip2, NULL, 0, false },
    { ".lz4", "\x04\x22\x4d\x18", 4 << 20, NULL, NULL, bound_lz4, pack_lz4, NULL, 0,
      false },
};

const struct cv_pack_format *cv_pack_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (cv_name_ends_in(name, formats[i].ending))
            return &formats[i];
    return NULL;
}

enum cleave_status cv_pack_format_check(const char *name, struct cleave_error *err)
{
    static const char *const others[] = { ".zip", ".7z",   ".Z",   ".lz",  ".lzma",
                                          ".lzo", ".br",   ".tgz", ".txz", ".tbz2",
                                          ".GZ",  ".gzip", ".zstd" };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cv_name_ends_in(name, others[i]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s is not written, but .gz, .bgz, .zst, .xz, .bz2 and .lz4; "
                           "another program can read standard output",
                           others[i]);
    return CLEAVE_OK;
}
