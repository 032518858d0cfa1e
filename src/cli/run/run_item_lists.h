/* run_item_lists.h -- the lists of items of a call: which there are, and what is in them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_ITEM_LISTS_H
#define CV_RUN_ITEM_LISTS_H
#include <stdbool.h>

#include "cli/run/run_options.h"
#include "run/items/item_lists.h"

struct cv_item_stream;

/* Operands before the first of ":::" and the like; all if there is none, or if they are another
 * program's. */
size_t cv_item_lists_words(const struct cv_call *call);
/* cv_files_check with the files of '::::' and of '--results FILE.csv' among them. */
int cv_item_lists_check_files(const struct cv_call *call);
/* What --delimiter says; false: it is not one byte. */
bool cv_item_delimiter(const char *text, char *out);
/* All lists; or *stream, from which the only one is to come, in whole or in part. It is the
 * caller's also when that fails. */
enum cleave_status cv_item_lists_read(const struct cv_call *call,
                                      struct cv_item_lists *lists,
                                      struct cv_item_stream **stream,
                                      struct cleave_error *err);

#endif
