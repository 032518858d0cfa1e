/* item_message.h -- an item on its way to another machine and back. SPDX-License-Identifier: MIT
 *
 * A piece that is an item has a head, which says what is to be run, and the bytes of its files one
 * behind the other; behind them a byte that says whether all of them were read as announced. What
 * comes back behind the output is a head and the bytes of files, too. */
#ifndef CV_ITEM_MESSAGE_H
#define CV_ITEM_MESSAGE_H
#include "base/arena.h"
#include "run/common/piece_part.h"
#include "run/common/transfer.h"

enum { CV_PARCEL_HEAD_MOST = 64 << 20, CV_PARCEL_GOOD = 1, CV_PARCEL_BAD = 2 };

struct cv_item_message_file {
    const char
        *name; /* over there: absolute, or from the folder of the worker on          */
    uint64_t size, mode;
    int64_t mtime_ns;
    bool
        travels; /* its bytes come; else the same file has to be there                   */
    struct cv_content_hash
        ends; /* of one that does not: of its first and last 64 KiB   */
};

/* There. */
struct cv_item_message {
    uint64_t item;
    const char **words, **told; /* of the command; variables, NAME=VALUE; ended by NULL */
    const char **returns;       /* names of files that come back                       */
    struct cv_item_message_file
        *files; /* the first `nbase` are for all items                  */
    uint64_t nfiles, nbase;
    bool errors; /* what it writes to standard error comes back as well             */
    const char
        *fault; /* why it cannot be run; "": it can                                */
};

/* And back, in the order of `returns`; the first one is standard error, if asked for. */
struct cv_item_message_back {
    struct cv_item_message_file
        *files; /* without names; one that was not found does not travel */
    uint64_t nfiles;
};

void cv_pack_parcel(struct cv_packer *packer, const struct cv_item_message *message);
bool cv_unpack_parcel(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_item_message *out);
void cv_pack_back(struct cv_packer *packer, const struct cv_item_message_back *back);
bool cv_unpack_back(const void *bytes, size_t length, struct cv_arena *arena,
                    struct cv_item_message_back *out);

#endif
