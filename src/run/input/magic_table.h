/* magic_table.h -- the first bytes of what is no text records. SPDX-License-Identifier: MIT
 *
 * For magic.c alone. The first row that agrees counts. */
#ifndef CV_MAGIC_TABLE_H
#define CV_MAGIC_TABLE_H
#include <stddef.h>
#include <stdint.h>

struct cv_magic {
    const char *name;
    const char
        *reads; /* the command that makes text of a file, before its name; or NULL */
    const char
        *pipes; /* the same of standard input; NULL: as `reads`; "": it needs a file */
    size_t at;  /* where the bytes are                                            */
    size_t length;
    const char *bytes;
    uint64_t
        any; /* bit i: byte i may be any                                            */
    const char *codec; /* what decodes it, as of --decode; NULL: nothing                */
    /* A text may begin so: there has to be a byte that no text has before this one; or 0. */
    size_t strange;
};

#define BYTES(text) sizeof(text) - 1, text
/* What the head of a member of zip has between its first bytes and its name. */
#define ANY26 "??????????????????????????"
#define ANY26_AT_4 (((UINT64_C(1) << 26) - 1) << 4)

/* clang-format off */
static const struct cv_magic table[] = {
    /* Before gzip, which it is, too: with a field BC, as bgzip and samtools write it. */
    { "BGZF (gzip in blocks, as of BAM)", "zcat", NULL, 0,
      BYTES("\x1f\x8b\x08\x04????????BC"), 0xff0, "bgzf", 0 },
    { "gzip", "zcat", NULL, 0, BYTES("\x1f\x8b\x08"), 0, "gzip", 0 },
    { "compress", "zcat", NULL, 0, BYTES("\x1f\x9d"), 0, NULL, 0 },
    { "zstd", "zstdcat", NULL, 0, BYTES("\x28\xb5\x2f\xfd"), 0, "zstd", 0 },
    { "zstd or lz4", "zstdcat", NULL, 0, BYTES("?\x2a\x4d\x18"), 1, "zstd", 0 }, /* a frame to skip */
    { "xz", "xzcat", NULL, 0, BYTES("\xfd" "7zXZ\0"), 0, "xz", 0 },
    { "lzip", "lzip -dc", NULL, 0, BYTES("LZIP\x01"), 0, NULL, 0 },
    /* The form before xz: how it packs, and how much there is, which may not be said. */
    { "lzma", "lzma -dc", NULL, 0, BYTES("]\0\0??\xff\xff\xff\xff\xff\xff\xff\xff"), 0x18, NULL, 0 },
    { "lzma", "lzma -dc", NULL, 0, BYTES("]\0\0???????\0\0\0"), 0x3f8, NULL, 0 },
    { "bzip2", "bzcat", NULL, 0, BYTES("BZh?1AY&SY"), 1 << 3, "bzip2", 0 },
    { "bzip2", "bzcat", NULL, 0, BYTES("BZh?\x17\x72\x45\x38\x50\x90"), 1 << 3, "bzip2", 0 },
    { "lz4", "lz4cat", NULL, 0, BYTES("\x04\x22\x4d\x18"), 0, "lz4", 0 },
    { "lz4", "lz4cat", NULL, 0, BYTES("\x02\x21\x4c\x18"), 0, NULL, 0 },
    { "snappy", "snzip -dc", NULL, 0, BYTES("\xff\x06\0\0sNaPpY"), 0, NULL, 0 },
    { "lzop", "lzop -dc", NULL, 0, BYTES("\x89LZO\0\r\n\x1a\n"), 0, NULL, 0 },
    { "lrzip", "lrzcat", NULL, 0, BYTES("LRZI\0"), 0, NULL, 0 },
    { "zlib", "pigz -dc <", "pigz -dc", 0, BYTES("x\x9c"), 0, NULL, 0 },
    { "zpaq", NULL, NULL, 0, BYTES("7kSt\xa0\x31\x83"), 0, NULL, 0 },
    { "zpaq", NULL, NULL, 0, BYTES("zPQ\1"), 0, NULL, 0 },
    { "zpaq", NULL, NULL, 0, BYTES("zPQ\2"), 0, NULL, 0 },
    /* Before zip, which they are, too: told by the name of their first member. */
    { "an Office file", NULL, NULL, 0, BYTES("PK\x03\x04" ANY26 "[Content_Types].xml"), ANY26_AT_4, NULL, 0 },
    { "an Office file", NULL, NULL, 0, BYTES("PK\x03\x04" ANY26 "mimetypeapplication/vnd"), ANY26_AT_4, NULL, 0 },
    { "zip", "unzip -p", "funzip", 0, BYTES("PK\x03\x04"), 0, NULL, 0 },
    { "zip", "unzip -p", "funzip", 0, BYTES("PK\x05\x06"), 0, NULL, 0 },
    { "7-Zip", "7z x -so", "", 0, BYTES("7z\xbc\xaf\x27\x1c"), 0, NULL, 0 },
    { "RAR", "unrar p -inul", "", 0, BYTES("Rar!\x1a\x07"), 0, NULL, 0 },
    { "tar", "tar -xOf", "tar -xO", 257, BYTES("ustar"), 0, NULL, 0 },
    { "cpio", "cpio -i --to-stdout -F", "cpio -i --to-stdout", 0, BYTES("070701"), 0, NULL, 512 },
    { "cpio", "cpio -i --to-stdout -F", "cpio -i --to-stdout", 0, BYTES("070702"), 0, NULL, 512 },
    { "cpio", "cpio -i --to-stdout -F", "cpio -i --to-stdout", 0, BYTES("070707"), 0, NULL, 512 },
    { "cpio", "cpio -i --to-stdout -F", "cpio -i --to-stdout", 0, BYTES("\xc7\x71"), 0, NULL, 32 },
    { "an RPM package", NULL, NULL, 0, BYTES("\xed\xab\xee\xdb"), 0, NULL, 0 },
    { "a cabinet", NULL, NULL, 0, BYTES("MSCF\0\0\0\0"), 0, NULL, 0 },
    { "a disk image", NULL, NULL, 0, BYTES("hsqs??\0\0"), 0x30, NULL, 0 },
    { "CRAM", "samtools view", NULL, 0, BYTES("CRAM\x03"), 0, NULL, 0 },
    { "CRAM", "samtools view", NULL, 0, BYTES("CRAM\x02"), 0, NULL, 0 },
    { "BAM", "samtools view", "samtools view -", 0, BYTES("BAM\x01"), 0, NULL, 0 },
    { "BCF", "bcftools view", "bcftools view -", 0, BYTES("BCF\x02"), 0, NULL, 0 },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xd4\xc3\xb2\xa1"), 0, NULL, 0 },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\x4d\x3c\xb2\xa1"), 0, NULL, 0 },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xa1\xb2\xc3\xd4"), 0, NULL, 0 },
    { "pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xa1\xb2\x3c\x4d"), 0, NULL, 0 },
    { "modified pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\x34\xcd\xb2\xa1"), 0, NULL, 0 },
    { "modified pcap", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\xa1\xb2\xcd\x34"), 0, NULL, 0 },
    { "snoop", "tshark -r", "tshark -r -", 0, BYTES("snoop\0\0\0"), 0, NULL, 0 },
    { "a capture of Network Monitor", "tshark -r", "tshark -r -", 0, BYTES("GMBU\0"), 0, NULL, 0 },
    { "pcapng", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\n\r\r\n????\x4d\x3c\x2b\x1a"), 0xf0, NULL, 0 },
    { "pcapng", "tcpdump -nr", "tcpdump -nr -", 0, BYTES("\n\r\r\n????\x1a\x2b\x3c\x4d"), 0xf0, NULL, 0 },
    { "Parquet", NULL, NULL, 0, BYTES("PAR1"), 0, NULL, 16 },
    { "Parquet", NULL, NULL, 0, BYTES("PARE"), 0, NULL, 16 },
    { "Arrow", NULL, NULL, 0, BYTES("ARROW1\0\0"), 0, NULL, 0 },
    { "Arrow", NULL, NULL, 0, BYTES("\xff\xff\xff\xff??\0\0\x10\0\0\0"), 0x30, NULL, 0 },
    { "Avro", NULL, NULL, 0, BYTES("Obj\x01"), 0, NULL, 0 },
    /* Behind these, what is in the file begins at once. */
    { "ORC", NULL, NULL, 0, BYTES("ORC"), 0, NULL, 16 },
    { "Feather", NULL, NULL, 0, BYTES("FEA1"), 0, NULL, 16 },
    { "a SequenceFile", NULL, NULL, 0, BYTES("SEQ\x06"), 0, NULL, 0 },
    { "an RCFile", NULL, NULL, 0, BYTES("RCF\1"), 0, NULL, 0 },
    { "HDF5", NULL, NULL, 0, BYTES("\x89HDF\r\n\x1a\n"), 0, NULL, 0 },
    { "HDF4", NULL, NULL, 0, BYTES("\x0e\x03\x13\x01"), 0, NULL, 0 },
    { "netCDF", "ncdump", "", 0, BYTES("CDF\1"), 0, NULL, 0 },
    { "netCDF", "ncdump", "", 0, BYTES("CDF\2"), 0, NULL, 0 },
    { "netCDF", "ncdump", "", 0, BYTES("CDF\5"), 0, NULL, 0 },
    { "GRIB", NULL, NULL, 0, BYTES("GRIB???\1"), 0x70, NULL, 0 },
    { "GRIB", NULL, NULL, 0, BYTES("GRIB???\2"), 0x70, NULL, 0 },
    { "FITS", NULL, NULL, 0, BYTES("SIMPLE  =                    T"), 0, NULL, 0 },
    { "DICOM", NULL, NULL, 128, BYTES("DICM"), 0, NULL, 0 },
    { "ROOT", NULL, NULL, 0, BYTES("root\0\0"), 0, NULL, 0 },
    { "LAS", NULL, NULL, 0, BYTES("LASF\0\0"), 0, NULL, 0 },
    { "a shapefile", NULL, NULL, 0, BYTES("\0\0\x27\x0a\0\0"), 0, NULL, 0 },
    { "FlatGeobuf", NULL, NULL, 0, BYTES("fgb\3fgb"), 0, NULL, 0 },
    { "MATLAB", NULL, NULL, 0, BYTES("MATLAB 5.0 MAT-file"), 0, NULL, 0 },
    { "R data", NULL, NULL, 0, BYTES("RDX2\nX\n"), 0, NULL, 0 },
    { "R data", NULL, NULL, 0, BYTES("RDX3\nX\n"), 0, NULL, 0 },
    { "SPSS", NULL, NULL, 0, BYTES("$FL2@(#)"), 0, NULL, 0 },
    { "Stata", NULL, NULL, 0, BYTES("<stata_dta>"), 0, NULL, 0 },
    { "SRA", "fastq-dump -Z", "", 0, BYTES("NCBI.sra"), 0, NULL, 0 },
    { "POD5", NULL, NULL, 0, BYTES("\x8bPOD\r\n\x1a\n"), 0, NULL, 0 },
    { "ABIF", NULL, NULL, 0, BYTES("ABIF\0"), 0, NULL, 0 },
    { "bigWig", NULL, NULL, 0, BYTES("\x26\xfc\x8f\x88"), 0, NULL, 0 },
    { "bigBed", NULL, NULL, 0, BYTES("\xeb\xf2\x89\x87"), 0, NULL, 0 },
    { "2bit", NULL, NULL, 0, BYTES("\x43\x27\x41\x1a"), 0, NULL, 0 },
    { "an index", NULL, NULL, 0, BYTES("BAI\1"), 0, NULL, 0 },
    { "an index", NULL, NULL, 0, BYTES("TBI\1"), 0, NULL, 0 },
    { "an index", NULL, NULL, 0, BYTES("CSI\1"), 0, NULL, 0 },
    { "GGUF", NULL, NULL, 0, BYTES("GGUF?\0\0\0"), 1 << 4, NULL, 0 },
    { "NumPy", NULL, NULL, 0, BYTES("\x93NUMPY"), 0, NULL, 0 },
    { "pickle", NULL, NULL, 0, BYTES("\x80\2"), 0, NULL, 0 },
    { "pickle", NULL, NULL, 0, BYTES("\x80\3"), 0, NULL, 0 },
    { "pickle", NULL, NULL, 0, BYTES("\x80\4\x95"), 0, NULL, 0 },
    { "pickle", NULL, NULL, 0, BYTES("\x80\5\x95"), 0, NULL, 0 },
    { "a property list", NULL, NULL, 0, BYTES("bplist00"), 0, NULL, 0 },
    { "SQLite", NULL, NULL, 0, BYTES("SQLite format 3\0"), 0, NULL, 0 },
    { "a dump of PostgreSQL", "pg_restore -f -", NULL, 0, BYTES("PGDMP\1"), 0, NULL, 0 },
    { "a journal of systemd", NULL, NULL, 0, BYTES("LPKSHHRH"), 0, NULL, 0 },
    { "a log of Windows", NULL, NULL, 0, BYTES("ElfFile\0"), 0, NULL, 0 },
    { "a pack of git", NULL, NULL, 0, BYTES("PACK\0\0\0"), 0, NULL, 0 },
    { "ELF", NULL, NULL, 0, BYTES("\x7f" "ELF"), 0, NULL, 0 },
    { "a program", NULL, NULL, 0, BYTES("\xca\xfe\xba\xbe\0"), 0, NULL, 0 },
    { "a program", NULL, NULL, 0, BYTES("\xcf\xfa\xed\xfe"), 0, NULL, 0 },
    { "a program", NULL, NULL, 0, BYTES("MZ\x90\0"), 0, NULL, 0 },
    { "a program", NULL, NULL, 0, BYTES("\0asm\1"), 0, NULL, 0 },
    { "PNG", NULL, NULL, 0, BYTES("\x89PNG\r\n\x1a\n"), 0, NULL, 0 },
    { "JPEG", NULL, NULL, 0, BYTES("\xff\xd8\xff"), 0, NULL, 0 },
    { "GIF", NULL, NULL, 0, BYTES("GIF8?a"), 1 << 4, NULL, 0 },
    { "PDF", NULL, NULL, 0, BYTES("%PDF-1."), 0, NULL, 0 },
    { "PDF", NULL, NULL, 0, BYTES("%PDF-2."), 0, NULL, 0 },
    { "TIFF", NULL, NULL, 0, BYTES("II*\0"), 0, NULL, 0 },
    { "TIFF", NULL, NULL, 0, BYTES("MM\0*"), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("BM????\0\0\0\0"), 0x3c, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("8BPS\0\1"), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("SDPX\0"), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("XPDS"), 0, NULL, 16 },
    { "a picture", NULL, NULL, 0, BYTES("\0\0\0\x0cjP  "), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("\0\0\0\x0cJXL "), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("\x76\x2f\x31\x01"), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("#?RADIANCE\n"), 0, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("\0\0??ftyphei"), 0xc, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("\0\0??ftypavi"), 0xc, NULL, 0 },
    { "a picture", NULL, NULL, 0, BYTES("\0\0??ftypmif"), 0xc, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("RIFF????WAVE"), 0xf0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("RIFF????AVI "), 0xf0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\0\0??ftyp"), 0xc, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("OggS\0"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("fLaC\0"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\x1a\x45\xdf\xa3"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("FORM????AIFF"), 0xf0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("ID3\2"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("ID3\3"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("ID3\4"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\xff\xfb"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\xff\xf3"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\xff\xf1"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\xff\xf9"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\xff\xfd"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES(".snd\0\0\0"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("wvpk"), 0, NULL, 16 },
    { "sound or video", NULL, NULL, 0, BYTES("FLV\1"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("MThd\0"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\0\0\1\xba"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\0\0\1\xb3"), 0, NULL, 0 },
    { "sound or video", NULL, NULL, 0, BYTES("\x30\x26\xb2\x75\x8e\x66"), 0, NULL, 0 },
    { "WebP", NULL, NULL, 0, BYTES("RIFF????WEBP"), 0xf0, NULL, 0 },
    { "a Debian package", "dpkg-deb --fsys-tarfile", "dpkg-deb --fsys-tarfile -", 0, BYTES("!<arch>\ndebian-binary"), 0, NULL, 0 },
    { "an Office file", NULL, NULL, 0, BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), 0, NULL, 0 },
    { "UTF-32", "iconv -f UTF-32 -t UTF-8", NULL, 0, BYTES("\xff\xfe\0\0"), 0, NULL, 0 },
    { "UTF-32", "iconv -f UTF-32 -t UTF-8", NULL, 0, BYTES("\0\0\xfe\xff"), 0, NULL, 0 },
    { "UTF-16", "iconv -f UTF-16 -t UTF-8", NULL, 0, BYTES("\xff\xfe?\0"), 1 << 2, NULL, 0 },
    { "UTF-16", "iconv -f UTF-16 -t UTF-8", NULL, 0, BYTES("\xfe\xff\0"), 0, NULL, 0 },
};
/* clang-format on */

#undef BYTES
#undef ANY26
#undef ANY26_AT_4

#endif
