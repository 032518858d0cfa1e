/* split_warc.c -- records of web archives (ISO 28500). SPDX-License-Identifier: MIT
 *
 * A record is a line WARC/version, lines of fields, an empty line, a block of as many bytes
 * as the field Content-Length says, and two empty lines. The block may hold anything, also
 * what looks like a record, so it is leapt over: nothing of it is read, but where a record
 * begins has to be known from the start of the file on. */
#include "run/split/split_kind.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

enum { GAP, VERSION, FIELDS };

/* What the fields of a line are: walk->sequence is how far it is Content-Length, or: */
enum { OTHER = 1000, NUMBER = 1001 };
static const char length_field[] = "content-length:";
static const char version_line[] = "WARC/";

static enum cleave_status fail_at(struct cv_walk *walk, const char *expected, char got,
                                  struct cleave_error *err)
{
    char shown[8];

    walk->bad = true;
    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected %s, got '%s'",
                   walk->at, expected, cv_shown(&got, 1, shown, sizeof shown));
}

/* The fields have ended at walk->at, the byte behind the empty line: leap over the block. */
static enum cleave_status skip_block(struct cv_walk *walk, struct cleave_error *err)
{
    if (!walk->carriage) {
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "the WARC record at byte %" PRIu64
                       ": expected a field Content-Length, got none",
                       walk->boundary);
    }
    walk->at += walk->quality;
    walk->phase = GAP;
    walk->quality = 0;
    walk->carriage = false;
    return CLEAVE_OK;
}

/* A byte of a line of fields that is not its end; walk->carriage: the length is known. */
static enum cleave_status field_byte(struct cv_walk *walk, char byte,
                                     struct cleave_error *err)
{
    if (walk->sequence < sizeof length_field - 1) {
        walk->sequence = tolower((unsigned char)byte) == length_field[walk->sequence]
                             ? walk->sequence + 1
                             : OTHER;
        if (walk->sequence == sizeof length_field - 1) {
            if (walk->carriage)
                return fail_at(walk, "one field Content-Length, not two", byte, err);
            walk->sequence = NUMBER;
        }
    } else if (walk->sequence == NUMBER && byte >= '0' && byte <= '9') {
        if (walk->quality > UINT64_MAX / 32)
            return fail_at(walk, "a Content-Length of less digits", byte, err);
        walk->quality = 10 * walk->quality + (uint64_t)(byte - '0');
        walk->carriage = true;
    } else if (walk->sequence == NUMBER && byte != ' ' && byte != '\t' && byte != '\r') {
        return fail_at(walk, "a number of bytes as Content-Length", byte, err);
    }
    return CLEAVE_OK;
}

static enum cleave_status next_byte(struct cv_walk *walk, char byte,
                                    struct cleave_error *err)
{
    const bool ends = byte == '\n', empty = walk->line == 0;

    if (walk->phase == GAP) {
        if (byte == '\r' || ends) {
            walk->at++;
            return CLEAVE_OK;
        }
        walk->phase = VERSION;
        walk->begun = true;
    }
    if (walk->phase == VERSION && walk->line < sizeof version_line - 1 &&
        byte != version_line[walk->line])
        return fail_at(walk, "'WARC/' at the start of a record", byte, err);
    if (walk->phase == FIELDS && !ends && !(empty && byte == '\r'))
        CV_TRY(field_byte(walk, byte, err));
    walk->at++;
    if (!ends) {
        walk->line += byte != '\r';
        return CLEAVE_OK;
    }
    walk->line = 0;
    walk->sequence = 0;
    if (walk->phase == FIELDS && empty)
        return skip_block(walk, err);
    walk->phase = FIELDS;
    return CLEAVE_OK;
}

static enum cleave_status walk_warc(const struct cv_splitter *splitter,
                                    struct cv_walk *walk, const char *bytes,
                                    size_t length, struct cleave_error *err)
{
    const uint64_t begin = walk->at;

    (void)splitter;
    while (walk->at - begin < length) {
        const char byte = bytes[walk->at - begin];

        if (walk->phase == GAP && walk->begun && byte != '\r' && byte != '\n') {
            walk->boundary = walk->at;
            walk->found++;
            walk->begun = false;
            if (walk->at >= walk->until)
                break;
        }
        CV_TRY(next_byte(walk, byte, err));
    }
    return CLEAVE_OK;
}

static bool whole_warc(const struct cv_walk *walk)
{
    return walk->phase == GAP;
}

const struct cv_split_kind cv_split_warc = {
    .name = "warc",
    .needs_pass = true,
    .leaps = true,
    .ahead = 1,
    .walk = walk_warc,
    .whole = whole_warc,
};
