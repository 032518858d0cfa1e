/* costs_file.c -- costs and ready times of a reduction. SPDX-License-Identifier: MIT
 *
 *     {"transfer": [[0, 1, 5ms], [2, 0, 1], [1, 1, 0]], "compute": [1, 1, 0.5]}
 *
 * is YAML or JSON. The first row tells the number of nodes; every other row, the number of
 * rows and the list of combining costs must agree with it. Memory grows with the bytes read,
 * so that a short file cannot ask for much. */
#include "io/costs_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/argument.h"
#include "base/fail.h"
#include "base/quantity.h"
#include "base/text.h"
#include "io/input.h"
#include "io/json_in.h"
#include "io/reading.h"

static bool doubles_add(struct cv_doubles *list, double value)
{
    if (!CV_ROOM(list->at, &list->capacity, list->count + 1))
        return false;
    list->at[list->count++] = value;
    return true;
}

void cv_costs_draft_clear(struct cv_costs_draft *draft)
{
    free(draft->transfer.at);
    free(draft->compute.at);
    *draft = (struct cv_costs_draft){ .nodes = 0 };
}

/* A list of at least one time; the one at index `diagonal` becomes 0. */
static bool take_list(struct cv_json_in *in, struct cv_doubles *list, size_t diagonal)
{
    bool first = true, more;
    size_t n = 0;

    if (cv_json_in_open(in, '[') != CLEAVE_OK)
        return false;
    for (;; n++) {
        double time_s;

        if (cv_json_in_more(in, ']', &first, &more) != CLEAVE_OK)
            return false;
        if (!more)
            return n > 0;
        if (n == CV_COSTS_NODES || cv_json_in_peek(in) == '-' ||
            cv_json_in_number(in, &time_s) != CLEAVE_OK ||
            !doubles_add(list, n == diagonal ? 0 : time_s))
            return false;
    }
}

static bool take_matrix(struct cv_json_in *in, struct cv_costs_draft *draft)
{
    bool first = true, more;
    size_t rows = 0;

    if (draft->nodes != 0 || cv_json_in_open(in, '[') != CLEAVE_OK)
        return false;
    for (;; rows++) {
        const size_t before = draft->transfer.count;

        if (cv_json_in_more(in, ']', &first, &more) != CLEAVE_OK)
            return false;
        if (!more)
            return rows > 0 && rows == draft->nodes;
        if ((rows > 0 && rows == draft->nodes) || !take_list(in, &draft->transfer, rows))
            return false;
        if (rows == 0)
            draft->nodes = draft->transfer.count;
        if (draft->transfer.count - before != draft->nodes)
            return false;
    }
}

static bool take_fields(struct cv_json_in *in, struct cv_costs_draft *draft)
{
    bool first = true, more;
    const char *key;

    if (cv_json_in_open(in, '{') != CLEAVE_OK)
        return false;
    for (;;) {
        if (cv_json_in_more(in, '}', &first, &more) != CLEAVE_OK)
            return false;
        if (!more)
            return cv_json_in_end(in) == CLEAVE_OK && draft->nodes > 0 &&
                   (!draft->has_compute || draft->compute.count == draft->nodes);
        if (cv_json_in_key(in, &key) != CLEAVE_OK)
            return false;
        if (strcmp(key, "transfer") == 0) {
            if (!take_matrix(in, draft))
                return false;
        } else if (strcmp(key, "compute") == 0 && !draft->has_compute) {
            draft->has_compute = true;
            if (!take_list(in, &draft->compute, CV_COSTS_NODES))
                return false;
        } else {
            return false;
        }
    }
}

bool cv_costs_read_quickly(const char *text, size_t length, struct cv_costs_draft *draft)
{
    struct cv_json_in in;
    bool understood;

    /* JSON takes them for spaces, YAML may refuse them. */
    if (memchr(text, '\t', length) != NULL || memchr(text, '\r', length) != NULL)
        return false;
    cv_json_in_init(&in, NULL, NULL);
    cv_json_in_whole(&in, text, length);
    understood = take_fields(&in, draft);
    cv_json_in_done(&in);
    return understood;
}

#define FILE_MOST ((size_t)3 << 30) /* bytes */

struct costs_reader {
    struct cv_reading in;
    struct cv_costs_draft draft;
    size_t row, in_row;      /* of the matrix, and times in it */
    struct cv_token compute; /* first token of the list of combining costs */
};

static const char *const fields[] = { "transfer", "compute" };
enum { TRANSFER, COMPUTE, NFIELDS };

static enum cleave_status add_time(struct costs_reader *reader, struct cv_doubles *list,
                                   double time_s)
{
    return doubles_add(list, time_s) ? CLEAVE_OK
                                     : cv_fail_memory(reader->in.err, "costs");
}

static enum cleave_status take_time(void *context, size_t n, const struct cv_token *token)
{
    struct costs_reader *reader = context;
    struct cv_costs_draft *draft = &reader->draft;
    const size_t row = reader->row, max = row > 0 ? draft->nodes : CV_COSTS_NODES;
    char expected[96];
    double time_s = 0;

    if (n == max) {
        snprintf(expected, sizeof expected,
                 row > 0 ? "expected the end of a row of %zu, as the first"
                         : "expected at most %zu nodes",
                 max);
        return cv_read_fail(&reader->in, token, expected);
    }
    reader->in_row = n + 1;
    if (n == row) /* a node does not send to itself: any number is accepted */
        CV_TRY(cv_read_number(&reader->in, token, CV_SECONDS, &time_s));
    else
        CV_TRY(cv_read_ranged(&reader->in, token, CV_SECONDS, false, &time_s));
    return add_time(reader, &draft->transfer, n == row ? 0 : time_s);
}

/* A row of the matrix whose path is in reader->in.field. */
static enum cleave_status take_row(void *context, size_t row,
                                   const struct cv_token *token)
{
    struct costs_reader *reader = context;
    struct cv_costs_draft *draft = &reader->draft;
    char expected[96];

    if (row > 0 && row == draft->nodes) {
        snprintf(expected, sizeof expected,
                 "expected the end of %zu rows, as many as a row has times", row);
        return cv_read_fail(&reader->in, token, expected);
    }
    reader->row = row;
    CV_TRY(cv_read_list(&reader->in, token, "expected a list of times, one per node",
                        false, take_time, reader));
    if (row == 0)
        draft->nodes = reader->in_row;
    return reader->in_row >= draft->nodes
               ? CLEAVE_OK
               : cv_read_refuse(&reader->in, token,
                                "expected a row of %zu, as the first, got %zu",
                                draft->nodes, reader->in_row);
}

static enum cleave_status take_combination(void *context, size_t index,
                                           const struct cv_token *token)
{
    struct costs_reader *reader = context;
    char expected[64];
    double time_s;

    snprintf(expected, sizeof expected, "expected at most %d nodes", CV_COSTS_NODES);
    if (index == CV_COSTS_NODES)
        return cv_read_fail(&reader->in, token, expected);
    CV_TRY(cv_read_ranged(&reader->in, token, CV_SECONDS, false, &time_s));
    return add_time(reader, &reader->draft.compute, time_s);
}

static enum cleave_status take_field(void *context, size_t index,
                                     const struct cv_token *value)
{
    struct costs_reader *reader = context;

    if (index == COMPUTE) {
        reader->compute = *value;
        return cv_read_list(&reader->in, value, "expected a list of times, one per node",
                            true, take_combination, reader);
    }
    CV_TRY(cv_read_list(&reader->in, value, "expected a list of rows, one per sender",
                        false, take_row, reader));
    return reader->row + 1 >= reader->draft.nodes
               ? CLEAVE_OK
               : cv_read_refuse(&reader->in, value,
                                "expected %zu rows, as many as a row has times, got %zu",
                                reader->draft.nodes, reader->row + 1);
}

static enum cleave_status read_slowly(struct costs_reader *reader, const char *text,
                                      size_t length)
{
    const struct cv_fields all = { cv_name_in_list, fields, NFIELDS, take_field, reader };
    struct cv_costs_draft *draft = &reader->draft;
    unsigned seen[NFIELDS] = { 0 };

    CV_TRY(cv_read_file(&reader->in, text, length, &all, TRANSFER, seen));
    draft->has_compute = seen[COMPUTE] != 0;
    if (!draft->has_compute || draft->compute.count == draft->nodes)
        return CLEAVE_OK;
    cv_read_path(&reader->in, 0, "compute");
    return cv_read_refuse(&reader->in, &reader->compute,
                          "expected %zu times, one per row of 'transfer', got %zu",
                          draft->nodes, draft->compute.count);
}

static enum cleave_status build(struct cv_costs_draft *draft, struct cleave_costs **out,
                                struct cleave_error *err)
{
    while (!draft->has_compute && draft->compute.count < draft->nodes)
        if (!doubles_add(&draft->compute, 0))
            return cv_fail_memory(err, "costs");
    return cleave_costs_new((uint32_t)draft->nodes, draft->transfer.at, draft->compute.at,
                            out, err);
}

enum cleave_status cv_costs_parse(const char *name, const char *text, size_t length,
                                  struct cleave_costs **out, struct cleave_error *err)
{
    struct costs_reader reader = { .in = { .file = name, .err = err } };
    enum cleave_status status = CLEAVE_OK;

    if (!cv_costs_read_quickly(text, length, &reader.draft)) {
        cv_costs_draft_clear(&reader.draft);
        status = read_slowly(&reader, text, length);
    }
    CV_THEN(status, build(&reader.draft, out, err));
    cv_costs_draft_clear(&reader.draft);
    return status;
}

enum cleave_status cleave_costs_load(const char *path, struct cleave_costs **out,
                                     struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_EXPECT_POINTER(path, err, "path");
    CV_EXPECT_POINTER(out, err, "out");
    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = cv_costs_parse(cv_input_name(path), text, length, out, err);
    free(text);
    return status;
}

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

/* A time of a few digits, the common case, fast. */
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
        if (!doubles_add(out, time_s))
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

enum cleave_status cv_ready_load(const char *path, double **out, size_t *out_count,
                                 struct cleave_error *err)
{
    struct cv_doubles times = { NULL, 0, 0 };
    struct reader reader = { .name = cv_input_name(path), .err = err };
    enum cleave_status status;
    size_t length;
    char *text; /* with a 0 after it */

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    reader.text = reader.at = text;
    reader.end = text + length;
    status = read_all(&reader, &times);
    free(text);
    if (status != CLEAVE_OK) {
        free(times.at);
        return status;
    }
    *out = times.at;
    *out_count = times.count;
    return CLEAVE_OK;
}
