/* item_stream.h -- a list that is read as it comes. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_STREAM_H
#define CV_ITEM_STREAM_H
#include "run/input/source.h"
#include "run/items/item_lists.h"

struct cv_item_stream;

/* Whether a list is to be read as it comes: it is no regular file, whose end may be far, or
 * one that is large. "-" is standard input. */
bool cv_item_stream_is(const char *path);
/* The records of inputs, without what ends them; the splitter of the options is taken over,
 * also when it fails. Opening a FIFO waits for a writer. */
enum cleave_status cv_item_stream_new(const char *const *paths, size_t npaths,
                                      const struct cv_source_options *options,
                                      struct cv_splitter *splitter,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err);
void cv_item_stream_free(struct cv_item_stream *stream);

/* What to wait for until it can be read; below 0: nothing. */
int cv_item_stream_fd(const struct cv_item_stream *stream);
/* Add to the last list what is there, or some of it where there is nothing to wait for. Waits if
 * nothing has come. *ended: there is no more. */
enum cleave_status cv_item_stream_read(struct cv_item_stream *stream,
                                       struct cv_item_lists *lists, bool *ended,
                                       struct cleave_error *err);

#endif
