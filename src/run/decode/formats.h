/* formats.h -- headers of BGZF, zstd and lz4. SPDX-License-Identifier: MIT
 *
 * For the files of this directory. */
#ifndef CV_FORMATS_H
#define CV_FORMATS_H
#include <string.h>
#include "run/common/transfer.h"
#include "run/decode/decoder.h"

/* One block of xz, preceded by the header of its stream (codec_libraries.c). */
extern const struct cv_codec cv_codec_xz_block;

/* --- lz4 (codec_lz4.c) ---------------------------------------------------------------------- */

enum {
    CV_LZ4_LEAST = 7,    /* bytes of the shortest frame header            */
    CV_LZ4_LONGEST = 19, /* bytes of the longest one                      */
    CV_LZ4_BLOCK = 4,    /* bytes of a block header: a length, 0 at the end */
    CV_LZ4_CHECK = 4,    /* bytes of a checksum                           */
};

#define CV_LZ4_STORED 0x80000000u /* in a block header: the block is not compressed */

struct cv_lz4_head {
    bool independent; /* each block can be decoded alone             */
    bool block_check; /* a checksum follows each block               */
    bool frame_check; /* a checksum of the decoded frame ends it     */
    bool sized;       /* `size` is the number of decoded bytes       */
    uint64_t size;
    size_t max; /* decoded bytes of a block, at most */
};

/* The length of a frame header, given its first five bytes. */
size_t cv_lz4_head_length(const uint8_t *bytes);
/* False: the bytes are not a valid header. */
bool cv_lz4_head_read(const uint8_t *bytes, struct cv_lz4_head *head);

/* --- scan from header to header (frames.c) ---------------------------------------------------- */

enum { CV_FRAME_HEAD = 24 }; /* bytes of the longest header */

/* The owner of the next header. */
enum cv_frame_part {
    CV_FRAME_MEMBER,
    CV_FRAME_BLOCK,
    CV_FRAME_LOST, /* the bytes are not in the format: end of the scan */
};

/* Members of BGZF, zstd and lz4 consist of parts with a length in the header. The caller copies
 * `need` bytes to `head`, sets `have`, calls `step`, and skips `pass` bytes to the next header.
 * If `step` returns false, `need` has grown. */
struct cv_frame_scan {
    bool (*step)(struct cv_frame_scan *scan);
    enum cv_frame_part part;
    uint8_t head[CV_FRAME_HEAD];
    size_t have, need;
    uint64_t pass;
    bool checked; /* 4 bytes of checksum end the member (zstd)              */
    bool sized;   /* the header of the member has its decoded size, `size` (not BGZF) */
    uint64_t size;
    struct cv_lz4_head lz4; /* the frame of the last header */
};

/* Begin at the start of a member; false: the format has no lengths. */
bool cv_frame_scan_init(struct cv_frame_scan *scan, const struct cv_codec *codec);
/* A skippable frame of zstd or lz4, given its first four bytes. */
static inline bool cv_frame_is_skippable(const uint8_t *head)
{
    return (head[0] & 0xF0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0;
}

#endif
