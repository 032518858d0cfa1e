/* split_leaps.c -- splitters of records with a length in front. SPDX-License-Identifier: MIT
 *
 *   warc   before every record of a web archive (ISO 28500): a line WARC/version, lines of fields, an
 *          empty line, a block of Content-Length bytes, two empty lines
 *   tar    before every member of an archive (POSIX ustar, GNU): a header of 512 bytes with the size,
 *          then the bytes, padded to 512. Headers with a long name or more about the next member
 *          belong to that member, blocks of zeros at the end to the last one. Chunks are archives
 *   bam    before every alignment of BAM, decoded from BGZF: its length in four bytes precedes it. A
 *          chunk gets the head: BAM\1, a text, and the names and lengths of references
 *   pcap   before every packet of a capture, as of tcpdump -w: four numbers of four bytes, of which
 *          the third is the length. A chunk gets the head of 24 bytes, which begins with the byte order
 *
 * The content of a record may look like anything and is skipped, so a boundary can only be found from
 * the start of the file. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "run/split/split_kind.h"

enum { NUMBER = 4 }; /* bytes of a binary number */

static enum cleave_status walk_leaps(const struct cv_splitter *splitter,
                                     struct cv_walk *walk, const char *bytes,
                                     size_t length, struct cleave_error *err)
{
    const struct cv_split_kind *kind = splitter->kind;
    const uint64_t begin = walk->at;

    while (walk->at - begin < length) {
        const char byte = bytes[walk->at - begin];

        if (walk->begun && kind->starts(walk, byte) && !cv_walk_begin_record(walk))
            break;
        CV_TRY(kind->take(walk, byte, err));
    }
    return CLEAVE_OK;
}

#define LEAPS .needs_pass = true, .leaps = true, .ahead = 1, .walk = walk_leaps

/* --- warc ----------------------------------------------------------------------------------- */

/* walk->phase; line: bytes of the line; sequence: how much of the line is length_field, or OTHER or
 * VALUE; quality: the value; carriage: it is known. */
enum { GAP, VERSION, FIELDS };
enum { OTHER = 1000, VALUE = 1001 };
static const char length_field[] = "content-length:";
static const char version_line[] = "WARC/";

/* After the empty line that ends the fields. */
static enum cleave_status skip_block(struct cv_walk *walk, struct cleave_error *err)
{
    if (!walk->carriage)
        return cv_fail(err, CLEAVE_EINPUT,
                       "the WARC record at byte %" PRIu64
                       ": expected a field Content-Length, got none",
                       walk->boundary);
    walk->at += walk->quality;
    walk->phase = GAP;
    walk->quality = 0;
    walk->carriage = false;
    return CLEAVE_OK;
}

/* A byte of a line of fields before its end. */
static enum cleave_status field_byte(struct cv_walk *walk, char byte,
                                     struct cleave_error *err)
{
    if (walk->sequence < sizeof length_field - 1) {
        walk->sequence = tolower((unsigned char)byte) == length_field[walk->sequence]
                             ? walk->sequence + 1
                             : OTHER;
        if (walk->sequence == sizeof length_field - 1) {
            if (walk->carriage)
                return cv_walk_fail(walk, "one field Content-Length, not two", byte, err);
            walk->sequence = VALUE;
        }
    } else if (walk->sequence == VALUE && byte >= '0' && byte <= '9') {
        if (walk->quality > UINT64_MAX / 32)
            return cv_walk_fail(walk, "a Content-Length of less digits", byte, err);
        walk->quality = 10 * walk->quality + (uint64_t)(byte - '0');
        walk->carriage = true;
    } else if (walk->sequence == VALUE && byte != ' ' && byte != '\t' && byte != '\r') {
        return cv_walk_fail(walk, "a number of bytes as Content-Length", byte, err);
    }
    return CLEAVE_OK;
}

static enum cleave_status warc_byte(struct cv_walk *walk, char byte,
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
        return cv_walk_fail(walk, "'WARC/' at the start of a record", byte, err);
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

static bool starts_warc(const struct cv_walk *walk, char byte)
{
    return walk->phase == GAP && byte != '\r' && byte != '\n';
}

static bool whole_warc(const struct cv_walk *walk)
{
    return walk->phase == GAP;
}

const struct cv_split_kind cv_split_warc = {
    .name = "warc",
    LEAPS,
    .starts = starts_warc,
    .take = warc_byte,
    .whole = whole_warc,
};

/* --- tar ------------------------------------------------------------------------------------ */

enum { MEMBER, SAME_MEMBER }; /* walk->phase: whether a header begins a record */

/* Offsets in a header. walk->line: bytes of it; quality: its size; carriage: the size is binary;
 * sequence: bit fields with the sum of its bytes, the sum it states, its type, and whether a number
 * has begun and has ended. */
enum {
    SIZE = 124,
    SIZE_END = 136,
    CHECK = 148,
    TYPE = 156,
    BLOCK = 512,
    STATED_AT = 20, /* bits */
    TYPE_AT = 44,
    BEGUN_AT = 52,
    OVER_AT = 53,
};
static const uint64_t SUM_BITS = ((uint64_t)1 << STATED_AT) - 1, STATED_BITS = 0xffffff;
static const uint64_t BEGUN = (uint64_t)1 << BEGUN_AT, OVER = (uint64_t)1 << OVER_AT;

static enum cleave_status fail_head(struct cv_walk *walk, const char *got,
                                    struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT, "byte %" PRIu64 ": expected a head of tar, got %s",
                   walk->at - BLOCK, got);
}

/* Whether a byte is a digit of a number field, which may have blanks and zeros before the digits and
 * anything after them. */
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

/* The size is octal digits, or binary if the first byte has bit 7. */
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

    walk->sequence += check ? ' ' : byte; /* blanks instead of the stated sum */
    if (walk->line >= SIZE && walk->line < SIZE_END)
        size_byte(walk, byte);
    if (check && is_digit(walk, byte)) {
        const uint64_t stated = walk->sequence >> STATED_AT & STATED_BITS;

        walk->sequence &= SUM_BITS | BEGUN;
        walk->sequence |= ((stated << 3 | (uint64_t)(byte - '0')) & STATED_BITS)
                          << STATED_AT;
    }
    if (walk->line == TYPE)
        walk->sequence |= (uint64_t)byte << TYPE_AT;
}

/* Skip the bytes after a complete header. */
static enum cleave_status end_head(struct cv_walk *walk, struct cleave_error *err)
{
    const uint64_t sum = walk->sequence & SUM_BITS;
    const uint64_t stated = walk->sequence >> STATED_AT & STATED_BITS;
    const char type = (char)(walk->sequence >> TYPE_AT);
    const bool zeros = sum == (uint64_t)' ' * (TYPE - CHECK) && stated == 0;
    const bool empty = type >= '1' && type <= '6'; /* links, devices, directories */

    if (!zeros && sum != stated)
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

/* A name is not empty: a block that begins with a zero is padding. */
static bool starts_tar(const struct cv_walk *walk, char byte)
{
    return walk->line == 0 && walk->phase == MEMBER && byte != '\0';
}

static enum cleave_status tar_byte(struct cv_walk *walk, char byte,
                                   struct cleave_error *err)
{
    walk->begun = true;
    head_byte(walk, (unsigned char)byte);
    walk->at++;
    return ++walk->line == BLOCK ? end_head(walk, err) : CLEAVE_OK;
}

static bool whole_tar(const struct cv_walk *walk)
{
    return walk->line == 0 && walk->phase == MEMBER;
}

const struct cv_split_kind cv_split_tar = {
    .name = "tar",
    .eats = "tar",
    LEAPS,
    .starts = starts_tar,
    .take = tar_byte,
    .whole = whole_tar,
};

/* --- bam ------------------------------------------------------------------------------------ */

/* walk->phase: the meaning of the number; line: bytes of it; quality: its value so far; sequence:
 * references that follow. */
enum { RECORD, MAGIC, TEXT, REFERENCES, NAME };
enum { MIN_RECORD = 32 };
static const uint64_t BAM_MAGIC = 0x014d4142; /* BAM\1 */

static enum cleave_status fail_number(struct cv_walk *walk, const char *expected,
                                      struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "byte %" PRIu64 ": expected %s of BAM, got %" PRIu64,
                   walk->at - NUMBER, expected, walk->quality);
}

static enum cleave_status end_number(struct cv_walk *walk, struct cleave_error *err)
{
    const uint64_t number = walk->quality;

    if (walk->phase != MAGIC && number > INT32_MAX)
        return fail_number(walk, "a length", err);
    switch (walk->phase) {
    case MAGIC:
        if (number != BAM_MAGIC)
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
        if (number < MIN_RECORD)
            return fail_number(walk, "the length of a record", err);
        walk->at += number;
        walk->begun = true;
    }
    walk->line = walk->quality = 0;
    return CLEAVE_OK;
}

static bool starts_bam(const struct cv_walk *walk, char byte)
{
    (void)byte;
    return walk->line == 0 && walk->phase == RECORD;
}

static enum cleave_status bam_byte(struct cv_walk *walk, char byte,
                                   struct cleave_error *err)
{
    if (walk->at == 0)
        walk->phase = MAGIC;
    walk->quality |= (uint64_t)(unsigned char)byte << (8 * walk->line);
    walk->at++;
    return ++walk->line == NUMBER ? end_number(walk, err) : CLEAVE_OK;
}

static bool whole_bam(const struct cv_walk *walk)
{
    return walk->line == 0 && walk->phase == RECORD;
}

static bool head_bam(const struct cv_splitter *splitter, const char *bytes, size_t length,
                     size_t *out)
{
    struct cv_walk walk;

    (void)splitter;
    cv_walk_init(&walk, 0);
    *out = 0;
    do {
        if (walk.at >= length)
            return false;
        if (bam_byte(&walk, bytes[walk.at], NULL) != CLEAVE_OK)
            return true; /* the walk of the input reports it */
    } while (walk.phase != RECORD);
    if (walk.at > length)
        return false;
    *out = (size_t)walk.at;
    return true;
}

const struct cv_split_kind cv_split_bam = {
    .name = "bam",
    .eats = "BAM",
    .frames = true,
    .bare = true,
    LEAPS,
    .starts = starts_bam,
    .take = bam_byte,
    .head = head_bam,
    .whole = whole_bam,
};

/* --- pcap ----------------------------------------------------------------------------------- */

/* walk->form: the byte order; line: bytes of the numbers of a packet; quality: its length so far. */
enum { UNKNOWN, LITTLE, BIG };
enum { FILE_HEAD = 24, LENGTH = 8, PACKET_HEAD = 16 };
static const uint64_t PCAPNG = 0x0a0d0d0a;

static int form_pcap(const char *bytes, size_t length)
{
    static const struct {
        char bytes[NUMBER];
        int form;
    } magics[] = {
        { { '\xd4', '\xc3', '\xb2', '\xa1' }, LITTLE }, /* microseconds */
        { { '\x4d', '\x3c', '\xb2', '\xa1' }, LITTLE }, /* nanoseconds  */
        { { '\xa1', '\xb2', '\xc3', '\xd4' }, BIG },
        { { '\xa1', '\xb2', '\x3c', '\x4d' }, BIG },
    };

    for (size_t i = 0; length >= NUMBER && i < sizeof magics / sizeof *magics; i++)
        if (memcmp(bytes, magics[i].bytes, NUMBER) == 0)
            return magics[i].form;
    return UNKNOWN;
}

/* A byte of the first number of the file. */
static enum cleave_status magic_byte(struct cv_walk *walk, unsigned char byte,
                                     struct cleave_error *err)
{
    char bytes[NUMBER];

    walk->quality = walk->quality << 8 | byte;
    if (++walk->at < NUMBER)
        return CLEAVE_OK;
    for (unsigned i = 0; i < NUMBER; i++)
        bytes[i] = (char)(walk->quality >> 8 * (NUMBER - 1 - i));
    walk->form = form_pcap(bytes, NUMBER);
    if (walk->form == UNKNOWN)
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte 0: expected the first bytes of pcap, got %08" PRIx64 "%s",
                       walk->quality,
                       walk->quality == PCAPNG
                           ? ", which is pcapng: put 'editcap -F pcap - - |' before it"
                           : "");
    walk->quality = 0;
    walk->at = FILE_HEAD;
    return CLEAVE_OK;
}

/* A byte of the numbers of a packet. */
static enum cleave_status packet_byte(struct cv_walk *walk, unsigned char byte,
                                      struct cleave_error *err)
{
    const uint64_t place = walk->line - LENGTH;

    if (walk->line >= LENGTH && place < NUMBER)
        walk->quality |= (uint64_t)byte
                         << 8 * (walk->form == BIG ? NUMBER - 1 - place : place);
    walk->at++;
    if (++walk->line < LENGTH + NUMBER)
        return CLEAVE_OK;
    if (walk->quality > INT32_MAX)
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte %" PRIu64 ": expected the length of a packet, got %" PRIu64,
                       walk->at - NUMBER, walk->quality);
    walk->at += PACKET_HEAD - (LENGTH + NUMBER) + walk->quality;
    walk->line = walk->quality = 0;
    walk->begun = true;
    return CLEAVE_OK;
}

static bool starts_pcap(const struct cv_walk *walk, char byte)
{
    (void)byte;
    return walk->at >= NUMBER && walk->line == 0;
}

static enum cleave_status pcap_byte(struct cv_walk *walk, char byte,
                                    struct cleave_error *err)
{
    return walk->at < NUMBER ? magic_byte(walk, (unsigned char)byte, err)
                             : packet_byte(walk, (unsigned char)byte, err);
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
    if (length >= NUMBER && form_pcap(bytes, length) == UNKNOWN)
        return true; /* the walk will report it */
    if (length < FILE_HEAD)
        return false;
    *out = FILE_HEAD;
    return true;
}

const struct cv_split_kind cv_split_pcap = {
    .name = "pcap",
    .eats = "pcap",
    .frames = true,
    .bare = true,
    .form = form_pcap,
    LEAPS,
    .starts = starts_pcap,
    .take = pcap_byte,
    .head = head_pcap,
    .whole = whole_pcap,
};
