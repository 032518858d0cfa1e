/* json_out.c -- JSON written to a file, value by value. SPDX-License-Identifier: MIT */
#include "io/json_out.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"

void cv_json_init(struct cv_json *json, FILE *file, bool pretty)
{
    memset(json, 0, sizeof *json);
    json->file = file;
    json->pretty = pretty;
}

static void put(struct cv_json *json, const char *text, size_t length)
{
    /* Unlocked: a file has one writer, and a trace hundreds of millions of pieces. */
    if (fwrite_unlocked(text, 1, length, json->file) != length)
        json->failed = true;
}

static void put_text(struct cv_json *json, const char *text)
{
    put(json, text, strlen(text));
}

static void new_line(struct cv_json *json)
{
    put(json, "\n", 1);
    for (unsigned i = 0; i < json->depth; i++)
        put(json, "  ", 2);
}

/* The comma and space between two values. */
static void separate(struct cv_json *json)
{
    bool first;

    if (json->after_key || json->depth == 0) {
        json->after_key = false;
        return;
    }
    first = !json->any[json->depth - 1];
    json->any[json->depth - 1] = true;
    if (!json->pretty)
        put(json, ",", !first);
    else if (json->line_from != 0)
        put(json, ", ", first ? 0 : 2);
    else {
        put(json, ",", !first);
        new_line(json);
    }
}

static void before_value(struct cv_json *json)
{
    assert(json->depth == 0 || json->after_key == json->in_object[json->depth - 1]);
    separate(json);
}

static void open(struct cv_json *json, bool object)
{
    before_value(json);
    assert(json->depth < CV_JSON_DEPTH);
    put(json, object ? "{" : "[", 1);
    json->in_object[json->depth] = object;
    json->any[json->depth] = false;
    json->depth++;
    if (json->line_next && json->line_from == 0)
        json->line_from = json->depth;
    json->line_next = false;
}

void cv_json_object(struct cv_json *json)
{
    open(json, true);
}

void cv_json_list(struct cv_json *json)
{
    open(json, false);
}

void cv_json_end(struct cv_json *json)
{
    bool object, any;

    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    object = json->in_object[json->depth];
    any = json->any[json->depth];
    if (json->pretty && any && json->line_from == 0)
        new_line(json);
    put(json, object ? "}" : "]", 1);
    if (json->depth < json->line_from)
        json->line_from = 0;
}

void cv_json_on_line(struct cv_json *json)
{
    json->line_next = true;
}

bool cv_json_close(struct cv_json *json)
{
    assert(json->depth == 0);
    put(json, "\n", 1);
    if (ferror(json->file))
        json->failed = true;
    return !json->failed;
}

/* Write a character that needs an escape in a string. */
static void put_escape(struct cv_json *json, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = strchr(plain, c);
    char code[8];

    if (found != NULL)
        snprintf(code, sizeof code, "\\%c", letters[found - plain]);
    else
        snprintf(code, sizeof code, "\\u%04x", c);
    put_text(json, code);
}

static void put_string(struct cv_json *json, const char *text)
{
    size_t length = strlen(text), done = 0, n;

    put(json, "\"", 1);
    for (size_t at = 0; at < length; at += n) {
        unsigned char c = (unsigned char)text[at];

        n = c < 0x80 ? 1 : cv_utf8(text + at, length - at, NULL);
        if (n > 0 && c >= 0x20 && c != '"' && c != '\\' && (c != '<' || !json->in_page))
            continue;
        put(json, text + done, at - done);
        if (n > 0)
            put_escape(json, c);
        else
            put_text(json, "\xef\xbf\xbd");
        n = 1;
        done = at + 1;
    }
    put(json, text + done, length - done);
    put(json, "\"", 1);
}

void cv_json_key(struct cv_json *json, const char *key)
{
    assert(json->depth > 0 && json->in_object[json->depth - 1] && !json->after_key);
    separate(json);
    put_string(json, key);
    put(json, ": ", json->pretty ? 2 : 1);
    json->after_key = true;
}

void cv_json_text(struct cv_json *json, const char *text)
{
    before_value(json);
    if (text == NULL)
        put_text(json, "null");
    else
        put_string(json, text);
}

/* Twice as fast as printf, for lists of millions of numbers. */
static void put_whole(struct cv_json *json, uint64_t value, bool negative)
{
    char digits[24];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (negative)
        digits[--at] = '-';
    put(json, digits + at, sizeof digits - at);
}

void cv_json_number(struct cv_json *json, double value)
{
    char number[CV_NUMBER_SIZE];

    before_value(json);
    if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value && !signbit(value))
        put_whole(json, (uint64_t)value, false);
    else
        put_text(json, isfinite(value) ? cv_number_full(value, number) : "null");
}

void cv_json_whole(struct cv_json *json, int64_t value)
{
    before_value(json);
    put_whole(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void cv_json_count(struct cv_json *json, uint64_t value)
{
    before_value(json);
    put_whole(json, value, false);
}

void cv_json_bool(struct cv_json *json, bool value)
{
    before_value(json);
    put_text(json, value ? "true" : "false");
}

void cv_json_raw(struct cv_json *json, const char *bytes)
{
    before_value(json);
    put_text(json, bytes);
}

static void put_key(struct cv_json *json, const char *key)
{
    if (key != NULL)
        cv_json_key(json, key);
}

void cv_field_object(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_object(json);
}

void cv_field_list(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_list(json);
}

void cv_field_line(struct cv_json *json, const char *key)
{
    put_key(json, key);
    cv_json_on_line(json);
    cv_json_object(json);
}

void cv_field_text(struct cv_json *json, const char *key, const char *text)
{
    put_key(json, key);
    cv_json_text(json, text);
}

void cv_field_number(struct cv_json *json, const char *key, double value)
{
    put_key(json, key);
    cv_json_number(json, value);
}

void cv_field_count(struct cv_json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    cv_json_count(json, value);
}

/* One member, whose conversion begins at `format`. */
static void put_member(struct cv_json *json, const char *key, bool always,
                       const char *format, va_list *values)
{
    if (strncmp(format, "%s", 2) == 0) {
        const char *text = va_arg(*values, const char *);

        if (always || text != NULL)
            cv_field_text(json, key, text);
    } else if (strncmp(format, "%g", 2) == 0) {
        const double number = va_arg(*values, double);

        if (always || number > 0)
            cv_field_number(json, key, number);
    } else if (strncmp(format, "%d", 2) == 0) {
        const bool flag = va_arg(*values, int) != 0;

        if (always || flag) {
            put_key(json, key);
            cv_json_bool(json, flag);
        }
    } else {
        const unsigned long long count =
            strncmp(format, "%u", 2) == 0    ? va_arg(*values, unsigned)
            : strncmp(format, "%zu", 3) == 0 ? va_arg(*values, size_t)
                                             : va_arg(*values, unsigned long long);

        if (always || count > 0)
            cv_field_count(json, key, count);
    }
}

void cv_fields(struct cv_json *json, const char *format, ...)
{
    char text[64], *key;
    va_list values;

    va_start(values, format);
    while (*(format += strspn(format, " ,")) != '\0') {
        const size_t length = strcspn(format, " {}%?");
        bool always;

        snprintf(text, sizeof text, "%.*s", (int)length, format);
        key = length > 0 ? text : NULL;
        format += length;
        format += strspn(format, " ");
        always = *format != '?';
        format += !always;
        if (*format == '}')
            cv_json_end(json);
        else if (*format == '{')
            cv_field_line(json, key);
        else
            put_member(json, key, always, format, &values);
        format += *format == '%' ? strcspn(format, "sgdu") + 1 : 1;
    }
    va_end(values);
}
