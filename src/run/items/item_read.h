/* item_read.h -- lists of items that are read. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_READ_H
#define CV_ITEM_READ_H
#include "run/items/item_lists.h"

struct cv_item_stream;

/* The lines of a file are the values of the last list, or what ends in `mark` instead of the
 * end of a line. "-" is standard input. */
enum cleave_status cv_item_read_file(struct cv_item_lists *lists, const char *path,
                                     char mark, struct cleave_error *err);
/* All of a stream is; it is taken over, also when that fails. */
enum cleave_status cv_item_read_stream(struct cv_item_lists *lists,
                                       struct cv_item_stream *stream,
                                       struct cleave_error *err);

#endif
