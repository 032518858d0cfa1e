/* sample_data.c -- samples that are made of random numbers. SPDX-License-Identifier: MIT */
#include "cli/sample/sample_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <zstd.h>
#include "base/random.h"

struct cv_sample_pen {
    FILE *file;
    struct cv_random random;
    uint64_t count; /* records there will be */
};

/* Records of a frame of what is compressed: small, so that several are decoded at once. */
enum { FRAME_RECORDS = 2000 };

/* A whole number from 0 to most - 1. */
static unsigned below(struct cv_sample_pen *pen, unsigned max)
{
    return (unsigned)(cv_random_uniform(&pen->random) * max);
}

static const char *one_of(struct cv_sample_pen *pen, const char *const *words,
                          unsigned count)
{
    return words[below(pen, count)];
}

#define ONE_OF(pen, words) one_of(pen, words, (unsigned)(sizeof(words) / sizeof *(words)))

static void bases(struct cv_sample_pen *pen, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fputc("ACGT"[below(pen, 4)], pen -> file);
}

static const char *const words[] = {
    "time",  "river", "stone", "of",    "and",   "wood",  "light", "a",    "the",
    "house", "under", "half",  "split", "grain", "water", "hold",  "fast", "together",
};

static void sentence(struct cv_sample_pen *pen, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fprintf(pen->file, "%s%s", i > 0 ? " " : "", ONE_OF(pen, words));
}

/* Draws are made one after the other, in an order that every compiler keeps: not more than one
 * among the arguments of a call. */

/* --- records ------------------------------------------------------------------------------ */

static void log_record(struct cv_sample_pen *pen, uint64_t number)
{
    static const char *const codes[] = { "200", "200", "200", "200",
                                         "200", "304", "404", "500" };
    static const char *const paths[] = { "/",     "/index.html", "/search",
                                         "/item", "/cart",       "/about" };
    const unsigned host = below(pen, 254) + 1;
    const char *path = ONE_OF(pen, paths), *code = ONE_OF(pen, codes);

    fprintf(
        pen->file,
        "192.0.2.%u - - [16/Nov/2026:%02u:%02u:%02u +0000] \"GET %s HTTP/1.1\" %s %u\n",
        host, (unsigned)(number / 3600 % 24), (unsigned)(number / 60 % 60),
        (unsigned)(number % 60), path, code, below(pen, 50000));
}

static void number_record(struct cv_sample_pen *pen, uint64_t number)
{
    (void)number;
    fprintf(pen->file, "%u\n", below(pen, 1000000));
}

static void table_head(struct cv_sample_pen *pen)
{
    fputs("id,name,note\n", pen->file);
}

static void table_record(struct cv_sample_pen *pen, uint64_t number)
{
    const char *word = ONE_OF(pen, words);

    fprintf(pen->file, "%" PRIu64 ",%s %u,\"%s\"\n", number, word, below(pen, 1000),
            number % 10 == 0 ? "two\nlines, quoted" : "one line");
}

static void json_record(struct cv_sample_pen *pen, uint64_t number)
{
    static const char *const languages[] = { "de", "en", "fr" };
    const char *language = ONE_OF(pen, languages);

    fprintf(pen->file,
            "{\"id\": %" PRIu64 ", \"lang\": \"%s\", \"sum\": %u, \"text\": \"", number,
            language, below(pen, 1000000));
    sentence(pen, 3 + below(pen, 9));
    fputs("\"}\n", pen->file);
}

static void array_head(struct cv_sample_pen *pen)
{
    fputs("[\n", pen->file);
}

static void array_record(struct cv_sample_pen *pen, uint64_t number)
{
    const char *language = below(pen, 3) > 0 ? "en" : "de";
    const unsigned tag = below(pen, 10);

    if (number > 1)
        fputs(",\n", pen->file);
    fprintf(pen->file,
            "  { \"id\": %" PRIu64 ",\n    \"lang\": \"%s\", \"tags\": [%u, %u] }",
            number, language, tag, below(pen, 10));
}

static void array_tail(struct cv_sample_pen *pen)
{
    fputs("\n]\n", pen->file);
}

static void fasta_record(struct cv_sample_pen *pen, uint64_t number)
{
    fprintf(pen->file, ">read%" PRIu64 "\n", number);
    bases(pen, 60);
    fputc('\n', pen->file);
    bases(pen, 1 + below(pen, 60));
    fputc('\n', pen->file);
}

static void fastq_record(struct cv_sample_pen *pen, uint64_t number)
{
    const unsigned length = 40 + below(pen, 20);

    fprintf(pen->file, "@read%" PRIu64 "\n", number);
    bases(pen, length);
    fputs("\n+\n", pen->file);
    for (unsigned i = 0; i < length; i++)
        fputc("@+,.ABCDEFGHI"[below(pen, 13)], pen -> file);
    fputc('\n', pen->file);
}

static void calls_head(struct cv_sample_pen *pen)
{
    fputs("##fileformat=VCFv4.2\n##contig=<ID=1,length=1000000000>\n"
          "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n",
          pen->file);
}

static void calls_record(struct cv_sample_pen *pen, uint64_t number)
{
    const unsigned from = below(pen, 4), to = (from + 1 + below(pen, 3)) % 4;

    fprintf(pen->file, "1\t%" PRIu64 "\t.\t%c\t%c\t%u\tPASS\t.\n", number * 100,
            "ACGT"[from], "ACGT"[to], below(pen, 60));
}

static void paragraph_record(struct cv_sample_pen *pen, uint64_t number)
{
    fprintf(pen->file, "paragraph %" PRIu64 "\n", number);
    sentence(pen, 4 + below(pen, 12));
    fputs(number < pen->count ? "\n\n" : "\n", pen->file);
}

static void text_record(struct cv_sample_pen *pen, uint64_t number)
{
    (void)number;
    sentence(pen, 5 + below(pen, 10));
    fputc('\n', pen->file);
}

/* --- the list ----------------------------------------------------------------------------- */

#define LOGS(number, day, part)                                                    \
    {                                                                              \
        .name = "logs/" #day ".log", .what = "one of seven logs of unequal sizes", \
        .stream = 20 + (number), .share = part, .record = log_record               \
    }

/* clang-format off */
const struct cv_sample_data cv_sample_data[] = {
    { .name = "access.log", .what = "lines: a log of a web server", .stream = 1, .share = 1,
      .record = log_record },
    { .name = "numbers", .what = "lines: a number each", .stream = 2, .share = 5,
      .record = number_record },
    { .name = "text.txt", .what = "lines: words", .stream = 3, .share = 1, .record = text_record },
    { .name = "table.csv", .what = "csv: some fields are quoted and have two lines", .stream = 4,
      .share = 1, .head = table_head, .record = table_record },
    { .name = "records.jsonl", .what = "jsonl: an object to a line", .stream = 5, .share = 1,
      .record = json_record },
    { .name = "records.jsonl.zst", .what = "the same, compressed by zstd", .stream = 5, .share = 1,
      .compressed = true, .record = json_record },
    { .name = "dump.json", .what = "json: one array", .stream = 6, .share = 0.5,
      .head = array_head, .record = array_record, .tail = array_tail },
    { .name = "reads.fasta", .what = "fasta", .stream = 7, .share = 0.2, .record = fasta_record },
    { .name = "reads.fastq", .what = "fastq; some qualities begin with @", .stream = 8,
      .share = 0.2, .record = fastq_record },
    { .name = "reads_1.fastq", .what = "fastq: reads of pairs", .stream = 9, .share = 0.1,
      .record = fastq_record },
    { .name = "reads_2.fastq", .what = "fastq: their mates", .stream = 10, .share = 0.1,
      .record = fastq_record },
    { .name = "calls.vcf", .what = "lines below a header that begins with #", .stream = 11,
      .share = 0.5, .head = calls_head, .record = calls_record },
    { .name = "paragraphs.txt", .what = "paragraph: blank lines between them", .stream = 12,
      .share = 0.2, .record = paragraph_record },
    LOGS(0, mon, 1),
    LOGS(1, tue, 0.25),
    LOGS(2, wed, 0.06),
    LOGS(3, thu, 0.5),
    LOGS(4, fri, 0.015),
    LOGS(5, sat, 0.12),
    LOGS(6, sun, 0.004),
    { .name = NULL },
};
/* clang-format on */

/* --- files -------------------------------------------------------------------------------- */

/* Write what was collected as a frame, and begin again. */
static bool put_frame(const char *bytes, size_t length, FILE *out)
{
    const size_t room = ZSTD_compressBound(length);
    char *frame = malloc(room);
    size_t size;

    if (frame == NULL)
        return false;
    size = ZSTD_compress(frame, room, bytes, length, 3);
    if (!ZSTD_isError(size))
        fwrite(frame, 1, size, out);
    free(frame);
    return !ZSTD_isError(size);
}

/* Records `first` to `last` - 1. */
static void put_records(const struct cv_sample_data *data, struct cv_sample_pen *pen,
                        uint64_t first, uint64_t last)
{
    if (first == 1 && data->head != NULL)
        data->head(pen);
    for (uint64_t i = first; i < last; i++)
        data->record(pen, i);
    if (last > pen->count && data->tail != NULL)
        data->tail(pen);
}

static bool put_compressed(const struct cv_sample_data *data, struct cv_sample_pen *pen,
                           FILE *out)
{
    bool well = true;

    for (uint64_t first = 1; well && first <= pen->count; first += FRAME_RECORDS) {
        const uint64_t behind = first + FRAME_RECORDS;
        char *bytes = NULL;
        size_t length = 0;

        pen->file = open_memstream(&bytes, &length);
        if (pen->file == NULL)
            return false;
        put_records(data, pen, first, behind <= pen->count ? behind : pen->count + 1);
        well = fclose(pen->file) == 0 && put_frame(bytes, length, out);
        free(bytes);
    }
    return well;
}

bool cv_sample_data_write(const struct cv_sample_data *data,
                          const struct cv_sample_terms *terms, FILE *out)
{
    struct cv_sample_pen pen = { .file = out };

    pen.count = (uint64_t)ceil((double)terms->records * data->share);
    cv_random_at(&pen.random, terms->seed, data->stream, 0, 0);
    if (data->compressed)
        return put_compressed(data, &pen, out);
    put_records(data, &pen, 1, pen.count + 1);
    return true;
}
