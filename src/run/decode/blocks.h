/* blocks.h -- places where decoding of a compressed file can begin. SPDX-License-Identifier: MIT */
#ifndef CV_BLOCKS_H
#define CV_BLOCKS_H
#include "run/decode/decoder.h"

struct cv_block {
    uint64_t in, out; /* offset of its first byte, in the file and decoded */
    uint64_t head;    /* xz: offset of the header of its stream            */
};

/* For one thread at a time. */
struct cv_blocks {
    struct cv_block *items; /* owned: blocks that are not empty, in order */
    size_t count, capacity;
    uint64_t out_end; /* decoded bytes of the file                             */
    uint64_t grain;   /* blocks closer than this in the file are not listed    */
    /* End of the last block in the file if a table in the file lists the blocks, else 0. The
     * table may be wrong: each block must end where the next one begins. */
    uint64_t table_end;
};

void cv_blocks_done(struct cv_blocks *blocks);
bool cv_blocks_add(struct cv_blocks *blocks, struct cv_block block);
/* List the blocks of a file of `size` bytes without decoding it: blocks of BGZF and xz, frames of
 * zstd and lz4 that have their size in the header or in a table. False: the file has none or is
 * damaged; the decoder will report the damage. */
bool cv_blocks_find(struct cv_blocks *blocks, const struct cv_codec *codec, int fd,
                    uint64_t size);
/* List the members of any file by decoding it. */
enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err);
/* Whether the table of the file, if the blocks are from one, agrees with the headers of the blocks
 * that hold the decoded bytes [begin, end). */
bool cv_blocks_verify_table(const struct cv_blocks *blocks, int fd, uint64_t begin,
                            uint64_t end);
/* The index of the block that holds a decoded byte, and the decoded byte after a block. */
size_t cv_blocks_at(const struct cv_blocks *blocks, uint64_t offset);
uint64_t cv_block_out_end(const struct cv_blocks *blocks, size_t index);

#endif
