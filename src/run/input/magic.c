/* magic.c -- formats that are not text records, by their first bytes.
 * SPDX-License-Identifier: MIT */
#include "run/input/magic.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/decode/decoder.h"

struct cv_magic {
    const char *name;
    const char *bytes;
    size_t length;
    size_t at;         /* offset of the bytes                                        */
    uint64_t any;      /* bit i: byte i may have any value                           */
    size_t strange;    /* text may begin so: a byte below this offset must be one that  */
                       /* no text has; 0: text cannot begin so                       */
    const char *codec; /* name of the format that decodes it; NULL: none             */
    /* Advice. */
    const char *reads;  /* command that writes a file as text; NULL: none            */
    const char *pipes;  /* command for standard input; NULL: `reads`; "": none        */
    const char *or_use; /* alternative to the command; NULL: CUT_BYTES               */
    bool unpacks;       /* `reads` decodes a compressed file itself                  */
    bool captures;      /* editcap converts it to pcap                               */
    bool whole;         /* a file that is never cut, such as a picture               */
    bool joins;         /* files of it can be concatenated                           */
};

#define CUT_BYTES "input.decode none to cut the bytes without decoding"
#define IS(what, text) .name = what, .length = sizeof(text) - 1, .bytes = text
#define WHOLE(what, text) IS(what, text), .whole = true
#define CAPTURE(what, text) \
    IS(what, text),         \
        .captures = true,   \
        .or_use = "input.split pcap after 'editcap -F pcap' to share out its packets"
#define TCPDUMP .reads = "tcpdump -nr", .pipes = "tcpdump -nr -"
#define TSHARK .reads = "tshark -r", .pipes = "tshark -r -"
#define PCAP(text) \
    IS("pcap", text), TCPDUMP, .or_use = "input.split pcap to share out its packets"
#define CPIO                                               \
    .reads = "cpio -i " CV_LONG_OPTION("to-stdout") " -F", \
    .pipes = "cpio -i " CV_LONG_OPTION("to-stdout"), .joins = true
/* The bytes of a zip header between its magic bytes and the name of the member. */
#define ANY26 "??????????????????????????"
#define ANY26_AT_4 (((UINT64_C(1) << 26) - 1) << 4)

/* The first row that matches counts. */
/* clang-format off */
static const struct cv_magic table[] = {
    /* Before gzip: gzip with a field BC, as bgzip and samtools write it. */
    { IS("BGZF (gzip in blocks, as of BAM)", "\x1f\x8b\x08\x04????????BC"), .any = 0xff0,
      .reads = "zcat", .codec = "bgzf" },
    { IS("gzip", "\x1f\x8b\x08"), .reads = "zcat", .codec = "gzip" },
    { IS("compress", "\x1f\x9d"), .reads = "zcat" },
    { IS("zstd", "\x28\xb5\x2f\xfd"), .reads = "zstdcat", .codec = "zstd" },
    { IS("zstd or lz4", "?\x2a\x4d\x18"), .any = 1, .reads = "zstdcat", .codec = "zstd" }, /* a skippable frame */
    { IS("xz", "\xfd" "7zXZ\0"), .reads = "xzcat", .codec = "xz" },
    { IS("lzip", "LZIP\x01"), .joins = true, .reads = "lzip -dc" },
    /* Older than xz: properties, then the size, which may be unknown. */
    { IS("lzma", "]\0\0??\xff\xff\xff\xff\xff\xff\xff\xff"), .any = 0x18, .reads = "lzma -dc" },
    { IS("lzma", "]\0\0???????\0\0\0"), .any = 0x3f8, .reads = "lzma -dc" },
    { IS("bzip2", "BZh?1AY&SY"), .any = 1 << 3, .reads = "bzcat", .codec = "bzip2" },
    { IS("bzip2", "BZh?\x17\x72\x45\x38\x50\x90"), .any = 1 << 3, .reads = "bzcat", .codec = "bzip2" },
    { IS("lz4", "\x04\x22\x4d\x18"), .reads = "lz4cat", .codec = "lz4" },
    { IS("lz4", "\x02\x21\x4c\x18"), .reads = "lz4cat" },
    { IS("snappy", "\xff\x06\0\0sNaPpY"), .joins = true, .reads = "snzip -dc" },
    { IS("lzop", "\x89LZO\0\r\n\x1a\n"), .joins = true, .reads = "lzop -dc" },
    { IS("lrzip", "LRZI\0"), .reads = "lrzcat" },
    { IS("zlib", "x\x9c"), .reads = "pigz -dc <", .pipes = "pigz -dc" },
    { IS("zpaq", "7kSt\xa0\x31\x83"), .joins = true },
    { IS("zpaq", "zPQ\1"), .joins = true },
    { IS("zpaq", "zPQ\2"), .joins = true },
    /* Before zip: zip with these names of the first member. */
    { IS("an Office file", "PK\x03\x04" ANY26 "[Content_Types].xml"), .any = ANY26_AT_4 },
    { IS("an Office file", "PK\x03\x04" ANY26 "mimetypeapplication/vnd"), .any = ANY26_AT_4 },
    { IS("zip", "PK\x03\x04"), .reads = "unzip -p", .pipes = "funzip" },
    { IS("zip", "PK\x05\x06"), .reads = "unzip -p", .pipes = "funzip" },
    { IS("7-Zip", "7z\xbc\xaf\x27\x1c"), .reads = "7z x -so", .pipes = "" },
    { IS("RAR", "Rar!\x1a\x07"), .reads = "unrar p -inul", .pipes = "" },
    { IS("tar", "ustar"), .joins = true, .at = 257, .reads = "tar -xOf", .pipes = "tar -xO",
      .or_use = "input.split tar to share out its members" },
    { IS("cpio", "070701"), CPIO, .strange = 512 },
    { IS("cpio", "070702"), CPIO, .strange = 512 },
    { IS("cpio", "070707"), CPIO, .strange = 512 },
    { IS("cpio", "\xc7\x71"), CPIO, .strange = 32 },
    { IS("an RPM package", "\xed\xab\xee\xdb") },
    { IS("a cabinet", "MSCF\0\0\0\0") },
    { IS("a disk image", "hsqs??\0\0"), .any = 0x30 },
    { IS("CRAM", "CRAM\x03"), .reads = "samtools view", .unpacks = true },
    { IS("CRAM", "CRAM\x02"), .reads = "samtools view", .unpacks = true },
    { IS("BAM", "BAM\x01"), .reads = "samtools view", .pipes = "samtools view -", .unpacks = true,
      .or_use = "input.split bam to share out its records" },
    { IS("BCF", "BCF\x02"), .reads = "bcftools view", .pipes = "bcftools view -", .unpacks = true },
    { PCAP("\xd4\xc3\xb2\xa1") },
    { PCAP("\x4d\x3c\xb2\xa1") },
    { PCAP("\xa1\xb2\xc3\xd4") },
    { PCAP("\xa1\xb2\x3c\x4d") },
    { CAPTURE("modified pcap", "\x34\xcd\xb2\xa1"), TCPDUMP },
    { CAPTURE("modified pcap", "\xa1\xb2\xcd\x34"), TCPDUMP },
    { CAPTURE("snoop", "snoop\0\0\0"), TSHARK },
    { CAPTURE("a capture of Network Monitor", "GMBU\0"), TSHARK },
    { CAPTURE("pcapng", "\n\r\r\n????\x4d\x3c\x2b\x1a"), .any = 0xf0, TCPDUMP },
    { CAPTURE("pcapng", "\n\r\r\n????\x1a\x2b\x3c\x4d"), .any = 0xf0, TCPDUMP },
    { IS("Parquet", "PAR1"), .strange = 16 },
    { IS("Parquet", "PARE"), .strange = 16 },
    { IS("Arrow", "ARROW1\0\0") },
    { IS("Arrow", "\xff\xff\xff\xff??\0\0\x10\0\0\0"), .any = 0x30 },
    { IS("Avro", "Obj\x01") },
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
    { IS("NumPy", "\x93NUMPY"), .joins = true },
    { IS("pickle", "\x80\2"), .joins = true },
    { IS("pickle", "\x80\3"), .joins = true },
    { IS("pickle", "\x80\4\x95"), .joins = true },
    { IS("pickle", "\x80\5\x95"), .joins = true },
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
    { WHOLE("PNG", "\x89PNG\r\n\x1a\n") },
    { WHOLE("JPEG", "\xff\xd8\xff") },
    { WHOLE("GIF", "GIF8?a"), .any = 1 << 4 },
    { WHOLE("PDF", "%PDF-1.") },
    { WHOLE("PDF", "%PDF-2.") },
    { WHOLE("TIFF", "II*\0") },
    { WHOLE("TIFF", "MM\0*") },
    { WHOLE("a picture", "BM????\0\0\0\0"), .any = 0x3c },
    { WHOLE("a picture", "8BPS\0\1") },
    { WHOLE("a picture", "SDPX\0") },
    { WHOLE("a picture", "XPDS"), .strange = 16 },
    { WHOLE("a picture", "\0\0\0\x0cjP  ") },
    { WHOLE("a picture", "\0\0\0\x0cJXL ") },
    { WHOLE("a picture", "\x76\x2f\x31\x01") },
    { WHOLE("a picture", "#?RADIANCE\n") },
    { WHOLE("a picture", "\0\0??ftyphei"), .any = 0xc },
    { WHOLE("a picture", "\0\0??ftypavi"), .any = 0xc },
    { WHOLE("a picture", "\0\0??ftypmif"), .any = 0xc },
    { WHOLE("sound or video", "RIFF????WAVE"), .any = 0xf0 },
    { WHOLE("sound or video", "RIFF????AVI "), .any = 0xf0 },
    { WHOLE("sound or video", "\0\0??ftyp"), .any = 0xc },
    { WHOLE("sound or video", "OggS\0"), .joins = true },
    { WHOLE("sound or video", "fLaC\0") },
    { WHOLE("sound or video", "\x1a\x45\xdf\xa3") },
    { WHOLE("sound or video", "FORM????AIFF"), .any = 0xf0 },
    { WHOLE("sound or video", "ID3\2"), .joins = true },
    { WHOLE("sound or video", "ID3\3"), .joins = true },
    { WHOLE("sound or video", "ID3\4"), .joins = true },
    { WHOLE("sound or video", "\xff\xfb") },
    { WHOLE("sound or video", "\xff\xf3") },
    { WHOLE("sound or video", "\xff\xf1") },
    { WHOLE("sound or video", "\xff\xf9") },
    { WHOLE("sound or video", "\xff\xfd") },
    { WHOLE("sound or video", ".snd\0\0\0") },
    { WHOLE("sound or video", "wvpk"), .strange = 16 },
    { WHOLE("sound or video", "FLV\1") },
    { WHOLE("sound or video", "MThd\0") },
    { WHOLE("sound or video", "\0\0\1\xba"), .joins = true },
    { WHOLE("sound or video", "\0\0\1\xb3"), .joins = true },
    { WHOLE("sound or video", "\x30\x26\xb2\x75\x8e\x66") },
    { WHOLE("WebP", "RIFF????WEBP"), .any = 0xf0 },
    { IS("a Debian package", "!<arch>\ndebian-binary"), .reads = "dpkg-deb " CV_LONG_OPTION("fsys-tarfile"),
      .pipes = "dpkg-deb " CV_LONG_OPTION("fsys-tarfile") " -", .or_use = "input.split tar after it to share out its members" },
    { IS("an Office file", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") },
    { IS("UTF-32", "\xff\xfe\0\0"), .joins = true, .reads = "iconv -f UTF-32 -t UTF-8" },
    { IS("UTF-32", "\0\0\xfe\xff"), .joins = true, .reads = "iconv -f UTF-32 -t UTF-8" },
    { IS("UTF-16", "\xff\xfe?\0"), .joins = true, .any = 1 << 2, .reads = "iconv -f UTF-16 -t UTF-8" },
    { IS("UTF-16", "\xfe\xff\0"), .joins = true, .reads = "iconv -f UTF-16 -t UTF-8" },
};
/* clang-format on */

enum {
    TAR_NAME = 100, /* bytes of the name at the start of a tar archive */
    TAR_HEAD = 512, /* bytes of the header of a member                 */
    TAR_SUM = 148,  /* offset of its checksum                          */
};

/* Whether the bytes match a row, as far as there are any. */
static bool agrees(const struct cv_magic *row, const char *bytes, size_t length)
{
    for (size_t i = 0; i < row->length && row->at + i < length; i++)
        if (bytes[row->at + i] != row->bytes[i] && (row->any >> i & 1) == 0)
            return false;
    return true;
}

/* Whether it is worth waiting for the magic bytes of tar: an archive begins with a name that is
 * padded with zeros, and no text has two zeros. */
static bool may_be_tar(const char *bytes, size_t length)
{
    const size_t end = length < TAR_NAME ? length : TAR_NAME;
    const char *zero = memchr(bytes, '\0', end);

    if (zero == NULL || zero == bytes || (size_t)(bytes + end - zero) < 2)
        return false;
    for (; zero < bytes + end; zero++)
        if (*zero != '\0')
            return false;
    return true;
}

/* Tar before POSIX has no magic bytes, but a sum of all bytes of its header, with blanks for the sum
 * itself. */
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

/* Whether a line of text may begin with the first bytes, so that it must not be held back. */
static bool may_be_text(const struct cv_magic *row)
{
    return (row->any & 1) != 0 || row->bytes[0] == '\n';
}

/* Whether there are control characters that no text has, not even with terminal sequences. */
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

/* Whether more bytes may complete the row. A line that has arrived is not held back. */
static bool may_become(const struct cv_magic *row, const char *bytes, size_t length)
{
    if (row->at > 0)
        return may_be_tar(bytes, length);
    if (length <= (may_be_text(row) ? 2 : 0) ||
        length >= (row->strange > 0 ? row->strange : row->length))
        return false;
    for (size_t i = 0; i < length && !may_be_text(row); i++)
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
    *undecided = perhaps || (length < TAR_HEAD && may_be_tar(bytes, length));
    return is_old_tar(bytes, length) ? tar : NULL;
}

/* Decode the first bytes. Returns how many of at most `room` there are. */
static size_t decode_first(const struct cv_codec *codec, const char *bytes, size_t length,
                           char *out, size_t room)
{
    struct cv_codec_io io = { .in = (const uint8_t *)bytes, .length = length };
    void *state = codec->open();
    size_t made = 0;

    if (state != NULL && codec->begin(state)) {
        const enum cv_codec_step step = codec->step(state, &io);

        if (step <= CV_CODEC_END)
            made = io.made < room ? io.made : room;
        if (made > 0)
            memcpy(out, io.out, made);
    }
    if (state != NULL)
        codec->close(state);
    return made;
}

enum { SURE = 3 }; /* magic bytes that data do not begin with by chance */

const char *cv_magic_container(const char *bytes, size_t length)
{
    const size_t look = length < CV_MAGIC_LOOK ? length : CV_MAGIC_LOOK;
    char inner[CV_MAGIC_LOOK];
    bool undecided;
    const struct cv_magic *magic = cv_magic_find(bytes, look, &undecided);

    if (magic != NULL && strncmp(magic->bytes, "\x1f\x8b", 2) == 0)
        magic = cv_magic_find(inner,
                              decode_first(&cv_codec_gzip, bytes, length, inner,
                                           sizeof inner),
                              &undecided);
    return magic == NULL || magic->codec != NULL || magic->joins || magic->length < SURE
               ? NULL
               : magic->name;
}

bool cv_magic_is(const struct cv_magic *magic, const char *name)
{
    return name != NULL && strcmp(magic->name, name) == 0;
}

const struct cv_codec *cv_magic_codec(const struct cv_magic *magic)
{
    return magic->codec != NULL ? cv_codec_named(magic->codec) : NULL;
}

enum cleave_status cv_magic_check_codec(const struct cv_codec *codec, const char *bytes,
                                        size_t length, const char *name,
                                        struct cleave_error *err)
{
    return codec->begins((const uint8_t *)bytes, length)
               ? CLEAVE_OK
               : cv_fail_at(err, CV_FILE(name),
                            "expected %s (input.decode %s), got other bytes", codec->name,
                            codec->name);
}

enum cleave_status cv_magic_refuse_fixed(const struct cv_codec *codec, const char *name,
                                         struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "expected input.decode %s, or input.decode none to cut the bytes "
                      "without decoding: they begin like %s",
                      codec->name, codec->name);
}

/* The path for a command line, or FILE if it needs quotes. */
static const char *shown_path(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,:@%=";
    const size_t length = strlen(path);

    return path[0] != '-' && length > 0 && length < 100 && strspn(path, plain) == length
               ? path
               : "FILE";
}

/* The command that writes the input as text. */
static void write_command(const struct cv_magic *magic, const struct cv_magic *around,
                          const char *path, char *out, size_t size)
{
    const char *pipes = magic->pipes != NULL ? magic->pipes : magic->reads;

    if (around == NULL || magic->unpacks)
        snprintf(out, size, "%s %s", magic->reads,
                 path != NULL     ? shown_path(path)
                 : around == NULL ? "FILE"
                                  : "-");
    else
        snprintf(out, size, "%s%s%s | %s", around->reads, path != NULL ? " " : "",
                 path != NULL ? shown_path(path) : "", pipes);
}

enum cleave_status cv_magic_refuse(const struct cv_magic *magic,
                                   const struct cv_magic *around, const char *name,
                                   const char *path, struct cleave_error *err)
{
    const bool needs_file = magic->pipes != NULL && magic->pipes[0] == '\0';
    const char *or_use = magic->or_use != NULL ? magic->or_use : CUT_BYTES;
    char got[128], command[200];

    snprintf(got, sizeof got, "expected text records%s%s, got %s",
             around != NULL ? " inside " : "", around != NULL ? around->name : "",
             magic->name);
    if (magic->whole && around == NULL)
        return cv_fail_at(
            err, CV_FILE(name),
            "%s: a command for each of many files is 'cleave run COMMAND {} "
            "::: FILE...'; or say " CUT_BYTES,
            got);
    if (magic->reads == NULL || (around != NULL && needs_file))
        return cv_fail_at(err, CV_FILE(name),
                          "%s: make CSV or lines of it first, or say " CUT_BYTES, got);
    if (path == NULL && around == NULL && !needs_file)
        return cv_fail_at(err, CV_FILE(name),
                          "%s: put '%s |' before cleave run, or say %s", got,
                          magic->pipes != NULL ? magic->pipes : magic->reads, or_use);
    write_command(magic, around, path, command, sizeof command);
    return cv_fail_at(err, CV_FILE(name), "%s: %stype '%s | cleave run ...', or say %s",
                      got, path == NULL && around == NULL ? "keep it as a file and " : "",
                      command, or_use);
}

enum cleave_status cv_magic_refuse_as(const struct cv_magic *magic, const char *name,
                                      const char *path, const char *expected,
                                      const char *split, struct cleave_error *err)
{
    if (magic != NULL && magic->captures && strcmp(split, "pcap") == 0)
        return cv_fail_at(
            err, CV_FILE(name),
            "expected pcap (input.split pcap), got %s: type 'editcap -F pcap "
            "%s - | cleave run ...' with input.split pcap",
            magic->name, path == NULL ? "-" : shown_path(path));
    return cv_fail_at(err, CV_FILE(name), "expected %s (input.split %s), got %s",
                      expected, split, magic != NULL ? magic->name : "other bytes");
}

enum cleave_status cv_magic_refuse_fetched(const struct cv_magic *magic, const char *name,
                                           struct cleave_error *err)
{
    return cv_fail_at(
        err, CV_FILE(name),
        "expected text records, got %s, whose ranges cannot be decoded: fetch all of it, "
        "as 'curl -sf URL | cleave run ...', or set " CUT_BYTES,
        magic->name);
}
