/* unpacked.h -- a compressed file that is read as if it were not. SPDX-License-Identifier: MIT
 *
 * Offsets are those of the decoded bytes. Reading begins at the block that an offset is in;
 * each flow is a thread that decodes by itself. */
#ifndef CV_UNPACKED_H
#define CV_UNPACKED_H
#include "run/decode/blocks.h"
#include "run/kit/packed.h"
#include "run/kit/well.h"

struct cv_unpacked;

/* Of the blocks, which it takes over. `name` is borrowed. *out is owned by the caller. */
enum cleave_status cv_unpacked_new(const struct cv_codec *codec, const char *name,
                                   struct cv_blocks *blocks, struct cv_unpacked **out,
                                   struct cleave_error *err);
void cv_unpacked_free(struct cv_unpacked *unpacked);
/* The file was opened, and is as it was before; -1: it will be closed. */
void cv_unpacked_use(struct cv_unpacked *unpacked, int fd);
struct cv_well *cv_unpacked_well(struct cv_unpacked *unpacked);
uint64_t cv_unpacked_size(const struct cv_unpacked *unpacked);
/* Whether some of it was found that cannot be decoded; all before *good_end is good, as far as
 * it was looked at. */
bool cv_unpacked_damaged(struct cv_unpacked *unpacked, uint64_t *good_end,
                         struct cleave_error *err);
/* Let bytes up to the one at `offset` be decoded: *in is how far the file was read for that. */
enum cleave_status cv_unpacked_look(struct cv_unpacked *unpacked, uint64_t offset,
                                    uint64_t *in);
const struct cv_blocks *cv_unpacked_blocks(const struct cv_unpacked *unpacked);
const struct cv_codec *cv_unpacked_codec(const struct cv_unpacked *unpacked);
int cv_unpacked_fd(const struct cv_unpacked *unpacked);
/* Of blocks that lie elsewhere than in their file (coming.h): what stands before each of those of xz,
 * which it takes over. And a flow that ends with `end`; stopped, or not even begun, it takes the file with it. */
void cv_unpacked_behead(struct cv_unpacked *unpacked, uint8_t (*heads)[CV_PACKED_HEAD]);
enum cleave_status cv_unpacked_flow_alone(struct cv_unpacked *unpacked, uint64_t begin,
                                          uint64_t end, const struct cv_flow_into *into,
                                          struct cv_flow **out, struct cleave_error *err);
void cv_unpacked_stop_alone(struct cv_flow *flow);
/* What a flow without a thread has (well.h). */
enum cleave_status cv_unpacked_give(struct cv_flow *flow, uint64_t at, const char **bytes,
                                    size_t *length, struct cleave_error *err);
/* Where to look for a cut at or after `offset`, if blocks are large: a bit behind the end of the block
 * that it is in. To find a record there some of the next block is decoded; at the end itself it
 * would be all of the one before, for its last bytes. */
uint64_t cv_unpacked_round(const struct cv_unpacked *unpacked, uint64_t offset);

#endif
