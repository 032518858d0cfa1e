/* persistent_length.h -- the length before a piece, and before an answer, of a command that stays.
 * SPDX-License-Identifier: MIT
 *
 * The highest byte comes first. */
#ifndef CV_PERSISTENT_LENGTH_H
#define CV_PERSISTENT_LENGTH_H
#include "run/slot/slot.h"

/* In a length: it is that of a part of the answer, and others follow. */
#define CV_STEADY_PART (UINT64_C(1) << 62)

static inline uint64_t cv_persistent_length(const unsigned char frame[CV_FRAME])
{
    uint64_t length = 0;

    for (int i = 0; i < CV_FRAME; i++)
        length = length << 8 | frame[i];
    return length;
}

static inline void cv_persistent_length_put(unsigned char frame[CV_FRAME],
                                            uint64_t length)
{
    for (int i = CV_FRAME - 1; i >= 0; i--, length >>= 8)
        frame[i] = (unsigned char)(length & 0xFF);
}

#endif
