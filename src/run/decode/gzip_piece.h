/* gzip_piece.h -- a stretch of deflate that is decoded before what is in front of it.
 * SPDX-License-Identifier: MIT
 *
 * It begins with the first block that is found in it, and ends before the first block that
 * begins behind it, or earlier: at the end of a member, at damage, if too much comes of it. Where
 * it ends, `inflate` can go on. Whether it begins where a block does is for others to see. */
#ifndef CV_GZIP_PIECE_H
#define CV_GZIP_PIECE_H
#include <stdatomic.h>
#include "run/decode/stream_reader.h"
#include "run/inflate/inflate_marks.h"

enum {
    CV_GZIP_PIECE = 1 << 20, /* bytes of the file, but in tests                     */
    CV_GZIP_RATIO = 8, /* cells at most that are made of each byte: 16 MiB of them  */
};

/* The file that pieces are of. */
struct cv_gzip_file {
    struct cv_stream_reader
        *reader;             /* borrowed: what has come of it; NULL: it is              */
    int fd;                  /* borrowed                                            */
    uint64_t offset;         /* in it: what counts as byte 0                        */
    size_t piece;            /* bytes of each                                       */
    _Atomic uint64_t passed; /* bits: what begins before is not wanted any more     */
};

struct cv_gzip_piece {
    uint64_t begin, end; /* bytes: blocks that begin in it are looked for           */
    bool found;
    uint64_t start;            /* the first bit of the first block                  */
    uint64_t used;             /* byte up to which the file was read by `inflate`   */
    struct cv_inflate inflate; /* at the end                                        */
    size_t cells, bytes;       /* made: first so many cells, then so many bytes     */
    uint8_t window[CV_INFLATE_WINDOW]; /* what is in front of it                    */
    uint8_t *
        place; /* borrowed: where the bytes go when marks are replaced; NULL: they stay */
    uint32_t crc;  /* of all, when marks are replaced           */
    uint8_t *in;   /* owned                                     */
    uint16_t *out; /* owned                                     */
};

/* NULL: no memory. */
struct cv_gzip_piece *cv_gzip_piece_new(const struct cv_gzip_file *file);
void cv_gzip_piece_free(struct cv_gzip_piece *piece);
/* Decode as much as can be. What cannot be read is not decoded: that is no failure here. */
void cv_gzip_piece_decode(struct cv_gzip_piece *piece, struct cv_gzip_file *file);
/* With its window known: the 32 KiB at its end. `out` may be the window of another. */
void cv_gzip_piece_tail(const struct cv_gzip_piece *piece, uint8_t *out);
/* ... replace marks, once, bring all to its place, and find the check. */
void cv_gzip_piece_resolve(struct cv_gzip_piece *piece);
/* ... what was made, if it stays: cells that have become bytes, and bytes behind them. */
const uint8_t *cv_gzip_piece_first(const struct cv_gzip_piece *piece);
const uint8_t *cv_gzip_piece_rest(const struct cv_gzip_piece *piece);

#endif
