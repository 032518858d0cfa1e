/* decoded_file.h -- a compressed file that is read as if it were not. SPDX-License-Identifier: MIT
 *
 * Offsets are those of the decoded bytes. Reading begins at the block that an offset is in;
 * each flow is a thread that decodes by itself. */
#ifndef CV_DECODED_FILE_H
#define CV_DECODED_FILE_H
#include "run/decode/blocks.h"
#include "run/common/piece_part.h"

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
/* Let bytes up to the one at `offset` be decoded: *in is how far the file was read for that. */
enum cleave_status cv_decoded_file_look(struct cv_decoded_file *decoded, uint64_t offset,
                                        uint64_t *in);
const struct cv_blocks *cv_decoded_file_blocks(const struct cv_decoded_file *decoded);
const struct cv_codec *cv_decoded_file_codec(const struct cv_decoded_file *decoded);
int cv_decoded_file_fd(const struct cv_decoded_file *decoded);
/* Of blocks that lie elsewhere than in their file (arriving_input.h): what stands before each of those of xz,
 * which it takes over. And a flow that ends with `end`; stopped, or not even begun, it takes the file with it. */
void cv_decoded_file_behead(struct cv_decoded_file *decoded,
                            uint8_t (*heads)[CV_PACKED_HEAD]);
enum cleave_status cv_decoded_file_flow_alone(struct cv_decoded_file *decoded,
                                              uint64_t begin, uint64_t end,
                                              const struct cv_writer_thread_into *into,
                                              struct cv_writer_thread **out,
                                              struct cleave_error *err);
void cv_decoded_file_stop_alone(struct cv_writer_thread *threaded);
/* What a flow without a thread has (piece_part.h). */
enum cleave_status cv_decoded_file_give(struct cv_writer_thread *threaded, uint64_t at,
                                        const char **bytes, size_t *length,
                                        struct cleave_error *err);
/* Where to look for a cut at or after `offset`, if blocks are large: a bit behind the end of the block
 * that it is in. To find a record there some of the next block is decoded; at the end itself it
 * would be all of the one before, for its last bytes. */
uint64_t cv_decoded_file_round(const struct cv_decoded_file *decoded, uint64_t offset);

#endif
