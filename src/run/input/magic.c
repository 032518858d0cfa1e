/* magic.c -- inputs that are no text records, told by their first bytes.
 * SPDX-License-Identifier: MIT */
#include "run/input/magic.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/fail.h"
#include "run/decode/decoder.h"

struct cv_magic {
    const char *name;
    const char *bytes;
    size_t length;
    size_t at;    /* where the bytes are                                                */
    uint64_t any; /* bit i: byte i may be any                                           */
    /* The command that makes text of a file, before its name; or NULL. */
    const char *reads;
    /* The same of standard input; NULL: as `reads`; "": it needs a file. */
    const char *pipes;
    const char *codec; /* what decodes it, as of --decode; NULL: nothing                */
    /* A text may begin so: there has to be a byte that no text has before this one; or 0. */
    size_t strange;
};

#define IS(what, text) .name = what, .length = sizeof(text) - 1, .bytes = text
/* What the head of a member of zip has between its first bytes and its name. */
#define ANY26 "??????????????????????????"
#define ANY26_AT_4 (((UINT64_C(1) << 26) - 1) << 4)

/* The first row that matches counts. */
/* clang-format off */
static const struct cv_magic table[] = {
    /* Before gzip, which it is, too: with a field BC, as bgzip and samtools write it. */
    { IS("BGZF (gzip in blocks, as of BAM)", "\x1f\x8b\x08\x04????????BC"), .any = 0xff0,
      .reads = "zcat", .codec = "bgzf" },
    { IS("gzip", "\x1f\x8b\x08"), .reads = "zcat", .codec = "gzip" },
    { IS("compress", "\x1f\x9d"), .reads = "zcat" },
    { IS("zstd", "\x28\xb5\x2f\xfd"), .reads = "zstdcat", .codec = "zstd" },
    { IS("zstd or lz4", "?\x2a\x4d\x18"), .any = 1, .reads = "zstdcat", .codec = "zstd" }, /* a frame to skip */
    { IS("xz", "\xfd" "7zXZ\0"), .reads = "xzcat", .codec = "xz" },
    { IS("lzip", "LZIP\x01"), .reads = "lzip -dc" },
    /* The form before xz: how it packs, and how much there is, which may not be said. */
    { IS("lzma", "]\0\0??\xff\xff\xff\xff\xff\xff\xff\xff"), .any = 0x18, .reads = "lzma -dc" },
    { IS("lzma", "]\0\0???????\0\0\0"), .any = 0x3f8, .reads = "lzma -dc" },
    { IS("bzip2", "BZh?1AY&SY"), .any = 1 << 3, .reads = "bzcat", .codec = "bzip2" },
    { IS("bzip2", "BZh?\x17\x72\x45\x38\x50\x90"), .any = 1 << 3, .reads = "bzcat", .codec = "bzip2" },
    { IS("lz4", "\x04\x22\x4d\x18"), .reads = "lz4cat", .codec = "lz4" },
    { IS("lz4", "\x02\x21\x4c\x18"), .reads = "lz4cat" },
    { IS("snappy", "\xff\x06\0\0sNaPpY"), .reads = "snzip -dc" },
    { IS("lzop", "\x89LZO\0\r\n\x1a\n"), .reads = "lzop -dc" },
    { IS("lrzip", "LRZI\0"), .reads = "lrzcat" },
    { IS("zlib", "x\x9c"), .reads = "pigz -dc <", .pipes = "pigz -dc" },
    { IS("zpaq", "7kSt\xa0\x31\x83") },
    { IS("zpaq", "zPQ\1") },
    { IS("zpaq", "zPQ\2") },
    /* Before zip, which they are, too: told by the name of their first member. */
    { IS("an Office file", "PK\x03\x04" ANY26 "[Content_Types].xml"), .any = ANY26_AT_4 },
    { IS("an Office file", "PK\x03\x04" ANY26 "mimetypeapplication/vnd"), .any = ANY26_AT_4 },
    { IS("zip", "PK\x03\x04"), .reads = "unzip -p", .pipes = "funzip" },
    { IS("zip", "PK\x05\x06"), .reads = "unzip -p", .pipes = "funzip" },
    { IS("7-Zip", "7z\xbc\xaf\x27\x1c"), .reads = "7z x -so", .pipes = "" },
    { IS("RAR", "Rar!\x1a\x07"), .reads = "unrar p -inul", .pipes = "" },
    { IS("tar", "ustar"), .at = 257, .reads = "tar -xOf", .pipes = "tar -xO" },
    { IS("cpio", "070701"), .reads = "cpio -i --to-stdout -F", .pipes = "cpio -i --to-stdout", .strange = 512 },
    { IS("cpio", "070702"), .reads = "cpio -i --to-stdout -F", .pipes = "cpio -i --to-stdout", .strange = 512 },
    { IS("cpio", "070707"), .reads = "cpio -i --to-stdout -F", .pipes = "cpio -i --to-stdout", .strange = 512 },
    { IS("cpio", "\xc7\x71"), .reads = "cpio -i --to-stdout -F", .pipes = "cpio -i --to-stdout", .strange = 32 },
    { IS("an RPM package", "\xed\xab\xee\xdb") },
    { IS("a cabinet", "MSCF\0\0\0\0") },
    { IS("a disk image", "hsqs??\0\0"), .any = 0x30 },
    { IS("CRAM", "CRAM\x03"), .reads = "samtools view" },
    { IS("CRAM", "CRAM\x02"), .reads = "samtools view" },
    { IS("BAM", "BAM\x01"), .reads = "samtools view", .pipes = "samtools view -" },
    { IS("BCF", "BCF\x02"), .reads = "bcftools view", .pipes = "bcftools view -" },
    { IS("pcap", "\xd4\xc3\xb2\xa1"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("pcap", "\x4d\x3c\xb2\xa1"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("pcap", "\xa1\xb2\xc3\xd4"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("pcap", "\xa1\xb2\x3c\x4d"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("modified pcap", "\x34\xcd\xb2\xa1"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("modified pcap", "\xa1\xb2\xcd\x34"), .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("snoop", "snoop\0\0\0"), .reads = "tshark -r", .pipes = "tshark -r -" },
    { IS("a capture of Network Monitor", "GMBU\0"), .reads = "tshark -r", .pipes = "tshark -r -" },
    { IS("pcapng", "\n\r\r\n????\x4d\x3c\x2b\x1a"), .any = 0xf0, .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("pcapng", "\n\r\r\n????\x1a\x2b\x3c\x4d"), .any = 0xf0, .reads = "tcpdump -nr", .pipes = "tcpdump -nr -" },
    { IS("Parquet", "PAR1"), .strange = 16 },
    { IS("Parquet", "PARE"), .strange = 16 },
    { IS("Arrow", "ARROW1\0\0") },
    { IS("Arrow", "\xff\xff\xff\xff??\0\0\x10\0\0\0"), .any = 0x30 },
    { IS("Avro", "Obj\x01") },
    /* Behind these, what is in the file begins at once. */
    { IS("ORC", "ORC"), .strange = 16 },
    { IS("Feather", "FEA1"), .strange = 16 },
    { IS("a SequenceFile", "SEQ\x06") },
    { IS("an RCFile", "RCF\1") },
    { IS("HDF5", "\x89HDF\r\n\x1a\n") },
    { IS("HDF4", "\x0e\x03\x13\x01") },
    { IS("netCDF", "CDF\1"), .reads = "ncdump", .pipes = "" },
    { IS("netCDF", "CDF\2"), .reads = "ncdump", .pipes = "" },
    { IS("netCDF", "CDF\5"), .reads = "ncdump", .pipes = "" },
    { IS("GRIB", "GRIB???\1"), .any = 0x70 },
    { IS("GRIB", "GRIB???\2"), .any = 0x70 },
    { IS("FITS", "SIMPLE  =                    T") },
    { IS("DICOM", "DICM"), .at = 128 },
    { IS("ROOT", "root\0\0") },
    { IS("LAS", "LASF\0\0") },
    { IS("a shapefile", "\0\0\x27\x0a\0\0") },
    { IS("FlatGeobuf", "fgb\3fgb") },
    { IS("MATLAB", "MATLAB 5.0 MAT-file") },
    { IS("R data", "RDX2\nX\n") },
    { IS("R data", "RDX3\nX\n") },
    { IS("SPSS", "$FL2@(#)") },
    { IS("Stata", "<stata_dta>") },
    { IS("SRA", "NCBI.sra"), .reads = "fastq-dump -Z", .pipes = "" },
    { IS("POD5", "\x8bPOD\r\n\x1a\n") },
    { IS("ABIF", "ABIF\0") },
    { IS("bigWig", "\x26\xfc\x8f\x88") },
    { IS("bigBed", "\xeb\xf2\x89\x87") },
    { IS("2bit", "\x43\x27\x41\x1a") },
    { IS("an index", "BAI\1") },
    { IS("an index", "TBI\1") },
    { IS("an index", "CSI\1") },
    { IS("GGUF", "GGUF?\0\0\0"), .any = 1 << 4 },
    { IS("NumPy", "\x93NUMPY") },
    { IS("pickle", "\x80\2") },
    { IS("pickle", "\x80\3") },
    { IS("pickle", "\x80\4\x95") },
    { IS("pickle", "\x80\5\x95") },
    { IS("a property list", "bplist00") },
    { IS("SQLite", "SQLite format 3\0") },
    { IS("a dump of PostgreSQL", "PGDMP\1"), .reads = "pg_restore -f -" },
    { IS("a journal of systemd", "LPKSHHRH") },
    { IS("a log of Windows", "ElfFile\0") },
    { IS("a pack of git", "PACK\0\0\0") },
    { IS("ELF", "\x7f" "ELF") },
    { IS("a program", "\xca\xfe\xba\xbe\0") },
    { IS("a program", "\xcf\xfa\xed\xfe") },
    { IS("a program", "MZ\x90\0") },
    { IS("a program", "\0asm\1") },
    { IS("PNG", "\x89PNG\r\n\x1a\n") },
    { IS("JPEG", "\xff\xd8\xff") },
    { IS("GIF", "GIF8?a"), .any = 1 << 4 },
    { IS("PDF", "%PDF-1.") },
    { IS("PDF", "%PDF-2.") },
    { IS("TIFF", "II*\0") },
    { IS("TIFF", "MM\0*") },
    { IS("a picture", "BM????\0\0\0\0"), .any = 0x3c },
    { IS("a picture", "8BPS\0\1") },
    { IS("a picture", "SDPX\0") },
    { IS("a picture", "XPDS"), .strange = 16 },
    { IS("a picture", "\0\0\0\x0cjP  ") },
    { IS("a picture", "\0\0\0\x0cJXL ") },
    { IS("a picture", "\x76\x2f\x31\x01") },
    { IS("a picture", "#?RADIANCE\n") },
    { IS("a picture", "\0\0??ftyphei"), .any = 0xc },
    { IS("a picture", "\0\0??ftypavi"), .any = 0xc },
    { IS("a picture", "\0\0??ftypmif"), .any = 0xc },
    { IS("sound or video", "RIFF????WAVE"), .any = 0xf0 },
    { IS("sound or video", "RIFF????AVI "), .any = 0xf0 },
    { IS("sound or video", "\0\0??ftyp"), .any = 0xc },
    { IS("sound or video", "OggS\0") },
    { IS("sound or video", "fLaC\0") },
    { IS("sound or video", "\x1a\x45\xdf\xa3") },
    { IS("sound or video", "FORM????AIFF"), .any = 0xf0 },
    { IS("sound or video", "ID3\2") },
    { IS("sound or video", "ID3\3") },
    { IS("sound or video", "ID3\4") },
    { IS("sound or video", "\xff\xfb") },
    { IS("sound or video", "\xff\xf3") },
    { IS("sound or video", "\xff\xf1") },
    { IS("sound or video", "\xff\xf9") },
    { IS("sound or video", "\xff\xfd") },
    { IS("sound or video", ".snd\0\0\0") },
    { IS("sound or video", "wvpk"), .strange = 16 },
    { IS("sound or video", "FLV\1") },
    { IS("sound or video", "MThd\0") },
    { IS("sound or video", "\0\0\1\xba") },
    { IS("sound or video", "\0\0\1\xb3") },
    { IS("sound or video", "\x30\x26\xb2\x75\x8e\x66") },
    { IS("WebP", "RIFF????WEBP"), .any = 0xf0 },
    { IS("a Debian package", "!<arch>\ndebian-binary"), .reads = "dpkg-deb --fsys-tarfile",
      .pipes = "dpkg-deb --fsys-tarfile -" },
    { IS("an Office file", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") },
    { IS("UTF-32", "\xff\xfe\0\0"), .reads = "iconv -f UTF-32 -t UTF-8" },
    { IS("UTF-32", "\0\0\xfe\xff"), .reads = "iconv -f UTF-32 -t UTF-8" },
    { IS("UTF-16", "\xff\xfe?\0"), .any = 1 << 2, .reads = "iconv -f UTF-16 -t UTF-8" },
    { IS("UTF-16", "\xfe\xff\0"), .reads = "iconv -f UTF-16 -t UTF-8" },
};
/* clang-format on */

#undef IS
#undef ANY26
#undef ANY26_AT_4

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
