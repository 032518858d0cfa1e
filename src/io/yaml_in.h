/* yaml_in.h -- YAML or JSON as a row of tokens that know where they stand.
 * SPDX-License-Identifier: MIT
 *
 * One document of scalars, lists and mappings. Anchors, aliases and tags are refused:
 * they would make a small file mean a large one, and nothing here needs them. The reader
 * never looks further than the token asked for, so a file that goes wrong early costs
 * little however long or deep it is. */
#ifndef CV_YAML_IN_H
#define CV_YAML_IN_H
#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>
#include <cleave/error.h>

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

/* Start on a text that stays in place until cv_yaml_close, which is to be called after
 * success only. */
enum cleave_status cv_yaml_open(struct cv_yaml *yaml, const char *file, const char *bytes,
                                size_t length, struct cleave_error *err);
void cv_yaml_close(struct cv_yaml *yaml);

/* The next token of the document, the first time that of its root. */
enum cleave_status cv_yaml_next(struct cv_yaml *yaml, struct cv_token *out,
                                struct cleave_error *err);
/* After the root's last token: check that nothing follows. */
enum cleave_status cv_yaml_finish(struct cv_yaml *yaml, struct cleave_error *err);

/* Whether a scalar stands for no value: empty, ~ or null without quotes. */
bool cv_token_is_null(const struct cv_token *token);
/* What was got: "'-2'", "a list", "a mapping", "nothing". Returns `buffer` or a static
 * text. */
const char *cv_token_shown(const struct cv_token *token, char *buffer, size_t size);

#endif
