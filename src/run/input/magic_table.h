/* magic_table.h -- the first bytes of what is no text records. SPDX-License-Identifier: MIT
 *
 * For magic.c alone. The first row that agrees counts. */
#ifndef CV_MAGIC_TABLE_H
#define CV_MAGIC_TABLE_H
#include <stddef.h>
#include <stdint.h>

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

#endif
