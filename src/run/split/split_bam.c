/* split_bam.c -- alignments of BAM, as they are inside BGZF. SPDX-License-Identifier: MIT
 *
 * A head, which every chunk is given: BAM\1, a text, and the names and lengths of references.
 * Then records, each of which begins with its length in four bytes, little-endian as all
 * numbers. Nothing tells a record from other bytes but that the one before ends there. */
#include "run/split/split_kind.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

/* walk->phase: what a number of four bytes is, of which walk->line have come, to
 * walk->quality. walk->sequence: references that are still to come. */
enum { RECORD, MAGIC, TEXT, REFERENCES, NAME };
enum { NUMBER = 4, LEAST = 32 };                 /* bytes; of what every record has */
static const uint64_t MAGIC_NUMBER = 0x014d4142; /* BAM\1 */

static enum cleave_status fail_number(struct cv_walk *walk, const char *expected,
                                      struct cleave_error *err)
{
    walk->bad = true;
    return cv_fail(err, CLEAVE_EINPUT,
                   "byte %" PRIu64 ": expected %s of BAM, got %" PRIu64,
                   walk->at - NUMBER, expected, walk->quality);
}

/* A number has come. */
static enum cleave_status end_number(struct cv_walk *walk, struct cleave_error *err)
{
    const uint64_t number = walk->quality;

    if (walk->phase != MAGIC && number > INT32_MAX)
        return fail_number(walk, "a length", err);
    switch (walk->phase) {
    case MAGIC:
        if (number != MAGIC_NUMBER)
            return fail_number(walk, "the first bytes", err);
        walk->phase = TEXT;
        break;
    case TEXT:
        walk->at += number;
        walk->phase = REFERENCES;
        break;
    case REFERENCES:
        walk->sequence = number;
        walk->phase = number > 0 ? NAME : RECORD;
        break;
    case NAME:
        walk->at += number + NUMBER;
        if (--walk->sequence == 0)
            walk->phase = RECORD;
        break;
    default:
        if (number < LEAST)
            return fail_number(walk, "the length of a record", err);
        walk->at += number;
        walk->begun = true;
    }
    walk->line = walk->quality = 0;
    return CLEAVE_OK;
}

static enum cleave_status walk_bam(const struct cv_splitter *splitter,
                                   struct cv_walk *walk, const char *bytes, size_t length,
                                   struct cleave_error *err)
{
    const uint64_t begin = walk->at;

    (void)splitter;
    while (walk->at - begin < length) {
        const uint64_t byte = (unsigned char)bytes[walk->at - begin];

        if (walk->at == 0)
            walk->phase = MAGIC;
        if (walk->line == 0 && walk->phase == RECORD && walk->begun) {
            walk->boundary = walk->at;
            walk->found++;
            walk->begun = false;
            if (walk->at >= walk->until)
                break;
        }
        walk->quality |= byte << (8 * walk->line);
        walk->at++;
        if (++walk->line == NUMBER)
            CV_TRY(end_number(walk, err));
    }
    return CLEAVE_OK;
}

static bool whole_bam(const struct cv_walk *walk)
{
    return walk->line == 0 && walk->phase == RECORD;
}

/* --- the head ------------------------------------------------------------------------------- */

static bool number_at(const char *bytes, size_t length, size_t *at, uint64_t *out)
{
    *out = 0;
    if (*at > length || length - *at < NUMBER)
        return false;
    for (unsigned i = 0; i < NUMBER; i++)
        *out |= (uint64_t)(unsigned char)bytes[(*at)++] << (8 * i);
    return true;
}

static bool head_bam(const struct cv_splitter *splitter, const char *bytes, size_t length,
                     size_t *out)
{
    size_t at = 0;
    uint64_t magic, number, references;

    (void)splitter;
    *out = 0;
    if (!number_at(bytes, length, &at, &magic))
        return false;
    if (magic != MAGIC_NUMBER) /* the walk will say so */
        return true;
    if (!number_at(bytes, length, &at, &number))
        return false;
    at += number;
    if (!number_at(bytes, length, &at, &references))
        return false;
    for (; references > 0; references--) {
        if (!number_at(bytes, length, &at, &number))
            return false;
        at += number + NUMBER;
    }
    if (at > length)
        return false;
    *out = at;
    return true;
}

const struct cv_split_kind cv_split_bam = {
    .name = "bam",
    .eats = "BAM",
    .needs_pass = true,
    .leaps = true,
    .frames = true,
    .bare = true,
    .ahead = 1,
    .walk = walk_bam,
    .head = head_bam,
    .whole = whole_bam,
};
