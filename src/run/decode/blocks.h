/* blocks.h -- where a compressed file can be decoded from. SPDX-License-Identifier: MIT
 *
 * Blocks of BGZF, frames of zstd and lz4 that say how much they hold, or of which zstd has a
 * table, and blocks of xz, which has an index of them, are found without decoding anything. */
#ifndef CV_BLOCKS_H
#define CV_BLOCKS_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/decode/decoder.h"

struct cv_block {
    uint64_t in, out; /* where it begins, in the file and decoded                      */
    uint64_t head;    /* of xz: where the stream begins that it is in                  */
};

/* For one thread at a time. */
struct cv_blocks {
    struct cv_block *items; /* owned: those with bytes, in order */
    size_t count, capacity;
    uint64_t out_end; /* bytes in all                            */
    uint64_t grain;   /* least bytes of the file between them    */
    /* Where the last one ends in the file, if a table of the file's own says all this: it may be
     * wrong, so that decoding has to end each of them where the next begins. 0: none does. */
    uint64_t told_end;
};

void cv_blocks_done(struct cv_blocks *blocks);
/* Find the blocks of a file of `size` bytes. *whole is false if it has none, does not say
 * how much they hold, or is not as it should be; a decoder will say why. */
enum cleave_status cv_blocks_find(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, uint64_t size, bool *whole,
                                  struct cleave_error *err);
/* The same of any file, by decoding it: members are blocks. Fails if it cannot be decoded. */
enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err);
/* Whether those with the decoded bytes [begin, end) are as a table of the file says, if that is where
 * they are from; of frames that say their sizes themselves. */
bool cv_blocks_proven(const struct cv_blocks *blocks, int fd, uint64_t begin,
                      uint64_t end);
/* The one that a decoded byte is in. */
size_t cv_blocks_at(const struct cv_blocks *blocks, uint64_t offset);

/* --- forms, for blocks.c ------------------------------------------------------------------- */

struct cv_block_walk {
    int fd;
    uint64_t size;
    uint64_t grain; /* least bytes of the file between blocks that are noted */
};

bool cv_blocks_add(struct cv_blocks *blocks, struct cv_block block);
/* One block, with the head of its stream before it. */
extern const struct cv_codec cv_codec_xz_block;

#endif
