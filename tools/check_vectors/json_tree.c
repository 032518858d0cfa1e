/* json_tree.c -- a JSON file as a tree. SPDX-License-Identifier: MIT */
#include "json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/json_in.h"

enum { MOST_DEPTH = 64 };
static const size_t most_bytes = (size_t)1 << 30;

struct builder {
    struct cv_json_in in;
    struct cv_arena *arena;
    struct cleave_error *err;
    unsigned depth;
};

static enum cleave_status build(struct builder *builder, struct json *out);

/* Keep the text between two places, as written. */
static enum cleave_status keep(struct builder *builder, const char *from, size_t length,
                               const char **out)
{
    char *kept = cv_array(builder->arena, length + 1, 1);

    if (kept == NULL)
        return cv_fail_memory(builder->err, "a vector");
    memcpy(kept, from, length);
    *out = kept;
    return CLEAVE_OK;
}

/* A number, true, false or null. */
static enum cleave_status build_word(struct builder *builder, char first,
                                     struct json *out)
{
    struct cv_json_in *in = &builder->in;
    const char *from = in->at;

    if (first == 'n') {
        out->kind = JSON_NULL;
        CV_TRY(cv_json_in_null(in));
    } else if (first == 't' || first == 'f') {
        out->kind = JSON_FLAG;
        CV_TRY(cv_json_in_bool(in, &out->flag));
    } else {
        out->kind = JSON_NUMBER;
        CV_TRY(cv_json_in_number(in, &out->number));
    }
    return keep(builder, from, (size_t)(in->at - from), &out->text);
}

struct entry {
    const char *key; /* key in a map */
    struct json value;
};

struct entries {
    struct entry *at;
    size_t count, capacity;
};

/* Everything up to the bracket at the end. */
static enum cleave_status gather(struct builder *builder, bool map, struct entries *all)
{
    struct cv_json_in *in = &builder->in;
    bool first = true, more;

    CV_TRY(cv_json_in_open(in, map ? '{' : '['));
    for (;;) {
        struct entry entry = { .key = NULL };

        CV_TRY(cv_json_in_more(in, map ? '}' : ']', &first, &more));
        if (!more)
            return CLEAVE_OK;
        if (map) {
            CV_TRY(cv_json_in_key(in, &entry.key));
            CV_TRY(keep(builder, entry.key, strlen(entry.key), &entry.key));
        }
        CV_TRY(build(builder, &entry.value));
        if (all->count == all->capacity) {
            struct entry *grown =
                cv_grow(all->at, &all->capacity, all->count + 1, sizeof *grown);

            if (grown == NULL)
                return cv_fail_memory(builder->err, "vectors");
            all->at = grown;
        }
        all->at[all->count++] = entry;
    }
}

static enum cleave_status build_items(struct builder *builder, bool map, struct json *out)
{
    struct entries all = { .at = NULL };
    enum cleave_status status = gather(builder, map, &all);

    out->kind = map ? JSON_MAP : JSON_LIST;
    out->count = all.count;
    out->items = cv_array(builder->arena, all.count, sizeof *out->items);
    out->keys = cv_array(builder->arena, all.count, sizeof *out->keys);
    if (status == CLEAVE_OK && (out->items == NULL || out->keys == NULL))
        status = cv_fail_memory(builder->err, "vectors");
    for (size_t i = 0; status == CLEAVE_OK && i < all.count; i++) {
        out->items[i] = all.at[i].value;
        out->keys[i] = all.at[i].key;
    }
    free(all.at);
    return status;
}

static enum cleave_status build(struct builder *builder, struct json *out)
{
    const char first = cv_json_in_peek(&builder->in);
    enum cleave_status status;

    if (first == '"') {
        out->kind = JSON_TEXT;
        CV_TRY(cv_json_in_text(&builder->in, &out->text));
        return keep(builder, out->text, strlen(out->text), &out->text);
    }
    if (first != '{' && first != '[')
        return build_word(builder, first, out);
    if (builder->depth++ == MOST_DEPTH)
        return cv_json_in_fail(&builder->in, builder->in.at, NULL, "nested too deeply");
    status = build_items(builder, first == '{', out);
    builder->depth--;
    return status;
}

static enum cleave_status load(const char *path, struct cv_arena *arena, struct json *out,
                               struct cleave_error *err)
{
    struct builder builder = { .arena = arena, .err = err };
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, most_bytes, &text, &length, err));
    cv_json_in_init(&builder.in, path, err);
    cv_json_in_whole(&builder.in, text, length);
    status = build(&builder, out);
    if (status == CLEAVE_OK)
        status = cv_json_in_end(&builder.in);
    cv_json_in_done(&builder.in);
    free(text);
    return status;
}

const struct json *json_load(const char *path, struct cv_arena *arena, char *message,
                             size_t size)
{
    struct json *tree = cv_array(arena, 1, sizeof *tree);
    struct cleave_error err = { .line = 0 };

    if (tree == NULL) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
    if (load(path, arena, tree, &err) == CLEAVE_OK)
        return tree;
    if (err.line > 0)
        snprintf(message, size, "line %u: %s", err.line, err.text);
    else
        snprintf(message, size, "%s", err.text);
    return NULL;
}

const struct json *json_get(const struct json *map, const char *key)
{
    if (map == NULL || map->kind != JSON_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->keys[i], key) == 0)
            return &map->items[i];
    return NULL;
}
