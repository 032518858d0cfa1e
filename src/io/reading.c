/* reading.c -- checked values from a file of tokens. SPDX-License-Identifier: MIT */
#include "io/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/platform/platform_internal.h"

enum { TEXT_MOST = 4096 }; /* bytes of a text */

/* --- Values ------------------------------------------------------------------------- */

struct cv_place cv_read_place(const struct cv_reading *reading,
                              const struct cv_token *token)
{
    return (struct cv_place){ reading->file, token->line, token->column, reading->field };
}

enum cleave_status cv_read_fail(struct cv_reading *reading, const struct cv_token *token,
                                const char *expected)
{
    struct cv_place place = cv_read_place(reading, token);
    char shown[80];

    return cv_fail_at(reading->err, &place, "%s, got %s", expected,
                      cv_token_shown(token, shown, sizeof shown));
}

enum cleave_status cv_read_next(struct cv_reading *reading, struct cv_token *out)
{
    return cv_yaml_next(&reading->yaml, out, reading->err);
}

bool cv_read_is_string(const struct cv_token *token)
{
    return token->node == CV_NODE_SCALAR && strlen(token->text) == token->length;
}

enum cleave_status cv_read_number(struct cv_reading *reading,
                                  const struct cv_token *token, enum cv_quantity quantity,
                                  double *out)
{
    const char *expected;

    if (!cv_read_is_string(token) || token->length == 0)
        return cv_read_fail(reading, token, "expected a number");
    expected = cv_quantity_parse(token->text, quantity, out);
    return expected == NULL ? CLEAVE_OK : cv_read_fail(reading, token, expected);
}

enum cleave_status cv_read_ranged(struct cv_reading *reading,
                                  const struct cv_token *token, enum cv_quantity quantity,
                                  bool positive, double *out)
{
    double value;

    CV_TRY(cv_read_number(reading, token, quantity, &value));
    if (positive && !(value > 0))
        return cv_read_fail(reading, token, "expected a positive number");
    if (value < 0)
        return cv_read_fail(reading, token, "expected a number of at least 0");
    *out = value + 0.0; /* no negative zero */
    return CLEAVE_OK;
}

enum cleave_status cv_read_whole(struct cv_reading *reading, const struct cv_token *token,
                                 uint32_t max, uint32_t *out)
{
    char expected[64];
    uint32_t value = 0;
    bool good = cv_read_is_string(token) && token->length > 0 && token->length < 10;

    for (size_t i = 0; good && i < token->length; i++) {
        good = token->text[i] >= '0' && token->text[i] <= '9';
        value = value * 10 + (uint32_t)(token->text[i] - '0');
    }
    if (!good || value < 1 || value > max) {
        snprintf(expected, sizeof expected, "expected a whole number from 1 to %lu",
                 (unsigned long)max);
        return cv_read_fail(reading, token, expected);
    }
    *out = value;
    return CLEAVE_OK;
}

static bool is_one_line(const struct cv_token *token)
{
    return token->length > 0 && token->length <= TEXT_MOST &&
           cv_printable(token->text, token->length, true);
}

enum cleave_status cv_read_text(struct cv_reading *reading, const struct cv_token *token,
                                bool name, const char **out)
{
    char expected[96];

    if (!cv_read_is_string(token) || cv_token_is_null(token) ||
        !(name ? cv_worker_name_fits(token->text, token->length) : is_one_line(token))) {
        snprintf(expected, sizeof expected,
                 name ? "expected a name of 1 to %d bytes without spaces"
                      : "expected a text of 1 to %d bytes on one line",
                 name ? CV_WORKER_NAME_MOST : TEXT_MOST);
        return cv_read_fail(reading, token, expected);
    }
    *out = cv_arena_text(&reading->arena, token->text);
    return *out == NULL ? cv_fail_memory(reading->err, "a platform") : CLEAVE_OK;
}

/* --- Profiles ----------------------------------------------------------------------- */

struct steps {
    struct cleave_step *at; /* owned */
    size_t count, capacity;
};

/* One [time, factor] pair whose first token is `token`; *out_factor is its last value. */
static enum cleave_status take_step(struct cv_reading *reading,
                                    const struct cv_token *token, struct steps *steps,
                                    struct cv_token *out_factor)
{
    struct cleave_step step = { 0 };
    struct cv_token value;
    size_t path = strlen(reading->field);

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(reading, token, "expected a [time, factor] pair");
    for (int i = 0; i < 2; i++) {
        CV_TRY(cv_read_next(reading, &value));
        if (value.node == CV_NODE_END) {
            struct cv_place place = cv_read_place(reading, token);

            return cv_fail_at(reading->err, &place,
                              "expected a [time, factor] pair, got a list of %d", i);
        }
        snprintf(reading->field + path, sizeof reading->field - path, "[%d]", i);
        if (i == 0)
            CV_TRY(cv_read_ranged(reading, &value, CV_SECONDS, false, &step.from_s));
        else
            CV_TRY(cv_read_ranged(reading, &value, CV_NUMBER, false, &step.factor));
        if (i == 0 && steps->count > 0 &&
            step.from_s <= steps->at[steps->count - 1].from_s)
            return cv_read_fail(reading, &value, "expected a time after the one before");
        reading->field[path] = '\0';
        *out_factor = value;
    }
    CV_TRY(cv_read_next(reading, &value));
    if (value.node != CV_NODE_END)
        return cv_read_fail(reading, &value, "expected the end of a [time, factor] pair");
    if (!CV_ROOM(steps->at, &steps->capacity, steps->count + 1))
        return cv_fail_memory(reading->err, "a profile");
    steps->at[steps->count++] = step;
    return CLEAVE_OK;
}

static enum cleave_status take_steps(struct cv_reading *reading,
                                     const struct cv_token *token, struct steps *steps)
{
    struct cv_token item, factor = *token;
    size_t path = strlen(reading->field);

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(reading, token, "expected a list of [time, factor] pairs");
    for (;;) {
        struct cv_place place;

        CV_TRY(cv_read_next(reading, &item));
        if (item.node != CV_NODE_END) {
            snprintf(reading->field + path, sizeof reading->field - path, "[%zu]",
                     steps->count);
            CV_TRY(take_step(reading, &item, steps, &factor));
            reading->field[path] = '\0';
            continue;
        }
        if (steps->count > 0 && steps->at[steps->count - 1].factor > 0)
            return CLEAVE_OK;
        place = cv_read_place(reading, &factor);
        if (steps->count == 0)
            return cv_fail_at(
                reading->err, &place,
                "expected a list of [time, factor] pairs, got an empty list");
        /* A worker that stops for ever would never end what it was given. */
        return cv_fail_at(reading->err, &place, "expected a last factor above 0, got 0");
    }
}

enum cleave_status cv_read_profile(struct cv_reading *reading,
                                   const struct cv_token *token,
                                   const struct cleave_step **out, uint32_t *out_n)
{
    struct steps steps = { 0 };
    enum cleave_status status = take_steps(reading, token, &steps);

    if (status == CLEAVE_OK) {
        struct cleave_step *copy = cv_array(&reading->arena, steps.count, sizeof *copy);

        if (copy == NULL) {
            status = cv_fail_memory(reading->err, "a profile");
        } else {
            memcpy(copy, steps.at, steps.count * sizeof *copy);
            *out = copy;
            *out_n = (uint32_t)steps.count;
        }
    }
    free(steps.at);
    return status;
}

enum cleave_status cv_read_key(struct cv_reading *reading, const struct cv_token *token,
                               const char *(*name_at)(const void *context, size_t index),
                               size_t count, unsigned *seen, size_t *out)
{
    struct cv_place place = cv_read_place(reading, token);
    char shown[80], near[300];
    size_t i = 0;

    if (token->node != CV_NODE_SCALAR)
        return cv_read_fail(reading, token, "expected the name of a field");
    while (i < count &&
           !(cv_read_is_string(token) && strcmp(token->text, name_at(NULL, i)) == 0))
        i++;
    if (i == count) {
        cv_suggest(token->text, count, name_at, NULL, near, sizeof near);
        return cv_fail_at(reading->err, &place, "unknown field %s%s",
                          cv_token_shown(token, shown, sizeof shown), near);
    }
    if (seen[i] != 0)
        return cv_fail_at(reading->err, &place,
                          "duplicate field '%s'; first given at line %u", token->text,
                          seen[i]);
    seen[i] = token->line;
    *out = i;
    return CLEAVE_OK;
}

static enum cleave_status take_fields(struct cv_reading *reading,
                                      const struct cv_fields *fields, unsigned *seen)
{
    const char *required = fields->name_at(NULL, fields->required);
    struct cv_token root, key, value;
    char expected[96];
    size_t index;

    snprintf(expected, sizeof expected, "expected a mapping with the field '%s'",
             required);
    CV_TRY(cv_read_next(reading, &root));
    if (root.node == CV_NODE_NONE)
        return cv_fail_at(reading->err, &(struct cv_place){ .file = reading->file },
                          "%s, got an empty file", expected);
    if (root.node != CV_NODE_MAP)
        return cv_read_fail(reading, &root, expected);
    for (;;) {
        reading->field[0] = '\0';
        CV_TRY(cv_read_next(reading, &key));
        if (key.node == CV_NODE_END)
            break;
        CV_TRY(cv_read_key(reading, &key, fields->name_at, fields->count, seen, &index));
        CV_TRY(cv_read_next(reading, &value));
        snprintf(reading->field, sizeof reading->field, "%s",
                 fields->name_at(NULL, index));
        CV_TRY(fields->take(fields->context, index, &value));
    }
    CV_TRY(cv_yaml_finish(&reading->yaml, reading->err));
    if (seen[fields->required] == 0) {
        struct cv_place place = cv_read_place(reading, &root);

        return cv_fail_at(reading->err, &place, "required field '%s' is missing",
                          required);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_read_mapping(struct cv_reading *reading, const char *text,
                                   size_t length, const struct cv_fields *fields,
                                   unsigned *seen)
{
    enum cleave_status status;

    cv_arena_init(&reading->arena);
    CV_TRY(cv_yaml_open(&reading->yaml, reading->file, text, length, reading->err));
    status = take_fields(reading, fields, seen);
    cv_yaml_close(&reading->yaml);
    return status;
}
