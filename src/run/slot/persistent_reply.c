/* persistent_reply.c -- what a command that stays has written, read as answers.
 * SPDX-License-Identifier: MIT
 *
 * An answer is a length of CV_FRAME bytes, the highest first, and as many bytes; or a length
 * of all ones, which says that the command failed. It may come in any pieces. Where lines are to be
 * seen as they come, it may also come in parts, each with a length of its own, which is marked but
 * for the last. */
#include "run/slot/steady_answer.h"

#include <string.h>

#include "run/slot/persistent_length.h"

enum { LENGTH_BITS = 56 }; /* of an honest length: any text has more */

bool cv_persistent_answered(const struct cv_persistent *persistent)
{
    return persistent->nhead == CV_FRAME && persistent->left == 0 && !persistent->part;
}

/* The length has come. */
static enum cv_answer judge_length(struct cv_persistent *persistent)
{
    uint64_t length = cv_persistent_length(persistent->head);

    persistent->refused = length == UINT64_MAX;
    persistent->part =
        persistent->in_parts && !persistent->refused && (length & CV_STEADY_PART) != 0;
    if (persistent->part)
        length &= ~CV_STEADY_PART;
    if (!persistent->refused && length >> LENGTH_BITS != 0)
        return CV_ANSWER_NO_LENGTH;
    persistent->left = persistent->refused ? 0 : length;
    persistent->begun = persistent->begun || persistent->part;
    return CV_ANSWER_GOOD;
}

enum cv_answer cv_persistent_read(struct cv_persistent *persistent, const char *bytes,
                                  size_t length, struct cv_answer_bytes *out)
{
    size_t missing, head;

    if (persistent->part && persistent->left == 0) { /* the next one */
        persistent->part = false;
        persistent->nhead = 0;
    }
    missing = CV_FRAME - persistent->nhead;
    head = missing < length ? missing : length;
    *out = (struct cv_answer_bytes){ bytes + length, 0 };
    if (!persistent->given || cv_persistent_answered(persistent))
        return CV_ANSWER_UNASKED;
    memcpy(persistent->head + persistent->nhead, bytes, head);
    persistent->nhead += head;
    if (head > 0 && persistent->nhead == CV_FRAME &&
        judge_length(persistent) != CV_ANSWER_GOOD)
        return CV_ANSWER_NO_LENGTH;
    bytes += head;
    length -= head;
    *out = (struct cv_answer_bytes){ bytes, length < persistent->left
                                                ? length
                                                : (size_t)persistent->left };
    persistent->left -= out->length;
    return length > out->length && !persistent->part ? CV_ANSWER_LONG : CV_ANSWER_GOOD;
}
