/* reading.c -- checked values from YAML or JSON. SPDX-License-Identifier: MIT */
#include "io/reading.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "base/text.h"
#include "model/platform/platform_internal.h"

enum { TEXT_MOST = 4096 }; /* bytes */

static struct cv_place place_of(const struct cv_reading *reading, yaml_mark_t mark)
{
    return (struct cv_place){
        .file = reading->file,
        .line = (unsigned)mark.line + 1,
        .column = (unsigned)mark.column + 1,
    };
}

/* The place of a byte, for errors in the encoding, which come before there are tokens. */
static struct cv_place place_of_byte(const struct cv_reading *reading, size_t offset)
{
    struct cv_place place = { .file = reading->file, .line = 1, .column = 1 };

    for (size_t i = 0; i < offset && i < reading->length; i++) {
        char c = reading->bytes[i];

        if (c == '\n' ||
            (c == '\r' && (i + 1 == reading->length || reading->bytes[i + 1] != '\n'))) {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static enum cleave_status fail_parse(const struct cv_reading *reading)
{
    const yaml_parser_t *parser = &reading->parser;
    const char *problem = parser->problem == NULL ? "no reason given" : parser->problem;
    struct cv_place place;

    if (parser->error == YAML_MEMORY_ERROR)
        return cv_fail_memory(reading->err, "reading YAML");
    if (parser->error == YAML_READER_ERROR) {
        place = place_of_byte(reading, parser->problem_offset);
        return cv_fail_at(reading->err, &place, "not valid text: %s", problem);
    }
    place = place_of(reading, parser->problem_mark);
    if (strcmp(problem, "found character that cannot start any token") == 0)
        problem = "found a character that cannot start anything; if it is a tab: blanks "
                  "indent";
    if (parser->context == NULL)
        return cv_fail_at(reading->err, &place, "not valid YAML or JSON: %s", problem);
    return cv_fail_at(reading->err, &place, "not valid YAML or JSON: %s (%s, line %lu)",
                      problem, parser->context,
                      (unsigned long)parser->context_mark.line + 1);
}

static enum cleave_status next_event(struct cv_reading *reading)
{
    yaml_event_delete(&reading->event);
    return yaml_parser_parse(&reading->parser, &reading->event) ? CLEAVE_OK
                                                                : fail_parse(reading);
}

static enum cleave_status check_plain(const struct cv_reading *reading,
                                      const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct cv_place place = place_of(reading, reading->event.start_mark);
    const char *text = (const char *)(anchor != NULL ? anchor : tag);
    char shown[48];

    return text == NULL
               ? CLEAVE_OK
               : cv_fail_at(reading->err, &place,
                            anchor != NULL ? "anchors are not supported, got '&%s'"
                                           : "tags are not supported, got '%s'",
                            cv_shown(text, strlen(text), shown, sizeof shown));
}

/* Turn the last event, which is part of a document, into a token. */
static enum cleave_status take_node(const struct cv_reading *reading,
                                    struct cv_token *out)
{
    const yaml_event_t *event = &reading->event;
    struct cv_place place = place_of(reading, event->start_mark);

    *out = (struct cv_token){ .line = place.line, .column = place.column };
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        out->node = CV_NODE_SCALAR;
        out->text = (const char *)event->data.scalar.value;
        out->length = event->data.scalar.length;
        out->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return check_plain(reading, event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        out->node = CV_NODE_LIST;
        return check_plain(reading, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        out->node = CV_NODE_MAP;
        return check_plain(reading, event->data.mapping_start.anchor,
                           event->data.mapping_start.tag);
    case YAML_ALIAS_EVENT:
        return cv_fail_at(reading->err, &place, "aliases are not supported");
    default:
        out->node = event->type == YAML_STREAM_END_EVENT ? CV_NODE_NONE : CV_NODE_END;
        return CLEAVE_OK;
    }
}

enum cleave_status cv_read_next(struct cv_reading *reading, struct cv_token *out)
{
    do {
        CV_TRY(next_event(reading));
    } while (reading->event.type == YAML_STREAM_START_EVENT ||
             reading->event.type == YAML_DOCUMENT_START_EVENT);
    return take_node(reading, out);
}

/* Check that nothing follows the document, whose last token was read. */
static enum cleave_status finish(struct cv_reading *reading)
{
    struct cv_place place;

    do {
        CV_TRY(next_event(reading));
    } while (reading->event.type == YAML_DOCUMENT_END_EVENT);
    place = place_of(reading, reading->event.start_mark);
    return reading->event.type == YAML_STREAM_END_EVENT
               ? CLEAVE_OK
               : cv_fail_at(reading->err, &place,
                            "expected one document, got a second one");
}

/* Whether a scalar is null: empty, ~ or null without quotes. */
static bool token_is_null(const struct cv_token *token)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

    for (size_t i = 0; token->plain && i < sizeof nulls / sizeof *nulls; i++)
        if (strlen(nulls[i]) == token->length &&
            memcmp(token->text, nulls[i], token->length) == 0)
            return true;
    return false;
}

/* The token in a message: "'-2'", "a list", "a mapping" or "nothing". */
static const char *token_shown(const struct cv_token *token, char buffer[80])
{
    char shown[64];

    if (token->node == CV_NODE_LIST)
        return "a list";
    if (token->node == CV_NODE_MAP)
        return "a mapping";
    if (token->node != CV_NODE_SCALAR || (token->plain && token->length == 0))
        return "nothing";
    snprintf(buffer, 80, "'%s'",
             cv_shown(token->text, token->length, shown, sizeof shown));
    return buffer;
}

void cv_read_path(struct cv_reading *reading, size_t at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reading->field + at, sizeof reading->field - at, format, args);
    va_end(args);
}

enum cleave_status cv_read_refuse(struct cv_reading *reading,
                                  const struct cv_token *token, const char *format, ...)
{
    const struct cv_place place = { reading->file, token->line, token->column,
                                    reading->field };
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cv_fail_at(reading->err, &place, "%s", text);
}

enum cleave_status cv_read_fail(struct cv_reading *reading, const struct cv_token *token,
                                const char *expected)
{
    char shown[80];

    return cv_read_refuse(reading, token, "%s, got %s", expected,
                          token_shown(token, shown));
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
    double value = 0;

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
    const bool digits = cv_read_is_string(token) && token->length < 10 &&
                        token->length == strspn(token->text, "0123456789");
    const unsigned long value = digits ? strtoul(token->text, NULL, 10) : 0;
    char expected[64];

    if (value < 1 || value > max) {
        snprintf(expected, sizeof expected, "expected a whole number from 1 to %lu",
                 (unsigned long)max);
        return cv_read_fail(reading, token, expected);
    }
    *out = (uint32_t)value;
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

    if (!cv_read_is_string(token) || token_is_null(token) ||
        !(name ? cv_worker_name_fits(token->text, token->length) : is_one_line(token))) {
        snprintf(expected, sizeof expected,
                 name ? "expected a name of 1 to %d bytes without spaces"
                      : "expected a text of 1 to %d bytes on one line",
                 name ? CV_WORKER_NAME_MOST : TEXT_MOST);
        return cv_read_fail(reading, token, expected);
    }
    *out = cv_arena_text(reading->arena, token->text);
    return *out == NULL ? cv_fail_memory(reading->err, "a platform") : CLEAVE_OK;
}

enum cleave_status cv_read_list(struct cv_reading *reading, const struct cv_token *token,
                                const char *expected, bool may_be_empty,
                                cv_read_taker take, void *context)
{
    const size_t path = strlen(reading->field);
    struct cv_token item;
    size_t count = 0;

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(reading, token, expected);
    for (;; count++) {
        CV_TRY(cv_read_next(reading, &item));
        if (item.node == CV_NODE_END)
            break;
        cv_read_path(reading, path, "[%zu]", count);
        CV_TRY(take(context, count, &item));
        reading->field[path] = '\0';
    }
    return count > 0 || may_be_empty
               ? CLEAVE_OK
               : cv_read_refuse(reading, token, "%s, got an empty list", expected);
}

struct steps {
    struct cv_reading *reading;
    struct cleave_step *at; /* owned */
    size_t count, capacity;
    struct cv_token factor; /* the last one */
};

/* One [time, factor] pair whose first token is `token`. */
static enum cleave_status take_step(void *context, size_t index,
                                    const struct cv_token *token)
{
    struct steps *steps = context;
    struct cv_reading *reading = steps->reading;
    struct cleave_step step = { 0 };
    struct cv_token value;
    const size_t path = strlen(reading->field);

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(reading, token, "expected a [time, factor] pair");
    for (int i = 0; i < 2; i++) {
        CV_TRY(cv_read_next(reading, &value));
        if (value.node == CV_NODE_END)
            return cv_read_refuse(reading, token,
                                  "expected a [time, factor] pair, got a list of %d", i);
        cv_read_path(reading, path, "[%d]", i);
        CV_TRY(cv_read_ranged(reading, &value, i == 0 ? CV_SECONDS : CV_NUMBER, false,
                              i == 0 ? &step.from_s : &step.factor));
        if (i == 0 && steps->at != NULL && step.from_s <= steps->at[index - 1].from_s)
            return cv_read_fail(reading, &value, "expected a time after the one before");
        reading->field[path] = '\0';
        steps->factor = value;
    }
    CV_TRY(cv_read_next(reading, &value));
    if (value.node != CV_NODE_END)
        return cv_read_fail(reading, &value, "expected the end of a [time, factor] pair");
    if (!CV_ROOM(steps->at, &steps->capacity, steps->count + 1))
        return cv_fail_memory(reading->err, "a profile");
    steps->at[steps->count++] = step;
    return CLEAVE_OK;
}

enum cleave_status cv_read_profile(struct cv_reading *reading,
                                   const struct cv_token *token,
                                   const struct cleave_step **out, uint32_t *out_n)
{
    struct steps steps = { .reading = reading };
    enum cleave_status status =
        cv_read_list(reading, token, "expected a list of [time, factor] pairs", false,
                     take_step, &steps);

    /* A worker that stops for ever would never finish its chunk. */
    assert(status != CLEAVE_OK || steps.at != NULL); /* a list is not empty */
    if (status == CLEAVE_OK && !(steps.at[steps.count - 1].factor > 0))
        status = cv_read_refuse(reading, &steps.factor,
                                "expected a last factor above 0, got 0");
    if (status == CLEAVE_OK) {
        struct cleave_step *copy = cv_array(reading->arena, steps.count, sizeof *copy);

        if (copy == NULL)
            status = cv_fail_memory(reading->err, "a profile");
        else
            memcpy(copy, steps.at, steps.count * sizeof *copy);
        *out = copy;
        *out_n = (uint32_t)steps.count;
    }
    free(steps.at);
    return status;
}

const char *cv_name_in_list(const void *names, size_t index)
{
    return ((const char *const *)names)[index];
}

/* Which field a key is; fails for an unknown or repeated key. */
static enum cleave_status read_key(struct cv_reading *reading,
                                   const struct cv_token *token,
                                   const struct cv_fields *fields, unsigned *seen,
                                   size_t *out)
{
    char shown[80], near[300];
    size_t i = 0;

    if (token->node != CV_NODE_SCALAR)
        return cv_read_fail(reading, token, "expected the name of a field");
    while (i < fields->count &&
           !(cv_read_is_string(token) &&
             strcmp(token->text, fields->name_at(fields->names, i)) == 0))
        i++;
    if (i == fields->count) {
        cv_suggest(token->text, i, fields->name_at, fields->names, near, sizeof near);
        return cv_read_refuse(reading, token, "unknown field %s%s",
                              token_shown(token, shown), near);
    }
    if (seen[i] != 0)
        return cv_read_refuse(reading, token,
                              "duplicate field '%s'; first given at line %u", token->text,
                              seen[i]);
    seen[i] = token->line;
    *out = i;
    return CLEAVE_OK;
}

enum cleave_status cv_read_map(struct cv_reading *reading, const struct cv_token *token,
                               const char *expected, const struct cv_fields *fields,
                               unsigned *seen)
{
    const size_t path = strlen(reading->field);
    struct cv_token key, value;
    size_t index = 0;

    if (token->node != CV_NODE_MAP)
        return cv_read_fail(reading, token, expected);
    for (;;) {
        CV_TRY(cv_read_next(reading, &key));
        if (key.node == CV_NODE_END)
            return CLEAVE_OK;
        CV_TRY(read_key(reading, &key, fields, seen, &index));
        cv_read_path(reading, path, "%s%s", path > 0 ? "." : "",
                     fields->name_at(fields->names, index));
        CV_TRY(cv_read_next(reading, &value));
        CV_TRY(fields->take(fields->context, index, &value));
        reading->field[path] = '\0';
    }
}

static enum cleave_status take_root(struct cv_reading *reading,
                                    const struct cv_fields *fields, size_t required,
                                    unsigned *seen)
{
    const char *name = fields->name_at(fields->names, required);
    struct cv_token root;
    char expected[96];

    snprintf(expected, sizeof expected, "expected a mapping with the field '%s'", name);
    CV_TRY(cv_read_next(reading, &root));
    if (root.node == CV_NODE_NONE)
        return cv_fail_at(reading->err, &(struct cv_place){ .file = reading->file },
                          "%s, got an empty file", expected);
    reading->field[0] = '\0';
    CV_TRY(cv_read_map(reading, &root, expected, fields, seen));
    CV_TRY(finish(reading));
    return seen[required] != 0
               ? CLEAVE_OK
               : cv_read_refuse(reading, &root, "required field '%s' is missing", name);
}

enum cleave_status cv_read_file(struct cv_reading *reading, const char *text,
                                size_t length, const struct cv_fields *fields,
                                size_t required, unsigned *seen)
{
    enum cleave_status status;

    if (!yaml_parser_initialize(&reading->parser))
        return cv_fail_memory(reading->err, "reading YAML");
    memset(&reading->event, 0, sizeof reading->event);
    reading->bytes = text;
    reading->length = length;
    /* Other encodings would make byte offsets in messages wrong. */
    yaml_parser_set_encoding(&reading->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reading->parser, (const unsigned char *)text, length);
    status = take_root(reading, fields, required, seen);
    yaml_event_delete(&reading->event);
    yaml_parser_delete(&reading->parser);
    return status;
}
