/* item_read.h -- lists of items that are read. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_READ_H
#define CV_ITEM_READ_H
#include "run/input/source.h"
#include "run/items/item_lists.h"

/* The lines of a file are the values of the last list, or what ends in `mark` instead of the
 * end of a line. "-" is standard input. */
enum cleave_status cv_item_read_file(struct cv_item_lists *lists, const char *path,
                                     char mark, struct cleave_error *err);
/* The records of inputs are, as --split says; without what ends them. */
enum cleave_status cv_item_read_records(struct cv_item_lists *lists,
                                        const char *const *paths, size_t npaths,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err);

#endif
