/* magic.c -- inputs that are no text records, told by their first bytes.
 * SPDX-License-Identifier: MIT */
#include "run/input/magic.h"

#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "run/decode/decoder.h"

struct cv_magic {
    const char *name;
    const char
        *reads; /* the command that makes text of a file, before its name; or NULL */
    const char
        *pipes; /* the same of standard input; NULL: as `reads`                   */
    size_t at;  /* where the bytes are                                            */
    size_t length;
    const char *bytes;
    uint32_t
        any; /* bit i: byte i may be any                                            */
    const char *codec; /* what decodes it, as of --decode; NULL: nothing                */
};

#define BYTES(text) sizeof(text) - 1, text
enum { NAMES = 100 }; /* bytes of the name that a tar archive begins with */

/* clang-format off */
static const struct cv_magic table[] = {
    /* Before gzip, which it is, too: with a field BC, as bgzip and samtools write it. */
    { "BGZF (gzip in blocks, as of BAM)", "zcat", NULL, 0,
      BYTES("\x1f\x8b\x08\x04????????BC"), 0xff0, "bgzf" },
    { "gzip", "zcat", NULL, 0, BYTES("\x1f\x8b\x08"), 0, "gzip" },
    { "compress", "zcat", NULL, 0, BYTES("\x1f\x9d\x90"), 0, NULL },
    { "zstd", "zstdcat", NULL, 0, BYTES("\x28\xb5\x2f\xfd"), 0, "zstd" },
    { "zstd or lz4", "zstdcat", NULL, 0, BYTES("?\x2a\x4d\x18"), 1, "zstd" }, /* a frame to skip */
    { "xz", "xzcat", NULL, 0, BYTES("\xfd" "7zXZ\0"), 0, "xz" },
    { "lzip", "lzip -dc", NULL, 0, BYTES("LZIP\x01"), 0, NULL },
    /* The form before xz: how it packs, and how much there is, which may not be said. */
    { "lzma", "lzma -dc", NULL, 0, BYTES("]\0\0??\xff\xff\xff\xff\xff\xff\xff\xff"), 0x18, NULL },
    { "lzma", "lzma -dc", NULL, 0, BYTES("]\0\0???????\0\0\0"), 0x3f8, NULL },
    { "bzip2", "bzcat", NULL, 0, BYTES("BZh?1AY&SY"), 1 << 3, "bzip2" },
    { "bzip2", "bzcat", NULL, 0, BYTES("BZh?\x17\x72\x45\x38\x50\x90"), 1 << 3, "bzip2" },
    { "lz4", "lz4cat", NULL, 0, BYTES("\x04\x22\x4d\x18"), 0, "lz4" },
    { "lz4", "lz4cat", NULL, 0, BYTES("\x02\x21\x4c\x18"), 0, NULL },
    { "snappy", "snzip -dc", NULL, 0, BYTES("\xff\x06\0\0sNaPpY"), 0, NULL },
    { "zip", "unzip -p", "funzip", 0, BYTES("PK\x03\x04"), 0, NULL },
    { "zip", "unzip -p", "funzip", 0, BYTES("PK\x05\x06"), 0, NULL },
    { "7-Zip", "7z x -so", NULL, 0, BYTES("7z\xbc\xaf\x27\x1c"), 0, NULL },
    { "RAR", "unrar p -inul", NULL, 0, BYTES("Rar!\x1a\x07"), 0, NULL },
    { "tar", "tar -xOf", "tar -xO", 257, BYTES("ustar"), 0, NULL },
    { "CRAM", "samtools view", NULL, 0, BYTES("CRAM\x03"), 0, NULL },
    { "CRAM", "samtools view", NULL, 0, BYTES("CRAM\x02"), 0, NULL },
    { "BAM", "samtools view", "samtools view -", 0, BYTES("BAM\x01"), 0, NULL },
    { "BCF", "bcftools view", "bcftools view -", 0, BYTES("BCF\x02"), 0, NULL },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xd4\xc3\xb2\xa1"), 0, NULL },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\x4d\x3c\xb2\xa1"), 0, NULL },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xa1\xb2\xc3\xd4"), 0, NULL },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xa1\xb2\x3c\x4d"), 0, NULL },
    { "pcapng", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\n\r\r\n????\x4d\x3c\x2b\x1a"), 0xf0, NULL },
    { "pcapng", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\n\r\r\n????\x1a\x2b\x3c\x4d"), 0xf0, NULL },
    { "Parquet", NULL, NULL, 0, BYTES("PAR1\x15"), 0, NULL },
    { "Arrow", NULL, NULL, 0, BYTES("ARROW1\0\0"), 0, NULL },
    { "Arrow", NULL, NULL, 0, BYTES("\xff\xff\xff\xff??\0\0\x10\0\0\0"), 0x30, NULL },
    { "Avro", NULL, NULL, 0, BYTES("Obj\x01"), 0, NULL },
    { "HDF5", NULL, NULL, 0, BYTES("\x89HDF\r\n\x1a\n"), 0, NULL },
    { "NumPy", NULL, NULL, 0, BYTES("\x93NUMPY"), 0, NULL },
    { "SQLite", NULL, NULL, 0, BYTES("SQLite format 3\0"), 0, NULL },
    { "ELF", NULL, NULL, 0, BYTES("\x7f" "ELF"), 0, NULL },
    { "PNG", NULL, NULL, 0, BYTES("\x89PNG\r\n\x1a\n"), 0, NULL },
    { "JPEG", NULL, NULL, 0, BYTES("\xff\xd8\xff"), 0, NULL },
    { "GIF", NULL, NULL, 0, BYTES("GIF8?a"), 1 << 4, NULL },
    { "PDF", NULL, NULL, 0, BYTES("%PDF-1."), 0, NULL },
    { "TIFF", NULL, NULL, 0, BYTES("II*\0"), 0, NULL },
    { "TIFF", NULL, NULL, 0, BYTES("MM\0*"), 0, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("RIFF????WAVE"), 0xf0, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("RIFF????AVI "), 0xf0, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("\0\0??ftyp"), 0xc, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("OggS\0"), 0, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("fLaC\0"), 0, NULL },
    { "sound or video", NULL, NULL, 0, BYTES("\x1a\x45\xdf\xa3"), 0, NULL },
    { "WebP", NULL, NULL, 0, BYTES("RIFF????WEBP"), 0xf0, NULL },
    { "a Debian package", "dpkg-deb --fsys-tarfile", NULL, 0, BYTES("!<arch>\ndebian-binary"), 0, NULL },
    { "an Office file", NULL, NULL, 0, BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), 0, NULL },
    { "UTF-16", "iconv -f UTF-16 -t UTF-8", NULL, 0, BYTES("\xff\xfe?\0"), 1 << 2, NULL },
    { "UTF-16", "iconv -f UTF-16 -t UTF-8", NULL, 0, BYTES("\xfe\xff\0"), 0, NULL },
};
/* clang-format on */

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

/* Whether a line of text may begin with the first bytes: nobody is to wait for more. */
static bool text_perhaps(const struct cv_magic *row)
{
    return (row->any & 1) != 0 || row->bytes[0] == '\n';
}

const struct cv_magic *cv_magic_find(const char *bytes, size_t length, bool *undecided)
{
    bool perhaps = false;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct cv_magic *row = &table[i];

        if (!agrees(row, bytes, length))
            continue;
        if (length >= row->at + row->length) {
            *undecided = false;
            return row;
        }
        if (row->at == 0 ? length > (text_perhaps(row) ? 2 : 0)
                         : tar_perhaps(bytes, length))
            perhaps = true;
    }
    *undecided = perhaps;
    return NULL;
}

bool cv_magic_is(const struct cv_magic *magic, const char *name)
{
    return name != NULL && strcmp(magic->name, name) == 0;
}

/* What else could be said than what to type. */
static const char *instead(const struct cv_magic *magic)
{
    return cv_magic_is(magic, "tar") ? "--split tar to share out its members"
           : cv_magic_is(magic, "a Debian package")
               ? "--split tar behind it to share out its members"
           : cv_magic_is(magic, "BAM")  ? "--split bam to share out its records"
           : cv_magic_is(magic, "pcap") ? "--split pcap to share out its packets"
           : cv_magic_is(magic, "pcapng")
               ? "--split pcap behind 'editcap -F pcap' to share out its packets"
               : "--decode none to cut the bytes as they are";
}

/* Pictures and the like: nobody wants to cut them, there are just many. */
static bool comes_whole(const struct cv_magic *magic)
{
    static const char *const names[] = { "PNG",  "JPEG", "GIF",           "TIFF",
                                         "WebP", "PDF",  "sound or video" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cv_magic_is(magic, names[i]))
            return true;
    return false;
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

    if (magic != NULL && cv_magic_is(magic, "pcapng") && strcmp(split, "pcap") == 0)
        return cv_fail_at(err, &place,
                          "expected pcap (--split pcap), got pcapng: type 'editcap -F "
                          "pcap %s - | cleave run --split pcap ...'",
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

    if (magic->reads == NULL)
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
