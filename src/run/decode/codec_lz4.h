/* codec_lz4.h -- heads of frames of lz4. SPDX-License-Identifier: MIT */
#ifndef CV_CODEC_LZ4_H
#define CV_CODEC_LZ4_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CV_LZ4_LEAST = 7,    /* bytes that every head has                          */
    CV_LZ4_LONGEST = 19, /* ... that one can have                              */
    CV_LZ4_BLOCK = 4,    /* of the head of a block: its length, 0 at the end   */
    CV_LZ4_CHECK = 4,    /* of a check                                         */
};

#define CV_LZ4_STORED 0x80000000u /* in the head of a block: it is not compressed */

struct cv_lz4_head {
    bool apart;   /* each block can be decoded without those before     */
    bool checks;  /* a check stands behind each block                   */
    bool checked; /* ... and behind the last one, of all that is decoded */
    bool sized;   /* `size` is how much that is                         */
    uint64_t size;
    size_t max; /* bytes of a block, at most                          */
};

/* How long a head is, of which the first five bytes are given. */
size_t cv_lz4_head_length(const uint8_t *bytes);
/* False: it is none. */
bool cv_lz4_head_read(const uint8_t *bytes, struct cv_lz4_head *head);
/* One of CV_LZ4_LEAST bytes for blocks of a frame, which has neither a size nor a check of all. */
void cv_lz4_head_make(const struct cv_lz4_head *head, uint8_t *bytes);
/* A number as lz4 writes it. */
uint32_t cv_lz4_number(const uint8_t *bytes);

#endif
