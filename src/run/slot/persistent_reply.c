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

bool cv_persistent_answered(const struct cv_persistent *steady)
{
    return steady->nhead == CV_FRAME && steady->left == 0 && !steady->part;
}

/* The length has come. */
static enum cv_answer judge_length(struct cv_persistent *steady)
{
    uint64_t length = cv_persistent_length(steady->head);

    steady->refused = length == UINT64_MAX;
    steady->part = steady->in_parts && !steady->refused && (length & CV_STEADY_PART) != 0;
    if (steady->part)
        length &= ~CV_STEADY_PART;
    if (!steady->refused && length >> LENGTH_BITS != 0)
        return CV_ANSWER_NO_LENGTH;
    steady->left = steady->refused ? 0 : length;
    steady->begun = steady->begun || steady->part;
    return CV_ANSWER_GOOD;
}

enum cv_answer cv_persistent_read(struct cv_persistent *steady, const char *bytes,
                                  size_t length, struct cv_answer_bytes *out)
{
    size_t missing, head;

    if (steady->part && steady->left == 0) { /* the next one */
        steady->part = false;
        steady->nhead = 0;
    }
    missing = CV_FRAME - steady->nhead;
    head = missing < length ? missing : length;
    *out = (struct cv_answer_bytes){ bytes + length, 0 };
    if (!steady->given || cv_persistent_answered(steady))
        return CV_ANSWER_UNASKED;
    memcpy(steady->head + steady->nhead, bytes, head);
    steady->nhead += head;
    if (head > 0 && steady->nhead == CV_FRAME && judge_length(steady) != CV_ANSWER_GOOD)
        return CV_ANSWER_NO_LENGTH;
    bytes += head;
    length -= head;
    *out =
        (struct cv_answer_bytes){ bytes,
                                  length < steady->left ? length : (size_t)steady->left };
    steady->left -= out->length;
    return length > out->length && !steady->part ? CV_ANSWER_LONG : CV_ANSWER_GOOD;
}
