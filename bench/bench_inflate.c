/* bench_inflate.c -- speed of gzip decoding, compared with libdeflate, zlib and ISA-L.
 * SPDX-License-Identifier: MIT usage: bench_inflate [MEGABYTES | FILE.gz...] 60 MB each
 * of a log, of FASTQ and of CSV, as gzip -6 and -1 make them
 *
 * One thread, no input or output: all is in memory, and decoded bytes stay in place.
 * Decoders take turns, nine times; the least processor time of each counts. CSV: input,
 * decoder, seconds, megabytes in a second, times as fast as ours. libdeflate wants all of
 * the input and of the output in memory at once, ours does not. zlib and ISA-L are looked
 * for when the program runs.
 *
 * It can be made without the rest:
 *   cc -O2 -Iinclude -Isrc bench/bench_inflate.c src/run/decode/inflate.c src/run/decode/codec_gzip.c -ldeflate */
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inflate_peers.h"
#include "run/decode/decoder.h"

enum { TURNS = 9, NAME = 256, HEAD = 10, TAIL = 8 };

static struct peer_zlib zlib;
static struct peer_isal isal;
static bool has_zlib, has_isal;

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

_Noreturn static void fail(const char *what, const char *name)
{
    fprintf(stderr, "bench_inflate: %s: %s\n", what, name);
    exit(1);
}

/* --- inputs --------------------------------------------------------------------------------- */

struct text {
    char *bytes; /* owned */
    size_t length, max;
};

static unsigned draw(uint64_t *state, unsigned below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)((*state >> 20) % below);
}

static int log_line(char *to, size_t room, unsigned number, uint64_t *random)
{
    static const char *const pages[] = { "/index.html", "/api/v1/items", "/login",
                                         "/static/app.js", "/favicon.ico" };
    static const char *const agents[] = { "Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0",
                                          "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" };

    return snprintf(to, room,
                    "10.%u.%u.%u - - [17/Nov/2026:%02u:%02u:%02u +0000] \"GET %s?id=%u "
                    "HTTP/1.1\" %u %u \"-\" \"%s\"\n",
                    draw(random, 4), draw(random, 256), draw(random, 256),
                    number / 360000 % 24, number / 6000 % 60, number / 100 % 60,
                    pages[draw(random, 5)], draw(random, 100000),
                    draw(random, 20) == 0 ? 404u : 200u, draw(random, 50000),
                    agents[draw(random, 3)]);
}

static int read_of_fastq(char *to, size_t room, unsigned number, uint64_t *random)
{
    char bases[101], quality[101];

    for (unsigned i = 0; i < 100; i++) {
        bases[i] = "ACGT"[draw(random, 4)];
        quality[i] = "FFFFFFFFFFFFF:,#"[draw(random, 16)];
    }
    bases[100] = quality[100] = '\0';
    return snprintf(to, room, "@SRR1770413.%u %u/1\n%s\n+\n%s\n", number, number, bases,
                    quality);
}

static int csv_line(char *to, size_t room, unsigned number, uint64_t *random)
{
    static const char *const towns[] = { "Berlin", "Paris", "Lisboa", "Oslo", "Wien" };

    return snprintf(to, room, "%u,%s,%u.%02u,%u,2026-%02u-%02u,%s\n", number,
                    towns[draw(random, 5)], draw(random, 1000), draw(random, 100),
                    draw(random, 1000000), 1 + draw(random, 12), 1 + draw(random, 28),
                    draw(random, 3) == 0 ? "yes" : "no");
}

typedef int line_of(char *to, size_t room, unsigned number, uint64_t *random);

static struct text make_text(line_of *line, size_t length)
{
    enum { SLACK = 4096 };
    struct text text = { .bytes = malloc(length + SLACK), .max = length };
    uint64_t random = 88172645463325252u;

    if (text.bytes == NULL)
        fail("no memory", "an input");
    for (unsigned number = 1; text.length < text.max; number++)
        text.length += (size_t)line(text.bytes + text.length, SLACK, number, &random);
    return text;
}

/* --- decoders ------------------------------------------------------------------------------- */

struct member {
    uint8_t *bytes;
    size_t length;
    size_t whole; /* bytes decoded */
    uint8_t *out; /* buffer of equal size */
};

static size_t by_ours(const struct member *in)
{
    struct cv_codec_io io = { .in = in->bytes, .length = in->length };
    void *state = cv_codec_gzip.open();
    enum cv_codec_step step = CV_CODEC_MEMORY;
    size_t made = 0;

    if (state != NULL && cv_codec_gzip.begin(state))
        do {
            io.made = 0;
            step = cv_codec_gzip.step(state, &io);
            made += io.made;
        } while (step == CV_CODEC_MADE);
    if (state != NULL)
        cv_codec_gzip.close(state);
    return step == CV_CODEC_END ? made : 0;
}

static size_t by_libdeflate(const struct member *in)
{
    struct libdeflate_decompressor *decoder = libdeflate_alloc_decompressor();
    size_t used, made = 0;

    if (decoder == NULL ||
        libdeflate_gzip_decompress_ex(decoder, in->bytes, in->length, in->out, in->whole,
                                      &used, &made) != LIBDEFLATE_SUCCESS)
        made = 0;
    libdeflate_free_decompressor(decoder);
    return made;
}

static size_t by_zlib(const struct member *in)
{
    return peer_zlib_run(&zlib, in->bytes, in->length);
}

static size_t by_isal(const struct member *in)
{
    return peer_isal_run(&isal, in->bytes, in->length);
}

/* --- lines ---------------------------------------------------------------------------------- */

enum { OURS, LIBDEFLATE, ZLIB, ISAL, KINDS };

static double time_of(size_t (*decode)(const struct member *in), const struct member *in,
                      const char *name)
{
    const double then_s = now_s();

    if (decode(in) != in->whole)
        fail("decoded to another length", name);
    return now_s() - then_s;
}

static void note(double *least_s, double took_s)
{
    *least_s = *least_s == 0 || took_s < *least_s ? took_s : *least_s;
}

static void bench(const char *name, const struct member *in)
{
    static const char *const names[] = { "ours", "libdeflate", "zlib", "ISA-L" };
    double least_s[KINDS] = { 0 };

    for (unsigned turn = 0; turn < TURNS; turn++) {
        note(&least_s[OURS], time_of(by_ours, in, name));
        note(&least_s[LIBDEFLATE], time_of(by_libdeflate, in, name));
        if (has_isal)
            note(&least_s[ISAL], time_of(by_isal, in, name));
        if (has_zlib && turn == 0) /* it is slow, and its last per cent is irrelevant */
            note(&least_s[ZLIB], time_of(by_zlib, in, name));
    }
    for (unsigned i = 0; i < KINDS; i++) {
        if (least_s[i] > 0)
            printf("%s,%s,%.4f,%.0f,%.2f\n", name, names[i], least_s[i],
                   1e-6 * (double)in->whole / least_s[i], least_s[OURS] / least_s[i]);
    }
    fflush(stdout);
}

/* How much it says that it holds. */
static void bench_member(const char *name, uint8_t *bytes, size_t length)
{
    struct member in = { .bytes = bytes, .length = length };

    if (length < HEAD + TAIL || bytes[0] != 0x1F || bytes[1] != 0x8B)
        fail("expected one member of gzip", name);
    for (unsigned i = 0; i < 4; i++)
        in.whole |= (size_t)bytes[length - 4 + i] << 8 * i;
    in.out = malloc(in.whole + 1);
    if (in.out == NULL)
        fail("no memory", name);
    memset(in.out, 1, in.whole); /* touched pages cost no page fault */
    bench(name, &in);
    free(in.out);
}

static void bench_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long length;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0)
        fail("cannot be read", path);
    rewind(file);
    bytes = malloc((size_t)length + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)length, file) != (size_t)length)
        fail("cannot be read", path);
    fclose(file);
    if (length > 3 && bytes[3] != 0)
        fail("expected a head without a name: gzip -n", path);
    bench_member(path, bytes, (size_t)length);
    free(bytes);
}

static void bench_samples(size_t length)
{
    static const struct {
        const char *name;
        line_of *line;
    } samples[] = { { "log", log_line },
                    { "fastq", read_of_fastq },
                    { "csv", csv_line } };
    static const int levels[] = { 6, 1 };

    if (!has_zlib)
        fail("zlib, which packs the samples, is not installed", "name files instead");
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct text text = make_text(samples[i].line, length);

        for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
            char name[NAME];
            uint8_t *packed;
            const size_t made = peer_zlib_pack(&zlib, (const uint8_t *)text.bytes,
                                               text.length, levels[k], &packed);

            snprintf(name, sizeof name, "%s-%d", samples[i].name, levels[k]);
            if (made == 0)
                fail("cannot be packed", name);
            bench_member(name, packed, made);
            free(packed);
        }
        free(text.bytes);
    }
}

int main(int argc, char **argv)
{
    const unsigned long megabytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 60;

    has_zlib = peer_zlib_open(&zlib);
    has_isal = peer_isal_open(&isal);
    if (!has_isal)
        fprintf(stderr, "bench_inflate: ISA-L is not installed\n");
    puts("input,decoder,seconds,megabytes in a second,times");
    if (argc < 2 || (argc == 2 && megabytes > 0)) {
        bench_samples((size_t)megabytes * 1000000);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        bench_file(argv[i]);
    return 0;
}
