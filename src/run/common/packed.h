/* packed.h -- bytes of a compressed file that are decoded somewhere else.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PACKED_H
#define CV_PACKED_H
#include <stdint.h>

enum { CV_PACKED_HEAD = 12 }; /* bytes of the head of a stream of xz */

/* A block that can be decoded by itself. */
struct cv_packed_block {
    uint64_t in, out;             /* where it begins, in the file and decoded */
    uint8_t head[CV_PACKED_HEAD]; /* of xz: what has to stand before it       */
};

#endif
