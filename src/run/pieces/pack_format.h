/* pack_format.h -- compressed formats that are written. SPDX-License-Identifier: MIT */
#ifndef CV_PACK_FORMAT_H
#define CV_PACK_FORMAT_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>
#include "run/common/transfer.h"

/* A compressed format. Files consist of parts that can be decoded alone, so that they can be cut and
 * decoded in parallel: BGZF for .gz, frames of zstd and lz4, streams of xz and bzip2. */
struct cv_pack_format {
    const char *ending;  /* such as ".gz"                                  */
    const char *magic;   /* the first bytes of a file                      */
    size_t part;         /* bytes of a part before compression             */
    void *(*open)(void); /* NULL: there is no state; returns NULL: no memory */
    void (*close)(void *state);
    size_t (*bound)(size_t length); /* largest size of a part that was compressed     */
    /* The size of a part that was made of `length` bytes, which may be 0; returns 0: failed. */
    size_t (*pack)(void *state, const char *bytes, size_t length, char *out, size_t room);
    const char *end; /* the last bytes of a file; NULL: none, and "" is one part */
    size_t end_bytes;
    bool has_table; /* lists its parts at the end: the seekable format of zstd */
};

/* The format by the ending of a name; NULL: none. */
const struct cv_pack_format *cv_pack_format_find(const char *name);
/* Fails if the name ends as those of a compressed format or an archive that is not written. */
enum cleave_status cv_pack_format_check(const char *name, struct cleave_error *err);

/* The table of the seekable format of zstd: bytes of each frame, compressed and decoded. Decoders
 * read it instead of all frame headers. */
void cv_pack_table_add(struct cv_packer *table, size_t packed, size_t length);
void cv_pack_table_end(struct cv_packer *table, size_t parts);

#endif
