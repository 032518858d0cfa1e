/* transfer.h -- numbers and texts as bytes, for the payload of frames.
 * SPDX-License-Identifier: MIT
 *
 * Numbers have 8 bytes, the lowest first; a text is its length and its bytes. Whoever
 * reads asks once, at the end, whether all was there. */
#ifndef CV_TRANSFER_H
#define CV_TRANSFER_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

struct cv_packer {
    unsigned char *bytes; /* owned */
    size_t length, room;
    bool failed; /* memory was short */
};

void cv_pack_done(struct cv_packer *packer);
void cv_pack_number(struct cv_packer *packer, uint64_t value);
void cv_pack_real(struct cv_packer *packer, double value);
/* The bytes alone, without their length. */
void cv_pack_raw(struct cv_packer *packer, const void *bytes, size_t length);
void cv_pack_text(struct cv_packer *packer, const char *text);

struct cv_unpacker {
    const unsigned char *bytes; /* borrowed */
    size_t left;
    bool failed; /* there was less than was asked for, or memory was short */
};

uint64_t cv_unpack_number(struct cv_unpacker *unpacker);
double cv_unpack_real(struct cv_unpacker *unpacker);
/* A copy in the arena; "" when there is none. */
const char *cv_unpack_text(struct cv_unpacker *unpacker, struct cv_arena *arena);
/* How many things of at least `least` bytes follow: no more than there can be. */
size_t cv_unpack_count(struct cv_unpacker *unpacker, size_t min);
/* All was there, and nothing is left. */
bool cv_unpack_good(const struct cv_unpacker *unpacker);

struct cv_link_compressor {
    void *in, *out; /* owned: contexts of zstd                                          */
    double saves_Bps; /* bytes saved in a second of compressing; below 0: not known */
    uint32_t skipped; /* times it has not been tried since                          */
};

void cv_link_compressor_init(struct cv_link_compressor *compressor);
void cv_link_compressor_done(struct cv_link_compressor *compressor);
/* Compress into `out`, which has room for `length` bytes, if that pays on a link of
 * `link_Bps` (0: not known). Returns how many bytes it became, 0: better as it is. */
size_t cv_link_compressor_put(struct cv_link_compressor *compressor, double link_Bps,
                              const void *bytes, size_t length, void *out);
/* The bytes again, at most `most`; false when they are damaged or more. */
bool cv_link_compressor_get(struct cv_link_compressor *compressor, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length);

/* What a name is over there: what is behind "/./", else the same. Fails if that is no name of
 * a file, or could lead out of the folder that it begins in. */
enum cleave_status cv_item_transfer_name(const char *name, const char **out,
                                         struct cleave_error *err);

struct cv_item_transfer_file {
    int fd; /* borrowed: it is these bytes of it                                  */
    uint64_t begin, end;
    unsigned mode;
    int64_t mtime_ns;
    bool
        overwrites; /* also one that is write-protected                                 */
};
/* Write it beside its place, folders included, and rename it when it is whole. */
enum cleave_status cv_item_transfer_put(const char *path,
                                        const struct cv_item_transfer_file *file,
                                        struct cleave_error *err);
/* Remove it and, of a name that is not absolute, the folders that are empty then. One that is
 * not there is no error. */
void cv_item_transfer_remove(const char *path);

#endif
