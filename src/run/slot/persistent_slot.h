/* persistent_slot.h -- a slot whose command processes many pieces. SPDX-License-Identifier: MIT
 *
 * The command reads frames from its standard input and answers each by one frame on its standard
 * output. A frame is a length of 8 bytes, highest first, and as many bytes. A length of all ones
 * instead of an answer means that the piece failed. If lines are to be seen early, an answer may
 * have several parts, each with its length; CV_STEADY_PART is set in all lengths but the last.
 * With mates, descriptor 3 has a frame of them for each frame on standard input. At the end of
 * its input the command should exit with status 0. A command that writes anything else is killed,
 * and the next piece starts another one. */
#ifndef CV_PERSISTENT_SLOT_H
#define CV_PERSISTENT_SLOT_H
#include "run/slot/slot.h"

/* After cv_slot_init and before the first start: make the slot a persistent one. */
void cv_persistent_init(struct cv_slot *slot);

/* Give the piece of the slot to the command: a frame for each of the feeders. */
enum cleave_status cv_persistent_put(struct cv_slot *slot, struct cv_pipe_feeder *in,
                                     struct cv_pipe_feeder *mate,
                                     struct cleave_error *err);

/* In a length: other parts of the answer follow. */
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

struct cv_answer_head {
    enum { CV_ANSWER_BYTES, CV_ANSWER_FAILED, CV_ANSWER_LATER } kind;
    bool numbered;
    uint16_t number;
    uint64_t value; /* bytes that follow, or milliseconds */
};

/* False: an answer cannot begin with these bytes. */
bool cv_answer_head_read(const unsigned char frame[CV_FRAME], struct cv_answer_head *out);
/* Seconds of CV_ANSWER_LATER: at least a millisecond, at most a day. */
double cv_answer_later_s(const struct cv_answer_head *answer);

/* How the command failed, and the error of a run whose command has never answered properly. */
#define CV_BAD_LENGTH "answered with an invalid length"
enum cleave_status cv_fail_not_persistent(const struct cv_command *command,
                                          const unsigned char head[CV_FRAME],
                                          struct cleave_error *err);

enum cv_answer {
    CV_ANSWER_GOOD,      /* so far */
    CV_ANSWER_NO_LENGTH, /* the length is not plausible */
    CV_ANSWER_UNASKED,   /* no answer is due */
    CV_ANSWER_LONG,      /* more bytes than its length */
};

/* Bytes of an answer, without its length. */
struct cv_answer_bytes {
    const char *bytes;
    size_t length;
};

/* Whether the answer is complete. */
bool cv_persistent_answered(const struct cv_persistent *persistent);
/* Parse output of the command. *out is a part of `bytes` and belongs to the answer, whatever is
 * returned. Bytes after *out belong to the next part: call it again. */
enum cv_answer cv_persistent_read(struct cv_persistent *persistent, const char *bytes,
                                  size_t length, struct cv_answer_bytes *out);

#endif
