/* json_out.h -- JSON written to a file, value by value. SPDX-License-Identifier: MIT
 *
 *     struct cv_json json;
 *     cv_json_init(&json, stdout, true);
 *     cv_json_object(&json);
 *     cv_field_text(&json, "policy", "umr");
 *     cv_json_end(&json);
 *     ok = cv_json_close(&json);
 *
 * The caller puts keys in objects and values after keys; that is asserted. A failed write is
 * remembered, so that only cv_json_close must be checked. */
#ifndef CV_JSON_OUT_H
#define CV_JSON_OUT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/fail.h"

enum { CV_JSON_DEPTH = 32 };

struct cv_json {
    FILE *file;         /* borrowed                                               */
    bool failed;        /* a write failed                                         */
    bool pretty;        /* indented by two spaces a level                         */
    bool in_page;       /* no text may end a script: escape '<'                   */
    bool line_next;     /* write the next list or object in one line */
    bool after_key;     /* a key was written, its value not yet                   */
    unsigned depth;     /* open objects and lists                                 */
    unsigned line_from; /* depth from which all is on one line; 0: none          */
    bool in_object[CV_JSON_DEPTH], any[CV_JSON_DEPTH];
};

/* Start a value: indented if `pretty`, else on one line without spaces. */
void cv_json_init(struct cv_json *json, FILE *file, bool pretty);
/* End the value with a newline; false if a write failed. The same struct may be used for the
 * next value, as in JSON lines. */
bool cv_json_close(struct cv_json *json);

void cv_json_object(struct cv_json *json);
void cv_json_list(struct cv_json *json);
/* The innermost object or list is complete. */
void cv_json_end(struct cv_json *json);
/* Put the next object or list on one line, even if `pretty`. */
void cv_json_on_line(struct cv_json *json);

void cv_json_key(struct cv_json *json, const char *key);
/* Any bytes; those that are not UTF-8 become U+FFFD. NULL writes null. */
void cv_json_text(struct cv_json *json, const char *text);
/* 17 significant digits; null for NaN and infinities. */
void cv_json_number(struct cv_json *json, double value);
void cv_json_whole(struct cv_json *json, int64_t value);
void cv_json_count(struct cv_json *json, uint64_t value);
void cv_json_bool(struct cv_json *json, bool value);
/* The begin of a value, whose rest the caller writes to the file. */
void cv_json_raw(struct cv_json *json, const char *bytes);

/* Key and value. With key NULL the value is an element of a list. */
void cv_field_object(struct cv_json *json, const char *key);
void cv_field_list(struct cv_json *json, const char *key);
/* An object that is written on one line. */
void cv_field_line(struct cv_json *json, const char *key);
void cv_field_text(struct cv_json *json, const char *key, const char *text);
void cv_field_number(struct cv_json *json, const char *key, double value);
void cv_field_count(struct cv_json *json, const char *key, uint64_t value);
/* Write members in the form of JSON: "{name %s, load %g, items %llu, same %d}" with %s for a text
 * or null, %g a number, %u, %zu and %llu a count, %d true or false. A member with a question mark,
 * "why ?%s", is left out if it is null, false or not above 0. Braces, with a key before them unless
 * they are an element of a list, are an object on one line. */
void cv_fields(struct cv_json *json, const char *format, ...) CV_PRINTF(2, 3);

#endif
