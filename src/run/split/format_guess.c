/* format_guess.c -- formats of text whose records are not lines. SPDX-License-Identifier: MIT */
#include "run/split/format_guess.h"

#include <ctype.h>
#include <string.h>

enum {
    WIDE_LOOK = 8, /* bytes of UTF-16 that distinguish it                      */
};

/* A line without its end, and the bytes after it; rest NULL: the line has no end here. */
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

    return line->length >= length &&
           (length == 0 || memcmp(line->bytes, text, length) == 0);
}

static bool has_zero(const char *bytes, const char *end)
{
    return memchr(bytes, '\0', (size_t)(end - bytes)) != NULL;
}

/* Text in which every second byte is zero: the first (zero = 0) or the second of each two. */
static bool is_wide(const char *bytes, const char *end, size_t zero)
{
    if (end - bytes < WIDE_LOOK)
        return false;
    for (size_t i = 0; i < WIDE_LOOK; i++)
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

/* A field of a message follows the line From. */
static bool is_mbox(const char *bytes, const char *end)
{
    const struct line from = first_line(bytes, end);
    const struct line field = first_line(from.rest, end);
    size_t i = 0;

    while (i < field.length &&
           (isalnum((unsigned char)field.bytes[i]) || field.bytes[i] == '-'))
        i++;
    return i > 0 && i < field.length && field.bytes[i] == ':';
}

/* clang-format off */
#define LIKE(what, advice) { what, advice, false }
#define ENDLESS(what, advice) { what, advice, true }
#define ICONV(from) "put 'iconv -f " from " -t UTF-8' before it"

/* The first row whose lines and test match counts. */
static const struct {
    const char *first, *second; /* how the first two lines begin; NULL: any */
    bool (*is)(const char *bytes, const char *end); /* NULL: no further test */
    struct cv_format_guess guess;
} formats[] = {
    { NULL, NULL, is_wide_little, LIKE("UTF-16", ICONV("UTF-16LE")) },
    { NULL, NULL, is_wide_big, LIKE("UTF-16", ICONV("UTF-16BE")) },
    { NULL, NULL, has_zero, LIKE("no text, as it has zero bytes",
                                 "input.split nul or input.split fixed:BYTES") },
    { "LOCUS  ", "DEFINITION  ", NULL, LIKE("GenBank", "input.split 'regex:LOCUS '") },
    { "From ", NULL, is_mbox, LIKE("mail", "input.split 'regex:From '") },
};
/* clang-format on */

const struct cv_format_guess *cv_format_guess_find(const char *bytes, size_t length)
{
    struct line first, second;

    if (length > CV_GUESS_LOOK)
        length = CV_GUESS_LOOK;
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        length -= 3;
    }
    if (length == 0)
        return NULL;
    first = first_line(bytes, bytes + length);
    second = first_line(first.rest, bytes + length);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if ((formats[i].first == NULL || begins(&first, formats[i].first)) &&
            (formats[i].second == NULL || begins(&second, formats[i].second)) &&
            (formats[i].is == NULL || formats[i].is(bytes, bytes + length)))
            return &formats[i].guess;
    return NULL;
}

const struct cv_format_guess *cv_format_guess_endless(const char *bytes, size_t length)
{
    static const struct cv_format_guess array =
        ENDLESS("a JSON array", "input.split json");
    static const struct cv_format_guess returns =
        ENDLESS("text whose lines end in CR", "put \"tr '\\r' '\\n'\" before it");
    static const struct cv_format_guess line =
        ENDLESS("one line", "input.split sets other ends of records");

    if (length < CV_GUESS_LINE || memchr(bytes, '\n', CV_GUESS_LINE) != NULL)
        return NULL;
    if (bytes[0] == '[')
        return &array;
    return memchr(bytes, '\r', CV_GUESS_LOOK) != NULL ? &returns : &line;
}
