/* split_leaps.c -- records of web archives (ISO 28500). SPDX-License-Identifier: MIT
 *
 * A record is a line WARC/version, lines of fields, an empty line, a block of as many bytes
 * as the field Content-Length says, and two empty lines. The block may hold anything, also
 * what looks like a record, so it is leapt over: nothing of it is read, but where a record
 * begins has to be known from the start of the file on. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_kind.h"

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

/* --- members of tar archives (POSIX ustar, GNU) ------------------------------------ */

/* A member is a head of 512 bytes, which says how many bytes follow, and these, filled up to
 * 512; heads with a long name or with more about the next member belong to that. Blocks of
 * zeros at the end belong to the last one. What members hold is leapt over: it may look like
 * anything, so where a member begins has to be known from the start of the file on. */

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

/* --- alignments of BAM, as they are inside BGZF ------------------------------------ */

/* A head, which every chunk is given: BAM\1, a text, and the names and lengths of references.
 * Then records, each of which begins with its length in four bytes, little-endian as all
 * numbers. Nothing tells a record from other bytes but that the one before ends there. */

/* walk->phase: what a number of four bytes is, of which walk->line have come, to
 * walk->quality. walk->sequence: references that are still to come. */
enum { RECORD, MAGIC, TEXT, REFERENCES, NAME };
enum { BAM_NUMBER = 4, LEAST = 32 };             /* bytes; of what every record has */
static const uint64_t MAGIC_NUMBER = 0x014d4142; /* BAM\1 */

static enum cleave_status fail_number(struct cv_walk *walk, const char *expected,
                                      struct cleave_error *err)
{
    walk->bad = true;
    return cv_fail(err, CLEAVE_EINPUT,
                   "byte %" PRIu64 ": expected %s of BAM, got %" PRIu64,
                   walk->at - BAM_NUMBER, expected, walk->quality);
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
        walk->at += number + BAM_NUMBER;
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
        if (++walk->line == BAM_NUMBER)
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
    if (*at > length || length - *at < BAM_NUMBER)
        return false;
    for (unsigned i = 0; i < BAM_NUMBER; i++)
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
        at += number + BAM_NUMBER;
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

/* --- packets of a capture, as tcpdump -w writes them ------------------------------- */

/* A head of 24 bytes, which every chunk is given: its first four tell the order of bytes of all
 * numbers, and whether times have micro- or nanoseconds. Then packets: four numbers of four
 * bytes, of which the third is how many bytes of the packet follow. */

/* walk->form; walk->line: bytes of a packet's numbers that have come, walk->quality: the third
 * of them. */
enum { UNKNOWN, LITTLE, BIG };
enum { PCAP_NUMBER = 4, FILE_HEAD = 24, LENGTH = 8, PACKET_HEAD = 16 };
static const uint64_t PCAPNG = 0x0a0d0d0a;
static const uint64_t MOST = INT32_MAX; /* bytes of a packet */

static int form_pcap(const char *bytes, size_t length)
{
    static const struct {
        char bytes[PCAP_NUMBER];
        int form;
    } magics[] = {
        { { '\xd4', '\xc3', '\xb2', '\xa1' }, LITTLE }, /* microseconds */
        { { '\x4d', '\x3c', '\xb2', '\xa1' }, LITTLE }, /* nanoseconds  */
        { { '\xa1', '\xb2', '\xc3', '\xd4' }, BIG },
        { { '\xa1', '\xb2', '\x3c', '\x4d' }, BIG },
    };

    for (size_t i = 0; length >= PCAP_NUMBER && i < sizeof magics / sizeof *magics; i++)
        if (memcmp(bytes, magics[i].bytes, PCAP_NUMBER) == 0)
            return magics[i].form;
    return UNKNOWN;
}

/* A byte of the first number of the file. */
static enum cleave_status magic_byte(struct cv_walk *walk, unsigned char byte,
                                     struct cleave_error *err)
{
    char bytes[PCAP_NUMBER];

    walk->quality = walk->quality << 8 | byte;
    if (++walk->at < PCAP_NUMBER)
        return CLEAVE_OK;
    for (unsigned i = 0; i < PCAP_NUMBER; i++)
        bytes[i] = (char)(walk->quality >> 8 * (PCAP_NUMBER - 1 - i));
    walk->form = form_pcap(bytes, PCAP_NUMBER);
    if (walk->form == UNKNOWN) {
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte 0: expected the first bytes of pcap, got %08" PRIx64 "%s",
                       walk->quality,
                       walk->quality == PCAPNG
                           ? ", which is pcapng: put 'editcap -F pcap - - |' before it"
                           : "");
    }
    walk->quality = 0;
    walk->at = FILE_HEAD;
    return CLEAVE_OK;
}

/* A byte of the numbers of a packet. */
static enum cleave_status packet_byte(struct cv_walk *walk, unsigned char byte,
                                      struct cleave_error *err)
{
    const uint64_t place = walk->line - LENGTH;

    if (walk->line >= LENGTH && place < PCAP_NUMBER)
        walk->quality |= (uint64_t)byte
                         << 8 * (walk->form == BIG ? PCAP_NUMBER - 1 - place : place);
    walk->at++;
    if (++walk->line < LENGTH + PCAP_NUMBER)
        return CLEAVE_OK;
    if (walk->quality > MOST) {
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte %" PRIu64 ": expected the length of a packet, got %" PRIu64,
                       walk->at - PCAP_NUMBER, walk->quality);
    }
    walk->at += PACKET_HEAD - (LENGTH + PCAP_NUMBER) + walk->quality;
    walk->line = walk->quality = 0;
    walk->begun = true;
    return CLEAVE_OK;
}

static enum cleave_status walk_pcap(const struct cv_splitter *splitter,
                                    struct cv_walk *walk, const char *bytes,
                                    size_t length, struct cleave_error *err)
{
    const uint64_t begin = walk->at;

    (void)splitter;
    while (walk->at - begin < length) {
        const unsigned char byte = (unsigned char)bytes[walk->at - begin];

        if (walk->at < PCAP_NUMBER) {
            CV_TRY(magic_byte(walk, byte, err));
            continue;
        }
        if (walk->line == 0 && walk->begun) {
            walk->boundary = walk->at;
            walk->found++;
            walk->begun = false;
            if (walk->at >= walk->until)
                break;
        }
        CV_TRY(packet_byte(walk, byte, err));
    }
    return CLEAVE_OK;
}

static bool whole_pcap(const struct cv_walk *walk)
{
    return walk->line == 0 && (walk->at == 0 || walk->at >= FILE_HEAD);
}

static bool head_pcap(const struct cv_splitter *splitter, const char *bytes,
                      size_t length, size_t *out)
{
    (void)splitter;
    *out = 0;
    if (length >= PCAP_NUMBER && form_pcap(bytes, length) == UNKNOWN)
        return true; /* the walk will say so */
    if (length < FILE_HEAD)
        return false;
    *out = FILE_HEAD;
    return true;
}

const struct cv_split_kind cv_split_pcap = {
    .name = "pcap",
    .eats = "pcap",
    .needs_pass = true,
    .leaps = true,
    .frames = true,
    .bare = true,
    .ahead = 1,
    .form = form_pcap,
    .walk = walk_pcap,
    .head = head_pcap,
    .whole = whole_pcap,
};
