/* split_tar.c -- members of tar archives (POSIX ustar, GNU). SPDX-License-Identifier: MIT
 *
 * A member is a head of 512 bytes, which says how many bytes follow, and these, filled up to
 * 512; heads with a long name or with more about the next member belong to that. Blocks of
 * zeros at the end belong to the last one. What members hold is leapt over: it may look like
 * anything, so where a member begins has to be known from the start of the file on. */
#include "run/split/split_kind.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

enum { MEMBER, SAME_MEMBER }; /* walk->phase: whether a head begins a record */

/* Places in a head. walk->line is how much of it has come, walk->quality the size it says,
 * walk->carriage whether that is binary, and walk->sequence has the sum of its bytes, the sum that
 * it says, its type, and of a number whether it has begun and is over. */
enum {
    SIZE = 124,
    SIZE_END = 136,
    CHECK = 148,
    TYPE = 156,
    BLOCK = 512,
    SAYS_AT = 20, /* bits */
    TYPE_AT = 44,
    BEGUN_AT = 52,
    OVER_AT = 53,
};
static const uint64_t SUM_BITS = ((uint64_t)1 << SAYS_AT) - 1, SAYS_BITS = 0xffffff;
static const uint64_t BEGUN = (uint64_t)1 << BEGUN_AT, OVER = (uint64_t)1 << OVER_AT;

static enum cleave_status fail_head(struct cv_walk *walk, const char *got,
                                    struct cleave_error *err)
{
    walk->bad = true;
    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected a head of tar, got %s",
                   walk->at - BLOCK, got);
}

/* Whether a byte of a field is a digit of its number: blanks and zeros may be before it, and
 * behind it, up to the end of the field, may be anything. */
static bool is_digit(struct cv_walk *walk, unsigned char byte)
{
    const bool digit = byte >= '0' && byte <= '7';

    if (walk->line == SIZE || walk->line == CHECK)
        walk->sequence &= ~(BEGUN | OVER);
    if (digit)
        walk->sequence |= BEGUN;
    else if ((walk->sequence & BEGUN) != 0 || (byte != ' ' && byte != '\0'))
        walk->sequence |= OVER;
    return digit && (walk->sequence & OVER) == 0;
}

/* A byte of the size: octal digits, or a number of which the first byte is 0x80. */
static void size_byte(struct cv_walk *walk, unsigned char byte)
{
    if (walk->line == SIZE)
        walk->carriage = (byte & 0x80) != 0;
    if (walk->carriage)
        walk->quality = walk->line == SIZE ? byte & 0x7f : walk->quality << 8 | byte;
    else if (is_digit(walk, byte))
        walk->quality = walk->quality << 3 | (uint64_t)(byte - '0');
}

static void head_byte(struct cv_walk *walk, unsigned char byte)
{
    const bool check = walk->line >= CHECK && walk->line < TYPE;

    walk->sequence += check ? ' ' : byte; /* it stands for blanks in its own sum */
    if (walk->line >= SIZE && walk->line < SIZE_END)
        size_byte(walk, byte);
    if (check && is_digit(walk, byte)) {
        const uint64_t says = walk->sequence >> SAYS_AT & SAYS_BITS;

        walk->sequence &= SUM_BITS | BEGUN;
        walk->sequence |= ((says << 3 | (uint64_t)(byte - '0')) & SAYS_BITS) << SAYS_AT;
    }
    if (walk->line == TYPE)
        walk->sequence |= (uint64_t)byte << TYPE_AT;
}

/* All of a head has come: leap over what follows it. */
static enum cleave_status end_head(struct cv_walk *walk, struct cleave_error *err)
{
    const uint64_t sum = walk->sequence & SUM_BITS;
    const uint64_t says = walk->sequence >> SAYS_AT & SAYS_BITS;
    const char type = (char)(walk->sequence >> TYPE_AT);
    const bool zeros = sum == (uint64_t)' ' * (TYPE - CHECK) && says == 0;
    const bool empty = type >= '1' && type <= '6'; /* links, devices, folders */

    if (!zeros && sum != says)
        return fail_head(walk, "bytes that do not fit their sum", err);
    if (walk->quality > INT64_MAX / 2)
        return fail_head(walk, "a size that cannot be", err);
    if (!zeros && !empty)
        walk->at += (walk->quality + BLOCK - 1) / BLOCK * BLOCK;
    if (!zeros)
        walk->phase = type == 'L' || type == 'K' || type == 'x' ? SAME_MEMBER : MEMBER;
    walk->line = walk->sequence = walk->quality = 0;
    walk->carriage = false;
    return CLEAVE_OK;
}

static enum cleave_status walk_tar(const struct cv_splitter *splitter,
                                   struct cv_walk *walk, const char *bytes, size_t length,
                                   struct cleave_error *err)
{
    const uint64_t begin = walk->at;

    (void)splitter;
    while (walk->at - begin < length) {
        const char byte = bytes[walk->at - begin];

        /* Names are not empty: a block that begins with a zero is one of zeros. */
        if (walk->line == 0 && walk->phase == MEMBER && walk->begun && byte != '\0') {
            walk->boundary = walk->at;
            walk->found++;
            walk->begun = false;
            if (walk->at >= walk->until)
                break;
        }
        walk->begun = true;
        head_byte(walk, (unsigned char)byte);
        walk->at++;
        if (++walk->line == BLOCK)
            CV_TRY(end_head(walk, err));
    }
    return CLEAVE_OK;
}

static bool whole_tar(const struct cv_walk *walk)
{
    return walk->line == 0 && walk->phase == MEMBER;
}

const struct cv_split_kind cv_split_tar = {
    .name = "tar",
    .eats = "tar",
    .needs_pass = true,
    .leaps = true,
    .ahead = 1,
    .walk = walk_tar,
    .whole = whole_tar,
};
