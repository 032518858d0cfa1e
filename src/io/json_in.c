/* json_in.c -- strict JSON from a line of text, or from a whole one.
 * SPDX-License-Identifier: MIT */
#include "io/json_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "base/text.h"

enum { NUMBER_MOST = 63 }; /* characters of a number */

void cv_json_in_init(struct cv_json_in *in, const char *file, struct cleave_error *err)
{
    *in = (struct cv_json_in){ .file = file, .err = err };
}

void cv_json_in_done(struct cv_json_in *in)
{
    free(in->text);
    in->text = NULL;
}

static inline void begin_line(struct cv_json_in *in, const char *begin)
{
    in->line++;
    in->begin = in->counted = begin;
    in->columns = 0;
}

void cv_json_in_line(struct cv_json_in *in, const char *bytes, size_t length)
{
    begin_line(in, bytes);
    in->at = bytes;
    in->end = bytes + length;
}

void cv_json_in_whole(struct cv_json_in *in, const char *bytes, size_t length)
{
    cv_json_in_line(in, bytes, length);
    in->whole = true;
}

static inline void skip(struct cv_json_in *in)
{
    for (; in->at < in->end && *in->at <= ' '; in->at++) {
        if (*in->at == '\n' && in->whole) {
            begin_line(in, in->at + 1);
        } else if (*in->at != ' ' && *in->at != '\t' && *in->at != '\r') {
            break;
        }
    }
}

const char *cv_json_in_skip(struct cv_json_in *in)
{
    skip(in);
    return in->at;
}

char cv_json_in_peek(struct cv_json_in *in)
{
    skip(in);
    return in->at < in->end ? *in->at : '\0';
}

/* Line and column of `at`. Asking for places from left to right counts a line once. */
static struct cv_place place_of(struct cv_json_in *in, const char *at)
{
    if (at < in->counted) {
        in->counted = in->begin;
        in->columns = 0;
    }
    for (; in->counted < at; in->counted++)
        in->columns += ((unsigned char)*in->counted & 0xc0) != 0x80;
    return (
        struct cv_place){ .file = in->file, .line = in->line, .column = in->columns + 1 };
}

/* "expected X, got Y" where Y is the text at `at`. */
static enum cleave_status fail_at(struct cv_json_in *in, const char *at,
                                  const char *expected)
{
    struct cv_place place = place_of(in, at);
    size_t length = 1;
    char shown[48];

    if (at >= in->end)
        return cv_fail_at(in->err, &place, "%s, got the end of the %s", expected,
                          in->whole ? "text" : "line");
    /* Show a word or number whole, other characters alone. */
    if (strchr("{}[],:", *at) == NULL)
        while (at + length < in->end && strchr("{}[],: \t\r\n", at[length]) == NULL)
            length++;
    return cv_fail_at(in->err, &place, "%s, got '%s'", expected,
                      cv_shown(at, length, shown, sizeof shown));
}

static bool take(struct cv_json_in *in, char c)
{
    skip(in);
    if (in->at >= in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

enum cleave_status cv_json_in_open(struct cv_json_in *in, char bracket)
{
    if (take(in, bracket))
        return CLEAVE_OK;
    return fail_at(in, in->at, bracket == '{' ? "expected an object" : "expected a list");
}

enum cleave_status cv_json_in_more(struct cv_json_in *in, char bracket, bool *first,
                                   bool *out)
{
    bool was_first = *first;

    *first = false;
    *out = false;
    if (take(in, bracket))
        return CLEAVE_OK;
    *out = true;
    if (was_first || take(in, ','))
        return CLEAVE_OK;
    return fail_at(in, in->at,
                   bracket == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* Four hexadecimal digits after \u. */
static bool take_unit(struct cv_json_in *in, uint32_t *out)
{
    uint32_t unit = 0;

    if (in->end - in->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = in->at[i];

        if (c >= '0' && c <= '9')
            unit = unit * 16 + (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            unit = unit * 16 + (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            unit = unit * 16 + (uint32_t)(c - 'A' + 10);
        else
            return false;
    }
    in->at += 4;
    *out = unit;
    return true;
}

static size_t write_utf8(char *to, uint32_t code)
{
    static const unsigned char leads[] = { 0, 0xc0, 0xe0, 0xf0 };
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(leads[n - 1] | code);
    return n;
}

/* The character that follows a backslash, or false. Writes at most 4 bytes. */
static bool take_escape(struct cv_json_in *in, char *to, size_t *out_length)
{
    static const char letters[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t high, low;

    if (in->at >= in->end || *in->at == '\0')
        return false;
    found = strchr(letters, *in->at);
    if (found != NULL) {
        in->at++;
        to[0] = plain[found - letters];
        *out_length = 1;
        return true;
    }
    if (*in->at++ != 'u' || !take_unit(in, &high) || high == 0)
        return false;
    if (high >= 0xd800 && high <= 0xdfff) {
        if (high >= 0xdc00 || in->end - in->at < 6 || in->at[0] != '\\' ||
            in->at[1] != 'u')
            return false;
        in->at += 2;
        if (!take_unit(in, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    *out_length = write_utf8(to, high);
    return true;
}

enum cleave_status cv_json_in_text(struct cv_json_in *in, const char **out)
{
    const char *start;
    size_t length = 0;

    if (!take(in, '"'))
        return fail_at(in, in->at, "expected a string");
    start = in->at - 1;
    for (;;) {
        const char *at = in->at;
        size_t n;

        if (!CV_ROOM(in->text, &in->capacity, length + 5))
            return cv_fail_memory(in->err, "a string");
        if (at >= in->end)
            return fail_at(in, start, "expected a string with quotes at both ends");
        if (*at == '"')
            break;
        if (*at == '\\') {
            in->at++;
            if (!take_escape(in, in->text + length, &n))
                return fail_at(in, at, "expected an escape such as \\n or \\u00e9");
        } else {
            n = cv_utf8(at, (size_t)(in->end - at), NULL);
            if (n == 0 || (unsigned char)*at < 0x20)
                return fail_at(in, at, "expected UTF-8 without control characters");
            memcpy(in->text + length, at, n);
            in->at += n;
        }
        length += n;
    }
    in->at++;
    in->text[length] = '\0';
    *out = in->text;
    return CLEAVE_OK;
}

enum cleave_status cv_json_in_key(struct cv_json_in *in, const char **out)
{
    CV_TRY(cv_json_in_text(in, out));
    return take(in, ':') ? CLEAVE_OK : fail_at(in, in->at, "expected ':'");
}

static inline const char *take_digits(const char *at, const char *end, uint64_t *value)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return at;
}

/* The end of the JSON number at `at`, or NULL. *out is its value if *known: a number of up to
 * 15 digits without exponent. Its digits and the power of ten are exact as doubles, so that
 * one division rounds correctly. */
static const char *take_number(const char *at, const char *end, double *out, bool *known)
{
    static const double tens[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const bool negative = at < end && *at == '-';
    const char *from = at + negative;
    ptrdiff_t whole, decimals = 0;
    uint64_t value = 0;

    at = take_digits(from, end, &value);
    whole = at - from;
    if (whole == 0 || (*from == '0' && whole > 1))
        return NULL;
    if (at < end && *at == '.') {
        from = at + 1;
        at = take_digits(from, end, &value);
        decimals = at - from;
        if (decimals == 0)
            return NULL;
    }
    *known = whole + decimals <= 15;
    if (*known)
        *out = (negative ? -1.0 : 1.0) * (double)value / tens[decimals];
    if (at < end && (*at == 'e' || *at == 'E')) {
        *known = false;
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        from = at;
        at = take_digits(from, end, &value);
        if (at == from)
            return NULL;
    }
    return at;
}

enum cleave_status cv_json_in_number(struct cv_json_in *in, double *out)
{
    char number[NUMBER_MOST + 1];
    const char *end, *expected;
    double value = 0;
    size_t length;
    bool known;

    skip(in);
    end = take_number(in->at, in->end, &value, &known);
    if (end == NULL || end - in->at > NUMBER_MOST)
        return fail_at(in, in->at, "expected a number");
    if (!known) {
        length = (size_t)(end - in->at);
        memcpy(number, in->at, length);
        number[length] = '\0';
        expected = cv_quantity_parse(number, CV_NUMBER, &value);
        if (expected != NULL)
            return fail_at(in, in->at, expected);
    }
    in->at = end;
    *out = value;
    return CLEAVE_OK;
}

enum cleave_status cv_json_in_count(struct cv_json_in *in, uint64_t *out)
{
    uint64_t value = 0;
    const char *end;
    double number;
    bool good, known;

    skip(in);
    end = take_number(in->at, in->end, &number, &known);
    good = end != NULL;
    for (const char *c = in->at; good && c < end; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        good = *c >= '0' && *c <= '9' && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (!good)
        return fail_at(in, in->at, "expected a whole number of at least 0");
    in->at = end;
    *out = value;
    return CLEAVE_OK;
}

static bool take_word(struct cv_json_in *in, const char *word)
{
    const size_t length = strlen(word);

    skip(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return false;
    in->at += length;
    return true;
}

enum cleave_status cv_json_in_bool(struct cv_json_in *in, bool *out)
{
    if (!take_word(in, "false") && !take_word(in, "true"))
        return fail_at(in, in->at, "expected true or false");
    *out = in->at[-2] == 'u';
    return CLEAVE_OK;
}

enum cleave_status cv_json_in_null(struct cv_json_in *in)
{
    return take_word(in, "null") ? CLEAVE_OK : fail_at(in, in->at, "expected null");
}

enum cleave_status cv_json_in_end(struct cv_json_in *in)
{
    skip(in);
    if (in->at >= in->end)
        return CLEAVE_OK;
    return fail_at(in, in->at,
                   in->whole ? "expected the end of the text"
                             : "expected the end of the line");
}

enum cleave_status cv_json_in_fail(struct cv_json_in *in, const char *at,
                                   const char *field, const char *format, ...)
{
    struct cv_place place = place_of(in, at);
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    place.field = field;
    return cv_fail_at(in->err, &place, "%s", text);
}

enum cleave_status cv_json_in_fail_got(struct cv_json_in *in, const char *at,
                                       const char *field, const char *expected,
                                       const char *got)
{
    char shown[64];

    return cv_json_in_fail(in, at, field, "%s, got '%s'", expected,
                           cv_shown(got, strlen(got), shown, sizeof shown));
}

enum cleave_status cv_json_in_positive(struct cv_json_in *in, const char *field,
                                       double *out)
{
    const char *at = cv_json_in_skip(in);

    CV_TRY(cv_json_in_number(in, out));
    return *out >= 0 ? CLEAVE_OK
                     : cv_json_in_fail(in, at, field,
                                       "expected a number of at least 0, got %.*s",
                                       (int)(in->at - at), at);
}
