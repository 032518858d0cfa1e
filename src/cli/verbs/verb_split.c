/* verb_split.c -- cleave split. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/usage_hints.h"
#include "cli/run/run_parts.h"
#include "run/decode/decoder.h"
#include "run/common/machine.h"
#include "run/pieces/pieces.h"
#include "run/split/format_choice.h"
#include "run/split/format_guess.h"
#include <cleave/execute.h>

struct split_options {
    struct cv_strings inputs;
    const char *split, *header, *together, *decode, *output;
    double size, max_record;
    uint64_t number, records;
    int recursive, force, json, quiet, index;
};

#define CODEC_WORD(name) ", " #name
#define CV_VALUES struct split_options

/* clang-format off */
static const struct cv_option input_options[] = {
    CV_OPTION('i', "--input", REPEAT, "FILE", inputs,
        "Cut this file; repeatable, the files are one input. A pattern without a file of "
        "that name, such as 'part-*.csv', means all matching files. Default: standard input.", .file = CV_FILE_INPUT),
    CV_FLAG(0, "--recursive", 1, recursive,
        "An input that is a folder stands for all files below it, by name."),
    CV_OPTION(0, "--split", TEXT, "HOW", split,
        "Cut the input between records: auto (default, by name and first bytes), %s. "
        "Other separators than a comma: csv:; or csv:tab.", .add_list = cv_split_list, .add_words = cv_split_words),
    CV_OPTION(0, "--header", MAYBE, "[N]", header,
        "Begin every piece with the first record of the input, or the first N, or all "
        "lines at the start that begin with '#' or the like."),
    CV_OPTION(0, "--together", TEXT, "KEY", together,
        "Keep neighbouring records with the same key in one piece, a column or the match of "
        "an expression. Without a number or a size of pieces: each such group is a piece."),
    CV_OPTION(0, "--max-record", UNITS, "SIZE", max_record,
        "A record of more bytes is an error. Default 1 GiB."),
    CV_OPTION(0, "--decode", TEXT, "HOW", decode,
        "Decode the input, as in 'cleave run': auto (default), by its first bytes; gzip and "
        "so on: with that format; none: not at all.",
        .add_words = cv_decode_words),
};

static const struct cv_option piece_options[] = {
    CV_OPTION('n', "--number", COUNT, "N", number,
        "Make N pieces of about as many bytes each; some may be empty.",
        .min = 1, .max = 1e9),
    CV_OPTION(0, "--size", UNITS, "SIZE", size,
        "Make pieces of N bytes, extended to the end of the last record."),
    CV_OPTION(0, "--records", COUNT, "N", records,
        "Make pieces of N records, the last of a file of the rest; with --number or --size, "
        "of a multiple of N.", .min = 1, .max = 1e15),
};

static const struct cv_option output_options[] = {
    CV_OPTION('o', "--output", TEXT, "NAME", output,
        "Names of pieces, with {} for their number, starting with 001: 'parts/p-{}.fa'. A "
        "name that ends in .gz, .bgz (both: BGZF), .zst, .xz, .bz2 or .lz4 compresses the "
        "piece. A missing directory is made. Existing files are kept."),
    CV_FLAG(0, "--index", 1, index,
        "Write no pieces but FILE.cleave-index next to each input, with the offsets of some "
        "records: 'cleave run' and 'cleave split' with the same --split then need not read "
        "the file from its start to cut it. For csv, json, xml, warc, tar, bam, pcap and "
        "--records."),
    CV_FLAG(0, "--force", 1, force, "Replace files that exist."),
    CV_FLAG(0, "--json", 1, json, "Write the list of pieces as JSON."),
    CV_FLAG('q', "--quiet", 1, quiet, "Write nothing but errors."),
};
/* clang-format on */

static const struct cv_option_rule rules[] = {
    { 0, "--index", CV_EXCLUDES, "--number --size --output --json",
      "--index: expected neither --number, --size, --output nor --json: no pieces are "
      "written" },
    { 0, "--index --output", CV_ONE_OF, "", "--output NAME is required, or --index" },
    { 0, "--number", CV_EXCLUDES, "--size", "expected --number or --size, got both" },
    { 0, "--index --number --size --records --together", CV_ONE_OF, "",
      "expected --number, --size, --records or --together: how large are pieces?" },
    { .options = NULL },
};

struct told {
    struct cv_json json;
    bool as_json;
    uint64_t pieces, bytes;
    uint64_t places; /* with --index */
    /* the format that the input seems to have; NULL */
    const struct cv_format_guess *like;
    bool chose;       /* a format was chosen: */
    char choice[300]; /* a message about it */
};

static void written(void *context, const struct cv_piece_file *file)
{
    struct told *told = context;

    told->pieces++;
    told->bytes += file->bytes;
    if (!told->as_json)
        return;
    cv_fields(&told->json, "{name %s, begin %llu, end %llu, bytes %llu}", file->name,
              (unsigned long long)file->begin, (unsigned long long)file->end,
              (unsigned long long)file->bytes);
}

static bool is_auto(const struct split_options *values)
{
    return values->split == NULL || strcmp(values->split, "auto") == 0;
}

static enum cleave_status open_splitter(const struct split_options *values,
                                        struct cv_splitter **out,
                                        struct cleave_error *err)
{
    CV_TRY(cv_splitter_parse(is_auto(values) ? "lines" : values->split, out, err));
    CV_TRY(cv_splitter_set_records(*out, values->records, err));
    CV_TRY(cv_splitter_set_together(*out, values->together, err));
    return values->header != NULL ? cv_splitter_set_header(*out, values->header, err)
                                  : CLEAVE_OK;
}

static enum cleave_status open_source(const struct split_options *values,
                                      struct cv_splitter *splitter,
                                      struct cv_source **out, struct cleave_error *err)
{
    const uint64_t size = (uint64_t)values->size;
    struct cv_source_options options = {
        .splitter = splitter,
        .choose = is_auto(values) ? splitter : NULL,
        .no_header = true, /* the files together are the input */
        .header = values->header != NULL,
        .raw = values->decode != NULL && strcmp(values->decode, "none") == 0,
        .codec = values->decode != NULL ? cv_codec_named(values->decode) : NULL,
        .max_record = values->max_record > 0 ? cv_record_limit(values->max_record)
                                             : CLEAVE_MAX_RECORD,
        .sized = values->number > 0,
        .no_index = values->index != 0,
    };
    struct cleave_error note;

    if (options.choose != NULL ||
        cv_splitter_frames(splitter)) { /* a piece of a stream is one array */
        options.hold = CV_SOURCE_HOLD + size;
        options.shares = 1;
    }
    CV_TRY(
        cv_source_open(values->inputs.items, values->inputs.count, &options, out, err));
    if (cv_source_unended(*out, &note))
        cv_print_note("%s", note.text);
    return cv_source_validate(*out, err);
}

static enum cleave_status split(const struct split_options *values, struct told *told,
                                uint64_t *input_bytes, struct cleave_error *err)
{
    struct cv_splitter *splitter = NULL;
    struct cv_source *source = NULL;
    bool header;
    enum cleave_status status =
        values->index ? CLEAVE_OK : cv_pieces_check(values->output, err);

    CV_THEN(status, open_splitter(values, &splitter, err));
    CV_THEN(status, open_source(values, splitter, &source, err));
    if (status == CLEAVE_OK && values->index)
        status = cv_source_index(source, values->force != 0, &told->places, err);
    else if (status == CLEAVE_OK)
        status =
            cv_pieces_write(&(struct cv_pieces_options){ .source = source,
                                                         .name = values->output,
                                                         .header = values->header != NULL,
                                                         .count = values->number,
                                                         .size = (uint64_t)values->size,
                                                         .replace = values->force != 0,
                                                         .threads = cv_usable_cores(),
                                                         .written = written,
                                                         .context = told },
                            err);
    if (source != NULL) {
        *input_bytes = cv_source_extent(source);
        told->like = cv_source_like(source);
        told->chose =
            is_auto(values) && cv_format_tell(cv_source_choice(source, &header), false,
                                              cv_source_span_at(source, 0).name,
                                              told->choice, sizeof told->choice);
    }
    cv_source_free(source);
    cv_splitter_free(splitter);
    return status;
}

static int check(const struct split_options *values)
{
    if (values->size > 0 && !(values->size >= 1 && values->size < 0x1p62))
        return cv_refuse("--size: expected at least 1 byte, got %g", values->size);
    if (values->decode != NULL && strcmp(values->decode, "auto") != 0 &&
        strcmp(values->decode, "none") != 0 && cv_codec_named(values->decode) == NULL)
        return cv_refuse("--decode: expected auto, none" CV_CODEC_MAP(
                             CODEC_WORD) ", got '%s'",
                         CV_ECHO(values->decode));
    return CV_EXIT_DONE;
}

static void say_end(const struct split_options *values, const struct told *told,
                    uint64_t input_bytes)
{
    struct cv_text line = { NULL, 0, 0, false };

    if (values->index)
        cv_text_add(&line, "%" PRIu64 " bytes, %s noted where a record begins\n",
                    input_bytes, CV_COUNTED(told->places, "place"));
    else
        cv_text_add(&line, "%" PRIu64 " bytes in %s\n", input_bytes,
                    CV_COUNTED(told->pieces, "piece"));
    cv_print_raw(&line);
    if (told->chose)
        cv_print_note("%s", told->choice);
    if (values->index || told->pieces < 2 || !is_auto(values) || values->records > 0)
        return;
    if (told->like != NULL && !told->like->endless)
        cv_usage_hint_seeming(values->inputs.count > 0 ? values->inputs.items[0] : "-",
                              told->like->what, told->like->advice);
}

static int run(const struct cv_call *call)
{
    const struct split_options *values = call->values;
    struct told told = { .as_json = values->json != 0 };
    struct cleave_error err;
    uint64_t input_bytes = 0;
    int status = CV_EXIT_DONE;

    CV_DO(check(values));
    if (told.as_json) {
        cv_json_init(&told.json, stdout, true);
        cv_json_object(&told.json);
        cv_field_list(&told.json, "pieces");
    }
    if (split(values, &told, &input_bytes, &err) != CLEAVE_OK) {
        status = cv_print_status(&err);
        if (err.status == CLEAVE_EENGINE) /* a full disk, say */
            status = CV_EXIT_FAILED;
    }
    if (told.as_json) {
        cv_json_end(&told.json);
        cv_fields(&told.json, "input_bytes %llu, bytes %llu, done %d",
                  (unsigned long long)input_bytes, (unsigned long long)told.bytes,
                  status == CV_EXIT_DONE);
        cv_json_end(&told.json);
        cv_json_close(&told.json);
    } else if (status == CV_EXIT_DONE && values->quiet == 0) {
        say_end(values, &told, input_bytes);
    }
    return status;
}

/* Options of split(1) and csplit(1). */
/* clang-format off */
static const struct cv_other_tool_option foreign[] = {
    { "-l --lines", "--records N" },
    { "-b --bytes", "--size SIZE" },
    { "-C --line-bytes", "--size SIZE: pieces end where records do" },
    { "-d -x --numeric-suffixes", "nothing: {} in the name of -o stands for a number" },
    { "-a --suffix-length", "nothing: numbers have as many digits as they need" },
    { "--additional-suffix", "put it into the name: -o 'part-{}.csv'" },
    { "-f --prefix", "-o 'PREFIX{}'" },
    { "--filter", "cleave run -i FILE -- COMMAND" },
    { "--chunks", "-n N" },
    { "-e --elide-empty-files", "--records N or --size SIZE, of which no piece is empty" },
    { "-t --separator", "--split regex:RE" },
    { "--version", "cleave --version" },
    { NULL, NULL },
};
/* clang-format on */

const struct cv_verb cv_verb_split = {
    .name = "split",
    .summary = "cut an input into files at record boundaries",
    .is_first = true,
    .description = "Writes the input as files that begin and end with records; joined in "
                   "order they are the input again. With --header each file has the "
                   "header. The kernel copies the bytes, with one thread per core; file "
                   "systems that can share them between files do.",
    .examples = "cleave split -i examples/unequal.yaml -n 3 -o unequal-{}.yaml -q\n"
                "cleave split -i examples/costs.json --split json --size 1k -o "
                "costs-{}.json --json",
    .groups =
        CV_GROUPS(CV_GROUP("Input", input_options), CV_GROUP("Pieces", piece_options),
                  CV_GROUP("Output", output_options)),
    .rules = rules,
    .foreign = foreign,
    .values_size = sizeof(struct split_options),
    .run = run,
};
