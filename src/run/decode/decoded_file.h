/* decoded_file.h -- a compressed file that is read as if it were not. SPDX-License-Identifier: MIT
 *
 * Offsets are those of the decoded bytes. Reading begins at the block that an offset is in;
 * each flow is a thread that decodes by itself. */
#ifndef CV_DECODED_FILE_H
#define CV_DECODED_FILE_H
#include "run/common/lazy_reader.h"
#include "run/common/packed.h"
#include "run/common/range_set.h"
#include "run/decode/blocks.h"
#include "run/decode/decoder.h"

struct cv_decoded_file;

/* Of the blocks, which it takes over. `name` is borrowed. *out is owned by the caller. */
enum cleave_status cv_decoded_file_new(const struct cv_codec *codec, const char *name,
                                       struct cv_blocks *blocks,
                                       struct cv_decoded_file **out,
                                       struct cleave_error *err);
void cv_decoded_file_free(struct cv_decoded_file *decoded);
/* The file was opened, and is as it was before; -1: it will be closed. */
void cv_decoded_file_use(struct cv_decoded_file *decoded, int fd);
struct cv_lazy_reader *cv_decoded_file_well(struct cv_decoded_file *decoded);
uint64_t cv_decoded_file_size(const struct cv_decoded_file *decoded);
/* Whether some of it was found that cannot be decoded; all before *good_end is good, as far as
 * it was looked at. */
bool cv_decoded_file_damaged(struct cv_decoded_file *decoded, uint64_t *good_end,
                             struct cleave_error *err);
const struct cv_blocks *cv_decoded_file_blocks(const struct cv_decoded_file *decoded);
const struct cv_codec *cv_decoded_file_codec(const struct cv_decoded_file *decoded);
int cv_decoded_file_fd(const struct cv_decoded_file *decoded);
/* Where to look for a cut at or after `offset`, if blocks are large: a bit behind the end of the block
 * that it is in. To find a record there some of the next block is decoded; at the end itself it
 * would be all of the one before, for its last bytes. */
uint64_t cv_decoded_file_round(const struct cv_decoded_file *decoded, uint64_t offset);

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

struct cv_arriving_input;

/* *out is owned by the caller. */
enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err);
/* Flows of its well were stopped before. */
void cv_arriving_input_free(struct cv_arriving_input *arriving);
/* Blocks, behind those before, of which the last one ends at `out_end`; none: only that. False:
 * they are not in order. */
enum cleave_status cv_arriving_input_add(struct cv_arriving_input *arriving,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err);
/* Byte `in` of the file that they are of is byte `at` of this one. */
void cv_arriving_input_place(struct cv_arriving_input *arriving, int fd, uint64_t in,
                             uint64_t at);
/* If the file up to `in` has come: how far all blocks are, decoded; and from where on it is
 * needed if only what is decoded from `out` on is. */
uint64_t cv_arriving_input_whole(const struct cv_arriving_input *arriving, uint64_t in);
uint64_t cv_arriving_input_needs(const struct cv_arriving_input *arriving, uint64_t out);
struct cv_lazy_reader *cv_arriving_input_well(struct cv_arriving_input *arriving);

#endif
