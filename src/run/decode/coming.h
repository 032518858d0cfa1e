/* coming.h -- compressed bytes that have come from elsewhere, or still come.
 * SPDX-License-Identifier: MIT
 *
 * Offsets are those of the file that they are of, decoded; they lie in another file here. What
 * is decoded ends with what was asked for, as the bytes behind it may not be there. */
#ifndef CV_COMING_H
#define CV_COMING_H
#include "run/decode/codec.h"
#include "run/kit/packed.h"
#include "run/kit/well.h"

struct cv_coming;

/* *out is owned by the caller. */
enum cleave_status cv_coming_new(const struct cv_codec *codec, struct cv_coming **out,
                                 struct cleave_error *err);
/* Flows of its well were stopped before. */
void cv_coming_free(struct cv_coming *coming);
/* Blocks, behind those before, of which the last one ends at `out_end`; none: only that. False:
 * they are not in order. */
enum cleave_status cv_coming_add(struct cv_coming *coming,
                                 const struct cv_packed_block *blocks, size_t count,
                                 uint64_t out_end, bool *good, struct cleave_error *err);
/* Byte `in` of the file that they are of is byte `at` of this one. */
void cv_coming_place(struct cv_coming *coming, int fd, uint64_t in, uint64_t at);
/* If the file up to `in` has come: how far all blocks are, decoded; and from where on it is
 * needed if only what is decoded from `out` on is. */
uint64_t cv_coming_whole(const struct cv_coming *coming, uint64_t in);
uint64_t cv_coming_needs(const struct cv_coming *coming, uint64_t out);
struct cv_well *cv_coming_well(struct cv_coming *coming);

#endif
