/* format_choice.c -- the format of an input, by its name and first bytes. SPDX-License-Identifier: MIT */
#include "run/split/format_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_kind.h"

enum format {
    LINES,
    FASTQ,
    FASTA,
    CSV,
    CSV_SEMICOLON,
    TSV,
    JSONL,
    JSON,
    JSON_ARRAY,
    VCF,
    SAM,
    BAM,
    WARC,
    XML,
    UNDECIDED,
};

/* clang-format off */
static const struct cv_format_choice choices[] = {
    [LINES] = { NULL, "lines", NULL, NULL },
    [FASTQ] = { "FASTQ", "fastq", NULL, NULL },
    [FASTA] = { "FASTA", "fasta", NULL, NULL },
    [CSV] = { "CSV", "csv", "", NULL },
    [CSV_SEMICOLON] = { "CSV with ';'", "csv:;", "", NULL },
    [TSV] = { "TSV", "csv:tab", "", NULL },
    [JSONL] = { "JSON lines", "jsonl", NULL, NULL },
    [JSON] = { "JSON values", "json:values", NULL, NULL },
    [JSON_ARRAY] = { "one JSON array, for one worker", "json:values", NULL,
                     "input.split json to share out its elements, " },
    [VCF] = { "VCF", "lines", "#", NULL },
    [SAM] = { "SAM", "lines", "@", NULL },
    [BAM] = { "BAM", "bam", NULL, NULL },
    [WARC] = { "WARC", "warc", NULL, NULL },
    [XML] = { "XML", "xml:ELEMENT", NULL, NULL },
};
/* clang-format on */

/* --- names ------------------------------------------------------------------------------------ */

static bool ends_in(const char *name, size_t length, const char *end)
{
    const size_t size = strlen(end);

    return length > size && strncasecmp(name + length - size, end, size) == 0;
}

static enum format find_by_name(const char *name)
{
    static const char *const packed[] = { ".gz", ".bgz", ".bz2", ".xz", ".zst", ".lz4" };
    static const struct {
        const char *end;
        enum format format;
    } ends[] = {
        { ".fastq", FASTQ }, { ".fq", FASTQ },    { ".fasta", FASTA },  { ".fa", FASTA },
        { ".fna", FASTA },   { ".faa", FASTA },   { ".ffn", FASTA },    { ".csv", CSV },
        { ".tsv", TSV },     { ".jsonl", JSONL }, { ".ndjson", JSONL }, { ".json", JSON },
        { ".vcf", VCF },     { ".sam", SAM },     { ".bam", BAM },      { ".warc", WARC },
        { ".xml", XML },
    };
    size_t length = name != NULL ? strlen(name) : 0;

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (ends_in(name, length, packed[i])) {
            length -= strlen(packed[i]);
            break;
        }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(name, length, ends[i].end))
            return ends[i].format;
    return LINES;
}

/* --- first bytes -------------------------------------------------------------------------------- */

/* The unread bytes; `ends`: no bytes of the input follow them. */
struct look {
    const char *at, *end;
    bool ends;
};

struct line {
    const char *bytes;
    size_t length; /* without its end */
};

/* The next line; false: it has no end here, or there is none. */
static bool next_line(struct look *look, struct line *out)
{
    const size_t left = (size_t)(look->end - look->at);
    const char *newline = memchr(look->at, '\n', left);

    if (newline == NULL && (!look->ends || left == 0))
        return false;
    out->bytes = look->at;
    out->length = newline != NULL ? (size_t)(newline - look->at) : left;
    look->at = newline != NULL ? newline + 1 : look->end;
    if (out->length > 0 && out->bytes[out->length - 1] == '\r')
        out->length--;
    return true;
}

static bool begins(const struct look *look, const char *text)
{
    const size_t length = strlen(text);

    return (size_t)(look->end - look->at) >= length &&
           memcmp(look->at, text, length) == 0;
}

/* Whether the bytes may begin so once more have arrived. */
static bool may_begin(const struct look *look, const char *text)
{
    const size_t length = (size_t)(look->end - look->at);

    return !look->ends && length < strlen(text) && memcmp(look->at, text, length) == 0;
}

static enum format unfinished(const struct look *look)
{
    return look->ends ? LINES : UNDECIDED;
}

/* '@': a read of FASTQ, or a header of SAM. */
static enum format look_at_sign(struct look look)
{
    static const char *const heads[] = { "@HD\t", "@SQ\t", "@RG\t", "@PG\t", "@CO\t" };
    struct line name, sequence, plus;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (begins(&look, heads[i]))
            return SAM;
        if (may_begin(&look, heads[i]))
            return UNDECIDED;
    }
    if (!next_line(&look, &name) || !next_line(&look, &sequence) ||
        !next_line(&look, &plus))
        return unfinished(&look);
    return sequence.length > 0 && plus.length > 0 && plus.bytes[0] == '+' ? FASTQ : LINES;
}

enum { MIN_LETTERS = 10 }; /* of a sequence; fewer may be a word */

static enum format look_at_angle(struct look look)
{
    struct line name, sequence;

    if (!next_line(&look, &name) || !next_line(&look, &sequence))
        return unfinished(&look);
    if (sequence.length < MIN_LETTERS)
        return LINES;
    for (size_t i = 0; i < sequence.length; i++)
        if (!isalpha((unsigned char)sequence.bytes[i]) &&
            strchr("*-", sequence.bytes[i]) == NULL)
            return LINES;
    return FASTA;
}

/* '{' or '[': a value per line if the first line is one, else values over several lines. */
static enum format look_at_json(struct look look)
{
    const char *bytes = look.at;
    const bool array = bytes[0] == '[';
    struct line line;
    bool quoted = false;
    size_t second = 1;
    int open = 0;

    while (bytes + second < look.end && isspace((unsigned char)bytes[second]))
        second++;
    if (bytes + second == look.end)
        return unfinished(&look);
    if (strchr(array ? "\"{[]-0123456789tfn" : "\"}", bytes[second]) == NULL)
        return LINES;
    if (!next_line(&look, &line)) {
        if (!look.ends && look.end - look.at < CV_CHOICE_LOOK)
            return UNDECIDED;
        return array ? JSON_ARRAY : JSON;
    }
    for (size_t i = 0; i < line.length; i++) {
        const char byte = line.bytes[i];

        if (byte == '\\' && quoted)
            i++;
        else if (byte == '"')
            quoted = !quoted;
        else if (!quoted)
            open += (byte == '[' || byte == '{') - (byte == ']' || byte == '}');
        if (open == 0 && !quoted && i + 1 < line.length && second < line.length)
            return LINES; /* "[1] text" */
    }
    if (open == 0 && array && look.at == look.end) /* is the line all of the input? */
        return look.ends ? JSON_ARRAY : UNDECIDED;
    if (open == 0)
        return JSONL;
    if (quoted || (line.length > 1 && strchr(",[{", line.bytes[line.length - 1]) == NULL))
        return LINES;
    return array ? JSON_ARRAY : JSON;
}

/* --- tables ------------------------------------------------------------------------------------- */

enum { ROWS = 4, COLUMNS = 256, MOST_NAME = 64 };

struct field {
    const char *bytes;
    size_t length; /* without quotes */
};

enum { MALFORMED = 0, INCOMPLETE = COLUMNS + 1 };

/* The number of fields of the next record; MALFORMED: it is none, INCOMPLETE: it has no end here.
 * `flat`: no field has several lines. */
static size_t next_fields(struct look *look, char separator, bool flat, struct field *out)
{
    const char *at = look->at;
    size_t count = 0;

    while (count < COLUMNS) {
        const bool quoted = at < look->end && *at == '"';
        struct field *field = &out[count++];

        field->bytes = at += quoted;
        for (; at < look->end; at++) {
            if (quoted && flat && *at == '\n')
                return MALFORMED;
            if (quoted && *at == '"' && at + 1 < look->end && at[1] == '"')
                at++;
            else if (quoted ? *at == '"' : *at == separator || *at == '\n')
                break;
        }
        field->length = (size_t)(at - field->bytes);
        at += quoted && at < look->end;
        at += quoted && at < look->end && *at == '\r';
        if (at == look->end && !look->ends)
            return INCOMPLETE;
        if (!quoted && field->length > 0 && field->bytes[field->length - 1] == '\r')
            field->length--;
        if (at == look->end || *at == '\n') {
            look->at = at + (at < look->end);
            return count;
        }
        if (*at != separator)
            return MALFORMED;
        at++;
    }
    return MALFORMED;
}

static bool is_number(const struct field *field)
{
    bool digits = false;

    for (size_t i = 0; i < field->length; i++) {
        digits = digits || isdigit((unsigned char)field->bytes[i]);
        if (!isdigit((unsigned char)field->bytes[i]) &&
            strchr("+-.eE", field->bytes[i]) == NULL)
            return false;
    }
    return digits;
}

/* Whether these are names of columns: each begins with a letter, and no two are equal. */
static bool are_names(const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &fields[i];

        if (field->length == 0 || field->length > MOST_NAME ||
            (!isalpha((unsigned char)field->bytes[0]) && field->bytes[0] != '_') ||
            field->bytes[field->length - 1] == ' ')
            return false;
        for (size_t k = 0; k < field->length; k++)
            if (!isalnum((unsigned char)field->bytes[k]) &&
                strchr("_-. /()%#:", field->bytes[k]) == NULL)
                return false;
        for (size_t k = 0; k < i; k++)
            if (fields[k].length == field->length &&
                memcmp(fields[k].bytes, field->bytes, field->length) == 0)
                return false;
    }
    return true;
}

/* Names of columns, then records with as many fields, of which one column has only numbers. */
static enum format look_at_table(struct look look, char separator, enum format format)
{
    struct field names[COLUMNS], fields[COLUMNS];
    bool numbers[COLUMNS];
    const size_t columns = next_fields(&look, separator, true, names);
    size_t rows = 0;

    if (columns == INCOMPLETE)
        return UNDECIDED;
    if (columns < 2 || !are_names(names, columns))
        return LINES;
    memset(numbers, true, sizeof numbers);
    for (; rows < ROWS && !(look.ends && look.at == look.end); rows++) {
        const size_t count = next_fields(&look, separator, false, fields);

        if (count == INCOMPLETE)
            return UNDECIDED;
        if (count != columns)
            return LINES;
        for (size_t i = 0; i < columns; i++)
            numbers[i] = numbers[i] && is_number(&fields[i]);
    }
    return rows > 0 && memchr(numbers, 1, columns) != NULL ? format : LINES;
}

static enum format find_by_bytes(struct look look)
{
    static const struct {
        const char *text;
        enum format format;
    } starts[] = { { "##fileformat=VCF", VCF },
                   { "WARC/", WARC },
                   { "<?xml ", XML },
                   { "BAM\1", BAM } };
    enum format format;

    if (begins(&look, "\xef\xbb\xbf"))
        look.at += 3;
    if (look.at == look.end)
        return unfinished(&look);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (begins(&look, starts[i].text))
            return starts[i].format;
        if (may_begin(&look, starts[i].text))
            return UNDECIDED;
    }
    if (*look.at == '@')
        return look_at_sign(look);
    if (*look.at == '>')
        return look_at_angle(look);
    if (*look.at == '{' || *look.at == '[')
        return look_at_json(look);
    format = look_at_table(look, ',', CSV);
    if (format == LINES)
        format = look_at_table(look, '\t', TSV);
    return format == LINES ? look_at_table(look, ';', CSV_SEMICOLON) : format;
}

/* --- both --------------------------------------------------------------------------------------- */

/* A table named .csv has another separator if its first line lacks commas. */
static enum format find_separator(struct look look)
{
    struct line line;

    if (!next_line(&look, &line))
        line = (struct line){ look.at, (size_t)(look.end - look.at) };
    if (memchr(line.bytes, ',', line.length) != NULL)
        return CSV;
    return memchr(line.bytes, ';', line.length) != NULL    ? CSV_SEMICOLON
           : memchr(line.bytes, '\t', line.length) != NULL ? TSV
                                                           : CSV;
}

/* Whether bytes that look like lines may be in a format. */
static bool may_be(enum format format, const struct look *look)
{
    const char *at = look->at, *end = look->end;

    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (format == JSON && at < end && isspace((unsigned char)*at))
        at++;
    if (at == end)
        return true;
    switch (format) {
    case FASTQ:
        return *at == '@';
    case FASTA:
        return *at == '>' || *at == ';';
    case JSONL:
    case JSON:
        return strchr("{[\"-0123456789tfn", *at) != NULL;
    case VCF:
        return *at == '#';
    case XML:
        return *at == '<';
    case BAM:
    case WARC:
        return false;
    default:
        return true;
    }
}

/* The format of an input by those of its name and its bytes; UNDECIDED: they disagree. */
static enum format join(enum format name, enum format bytes, const struct look *look)
{
    if (name == bytes || name == LINES)
        return bytes;
    if (name == CSV && (bytes == LINES || bytes == TSV || bytes == CSV_SEMICOLON))
        return find_separator(*look);
    if (name == TSV && bytes == LINES)
        return TSV;
    if (name == JSON && (bytes == JSONL || bytes == JSON_ARRAY))
        return bytes == JSONL ? JSON : JSON_ARRAY;
    return bytes == LINES && may_be(name, look) ? name : UNDECIDED;
}

/* Whether the first line that is not empty has arrived: a name is compared with it. */
static bool has_line(struct look look)
{
    while (look.at < look.end && isspace((unsigned char)*look.at))
        look.at++;
    return look.ends || memchr(look.at, '\n', (size_t)(look.end - look.at)) != NULL;
}

static const char *name_format(enum format format)
{
    return choices[format].what != NULL ? choices[format].what : "lines";
}

enum cleave_status cv_format_choose(const char *name, const char *bytes, size_t length,
                                    bool ends, struct cv_format_choice *out,
                                    bool *decided, struct cleave_error *err)
{
    const enum format named = find_by_name(name);
    struct look look = { bytes, bytes + length, ends };
    enum format seen = find_by_bytes(look), format;

    if (seen == UNDECIDED && length >= CV_CHOICE_LOOK)
        seen = LINES;
    *decided = seen != UNDECIDED &&
               (named == LINES || length >= CV_CHOICE_LOOK || has_line(look));
    if (!*decided)
        return CLEAVE_OK;
    format = length == 0 ? named : join(named, seen, &look);
    if (format == UNDECIDED)
        return cv_fail_at(err, CV_FILE(name),
                          "by its name %s, by its first bytes %s: choose with "
                          "input.split %s or input.split %s",
                          name_format(named), name_format(seen), choices[named].split,
                          choices[seen].split);
    if (format == XML)
        return cv_fail_at(err, CV_FILE(name != NULL ? name : "standard input"),
                          "XML: name the element that is a record with input.split "
                          "xml:ELEMENT, or input.split lines");
    *out = choices[format];
    *decided = true;
    return CLEAVE_OK;
}

enum cleave_status cv_format_agree(const struct cv_format_choice *choice,
                                   const char *first, const char *name, const char *bytes,
                                   size_t length, struct cleave_error *err)
{
    struct cv_format_choice other = choices[LINES];
    bool decided;

    CV_TRY(cv_format_choose(name, bytes, length, true, &other, &decided, err));
    /* Without a name, a short table may look like lines, and lines like a table. */
    if (length == 0 || other.what == choice->what ||
        (find_by_name(name) == LINES &&
         (other.what == NULL || (choice->what == NULL && other.header != NULL))))
        return CLEAVE_OK;
    return cv_fail_at(err, CV_FILE(name),
                      "expected %s as in %s, got %s: choose for all with "
                      "input.split",
                      choice->what != NULL ? choice->what : "lines", first,
                      other.what != NULL ? other.what : "lines");
}

bool cv_format_tell(const struct cv_format_choice *choice, bool header, const char *name,
                    char *out, size_t size)
{
    if (choice->what == NULL)
        return false;
    snprintf(out, size, "%s is %s%s: %sinput.split lines if not", CV_SHOWN(name, 100),
             choice->what, header ? " with a header" : "",
             choice->advice != NULL ? choice->advice
             : header               ? "input.no_header or "
                                    : "");
    return true;
}

bool cv_format_has_names(const struct cv_splitter *splitter, const char *header,
                         size_t length)
{
    struct look look = { header, header + length, true };
    struct field fields[COLUMNS];
    size_t count;

    if (splitter->kind != &cv_split_csv)
        return true;
    if (begins(&look, "\xef\xbb\xbf"))
        look.at += 3;
    count = next_fields(&look, splitter->byte, true, fields);
    return count > 0 && count <= COLUMNS && are_names(fields, count);
}
