/* decoded_file.h -- a compressed file, read at offsets of its decoded bytes.
 * SPDX-License-Identifier: MIT
 *
 * A read begins at the block that holds the offset. Each flow is a thread with its own decoder. */
#ifndef CV_DECODED_FILE_H
#define CV_DECODED_FILE_H
#include <pthread.h>
#include "run/common/piece_part.h"
#include "run/decode/blocks.h"

struct cv_decoded_file;

/* A decoder at some place of the file; private. */
struct cv_decode_cursor {
    struct cv_decoded_file *file;
    struct cv_decoder *decoder; /* owned; NULL: none                                */
    uint64_t head, in;          /* offsets in the file to read next                 */
    unsigned head_left;         /* bytes left of the header of an xz stream         */
    const uint8_t *head_bytes;  /* borrowed: that header if it is not in the file   */
    const char *bytes;          /* borrowed from the decoder                        */
    size_t length;
    uint64_t out; /* offset of `bytes`                   */
    uint64_t end; /* last byte of this decoder, plus one */
};

/* To be changed only by the functions below. */
struct cv_decoded_file {
    struct cv_lazy_reader reader; /* first */
    const struct cv_codec *codec;
    struct cv_blocks blocks; /* blocks.out_end is the size */
    int fd;                  /* borrowed; -1: closed       */
    const char *name;        /* borrowed                   */
    /* Private. */
    uint8_t (*heads)
        [CV_PACKED_HEAD]; /* owned: xz stream header of each block; NULL: in the file */
    struct cv_decode_cursor cursor;
    pthread_mutex_t lock; /* for the damage that the cursors of all threads have found */
    uint64_t good_end;    /* none was found before it */
    struct cleave_error damage;
};

/* Takes over the blocks. `name` is borrowed. *out is owned by the caller. */
enum cleave_status cv_decoded_file_new(const struct cv_codec *codec, const char *name,
                                       struct cv_blocks *blocks,
                                       struct cv_decoded_file **out,
                                       struct cleave_error *err);
void cv_decoded_file_free(struct cv_decoded_file *decoded);
/* The descriptor to read from; -1: the file will be closed. */
void cv_decoded_file_use(struct cv_decoded_file *decoded, int fd);
/* Whether damage was found by any thread; before *good_end none was found. */
bool cv_decoded_file_damaged(struct cv_decoded_file *decoded, uint64_t *good_end,
                             struct cleave_error *err);
/* Decode up to the byte at `offset`; *in: how far the file was read for it. */
enum cleave_status cv_decoded_file_look(struct cv_decoded_file *decoded, uint64_t offset,
                                        uint64_t *in);
/* A good place to search for a cut at or after `offset`: if blocks are large, shortly after the
 * start of a block. A search at the end of a block would decode all of it for its last bytes. */
uint64_t cv_decoded_file_round(const struct cv_decoded_file *decoded, uint64_t offset);

/* --- blocks that arrive from another machine -------------------------------------------------- */

/* Blocks of a compressed file that are stored, with an offset, in another file. Offsets refer to the
 * decoded original. Flows end at the end they were asked for, because the blocks after
 * it may be missing; each has its own list of blocks, as more are added while it runs. */
struct cv_arriving_input {
    struct cv_lazy_reader reader; /* first */
    const struct cv_codec *codec;
    struct cv_packed_block *blocks; /* owned */
    size_t count, room;
    uint64_t out_end;
    int fd;                       /* borrowed; set by the caller, as the next two: */
    uint64_t in, at;              /* byte `in` of the original is byte `at` of the file */
    struct cv_decoded_file *file; /* owned: for reads; NULL: not open */
    uint64_t file_end;            /* out_end when it was opened       */
};

/* *out is owned by the caller. */
enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err);
/* All flows of its reader must have been stopped. */
void cv_arriving_input_free(struct cv_arriving_input *arriving);
/* Append blocks; the last one ends at the decoded byte `out_end`. With count 0, only that changes.
 * *good is false if they are not in order. */
enum cleave_status cv_arriving_input_add(struct cv_arriving_input *arriving,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err);
/* If the original has arrived up to byte `in`: the end of the decoded bytes of complete blocks. */
uint64_t cv_arriving_input_whole(const struct cv_arriving_input *arriving, uint64_t in);
/* The first byte of the original that is needed to decode from `out`. */
uint64_t cv_arriving_input_needs(const struct cv_arriving_input *arriving, uint64_t out);

#endif
