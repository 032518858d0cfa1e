/* reading.h -- checked values from a file of tokens. SPDX-License-Identifier: MIT
 *
 * Every call checks one value where it stands; when it fails, the message names file,
 * line, column and the path of the field, which the caller keeps in `field`. */
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
    CV_NODE_END,  /* of a list or mapping */
    CV_NODE_NONE, /* there is no document */
};

struct cv_token {
    enum cv_node node;
    const char *text; /* of a scalar; borrowed until the next token; terminated, but may
                       * also hold a 0 before its end */
    size_t length;
    bool plain; /* scalar without quotes */
    unsigned line, column;
};

struct cv_yaml {
    yaml_parser_t parser;
    yaml_event_t event;       /* of the last token */
    const char *file, *bytes; /* borrowed */
    size_t length;
};

struct cv_reading {
    struct cv_yaml yaml;
    const char *file;         /* borrowed                                  */
    struct cv_arena arena;    /* texts and steps that were read            */
    char field[96];           /* path of what is read: "workers[3].speed"  */
    struct cleave_error *err; /* borrowed; may be NULL                     */
};

enum cleave_status cv_read_next(struct cv_reading *reading, struct cv_token *out);
struct cv_place cv_read_place(const struct cv_reading *reading,
                              const struct cv_token *token);
/* "expected X, got Y" with the token as Y. */
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
/* Which of `count` names a key is; fails for one that is unknown or was seen. Sets
 * seen[*out] to the key's line. `field` is the path of the mapping. */
enum cleave_status cv_read_key(struct cv_reading *reading, const struct cv_token *token,
                               const char *(*name_at)(const void *context, size_t index),
                               size_t count, unsigned *seen, size_t *out);

/* What a file of one mapping is made of. */
struct cv_fields {
    const char *(*name_at)(const void *context, size_t index);
    size_t count;
    size_t required; /* the field that must be there */
    /* Takes the value of field `index`; reading->field is its name. */
    enum cleave_status (*take)(void *context, size_t index, const struct cv_token *value);
    void *context;
};

/* Read a whole file that is one mapping: open it, take every field, close it. seen[i]
 * tells afterwards whether field i was there, by its line. The arena is initialised and
 * left to the caller. */
enum cleave_status cv_read_mapping(struct cv_reading *reading, const char *text,
                                   size_t length, const struct cv_fields *fields,
                                   unsigned *seen);

#endif
