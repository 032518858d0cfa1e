/* frames.c -- scan of BGZF, zstd and lz4 from header to header. SPDX-License-Identifier: MIT */
#include <string.h>

#include "run/decode/formats.h"

enum { BGZF_TAIL = 8, ZSTD_FIRST = 5, LZ4_FIRST = 6, SKIPPABLE = 8 };

static bool expect(struct cv_frame_scan *scan, enum cv_frame_part part, size_t need,
                   uint64_t pass)
{
    scan->part = part;
    scan->need = need;
    scan->pass = pass;
    return true;
}

static bool needs(struct cv_frame_scan *scan, size_t need)
{
    scan->need = need;
    return false;
}

static bool step_bgzf(struct cv_frame_scan *scan)
{
    const uint64_t length = cv_little_endian(scan->head + 16, 2) + 1;

    return cv_codec_bgzf.begins(scan->head, CV_CODEC_HEAD) &&
                   length >= CV_CODEC_HEAD + BGZF_TAIL
               ? expect(scan, CV_FRAME_MEMBER, CV_CODEC_HEAD, length - CV_CODEC_HEAD)
               : expect(scan, CV_FRAME_LOST, 0, 0);
}

static bool skip_frame(struct cv_frame_scan *scan, size_t need)
{
    scan->sized = true;
    scan->size = 0;
    return scan->have < SKIPPABLE
               ? needs(scan, SKIPPABLE)
               : expect(scan, CV_FRAME_MEMBER, need, cv_little_endian(scan->head + 4, 4));
}

/* RFC 8878, 3.1.1. */
static bool step_zstd(struct cv_frame_scan *scan)
{
    static const uint8_t dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
    const uint64_t block = cv_little_endian(scan->head, 3);
    const unsigned flags = scan->head[4], single = flags >> 5 & 1;
    const size_t before = ZSTD_FIRST + (1 - single) + dictionary[flags & 3];
    const unsigned bytes = flags >> 6 == 0 ? single : content[flags >> 6];

    if (scan->part == CV_FRAME_BLOCK) {
        const uint64_t length = (block >> 1 & 3) == 1 ? 1 : block >> 3;

        return (block & 1) == 0 ? expect(scan, CV_FRAME_BLOCK, 3, length)
                                : expect(scan, CV_FRAME_MEMBER, ZSTD_FIRST,
                                         length + (scan->checked ? 4 : 0));
    }
    if (cv_frame_is_skippable(scan->head))
        return skip_frame(scan, ZSTD_FIRST);
    if (memcmp(scan->head, "\x28\xb5\x2f\xfd", 4) != 0)
        return expect(scan, CV_FRAME_LOST, 0, 0);
    if (scan->have < before + bytes)
        return needs(scan, before + bytes);
    scan->checked = (flags >> 2 & 1) != 0;
    scan->sized = bytes > 0;
    scan->size = cv_little_endian(scan->head + before, bytes) + (bytes == 2 ? 256 : 0);
    return expect(scan, CV_FRAME_BLOCK, 3, 0);
}

static bool pass_lz4_block(struct cv_frame_scan *scan, const uint8_t *head)
{
    const uint64_t block = cv_little_endian(head, CV_LZ4_BLOCK);
    const size_t check = scan->lz4.frame_check ? CV_LZ4_CHECK : 0;

    if (block != 0)
        return expect(scan, CV_FRAME_BLOCK, CV_LZ4_BLOCK,
                      (block & ~(uint64_t)CV_LZ4_STORED) +
                          (scan->lz4.block_check ? CV_LZ4_CHECK : 0));
    return expect(scan, CV_FRAME_MEMBER, LZ4_FIRST, check);
}

/* The headers of a frame and of its first block are read together. */
static bool step_lz4(struct cv_frame_scan *scan)
{
    size_t length;

    if (scan->part == CV_FRAME_BLOCK)
        return pass_lz4_block(scan, scan->head);
    if (cv_frame_is_skippable(scan->head))
        return skip_frame(scan, LZ4_FIRST);
    length = cv_lz4_head_length(scan->head);
    if (memcmp(scan->head, "\x04\x22\x4d\x18", 4) == 0 &&
        scan->have < length + CV_LZ4_BLOCK)
        return needs(scan, length + CV_LZ4_BLOCK);
    if (!cv_lz4_head_read(scan->head, &scan->lz4))
        return expect(scan, CV_FRAME_LOST, 0, 0);
    scan->sized = scan->lz4.sized;
    scan->size = scan->lz4.size;
    return pass_lz4_block(scan, scan->head + length);
}

bool cv_frame_scan_init(struct cv_frame_scan *scan, const struct cv_codec *codec)
{
    static const struct {
        const struct cv_codec *codec;
        bool (*step)(struct cv_frame_scan *scan);
        size_t first; /* bytes of a header that are read first */
    } formats[] = {
        { &cv_codec_bgzf, step_bgzf, CV_CODEC_HEAD },
        { &cv_codec_zstd, step_zstd, ZSTD_FIRST },
        { &cv_codec_lz4, step_lz4, LZ4_FIRST },
    };

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].codec == codec) {
            *scan = (struct cv_frame_scan){ .step = formats[i].step };
            return expect(scan, CV_FRAME_MEMBER, formats[i].first, 0);
        }
    return false;
}
