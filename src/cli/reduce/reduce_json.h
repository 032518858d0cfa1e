/* reduce_json.h -- trees and times of reductions as JSON fields.
 * SPDX-License-Identifier: MIT
 *
 * docs/guide/json.md documents every field. */
#ifndef CV_REDUCE_JSON_H
#define CV_REDUCE_JSON_H
#include <cleave/reduce.h>
#include "io/json_out.h"

/* Members of an object that the caller has opened. */
void cv_field_bounds(struct cv_json *json, const struct cleave_tree *tree);
/* degree and depth of the tree and, where all transfers take d and all combinations c, what
 * each of them alone makes it take; NAN: they do not. */
void cv_field_extent(struct cv_json *json, const struct cleave_tree *tree, double d,
                     double c);
/* parent, start and, when the policy keeps order, intervals. */
void cv_field_tree(struct cv_json *json, const struct cleave_tree *tree);

#endif
