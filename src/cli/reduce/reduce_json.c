/* reduce_json.c -- trees and times of reductions as JSON fields.
 * SPDX-License-Identifier: MIT */
#include "cli/reduce/reduce_json.h"

#include <math.h>
#include <stdlib.h>

void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree)
{
    cv_field_number(json, "lower_bound", tree->lower_bound_s);
    cv_field_number(json, "upper_bound", tree->upper_bound_s);
    cv_field_number(json, "optimum", tree->optimum_s);
    cv_field_number(json, "ratio",
                    tree->length_s == tree->optimum_s ? 1
                                                      : tree->length_s / tree->optimum_s);
}

/* How many nodes the one with the most receives from. */
static uint32_t degree_of(const struct cleave_tree *tree, uint32_t *count)
{
    uint32_t max = 0;

    for (uint32_t i = 0; i < tree->nodes; i++)
        if (tree->parent[i] >= 0 && ++count[tree->parent[i]] > max)
            max = count[tree->parent[i]];
    return max;
}

/* Transfers on the longest way to the root; `known` holds zeros: 1 more than the depth of
 * nodes that were passed. Every node is passed twice at most. */
static uint32_t depth_of(const struct cleave_tree *tree, uint32_t *known)
{
    uint32_t max = 0;

    for (uint32_t i = 0; i < tree->nodes; i++) {
        uint32_t steps = 0, depth;
        int64_t at = i;

        for (; tree->parent[at] >= 0 && known[at] == 0; at = tree->parent[at])
            steps++;
        depth = steps + (known[at] > 0 ? known[at] - 1 : 0);
        max = depth > max ? depth : max;
        for (at = i; steps > 0; steps--, at = tree->parent[at])
            known[at] = 1 + depth--;
    }
    return max;
}

void cv_field_extent(struct cv_json *json, const struct cleave_tree *tree, double d,
                     double c)
{
    uint32_t *counts = calloc(tree->nodes, sizeof *counts);
    uint32_t *known = calloc(tree->nodes, sizeof *known);

    if (counts != NULL && known != NULL) {
        const uint32_t degree = degree_of(tree, counts), depth = depth_of(tree, known);

        cv_field_count(json, "degree", degree);
        cv_field_count(json, "depth", depth);
        cv_field_number(json, "degree_bound",
                        degree > 0 ? d + (degree - 1) * fmax(d, c) + c : 0);
        cv_field_number(json, "depth_bound", depth * (d + c));
    }
    free(counts);
    free(known);
}

/* A list on one line: a tree may have millions of nodes. */
static void open_line(struct cv_json *json, const char *key)
{
    cv_json_key(json, key);
    cv_json_on_line(json);
    cv_json_list(json);
}

void cv_field_tree(struct cv_json *json, const struct cleave_tree *tree)
{
    open_line(json, "parent");
    for (uint32_t i = 0; i < tree->nodes; i++)
        cv_json_whole(json, tree->parent[i]);
    cv_json_end(json);
    open_line(json, "start");
    for (uint32_t i = 0; i < tree->nodes; i++)
        cv_json_number(json, tree->start_s[i]); /* null for the root */
    cv_json_end(json);
    if (tree->first == NULL || tree->last == NULL)
        return;
    open_line(json, "intervals");
    for (uint32_t i = 0; i < tree->nodes; i++) {
        if (i == tree->root) {
            cv_json_null(json);
            continue;
        }
        cv_json_list(json);
        cv_json_count(json, tree->first[i]);
        cv_json_count(json, tree->last[i]);
        cv_json_end(json);
    }
    cv_json_end(json);
}
