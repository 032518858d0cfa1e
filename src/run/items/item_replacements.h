/* item_replacements.h -- what may stand in a command for a value: names of columns, and rules.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_REPLACEMENTS_H
#define CV_ITEM_REPLACEMENTS_H
#include "run/items/item_commands.h"

/* The first values of all lists, which are a row, are the names of its columns: they are taken from
 * the lists. */
enum cleave_status cv_item_signs_names(struct cv_item_commands *commands,
                                       struct cleave_error *err);
/* Places of the command that no column is called like, though one nearly is, are an error. */
enum cleave_status cv_item_signs_check(const struct cv_item_commands *commands,
                                       const char *const *words,
                                       struct cleave_error *err);
/* Those of --rpl, those that stand in words of the command itself, and those of --plus. */
enum cleave_status cv_item_signs_rules(struct cv_item_commands *commands,
                                       const struct cv_item_options *options,
                                       struct cleave_error *err);

#endif
