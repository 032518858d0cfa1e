/* source_packed.h -- pieces of compressed files, as they lie there. SPDX-License-Identifier: MIT
 *
 * For machines that decode what they compute: which bytes of the file a piece is made of. */
#ifndef CV_SOURCE_PACKED_H
#define CV_SOURCE_PACKED_H
#include "run/input/source.h"
#include "run/common/piece_part.h"

/* Whether the piece, which has bytes, can be sent so: it begins where a block of its file does, or almost, and
 * what goes before and behind its body is of the usual kind. */
bool cv_source_packs(const struct cv_source *source, const struct cv_piece *piece);
/* Whether it is fetched by a command, which another machine can do as well: which, of what, and how many bytes
 * that has. Texts are borrowed from the source; NULL: it is not. */
const char *cv_source_fetches(const struct cv_source *source,
                              const struct cv_piece *piece, const char **name,
                              uint64_t *size);
/* The name of the form (run/decode/codec.h). */
const char *cv_source_form(const struct cv_source *source, const struct cv_piece *piece);
/* The same of one that another machine finds in the file itself, wherever it begins. */
bool cv_source_unpacked(const struct cv_source *source, const struct cv_piece *piece);
/* Of those pieces: the bytes of the file that hold its body; whole blocks, or no more of the last
 * one than is needed. */
struct cv_range cv_source_span(const struct cv_source *source,
                               const struct cv_piece *piece);
struct cv_range cv_source_cover(struct cv_source *source, const struct cv_piece *piece);
/* With the file up to `in`: how far whole blocks go, and how far some that are begun, decoded. */
uint64_t cv_source_unpacks(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in);
uint64_t cv_source_touches(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in);
/* The number of the first block of the piece; and the blocks from one on (run/decode/block_cover.h). */
size_t cv_source_first_block(const struct cv_source *source,
                             const struct cv_piece *piece);
enum cleave_status cv_source_blocks(const struct cv_source *source,
                                    const struct cv_piece *piece, uint64_t in,
                                    size_t *next, struct cv_packed_block *blocks,
                                    size_t max, size_t *count, uint64_t *out_end,
                                    struct cleave_error *err);
/* Decode it all here. Fails if that cannot be done, as a command's feed would. */
enum cleave_status cv_source_try(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err);

#endif
