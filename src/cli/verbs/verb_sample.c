/* verb_sample.c -- cleave sample. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>
#include "base/random.h"
#include "cli/common/verb.h"
#include "cli/verbs/sample_files.h"
#include "report/terminal/table.h"

struct pen;

struct sample_kind {
    const char *name, *what;
    unsigned stream; /* stream of random numbers; the same stream gives the same data */
    bool compressed; /* by zstd, in several frames                               */
    double share;    /* records relative to --records */
    const char *head, *tail; /* NULL: none                        */
    void (*record)(struct pen *pen, uint64_t number); /* number: the first is 1 */
};

struct pen {
    FILE *file;
    struct cv_random random;
    uint64_t count; /* records there will be */
};

/* Small frames, so that several are decoded at once. */
enum { FRAME_RECORDS = 2000 };

/* From 0 to max - 1. */
static unsigned below(struct pen *pen, unsigned max)
{
    return (unsigned)(cv_random_uniform(&pen->random) * max);
}

static const char *one_of(struct pen *pen, const char *const *words, unsigned count)
{
    return words[below(pen, count)];
}

#define ONE_OF(pen, words) one_of(pen, words, (unsigned)(sizeof(words) / sizeof *(words)))

static void bases(struct pen *pen, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fputc("ACGT"[below(pen, 4)], pen -> file);
}

static const char *const words[] = {
    "time",  "river", "stone", "of",    "and",   "wood",  "light", "a",    "the",
    "house", "under", "half",  "split", "grain", "water", "hold",  "fast", "together",
};

static void sentence(struct pen *pen, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fprintf(pen->file, "%s%s", i > 0 ? " " : "", ONE_OF(pen, words));
}

/* At most one random number per statement: the order of arguments is not defined. */

static void log_record(struct pen *pen, uint64_t number)
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

static void number_record(struct pen *pen, uint64_t number)
{
    (void)number;
    fprintf(pen->file, "%u\n", below(pen, 1000000));
}

static void table_record(struct pen *pen, uint64_t number)
{
    const char *word = ONE_OF(pen, words);

    fprintf(pen->file, "%" PRIu64 ",%s %u,\"%s\"\n", number, word, below(pen, 1000),
            number % 10 == 0 ? "two\nlines, quoted" : "one line");
}

static void json_record(struct pen *pen, uint64_t number)
{
    static const char *const languages[] = { "de", "en", "fr" };
    const char *language = ONE_OF(pen, languages);

    fprintf(pen->file,
            "{\"id\": %" PRIu64 ", \"lang\": \"%s\", \"sum\": %u, \"text\": \"", number,
            language, below(pen, 1000000));
    sentence(pen, 3 + below(pen, 9));
    fputs("\"}\n", pen->file);
}

static void array_record(struct pen *pen, uint64_t number)
{
    const char *language = below(pen, 3) > 0 ? "en" : "de";
    const unsigned tag = below(pen, 10);

    if (number > 1)
        fputs(",\n", pen->file);
    fprintf(pen->file,
            "  { \"id\": %" PRIu64 ",\n    \"lang\": \"%s\", \"tags\": [%u, %u] }",
            number, language, tag, below(pen, 10));
}

static void fasta_record(struct pen *pen, uint64_t number)
{
    fprintf(pen->file, ">read%" PRIu64 "\n", number);
    bases(pen, 60);
    fputc('\n', pen->file);
    bases(pen, 1 + below(pen, 60));
    fputc('\n', pen->file);
}

static void fastq_record(struct pen *pen, uint64_t number)
{
    const unsigned length = 40 + below(pen, 20);

    fprintf(pen->file, "@read%" PRIu64 "\n", number);
    bases(pen, length);
    fputs("\n+\n", pen->file);
    for (unsigned i = 0; i < length; i++)
        fputc("@+,.ABCDEFGHI"[below(pen, 13)], pen -> file);
    fputc('\n', pen->file);
}

static void calls_record(struct pen *pen, uint64_t number)
{
    const unsigned from = below(pen, 4), to = (from + 1 + below(pen, 3)) % 4;

    fprintf(pen->file, "1\t%" PRIu64 "\t.\t%c\t%c\t%u\tPASS\t.\n", number * 100,
            "ACGT"[from], "ACGT"[to], below(pen, 60));
}

static void paragraph_record(struct pen *pen, uint64_t number)
{
    fprintf(pen->file, "paragraph %" PRIu64 "\n", number);
    sentence(pen, 4 + below(pen, 12));
    fputs(number < pen->count ? "\n\n" : "\n", pen->file);
}

static void text_record(struct pen *pen, uint64_t number)
{
    (void)number;
    sentence(pen, 5 + below(pen, 10));
    fputc('\n', pen->file);
}

#define LOGS(number, day, part)                                                    \
    {                                                                              \
        .name = "logs/" #day ".log", .what = "one of seven logs of unequal sizes", \
        .stream = 20 + (number), .share = part, .record = log_record               \
    }

/* clang-format off */
static const struct sample_kind sample_data[] = {
    { .name = "access.log", .what = "lines: a log of a web server", .stream = 1, .share = 1,
      .record = log_record },
    { .name = "numbers", .what = "lines: a number each", .stream = 2, .share = 5,
      .record = number_record },
    { .name = "text.txt", .what = "lines: words", .stream = 3, .share = 1, .record = text_record },
    { .name = "table.csv", .what = "csv: some fields are quoted and have two lines", .stream = 4,
      .share = 1, .head = "id,name,note\n", .record = table_record },
    { .name = "records.jsonl", .what = "jsonl: an object to a line", .stream = 5, .share = 1,
      .record = json_record },
    { .name = "records.jsonl.zst", .what = "the same, compressed by zstd", .stream = 5, .share = 1,
      .compressed = true, .record = json_record },
    { .name = "dump.json", .what = "json: one array", .stream = 6, .share = 0.5,
      .head = "[\n", .record = array_record, .tail = "\n]\n" },
    { .name = "reads.fasta", .what = "fasta", .stream = 7, .share = 0.2, .record = fasta_record },
    { .name = "reads.fastq", .what = "fastq; some qualities begin with @", .stream = 8,
      .share = 0.2, .record = fastq_record },
    { .name = "reads_1.fastq", .what = "fastq: reads of pairs", .stream = 9, .share = 0.1,
      .record = fastq_record },
    { .name = "reads_2.fastq", .what = "fastq: their mates", .stream = 10, .share = 0.1,
      .record = fastq_record },
    { .name = "calls.vcf", .what = "lines below a header that begins with #", .stream = 11,
      .share = 0.5, .record = calls_record,
      .head = "##fileformat=VCFv4.2\n##contig=<ID=1,length=1000000000>\n"
              "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" },
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
static void put_records(const struct sample_kind *data, struct pen *pen, uint64_t first,
                        uint64_t last)
{
    if (first == 1 && data->head != NULL)
        fputs(data->head, pen->file);
    for (uint64_t i = first; i < last; i++)
        data->record(pen, i);
    if (last > pen->count && data->tail != NULL)
        fputs(data->tail, pen->file);
}

static bool put_compressed(const struct sample_kind *data, struct pen *pen, FILE *out)
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

/* False: no memory. Write errors are in ferror(). */
static bool sample_data_write(const struct sample_kind *data, uint64_t seed,
                              uint64_t records, FILE *out)
{
    struct pen pen = { .file = out };

    pen.count = (uint64_t)ceil((double)records * data->share);
    cv_random_at(&pen.random, seed, data->stream, 0, 0);
    if (data->compressed)
        return put_compressed(data, &pen, out);
    put_records(data, &pen, 1, pen.count + 1);
    return true;
}

/* A sample is made of random numbers, or is a file of examples/ in the program. */
struct sample {
    const char *name, *what;
    const struct sample_kind *data; /* NULL: a file */
    const struct cv_sample_file *file;
};

/* The name is NULL after the last sample. */
static struct sample sample_at(size_t index)
{
    const struct sample_kind *data = sample_data;

    for (; data->name != NULL; data++)
        if (index-- == 0)
            return (struct sample){ data->name, data->what, data, NULL };
    return (struct sample){ cv_sample_files[index].name, cv_sample_files[index].what,
                            NULL, &cv_sample_files[index] };
}

struct sample_options {
    const char *output;
    uint64_t records, seed;
    int list, force, json;
};

#define CV_VALUES struct sample_options

static const struct sample_options presets = {
    .output = ".",
    .records = 20000,
    .seed = 1,
};

/* clang-format off */
static const struct cv_option sample_options[] = {
    CV_FLAG(0, "--list", 1, list, "Write nothing, but list the samples."),
    CV_OPTION(0, "--records", COUNT, "N", records,
        "Number of lines of the larger files; the other files have a share of it. Default "
        "20000, which makes 10 MB in all.", .min = 1, .max = 1e9),
    CV_OPTION(0, "--seed", COUNT, "N", seed,
        "Files depend on this and on nothing else. Default 1."),
};

static const struct cv_option output_options[] = {
    CV_OPTION('o', "--output", TEXT, "DIR", output,
        "Write into this directory, which is made if necessary. Default: the current "
        "directory. Existing files are kept."),
    CV_FLAG(0, "--force", 1, force, "Replace files that exist."),
    CV_FLAG(0, "--json", 1, json,
        "Write the list as JSON: name, what and bytes of each file."),
};
/* clang-format on */

/* The samples that were asked for, and totals. */
struct choice {
    const struct sample_options *values;
    struct cv_arena *arena;
    bool *wanted;
    size_t count;
    struct cv_json json;
    uint64_t files, bytes;
};

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    return sample_at(index).name;
}

static int choose(const struct cv_call *call, struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        choice->wanted[i] = call->noperands == 0;
    for (size_t k = 0; k < call->noperands; k++) {
        size_t i;

        CV_DO(cv_name_find("no sample", call->operands[k], choice->count, name_at, NULL,
                           &i));
        choice->wanted[i] = true;
    }
    return CV_EXIT_DONE;
}

static void tell(struct choice *choice, size_t index, const uint64_t *bytes)
{
    const struct sample sample = sample_at(index);

    if (!choice->values->json)
        return;
    cv_fields(&choice->json, "{name %s, what %s", sample.name, sample.what);
    if (bytes != NULL)
        cv_field_count(&choice->json, "bytes", *bytes);
    cv_json_end(&choice->json);
}

static int show_list(struct choice *choice)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;

    cv_table_init(&table, "name|contents");
    for (size_t i = 0; i < choice->count; i++) {
        if (!choice->wanted[i])
            continue;
        tell(choice, i, NULL);
        cv_table_add(&table, "%s %s", sample_at(i).name, sample_at(i).what);
    }
    if (choice->values->json)
        cv_table_done(&table);
    else
        cv_table_take(&table, screen.colour, screen.width, &text);
    return cv_print_take(&text);
}

/* In the arena. */
static char *path_of(const struct choice *choice, size_t index)
{
    const char *folder = choice->values->output, *name = sample_at(index).name;
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = cv_need(choice->arena, size, 1, "the samples");
    const bool here = strcmp(folder, ".") == 0;

    snprintf(path, size, "%s%s%s", here ? "" : folder, here ? "" : "/", name);
    return path;
}

/* Nothing is written unless all files can be. */
static int check_files(const struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++) {
        struct stat facts;
        const char *path = choice->wanted[i] ? path_of(choice, i) : "";

        if (*path != '\0' && !choice->values->force && lstat(path, &facts) == 0)
            return cv_refuse("--output: '%s' exists; use --force to replace it, or -o "
                             "DIR to write elsewhere",
                             CV_ECHO(path));
    }
    return CV_EXIT_DONE;
}

static int write_file(struct choice *choice, size_t index)
{
    const struct sample sample = sample_at(index);
    char *path = path_of(choice, index);
    struct cv_output_file out;
    struct cleave_error err;
    uint64_t bytes;
    bool failed = false;
    int status;

    if (cv_folders_make(path, &err) != CLEAVE_OK)
        return cv_refuse("--output: %s", err.text);
    CV_DO(cv_output_open(&out, "--output", path,
                         choice->values->force ? 0 : CV_NEW_FILE_ONLY));
    if (sample.data != NULL)
        failed = !sample_data_write(sample.data, choice->values->seed,
                                    choice->values->records, out.file);
    else
        for (const char *const *line = sample.file->lines; *line != NULL; line++)
            fprintf(out.file, "%s\n", *line);
    if (failed)
        cv_no_memory("the samples");
    fflush(out.file);
    bytes = cv_new_file_size(&out.made);
    status = cv_output_close(&out, failed);
    if (status == CV_EXIT_DONE && sample.file != NULL && sample.file->program &&
        chmod(path, 0755) != 0)
        status =
            cv_print_error(CV_EXIT_FAILED, "--output: cannot make '%s' a command: %s",
                           path, strerror(errno));
    choice->files++;
    choice->bytes += bytes;
    tell(choice, index, &bytes);
    return status;
}

static int write_files(struct choice *choice)
{
    int status = check_files(choice);

    for (size_t i = 0; status == CV_EXIT_DONE && i < choice->count; i++) {
        if (choice->wanted[i])
            status = write_file(choice, i);
    }
    if (status == CV_EXIT_DONE && !choice->values->json)
        printf("%s of %.3g MB in all, in %s\n", CV_COUNTED(choice->files, "file"),
               (double)choice->bytes / 1e6,
               strcmp(choice->values->output, ".") == 0
                   ? "this folder"
                   : CV_ECHO(choice->values->output));
    return status;
}

static int run(const struct cv_call *call)
{
    struct choice choice = { .values = call->values, .arena = call->arena };
    int status, closed;

    while (sample_at(choice.count).name != NULL)
        choice.count++;
    choice.wanted =
        cv_need(call->arena, choice.count, sizeof *choice.wanted, "the samples");
    CV_DO(choose(call, &choice));
    if (choice.values->json) {
        cv_result_open(&choice.json);
        cv_field_list(&choice.json, "samples");
    }
    status = choice.values->list ? show_list(&choice) : write_files(&choice);
    if (choice.values->json) {
        cv_json_end(&choice.json);
        closed = cv_result_close(&choice.json);
        status = status != CV_EXIT_DONE ? status : closed;
    }
    return status;
}

const struct cv_verb cv_verb_sample = {
    .name = "sample",
    .summary = "write files to try things on",
    .is_first = true,
    .description =
        "Writes the files that examples of help and documents name: logs, tables, JSON, "
        "reads, texts, files of several sizes, small commands and the platform files of "
        "examples/. All of them, or those that are named.",
    .operands = "[NAME]...",
    .max_operands = 100,
    .groups = CV_GROUPS(CV_GROUP("Samples", sample_options),
                        CV_GROUP("Output", output_options)),
    .examples = "cleave sample --list\n"
                "cleave sample access.log logs/mon.log -o try",
    .presets = &presets,
    .values_size = sizeof(struct sample_options),
    .run = run,
};
