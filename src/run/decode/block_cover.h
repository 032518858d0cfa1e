/* block_cover.h -- which bytes of a compressed file hold some of its decoded bytes.
 * SPDX-License-Identifier: MIT
 *
 * For those who send them to be decoded elsewhere (arriving_input.h). */
#ifndef CV_BLOCK_COVER_H
#define CV_BLOCK_COVER_H
#include "run/decode/decoded_file.h"
#include "run/common/piece_part.h"
#include "run/common/range_set.h"

/* Whether the block at `offset` can be decoded alone, by what is told of it. */
bool cv_cover_holds(const struct cv_decoded_file *decoded, uint64_t offset);
/* Whether such a block begins at `offset`, or so little before it that what is between is no loss. */
bool cv_cover_begins(const struct cv_decoded_file *decoded, uint64_t offset);
/* The blocks that hold [out.begin, out.end), which has bytes. `size`: of the file. */
struct cv_range cv_cover_span(const struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size);
/* What has to be there to decode that: of the last block, if that is a large one and only its
 * beginning is wanted, no more than needed. */
struct cv_range cv_cover_find(struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size);
/* If the file up to `in` is there: how far all blocks are, and some of one is, decoded. */
uint64_t cv_cover_whole(const struct cv_decoded_file *decoded, uint64_t in);
uint64_t cv_cover_touched(const struct cv_decoded_file *decoded, uint64_t in);
/* The number of the block that a decoded byte is in. */
size_t cv_cover_index(const struct cv_decoded_file *decoded, uint64_t offset);
/* Blocks from number *next on that begin before `in`, at most `most`; *next moves behind them,
 * and *out_end is where the last one ends, decoded. Of small ones with a check of their own some are left
 * out. */
enum cleave_status cv_cover_list(const struct cv_decoded_file *decoded, uint64_t in,
                                 size_t *next, struct cv_packed_block *blocks, size_t max,
                                 size_t *count, uint64_t *out_end,
                                 struct cleave_error *err);

#endif
