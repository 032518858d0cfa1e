/* arriving_input.h -- compressed bytes that have come from elsewhere, or still come.
 * SPDX-License-Identifier: MIT
 *
 * Offsets are those of the file that they are of, decoded; they lie in another file here. What
 * is decoded ends with what was asked for, as the bytes behind it may not be there. */
#ifndef CV_ARRIVING_INPUT_H
#define CV_ARRIVING_INPUT_H
#include "run/decode/codec.h"
#include "run/common/piece_part.h"

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
