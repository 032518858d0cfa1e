/* split_fastq.c -- splitter of sequences with qualities. SPDX-License-Identifier: MIT
 *
 *   fastq   before the @ of every record: a line that begins with @, lines of sequence, a line that
 *           begins with +, and lines of quality with as many bytes as the sequence. Other bytes are an
 *           error, except for empty lines between records and an incomplete last record
 *
 * A line of quality may begin with @ or +; a line of sequence cannot, which reveals a walk that began
 * at the wrong @ (cut_file.c). */
#include "run/split/split_kind.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

enum { GAP, NAME, SEQUENCE, PLUS, QUALITY };

/* The error at the start of a line. */
static enum cleave_status fail_line(struct cv_walk *walk, const char *expected, char got,
                                    struct cleave_error *err)
{
    const uint64_t line = walk->at - walk->line;

    walk->bad = true;
    if (got >= ' ' && got <= '~')
        return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected %s, got '%c'",
                       line, expected, got);
    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected %s, got byte 0x%02x",
                   line, expected, (unsigned)(unsigned char)got);
}

/* The first byte of a line. *stop: the walk ends here. */
static enum cleave_status begin_line(struct cv_walk *walk, char first, bool *stop,
                                     struct cleave_error *err)
{
    if (walk->phase == SEQUENCE) {
        if (first == '@')
            return fail_line(walk, "a sequence or '+'", first, err);
        if (first == '+')
            walk->phase = PLUS;
    } else if (walk->phase == GAP && first == '@') {
        if (walk->begun) {
            *stop = !cv_walk_begin_record(walk) || walk->found >= walk->max;
            if (*stop)
                return CLEAVE_OK;
        }
        walk->begun = true;
        walk->phase = NAME;
    } else if (walk->phase == GAP && first != '\n' && first != '\r') {
        return fail_line(walk, "'@' at the start of a FASTQ record", first, err);
    }
    return CLEAVE_OK;
}

static enum cleave_status end_line(struct cv_walk *walk, uint64_t length,
                                   struct cleave_error *err)
{
    switch (walk->phase) {
    case NAME:
        walk->phase = SEQUENCE;
        walk->sequence = walk->quality = 0;
        break;
    case SEQUENCE:
        walk->sequence += length;
        break;
    case PLUS:
        walk->phase = walk->sequence > 0 ? QUALITY : GAP;
        break;
    case QUALITY:
        walk->quality += length;
        if (walk->quality == walk->sequence)
            walk->phase = GAP;
        if (walk->quality <= walk->sequence)
            break;
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "the FASTQ record at byte %" PRIu64 ": expected a quality of "
                       "%" PRIu64 " bytes, as long as the sequence, got %" PRIu64,
                       walk->boundary, walk->sequence, walk->quality);
    default:
        if (length > 0)
            return fail_line(walk, "'@' at the start of a FASTQ record", '\r', err);
    }
    return CLEAVE_OK;
}

static enum cleave_status walk_fastq(const struct cv_splitter *splitter,
                                     struct cv_walk *walk, const char *bytes,
                                     size_t length, struct cleave_error *err)
{
    const char *const end = bytes + length;
    bool stop = false;

    (void)splitter;
    while (bytes < end) {
        const char *newline;
        size_t part;

        if (walk->line == 0) {
            CV_TRY(begin_line(walk, *bytes, &stop, err));
            if (stop)
                break;
        }
        newline = memchr(bytes, '\n', (size_t)(end - bytes));
        part = (size_t)((newline != NULL ? newline : end) - bytes);
        if (part > 0)
            walk->carriage = bytes[part - 1] == '\r';
        walk->line += part;
        walk->at += part;
        bytes += part;
        if (newline == NULL)
            break;
        CV_TRY(end_line(walk, walk->line - walk->carriage, err));
        walk->line = 0;
        walk->carriage = false;
        walk->at++;
        bytes++;
    }
    return CLEAVE_OK;
}

static bool whole_fastq(const struct cv_walk *walk)
{
    return walk->phase == GAP ||
           (walk->phase == QUALITY &&
            walk->quality + walk->line - walk->carriage == walk->sequence) ||
           (walk->phase == PLUS && walk->sequence == 0);
}

const struct cv_split_kind cv_split_fastq = {
    .name = "fastq",
    .pairs = true,
    .ahead = 1,
    .walk = walk_fastq,
    .whole = whole_fastq,
};
