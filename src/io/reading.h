/* reading.h -- checked values from YAML or JSON. SPDX-License-Identifier: MIT
 *
 * A file is one document of scalars, lists and mappings, read token by token. Anchors,
 * aliases and tags are refused: they would make a small file mean a large one. The parser
 * never reads further than the requested token, so that an early error costs little. Each
 * call checks one value; its error has file, line, column and the path of the field, which
 * the caller keeps in `field`. */
#ifndef CV_READING_H
#define CV_READING_H
#include <cleave/error.h>
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/quantity.h"

enum cv_node {
    CV_NODE_SCALAR,
    CV_NODE_LIST,
    CV_NODE_MAP,
    CV_NODE_END,  /* end of a list or mapping */
    CV_NODE_NONE, /* no document */
};

struct cv_token {
    enum cv_node node;
    /* text of a scalar; borrowed until the next token; ends with a 0 byte, and may
     * contain others */
    const char *text;
    size_t length;
    bool plain; /* scalar without quotes */
    unsigned line, column;
};

struct cv_reading {
    const char *file;         /* borrowed                              */
    struct cv_arena *arena;   /* borrowed: for texts and profiles      */
    struct cleave_error *err; /* borrowed; may be NULL                 */
    char field[96];           /* path of the value: "workers[3].speed" */
    const char *bytes;        /* borrowed                              */
    size_t length;
    yaml_parser_t parser;
    yaml_event_t event; /* the last token */
};

enum cleave_status cv_read_next(struct cv_reading *reading, struct cv_token *out);
/* Set reading->field from its character `at`. */
void cv_read_path(struct cv_reading *reading, size_t at, const char *format, ...)
    CV_PRINTF(3, 4);
/* Fail at a token: with a message, or with "expected X, got Y" where the token is Y. */
enum cleave_status cv_read_refuse(struct cv_reading *reading,
                                  const struct cv_token *token, const char *format, ...)
    CV_PRINTF(3, 4);
enum cleave_status cv_read_fail(struct cv_reading *reading, const struct cv_token *token,
                                const char *expected);

/* Whether a token is a scalar with no 0 inside, so that it may be handled as a string. */
bool cv_read_is_string(const struct cv_token *token);
/* Any number, with a unit if the quantity has some. */
enum cleave_status cv_read_number(struct cv_reading *reading,
                                  const struct cv_token *token, enum cv_quantity quantity,
                                  double *out);
/* A number above 0 if `positive`, of at least 0 otherwise. */
enum cleave_status cv_read_ranged(struct cv_reading *reading,
                                  const struct cv_token *token, enum cv_quantity quantity,
                                  bool positive, double *out);
/* A whole number from 1 to `most`, which is below 1e9. */
enum cleave_status cv_read_whole(struct cv_reading *reading, const struct cv_token *token,
                                 uint32_t max, uint32_t *out);
/* A name without spaces, or a text on one line; *out lives in the arena. */
enum cleave_status cv_read_text(struct cv_reading *reading, const struct cv_token *token,
                                bool name, const char **out);
/* A list of [time, factor] pairs in increasing time; *out lives in the arena. */
enum cleave_status cv_read_profile(struct cv_reading *reading,
                                   const struct cv_token *token,
                                   const struct cleave_step **out, uint32_t *out_n);
/* Which of `count` names a key is; fails for an unknown or repeated key. Sets
 * seen[*out] to the key's line. reading->field is the path of the mapping. */
enum cleave_status cv_read_key(struct cv_reading *reading, const struct cv_token *token,
                               const char *(*name_at)(const void *context, size_t index),
                               const void *context, size_t count, unsigned *seen,
                               size_t *out);

/* The fields of a file that is one mapping. */
struct cv_fields {
    const char *const *names;
    size_t count;
    size_t required; /* the only field that must be given */
    /* Takes the value of field `index`; reading->field is its name. */
    enum cleave_status (*take)(void *context, size_t index, const struct cv_token *value);
    void *context;
};

/* Read a whole file that is one mapping. seen[i] becomes the line of field i, 0 if it was
 * not given. `file`, `arena` and `err` of the reading are set by the caller. */
enum cleave_status cv_read_mapping(struct cv_reading *reading, const char *text,
                                   size_t length, const struct cv_fields *fields,
                                   unsigned *seen);

#endif
