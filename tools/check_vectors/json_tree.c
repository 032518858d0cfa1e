/* json_tree.c -- a JSON file as a tree, read by libyaml: JSON is a part of YAML.
 * SPDX-License-Identifier: MIT */
#include "json_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MOST_DEPTH = 64 };

static bool convert(yaml_document_t *document, int index, struct cv_arena *arena,
                    unsigned depth, struct json *out);

static bool convert_scalar(const yaml_node_t *node, struct cv_arena *arena,
                           struct json *out)
{
    const char *text = (const char *)node->data.scalar.value;
    char *end;

    out->text = cv_arena_text(arena, text);
    if (out->text == NULL)
        return false;
    out->kind = JSON_TEXT;
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return true;
    if (strcmp(text, "null") == 0) {
        out->kind = JSON_NULL;
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        out->kind = JSON_FLAG;
        out->flag = text[0] == 't';
    } else {
        out->number = strtod(text, &end);
        if (end != text && *end == '\0')
            out->kind = JSON_NUMBER;
    }
    return true;
}

static bool convert_list(yaml_document_t *document, const yaml_node_t *node,
                         struct cv_arena *arena, unsigned depth, struct json *out)
{
    const yaml_node_item_t *first = node->data.sequence.items.start;

    out->kind = JSON_LIST;
    out->count = (size_t)(node->data.sequence.items.top - first);
    out->items = cv_array(arena, out->count, sizeof *out->items);
    if (out->items == NULL)
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (!convert(document, first[i], arena, depth, &out->items[i]))
            return false;
    return true;
}

static bool convert_map(yaml_document_t *document, const yaml_node_t *node,
                        struct cv_arena *arena, unsigned depth, struct json *out)
{
    const yaml_node_pair_t *first = node->data.mapping.pairs.start;

    out->kind = JSON_MAP;
    out->count = (size_t)(node->data.mapping.pairs.top - first);
    out->items = cv_array(arena, out->count, sizeof *out->items);
    out->keys = cv_array(arena, out->count, sizeof *out->keys);
    if (out->items == NULL || out->keys == NULL)
        return false;
    for (size_t i = 0; i < out->count; i++) {
        const yaml_node_t *key = yaml_document_get_node(document, first[i].key);

        if (key == NULL || key->type != YAML_SCALAR_NODE)
            return false;
        out->keys[i] = cv_arena_text(arena, (const char *)key->data.scalar.value);
        if (out->keys[i] == NULL ||
            !convert(document, first[i].value, arena, depth, &out->items[i]))
            return false;
    }
    return true;
}

static bool convert(yaml_document_t *document, int index, struct cv_arena *arena,
                    unsigned depth, struct json *out)
{
    const yaml_node_t *node = yaml_document_get_node(document, index);

    if (node == NULL || depth > MOST_DEPTH)
        return false;
    if (node->type == YAML_SEQUENCE_NODE)
        return convert_list(document, node, arena, depth + 1, out);
    if (node->type == YAML_MAPPING_NODE)
        return convert_map(document, node, arena, depth + 1, out);
    return convert_scalar(node, arena, out);
}

static const struct json *load(FILE *file, struct cv_arena *arena, char *message,
                               size_t size)
{
    struct json *tree = cv_array(arena, 1, sizeof *tree);
    const struct json *result = NULL;
    yaml_parser_t parser;
    yaml_document_t document;

    if (tree == NULL || !yaml_parser_initialize(&parser)) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &document)) {
        snprintf(message, size, "line %zu: %s", parser.problem_mark.line + 1,
                 parser.problem != NULL ? parser.problem : "cannot be read");
        yaml_parser_delete(&parser);
        return NULL;
    }
    if (yaml_document_get_root_node(&document) == NULL)
        snprintf(message, size, "the file is empty");
    else if (!convert(&document, 1, arena, 0, tree))
        snprintf(message, size, "out of memory, or a key is not a text");
    else
        result = tree;
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return result;
}

const struct json *json_load(const char *path, struct cv_arena *arena, char *message,
                             size_t size)
{
    FILE *file = fopen(path, "rb");
    const struct json *tree;

    if (file == NULL) {
        snprintf(message, size, "%s", strerror(errno));
        return NULL;
    }
    tree = load(file, arena, message, size);
    fclose(file);
    return tree;
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
