/* magic.c -- inputs that are no text records, told by their first bytes.
 * SPDX-License-Identifier: MIT */
#include "run/input/magic.h"

#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "run/decode/decoder.h"
#include "run/input/magic_table.h"

enum {
    NAMES = 100,    /* bytes of the name that a tar archive begins with       */
    TAR_HEAD = 512, /* bytes of a member's head, which begins with that name  */
    TAR_SUM = 148,  /* where the sum of them is                               */
};

/* Whether the bytes agree with a row as far as they go. */
static bool agrees(const struct cv_magic *row, const char *bytes, size_t length)
{
    for (size_t i = 0; i < row->length && row->at + i < length; i++)
        if (bytes[row->at + i] != row->bytes[i] && (row->any >> i & 1) == 0)
            return false;
    return true;
}

/* A tar archive begins with a name that is filled up with zeros; without two of them, which
 * no text has, nobody is to wait for its magic bytes. */
static bool tar_perhaps(const char *bytes, size_t length)
{
    const char *zero = memchr(bytes, '\0', length < NAMES ? length : NAMES);
    const size_t end = length < NAMES ? length : NAMES;

    if (zero == NULL || zero == bytes || (size_t)(bytes + end - zero) < 2)
        return false;
    for (; zero < bytes + end; zero++)
        if (*zero != '\0')
            return false;
    return true;
}

/* Tar of before POSIX has no magic bytes, but a sum of all bytes of its head, for which those of
 * the sum itself are blanks. */
static bool is_old_tar(const char *bytes, size_t length)
{
    unsigned long sum = 0, said = 0;
    size_t i;

    if (length < TAR_HEAD || bytes[0] == '\0')
        return false;
    for (i = 0; i < TAR_HEAD; i++)
        sum += i >= TAR_SUM && i < TAR_SUM + 8 ? ' ' : (unsigned char)bytes[i];
    for (i = TAR_SUM; i < TAR_SUM + 7 && bytes[i] == ' '; i++)
        ;
    for (; i < TAR_SUM + 7 && bytes[i] >= '0' && bytes[i] <= '7'; i++)
        said = 8 * said + (unsigned long)(bytes[i] - '0');
    return said == sum;
}

/* Whether a line of text may begin with the first bytes: nobody is to wait for more. */
static bool text_perhaps(const struct cv_magic *row)
{
    return (row->any & 1) != 0 || row->bytes[0] == '\n';
}

/* Bytes that are in no text, whatever its language: not even in one that moves a cursor. */
static bool has_strange(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)bytes[i];

        if (byte < ' ' && (byte < '\a' || byte > '\r') && byte != 0x1b)
            return true;
    }
    return false;
}

static bool is_all_of(const struct cv_magic *row, const char *bytes, size_t length)
{
    return length >= row->at + row->length &&
           (row->strange == 0 ||
            has_strange(bytes + row->length,
                        (length < row->strange ? length : row->strange) - row->length));
}

/* Whether more bytes may make it one, so that it is right to wait for them: a line that has
 * come whole is not kept back. */
static bool may_become(const struct cv_magic *row, const char *bytes, size_t length)
{
    if (row->at > 0)
        return tar_perhaps(bytes, length);
    if (length <= (text_perhaps(row) ? 2 : 0) ||
        length >= (row->strange > 0 ? row->strange : row->length))
        return false;
    for (size_t i = 0; i < length && !text_perhaps(row); i++)
        if (bytes[i] == '\n' && (i >= row->length || (row->any >> i & 1) != 0))
            return false;
    return true;
}

const struct cv_magic *cv_magic_find(const char *bytes, size_t length, bool *undecided)
{
    const struct cv_magic *tar = NULL;
    bool perhaps = false;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct cv_magic *row = &table[i];

        tar = cv_magic_is(row, "tar") ? row : tar;
        if (!agrees(row, bytes, length))
            continue;
        if (is_all_of(row, bytes, length)) {
            *undecided = false;
            return row;
        }
        perhaps = perhaps || may_become(row, bytes, length);
    }
    *undecided = perhaps || (length < TAR_HEAD && tar_perhaps(bytes, length));
    return is_old_tar(bytes, length) ? tar : NULL;
}

bool cv_magic_is(const struct cv_magic *magic, const char *name)
{
    return name != NULL && strcmp(magic->name, name) == 0;
}

/* Captures that are no pcap, but can be made it. */
static bool is_other_capture(const struct cv_magic *magic)
{
    return cv_magic_is(magic, "modified pcap") || cv_magic_is(magic, "snoop") ||
           cv_magic_is(magic, "a capture of Network Monitor") ||
           cv_magic_is(magic, "pcapng");
}

/* What else could be said than what to type. */
static const char *instead(const struct cv_magic *magic)
{
    return cv_magic_is(magic, "tar") ? "--split tar to share out its members"
           : cv_magic_is(magic, "a Debian package")
               ? "--split tar behind it to share out its members"
           : cv_magic_is(magic, "BAM")  ? "--split bam to share out its records"
           : cv_magic_is(magic, "pcap") ? "--split pcap to share out its packets"
           : is_other_capture(magic)
               ? "--split pcap behind 'editcap -F pcap' to share out its packets"
               : "--decode none to cut the bytes as they are";
}

/* Pictures and the like: nobody wants to cut them, there are just many. */
static bool comes_whole(const struct cv_magic *magic)
{
    static const char *const names[] = { "PNG",  "JPEG", "GIF",       "TIFF",
                                         "WebP", "PDF",  "a picture", "sound or video" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cv_magic_is(magic, names[i]))
            return true;
    return false;
}

/* Whether what makes text of it cannot read it from a pipe. */
static bool needs_file(const struct cv_magic *magic)
{
    return magic->pipes != NULL && magic->pipes[0] == '\0';
}

/* Whether a name can be typed as it is. */
static bool plain(const char *path)
{
    return path[0] != '-' && path[0] != '\0' &&
           strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "_./+-,:@%=") == strlen(path) &&
           strlen(path) < 100;
}

const struct cv_codec *cv_magic_codec(const struct cv_magic *magic)
{
    return magic->codec != NULL ? cv_codec_named(magic->codec) : NULL;
}

enum cleave_status cv_magic_refuse(const struct cv_magic *magic, const char *name,
                                   const char *path, struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };
    const char *reads = magic->reads;

    if (comes_whole(magic))
        return cv_fail_at(err, &place,
                          "expected text records, got %s: a command for each of many "
                          "files is 'cleave run COMMAND {} ::: FILE...'; or say --decode "
                          "none to cut the bytes as they are",
                          magic->name);
    if (reads == NULL)
        return cv_fail_at(err, &place,
                          "expected text records, got %s: make CSV or lines of it first, "
                          "or say --decode none to cut the bytes as they are",
                          magic->name);
    if (path == NULL && needs_file(magic))
        return cv_fail_at(err, &place,
                          "expected text records, got %s: keep it as a file and type '%s "
                          "FILE | cleave run ...', or say %s",
                          magic->name, reads, instead(magic));
    if (path == NULL)
        return cv_fail_at(
            err, &place,
            "expected text records, got %s: put '%s |' before cleave run, or "
            "say %s",
            magic->name, magic->pipes != NULL ? magic->pipes : reads, instead(magic));
    return cv_fail_at(err, &place,
                      "expected text records, got %s: type '%s %s | cleave run ...', or "
                      "say %s",
                      magic->name, reads, plain(path) ? path : "FILE", instead(magic));
}

enum cleave_status cv_magic_refuse_as(const struct cv_magic *magic, const char *name,
                                      const char *path, const char *expected,
                                      const char *split, struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    if (magic != NULL && is_other_capture(magic) && strcmp(split, "pcap") == 0)
        return cv_fail_at(err, &place,
                          "expected pcap (--split pcap), got %s: type 'editcap -F "
                          "pcap %s - | cleave run --split pcap ...'",
                          magic->name,
                          path == NULL  ? "-"
                          : plain(path) ? path
                                        : "FILE");
    return cv_fail_at(err, &place, "expected %s (--split %s), got %s", expected, split,
                      magic != NULL ? magic->name : "other bytes");
}

enum cleave_status cv_magic_refuse_fetched(const struct cv_magic *magic, const char *name,
                                           struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    return cv_fail_at(
        err, &place,
        "expected text records, got %s, of which ranges cannot be decoded: "
        "fetch all of it, as 'curl -sf URL | cleave run ...', or say --decode "
        "none to cut the bytes as they are",
        magic->name);
}

/* Tools for these read the compressed form themselves. */
static bool decodes_itself(const char *reads)
{
    return strncmp(reads, "samtools", 8) == 0 || strncmp(reads, "bcftools", 8) == 0;
}

enum cleave_status cv_magic_refuse_inside(const struct cv_magic *magic,
                                          const struct cv_magic *around, const char *name,
                                          const char *path, struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };
    const char *file = path == NULL ? "" : plain(path) ? path : "FILE";
    const char *pipes = magic->pipes != NULL ? magic->pipes : magic->reads;

    if (magic->reads == NULL || needs_file(magic))
        return cv_fail_at(err, &place,
                          "expected text records inside %s, got %s: make CSV or lines of "
                          "it first, or say --decode none to cut the bytes as they are",
                          around->name, magic->name);
    if (decodes_itself(magic->reads))
        return cv_fail_at(err, &place,
                          "expected text records inside %s, got %s: type '%s %s | cleave "
                          "run ...', or say %s",
                          around->name, magic->name, magic->reads,
                          path == NULL ? "-" : file, instead(magic));
    return cv_fail_at(
        err, &place,
        "expected text records inside %s, got %s: type '%s %s%s%s | cleave run "
        "...', or say %s",
        around->name, magic->name, around->reads, file, path == NULL ? "| " : " | ",
        pipes, instead(magic));
}
