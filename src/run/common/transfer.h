/* transfer.h -- data for other machines: packed values, compressed frames, files of items.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TRANSFER_H
#define CV_TRANSFER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "base/arena.h"

/* Numbers of up to 8 bytes, lowest first. */
static inline uint64_t cv_little_endian(const void *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count > 0)
        value = value << 8 | ((const unsigned char *)bytes)[--count];
    return value;
}

static inline void cv_put_little_endian(void *out, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, value >>= 8)
        ((unsigned char *)out)[i] = (unsigned char)value;
}

/* A number has 8 bytes; a text is its length and its bytes. `failed` stays set
 * after an error, so that callers check it once at the end. */
struct cv_packer {
    unsigned char *bytes; /* owned */
    size_t length, room;
    bool failed; /* out of memory */
};

void cv_pack_done(struct cv_packer *packer);
void cv_pack_number(struct cv_packer *packer, uint64_t value);
void cv_pack_real(struct cv_packer *packer, double value);
/* The bytes without their length. */
void cv_pack_raw(struct cv_packer *packer, const void *bytes, size_t length);
void cv_pack_text(struct cv_packer *packer, const char *text);

struct cv_unpacker {
    const unsigned char *bytes; /* borrowed */
    size_t left;
    bool failed; /* too few bytes, or out of memory */
};

uint64_t cv_unpack_number(struct cv_unpacker *unpacker);
double cv_unpack_real(struct cv_unpacker *unpacker);
/* A copy in the arena; "" on failure. */
const char *cv_unpack_text(struct cv_unpacker *unpacker, struct cv_arena *arena);
/* The number of elements that follow; fails if they do not fit at `min` bytes each. */
size_t cv_unpack_count(struct cv_unpacker *unpacker, size_t min);
/* Nothing failed and no byte is left. */
bool cv_unpack_good(const struct cv_unpacker *unpacker);

/* Compression of a link pays if it saves more bytes per second than the link moves. The savings
 * are measured on the data of the run, now and then again; the user measures the link. */
struct cv_link_compressor {
    void *in, *out;   /* owned: contexts of zstd */
    double saves_Bps; /* bytes saved per second of compressing; < 0: unknown */
    uint32_t skipped; /* frames since the last measurement */
};

void cv_link_compressor_init(struct cv_link_compressor *compressor);
void cv_link_compressor_done(struct cv_link_compressor *compressor);
/* Compress into `out`, of at least `length` bytes, if that pays on a link of `link_Bps` (0:
 * unknown). Returns the compressed size; 0: send the bytes uncompressed. */
size_t cv_link_compressor_put(struct cv_link_compressor *compressor, double link_Bps,
                              const void *bytes, size_t length, void *out);
/* Decompress at most `max` bytes; false: damaged, or too long. */
bool cv_link_compressor_get(struct cv_link_compressor *compressor, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length);

/* The name of a file on the other machine: the part after "/./", else the name. Fails for a name
 * that is not one of a file or that leaves the directory. */
enum cleave_status cv_item_transfer_name(const char *name, const char **out,
                                         struct cleave_error *err);

struct cv_item_transfer_file {
    int fd; /* borrowed: bytes [begin, end) are the contents */
    uint64_t begin, end;
    unsigned mode;
    int64_t mtime_ns;
    bool overwrites; /* even a write-protected file */
};
/* Write a temporary file, creating directories, and rename it to `path`. */
enum cleave_status cv_item_transfer_put(const char *path,
                                        const struct cv_item_transfer_file *file,
                                        struct cleave_error *err);
/* Remove a file, if it exists, and the empty directories of a relative path. */
void cv_item_transfer_remove(const char *path);

#endif
