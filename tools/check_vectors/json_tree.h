/* json_tree.h -- a JSON file as a tree. SPDX-License-Identifier: MIT */
#ifndef JSON_TREE_H
#define JSON_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

enum json_kind { JSON_NULL, JSON_FLAG, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_MAP };

struct json {
    enum json_kind kind;
    bool flag;
    double number;
    const char *text;   /* text, or a number or flag as written */
    size_t count;       /* entries of a list or map */
    struct json *items; /* entries of a list, or the values of a map */
    const char **keys;  /* keys of a map */
};

/* Read a file. Everything is owned by the arena. On failure returns NULL and writes a
 * line to `message`. */
const struct json *json_load(const char *path, struct cv_arena *arena, char *message,
                             size_t size);

/* The value of a key, or NULL when `map` is not a map or lacks the key. */
const struct json *json_get(const struct json *map, const char *key);

#endif
