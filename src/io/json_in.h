/* json_in.h -- strict JSON, from lines or from a whole text. SPDX-License-Identifier: MIT
 *
 * Twenty times as fast as the YAML reader. The caller asks for the value that must come
 * next; any other value fails with file, line and column. */
#ifndef CV_JSON_IN_H
#define CV_JSON_IN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/fail.h"

struct cv_json_in {
    const char *file;         /* borrowed              */
    struct cleave_error *err; /* borrowed; may be NULL */
    unsigned line;
    bool whole;                   /* a newline is a space                     */
    const char *begin, *at, *end; /* the line, and the next character of it  */
    const char *counted;          /* characters before it were counted:       */
    unsigned columns;
    char *text; /* owned: the last string */
    size_t capacity;
};

void cv_json_in_init(struct cv_json_in *in, const char *file, struct cleave_error *err);
void cv_json_in_done(struct cv_json_in *in);
/* Start with the next line; the bytes are borrowed until it is read. */
void cv_json_in_line(struct cv_json_in *in, const char *bytes, size_t length);
/* Start with a text of one value on any number of lines. */
void cv_json_in_whole(struct cv_json_in *in, const char *bytes, size_t length);

/* Skip spaces; returns the begin of the next value. */
const char *cv_json_in_skip(struct cv_json_in *in);
/* Skip spaces; returns the first character of the next value, 0 at the end. */
char cv_json_in_peek(struct cv_json_in *in);

/* '{' or '['. */
enum cleave_status cv_json_in_open(struct cv_json_in *in, char bracket);
/* Between values: whether another value follows; if not, `bracket` is read. *first must be
 * true before the first call. */
enum cleave_status cv_json_in_more(struct cv_json_in *in, char bracket, bool *first,
                                   bool *out);
/* A string; *out is borrowed until the next string and has no 0 inside. */
enum cleave_status cv_json_in_text(struct cv_json_in *in, const char **out);
/* A string and the colon after it. */
enum cleave_status cv_json_in_key(struct cv_json_in *in, const char **out);
enum cleave_status cv_json_in_number(struct cv_json_in *in, double *out);
enum cleave_status cv_json_in_count(struct cv_json_in *in, uint64_t *out);
enum cleave_status cv_json_in_bool(struct cv_json_in *in, bool *out);
enum cleave_status cv_json_in_null(struct cv_json_in *in);
/* A number of at least 0. */
enum cleave_status cv_json_in_positive(struct cv_json_in *in, const char *field,
                                       double *out);
/* Nothing more on the line, or in the text. */
enum cleave_status cv_json_in_end(struct cv_json_in *in);

/* Fail about the value of a field that begins at `at`. */
enum cleave_status cv_json_in_fail(struct cv_json_in *in, const char *at,
                                   const char *field, const char *format, ...)
    CV_PRINTF(4, 5);
/* Fail with "expected ..., got 'value'". */
enum cleave_status cv_json_in_fail_got(struct cv_json_in *in, const char *at,
                                       const char *field, const char *expected,
                                       const char *got);

#endif
