/* test_magic.c -- formats told by their first bytes. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "run/input/magic.h"

#define BYTES(text) sizeof(text) - 1, text

static const struct {
    const char *name;
    size_t length;
    const char *bytes;
} known[] = {
    /* As the programs of these names write them. */
    { "gzip", BYTES("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x04") },
    { "gzip", BYTES("\x1f\x8b\x08\x08\xca\xfe\x00\x00\x00\x03x\0") },
    { "BGZF (gzip in blocks, as of BAM)",
      BYTES("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0") },
    { "gzip", BYTES("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x44\x02\0\x1b\0") },
    { "compress", BYTES("\x1f\x9d\x90\x61\x14") },
    { "zstd", BYTES("\x28\xb5\x2f\xfd\x24\x01\x09\x00\x00\x61") },
    { "zstd or lz4", BYTES("\x50\x2a\x4d\x18\x04\0\0\0abcd\x28\xb5\x2f\xfd") },
    { "zstd or lz4", BYTES("\x5f\x2a\x4d\x18\x04\0\0\0") },
    { "xz", BYTES("\xfd\x37\x7a\x58\x5a\x00\x00\x04") },
    { "lzip", BYTES("LZIP\x01\x0c") },
    { "lzma", BYTES("]\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0") },
    { "lzma", BYTES("]\0\0\0\1\x7f\x12\1\0\0\0\0\0\0") },
    { "bzip2", BYTES("BZh91AY&SY\x63\x3e") },
    { "bzip2", BYTES("BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0") },
    { "lz4", BYTES("\x04\x22\x4d\x18\x64\x40\xa7") },
    { "lz4", BYTES("\x02\x21\x4c\x18\x64") },
    { "snappy", BYTES("\xff\x06\0\0sNaPpY\0\x0b") },
    { "zip", BYTES("PK\x03\x04\x0a\0") },
    { "zip", BYTES("PK\x05\x06\0\0") },
    { "7-Zip", BYTES("\x37\x7a\xbc\xaf\x27\x1c\0\x04") },
    { "RAR", BYTES("Rar!\x1a\x07\x01\0") },
    { "CRAM", BYTES("CRAM\x03\0") },
    { "Parquet", BYTES("PAR1\x15\x04\x15") },
    { "Arrow", BYTES("ARROW1\0\0\xff\xff") },
    { "Arrow", BYTES("\xff\xff\xff\xff\x98\x01\0\0\x10\0\0\0") },
    { "Avro", BYTES("Obj\x01\x04") },
    { "HDF5", BYTES("\x89HDF\r\n\x1a\n\0") },
    { "NumPy", BYTES("\x93NUMPY\x01\0") },
    { "SQLite", BYTES("SQLite format 3\0\x10") },
    { "ELF", BYTES("\x7f\x45LF\x02\x01") },
    { "PNG", BYTES("\x89PNG\r\n\x1a\n\0\0") },
    { "JPEG", BYTES("\xff\xd8\xff\xe0") },
    { "GIF", BYTES("GIF89a\x01\0") },
    { "GIF", BYTES("GIF87a\x01\0") },
    { "PDF", BYTES("%PDF-1.7\n") },
    { "TIFF", BYTES("II*\0\x08\0") },
    { "TIFF", BYTES("MM\0*\0\0") },
    { "WebP", BYTES("RIFF\x24\0\0\0WEBPVP8 ") },
    { "sound or video", BYTES("RIFF\x24\x08\0\0WAVEfmt ") },
    { "sound or video", BYTES("\0\0\0\x20"
                              "ftypisom") },
    { "sound or video", BYTES("OggS\0\x02") },
    { "sound or video", BYTES("\x1a\x45\xdf\xa3\x93") },
    { "a Debian package", BYTES("!<arch>\ndebian-binary   1665") },
    { "an Office file", BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0") },
    { "compress", BYTES("\x1f\x9d\x8c\x31\x58") },
    { "lzop", BYTES("\x89LZO\0\r\n\x1a\n\x10\x40") },
    { "lrzip", BYTES("LRZI\0\x06\x7c\x27") },
    { "zlib", BYTES("x\x9c\x5c\x9d") },
    { "zpaq", BYTES("7kSt\xa0\x31\x83\xd3") },
    { "an Office file", BYTES("PK\x03\x04\x14\0\x08\x08\x08\0\xdd\x82\x4f\x5c\0\0\0\0\0\0"
                              "\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml") },
    { "cpio", BYTES("070701009AE7EA000081A4"
                    "\0") },
    { "cpio", BYTES("\xc7\x71\0\xfe\xea\xe7") },
    { "an RPM package", BYTES("\xed\xab\xee\xdb\x03\0") },
    { "a disk image", BYTES("hsqs\x02\0\0\0\x5c\xf0") },
    { "modified pcap", BYTES("\x34\xcd\xb2\xa1\x02\0\x04\0") },
    { "snoop", BYTES("snoop\0\0\0\0\0\0\x02") },
    { "a capture of Network Monitor", BYTES("GMBU\0\x02\x01\0") },
    { "Parquet", BYTES("PARE\x2d\0\0\0\xe4\x75") },
    { "ORC", BYTES("ORC\x0a\x07\x12\x05\x08\xe8\x07") },
    { "ORC", BYTES("ORC\xc0\x63\0\xd8\x04") },
    { "a SequenceFile", BYTES("SEQ\x06\x19org.apache") },
    { "netCDF", BYTES("CDF\x01\0\0\0\0") },
    { "GRIB", BYTES("GRIB\0\0\0\x02\0\0") },
    { "FITS", BYTES("SIMPLE  =                    T / conforms") },
    { "R data", BYTES("RDX3\nX\n\0\0") },
    { "pickle", BYTES("\x80\x04\x95\x31\x22") },
    { "a property list", BYTES("bplist00\xd1\x01") },
    { "a dump of PostgreSQL", BYTES("PGDMP\x01\x0e\0") },
    { "a program", BYTES("\xca\xfe\xba\xbe\0\0\0\x3d") },
    { "PDF", BYTES("%PDF-2.0\n") },
    { "a picture", BYTES("BMz\x30\0\0\0\0\0\0z\0") },
    { "a picture", BYTES("\0\0\0\x1c"
                         "ftypheic") },
    { "sound or video", BYTES("ID3\x04\0\0") },
    { "sound or video", BYTES("\xff\xf1\x50\x40") },
    { "sound or video", BYTES("FLV\x01\x05") },
    { "sound or video", BYTES("wvpk\x4a\x02\0\0") },
    { "UTF-32", BYTES("\xff\xfe\0\0\x61\0\0\0") },
    { "UTF-16", BYTES("\xff\xfe\x61\0\x0a\0") },
    { "UTF-16", BYTES("\xfe\xff\0\x61\0\x0a") },
};

static void formats_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool undecided = true;
        const struct cv_magic *magic =
            cv_magic_find(known[i].bytes, known[i].length, &undecided);

        assert_non_null(magic);
        assert_false(undecided);
        assert_true(cv_magic_is(magic, known[i].name));
    }
}

/* Input byte by byte is recognized as soon as possible, and awaited until then. */
static void formats_come_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const bool skips = strcmp(known[i].name, "zstd or lz4") == 0;
        size_t length = 1;
        bool undecided = true;

        while (cv_magic_find(known[i].bytes, length, &undecided) == NULL) {
            /* A whole line is not kept back. */
            assert_true(undecided || (skips && length < 3) ||
                        memchr(known[i].bytes, '\n', length) != NULL);
            length++;
            assert_true(length <= known[i].length);
        }
    }
}

static void text_has_no_magic(void **state)
{
    static const struct {
        size_t length;
        const char *bytes;
    } texts[] = {
        { BYTES("") },
        { BYTES("PK,name\n1,2\n") },
        { BYTES("BZhang,1\n") },
        { BYTES("CRAMER\n") },
        { BYTES("PAR1 is a name\n") },
        { BYTES("ORC\n") },
        { BYTES("ORC, a word that is no file\n") },
        { BYTES("070701 is a number of six digits\n") },
        { BYTES("BMW\n") },
        { BYTES("SIMPLE  = T\n") },
        { BYTES("FEA1\t2\n") },
        { BYTES("SQLite format 3 is a format\n") },
        { BYTES("%PDF- is how they begin\n") },
        { BYTES("Object\n") },
        { BYTES("Rar!\n") },
        { BYTES("a*M\n") },
        { BYTES("LZIP\n") },
        { BYTES("!<arch>\nis how they begin\n") },
        { BYTES("RIFF,WAVE,AVI \n") },
        { BYTES("II*M\n") },
        { BYTES("\xef\xbb\xbf"
                "a,b\n") },
        { BYTES("\xff\xfe is Latin-1\n") },
        { BYTES("a\0b\0") },
        { BYTES("\0\0\0\0\0\0") },
        { BYTES("\n") },
        { BYTES("\n\r") },
        { BYTES("\n\r\r\nmore text\n") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool undecided = true;

        assert_null(cv_magic_find(texts[i].bytes, texts[i].length, &undecided));
        assert_false(undecided);
    }
}

/* For any bytes: only a prefix of a format is awaited, and never for long. */
static void nothing_waits_for_long(void **state)
{
    struct cv_random random;
    char bytes[CV_MAGIC_LOOK];
    bool undecided;

    (void)state;
    cv_random_at(&random, 3, 0, 0, 0);
    for (unsigned turn = 0; turn < 20000; turn++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = "\n,ab PB\x1f\0\0\0"[cv_random_bits(&random) % 11];
        cv_magic_find(bytes, sizeof bytes, &undecided);
        assert_false(undecided);
    }
}

static void tar_is_recognized_after_its_name(void **state)
{
    char bytes[CV_MAGIC_LOOK] = "folder/file";
    bool undecided = false;

    (void)state;
    memcpy(bytes + 100, "0000644", 8);
    memcpy(bytes + 257,
           "ustar\0"
           "00",
           sizeof "ustar\0"
                  "00");
    for (size_t length = 13; length < 262; length++) {
        assert_null(cv_magic_find(bytes, length, &undecided));
        assert_true(undecided);
    }
    assert_true(cv_magic_is(cv_magic_find(bytes, 262, &undecided), "tar"));
    assert_null(cv_magic_find(bytes, 12, &undecided)); /* one zero: a record of nul */
    assert_false(undecided);
    bytes[258] = 'x';
    assert_null(cv_magic_find(bytes, sizeof bytes, &undecided));
    assert_false(undecided);
}

/* As `tar --format=v7` has it: no magic bytes, but a sum. */
static void old_tar_is_known_by_its_sum(void **state)
{
    char bytes[CV_MAGIC_LOOK] = "some.txt";
    unsigned sum = 8 * ' ';
    bool undecided = false;

    (void)state;
    memcpy(bytes + 100, "0000644", 8);
    memcpy(bytes + 124, "00000000012", 12);
    for (size_t i = 0; i < sizeof bytes; i++)
        sum += (unsigned char)bytes[i];
    snprintf(bytes + 148, 8, "%06o", sum);
    bytes[155] = ' ';
    for (size_t length = 12; length < sizeof bytes; length++) {
        assert_null(cv_magic_find(bytes, length, &undecided));
        assert_true(undecided);
    }
    assert_true(cv_magic_is(cv_magic_find(bytes, sizeof bytes, &undecided), "tar"));
    assert_false(undecided);
    bytes[0] = 'S';
    assert_null(cv_magic_find(bytes, sizeof bytes, &undecided));
    assert_false(undecided);
    memset(bytes, ' ', sizeof bytes); /* a checksum that is not a number */
    assert_null(cv_magic_find(bytes, sizeof bytes, &undecided));
}

static void nested_formats_are_refused_with_both_names(void **state)
{
    static const struct {
        size_t length;
        const char *bytes, *path, *text;
    } cases[] = {
        { BYTES("BAM\x01"), "x.bam",
          "expected text records inside gzip, got BAM: type 'samtools view x.bam | "
          "cleave "
          "run ...', or say input.split bam to share out its records" },
        { BYTES("BAM\x01"), NULL,
          "expected text records inside gzip, got BAM: type 'samtools view - | cleave "
          "run ...', or say input.split bam to share out its records" },
        { BYTES("PK\x03\x04"), "x.gz",
          "expected text records inside gzip, got zip: type 'zcat x.gz | funzip | cleave "
          "run ...', or say input.decode none to cut the bytes without decoding" },
        { BYTES("PAR1\x15"), "x.gz",
          "expected text records inside gzip, got Parquet: make CSV or lines of it "
          "first, "
          "or say input.decode none to cut the bytes without decoding" },
    };
    bool undecided;
    const struct cv_magic *gzip = cv_magic_find("\x1f\x8b\x08", 3, &undecided);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_error err;

        assert_int_equal(cv_magic_refuse(cv_magic_find(cases[i].bytes, cases[i].length,
                                                       &undecided),
                                         gzip, "some", cases[i].path, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void messages_name_the_command(void **state)
{
    static const struct {
        size_t length;
        const char *bytes, *path, *text;
    } cases[] = {
        { BYTES("\x1f\x8b\x08"), "a/x.gz",
          "expected text records, got gzip: type 'zcat a/x.gz | cleave run ...', or say "
          "input.decode none to cut the bytes without decoding" },
        { BYTES("\x1f\x8b\x08"), "a file; rm x",
          "expected text records, got gzip: type 'zcat FILE | cleave run ...', or say "
          "input.decode none to cut the bytes without decoding" },
        { BYTES("\x1f\x8b\x08"), NULL,
          "expected text records, got gzip: put 'zcat |' before cleave run, or say "
          "input.decode none to cut the bytes without decoding" },
        { BYTES("PK\x03\x04"), NULL,
          "expected text records, got zip: put 'funzip |' before cleave run, or say "
          "input.decode none to cut the bytes without decoding" },
        { BYTES("\xa1\xb2\x3c\x4d"), "x.pcap",
          "expected text records, got pcap: type 'tcpdump -nr x.pcap | cleave run ...', "
          "or say input.split pcap to share out its packets" },
        { BYTES("\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a"), NULL,
          "expected text records, got pcapng: put 'tcpdump -nr - |' before cleave run, "
          "or "
          "say input.split pcap after 'editcap -F pcap' to share out its packets" },
        { BYTES("7z\xbc\xaf\x27\x1c"), NULL,
          "expected text records, got 7-Zip: keep it as a file and type '7z x -so FILE | "
          "cleave run ...', or say input.decode none to cut the bytes without decoding" },
        { BYTES("snoop\0\0\0"), "x.snoop",
          "expected text records, got snoop: type 'tshark -r x.snoop | cleave run ...', "
          "or "
          "say input.split pcap after 'editcap -F pcap' to share out its packets" },
        { BYTES("PAR1\x15"), "x.parquet",
          "expected text records, got Parquet: make CSV or lines of it first, or say "
          "input.decode none to cut the bytes without decoding" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cleave_error err;
        bool undecided;

        assert_int_equal(cv_magic_refuse(cv_magic_find(cases[i].bytes, cases[i].length,
                                                       &undecided),
                                         NULL, "some", cases[i].path, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.file, "some");
        assert_string_equal(err.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_known),
        cmocka_unit_test(formats_come_byte_by_byte),
        cmocka_unit_test(text_has_no_magic),
        cmocka_unit_test(nothing_waits_for_long),
        cmocka_unit_test(tar_is_recognized_after_its_name),
        cmocka_unit_test(old_tar_is_known_by_its_sum),
        cmocka_unit_test(nested_formats_are_refused_with_both_names),
        cmocka_unit_test(messages_name_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
