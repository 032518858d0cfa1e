/* reduce_json.c -- trees and times of reductions as JSON fields.
 * SPDX-License-Identifier: MIT */
#include "cli/reduce/reduce_json.h"

#include "cli/kit/json_fields.h"

void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree)
{
    cv_field_number(json, "lower_bound", tree->lower_bound_s);
    cv_field_number(json, "upper_bound", tree->upper_bound_s);
    cv_field_number(json, "optimum", tree->optimum_s);
    cv_field_number(json, "ratio",
                    tree->length_s == tree->optimum_s ? 1
                                                      : tree->length_s / tree->optimum_s);
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

void cv_field_stats(struct cv_json *json, const struct cleave_stats *stats)
{
    cv_field_number(json, "mean", stats->mean_s);
    cv_field_number(json, "stddev", stats->stddev_s);
    cv_field_number(json, "stderr", stats->stderr_s);
    cv_field_number(json, "q10", stats->q10_s);
    cv_field_number(json, "median", stats->median_s);
    cv_field_number(json, "q90", stats->q90_s);
    cv_field_number(json, "min", stats->least_s);
    cv_field_number(json, "max", stats->most_s);
}
