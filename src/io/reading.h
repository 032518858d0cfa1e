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
/* Takes element `index` of a list, or the value of field `index`; reading->field is its path. */
typedef enum cleave_status (*cv_read_taker)(void *context, size_t index,
                                            const struct cv_token *value);
/* Read a list, which `expected` describes: "expected a list of times". `token` is its first
 * token, reading->field its path. */
enum cleave_status cv_read_list(struct cv_reading *reading, const struct cv_token *token,
                                const char *expected, bool may_be_empty,
                                cv_read_taker take, void *context);

/* The fields of a mapping. */
struct cv_fields {
    const char *(*name_at)(const void *names, size_t index);
    const void *names;
    size_t count;
    cv_read_taker take;
    void *context;
};

/* `name_at` for names in an array. */
const char *cv_name_in_list(const void *names, size_t index);
/* Read a mapping in the same way. seen[i] becomes the line of field i, 0 if it was not
 * given. */
enum cleave_status cv_read_map(struct cv_reading *reading, const struct cv_token *token,
                               const char *expected, const struct cv_fields *fields,
                               unsigned *seen);

/* Read a whole file that is one mapping with the field `required`. `file`, `arena` and `err`
 * of the reading are set by the caller. */
enum cleave_status cv_read_file(struct cv_reading *reading, const char *text,
                                size_t length, const struct cv_fields *fields,
                                size_t required, unsigned *seen);

#endif
