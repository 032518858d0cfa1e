/* persistent_slot.h -- a slot whose command stays and is given one piece after the other.
 * SPDX-License-Identifier: MIT
 *
 * The command reads frames from its standard input and answers each with one frame on its
 * standard output. A frame is a length of 8 bytes, the first the highest, and so many
 * bytes. Instead of an answer, 8 bytes of all ones say that it could not do the piece: then
 * it is asked again or not, as the user of the slot decides. With mates, a frame of them
 * comes on descriptor 3 for each on standard input. When its input ends the command should
 * end as well, with status 0. What it prints without being asked, or what is no length,
 * makes it useless: it is killed, and the next piece starts another. */
#ifndef CV_PERSISTENT_SLOT_H
#define CV_PERSISTENT_SLOT_H
#include "run/slot/slot.h"

/* After cv_slot_init, before the first start: let the command of this slot stay. It is used
 * by the functions of slot.h. */
void cv_persistent_init(struct cv_slot *slot);

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

enum cv_answer {
    CV_ANSWER_GOOD,      /* as far as it has come               */
    CV_ANSWER_NO_LENGTH, /* it begins with no length            */
    CV_ANSWER_UNASKED,   /* there was nothing to be answered    */
    CV_ANSWER_LONG,      /* it goes on behind its length        */
};

/* Bytes of an answer, without its length. */
struct cv_answer_bytes {
    const char *bytes;
    size_t length;
};

/* Whether the answer to the piece has come, all of it. */
bool cv_persistent_answered(const struct cv_persistent *persistent);
/* Read what has come; *out is of the bytes given and is to be kept, whatever comes of the
 * rest. `refused` tells that the answer is that it failed. Bytes that stand behind *out are of the
 * next part: read on with them. */
enum cv_answer cv_persistent_read(struct cv_persistent *persistent, const char *bytes,
                                  size_t length, struct cv_answer_bytes *out);

#endif
