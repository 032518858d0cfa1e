/* format_guess.c -- what text seems to be that is cut between lines. SPDX-License-Identifier: MIT */
#include "run/split/format_guess.h"

#include <ctype.h>
#include <string.h>

enum {
    LETTERS_LEAST = 10, /* of a line that may be a sequence; shorter ones are words */
    PAIRS_LOOK = 8,     /* bytes of UTF-16 that are enough to tell it from others   */
};

/* A line, without its end; `rest` is what is behind it, NULL if its end is not seen. */
struct line {
    const char *bytes, *rest;
    size_t length;
};

static struct line first_line(const char *bytes, const char *end)
{
    const char *newline =
        bytes == NULL ? NULL : memchr(bytes, '\n', (size_t)(end - bytes));

    if (newline == NULL)
        return (struct line){ NULL, NULL, 0 };
    return (struct line){ bytes, newline + 1,
                          (size_t)(newline - bytes) -
                              (newline > bytes && newline[-1] == '\r') };
}

static bool begins(const struct line *line, const char *text)
{
    const size_t length = strlen(text);

    return line->length >= length && memcmp(line->bytes, text, length) == 0;
}

/* --- one form after the other --------------------------------------------------------------- */

static bool has_zero(const char *bytes, const char *end)
{
    return memchr(bytes, '\0', (size_t)(end - bytes)) != NULL;
}

/* Text in which every second byte is zero: the first of each two, or the second. */
static bool is_wide(const char *bytes, const char *end, size_t zero)
{
    if (end - bytes < PAIRS_LOOK)
        return false;
    for (size_t i = 0; i < PAIRS_LOOK; i++)
        if ((bytes[i] == '\0') != (i % 2 == zero))
            return false;
    return true;
}

static bool is_wide_little(const char *bytes, const char *end)
{
    return is_wide(bytes, end, 1);
}

static bool is_wide_big(const char *bytes, const char *end)
{
    return is_wide(bytes, end, 0);
}

static bool is_fastq(const char *bytes, const char *end)
{
    const struct line name = first_line(bytes, end);
    const struct line sequence = first_line(name.rest, end);

    return begins(&name, "@") && sequence.rest != NULL && sequence.rest < end &&
           sequence.rest[0] == '+';
}

static bool is_fasta(const char *bytes, const char *end)
{
    const struct line name = first_line(bytes, end);
    const struct line sequence = first_line(name.rest, end);

    if (!begins(&name, ">") || sequence.length < LETTERS_LEAST)
        return false;
    for (size_t i = 0; i < sequence.length; i++)
        if (!isalpha((unsigned char)sequence.bytes[i]) &&
            strchr("*-", sequence.bytes[i]) == NULL)
            return false;
    return true;
}

static bool is_warc(const char *bytes, const char *end)
{
    const struct line line = first_line(bytes, end);

    return begins(&line, "WARC/") && line.length < sizeof "WARC/1.1";
}

static bool is_xml(const char *bytes, const char *end)
{
    return end - bytes > 6 && memcmp(bytes, "<?xml ", 6) == 0;
}

static bool is_genbank(const char *bytes, const char *end)
{
    const struct line locus = first_line(bytes, end);
    const struct line next = first_line(locus.rest, end);

    return begins(&locus, "LOCUS  ") && begins(&next, "DEFINITION  ");
}

/* A mailbox: a line From, and a field of a message. */
static bool is_mbox(const char *bytes, const char *end)
{
    const struct line from = first_line(bytes, end);
    const struct line field = first_line(from.rest, end);
    size_t i = 0;

    while (i < field.length &&
           (isalnum((unsigned char)field.bytes[i]) || field.bytes[i] == '-'))
        i++;
    return begins(&from, "From ") && i > 0 && i < field.length && field.bytes[i] == ':';
}

static bool is_vcf(const char *bytes, const char *end)
{
    const struct line line = first_line(bytes, end);

    return begins(&line, "##fileformat=VCF");
}

static bool is_sam(const char *bytes, const char *end)
{
    const struct line line = first_line(bytes, end);

    return begins(&line, "@HD\t") || begins(&line, "@SQ\t");
}

/* JSON whose first line leaves something open. */
static bool is_json(const char *bytes, const char *end)
{
    const struct line line = first_line(bytes, end);
    bool quoted = false;
    int open = 0;

    if (!begins(&line, "[") && !begins(&line, "{"))
        return false;
    for (size_t i = 0; i < line.length; i++) {
        const char byte = line.bytes[i];

        if (byte == '\\' && quoted)
            i++;
        else if (byte == '"')
            quoted = !quoted;
        else if (!quoted)
            open += (byte == '[' || byte == '{') - (byte == ']' || byte == '}');
    }
    return open > 0 && !quoted &&
           (line.length == 1 || strchr(",[{", line.bytes[line.length - 1]) != NULL);
}

const struct cv_format_guess *cv_format_guess_find(const char *bytes, size_t length)
{
    static const struct {
        bool (*is)(const char *bytes, const char *end);
        struct cv_format_guess likeness;
    } forms[] = {
        { is_wide_little,
          { "UTF-16", "put 'iconv -f UTF-16LE -t UTF-8' before it", false, false } },
        { is_wide_big,
          { "UTF-16", "put 'iconv -f UTF-16BE -t UTF-8' before it", false, false } },
        { has_zero,
          { "no text, as it has zero bytes", "--split nul or --split fixed:BYTES", false,
            false } },
        { is_fastq, { "FASTQ", "--split fastq", false, false } },
        { is_fasta, { "FASTA", "--split fasta", false, false } },
        { is_warc, { "WARC", "--split warc", false, false } },
        { is_xml, { "XML", "--split xml:ELEMENT", false, false } },
        { is_json, { "JSON over several lines", "--split json", false, false } },
        { is_genbank, { "GenBank", "--split 'regex:LOCUS '", false, false } },
        { is_mbox, { "mail", "--split 'regex:From '", false, false } },
        { is_vcf, { "VCF", "--header '#'", true, false } },
        { is_sam, { "SAM", "--header '@'", true, false } },
    };

    if (length > CV_LIKENESS_LOOK)
        length = CV_LIKENESS_LOOK;
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        length -= 3;
    }
    for (size_t i = 0; length > 0 && i < sizeof forms / sizeof *forms; i++)
        if (forms[i].is(bytes, bytes + length))
            return &forms[i].likeness;
    return NULL;
}

const struct cv_format_guess *cv_format_guess_endless(const char *bytes, size_t length)
{
    static const struct cv_format_guess array = { "a JSON array", "--split json", false,
                                                  true };
    static const struct cv_format_guess returns = { "text whose lines end in CR",
                                                    "put \"tr '\\r' '\\n'\" before it",
                                                    false, true };
    static const struct cv_format_guess line = { "one line",
                                                 "--split says where else records end",
                                                 false, true };

    if (length < CV_ENDLESS_LOOK || memchr(bytes, '\n', CV_ENDLESS_LOOK) != NULL)
        return NULL;
    if (bytes[0] == '[')
        return &array;
    return memchr(bytes, '\r', CV_LIKENESS_LOOK) != NULL ? &returns : &line;
}
