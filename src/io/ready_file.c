/* ready_file.c -- when the partials of a reduction become ready, from a file.
 * SPDX-License-Identifier: MIT */
#include "io/ready_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "base/text.h"
#include "io/input.h"
#include "io/quick_costs.h"

#define FILE_MOST ((size_t)3 << 30) /* bytes */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_word(char c)
{
    return is_space(c) || c == ',' || c == ']' || c == '\0';
}

struct reader {
    const char *name, *text, *at, *end;
    bool bracket; /* a list in brackets is open */
    struct cleave_error *err;
};

static enum cleave_status fail_here(const struct reader *reader, const char *expected,
                                    size_t length)
{
    struct cv_place place = { .file = reader->name, .line = 1, .column = 1 };
    char shown[80];

    for (const char *c = reader->text; c < reader->at; c++) {
        place.column++;
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    if (length == 0)
        return cv_fail_at(reader->err, &place, "%s", expected);
    cv_shown(reader->at, length, shown, sizeof shown);
    return cv_fail_at(reader->err, &place, "%s, got '%s'", expected, shown);
}

/* A time: mostly a few digits, which need no more than this. */
static bool read_digits(const char *word, size_t length, double *out)
{
    double value = 0;

    if (length > 15)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        value = 10 * value + (word[i] - '0');
    }
    *out = value;
    return length > 0;
}

static enum cleave_status read_time(struct reader *reader, size_t length, double *out)
{
    enum { WORD_ROOM = 64 };
    const char *expected = "expected a time such as 0.5 or 500ms";
    char word[WORD_ROOM];

    if (read_digits(reader->at, length, out))
        return CLEAVE_OK;
    if (length < sizeof word) {
        memcpy(word, reader->at, length);
        word[length] = '\0';
        if (cv_quantity_parse(word, CV_SECONDS, out) == NULL) {
            if (*out >= 0 && *out <= 1e100)
                return CLEAVE_OK;
            expected = "expected a time from 0 to 1e100";
        }
    }
    return fail_here(reader, expected, length);
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
}

static enum cleave_status read_all(struct reader *reader, struct cv_doubles *out)
{
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == '[') {
        reader->bracket = true;
        reader->at++;
    }
    for (skip_space(reader); reader->at < reader->end && *reader->at != ']';
         skip_space(reader)) {
        size_t length = 0;
        double time_s = 0;

        while (!ends_word(reader->at[length]))
            length++;
        CV_TRY(read_time(reader, length, &time_s));
        if (out->count == CV_READY_MOST)
            return fail_here(reader, "expected at most 1073741824 times", 0);
        if (!cv_doubles_add(out, time_s))
            return cv_fail_memory(reader->err, "the ready times");
        reader->at += length;
        skip_space(reader);
        if (reader->at < reader->end && *reader->at == ',')
            reader->at++;
    }
    if (reader->bracket != (reader->at < reader->end))
        return fail_here(reader, reader->bracket ? "expected ']'" : "expected a time", 0);
    reader->at += reader->bracket;
    skip_space(reader);
    if (reader->at < reader->end)
        return fail_here(reader, "expected the end of the file", 0);
    return out->count > 0 ? CLEAVE_OK : fail_here(reader, "expected a time per node", 0);
}

/* From `length` bytes of text, which has a 0 behind it. */
static enum cleave_status parse(const char *name, const char *text, size_t length,
                                double **out, size_t *out_count, struct cleave_error *err)
{
    struct reader reader = { name, text, text, text + length, false, err };
    struct cv_doubles times = { NULL, 0, 0 };
    const enum cleave_status status = read_all(&reader, &times);

    if (status != CLEAVE_OK) {
        free(times.at);
        return status;
    }
    *out = times.at;
    *out_count = times.count;
    return CLEAVE_OK;
}

enum cleave_status cv_ready_load(const char *path, double **out, size_t *out_count,
                                 struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = parse(cv_input_name(path), text, length, out, out_count, err);
    free(text);
    return status;
}
