/* steady_answer.h -- what a command that stays has written, read as answers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STEADY_ANSWER_H
#define CV_STEADY_ANSWER_H
#include "run/slot/slot.h"

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
