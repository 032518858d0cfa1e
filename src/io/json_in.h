/* json_in.h -- strict JSON from a line of text, or from a whole one.
 * SPDX-License-Identifier: MIT
 *
 * Twenty times as fast as the YAML reader. The caller knows what must come and asks for
 * it, or looks first; anything else fails with file, line and column. */
#ifndef CV_JSON_IN_H
#define CV_JSON_IN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/fail.h"

struct cv_json_in {
    const char *file; /* borrowed                                    */
    unsigned line;
    bool whole;                   /* ends of lines are spaces                          */
    const char *begin, *at, *end; /* the line and what is read of it */
    const char *counted;          /* up to here characters were counted, there are: */
    unsigned columns;
    char *text; /* owned: the last string read     */
    size_t capacity;
};

void cv_json_in_init(struct cv_json_in *in, const char *file);
void cv_json_in_done(struct cv_json_in *in);
/* Go to the next line: `length` bytes that stay in place while it is read. */
void cv_json_in_line(struct cv_json_in *in, const char *bytes, size_t length);
/* The same for a text of one value, on as many lines as it likes. */
void cv_json_in_whole(struct cv_json_in *in, const char *bytes, size_t length);

/* Skip spaces; the place is then that of the next value. */
void cv_json_in_skip(struct cv_json_in *in);
/* The same; returns the first character of what comes, 0 at the end. */
char cv_json_in_peek(struct cv_json_in *in);
/* Asked for places from left to right, a line is counted once. */
struct cv_place cv_json_in_place(struct cv_json_in *in, const char *at);

/* '{' or '['. */
enum cleave_status cv_json_in_open(struct cv_json_in *in, char bracket,
                                   struct cleave_error *err);
/* Between values: whether another one comes before `bracket`, which is read if not.
 * *first is to be true before the first call. */
enum cleave_status cv_json_in_more(struct cv_json_in *in, char bracket, bool *first,
                                   bool *out, struct cleave_error *err);
/* A string; *out is borrowed until the next one, terminated and without 0 inside. */
enum cleave_status cv_json_in_text(struct cv_json_in *in, const char **out,
                                   struct cleave_error *err);
/* A string and the colon behind it. */
enum cleave_status cv_json_in_key(struct cv_json_in *in, const char **out,
                                  struct cleave_error *err);
enum cleave_status cv_json_in_number(struct cv_json_in *in, double *out,
                                     struct cleave_error *err);
enum cleave_status cv_json_in_count(struct cv_json_in *in, uint64_t *out,
                                    struct cleave_error *err);
enum cleave_status cv_json_in_bool(struct cv_json_in *in, bool *out,
                                   struct cleave_error *err);
enum cleave_status cv_json_in_null(struct cv_json_in *in, struct cleave_error *err);
/* Nothing more on the line, or in the text. */
enum cleave_status cv_json_in_end(struct cv_json_in *in, struct cleave_error *err);

#endif
