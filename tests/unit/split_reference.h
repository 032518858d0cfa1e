/* split_reference.h -- the boundaries of an input, byte by byte and line by line.
 * SPDX-License-Identifier: MIT
 *
 * Written from the definitions alone, for tests to compare with. */
#ifndef SPLIT_REFERENCE_H
#define SPLIT_REFERENCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set is[b] for every boundary b of `n` bytes. False if the bytes are not in the format. */
typedef bool reference(const char *bytes, size_t n, bool *is);

struct reference_line {
    size_t start, length; /* without the end of the line */
};

static inline size_t reference_lines(const char *bytes, size_t n,
                                     struct reference_line *lines)
{
    size_t count = 0;

    for (size_t start = 0; start < n;) {
        size_t end = start;

        while (end < n && bytes[end] != '\n')
            end++;
        lines[count].start = start;
        lines[count].length = end - start - (end > start && bytes[end - 1] == '\r');
        count++;
        start = end + 1;
    }
    return count;
}

static inline bool reference_ended(const char *bytes, size_t n, bool *is, char byte)
{
    is[0] = is[n] = true;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == byte)
            is[i + 1] = true;
    return true;
}

static inline bool reference_newline(const char *bytes, size_t n, bool *is)
{
    return reference_ended(bytes, n, is, '\n');
}

static inline bool reference_nul(const char *bytes, size_t n, bool *is)
{
    return reference_ended(bytes, n, is, '\0');
}

static inline bool reference_fixed7(const char *bytes, size_t n, bool *is)
{
    (void)bytes;
    for (size_t i = 0; i < n; i += 7)
        is[i] = true;
    is[0] = is[n] = true;
    return true;
}

/* The states of a common reader of such files. */
static inline bool reference_csv(const char *bytes, size_t n, bool *is)
{
    enum { FIELD_START, IN_FIELD, IN_QUOTES, QUOTE_IN_QUOTES } state = FIELD_START;

    is[0] = is[n] = true;
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];

        if (state == FIELD_START && is[i] && n - i >= 3 &&
            memcmp(bytes + i, "\xef\xbb\xbf", 3) == 0) {
            i += 3; /* the mark of a file that begins with this record */
            if (i == n)
                break;
            c = bytes[i];
        }

        if (state == IN_QUOTES) {
            state = c == '"' ? QUOTE_IN_QUOTES : IN_QUOTES;
        } else if (c == '"' && (state == QUOTE_IN_QUOTES || state == FIELD_START)) {
            state = IN_QUOTES;
        } else if (c == '\n') {
            state = FIELD_START;
            is[i + 1] = true;
        } else {
            state = c == ',' ? FIELD_START : IN_FIELD;
        }
    }
    return true;
}

/* Bytes before the first start belong to the first record. */
static inline bool reference_starts(const char *bytes, size_t n, bool *is,
                                    bool (*starts)(const char *line, size_t length,
                                                   bool after_empty))
{
    struct reference_line *lines = malloc((n + 1) * sizeof *lines);
    size_t count, found = 0;

    if (lines == NULL)
        abort();
    count = reference_lines(bytes, n, lines);
    for (size_t i = 0; i < count; i++)
        if (starts(bytes + lines[i].start, lines[i].length,
                   i == 0 || lines[i - 1].length == 0) &&
            found++ > 0)
            is[lines[i].start] = true;
    is[0] = is[n] = true;
    free(lines);
    return true;
}

static inline bool starts_fasta(const char *line, size_t length, bool after_empty)
{
    (void)after_empty;
    return length > 0 && line[0] == '>';
}

static inline bool reference_fasta(const char *bytes, size_t n, bool *is)
{
    return reference_starts(bytes, n, is, starts_fasta);
}

static inline bool starts_paragraph(const char *line, size_t length, bool after_empty)
{
    (void)line;
    return length > 0 && after_empty;
}

static inline bool reference_paragraph(const char *bytes, size_t n, bool *is)
{
    return reference_starts(bytes, n, is, starts_paragraph);
}

/* ab|b+$ */
static inline bool starts_regex(const char *line, size_t length, bool after_empty)
{
    size_t b = 0;

    (void)after_empty;
    while (b < length && line[b] == 'b')
        b++;
    return (length >= 2 && line[0] == 'a' && line[1] == 'b') || (b > 0 && b == length);
}

static inline bool reference_regex(const char *bytes, size_t n, bool *is)
{
    return reference_starts(bytes, n, is, starts_regex);
}

/* ab+c*, with plain text at its start */
static inline bool starts_prefix(const char *line, size_t length, bool after_empty)
{
    (void)after_empty;
    return length >= 2 && line[0] == 'a' && line[1] == 'b';
}

static inline bool reference_prefix(const char *bytes, size_t n, bool *is)
{
    return reference_starts(bytes, n, is, starts_prefix);
}

/* An array that is the whole input, or values one after the other; `values`: these. */
/* ab\r?\nb */
static inline bool reference_two_lines(const char *bytes, size_t n, bool *is)
{
    size_t records = 0;

    is[0] = is[n] = true;
    for (size_t i = 0; i + 3 < n; i++)
        if ((i == 0 || bytes[i - 1] == '\n') && bytes[i] == 'a' && bytes[i + 1] == 'b' &&
            ((bytes[i + 2] == '\n' && bytes[i + 3] == 'b') ||
             (i + 4 < n && memcmp(bytes + i + 2, "\r\nb", 3) == 0)) &&
            records++ > 0)
            is[i] = true;
    return true;
}

static inline bool reference_json(const char *bytes, size_t n, bool *is, bool values)
{
    static const char mark[3] = "\xef\xbb\xbf";
    size_t i = 0, depth = 0, records = 0;
    bool array, within = false, closed = false;
    char before = '\0'; /* the last byte that is not a space */

    is[0] = is[n] = true;
    while (i < 3 && i < n && bytes[i] == mark[i])
        i++; /* also of a part of it, nothing is made */
    while (i < n && strchr(" \n\r\t", bytes[i]) != NULL && bytes[i] != '\0')
        i++;
    array = i < n && !values && bytes[i] == '[';
    if (i < n && bytes[i] == ',')
        return false;
    for (; i < n; i++) {
        const char c = bytes[i];

        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            within = false;
            continue;
        }
        if (closed || (depth == 0 && (c == ',' || c == ']' || c == '}')))
            return false;
        if (array && depth == 1 &&
            ((c == ',' && (before == ',' || before == '[')) ||
             ((c == ']' || c == '}') && before == ',')))
            return false; /* no value where one has to be */
        if (array && depth == 1 && c == ',')
            is[i] = true;
        before = c;
        if (!array && depth == 0 && (c == '"' || c == '{' || c == '[' || !within) &&
            records++ > 0)
            is[i] = true;
        within = depth == 0;
        if (c == '"') {
            for (i++; i < n && bytes[i] != '"'; i++)
                i += bytes[i] == '\\';
            within = false;
        } else if (c == '[' || c == '{') {
            depth++;
            within = false;
        } else if (c == ']' || c == '}') {
            closed = --depth == 0 && array;
            within = false;
        }
    }
    return true;
}

static inline bool reference_json_any(const char *bytes, size_t n, bool *is)
{
    return reference_json(bytes, n, is, false);
}

static inline bool reference_json_values(const char *bytes, size_t n, bool *is)
{
    return reference_json(bytes, n, is, true);
}

static inline bool reference_fastq(const char *bytes, size_t n, bool *is)
{
    struct reference_line *lines = malloc((n + 1) * sizeof *lines);
    size_t count, i = 0, records = 0;
    bool good = true;

    if (lines == NULL)
        abort();
    count = reference_lines(bytes, n, lines);
    is[0] = is[n] = true;
    while (good) {
        size_t sequence = 0, quality = 0;

        while (i < count && lines[i].length == 0)
            i++;
        if (i == count)
            break;
        good = bytes[lines[i].start] == '@';
        if (good && records++ > 0)
            is[lines[i].start] = true;
        for (i++; i < count && bytes[lines[i].start] != '+'; i++) {
            /* A line that the end of the input cuts after a \r is not a line of @. */
            good = good && bytes[lines[i].start] != '@';
            sequence += lines[i].length;
        }
        for (i++; i < count && quality < sequence; i++)
            quality += lines[i].length;
        if (quality > sequence && bytes[n - 1] != '\n' && i == count)
            break; /* a last line without its end is not judged */
        good = good && quality <= sequence;
        if (i > count)
            break;
    }
    free(lines);
    return good;
}

/* The number on a line; false: other content. *known: it has a digit. */
static inline bool reference_length(const char *bytes, size_t n, size_t *out,
                                    size_t *known)
{
    for (size_t i = 0; i < n && bytes[i] != '\n'; i++)
        if (bytes[i] >= '0' && bytes[i] <= '9' && *out < SIZE_MAX / 32) {
            *out = 10 * *out + (size_t)(bytes[i] - '0');
            *known = 1;
        } else if (strchr(" \t\r", bytes[i]) == NULL || bytes[i] == '\0') {
            return false;
        }
    return true;
}

/* Records that begin with WARC/, as long as they say, once. */
static inline bool reference_warc(const char *bytes, size_t n, bool *is)
{
    size_t i = 0, records = 0;

    is[0] = is[n] = true;
    for (;;) {
        size_t length = 0, line = 0, known = 0;

        while (i < n && (bytes[i] == '\r' || bytes[i] == '\n'))
            i++;
        if (i >= n)
            return true;
        if (n - i < 5 || memcmp(bytes + i, "WARC/", 5) != 0)
            return false;
        is[i] = records++ > 0 || i == 0; /* earlier bytes belong to the first */
        for (line = 0; i < n; i++) {
            if (line == 0 && n - i > 15 &&
                strncasecmp(bytes + i, "content-length:", 15) == 0 &&
                (known > 0 ||
                 !reference_length(bytes + i + 15, n - i - 15, &length, &known)))
                return false;
            if (bytes[i] == '\n' && line == 0)
                break;
            line = bytes[i] == '\n' ? 0 : line + (bytes[i] != '\r');
        }
        if (i >= n || known == 0 || length > n - i - 1)
            return false; /* cut short */
        i += 1 + length;
    }
}

/* Heads of 512 bytes, one by one. */
static inline bool reference_tar(const char *bytes, size_t n, bool *is)
{
    bool same = false;

    is[0] = is[n] = true;
    for (size_t i = 0; i < n; i += 512) {
        unsigned sum = 0, zeros = 0;
        size_t size;
        char type;

        if (n - i < 512)
            return false;
        for (size_t k = 0; k < 512; k++) {
            sum += k >= 148 && k < 156 ? ' ' : (unsigned char)bytes[i + k];
            zeros += bytes[i + k] == '\0';
        }
        if (zeros == 512)
            continue;
        if (bytes[i] == '\0' || sum != (unsigned)strtoul(bytes + i + 148, NULL, 8))
            return false;
        is[i] = !same;
        size = strtoul(bytes + i + 124, NULL, 8);
        type = bytes[i + 156];
        same = type == 'L' || type == 'K' || type == 'x';
        if (type < '1' || type > '6')
            i += (size + 511) / 512 * 512;
        if (i + 512 > n)
            return false;
    }
    return !same;
}

static inline size_t reference_number(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;

    return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* A head, then records with their length; the first belongs to the head. */
static inline bool reference_bam(const char *bytes, size_t n, bool *is)
{
    size_t i = 8, records = 0;

    is[0] = is[n] = true;
    if (n == 0)
        return true;
    if (n < 12 || memcmp(bytes, "BAM\1", 4) != 0)
        return false;
    i += reference_number(bytes + 4);
    if (i + 4 > n)
        return false;
    for (size_t left = reference_number(bytes + i), k = i += 4; left > 0; left--, k = i) {
        if (k + 4 > n)
            return false;
        i += 8 + reference_number(bytes + k);
    }
    for (; i < n; i += 4 + reference_number(bytes + i)) {
        is[i] = records++ > 0;
        if (n - i < 4 || reference_number(bytes + i) < 32)
            return false;
    }
    return i == n;
}

/* For captures, in the byte order of their first bytes. */
static inline bool reference_pcap(const char *bytes, size_t n, bool *is)
{
    const bool big = n >= 4 && (memcmp(bytes, "\xa1\xb2\xc3\xd4", 4) == 0 ||
                                memcmp(bytes, "\xa1\xb2\x3c\x4d", 4) == 0);
    size_t i = 24, records = 0;

    is[0] = is[n] = true;
    if (n == 0)
        return true;
    if (n < 24 || (!big && memcmp(bytes, "\xd4\xc3\xb2\xa1", 4) != 0 &&
                   memcmp(bytes, "\x4d\x3c\xb2\xa1", 4) != 0))
        return false;
    while (i < n) {
        size_t length;

        is[i] = records++ > 0;
        if (n - i < 16)
            return false;
        length = reference_number(bytes + i + 8);
        if (big)
            length = (length & 0xff) << 24 | (length & 0xff00) << 8 |
                     (length >> 8 & 0xff00) | length >> 24;
        i += 16 + length;
    }
    return i == n;
}

/* First position beyond `end`, starting at `at`. */
static inline size_t reference_behind(const char *bytes, size_t n, size_t at,
                                      const char *end)
{
    const size_t length = strlen(end);

    for (; at + length <= n; at++)
        if (memcmp(bytes + at, end, length) == 0)
            return at + length;
    return n;
}

/* Elements of the name ab. */
static inline bool reference_xml(const char *bytes, size_t n, bool *is)
{
    size_t depth = 0, records = 0;

    is[0] = is[n] = true;
    for (size_t i = 0; i < n;) {
        const size_t left = n - i;
        size_t at = i + 1, brackets = 0;
        char quote = 0;
        bool own, starts;

        if (bytes[i] != '<') {
            i++;
        } else if (left >= 4 && memcmp(bytes + i, "<!--", 4) == 0) {
            i = reference_behind(bytes, n, i + 4, "-->");
        } else if (left >= 9 && memcmp(bytes + i, "<![CDATA[", 9) == 0) {
            i = reference_behind(bytes, n, i + 9, "]]>");
        } else if (left >= 2 && bytes[i + 1] == '?') {
            i = reference_behind(bytes, n, i + 2, "?>");
        } else if (left >= 2 && bytes[i + 1] == '!') {
            for (at = i + 2; at < n && (bytes[at] != '>' || brackets > 0); at++)
                if (bytes[at] == '[')
                    brackets++;
                else if (bytes[at] == ']' && brackets > 0)
                    brackets--;
            i = at < n ? at + 1 : n;
        } else {
            starts = at >= n || bytes[at] != '/';
            at += !starts;
            own = n - at > 2 && memcmp(bytes + at, "ab", 2) == 0 &&
                  bytes[at + 2] != '\0' && strchr("> /\t\r\n", bytes[at + 2]) != NULL;
            at += own ? 2 : 0;
            if (own && starts && depth == 0 && records++ > 0)
                is[i] = true;
            depth += own && starts;
            depth -= own && !starts && depth > 0;
            for (brackets = at; at < n && (quote != 0 || bytes[at] != '>'); at++)
                if (quote != 0)
                    quote = bytes[at] == quote ? 0 : quote;
                else if (bytes[at] == '"' || bytes[at] == '\'')
                    quote = bytes[at];
            if (at < n && own && starts && at > brackets && bytes[at - 1] == '/')
                depth--;
            i = at < n ? at + 1 : n;
        }
    }
    return true;
}

struct reference_case {
    const char *splitter;
    reference *reference;
    const char *letters; /* letters of useful inputs; of length `nletters` */
    size_t nletters;
};

#define REFERENCE_CASE(splitter, function, letters)      \
    {                                                    \
        splitter, function, letters, sizeof(letters) - 1 \
    }

static const struct reference_case reference_cases[] = {
    REFERENCE_CASE("lines", reference_newline, "a\n\r\xff\0b"),
    REFERENCE_CASE("nul", reference_nul, "a\n\0b"),
    REFERENCE_CASE("csv", reference_csv, "a\",\n\r\xef\xbb\xbf"),
    REFERENCE_CASE("jsonl", reference_newline, "{}\"\n\r"),
    REFERENCE_CASE("fasta", reference_fasta, ">A\n\r"),
    REFERENCE_CASE("fastq", reference_fastq, "@+A\n\r"),
    REFERENCE_CASE("paragraph", reference_paragraph, "a\n\r"),
    REFERENCE_CASE("fixed:7", reference_fixed7, "a"),
    REFERENCE_CASE("regex:ab|b+$", reference_regex, "ab\n\r\0"),
    REFERENCE_CASE("regex:^ab+c*", reference_prefix, "abc\n\r\0"),
    REFERENCE_CASE("json", reference_json_any, "[]{},,,,,\"\\1 \n"),
    REFERENCE_CASE("json:values", reference_json_values, "[]{},\"\"\\1 \n\n"),
    REFERENCE_CASE("regex:ab\\r?\\nb", reference_two_lines, "abb\n\r"),
    REFERENCE_CASE("warc", reference_warc, "WA"),
    REFERENCE_CASE("xml:ab", reference_xml, "<>ab/ \"!-"),
    REFERENCE_CASE("tar", reference_tar, "\0"),
    REFERENCE_CASE("bam", reference_bam, "B"),
    REFERENCE_CASE("pcap", reference_pcap, "\xa1\xb2\xc3\xd4"),
};

enum { REFERENCE_CASES = sizeof reference_cases / sizeof reference_cases[0] };

#endif
