/* fuzz_persistent.c -- anything that a command that stays could write.
 * SPDX-License-Identifier: MIT
 *
 * The bytes come in pieces, whose lengths the first bytes name, and each answer is followed
 * by the next question. The first byte allows answers in parts, as leaders send them.
 * Kept bytes, failed answers, and the final error must equal those of a parser that reads
 * all bytes at once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/slot/persistent_slot.h"
#include "fuzz_target.h"

enum { LENGTHS = 4 };

#define require(truth) require_at(truth, #truth, __LINE__)

static void require_at(int truth, const char *text, int line)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz_persistent.c:%d: %s\n", line, text);
    abort();
}

/* Result: all bytes kept, in order, and a mark after each answer. */
struct heard {
    unsigned char *bytes; /* owned */
    size_t length, answers, refusals, laters;
    bool no_length;
};

/* From the definition, all at once. */
static void read_whole(const uint8_t *data, size_t size, bool in_parts, struct heard *out)
{
    size_t at = 0;
    bool part;

    while (size - at >= CV_FRAME) {
        uint64_t length = 0;

        for (size_t i = 0; i < CV_FRAME; i++)
            length = length * 256 + data[at + i];
        at += CV_FRAME;
        if (length == UINT64_MAX) {
            out->refusals++;
            out->answers++;
            continue;
        }
        if (length >> 56 == 2) { /* later */
            out->laters++;
            out->answers++;
            continue;
        }
        part = in_parts && (length & CV_STEADY_PART) != 0;
        if (part)
            length &= ~CV_STEADY_PART;
        out->no_length = length >= UINT64_C(1) << 56;
        if (out->no_length)
            return;
        if (length > size - at) {
            memcpy(out->bytes + out->length, data + at, size - at);
            out->length += size - at;
            return;
        }
        memcpy(out->bytes + out->length, data + at, (size_t)length);
        out->length += (size_t)length;
        at += (size_t)length;
        out->answers += !part;
    }
}

static void ask(struct cv_persistent *persistent)
{
    persistent->given = true;
    persistent->refused = false;
    persistent->part = persistent->begun = false;
    persistent->nhead = 0;
    persistent->left = 0;
}

/* Length of the current answer in the next bytes: a reader of answers never gets more. */
static size_t due(const struct cv_persistent *persistent)
{
    if (persistent->nhead == CV_FRAME && persistent->left == 0)
        return CV_FRAME; /* length of the next part */
    return persistent->nhead < CV_FRAME ? CV_FRAME - persistent->nhead
           : persistent->left < 1000    ? (size_t)persistent->left
                                        : 1000;
}

static void read_pieces(const uint8_t *lengths, const uint8_t *data, size_t size,
                        bool in_parts, struct heard *out)
{
    struct cv_persistent persistent = { .given = false, .in_parts = in_parts };
    struct cv_answer_bytes kept;
    size_t turn = 0;

    require(cv_persistent_read(&persistent, "x", 1, &kept) == CV_ANSWER_UNASKED &&
            kept.length == 0);
    ask(&persistent);
    for (size_t at = 0, some; at < size; at += some) {
        enum cv_answer answer;
        char *exact;

        some = 1 + lengths[turn++ % LENGTHS] % 64;
        some = some < due(&persistent) ? some : due(&persistent);
        some = some < size - at ? some : size - at;
        exact = malloc(some);
        require(exact != NULL);
        memcpy(exact, data + at, some);
        answer = cv_persistent_read(&persistent, exact, some, &kept);
        require(kept.length <= some);
        if (kept.length > 0)
            memcpy(out->bytes + out->length, kept.bytes, kept.length);
        out->length += kept.length;
        free(exact);
        out->no_length = answer == CV_ANSWER_NO_LENGTH;
        if (out->no_length)
            return;
        require(answer == CV_ANSWER_GOOD);
        if (!cv_persistent_answered(&persistent))
            continue;
        require(cv_persistent_read(&persistent, "x", 1, &kept) == CV_ANSWER_UNASKED);
        out->answers++;
        out->refusals += persistent.refused;
        out->laters += persistent.later_s > 0;
        ask(&persistent);
    }
}

/* More than the answer in one piece: its bytes are kept, and no others. */
static void read_too_much(const uint8_t *data, size_t size)
{
    struct cv_persistent persistent = { .given = false };
    struct cv_answer_bytes kept;
    struct heard first = { .bytes = malloc(size + 1) };
    enum cv_answer answer;

    require(first.bytes != NULL);
    ask(&persistent);
    answer = cv_persistent_read(&persistent, (const char *)data, size, &kept);
    read_whole(data, size, false, &first);
    require(kept.length <= first.length);
    require(kept.length == 0 || memcmp(kept.bytes, first.bytes, kept.length) == 0);
    if (answer == CV_ANSWER_LONG)
        require(cv_persistent_answered(&persistent) && first.answers > 0);
    if (answer == CV_ANSWER_NO_LENGTH)
        require(first.no_length && first.answers == 0);
    free(first.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heard whole = { .bytes = NULL }, pieces = { .bytes = NULL };
    bool in_parts;

    if (size < LENGTHS)
        return 0;
    whole.bytes = malloc(size);
    pieces.bytes = malloc(size);
    require(whole.bytes != NULL && pieces.bytes != NULL);
    in_parts = data[0] >= 128;
    read_whole(data + LENGTHS, size - LENGTHS, in_parts, &whole);
    read_pieces(data, data + LENGTHS, size - LENGTHS, in_parts, &pieces);
    require(whole.no_length == pieces.no_length);
    require(whole.answers == pieces.answers && whole.refusals == pieces.refusals &&
            whole.laters == pieces.laters);
    require(whole.length == pieces.length &&
            memcmp(whole.bytes, pieces.bytes, whole.length) == 0);
    if (size > LENGTHS)
        read_too_much(data + LENGTHS, size - LENGTHS);
    free(whole.bytes);
    free(pieces.bytes);
    return 0;
}
