/* persistent_slot.h -- slots that share a persistent command, which holds a piece of each.
 * SPDX-License-Identifier: MIT
 *
 * The command reads frames from its standard input and answers each by one frame on its standard
 * output. A frame is a length of 8 bytes, highest first, and as many bytes. A length of all ones
 * instead of an answer means that the piece failed. If lines are to be seen early, an answer may
 * have several parts, each with its length; CV_STEADY_PART is set in all lengths but the last.
 * With mates, descriptor 3 has a frame of them for each frame on standard input. At the end of
 * its input the command should exit with status 0. A command that writes anything else is killed,
 * and the next piece starts another one.
 *
 * The command may read several frames before it answers, as many as CLEAVE_WINDOW says; without
 * that, one. It numbers them itself: the first one of a process is 0, and 0 follows 65535. The
 * first byte of an answer, which is 0 in a length, tells its kind:
 *
 *   00 L L L L L L L   the oldest piece: L bytes follow
 *   02 T T T T T T T   the oldest piece: later, in T milliseconds
 *   80 N N L L L L L   piece N: L bytes follow
 *   81 N N 0 0 0 0 0   piece N failed
 *   82 N N T T T T T   piece N: later
 *   FF FF .. FF        the oldest piece failed
 *
 * So a command that knows of no window answers in the order of its input.
 *
 * A process that fails while it holds one piece has failed with that piece. If it held several,
 * another process gets each of them alone: only the piece that ends a process alone has failed.
 * Bytes that do not begin an answer may belong to an earlier piece, so cleave gives even a single
 * piece of a window once more, alone. */
#ifndef CV_PERSISTENT_SLOT_H
#define CV_PERSISTENT_SLOT_H
#include "run/slot/slot.h"

/* After cv_slot_init and before the first start: share the command of `first`, or, if that is
 * NULL, have a command that up to `count` slots share. cv_slot_free ends it with its last slot. */
enum cleave_status cv_persistent_init(struct cv_slot *slot, struct cv_slot *first,
                                      uint32_t count, struct cleave_error *err);
/* Set CLEAVE_WINDOW, the number of pieces that the command may hold; 0: leave it unset. */
enum cleave_status cv_window_tell(struct cv_command *command, uint32_t count,
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

#endif
