/* record_weight.h -- the cost or key of a record: a field, a column, or the answer of a command.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RECORD_WEIGHT_H
#define CV_RECORD_WEIGHT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/split/split.h"

enum cv_weight_kind {
    CV_WEIGHT_FIELD,   /* ".max_tokens", ".usage.tokens": a field of a JSON object */
    CV_WEIGHT_COLUMN,  /* "3": a column                                            */
    CV_WEIGHT_WORD,    /* "tokens": a column of csv, otherwise a command           */
    CV_WEIGHT_COMMAND, /* any text with a blank, a slash or a sign of the shell    */
    CV_WEIGHT_ONE,     /* "": each record weighs 1                                 */
};

/* The kind depends on the text alone. */
enum cv_weight_kind cv_weight_kind_of(const char *text);
/* Whether the text is a command that reads all records first. `split` is that of the input, or NULL. */
bool cv_weight_is_command(const char *text, const char *split);

/* Kinds of the value of a record. */
enum cv_record_value {
    CV_VALUE_WEIGHT,
    CV_VALUE_KEY /* of input.limits, not a number */
};

struct cv_record_weight {
    enum cv_weight_kind kind; /* not WORD */
    enum cv_record_value value;
    const char *text; /* borrowed */
    unsigned column;  /* from 1 */
    double missing;   /* weight of a record that has none; 0: an error */
    const struct cv_splitter *splitter; /* borrowed */
};

/* `head`: the header of the input, which names its columns; length 0: none. `name`: the input, for
 * messages. A key is not the answer of a command. */
enum cleave_status cv_record_weight_init(struct cv_record_weight *weight,
                                         const char *text, enum cv_record_value value,
                                         double missing,
                                         const struct cv_splitter *splitter,
                                         const char *head, size_t length,
                                         const char *name, struct cleave_error *err);
/* The weight of record `number` of an input; not for commands. */
enum cleave_status cv_record_weight_read(const struct cv_record_weight *weight,
                                         const char *bytes, size_t length,
                                         const char *name, uint64_t number, double *out,
                                         struct cleave_error *err);
/* The hash of its key, which is not 0; `seed` tells keys of several limits apart. */
enum cleave_status cv_record_key_read(const struct cv_record_weight *weight,
                                      const char *bytes, size_t length, const char *name,
                                      uint64_t number, uint64_t seed, uint64_t *out,
                                      struct cleave_error *err);
/* The weight that a text states, such as an answer of a command. */
enum cleave_status cv_record_weight_parse(const struct cv_record_weight *weight,
                                          const char *bytes, size_t length,
                                          const char *name, uint64_t number, double *out,
                                          struct cleave_error *err);

/* Find ".a.b" in a JSON object; *out has no bytes if it is missing. False: it is not a JSON object. */
bool cv_weight_find_field(const char *bytes, size_t length, const char *path,
                          struct cv_key_text *out);

/* --- the command ------------------------------------------------------------------------- */

/* A command that reads all records of a file and writes a line with a number for each. */
struct cv_weigher;

enum cleave_status cv_weigher_start(const char *line, struct cv_weigher **out,
                                    struct cleave_error *err);
/* Records in order. Waits while the command does not read. */
enum cleave_status cv_weigher_feed(struct cv_weigher *weigher, const char *bytes,
                                   size_t length, struct cleave_error *err);
/* End the input and wait for the end of the command, which must succeed. */
enum cleave_status cv_weigher_finish(struct cv_weigher *weigher,
                                     struct cleave_error *err);
/* After that: the next line, borrowed; false: there is none. */
bool cv_weigher_next(struct cv_weigher *weigher, const char **bytes, size_t *length);
void cv_weigher_free(struct cv_weigher *weigher); /* may be NULL */

#endif
