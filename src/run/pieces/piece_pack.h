/* piece_pack.h -- forms that files can be compressed to. SPDX-License-Identifier: MIT
 *
 * All of them are made of parts that can be decoded alone, so that the files can be cut and
 * decoded in parallel again: BGZF for .gz, frames of zstd and lz4, streams of xz and bzip2. */
#ifndef CV_PIECE_PACK_H
#define CV_PIECE_PACK_H
#include <stddef.h>
#include "run/common/transfer.h"

struct cv_pack_form {
    const char *ending;  /* of names, as ".gz" */
    size_t part;         /* bytes of a part, before compression */
    void *(*open)(void); /* NULL: no memory */
    void (*close)(void *state);
    size_t (*bound)(size_t length); /* most bytes that a part may have */
    /* Bytes that were made of `length` others, which may be 0; 0: it failed. */
    size_t (*pack)(void *state, const char *bytes, size_t length, char *out, size_t room);
    /* What stands at the end of the file; of none, a part of no bytes. */
    const char *end;
    size_t end_bytes;
    /* Add what the table at the end of the file says of a part, and make that table of all of
     * it; NULL: it has none. */
    void (*note)(struct cv_packer *table, size_t packed, size_t length);
    void (*tell)(struct cv_packer *table, size_t parts);
};

/* The form that a name asks for; NULL: none. */
const struct cv_pack_form *cv_pack_form_of(const char *name);

#endif
