/* packed_frame.h -- what a piece is that comes as it lies in a compressed file.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PACKED_FRAME_H
#define CV_PACKED_FRAME_H
#include "base/arena.h"
#include "run/common/transfer.h"
#include "run/common/piece_part.h"
#include "run/common/range_set.h"

enum { CV_PACKED_BLOCKS = 8192 }; /* in a frame: there may be several */

struct cv_remote_packed {
    const char *form;     /* its name, as of --decode                                  */
    struct cv_range body; /* of the file, decoded                                      */
    struct cv_range in;   /* what comes for that                                       */
    uint64_t file; /* it does not come: it is in this file of the job, + 1; 0: it comes */
    uint64_t header; /* ... and so many bytes of a header come before                  */
    enum cv_closing
        closing;      /* follows the body, and does not come                       */
    uint64_t out_end; /* where the last of all blocks that were told ends, decoded */
    struct cv_packed_block *blocks; /* that were not told before */
    size_t nblocks;
};

/* A body that a command gives (run/fetch/fetch_command.h). */
struct cv_remote_drawn {
    const char *line, *name; /* the line for a shell, the name of the input          */
    uint64_t size;           /* of that                                              */
    struct cv_range body;
    enum cv_closing closing;
};

void cv_pack_drawn(struct cv_packer *packer, const struct cv_remote_drawn *drawn);
bool cv_unpack_drawn(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_remote_drawn *out);
void cv_pack_packed(struct cv_packer *packer, const struct cv_remote_packed *packed);
bool cv_unpack_packed(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_remote_packed *out);

#endif
