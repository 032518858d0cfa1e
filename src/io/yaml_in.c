/* yaml_in.c -- YAML or JSON as a row of tokens that know where they stand.
 * SPDX-License-Identifier: MIT */
#include "io/yaml_in.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

static struct cv_place place_of(const struct cv_yaml *yaml, yaml_mark_t mark)
{
    return (struct cv_place){
        .file = yaml->file,
        .line = (unsigned)mark.line + 1,
        .column = (unsigned)mark.column + 1,
    };
}

/* Where a byte of the input stands, for errors that come before there are tokens. */
static struct cv_place place_of_byte(const struct cv_yaml *yaml, size_t offset)
{
    struct cv_place place = { .file = yaml->file, .line = 1, .column = 1 };

    for (size_t i = 0; i < offset && i < yaml->length; i++) {
        char c = yaml->bytes[i];

        if (c == '\n' ||
            (c == '\r' && (i + 1 == yaml->length || yaml->bytes[i + 1] != '\n'))) {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static enum cleave_status fail_parse(const struct cv_yaml *yaml, struct cleave_error *err)
{
    const yaml_parser_t *parser = &yaml->parser;
    const char *problem = parser->problem == NULL ? "no reason given" : parser->problem;
    struct cv_place place;

    if (parser->error == YAML_MEMORY_ERROR)
        return cv_fail_memory(err, "reading YAML");
    if (parser->error == YAML_READER_ERROR) {
        place = place_of_byte(yaml, parser->problem_offset);
        return cv_fail_at(err, &place, "not valid text: %s", problem);
    }
    place = place_of(yaml, parser->problem_mark);
    if (strcmp(problem, "found character that cannot start any token") == 0)
        problem = "found a character that cannot start anything; if it is a tab: blanks "
                  "indent";
    if (parser->context == NULL)
        return cv_fail_at(err, &place, "not valid YAML or JSON: %s", problem);
    return cv_fail_at(err, &place, "not valid YAML or JSON: %s (%s, line %lu)", problem,
                      parser->context, (unsigned long)parser->context_mark.line + 1);
}

static enum cleave_status next_event(struct cv_yaml *yaml, struct cleave_error *err)
{
    yaml_event_delete(&yaml->event);
    if (!yaml_parser_parse(&yaml->parser, &yaml->event))
        return fail_parse(yaml, err);
    return CLEAVE_OK;
}

enum cleave_status cv_yaml_open(struct cv_yaml *yaml, const char *file, const char *bytes,
                                size_t length, struct cleave_error *err)
{
    memset(yaml, 0, sizeof *yaml);
    if (!yaml_parser_initialize(&yaml->parser))
        return cv_fail_memory(err, "reading YAML");
    yaml->file = file;
    yaml->bytes = bytes;
    yaml->length = length;
    /* Other encodings would make byte offsets in messages wrong. */
    yaml_parser_set_encoding(&yaml->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&yaml->parser, (const unsigned char *)bytes, length);
    return CLEAVE_OK;
}

void cv_yaml_close(struct cv_yaml *yaml)
{
    yaml_event_delete(&yaml->event);
    yaml_parser_delete(&yaml->parser);
}

static enum cleave_status check_plain(const struct cv_yaml *yaml,
                                      const yaml_char_t *anchor, const yaml_char_t *tag,
                                      struct cleave_error *err)
{
    struct cv_place place = place_of(yaml, yaml->event.start_mark);
    char shown[48];

    if (anchor != NULL)
        return cv_fail_at(err, &place, "anchors are not supported, got '&%s'",
                          cv_shown((const char *)anchor, strlen((const char *)anchor),
                                   shown, sizeof shown));
    if (tag != NULL)
        return cv_fail_at(err, &place, "tags are not supported, got '%s'",
                          cv_shown((const char *)tag, strlen((const char *)tag), shown,
                                   sizeof shown));
    return CLEAVE_OK;
}

/* Turn the event of a node into a token. */
static enum cleave_status take_node(const struct cv_yaml *yaml, struct cv_token *out,
                                    struct cleave_error *err)
{
    const yaml_event_t *event = &yaml->event;
    struct cv_place place = place_of(yaml, event->start_mark);

    *out = (struct cv_token){ .line = place.line, .column = place.column };
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        out->node = CV_NODE_SCALAR;
        out->text = (const char *)event->data.scalar.value;
        out->length = event->data.scalar.length;
        out->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return check_plain(yaml, event->data.scalar.anchor, event->data.scalar.tag, err);
    case YAML_SEQUENCE_START_EVENT:
        out->node = CV_NODE_LIST;
        return check_plain(yaml, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag, err);
    case YAML_MAPPING_START_EVENT:
        out->node = CV_NODE_MAP;
        return check_plain(yaml, event->data.mapping_start.anchor,
                           event->data.mapping_start.tag, err);
    case YAML_ALIAS_EVENT:
        return cv_fail_at(err, &place, "aliases are not supported");
    case YAML_STREAM_END_EVENT:
        out->node = CV_NODE_NONE;
        return CLEAVE_OK;
    default:
        out->node = CV_NODE_END;
        return CLEAVE_OK;
    }
}

enum cleave_status cv_yaml_next(struct cv_yaml *yaml, struct cv_token *out,
                                struct cleave_error *err)
{
    do {
        CV_TRY(next_event(yaml, err));
    } while (yaml->event.type == YAML_STREAM_START_EVENT ||
             yaml->event.type == YAML_DOCUMENT_START_EVENT);
    return take_node(yaml, out, err);
}

enum cleave_status cv_yaml_finish(struct cv_yaml *yaml, struct cleave_error *err)
{
    struct cv_place place;

    do {
        CV_TRY(next_event(yaml, err));
    } while (yaml->event.type == YAML_DOCUMENT_END_EVENT);
    if (yaml->event.type == YAML_STREAM_END_EVENT)
        return CLEAVE_OK;
    place = place_of(yaml, yaml->event.start_mark);
    return cv_fail_at(err, &place, "expected one document, got a second one");
}

bool cv_token_is_null(const struct cv_token *token)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

    for (size_t i = 0; token->plain && i < sizeof nulls / sizeof *nulls; i++)
        if (strlen(nulls[i]) == token->length &&
            memcmp(token->text, nulls[i], token->length) == 0)
            return true;
    return false;
}

const char *cv_token_shown(const struct cv_token *token, char *buffer, size_t size)
{
    char shown[64];

    switch (token->node) {
    case CV_NODE_LIST:
        return "a list";
    case CV_NODE_MAP:
        return "a mapping";
    case CV_NODE_SCALAR:
        if (token->plain && token->length == 0)
            return "nothing";
        snprintf(buffer, size, "'%s'",
                 cv_shown(token->text, token->length, shown, sizeof shown));
        return buffer;
    default:
        return "nothing";
    }
}
