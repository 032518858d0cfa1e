/* lz4_sample.h -- frames of lz4 of all kinds. SPDX-License-Identifier: MIT */
#ifndef CV_TEST_LZ4_SAMPLE_H
#define CV_TEST_LZ4_SAMPLE_H
#include <lz4frame.h>

#include "ahead_both.h"

enum lz4_kind {
    LZ4_CHECKS = 1,  /* each block has one   */
    LZ4_CHECKED = 2, /* the frame has one    */
    LZ4_SIZED = 4,   /* it says how long it is */
    LZ4_APART = 7,   /* all of these, whose blocks can be decoded apart */
    LZ4_LINKED = 8,  /* blocks cannot        */
};

/* A frame, of blocks of 64 KiB, behind what is there. */
static inline void add_lz4(struct tape *tape, const uint8_t *text, size_t length,
                           unsigned kind)
{
    LZ4F_preferences_t how = { .compressionLevel = 1 };
    size_t made;

    how.frameInfo.blockSizeID = LZ4F_max64KB;
    how.frameInfo.blockMode =
        (kind & LZ4_LINKED) != 0 ? LZ4F_blockLinked : LZ4F_blockIndependent;
    how.frameInfo.blockChecksumFlag =
        (kind & LZ4_CHECKS) != 0 ? LZ4F_blockChecksumEnabled : 0;
    how.frameInfo.contentChecksumFlag =
        (kind & LZ4_CHECKED) != 0 ? LZ4F_contentChecksumEnabled : 0;
    how.frameInfo.contentSize = (kind & LZ4_SIZED) != 0 ? length : 0;
    made = LZ4F_compressFrame(tape->bytes + tape->length, ROOM - tape->length, text,
                              length, &how);
    assert_false(LZ4F_isError(made));
    tape->length += made;
}

#endif
